public import Records
import _Primitives

/// The rules for every ``DeviceCodeStore``, about devices that wait for their person.
public enum DeviceCodeConformance {
    /// The store protocols that the rules use.
    public typealias Subject = any AccountStore & AuthorizationStore & ClientStore & DeviceCodeStore & RefreshStore
        & SessionStore

    /// The rules, each over an empty store.
    public static let checks: [ConformanceCheck<Subject>] = Self.codes + Self.answers + Self.ends

    private static let start = Timestamp(seconds: 1_800_000_000)
    private static let event = AuditEvent(AuditEvent.Kind(rawValue: "test"), at: start)

    private static func bytes(_ number: UInt8) -> [UInt8] { [UInt8](repeating: number, count: 32) }

    private static func userCode(_ letters: String = "ABCD2345") -> TypedCode {
        // The letters are from the alphabet above, so the code is valid.
        TypedCode(typed: letters, letters: letters.count) ?? TypedCode(letters: 8, random: .system)
    }

    private static func code(_ number: UInt8 = 1, _ letters: String = "ABCD2345", seconds: Int = 600)
        -> DeviceCodeRecord
    {
        DeviceCodeRecord(
            digest: Self.bytes(number), userCode: Self.userCode(letters), client: "c", scope: "openid profile",
            interval: .seconds(5), expiresAt: Self.start + .seconds(seconds))
    }

    private static func add(_ code: DeviceCodeRecord, to store: Subject) async throws {
        try await store.addDeviceCode(code, keptUntil: code.expiresAt + .seconds(60))
    }

    private static func request(_ id: String, browser: UInt8) -> AuthorizationRequestRecord {
        AuthorizationRequestRecord(
            id: id, browserDigest: Self.bytes(browser), client: "c", redirectURI: "https://c.example/in",
            scope: "openid", state: nil, nonce: nil, codeChallenge: nil, expiresAt: Self.start + .seconds(600))
    }

    private static func question(_ number: UInt8 = 1, client: String = "c") -> PollingQuestion {
        PollingQuestion(
            digest: Self.bytes(number), client: client, tolerance: .seconds(1), slowdown: .seconds(5),
            longestInterval: .seconds(15),
            replay: Self.event)
    }

    private static let sample = SampleSignIn("1", secret: bytes(10), client: "c", at: start)

    private static func confirmed(_ request: String = "r") -> ConfirmedDevice {
        ConfirmedDevice(
            request: request, session: Self.sample.session, grant: Self.sample.grant,
            redirectURI: "https://c.example/in", language: "de")
    }

    /// Adds a code that its person has confirmed.
    private static func confirm(in store: Subject) async throws {
        try await Self.sample.addAccount(to: store)
        try await Self.add(Self.code(), to: store)
        _ = try await store.begin(Self.request("r", browser: 7), userCode: Self.userCode())
        try await store.confirm(Self.confirmed(), audit: Self.event)
    }

    private static let codes: [ConformanceCheck<Subject>] = [
        ConformanceCheck("a code is found by what a person types, and by the request that waits for them") { store in
            try await Self.add(Self.code(), to: store)
            try expect(try await store.deviceCode(userCode: Self.userCode()) == Self.code(), "as it was added")
            try expect(try await store.deviceCode(userCode: Self.userCode("ABCD2346")) == nil, "no other")
            try expect(try await store.deviceCode(request: "r") == nil, "nothing waits")
            let waiting = try await store.begin(Self.request("r", browser: 7), userCode: Self.userCode())
            try expect(waiting == "r", "it waits")
            try expect(try await store.request("r") == Self.request("r", browser: 7), "as any other")
            try expect(try await store.deviceCode(request: "r") == Self.code(), "by its request")
        },
        ConformanceCheck("no two devices have the same code for their person") { store in
            try await Self.add(Self.code(1), to: store)
            try await expectError(StoreError(.conflict, "")) { try await Self.add(Self.code(2), to: store) }
            try expect(try await store.deviceCode(userCode: Self.userCode())?.digest == Self.bytes(1), "the first's")
        },
        ConformanceCheck("the same browser gets what waits already, and another one nothing") { store in
            try await Self.add(Self.code(), to: store)
            _ = try await store.begin(Self.request("r", browser: 7), userCode: Self.userCode())
            let again = try await store.begin(Self.request("again", browser: 7), userCode: Self.userCode())
            try expect(again == "r", "again")
            let other = try await store.begin(Self.request("else", browser: 8), userCode: Self.userCode())
            try expect(other == nil, "another")
            let none = try await store.begin(Self.request("none", browser: 7), userCode: Self.userCode("ZZZZZZZZ"))
            try expect(none == nil, "unknown")
            for id in ["again", "else", "none"] {
                try expect(try await store.request(id) == nil, "\(id) does not wait")
            }
        },
        ConformanceCheck("of 50 browsers that come at once one gets it") { store in
            try await Self.add(Self.code(), to: store)
            let count = try await withThrowingTaskGroup(of: String?.self) { group in
                for index in 0..<50 {
                    group.addTask {
                        try await store.begin(
                            Self.request("r\(index)", browser: UInt8(100 + index)), userCode: Self.userCode())
                    }
                }
                return try await group.reduce(into: 0) { $0 += $1 == nil ? 0 : 1 }
            }
            try expect(count == 1, "one of 50, not \(count)")
        },
    ]

    private static let answers: [ConformanceCheck<Subject>] = [
        ConformanceCheck("a device that asks too soon waits longer from then on") { store in
            try await Self.add(Self.code(), to: store)
            func answer(_ milliseconds: Int) async throws -> DeviceAnswer {
                try await store.answer(Self.question(), at: Self.start + .milliseconds(milliseconds))
            }
            try expect(try await answer(0) == .pending, "the first time at once")
            try expect(try await answer(4000) == .pending, "within the tolerance")
            try expect(try await answer(7999) == .tooSoon, "too soon")
            try expect(try await answer(4000 + 8999) == .tooSoon, "ten seconds after the last that was judged")
            try expect(try await answer(4000 + 13_999) == .tooSoon, "and then fifteen")
            try expect(try await answer(4000 + 14_000) == .pending, "and no more than the longest")
            try expect(try await answer(18_000 + 13_999) == .tooSoon, "for all questions that follow")
            try expect(try await answer(18_000 + 14_000) == .pending, "from that one on")
        },
        ConformanceCheck("another client, and whoever invents a code, is told of none, and changes nothing") { store in
            try await Self.confirm(in: store)
            try expect(try await store.answer(Self.question(client: "d"), at: Self.start) == .unknown, "another client")
            try expect(try await store.answer(Self.question(2), at: Self.start) == .unknown, "another code")
            let standing = StandingGrant(
                grant: Self.sample.grant, authentication: Self.sample.session.authentication, isAccountLocked: false)
            try expect(try await store.answer(Self.question(), at: Self.start) == .taken(standing), "its own")
        },
        ConformanceCheck("of 50 questions at once one has the grant, and one that comes later ends it") { store in
            try await Self.confirm(in: store)
            let answers = try await withThrowingTaskGroup(of: DeviceAnswer.self) { group in
                for _ in 0..<50 { group.addTask { try await store.answer(Self.question(), at: Self.start) } }
                return try await group.reduce(into: [DeviceAnswer]()) { $0.append($1) }
            }
            let taken = answers.filter { if case .taken = $0 { true } else { false } }
            try expect(taken.count == 1, "one of 50, not \(taken.count)")
            try expect(answers.filter { $0 == .replayed }.count == 1, "the second ends it")
            try expect(answers.filter { $0 == .unknown }.count == 48, "and nobody else is told anything")
            let grant = try await store.grant(Self.sample.grant.id, token: nil, at: Self.start)
            try expect(grant == nil, "revoked")
        },
        ConformanceCheck("what was confirmed is a session and a grant as any other") { store in
            try await Self.confirm(in: store)
            let session = try await store.session(cookieDigest: Self.bytes(10))
            try expect(session == Self.sample.session, "the session")
            try expect(try await store.request("r") == nil, "nothing waits")
            try expect(try await store.deviceCode(request: "r") == nil, "of no device")
            let again = try await store.begin(Self.request("s", browser: 7), userCode: Self.userCode())
            try expect(again == nil, "the code is spent")
            let account = try await store.account(subject: Self.sample.grant.subject, client: "c")
            try expect(account == "account-alice", "the client knows the person")
            try expect(try await store.account(id: "account-alice")?.language == "de", "the person's language")
        },
    ]

    private static let ends: [ConformanceCheck<Subject>] = [
        ConformanceCheck("what waits for the person and ends without their yes is a no") { store in
            try await Self.add(Self.code(), to: store)
            _ = try await store.begin(Self.request("r", browser: 7), userCode: Self.userCode())
            _ = try await store.removeRequest("r")
            try expect(try await store.answer(Self.question(), at: Self.start) == .denied, "denied")
            let again = try await store.begin(Self.request("s", browser: 7), userCode: Self.userCode())
            try expect(again == nil, "for good")
            try await expectError(StoreError(.notFound, "")) {
                try await store.confirm(Self.confirmed(), audit: Self.event)
            }
            try expect(try await store.answer(Self.question(), at: Self.start + .seconds(5)) == .denied, "still")
        },
        ConformanceCheck("a request that runs out, or whose address its client gives up, is a no") { store in
            try await store.addClient(
                ClientRecord(
                    id: "c", name: "Bank", redirectURIs: ["https://c.example/in"], postLogoutRedirectURIs: [],
                    secretDigest: Self.bytes(1), createdAt: Self.start, settings: ClientSettings()), limit: 1,
                audit: Self.event)
            let later = Self.start + .seconds(600)
            try await Self.add(Self.code(1, seconds: 900), to: store)
            _ = try await store.begin(Self.request("r", browser: 7), userCode: Self.userCode())
            let swept = try await store.sweepAuthorizations(at: later, idleSince: Self.start, limit: 10)
            try expect(swept == 1, "the request alone, not \(swept)")
            try expect(try await store.answer(Self.question(), at: later) == .denied, "it ran out")
            try await Self.add(Self.code(2, "EFGH2345", seconds: 900), to: store)
            _ = try await store.begin(Self.request("s", browser: 7), userCode: Self.userCode("EFGH2345"))
            _ = try await store.changeClient("c") { client in
                client.redirectURIs = []
                return []
            }
            try expect(try await store.answer(Self.question(2), at: later) == .denied, "it has no address")
        },
        ConformanceCheck("of 50 that confirm at once one does") { store in
            try await Self.sample.addAccount(to: store)
            try await Self.add(Self.code(), to: store)
            _ = try await store.begin(Self.request("r", browser: 7), userCode: Self.userCode())
            let count = try await withThrowingTaskGroup(of: Bool.self) { group in
                for index in 0..<50 {
                    group.addTask {
                        let sample = SampleSignIn(
                            "x\(index)", secret: Self.bytes(UInt8(100 + index)), client: "c", at: Self.start)
                        let confirmed = ConfirmedDevice(
                            request: "r", session: sample.session, grant: sample.grant,
                            redirectURI: "https://c.example/")
                        do { try await store.confirm(confirmed, audit: Self.event) } catch let error as StoreError
                            where error.code == .notFound
                        { return false }
                        return true
                    }
                }
                return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            try expect(count == 1, "one of 50, not \(count)")
        },
        ConformanceCheck("a code ends at its time, is told so for a while, and is then swept") { store in
            try await Self.add(Self.code(seconds: 600), to: store)
            let end = Self.start + .seconds(600)
            try expect(try await store.answer(Self.question(), at: end - .milliseconds(1)) == .pending, "before")
            try expect(try await store.answer(Self.question(), at: end) == .expired, "at its end")
            _ = try await store.sweepAuthorizations(at: end + .seconds(59), idleSince: Self.start, limit: 10)
            try expect(try await store.answer(Self.question(), at: end) == .expired, "still told")
            let swept = try await store.sweepAuthorizations(at: end + .seconds(60), idleSince: Self.start, limit: 10)
            try expect(swept == 1, "swept")
            try expect(try await store.answer(Self.question(), at: end) == .unknown, "gone")
        },
        ConformanceCheck("it goes with its grant, with the session that it was given in, and with its client") {
            store in
            try await Self.confirm(in: store)
            _ = try await store.endSession(Self.sample.session.id, audit: Self.event)
            try expect(try await store.answer(Self.question(), at: Self.start) == .unknown, "the session has ended")
            _ = try await store.deleteGrant(Self.sample.grant.id, client: "c", audit: Self.event)
            try expect(try await store.deviceCode(userCode: Self.userCode()) == nil, "gone with its grant")
            try await store.addClient(
                ClientRecord(
                    id: "c", name: "Bank", redirectURIs: [], postLogoutRedirectURIs: [], secretDigest: Self.bytes(1),
                    createdAt: Self.start, settings: ClientSettings()), limit: 1, audit: Self.event)
            try await Self.add(Self.code(3), to: store)
            _ = try await store.deleteClient("c", audit: Self.event)
            try expect(try await store.deviceCode(userCode: Self.userCode()) == nil, "gone with its client")
        },
    ]
}
