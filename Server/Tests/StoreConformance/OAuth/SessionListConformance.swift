public import Records
import _Primitives

/// The rules for every ``SessionStore``, about the lists of signed-in browsers on a person's phone.
public enum SessionListConformance {
    /// The store protocols that the rules use.
    public typealias Subject = any AccountStore & AuditStore & AuthorizationStore & ClientStore & RefreshStore
        & SessionStore

    /// The rules, each over an empty store.
    public static let checks: [ConformanceCheck<Subject>] = Self.lists + Self.ends

    private static let start = Timestamp(seconds: 1_800_000_000)
    private static let idleSince = start - .seconds(3600)
    private static let event = AuditEvent(AuditEvent.Kind(rawValue: "test"), at: start, accountID: "a")

    private static func bytes(_ number: UInt8) -> [UInt8] { [UInt8](repeating: number, count: 32) }

    private static func sample(
        _ number: UInt8, account: String = "a", client: String = "bank", after seconds: Int = 0
    ) -> SampleSignIn {
        SampleSignIn(
            "\(number)", secret: Self.bytes(number), account: account, client: client,
            at: Self.start + .seconds(seconds), lifetime: .seconds(7200 - seconds),
            // A browser without a description leaves the columns empty.
            browser: number == 0 ? nil : "Chrome on Linux \u{20AC}", address: number == 0 ? nil : "192.0.2.\(number)")
    }

    /// Adds another grant to the session of ``sample(_:account:client:after:)``.
    private static func addGrant(
        _ code: UInt8, of number: UInt8, client: String, path: String, after seconds: Int, _ store: Subject
    ) async throws {
        let moment = Self.start + .seconds(seconds)
        let (grant, code) = SampleSignIn.grant(
            "\(code)", of: Self.sample(number).session, secret: Self.bytes(code), client: client, path: path,
            at: Self.start)
        try await store.addGrant(grant, code: code, usedAt: moment, audit: Self.event)
    }

    private static func addClient(_ id: String, _ store: Subject) async throws {
        try await store.addClient(
            ClientRecord(
                id: id, name: "The \(id)", redirectURIs: ["https://\(id).example/"], postLogoutRedirectURIs: [],
                secretDigest: Self.bytes(1), createdAt: Self.start, settings: ClientSettings()), limit: 10,
            audit: Self.event)
    }

    /// Adds a sign-in with the session `session-<number>`.
    private static func signIn(
        _ number: UInt8, account: String = "a", client: String = "bank", after seconds: Int = 0, _ store: Subject
    ) async throws {
        try await Self.sample(number, account: account, client: client, after: seconds).keep(in: store)
    }

    private static func trail(_ store: Subject) async throws -> [AuditEvent] {
        try await store.auditEntries(after: 0, limit: 99).map(\.event).filter { $0.kind == Self.event.kind }
    }

    private static func list(
        _ store: Subject, account: String = "a", at moment: Timestamp = Self.start,
        idleSince: Timestamp = Self.idleSince, limit: Int = 10, services: Int = 10
    ) async throws -> [SessionListing] {
        try await store.sessions(
            account: account, at: moment, idleSince: idleSince, limit: limit, services: services)
    }

    private static let lists: [ConformanceCheck<Subject>] = [
        ConformanceCheck("an account's sessions are listed whole, the one used last first, and no other account's") {
            store in
            try await Self.addClient("bank", store)
            try await Self.signIn(0, store)
            try await Self.signIn(1, after: 5, store)
            try await Self.signIn(2, account: "b", store)
            let service = SessionListing.Service(name: "The bank", redirectURI: "https://bank.example/in")
            let expected = [
                SessionListing(
                    session: Self.sample(1, after: 5).session, services: [service]),
                SessionListing(session: Self.sample(0).session, services: [service]),
            ]
            try expect(try await Self.list(store) == expected, "both, and what they were signed in to")
            try expect(try await Self.list(store, account: "c").isEmpty, "nobody's")
        },
        ConformanceCheck("a service stands in the list once, by its last address, after its grants are gone") { store in
            try await Self.addClient("bank", store)
            try await Self.addClient("shop", store)
            try await Self.signIn(1, store)
            for (code, client, seconds) in [(UInt8(10), "shop", 10), (11, "bank", 20)] {
                try await Self.addGrant(code, of: 1, client: client, path: "again", after: seconds, store)
            }
            let later = Self.start + .seconds(360)
            let swept = try await store.sweepAuthorizations(at: later, idleSince: Self.idleSince, limit: 10)
            try expect(swept == 3, "three grants, not \(swept)")
            try expect(
                try await Self.list(store, at: later).map(\.services) == [
                    [
                        SessionListing.Service(name: "The bank", redirectURI: "https://bank.example/again"),
                        SessionListing.Service(name: "The shop", redirectURI: "https://shop.example/again"),
                    ]
                ], "each once")
        },
        ConformanceCheck("a session that has ended, or was not used for too long, is not listed") { store in
            try await Self.signIn(1, store)
            try await Self.signIn(2, store)
            try expect(try await Self.list(store, at: Self.start + .seconds(7199)).count == 2, "until their end")
            try expect(try await Self.list(store, at: Self.start + .seconds(7200)).isEmpty, "not after it")
            try expect(try await Self.list(store, idleSince: Self.start - .seconds(1)).count == 2, "used since")
            try expect(try await Self.list(store, idleSince: Self.start).isEmpty, "not used since")
            try expect(try await store.endSession("session-1", account: "a", audit: Self.event), "ended")
            try expect(try await Self.list(store).map(\.session.id) == ["session-2"], "the other one")
        },
        ConformanceCheck("the lists keep their limits") { store in
            try await Self.addClient("bank", store)
            try await Self.addClient("shop", store)
            for number in UInt8(1)...3 { try await Self.signIn(number, after: Int(number), store) }
            try await Self.addGrant(10, of: 3, client: "shop", path: "in", after: 60, store)
            let listed = try await Self.list(store, limit: 2, services: 1)
            try expect(listed.map(\.session.id) == ["session-3", "session-2"], "the two used last")
            try expect(listed.map { $0.services.map(\.name) } == [["The shop"], ["The bank"]], "one service each")
        },
    ]

    private static let ends: [ConformanceCheck<Subject>] = [
        ConformanceCheck("a session ends for its own account, once, with its grants and an event") { store in
            try await Self.signIn(1, store)
            try await Self.signIn(2, store)
            for code in [UInt8(1), 2] {
                _ = try await store.takeCode(digest: Self.bytes(code), at: Self.start, replay: Self.event) { _, _ in
                    true
                }
            }
            try expect(
                try await store.grant("grant-1", token: nil, at: Self.start)?.authentication.account == "a", "stands")
            try expect(try await store.endSession("session-1", account: "a", audit: Self.event), "ended")
            try expect(try await store.endSession("session-1", account: "a", audit: Self.event) == false, "once")
            try expect(try await store.session(cookieDigest: Self.bytes(1)) == nil, "gone")
            try expect(
                try await store.grant("grant-1", token: nil, at: Self.start)?.authentication.account == nil,
                "ended with it")
            try expect(
                try await store.grant("grant-2", token: nil, at: Self.start)?.authentication.account == "a",
                "the other session's stands")
            try expect(try await Self.trail(store) == [Self.event], "one event")
        },
        ConformanceCheck("another account's session does not end, and leaves no event") { store in
            try await Self.signIn(1, store)
            for id in ["session-1", "session-2", ""] {
                try expect(try await store.endSession(id, account: "b", audit: Self.event) == false, "not \(id)")
            }
            try expect(try await store.session(cookieDigest: Self.bytes(1)) != nil, "goes on")
            try expect(try await Self.trail(store).isEmpty, "no event")
        },
        ConformanceCheck("all sessions of an account end in one step with one event, and nobody else's") { store in
            for number: UInt8 in [1, 2] { try await Self.signIn(number, store) }
            try await Self.signIn(3, account: "b", store)
            try expect(try await store.endSessions(account: "a", audit: Self.event) == 2, "both")
            try expect(try await store.endSessions(account: "a", audit: Self.event) == 0, "once")
            for number: UInt8 in [1, 2] {
                try expect(try await store.session(cookieDigest: Self.bytes(number)) == nil, "gone")
                let grant = try await store.grant("grant-\(number)", token: nil, at: Self.start)
                try expect(grant == nil, "its grant with it")
            }
            try expect(try await store.session(cookieDigest: Self.bytes(3)) != nil, "goes on")
            try expect(try await store.grant("grant-3", token: nil, at: Self.start) != nil, "stands")
            try expect(try await Self.trail(store) == [Self.event], "one event")
        },
        ConformanceCheck("a deleted client is not listed, and the session goes on") { store in
            try await Self.addClient("bank", store)
            try await Self.signIn(1, store)
            _ = try await store.deleteClient("bank", audit: Self.event)
            try expect(try await Self.list(store).map(\.services) == [[]], "no service")
        },
    ]
}
