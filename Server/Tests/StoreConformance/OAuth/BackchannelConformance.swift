public import Records
import _Primitives

/// The rules for every ``BackchannelStore``, about people who are asked without a browser.
public enum BackchannelConformance {
    /// The store protocols that the rules use.
    public typealias Subject = any AccountStore & AuthorizationStore & BackchannelStore & ClientStore & RefreshStore
        & SessionStore

    private static let start = Timestamp(seconds: 1_800_000_000)
    private static let event = AuditEvent(AuditEvent.Kind(rawValue: "test"), at: start)
    private static let sample = SampleSignIn("1", secret: bytes(10), client: "c", at: start)

    private static func bytes(_ number: UInt8) -> [UInt8] { [UInt8](repeating: number, count: 32) }

    private static func request(_ number: UInt8 = 1) -> BackchannelRequestRecord {
        BackchannelRequestRecord(
            id: "q\(number)", digest: Self.bytes(number), client: "c", scope: "openid profile", interval: .seconds(5),
            expiresAt: Self.start + .seconds(300))
    }

    private static func add(_ request: BackchannelRequestRecord = request(), to store: Subject) async throws {
        try await Self.sample.addAccount(to: store)
        try await store.addBackchannelRequest(request, keptUntil: request.expiresAt + .seconds(60))
    }

    private static func question(_ number: UInt8 = 1, client: String = "c") -> PollingQuestion {
        PollingQuestion(
            digest: Self.bytes(number), client: client, tolerance: .seconds(1), slowdown: .seconds(5),
            longestInterval: .seconds(15),
            replay: Self.event)
    }

    private static func given(_ sample: SampleSignIn = sample, _ request: String = "q1") -> BackchannelGrant {
        BackchannelGrant(
            request: request, session: sample.session, grant: sample.grant, redirectURI: "https://c.example/in")
    }

    /// The rules, each over an empty store.
    public static let checks: [ConformanceCheck<Subject>] = [
        ConformanceCheck("a client that asks too soon waits longer from then on") { store in
            try await Self.add(to: store)
            func answer(_ milliseconds: Int) async throws -> BackchannelAnswer {
                try await store.backchannelAnswer(Self.question(), at: Self.start + .milliseconds(milliseconds))
            }
            try expect(try await answer(0) == .open(Self.request()), "as it was added")
            try expect(try await answer(4000) == .open(Self.request()), "within the tolerance")
            try expect(try await answer(7999) == .tooSoon, "too soon")
            try expect(try await answer(4000 + 8999) == .tooSoon, "ten seconds after the last that was judged")
            try expect(try await answer(4000 + 13_999) == .tooSoon, "and then fifteen")
            guard case .open = try await answer(4000 + 14_000) else {
                try expect(false, "and no more than the longest")
                return
            }
        },
        ConformanceCheck("another client, and whoever invents a name, is told of none, and changes nothing") { store in
            try await Self.add(to: store)
            try await store.grant(Self.given(), at: Self.start, audit: Self.event)
            for question in [Self.question(client: "d"), Self.question(2)] {
                try expect(try await store.backchannelAnswer(question, at: Self.start) == .unknown, "none")
            }
            let grant = try await store.grant(Self.sample.grant.id, token: nil, at: Self.start)
            try expect(grant?.grant == Self.sample.grant, "it stands")
            let session = try await store.session(cookieDigest: Self.bytes(10))
            try expect(session == Self.sample.session, "and so does the session")
        },
        ConformanceCheck("of 50 that take it at once one does, and a question after that ends what it gave") { store in
            try await Self.add(to: store)
            let count = try await withThrowingTaskGroup(of: Bool.self) { group in
                for index in 0..<50 {
                    group.addTask {
                        let sample = SampleSignIn(
                            "x\(index)", secret: Self.bytes(UInt8(100 + index)), client: "c", at: Self.start)
                        try await sample.addAccount(to: store)
                        do { try await store.grant(Self.given(sample), at: Self.start, audit: Self.event) } catch let
                            error as StoreError where error.code == .notFound
                        { return false }
                        return true
                    }
                }
                return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
            }
            try expect(count == 1, "one of 50, not \(count)")
            try expect(try await store.backchannelAnswer(Self.question(), at: Self.start) == .replayed, "it is over")
            try expect(try await store.backchannelAnswer(Self.question(), at: Self.start) == .unknown, "and gone")
        },
        ConformanceCheck("a request ends at its time, is told so for a while, and is then swept") { store in
            try await Self.add(to: store)
            let end = Self.start + .seconds(300)
            guard case .open = try await store.backchannelAnswer(Self.question(), at: end - .milliseconds(1)) else {
                try expect(false, "before its end")
                return
            }
            try expect(try await store.backchannelAnswer(Self.question(), at: end) == .expired, "at its end")
            try await expectError(StoreError(.notFound, "")) {
                try await store.grant(Self.given(), at: end, audit: Self.event)
            }
            _ = try await store.sweepAuthorizations(at: end + .seconds(59), idleSince: Self.start, limit: 10)
            try expect(try await store.backchannelAnswer(Self.question(), at: end) == .expired, "still told")
            _ = try await store.sweepAuthorizations(at: end + .seconds(60), idleSince: Self.start, limit: 10)
            try expect(try await store.backchannelAnswer(Self.question(), at: end) == .unknown, "gone")
        },
        ConformanceCheck("it goes with its grant, and with its client") { store in
            try await Self.add(to: store)
            try await store.grant(Self.given(), at: Self.start, audit: Self.event)
            _ = try await store.deleteGrant(Self.sample.grant.id, client: "c", audit: Self.event)
            try expect(try await store.backchannelAnswer(Self.question(), at: Self.start) == .unknown, "with its grant")
            try await store.addClient(
                ClientRecord(
                    id: "c", name: "Bank", redirectURIs: [], postLogoutRedirectURIs: [], secretDigest: Self.bytes(1),
                    createdAt: Self.start, settings: ClientSettings()), limit: 1, audit: Self.event)
            try await Self.add(Self.request(3), to: store)
            _ = try await store.deleteClient("c", audit: Self.event)
            let left = try await store.backchannelAnswer(Self.question(3), at: Self.start)
            try expect(left == .unknown, "with its client")
        },
    ]
}
