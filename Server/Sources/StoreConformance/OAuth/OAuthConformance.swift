import JOSE
public import Store
import _Primitives

/// What every store keeps for the OpenID provider: the duties of ``ClientStore``, ``AuthorizationStore``,
/// ``SessionStore`` and ``SigningKeyStore``.
public enum OAuthConformance {
    /// What the rules are about.
    public typealias Subject = any AuditStore & AuthorizationStore & ClientStore & SessionStore & SigningKeyStore

    /// The rules, each over an empty store.
    public static let checks: [ConformanceCheck<Subject>] =
        Self.clients + Self.requests + Self.codes + Self.sessions
        + Self.subjects + Self.keys

    // MARK: Records of the runs

    private static let start = Timestamp(seconds: 1_800_000_000)

    private static let event = AuditEvent(AuditEvent.Kind(rawValue: "test"), at: start)

    private static func bytes(_ number: UInt8) -> [UInt8] { [UInt8](repeating: number, count: 32) }

    private static func client(_ id: String, name: String = "Bank") -> ClientRecord {
        ClientRecord(
            id: id, name: name, redirectURIs: ["https://a.example/", "https://b.example/?\"'"],
            postLogoutRedirectURIs: [], secretDigest: Self.bytes(1), createdAt: Self.start,
            settings: ClientSettings(idTokenAlgorithm: .edDSA, codeBinding: .nonce))
    }

    private static func request(_ id: String, client: String = "c", seconds: Int = 60) -> AuthorizationRequestRecord {
        AuthorizationRequestRecord(
            id: id, browserDigest: Self.bytes(2), client: client, redirectURI: "https://a.example/", scope: "openid",
            state: id == "bare" ? nil : "s", nonce: nil, codeChallenge: id == "bare" ? nil : Self.bytes(3),
            expectedSubject: id == "bare" ? nil : "subject",
            expiresAt: Self.start + .seconds(seconds))
    }

    private static func session(_ id: String, cookie: UInt8, account: String = "a", seconds: Int = 3600)
        -> SessionRecord
    {
        SessionRecord(
            id: id, cookieDigest: Self.bytes(cookie), account: account, authenticatedAt: Self.start, acr: "urn:x",
            amr: ["pin", "hwk"], usedAt: Self.start, expiresAt: Self.start + .seconds(seconds))
    }

    private static func grant(
        _ id: String, code: UInt8, session: String, client: String = "c", account: String = "a",
        challenge: [UInt8]? = Self.bytes(3)
    ) -> GrantRecord {
        GrantRecord(
            id: id, codeDigest: Self.bytes(code), client: client, session: session, account: account,
            subject: "\(client)-\(account)", redirectURI: "https://a.example/", scope: "openid profile", nonce: "n",
            codeChallenge: challenge, authenticatedAt: Self.start, acr: "urn:x", amr: ["pin"],
            codeExpiresAt: Self.start + .seconds(60), expiresAt: Self.start + .seconds(360))
    }

    private static func signIn(
        _ store: Subject, _ id: String, cookie: UInt8, replacing old: [UInt8]? = nil, account: String = "a"
    ) async throws {
        try await store.addRequest(Self.request(id))
        try await store.complete(
            request: id, session: Self.session("session-\(id)", cookie: cookie, account: account), replacing: old,
            grant: Self.grant("grant-\(id)", code: cookie, session: "session-\(id)", account: account))
    }

    private static func take(_ code: UInt8, at moment: Timestamp = Self.start, _ store: Subject) async throws
        -> CodeTaking
    {
        try await store.takeCode(digest: Self.bytes(code), at: moment, replay: Self.event)
    }

    /// The identifiers of the sessions of an account.
    private static func sessions(_ store: Subject) async throws -> [String] {
        try await store.sessions(
            account: "a", at: Self.start, idleSince: Self.start - .seconds(1), limit: 99, services: 0
        ).map(\.session.id)
    }

    /// The accounts of the audit trail's events.
    private static func trail(_ store: Subject) async throws -> [String?] {
        try await store.auditEntries(after: 0, limit: 100).map(\.event.accountID)
    }

    /// How many of `count` calls at once say `true`.
    private static func winners(_ count: Int, _ body: @escaping @Sendable (Int) async throws -> Bool) async throws
        -> Int
    {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for index in 0..<count { group.addTask { try await body(index) } }
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
    }

    // MARK: Rules

    private static let clients: [ConformanceCheck<Subject>] = [
        ConformanceCheck("a client comes back as it was added") { store in
            try await store.addClient(Self.client("one"), limit: 2, audit: Self.event)
            try expect(try await store.client("one") == Self.client("one"), "the same client")
            try expect(try await store.client("two") == nil, "no other client")
            try await store.addClient(Self.client("two", name: "\u{20AC}"), limit: 2, audit: Self.event)
            try expect(try await store.clients().map(\.id) == ["one", "two"], "both clients, in order")
        },
        ConformanceCheck("an identifier is taken once, and the limit holds") { store in
            try await store.addClient(Self.client("one"), limit: 2, audit: Self.event)
            try await expectError(StoreError(.conflict, "")) {
                try await store.addClient(Self.client("one"), limit: 2, audit: Self.event)
            }
            try await expectError(StoreError(.conflict, "")) {
                try await store.addClient(Self.client("two"), limit: 1, audit: Self.event)
            }
            try expect(try await store.clients().count == 1, "one client")
            try expect(try await Self.trail(store).count == 1, "one event")
        },
        ConformanceCheck("the settings of a client change with their events, and nothing else of it") { store in
            for id in ["one", "two"] {
                try await store.addClient(Self.client(id), limit: 2, audit: Self.event)
            }
            var expected = Self.client("one")
            for settings in [
                ClientSettings(idTokenAlgorithm: .ps256, codeBinding: .nonce, mayDeregister: true),
                ClientSettings(idTokenAlgorithm: .ps256, codeBinding: .pkce, mayDeregister: false),
                ClientSettings(idTokenAlgorithm: .rs256, codeBinding: .pkce, mayDeregister: true),
            ] {
                let before = expected.settings
                expected.settings = settings
                let changed = try await store.changeClient("one") { current in
                    // Whoever changes is given what is there.
                    guard current.settings == before else { return [] }
                    current.settings = settings
                    return [Self.event, Self.event]
                }
                try expect(changed == expected, "the client as it is now")
                try expect(try await store.client("one") == expected, "it is kept")
            }
            try expect(try await Self.trail(store).count == 8, "two events for each change")
            try expect(try await store.client("two") == Self.client("two"), "another client stays as it is")
            let never = try await store.changeClient("never") { _ in [Self.event] }
            try expect(never == nil, "no client")
            try expect(try await Self.trail(store).count == 8, "and no event")
            let former = FormerSecret(digest: Self.bytes(9), endsAt: Self.start + .seconds(60))
            let renamed = try await store.changeClient("one") { current in
                current.name = "Another name"
                current.redirectURIs = ["https://one.example/new"]
                current.postLogoutRedirectURIs = []
                current.secretDigest = Self.bytes(8)
                current.formerSecret = former
                current.clientURI = "https://one.example/"
                return []
            }
            try expect(renamed?.formerSecret == former, "the client as it is now")
            try expect(renamed?.clientURI == "https://one.example/", "where people find it")
            try expect(try await store.client("one") == renamed, "every part of it is kept")
            var three = Self.client("three")
            three.clientURI = "https://three.example/?a=b"
            three.settings = ClientSettings(mayDeregister: true)
            try await store.addClient(three, limit: 3, audit: Self.event)
            try expect(try await store.client("three") == three, "added with them")
        },
        ConformanceCheck("a deleted client takes what it was given with it") { store in
            try await store.addClient(Self.client("c"), limit: 2, audit: Self.event)
            try await Self.signIn(store, "r", cookie: 10)
            try await store.addRequest(Self.request("open"))
            try expect(try await store.deleteClient("c", audit: Self.event), "deleted")
            try expect(try await store.deleteClient("c", audit: Self.event) == false, "deleted once")
            try expect(try await Self.trail(store).count == 2, "added and deleted, an event each")
            try expect(try await store.client("c") == nil, "no client")
            try expect(try await store.request("open") == nil, "no request")
            try expect(try await Self.take(10, store) == .unknown, "no code")
            try expect(try await store.account(subject: "c-a", client: "c") == nil, "no subject")
        },
    ]

    private static let requests: [ConformanceCheck<Subject>] = [
        ConformanceCheck("a request comes back as it was added") { store in
            for id in ["full", "bare"] {
                try await store.addRequest(Self.request(id))
                try expect(try await store.request(id) == Self.request(id), "the same request")
            }
            try await expectError(StoreError(.conflict, "")) { try await store.addRequest(Self.request("full")) }
        },
        ConformanceCheck("one of 50 removals removes a request") { store in
            try await store.addRequest(Self.request("r"))
            let count = try await Self.winners(50) { _ in try await store.removeRequest("r") }
            try expect(count == 1, "one of 50, not \(count)")
            try expect(try await store.request("r") == nil, "gone")
        },
        ConformanceCheck("one of 50 sign-ins completes a request, and the others leave nothing") { store in
            try await store.addRequest(Self.request("r"))
            let count = try await Self.winners(50) { index in
                let number = UInt8(100 + index)
                do {
                    try await store.complete(
                        request: "r", session: Self.session("s\(index)", cookie: number), replacing: nil,
                        grant: Self.grant("g\(index)", code: number, session: "s\(index)"))
                    return true
                } catch let error as StoreError where error.code == .notFound {
                    return false
                }
            }
            try expect(count == 1, "one of 50, not \(count)")
            let session = try await Self.sessions(store)
            try expect(session.count == 1, "one session")
            try expect(try await store.endSession(session[0], account: "a", audit: Self.event), "ended")
            let codes = try await Self.winners(50) { index in
                try await Self.take(UInt8(100 + index), store) != .unknown
            }
            try expect(codes == 0, "the session's end took its code with it")
        },
    ]

    private static let codes: [ConformanceCheck<Subject>] = [
        ConformanceCheck("one of 50 takes gets a code, and the others revoke its grant") { store in
            try await Self.signIn(store, "r", cookie: 10)
            let count = try await Self.winners(50) { _ in
                switch try await Self.take(10, store) {
                case .taken(let grant):
                    try expect(grant == Self.grant("grant-r", code: 10, session: "session-r"), "the whole grant")
                    return true
                case .replayed: return false
                case .unknown: throw ConformanceFailure(description: "the code is known")
                }
            }
            try expect(count == 1, "one of 50, not \(count)")
            try expect(try await store.account(grant: "grant-r", at: Self.start) == nil, "revoked")
            for _ in 0..<3 { try expect(try await Self.take(10, store) == .replayed, "and it stays so") }
            let trail = try await Self.trail(store)
            try expect(trail == ["a"], "the first replay alone is in the trail, not \(trail.count)")
        },
        ConformanceCheck("a code without a challenge comes back without one") { store in
            try await store.addRequest(Self.request("bare"))
            let grant = Self.grant("grant", code: 10, session: "session", challenge: nil)
            try await store.complete(
                request: "bare", session: Self.session("session", cookie: 10), replacing: nil, grant: grant)
            try expect(try await Self.take(10, store) == .taken(grant), "the same grant")
        },
        ConformanceCheck("a grant stands from the taking of its code to its end") { store in
            try await Self.signIn(store, "r", cookie: 10)
            try expect(try await store.account(grant: "grant-r", at: Self.start) == nil, "not before")
            _ = try await Self.take(10, store)
            try expect(try await store.account(grant: "grant-r", at: Self.start + .seconds(359)) == "a", "stands")
            try expect(try await store.account(grant: "grant-r", at: Self.start + .seconds(360)) == nil, "ended")
            try expect(try await store.account(grant: "other", at: Self.start) == nil, "unknown")
        },
        ConformanceCheck("a code is not given once its session has ended") { store in
            try await Self.signIn(store, "r", cookie: 10)
            let later = Self.start + .seconds(3600)
            try expect(try await Self.take(10, at: later, store) == .unknown, "session expired")
            try expect(try await store.endSession("session-r", audit: Self.event), "ended")
            try expect(try await Self.take(10, store) == .unknown, "session ended")
            try expect(try await Self.take(99, store) == .unknown, "never was")
        },
        ConformanceCheck("a sweep deletes what has ended and nothing else") { store in
            try await Self.signIn(store, "r", cookie: 10)
            try await store.addRequest(Self.request("short", seconds: 60))
            try await store.addRequest(Self.request("long", seconds: 61))
            let before = Self.start - .seconds(1)
            let first = try await store.sweepAuthorizations(
                at: Self.start + .seconds(60), idleSince: before, limit: 10)
            try expect(first == 1, "one request, not \(first)")
            try expect(try await store.request("short") == nil, "deleted")
            try expect(try await store.request("long") != nil, "kept")
            let second = try await store.sweepAuthorizations(
                at: Self.start + .seconds(360), idleSince: before, limit: 10)
            try expect(second == 2, "the other request and the grant, not \(second)")
            let idle = try await store.sweepAuthorizations(
                at: Self.start + .seconds(360), idleSince: Self.start, limit: 10)
            try expect(idle == 1, "the idle session, not \(idle)")
            try expect(try await store.session(cookieDigest: Self.bytes(10)) == nil, "deleted")
        },
        ConformanceCheck("a sweep keeps its limit") { store in
            for index in 0..<5 { try await store.addRequest(Self.request("r\(index)")) }
            let later = Self.start + .seconds(60)
            for expected in [2, 2, 1, 0] {
                let count = try await store.sweepAuthorizations(at: later, idleSince: Self.start, limit: 2)
                try expect(count == expected, "\(expected), not \(count)")
            }
        },
    ]

    private static let sessions: [ConformanceCheck<Subject>] = [
        ConformanceCheck("a session is found by its cookie and replaced at the next sign-in") { store in
            try await Self.signIn(store, "one", cookie: 10)
            try expect(
                try await store.session(cookieDigest: Self.bytes(10)) == Self.session("session-one", cookie: 10),
                "the same session")
            try await Self.signIn(store, "two", cookie: 11, replacing: Self.bytes(10))
            try expect(try await store.session(cookieDigest: Self.bytes(10)) == nil, "replaced")
            try expect(try await store.session(cookieDigest: Self.bytes(11))?.id == "session-two", "the new one")
        },
        ConformanceCheck("the end of a session ends its grants") { store in
            try await Self.signIn(store, "one", cookie: 10)
            _ = try await Self.take(10, store)
            try expect(try await store.account(grant: "grant-one", at: Self.start) == "a", "stands")
            try expect(try await store.endSession("session-one", audit: Self.event), "ended")
            try expect(try await store.endSession("session-one", audit: Self.event) == false, "ended once")
            try expect(try await store.account(grant: "grant-one", at: Self.start) == nil, "ended with it")
            try expect(try await Self.trail(store).count == 1, "one event")
        },
        ConformanceCheck("a grant can be added to a session that goes on, and to no other") { store in
            try await Self.signIn(store, "one", cookie: 10)
            let later = Self.start + .seconds(5)
            try await store.addGrant(
                Self.grant("second", code: 20, session: "session-one", client: "d"), usedAt: later, audit: Self.event)
            try expect(try await Self.trail(store).count == 1, "told in the trail")
            try expect(try await store.session(cookieDigest: Self.bytes(10))?.usedAt == later, "used")
            try await expectError(StoreError(.notFound, "")) {
                try await store.addGrant(
                    Self.grant("third", code: 21, session: "none"), usedAt: later, audit: Self.event)
            }
            try expect(try await Self.take(21, at: later, store) == .unknown, "left nothing")
            try expect(try await Self.trail(store).count == 1, "left nothing in the trail")
        },
    ]

    private static let subjects: [ConformanceCheck<Subject>] = [
        ConformanceCheck("a client finds the accounts that it was given, and no others") { store in
            try await Self.signIn(store, "one", cookie: 10)
            try await Self.signIn(store, "again", cookie: 11)
            try expect(try await store.account(subject: "c-a", client: "c") == "a", "found")
            try expect(try await store.account(subject: "c-a", client: "d") == nil, "another client's")
            try expect(try await store.account(subject: "c-b", client: "c") == nil, "never given")
        }
    ]

    private static let keys: [ConformanceCheck<Subject>] = [
        ConformanceCheck("20 first starts at once agree on the keys") { store in
            let all = try await withThrowingTaskGroup(of: ProviderKeys.self) { group in
                for index in 0..<20 {
                    group.addTask {
                        try await store.providerKeys(
                            orFirst: ProviderKeys(
                                subjectSecret: SecretBytes(Self.bytes(UInt8(index))),
                                signingKeys: [Self.key("k\(index)", UInt8(index))]))
                    }
                }
                return try await group.reduce(into: [ProviderKeys]()) { $0.append($1) }
            }
            try expect(all.allSatisfy { $0 == all[0] }, "the same for all")
            try expect(all[0].signingKeys.count == 1, "one key")
        },
        ConformanceCheck("a rotation retires the key in use and forgets the old ones") { store in
            _ = try await store.providerKeys(
                orFirst: ProviderKeys(
                    subjectSecret: SecretBytes(Self.bytes(9)), signingKeys: [Self.key("one", 1)]))
            var keys = try await store.rotateSigningKeys(
                to: [Self.key("two", 2, seconds: 100)], from: Self.start + .seconds(150),
                forgettingRetiredBefore: Self.start, audit: Self.event)
            try expect(keys.signingKeys.map(\.id) == ["two", "one"], "the new one first")
            try expect(keys.signingKeys[0].retiredAt == nil, "the last")
            try expect(keys.signingKeys[1].retiredAt == Self.start + .seconds(150), "retired from then on")
            try expect(keys.signingKeys[1].privateKey == SecretBytes(Self.bytes(1)), "its own bytes")
            keys = try await store.rotateSigningKeys(
                to: [Self.key("three", 3, seconds: 200)], from: Self.start + .seconds(250),
                forgettingRetiredBefore: Self.start + .seconds(151), audit: Self.event)
            try expect(keys.signingKeys.map(\.id) == ["three", "two"], "the oldest is forgotten")
            let again = try await store.providerKeys(
                orFirst: ProviderKeys(subjectSecret: SecretBytes(Self.bytes(8)), signingKeys: []))
            try expect(again == keys, "the same at the next start")
            try expect(again.subjectSecret == SecretBytes(Self.bytes(9)), "the first secret")
        },
        ConformanceCheck("20 nodes that make the first key of an algorithm at once agree on it") { store in
            let first = try await store.providerKeys(
                orFirst: ProviderKeys(
                    subjectSecret: SecretBytes(Self.bytes(9)), signingKeys: [Self.key("es", 1)]))
            let all = try await withThrowingTaskGroup(of: ProviderKeys.self) { group in
                for index in 0..<20 {
                    group.addTask {
                        try await store.addSigningKey(
                            Self.key("r\(index)", UInt8(index), algorithm: .rs256), audit: Self.event)
                    }
                }
                return try await group.reduce(into: [ProviderKeys]()) { $0.append($1) }
            }
            try expect(all.allSatisfy { $0 == all[0] }, "the same for all")
            try expect(all[0].signingKeys.count == 2, "one more key")
            try expect(all[0].signingKeys.contains(first.signingKeys[0]), "beside the first")
            try expect(try await Self.trail(store).count == 1, "one event")
            let other = try await store.addSigningKey(Self.key("es2", 3), audit: Self.event)
            try expect(other == all[0], "none where there is one")
        },
        ConformanceCheck("a rotation is of the algorithms that it has keys of") { store in
            _ = try await store.providerKeys(
                orFirst: ProviderKeys(
                    subjectSecret: SecretBytes(Self.bytes(9)), signingKeys: [Self.key("es", 1)]))
            _ = try await store.addSigningKey(Self.key("rs", 2, algorithm: .rs256), audit: Self.event)
            _ = try await store.addSigningKey(Self.key("ed", 3, algorithm: .edDSA), audit: Self.event)
            let takeover = Self.start + .seconds(150)
            let keys = try await store.rotateSigningKeys(
                to: [Self.key("es2", 4, seconds: 100), Self.key("rs2", 5, seconds: 100, algorithm: .rs256)],
                from: takeover, forgettingRetiredBefore: Self.start, audit: Self.event
            ).signingKeys
            try expect(Set(keys.map(\.id)) == ["es", "es2", "rs", "rs2", "ed"], "old and new")
            for key in keys {
                let retires = ["es", "rs"].contains(key.id)
                try expect(key.retiredAt == (retires ? takeover : nil), "\(key.id) retires or goes on")
            }
            try expect(keys.first { $0.id == "rs2" }?.algorithm == .rs256, "its own algorithm")
            // What retires is no key that goes on.
            let added = try await store.addSigningKey(Self.key("ps", 6, algorithm: .ps256), audit: Self.event)
            try expect(added.signingKeys.count == 6, "a key of another algorithm")
        },
    ]

    private static func key(
        _ id: String, _ number: UInt8, seconds: Int = 0, algorithm: JWSAlgorithm = .es256
    ) -> SigningKeyRecord {
        SigningKeyRecord(
            id: id, algorithm: algorithm, privateKey: SecretBytes(Self.bytes(number)),
            createdAt: Self.start + .seconds(seconds),
            retiredAt: nil)
    }
}
