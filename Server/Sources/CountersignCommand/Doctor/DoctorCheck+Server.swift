import Foundation
import Records
import Settings
import _Primitives

/// The checks of mail, clients and names, which need the server or its database.
extension DoctorCheck {
    static let mail = DoctorCheck(
        name: "mail",
        looksAt: "whether letters leave: what the mail command said last, and how long the oldest letter waits",
        remedy:
            "`countersign mail test ADDRESS` tries it; the guide for operators has what each mail program needs (By mail)."
    ) { scene in
        guard scene.isServed else { return .unknown("No server runs, and the server alone sends mail.") }
        let mail = try await scene.ask("/mail")
        guard try mail.bool("sendsMail") == true else { return .good("The server sends no mail.") }
        var problems: [String] = []
        if let failure = try mail.object("failure") {
            let said = try failure.string("said").map { " It says: \($0)" } ?? ""
            problems.append(
                "A letter was not taken at \(try failure.requiredString("at")): \(try failure.requiredString("reason")).\(said)"
            )
        }
        let waiting = try mail.integer("waiting", as: Int.self) ?? 0
        if let seconds = try mail.integer("oldestSeconds", as: Int64.self),
            .seconds(seconds) > Limits.Doctor.longestMailWait
        {
            problems.append("\(waiting) letters wait, the oldest for \(seconds) seconds.")
        }
        return problems.isEmpty ? .good("\(waiting) letters wait.") : .bad(problems)
    }

    static let clients = DoctorCheck(
        name: "clients",
        looksAt: "clients that are let in without PKCE (--pkce none), and other registrations that are dangerous",
        remedy: "`countersign admin client change CLIENT-ID` takes the setting back that the sentence names."
    ) { scene in
        let clients = try await scene.ask("/clients").array("clients") ?? []
        let problems = try clients.flatMap { client -> [String] in
            guard case .object(let client) = client else { return [] }
            let name = "\(try client.requiredString("clientId")) (\(try client.requiredString("name")))"
            let pkce = try client.string("pkce").flatMap { $0.hasSameBytes(as: "none") ? ", let in without PKCE" : nil }
            return try (client.strings("warnings") ?? []).map { "\(name)\(pkce ?? ""): \($0)" }
        }
        let strangers = clients.filter { client in
            guard case .object(let client) = client, let way = try? client.string("registeredBy") else { return false }
            return ["open-registration", "client-id-document"].containsBytes(of: way)
        }
        let known = "\(clients.count - strangers.count) clients"
        let all = strangers.isEmpty ? "\(known)." : "\(known), and \(strangers.count) that you do not know."
        return problems.isEmpty ? .good(all) : .bad(problems)
    }

    static let names = DoctorCheck(
        name: "names",
        looksAt: "user names that are one name but for spaces around them, capital letters, and how accents are spelt",
        remedy:
            "Each of them answers to its exact spelling alone. Ask its person, and rename it: `countersign admin account change NAME --username OTHER`."
    ) { scene in
        var names: [String] = []
        var after = ""
        while true {
            let accounts = try await scene.ask("/accounts\(after)").array("accounts") ?? []
            guard case .object(let last)? = accounts.last else { break }
            for case .object(let account) in accounts {
                if let name = try account.string("username") { names.append(name) }
            }
            after = "?after=\((try last.string("username") ?? "id:\(try last.requiredString("id"))").pathSegment)"
        }
        let collisions = NameCollisions.groups(of: names)
        guard !collisions.isEmpty else { return .good("\(names.count) user names.") }
        return .bad(collisions.map { "These are one name: \($0.map { "“\($0)”" }.joined(separator: ", "))." })
    }
}

/// The names that people mistake for each other.
enum NameCollisions {
    /// Returns the groups of names that share a key, each group in the order of the names.
    static func groups(of names: [String]) -> [[String]] {
        var groups: [ExactText: [String]] = [:]
        var order: [ExactText] = []
        for name in names {
            let key = ExactText(AccountName(name, limits: Limits())?.key ?? name)
            if groups[key] == nil { order.append(key) }
            groups[key, default: []].append(name)
        }
        return order.compactMap { groups[$0] }.filter { $0.count > 1 }
    }
}
