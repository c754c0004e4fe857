import Foundation
import Passwords
import ServerClients
import _Primitives

/// `make bench`: starts an optimised server on a fresh database, loads the server, and prints a table of the
/// measurements.
///
/// Arguments: SERVER-PROGRAM [--only apps|identities|worst] [--peer SCRIPT] [KEYS [CONNECTIONS [SECONDS [TOKENS]]]]
@main
struct LoadGenerator {
    static func main() async throws {
        var arguments = CommandLine.arguments
        func value(of option: String) -> String? {
            guard let index = arguments.firstIndex(of: option), index + 1 < arguments.count else { return nil }
            let value = arguments[index + 1]
            arguments.removeSubrange(index...(index + 1))
            return value
        }
        let (peerScript, only) = (value(of: "--peer"), value(of: "--only"))
        guard arguments.count >= 2, [nil, "apps", "identities", "worst"].contains(only) else {
            throw LoadError(
                """
                usage: LoadGenerator SERVER-PROGRAM [--only apps|identities|worst] [--peer SCRIPT] \
                [KEYS [CONNECTIONS [SECONDS [TOKENS]]]]
                """)
        }
        func number(_ index: Int, _ otherwise: Int) -> Int {
            arguments.count > index ? Int(arguments[index]) ?? otherwise : otherwise
        }
        let (keys, connections) = (number(2, 2000), number(3, 64))
        let (seconds, tokens) = (number(4, 10), number(5, 20_000))

        let folder = "/var/tmp/countersign-bench-\(getpid())"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        if let only {
            return try await Self.measure(only, arguments[1], folder: folder, connections: connections)
        }
        // Thousands of pages wait, and this process holds their other ends.
        let pages = min(10_000, WaitingPages.raiseLimit() - 1000)
        let process = try ServerProcess(
            program: arguments[1], folder: folder,
            options: ["--connections", "\(pages + 500)", "--client-registration"])
        defer { process.stop() }

        var report = Report()
        try process.start()
        report.add("start to ready, new database", Report.milliseconds(process.startDuration), "≤ 500 ms")
        process.stop()
        var starts: [Duration] = []
        for _ in 0..<5 {
            if process.identifier != 0 { process.stop() }
            try process.start()
            starts.append(process.startDuration)
        }
        report.add("start to ready, median of 5", Report.milliseconds(starts.sorted()[2]), "≤ 500 ms")
        sleep(3)
        report.add("memory, idle", String(format: "%.0f MiB", process.residentMebibytes()), "≤ 60 MB")

        let run = Run(server: Server(process), process: process.identifier, connections: connections)
        report.note("Building blocks on one core: " + run.buildingBlocks())
        let devices = try run.enrol(keys)
        let authentications = try run.authenticate(devices, for: .seconds(seconds))
        report.add(
            "UAF authentications, \(keys) keys, \(connections) connections", Report.rate(authentications.measured),
            "≥ 3,000/s")
        report.note("An authentication: " + authentications.measured.whereTimeGoes)

        let relyingParty = try RelyingParty(server: run.server)
        let latency = try run.latency(relyingParty, authentications.devices[0], rounds: 300)
        report.add(
            "phone's answer to the page's event, 300 sign-ins",
            String(
                format: "p50 %.1f ms, p95 %.1f ms, max %.1f ms", latency.percentile(50), latency.percentile(95),
                latency.percentile(100)), "p95 ≤ 50 ms")
        let redeemed = try run.redeem(relyingParty, subject: latency.subject, count: tokens)
        report.add("redeem, \(tokens) tokens, \(connections) connections", Report.rate(redeemed), "≥ 5,000/s")
        report.note("A redemption: " + redeemed.whereTimeGoes)
        try Self.measureTokens(run, session: latency.session, peer: peerScript, folder: folder, &report)
        try await Self.measurePasswords(arguments[1], folder: folder, &report)
        try await Self.measureApps(arguments[1], folder: folder, connections: connections, &report)
        try Self.measureIdentities(arguments[1], folder: folder, connections: connections, &report)
        let answers = try Self.measureAnswers(arguments[1], folder: folder, &report)
        var confirming = latency.device
        let worst = try run.worst(relyingParty, &confirming, subject: latency.subject)
        worst.add(to: &report)
        report.add("memory, after the load", String(format: "%.0f MiB", process.residentMebibytes()), "")

        var waiting = WaitingPages(process, relyingParty)
        let growth = try waiting.growth(from: pages / 10, to: pages)
        report.add(
            "memory of a waiting page, from \(pages / 10) to \(pages)", String(format: "%.1f KiB", growth), "≤ 32 KB")

        let counted = authentications.devices.dropFirst().reduce(UInt64(confirming.counter)) {
            $0 + UInt64($1.counter)
        }
        let stored = try sumOfCounters(inDatabase: process.databasePath)
        report.add("counters in the database / signatures accepted", "\(stored) / \(counted)", "equal")
        // A later failure ends the program at once, and `print` would lose its buffered output.
        FileHandle.standardOutput.write(Data((report.markdown + "\n").utf8))
        try worst.check()
        guard growth <= 32 else { throw LoadError("a waiting page costs more than 32 KB") }
        guard stored == counted else { throw LoadError("the database does not hold every acknowledged counter") }
        try answers.check()
    }

    /// Measures one part alone.
    private static func measure(_ part: String, _ program: String, folder: String, connections: Int) async throws {
        var report = Report()
        var check: () throws -> Void = {}
        switch part {
        case "apps": try await Self.measureApps(program, folder: folder, connections: connections, &report)
        case "identities":
            try Self.measureIdentities(program, folder: folder, connections: connections, &report)
            check = try Self.measureAnswers(program, folder: folder, &report).check
        default:
            let process = try ServerProcess(program: program, folder: folder, options: ["--client-registration"])
            defer { process.stop() }
            try process.start()
            let run = Run(server: Server(process), process: process.identifier, connections: connections)
            let relyingParty = try RelyingParty(server: run.server)
            let signedIn = try run.latency(relyingParty, try run.enrol(1)[0], rounds: 1)
            var device = signedIn.device
            let worst = try run.worst(relyingParty, &device, subject: signedIn.subject)
            worst.add(to: &report)
            check = worst.check
        }
        // A later failure ends the program at once, and `print` would lose its buffered output.
        FileHandle.standardOutput.write(Data((report.markdown + "\n").utf8))
        try check()
    }

    /// Measures sign-ins by a password, on separate servers. The hashes of one server cost next to nothing, so that
    /// only the other work remains. The other server has the usual cost.
    private static func measurePasswords(_ program: String, folder: String, _ report: inout Report) async throws {
        func load(_ name: String, people: Int, _ hashing: Argon2Parameters) async throws -> PasswordLoad {
            let own = folder + "/" + name
            try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: true)
            return try await PasswordLoad(program: program, folder: own, people: people, hashing: hashing)
        }
        let free = try await load("free", people: 500, Argon2Parameters(memoryKiB: 8, passes: 1, lanes: 1))
        defer { free.stop() }
        let cheap = try free.cost(signIns: 500)
        let usual = PasswordLimits().hashing
        let full = try await load("passwords", people: 500, usual)
        defer { full.stop() }
        let verdict = try full.cost(signIns: 300).verdict
        let hash = verdict.serverMicroseconds - cheap.verdict.serverMicroseconds
        func share(_ microseconds: Double) -> String { String(format: "%.1f %%", microseconds / hash * 100) }
        report.add(
            "a password, everything beside the hash", share(cheap.verdict.serverMicroseconds), "≤ 5 % of the hash")
        report.note(
            String(
                format: "A password: %.0f µs for the hash (Argon2id, %d MiB, %d passes) and %.0f µs for all else; "
                    + "authorization, completion and tokens of a sign-in: %.0f µs",
                hash, usual.memoryKiB / 1024, usual.passes, cheap.verdict.serverMicroseconds,
                cheap.rest.serverMicroseconds))
        let crowd = try full.crowd(of: 500)
        report.add(
            "500 passwords at once: p99 of the refreshes beside them",
            String(format: "%.1f ms (p50 %.1f ms; %.1f s)", crowd.percentile(99), crowd.percentile(50), crowd.seconds),
            "≤ 50 ms")
        let limits = PasswordLimits()
        let arena = Double(limits.hashingThreads * usual.memoryKiB) / 1024
        report.add(
            "the same: memory beside the \(Int(arena)) MiB of the hashes",
            String(format: "%.0f MiB", crowd.mebibytes - arena), "≤ 100 MB")
    }

    /// Measures the app sign-in service, with tokens of both algorithms.
    private static func measureApps(
        _ program: String, folder: String, connections: Int, _ report: inout Report
    ) async throws {
        func rates(_ algorithm: String, count: Int, unlocks: Int) async throws -> AppSignInRates {
            let own = folder + "/apps-" + algorithm
            try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: true)
            let server = try await AppSignInServer(
                program: program, folder: own, connections: connections, algorithm: algorithm)
            defer { server.stop() }
            return try await server.load.rates(count: count, unlocks: unlocks)
        }
        let elliptic = try await rates("ES256", count: 20_000, unlocks: 300)
        let rsa = try await rates("RS256", count: 4000, unlocks: 0)
        func add(_ what: String, _ measured: KeyPath<AppSignInRates, Measurement>, _ goal: String) {
            report.add(
                "\(what), \(connections) connections",
                Report.rate(elliptic[keyPath: measured])
                    + String(format: "; %.0f/s with RS256", rsa[keyPath: measured].perSecond), goal)
            report.note("\(what): " + elliptic[keyPath: measured].whereTimeGoes)
        }
        add("app's session, renewed", \.renewed, "≥ 6,000/s")
        add("web session for an app's", \.opened, "≥ 3,000/s")
        report.add(
            "app opened again: a finger's match to an access token, 300 times",
            String(
                format: "p50 %.1f ms, p95 %.1f ms", elliptic.unlock(percentile: 50), elliptic.unlock(percentile: 95)),
            "p95 ≤ 20 ms")
    }

    /// Measures personalised identities.
    private static func measureIdentities(
        _ program: String, folder: String, connections: Int, _ report: inout Report
    ) throws {
        let own = folder + "/identities"
        try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: true)
        let load = try IdentityLoad(program: program, folder: own, connections: connections, people: 4 * connections)
        defer { load.stop() }
        let measured = try load.signIns(8000)
        report.add(
            "sign-ins by a personalised identity, device and PIN, \(connections) connections", Report.rate(measured),
            "≥ 800/s")
        report.note(
            "A sign-in by a personalised identity: " + measured.whereTimeGoes
                + String(
                    format: "; beside it %.0f ms for a phone's key of its PIN, %.0f µs for the key that it seals by",
                    load.derivationMilliseconds, try load.encapsulationMicroseconds()))
    }

    /// Measures complete answers to right and wrong factors. The check that they cannot be distinguished comes at the
    /// very end.
    private static func measureAnswers(
        _ program: String, folder: String, _ report: inout Report
    ) throws -> AnswerTimes {
        let own = folder + "/answers"
        try FileManager.default.createDirectory(atPath: own, withIntermediateDirectories: true)
        let answers = try AnswerTimes(program: program, folder: own)
        answers.add(to: &report)
        return answers
    }

    /// Measures the endpoints of programs, and the same endpoints of another maker's provider, if a provider is given.
    private static func measureTokens(
        _ run: Run, session: [String], peer script: String?, folder: String, _ report: inout Report
    ) throws {
        let verifier = RandomSource.system.token()
        func rates(_ algorithm: String, codes: Int, idTokenAtRefresh: Bool = true) throws -> TokenRates {
            let client = try RelyingParty(
                server: run.server, grantTypes: ["authorization_code", "refresh_token", "client_credentials"],
                idTokenAlgorithm: algorithm, idTokenAtRefresh: idTokenAtRefresh)
            return try TokenLoad(provider: run.provider(client, verifier: verifier), connections: run.connections)
                .rates(
                    codes: try run.codes(client, verifier: verifier, session: session, count: codes), families: nil,
                    tokens: 20_000)
        }
        let ours = try rates("ES256", codes: 10_000)
        let bare = try rates("ES256", codes: 10_000, idTokenAtRefresh: false)
        let rsa = try rates("RS256", codes: 2000)
        var theirs: TokenRates?
        var name = ""
        if let script {
            let peer = try Peer(script: script, folder: folder + "/peer", codes: 1000, families: run.connections)
            defer { peer.stop() }
            theirs = try peer.rates(connections: run.connections, tokens: 2000)
            name = peer.name
        }
        func add(
            _ what: String, _ measured: KeyPath<TokenRates, Measurement>, _ goal: String, of rates: TokenRates? = nil
        ) {
            let own = (rates ?? ours)[keyPath: measured]
            let beside = theirs.map { theirs in
                let other = theirs[keyPath: measured].perSecond
                return String(format: "; %.0f times %@ with %.0f/s", own.perSecond / other, name, other)
            }
            report.add("\(what), \(run.connections) connections", Report.rate(own) + (beside ?? ""), goal)
            report.note("\(what): " + own.whereTimeGoes)
        }
        add("code and ID token, with a first refresh token", \.exchanged, "≥ 4,000/s")
        report.add("the same with an ID token of RS256", Report.rate(rsa.exchanged), "")
        add("refresh with rotation, without an ID token", \.renewed, "≥ 8,000/s", of: bare)
        add("refresh with rotation, with an ID token", \.renewed, "")
        add("introspection of different tokens", \.introspected, "≥ 12,000/s")
        add("client credentials", \.credited, "≥ 12,000/s")
    }
}
