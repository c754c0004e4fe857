import ArgumentParser
import Ceremony
import Countersign
import Foundation
import _Primitives

/// `countersign-phone activity`: what has happened on an account, and where it is signed in.
struct ActivityCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "activity", abstract: "Show an account's notices, and the browsers that are signed in.",
        discussion: "The phone authenticates first. `revoke` ends a session that is listed here.")

    @Argument(help: "The account's name.")
    var username: String

    @OptionGroup var answers: AnswerOptions
    @OptionGroup var phone: PhoneOptions

    /// The command line that shows the activity of an account, for a hint.
    static func line(account: String, home: String) -> String {
        let home = home == PhoneOptions.defaultHome ? "" : " --home \(self.quoted(home))"
        return "countersign-phone activity \(self.quoted(account))\(home)"
    }

    /// A word as a shell takes it, fit to be shown.
    private static func quoted(_ word: String) -> String {
        let shown = DisplayText.line(word)
        let isPlain =
            !shown.isEmpty && shown.first != "-"
            && shown.unicodeScalars.allSatisfy {
                $0.properties.isAlphabetic || "0123456789@._-/~".unicodeScalars.contains($0)
            }
        return isPlain ? shown : "'\(shown.replacingOccurrences(of: "'", with: "'\\''"))'"
    }

    func run() async throws {
        let report = Report(isJSON: self.phone.json)
        try await report.running {
            let device = try PhoneDevice(self.phone)
            let (client, provider) = try await OwnPerson(
                username: self.username, answers: self.answers, phone: self.phone
            ).authorize(on: device, report)
            let activity: AccountActivityResult = try await client.operations.accountActivity
                .username(self.username).authorizationProvider(provider).execute()
            Self.heading("Signed-in browsers", isEmpty: activity.sessions.isEmpty, report)
            for session in activity.sessions { Self.show(session, report) }
            Self.heading("Notices", isEmpty: activity.notices.isEmpty, report)
            for notice in activity.notices { Self.show(notice, report) }
            report.say([
                "event": .string("finished"), "outcome": .outcome(.listed), "account": .string(self.username),
            ]) { terminal in
                guard !activity.sessions.isEmpty else { return }
                terminal.print()
                terminal.print("Not you? End it with `countersign-phone revoke SESSION --account NAME`.")
            }
        }
    }

    private static func heading(_ title: String, isEmpty: Bool, _ report: Report) {
        guard !report.isJSON else { return }
        report.terminal.print()
        report.terminal.print(title, .bold)
        if isEmpty { report.terminal.print("  none") }
    }

    private static func show(_ session: BrowserSession, _ report: Report) {
        var members: JSONObject = [
            "event": .string("session"), "id": .string(session.id),
            "services": .array(
                session.services.map { .object(["name": .string($0.name), "origin": .string($0.origin)]) }),
            "authenticatedAt": .string(Self.machineText(session.authenticatedAt)),
            "usedAt": .string(Self.machineText(session.usedAt)),
            "expiresAt": .string(Self.machineText(session.expiresAt)),
        ]
        members.set("browser", session.browser)
        members.set("address", session.address)
        report.say(members) { terminal in
            let from = session.address.map { " from \($0)" } ?? ""
            terminal.print("  \(session.browser ?? "a browser")\(from)")
            var rows = session.services.map { (name: "  Signed in to", value: "\($0.name) (\($0.origin))") }
            rows += [
                ("  Since", Self.humanText(session.authenticatedAt)), ("  Last used", Self.humanText(session.usedAt)),
                ("  Session", session.id),
            ]
            terminal.list(rows)
        }
    }

    private static func show(_ notice: AccountNotice, _ report: Report) {
        report.say([
            "event": .string("account-notice"), "id": .string(notice.id), "kind": .string(notice.kind.rawValue),
            "at": .string(Self.machineText(notice.date)), "subject": .string(notice.subject),
        ]) { terminal in
            let words =
                switch notice.kind {
                case .signedIn: "signed in to \(notice.subject)"
                case .deviceAdded: "device added: \(notice.subject)"
                case .authenticatorAdded: "authenticator added on \(notice.subject)"
                case .authenticatorsRemoved: "authenticators removed by \(notice.subject)"
                default: "\(notice.kind): \(notice.subject)"
                }
            terminal.print("  \(Self.humanText(notice.date))  \(words)")
        }
    }

    private static func machineText(_ date: Date) -> String {
        Timestamp(milliseconds: Int64((date.timeIntervalSince1970 * 1000).rounded())).description
    }

    private static func humanText(_ date: Date) -> String {
        date.formatted(
            Date.ISO8601FormatStyle(timeZone: .current).year().month().day().dateTimeSeparator(.space)
                .time(includingFractionalSeconds: false))
    }
}

/// `countersign-phone revoke`: signs a browser out from the phone.
struct RevokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke", abstract: "End a browser's session: it must sign in anew.",
        discussion: "SESSION is as `activity` lists it. The phone authenticates first, with --account's keys.")

    @Argument(help: "The session.")
    var session: String

    @OptionGroup var answers: AnswerOptions
    @OptionGroup var phone: PhoneOptions

    func validate() throws {
        if self.answers.account == nil { throw ValidationError("Say whose session it is: --account NAME.") }
    }

    func run() async throws {
        let report = Report(isJSON: self.phone.json)
        try await report.running {
            let device = try PhoneDevice(self.phone)
            let account = self.answers.account ?? ""
            let (client, provider) = try await OwnPerson(
                username: account, answers: self.answers, phone: self.phone
            ).authorize(on: device, report)
            try await client.operations.sessionRevocation.sessionId(self.session).authorizationProvider(provider)
                .execute()
            report.say([
                "event": .string("finished"), "outcome": .outcome(.revoked), "account": .string(account),
                "session": .string(self.session),
            ]) { $0.success("The browser is signed out.") }
        }
    }
}
