public import Store
import _Primitives

/// What every store keeps for the lists that a person's phone shows of signed-in browsers: duties of ``SessionStore``.
public enum SessionListConformance {
    /// The store's parts that take part.
    public typealias Subject = any AuditStore & AuthorizationStore & ClientStore & SessionStore

    /// The rules, each over an empty store.
    public static let checks: [ConformanceCheck<Subject>] = Self.lists + Self.ends

    private static let start = Timestamp(seconds: 1_800_000_000)
    private static let idleSince = start - .seconds(3600)
    private static let event = AuditEvent(AuditEvent.Kind(rawValue: "test"), at: start, accountID: "a")

    private static func bytes(_ number: UInt8) -> [UInt8] { [UInt8](repeating: number, count: 32) }

    private static func session(_ number: UInt8, account: String, usedAt: Timestamp) -> SessionRecord {
        SessionRecord(
            id: "s\(number)", cookieDigest: Self.bytes(number), account: account, authenticatedAt: Self.start,
            acr: "urn:x", amr: ["pin"], usedAt: usedAt, expiresAt: Self.start + .seconds(7200),
            // A browser that said nothing of itself leaves the columns empty.
            browser: number == 0 ? nil : "Chrome on Linux \u{20AC}", address: number == 0 ? nil : "192.0.2.\(number)")
    }

    private static func grant(_ code: UInt8, session: UInt8, account: String, client: String, path: String)
        -> GrantRecord
    {
        GrantRecord(
            id: "g\(code)", codeDigest: Self.bytes(code), client: client, session: "s\(session)", account: account,
            subject: "\(client)-\(account)", redirectURI: "https://\(client).example/\(path)", scope: "openid",
            nonce: nil, codeChallenge: Self.bytes(3), authenticatedAt: Self.start, acr: "urn:x", amr: ["pin"],
            codeExpiresAt: Self.start + .seconds(60), expiresAt: Self.start + .seconds(360))
    }

    private static func addClient(_ id: String, _ store: Subject) async throws {
        try await store.addClient(
            ClientRecord(
                id: id, name: "The \(id)", redirectURIs: ["https://\(id).example/"], postLogoutRedirectURIs: [],
                secretDigest: Self.bytes(1), createdAt: Self.start, settings: ClientSettings()), limit: 10,
            audit: Self.event)
    }

    /// A sign-in with the session `s<number>`.
    private static func signIn(
        _ number: UInt8, account: String = "a", client: String = "bank", after seconds: Int = 0, _ store: Subject
    ) async throws {
        let session = Self.session(number, account: account, usedAt: Self.start + .seconds(seconds))
        try await store.addRequest(
            AuthorizationRequestRecord(
                id: "r\(number)", browserDigest: Self.bytes(2), client: client, redirectURI: "https://x.example/",
                scope: "openid", state: nil, nonce: nil, codeChallenge: Self.bytes(3),
                expiresAt: Self.start + .seconds(60)))
        try await store.complete(
            request: "r\(number)", session: session, replacing: nil,
            grant: Self.grant(100 + number, session: number, account: account, client: client, path: "in"))
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
                    session: Self.session(1, account: "a", usedAt: Self.start + .seconds(5)), services: [service]),
                SessionListing(session: Self.session(0, account: "a", usedAt: Self.start), services: [service]),
            ]
            try expect(try await Self.list(store) == expected, "both, and what they were signed in to")
            try expect(try await Self.list(store, account: "c").isEmpty, "nobody's")
        },
        ConformanceCheck("a service stands in the list once, by its last address, after its grants are gone") { store in
            try await Self.addClient("bank", store)
            try await Self.addClient("shop", store)
            try await Self.signIn(1, store)
            for (code, client, seconds) in [(UInt8(10), "shop", 10), (11, "bank", 20)] {
                try await store.addGrant(
                    Self.grant(code, session: 1, account: "a", client: client, path: "again"),
                    usedAt: Self.start + .seconds(seconds), audit: Self.event)
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
            try expect(try await store.endSession("s1", account: "a", audit: Self.event), "ended")
            try expect(try await Self.list(store).map(\.session.id) == ["s2"], "the other one")
        },
        ConformanceCheck("the lists keep their limits") { store in
            try await Self.addClient("bank", store)
            try await Self.addClient("shop", store)
            for number in UInt8(1)...3 { try await Self.signIn(number, after: Int(number), store) }
            try await store.addGrant(
                Self.grant(10, session: 3, account: "a", client: "shop", path: "in"),
                usedAt: Self.start + .seconds(60), audit: Self.event)
            let listed = try await Self.list(store, limit: 2, services: 1)
            try expect(listed.map(\.session.id) == ["s3", "s2"], "the two used last")
            try expect(listed.map { $0.services.map(\.name) } == [["The shop"], ["The bank"]], "one service each")
        },
    ]

    private static let ends: [ConformanceCheck<Subject>] = [
        ConformanceCheck("a session ends for its own account, once, with its grants and an event") { store in
            try await Self.signIn(1, store)
            try await Self.signIn(2, store)
            for code in [UInt8(101), 102] {
                _ = try await store.takeCode(digest: Self.bytes(code), at: Self.start, replay: Self.event)
            }
            try expect(try await store.account(grant: "g101", at: Self.start) == "a", "stands")
            try expect(try await store.endSession("s1", account: "a", audit: Self.event), "ended")
            try expect(try await store.endSession("s1", account: "a", audit: Self.event) == false, "once")
            try expect(try await store.session(cookieDigest: Self.bytes(1)) == nil, "gone")
            try expect(try await store.account(grant: "g101", at: Self.start) == nil, "ended with it")
            try expect(try await store.account(grant: "g102", at: Self.start) == "a", "the other session's stands")
            try expect(try await store.auditEntries(after: 0, limit: 9).map(\.event) == [Self.event], "one event")
        },
        ConformanceCheck("another account's session does not end, and leaves no event") { store in
            try await Self.signIn(1, store)
            for id in ["s1", "s2", ""] {
                try expect(try await store.endSession(id, account: "b", audit: Self.event) == false, "not \(id)")
            }
            try expect(try await store.session(cookieDigest: Self.bytes(1)) != nil, "goes on")
            try expect(try await store.auditEntries(after: 0, limit: 9).isEmpty, "no event")
        },
        ConformanceCheck("a deleted client is not listed, and the session goes on") { store in
            try await Self.addClient("bank", store)
            try await Self.signIn(1, store)
            _ = try await store.deleteClient("bank", audit: Self.event)
            try expect(try await Self.list(store).map(\.services) == [[]], "no service")
        },
    ]
}
