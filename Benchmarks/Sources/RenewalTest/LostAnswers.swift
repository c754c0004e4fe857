import Foundation
import ServerClients

/// Clients in separate processes, behind the proxy that loses answers.
struct LostAnswers {
    /// The number of clients.
    static let clients = 8
    private static let day = 86_400
    private static let minutes = 120

    let process: ServerProcess
    let members: [Member]
    let rules: Rules

    /// The rules for the clients.
    struct Rules {
        let lost: Rule
        let killed: Rule
        let late: Rule
    }

    /// One client, and the binding of its tokens.
    struct Member: Sendable {
        /// The kind of client, which is the program's first argument.
        let kind: String
        /// The file with the client's data.
        let file: String
        let isBound: Bool
        /// The numbers of renewals and of deaths.
        let left: Int
        let deaths: Int
    }

    func run(_ findings: inout Findings<Rule>) throws {
        let proxy = try LossyProxy(server: self.process.port)
        defer { proxy.stop() }
        for member in self.members {
            var deaths: Set<Int> = []
            while deaths.count < min(member.left, member.deaths) { deaths.insert(Int.random(in: 1...member.left)) }
            try Errand(
                serverPort: self.process.port, proxyPort: proxy.port, left: member.left, deaths: deaths,
                secondsAhead: self.process.secondsAhead
            ).write(to: Errand.file(of: member.file))
        }
        let found = Shared(findings)
        let (members, rules) = (self.members, self.rules)
        try onThreads(members.count) { index in try Self.follow(members[index], rules, found) }
        findings = found.withLock { $0 }
        let wanted = members.reduce(0) { $0 + $1.left } / 40
        findings.check(rules.lost, proxy.lost > wanted, "only \(proxy.lost) answers were lost")
        print("  \(proxy.lost) answers lost")
        try self.comeBackAfterADay(&findings)
    }

    /// Starts a client again and again until its task is done.
    private static func follow(_ member: Member, _ rules: Rules, _ findings: Shared<Findings<Rule>>) throws {
        var rule = rules.lost
        while true {
            let end = try Self.start(member)
            findings.withLock { $0.check(rule, end != .exit(Errand.signedOut), member.file) }
            guard end == .signal(SIGKILL) else {
                guard end == .exit(0) || end == .exit(Errand.signedOut) else {
                    throw LoadError("a client ended by itself: \(end)")
                }
                return
            }
            // A client that starts now has the token from before its death.
            rule = rules.killed
        }
    }

    /// All clients die with an unstored token. A day later the clients with bound tokens come back. For the other
    /// clients, the server cannot tell owners from thieves.
    private func comeBackAfterADay(_ findings: inout Findings<Rule>) throws {
        // Of many renewals within a minute, the later renewals give the same token again. A renewal after a minute
        // gives the next token.
        try self.restart(later: Self.minutes)
        for member in self.members {
            var errand = try Errand(file: Errand.file(of: member.file))
            (errand.left, errand.deaths, errand.secondsAhead) = (1, [1], self.process.secondsAhead)
            try errand.write(to: Errand.file(of: member.file))
            guard try Self.start(member) == .signal(SIGKILL) else { throw LoadError("a client did not die") }
        }
        let unbound = self.members.filter { !$0.isBound }.count
        if unbound > 0 { print("  a day later, the \(unbound) apps without a key are refused:") }
        try self.restart(later: Self.day)
        for member in self.members {
            var errand = try Errand(file: Errand.file(of: member.file))
            (errand.left, errand.secondsAhead) = (3, self.process.secondsAhead)
            try errand.write(to: Errand.file(of: member.file))
            let wanted: End = member.isBound ? .exit(0) : .exit(Errand.signedOut)
            let end = try Self.start(member)
            findings.check(self.rules.late, end == wanted, "\(member.file): \(end)")
        }
    }

    /// Restarts the server, with its clock so many seconds later.
    private func restart(later seconds: Int) throws {
        self.process.killAtOnce()
        self.process.secondsAhead += seconds
        try self.process.start()
    }

    private enum End: Equatable {
        case exit(Int32)
        case signal(Int32)
    }

    private static func start(_ member: Member) throws -> End {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
        process.arguments = [member.kind, member.file]
        process.standardInput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return process.terminationReason == .exit
            ? .exit(process.terminationStatus) : .signal(process.terminationStatus)
    }
}
