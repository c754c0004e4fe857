import Foundation
import ServerClients

/// Clients in processes of their own, behind the proxy that loses answers.
struct LostAnswers {
    private static let clients = 8
    private static let day = 86_400

    let house: Household
    let process: ServerProcess
    let folder: String
    let renewals: Int
    let kills: Int

    /// One family, and how it is bound.
    private struct Member: Sendable {
        let file: String
        let isBound: Bool
    }

    func run(_ findings: inout Findings<Rule>) throws {
        let proxy = try LossyProxy(server: self.process.port)
        defer { proxy.stop() }
        let members = try (0..<Self.clients).map { try self.member($0, behind: proxy) }
        let found = Shared(findings)
        try onThreads(members.count) { index in try Self.follow(members[index], found) }
        findings = found.withLock { $0 }
        findings.check(
            .aLostAnswerSignsNobodyOut, proxy.lost > self.renewals / 40, "only \(proxy.lost) answers were lost")
        print("  \(proxy.lost) answers lost")
        try self.comeBackAfterADay(members, &findings)
    }

    /// A client with a family of its own: half of them apps without a key, a quarter apps with one, a quarter with a
    /// secret.
    private func member(_ index: Int, behind proxy: LossyProxy) throws -> Member {
        var connection = try self.house.server.connect()
        let key = index % 4 == 1 ? try ProofKey() : nil
        let client = index % 4 == 3 ? self.house.web : self.house.app
        let left = self.renewals / Self.clients
        var deaths: Set<Int> = []
        while deaths.count < min(left, self.kills / Self.clients) { deaths.insert(Int.random(in: 1...left)) }
        let state = ClientState(
            client: client, serverPort: self.process.port, proxyPort: proxy.port,
            token: try self.house.family(of: client, key: key, on: &connection), key: key?.bytes, left: left,
            deaths: deaths)
        let member = Member(file: "\(self.folder)/client-\(index).json", isBound: index % 2 == 1)
        try state.write(to: member.file)
        return member
    }

    /// Starts a client again and again until it has done what it was to do.
    private static func follow(_ member: Member, _ findings: Shared<Findings<Rule>>) throws {
        var rule = Rule.aLostAnswerSignsNobodyOut
        while true {
            let end = try Self.start(member)
            findings.withLock { $0.check(rule, end != .exit(RenewingClient.signedOut), member.file) }
            guard end == .signal(SIGKILL) else {
                guard end == .exit(0) || end == .exit(RenewingClient.signedOut) else {
                    throw LoadError("a client ended by itself: \(end)")
                }
                return
            }
            // Whoever starts now has the token of before the death.
            rule = .aKilledClientComesBack
        }
    }

    /// Everybody dies with a token that is not stored. A day later those come back whose tokens are bound; of the others
    /// nobody knows whether they are the owners.
    private func comeBackAfterADay(_ members: [Member], _ findings: inout Findings<Rule>) throws {
        for member in members {
            var state = try ClientState(file: member.file)
            (state.left, state.deaths) = (1, [1])
            try state.write(to: member.file)
            guard try Self.start(member) == .signal(SIGKILL) else { throw LoadError("a client did not die") }
        }
        print("  a day later, the \(members.filter { !$0.isBound }.count) apps without a key are refused:")
        self.process.killAtOnce()
        self.process.secondsAhead = Self.day
        try self.process.start()
        for member in members {
            var state = try ClientState(file: member.file)
            (state.left, state.secondsAhead) = (3, Self.day)
            try state.write(to: member.file)
            let wanted: End = member.isBound ? .exit(0) : .exit(RenewingClient.signedOut)
            let end = try Self.start(member)
            findings.check(.aBoundClientComesBackAfterADay, end == wanted, "\(member.file): \(end)")
        }
    }

    private enum End: Equatable {
        case exit(Int32)
        case signal(Int32)
    }

    private static func start(_ member: Member) throws -> End {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
        process.arguments = ["client", member.file]
        process.standardInput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return process.terminationReason == .exit
            ? .exit(process.terminationStatus) : .signal(process.terminationStatus)
    }
}
