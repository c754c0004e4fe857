public import Records
import _Primitives

/// The rules for every ``PushedRequestStore``, about requests that clients push.
public enum PushedRequestConformance {
    /// The store protocols that the rules use.
    public typealias Subject = any AccountStore & AuthorizationStore & ClientStore & PushedRequestStore

    /// The rules, each over an empty store.
    public static let checks: [ConformanceCheck<Subject>] = Self.browsers + Self.ends

    private static let start = Timestamp(seconds: 1_800_000_000)
    private static let event = AuditEvent(AuditEvent.Kind(rawValue: "test"), at: start)

    private static func bytes(_ number: UInt8) -> [UInt8] { [UInt8](repeating: number, count: 32) }

    private static func pushed(_ number: UInt8 = 1, browser: UInt8? = nil, seconds: Int = 90) -> PushedRequestRecord {
        PushedRequestRecord(
            digest: Self.bytes(number), client: "c", parameters: "login_hint=alice&state=%E2%82%AC",
            browserDigest: browser.map(Self.bytes), expiresAt: Self.start + .seconds(seconds))
    }

    private static func request(_ id: String, browser: UInt8, seconds: Int = 300) -> AuthorizationRequestRecord {
        AuthorizationRequestRecord(
            id: id, browserDigest: Self.bytes(browser), client: "c", redirectURI: "https://c.example/in",
            scope: "openid", state: nil, nonce: nil, codeChallenge: Self.bytes(3),
            expiresAt: Self.start + .seconds(seconds))
    }

    /// Returns the number of 50 concurrent calls whose answer satisfies `isWinner`.
    private static func winners<Answer: Sendable>(
        of race: @escaping @Sendable (UInt8) async throws -> Answer, where isWinner: (Answer) -> Bool
    ) async throws -> Int {
        try await withThrowingTaskGroup(of: Answer.self) { group in
            for index in 0..<50 { group.addTask { try await race(UInt8(100 + index)) } }
            return try await group.reduce(into: 0) { $0 += isWinner($1) ? 1 : 0 }
        }
    }

    private static let browsers: [ConformanceCheck<Subject>] = [
        ConformanceCheck("a pushed request comes back as it was added, and then with its browser") { store in
            try await store.addPushedRequest(Self.pushed())
            try expect(try await store.pushedRequest(digest: Self.bytes(1)) == Self.pushed(), "as it was added")
            try expect(try await store.pushedRequest(digest: Self.bytes(2)) == nil, "no other")
            let waiting = try await store.begin(Self.request("r", browser: 7), pushed: Self.bytes(1))
            try expect(waiting == "r", "it waits")
            try expect(try await store.request("r") == Self.request("r", browser: 7), "as any other")
            try expect(try await store.pushedRequest(digest: Self.bytes(1)) == Self.pushed(browser: 7), "its browser")
        },
        ConformanceCheck("the same browser gets what waits already, and another one nothing") { store in
            try await store.addPushedRequest(Self.pushed())
            _ = try await store.begin(Self.request("r", browser: 7), pushed: Self.bytes(1))
            try expect(try await store.begin(Self.request("again", browser: 7), pushed: Self.bytes(1)) == "r", "again")
            try expect(try await store.begin(Self.request("else", browser: 8), pushed: Self.bytes(1)) == nil, "another")
            try expect(try await store.begin(Self.request("none", browser: 7), pushed: Self.bytes(2)) == nil, "unknown")
            for id in ["again", "else", "none"] {
                try expect(try await store.request(id) == nil, "\(id) does not wait")
            }
        },
        ConformanceCheck("of 50 browsers that come at once one gets it") { store in
            try await store.addPushedRequest(Self.pushed())
            let count = try await Self.winners(
                of: { try await store.begin(Self.request("r\($0)", browser: $0), pushed: Self.bytes(1)) },
                where: { $0 != nil })
            try expect(count == 1, "one of 50, not \(count)")
        },
    ]

    private static let ends: [ConformanceCheck<Subject>] = [
        ConformanceCheck("of 50 that answer it at once one does, whether it waited before or not") { store in
            for waits in [false, true] {
                try await store.addPushedRequest(Self.pushed())
                if waits { _ = try await store.begin(Self.request("r", browser: 7), pushed: Self.bytes(1)) }
                let count = try await Self.winners(
                    of: { _ in try await store.endPushedRequest(digest: Self.bytes(1), browserDigest: Self.bytes(7)) },
                    where: \.self)
                try expect(count == 1, "one of 50, not \(count)")
                try expect(try await store.pushedRequest(digest: Self.bytes(1)) == nil, "gone")
                try expect(try await store.request("r") == nil, "and what waited")
            }
        },
        ConformanceCheck("another browser does not answer it") { store in
            try await store.addPushedRequest(Self.pushed())
            _ = try await store.begin(Self.request("r", browser: 7), pushed: Self.bytes(1))
            let isEnded = try await store.endPushedRequest(digest: Self.bytes(1), browserDigest: Self.bytes(8))
            try expect(!isEnded, "not its own")
            try expect(try await store.pushedRequest(digest: Self.bytes(1)) != nil, "it stands")
            try expect(try await store.request("r") != nil, "and so does what waits")
        },
        ConformanceCheck("what ends the request ends the pushed one: a sign-in, a refusal") { store in
            let sample = SampleSignIn("1", secret: Self.bytes(10), client: "c", at: Self.start)
            try await store.addPushedRequest(Self.pushed(1))
            _ = try await store.begin(sample.request, pushed: Self.bytes(1))
            let completed = CompletedAuthorization(
                request: sample.request.id, session: sample.session, grant: sample.grant, code: sample.code)
            try await sample.addAccount(to: store)
            try await store.complete(completed, replacing: nil)
            try expect(try await store.pushedRequest(digest: Self.bytes(1)) == nil, "signed in")
            try await store.addPushedRequest(Self.pushed(2))
            _ = try await store.begin(Self.request("r", browser: 7), pushed: Self.bytes(2))
            _ = try await store.removeRequest("r")
            try expect(try await store.pushedRequest(digest: Self.bytes(2)) == nil, "refused")
            try expect(try await store.begin(Self.request("s", browser: 7), pushed: Self.bytes(2)) == nil, "for good")
        },
        ConformanceCheck("it goes with its client") { store in
            try await store.addClient(
                ClientRecord(
                    id: "c", name: "Bank", redirectURIs: [], postLogoutRedirectURIs: [], secretDigest: Self.bytes(1),
                    createdAt: Self.start, settings: ClientSettings()), limit: 1, audit: Self.event)
            try await store.addPushedRequest(Self.pushed())
            _ = try await store.deleteClient("c", audit: Self.event)
            try expect(try await store.pushedRequest(digest: Self.bytes(1)) == nil, "gone")
        },
        ConformanceCheck("it ends with what waits at the latest, and a sweep deletes what has ended") { store in
            try await store.addPushedRequest(Self.pushed(1, seconds: 90))
            try await store.addPushedRequest(Self.pushed(2, seconds: 91))
            try await store.addPushedRequest(Self.pushed(3, seconds: 200))
            _ = try await store.begin(Self.request("r", browser: 7, seconds: 90), pushed: Self.bytes(3))
            let short = try await store.pushedRequest(digest: Self.bytes(3))
            try expect(short?.expiresAt == Self.start + .seconds(90), "with what waits")
            let later = Self.start + .seconds(90)
            let swept = try await store.sweepAuthorizations(at: later, idleSince: Self.start, limit: 10)
            try expect(swept == 3, "two pushed ones and what waited, not \(swept)")
            try expect(try await store.pushedRequest(digest: Self.bytes(1)) == nil, "deleted")
            try expect(try await store.pushedRequest(digest: Self.bytes(2)) != nil, "kept")
        },
    ]
}
