import Glibc
import Passwords
import ServerClients
import _Primitives

/// Sign-ins by a password on a separate server: the cost of a sign-in without its hash, and the effect of a crowd on
/// everybody else.
struct PasswordLoad {
    /// The number of refreshes in a second beside the crowd, and the number of their connections.
    private static let refreshes = (perSecond: 500, connections: 20)

    private let process: ServerProcess
    private let server: Server
    private let client: RelyingParty

    /// Starts a server for people with passwords that were hashed at this cost.
    init(program: String, folder: String, people: Int, hashing: Argon2Parameters) async throws {
        self.process = try await People.serve(program: program, folder: folder, count: people, hashing: hashing)
        self.server = Server(self.process)
        self.client = try RelyingParty(
            server: self.server, grantTypes: ["authorization_code", "refresh_token"], signInMethods: ["password"])
    }

    func stop() { self.process.stop() }

    /// Measures the server's work for a right password, and for the rest of a sign-in: the authorization, the
    /// completion, the exchange of the code for tokens.
    func cost(signIns: Int) throws -> (verdict: Measurement, rest: Measurement) {
        var connection = try self.server.connect()
        let verifier = RandomSource.system.token()
        var begun: [Begun] = []
        let began = try measured(self.process.identifier) {
            for _ in 0..<signIns { begun.append(try self.begin(verifier, &connection)) }
            return signIns
        }
        let verdict = try measured(self.process.identifier) {
            for (number, signIn) in begun.enumerated() {
                try Self.check(try connection.exchange(self.attempt(signIn, person: number)))
            }
            return signIns
        }
        let ended = try measured(self.process.identifier) {
            for signIn in begun { _ = try self.tokens(signIn, verifier, &connection) }
            return signIns
        }
        return (verdict, began + ended)
    }

    /// The measurements of a crowd.
    struct Crowd {
        /// The time until everybody had a verdict.
        let seconds: Double
        /// The durations of refreshes meanwhile, from the moments at which they were due.
        let refreshes: [Double]
        /// The server's peak of memory meanwhile.
        let mebibytes: Double

        func percentile(_ percent: Int) -> Double {
            self.refreshes[min(self.refreshes.count - 1, self.refreshes.count * percent / 100)]
        }
    }

    /// Signs everybody in at the same moment, while others refresh their tokens at a steady pace. Throws if anybody of
    /// the crowd is not signed in.
    func crowd(of count: Int) throws -> Crowd {
        let verifier = RandomSource.system.token()
        var browser = try self.server.connect()
        var heads: [String] = []
        for number in 0..<Self.refreshes.connections {
            let signIn = try self.begin(verifier, &browser)
            try Self.check(try browser.exchange(self.attempt(signIn, person: number)))
            heads.append(try self.tokens(signIn, verifier, &browser))
        }
        var begun: [Begun] = []
        for _ in 0..<count { begun.append(try self.begin(verifier, &browser)) }
        let attempts = begun.enumerated().map { self.attempt($0.element, person: $0.offset) }
        try self.process.forgetPeak()
        let (elapsed, waits) = (Shared<Double?>(nil), Shared<[Double]>([]))
        let (families, server, client) = (heads, self.server, self.client)
        let clock = ContinuousClock()
        let start = clock.now
        try onThreads(families.count + 1) { index in
            if index == families.count {
                defer { elapsed.withLock { $0 = seconds(of: start.duration(to: clock.now)) } }
                try Self.signIn(attempts, server)
            } else {
                try Self.refresh(
                    families[index], client, server, every: families.count, offset: index, from: start,
                    until: { elapsed.withLock { $0 != nil } }, waits)
            }
        }
        return Crowd(
            seconds: elapsed.withLock { $0 } ?? 0, refreshes: waits.withLock { $0.sorted() },
            mebibytes: self.process.peakMebibytes())
    }

    /// Everybody sends a request on a separate connection before any answer is read.
    private static func signIn(_ attempts: [Request], _ server: Server) throws {
        var connections: [Held] = []
        for attempt in attempts {
            connections.append(Held(try server.connect()))
            try connections.last?.connection.send(
                attempt.method, attempt.path, headers: attempt.headers, body: attempt.body)
        }
        for held in connections { try Self.check(try held.connection.receive()) }
    }

    /// Refreshes one family at its share of the pace. A refresh that became due during another answer is late, and its
    /// lateness counts.
    private static func refresh(
        _ first: String, _ client: RelyingParty, _ server: Server, every connections: Int, offset: Int,
        from start: ContinuousClock.Instant, until isOver: () -> Bool, _ waits: Shared<[Double]>
    ) throws {
        let clock = ContinuousClock()
        var (head, own): (String, [Double]) = (first, [])
        var connection = try server.connect()
        var number = offset
        while !isOver() {
            let due = start + .seconds(Double(number) / Double(Self.refreshes.perSecond))
            let early = seconds(of: clock.now.duration(to: due))
            if early > 0 { usleep(UInt32(early * 1e6)) }
            head = try RelyingParty.renewable(in: connection.exchange(client.refresh(head))).refresh
            own.append(seconds(of: due.duration(to: clock.now)) * 1000)
            number += connections
        }
        let mine = own
        waits.withLock { $0 += mine }
    }

    // MARK: - One sign-in

    private struct Begun {
        let request: String
        let cookies: [String]
    }

    private func begin(_ verifier: String, _ connection: inout HTTPConnection) throws -> Begun {
        let answer = try connection.exchange(
            self.client.authorization(verifier: verifier, scope: "openid+offline_access"))
        return Begun(request: try self.client.page(after: answer).request, cookies: answer.cookieHeaders)
    }

    private func attempt(_ signIn: Begun, person: Int) -> Request {
        Request(
            "POST", "/sign-in/password", headers: signIn.cookies + [forwardedHeader()],
            type: "application/x-www-form-urlencoded",
            body: Array("request=\(signIn.request)&username=\(People.name(person))&password=\(People.password)".utf8))
    }

    private static func check(_ answer: HTTPConnection.Response) throws {
        guard answer.status == 303, answer.header("location")?.contains("/sign-in/complete") == true else {
            throw LoadError("password: \(answer.status)")
        }
    }

    /// Returns the refresh token of a sign-in with a right password.
    private func tokens(_ signIn: Begun, _ verifier: String, _ connection: inout HTTPConnection) throws -> String {
        let completed = try connection.exchange(
            Request("GET", "/sign-in/complete?request=\(signIn.request)", headers: signIn.cookies))
        guard let code = self.client.code(in: completed) else { throw LoadError("complete: \(completed.status)") }
        return try RelyingParty.renewable(
            in: connection.exchange(self.client.exchange(code: code, verifier: verifier))
        ).refresh
    }
}
