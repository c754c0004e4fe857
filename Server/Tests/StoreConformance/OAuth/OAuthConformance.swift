import JOSE
public import Records
import Settings
import _Primitives

/// The rules for every store of the OpenID provider: ``ClientStore``, ``AuthorizationStore``, ``ReplayStore``,
/// ``SessionStore`` and ``SigningKeyStore``.
public enum OAuthConformance {
    /// The store protocols that the rules use.
    public typealias Subject = any AccountStore & AuditStore & AuthorizationStore & ClientStore & RefreshStore
        & ReplayStore & SessionStore & SigningKeyStore

    /// The rules, each over an empty store.
    public static let checks: [ConformanceCheck<Subject>] =
        Self.clients + Self.kinds + Self.resources + Self.replays + Self.requests + Self.codes + Self.ends
        + Self.sessions + Self.subjects + Self.keys

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

    /// The settings of a client that authenticates by a signature.
    private static var signing: ClientSettings {
        var settings = ClientSettings(
            codeBinding: .nothing, grantTypes: ["a", "b"], authenticationMethod: "private_key_jwt", keySet: "{}")
        settings.assertionAudience = .tokenEndpoint
        return settings
    }

    private static func request(_ id: String, client: String = "c", seconds: Int = 60) -> AuthorizationRequestRecord {
        AuthorizationRequestRecord(
            id: id, browserDigest: Self.bytes(2), client: client, redirectURI: "https://a.example/", scope: "openid",
            resources: id == "bare" ? [] : ["urn:a", "https://api.example/b"], state: id == "bare" ? nil : "s",
            nonce: nil, codeChallenge: id == "bare" ? nil : Self.bytes(3),
            expectedSubject: id == "bare" ? nil : "subject", keyThumbprint: id == "bare" ? nil : "thumbprint",
            wishes: id == "bare" ? nil : "login_hint=%E2%82%AC&prompt=login",
            expiresAt: Self.start + .seconds(seconds))
    }

    private static func sample(_ name: String, cookie: UInt8, account: String = "a") -> SampleSignIn {
        SampleSignIn(name, secret: Self.bytes(cookie), account: account, client: "c", at: Self.start)
    }

    /// Adds a request and ends the request with a sign-in.
    @discardableResult
    private static func signIn(
        _ store: Subject, _ name: String, cookie: UInt8, replacing old: [UInt8]? = nil, account: String = "a"
    ) async throws -> SampleSignIn {
        let sample = Self.sample(name, cookie: cookie, account: account)
        try await sample.keep(in: store, replacing: old)
        return sample
    }

    /// Returns a second authentication in a session, with a waiting request.
    private static func stepUp(
        of session: SessionRecord, _ name: String, cookie: UInt8, at moment: Timestamp, _ store: Subject
    ) async throws -> CompletedAuthorization {
        let sample = SampleSignIn(name, secret: Self.bytes(cookie), account: session.account, client: "c", at: moment)
        try await store.addRequest(sample.request)
        let later = SessionRecord(
            id: session.id, cookieDigest: Self.bytes(cookie),
            authentications: [sample.session.authentication] + session.authentications, usedAt: moment,
            expiresAt: session.expiresAt)
        let (grant, code) = SampleSignIn.grant(name, of: later, secret: Self.bytes(cookie), client: "c", at: moment)
        return CompletedAuthorization(request: sample.request.id, session: later, grant: grant, code: code)
    }

    /// Returns a session with one more authentication, under another cookie.
    private static func raised(
        _ session: SessionRecord, _ name: String, cookie: UInt8, at moment: Timestamp, device: String? = nil
    ) -> SessionRecord {
        let sample = SampleSignIn(
            name, secret: Self.bytes(cookie), account: session.account, client: "c", at: moment, device: device)
        return SessionRecord(
            id: session.id, cookieDigest: Self.bytes(cookie),
            authentications: [sample.session.authentication] + session.authentications, usedAt: moment,
            expiresAt: session.expiresAt)
    }

    private static func take(_ code: UInt8, at moment: Timestamp = Self.start, _ store: Subject) async throws
        -> CodeTaking
    {
        try await store.takeCode(digest: Self.bytes(code), at: moment, replay: Self.event) { _, _ in true }
    }

    /// Returns the identifiers of the account's sessions.
    private static func sessions(_ store: Subject) async throws -> [String] {
        try await store.sessions(
            account: "a", at: Self.start, idleSince: Self.start - .seconds(1), limit: 99, services: 0
        ).map(\.session.id)
    }

    /// Returns the accounts of the audit trail's events.
    private static func trail(_ store: Subject) async throws -> [String?] {
        try await store.auditEntries(after: 0, limit: 100).map(\.event).filter { $0.kind == Self.event.kind }
            .map(\.accountID)
    }

    /// Returns the number of `true` results of `count` concurrent calls.
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
                Self.signing,
                ClientSettings(
                    grantTypes: [], authenticationMethod: "none",
                    tokens: TokenSettings(
                        scopes: ["a", "b"], resources: ["urn:c"], audiences: ["urn:d", "urn:e"], format: .opaque,
                        subjects: ["f"], actor: "g", group: "h", certificateBound: true,
                        idTokenEncryption: IDTokenEncryption(.ecdhES, content: .a256CBCHS512),
                        usedRefreshTokenLifetime: .seconds(90), refreshesIDToken: false)),
            ] {
                let before = expected.settings
                expected.settings = settings
                let changed = try await store.changeClient("one") { current in
                    // The change receives the present settings.
                    guard current.settings == before else { return [] }
                    current.settings = settings
                    return [Self.event, Self.event]
                }
                try expect(changed == expected, "the client as it is now")
                try expect(try await store.client("one") == expected, "it is kept")
            }
            try expect(try await Self.trail(store).count == 12, "two events for each change")
            try expect(try await store.client("two") == Self.client("two"), "another client stays as it is")
            let never = try await store.changeClient("never") { _ in [Self.event] }
            try expect(never == nil, "no client")
            try expect(try await Self.trail(store).count == 12, "and no event")
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
        ConformanceCheck(
            "a request without an address stays where a client changes, and one to an address that goes ends"
        ) {
            store in
            try await store.addClient(Self.client("c"), limit: 1, audit: Self.event)
            func request(_ id: String, to address: String) -> AuthorizationRequestRecord {
                AuthorizationRequestRecord(
                    id: id, browserDigest: Self.bytes(2), client: "c", redirectURI: address, scope: "openid",
                    state: nil, nonce: nil, codeChallenge: nil, expiresAt: Self.start + .seconds(60))
            }
            try await store.addRequest(request("app", to: ""))
            try await store.addRequest(request("browser", to: "https://gone.example/"))
            _ = try await store.changeClient("c") { client in
                client.name = "Another"
                return []
            }
            try expect(try await store.request("app")?.redirectURI == "", "the app's goes on")
            try expect(try await store.request("browser") == nil, "the browser's has ended")
        },
        ConformanceCheck("one of 50 moves of a request is made, and a request that is gone is not moved") { store in
            try await store.addRequest(Self.request("r"))
            let count = try await Self.winners(50) { index in
                try await store.moveRequest("r", from: Self.bytes(2), to: Self.bytes(UInt8(100 + index)))
            }
            try expect(count == 1, "one of 50, not \(count)")
            let moved = try await store.request("r")
            try expect(moved?.browserDigest != Self.bytes(2), "it has another secret")
            try expect(try await store.moveRequest("r", from: Self.bytes(2), to: Self.bytes(3)) == false, "not again")
            try expect(
                try await store.moveRequest("other", from: Self.bytes(2), to: Self.bytes(3)) == false, "no other")
        },
        ConformanceCheck("one of 50 sign-ins completes a request, and the others leave nothing") { store in
            let request = Self.sample("r", cookie: 10).request
            try await Self.sample("r", cookie: 10).addAccount(to: store)
            try await store.addRequest(request)
            let count = try await Self.winners(50) { index in
                let sample = Self.sample("\(index)", cookie: UInt8(100 + index))
                let completed = CompletedAuthorization(
                    request: request.id, session: sample.session, grant: sample.grant, code: sample.code)
                do {
                    try await store.complete(completed, replacing: nil)
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
        ConformanceCheck("one of 50 takes gets a code, and the next one deletes its grant") { store in
            let sample = try await Self.signIn(store, "r", cookie: 10)
            let takings = try await withThrowingTaskGroup(of: CodeTaking.self) { group in
                for _ in 0..<50 { group.addTask { try await Self.take(10, store) } }
                return try await group.reduce(into: [CodeTaking]()) { $0.append($1) }
            }
            try expect(takings.count { $0 == sample.taken } == 1, "one has the code, its grant and authentication")
            try expect(takings.count { $0 == .replayed } == 1, "one is told that it came too late")
            try expect(takings.count { $0 == .unknown } == 48, "for the others there is nothing")
            try expect(
                try await store.grant("grant-r", token: nil, at: Self.start)?.authentication.account == nil, "revoked")
            try expect(try await Self.take(10, store) == .unknown, "and it stays so")
            let trail = try await Self.trail(store)
            try expect(trail == ["a"], "the first replay alone is in the trail, not \(trail.count)")
            try expect(try await Self.sessions(store) == ["session-r"], "the session goes on")
        },
        ConformanceCheck("a code that was taken, and is shown without the rest, is told as none and ends nothing") {
            store in
            let sample = try await Self.signIn(store, "r", cookie: 10)
            try expect(try await Self.take(10, store) == sample.taken, "taken")
            let again = try await store.takeCode(digest: Self.bytes(10), at: Self.start, replay: Self.event) {
                code, standing in code != sample.code || standing.grant != sample.grant
            }
            try expect(again == .unknown, "told as none")
            try expect(try await store.grant("grant-r", token: nil, at: Self.start) != nil, "the grant stands")
            try expect(try await Self.trail(store).isEmpty, "nothing in the trail")
            try expect(try await Self.take(10, store) == .replayed, "and with the rest it is a replay")
        },
        ConformanceCheck("a code without a challenge, nonce or session comes back without one") { store in
            let session = try await Self.signIn(store, "r", cookie: 10).session
            let (grant, code) = SampleSignIn.grant(
                "bare", of: session, secret: Self.bytes(11), client: "c", challenge: nil, at: Self.start)
            try await store.addGrant(grant, code: code, usedAt: Self.start, audit: Self.event)
            guard case .taken(let taken, let standing) = try await Self.take(11, store) else {
                throw ConformanceFailure(description: "the code is known")
            }
            try expect(taken == code && taken.challenge == nil, "the same code")
            try expect(
                standing == StandingGrant(grant: grant, authentication: session.authentication, isAccountLocked: false),
                "and grant")
        },
        ConformanceCheck("a grant stands until its end") { store in
            try await Self.signIn(store, "r", cookie: 10)
            _ = try await Self.take(10, store)
            try expect(
                try await store.grant("grant-r", token: nil, at: Self.start + .seconds(359))?.authentication.account
                    == "a", "stands")
            try expect(
                try await store.grant("grant-r", token: nil, at: Self.start + .seconds(360))?.authentication.account
                    == nil, "ended")
            try expect(
                try await store.grant("other", token: nil, at: Self.start)?.authentication.account == nil, "unknown")
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
            try expect(idle == 2, "the idle session and the authentication, of which nothing was left, not \(idle)")
            try expect(try await store.session(cookieDigest: Self.bytes(10)) == nil, "deleted")
            let last = try await store.sweepAuthorizations(
                at: Self.start + .seconds(360), idleSince: Self.start, limit: 10)
            try expect(last == 0, "nothing was left, not \(last)")
        },
        ConformanceCheck("an authentication is kept for as long as a grant stands on it, and no longer") { store in
            let session = try await Self.signIn(store, "r", cookie: 10).session
            try expect(try await store.endSession(session.id, audit: Self.event), "ended")
            let before = Self.start - .seconds(1)
            let none = try await store.sweepAuthorizations(
                at: Self.start + .seconds(359), idleSince: before, limit: 10)
            try expect(none == 0, "its grant has not ended, \(none)")
            let both = try await store.sweepAuthorizations(
                at: Self.start + .seconds(360), idleSince: before, limit: 10)
            try expect(both == 2, "grant and authentication, not \(both)")
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

    private static let ends: [ConformanceCheck<Subject>] = [
        ConformanceCheck("an authentication ends with its last grant after another sign-in has replaced its session") {
            store in
            for (name, cookie, account) in [("a", UInt8(10), "a"), ("b", 20, "b")] {
                try await Self.signIn(store, "old-\(name)", cookie: cookie, account: "a")
                try await Self.signIn(
                    store, "new-\(name)", cookie: cookie + 1, replacing: Self.bytes(cookie), account: account)
            }
            let grant = Self.start + .seconds(360)
            let swept = try await store.sweepAuthorizations(at: grant, idleSince: Self.start - .seconds(1), limit: 10)
            try expect(swept == 6, "four grants and two authentications, not \(swept)")
        },
        ConformanceCheck("an authentication ends with its last grant after too many others have joined its session") {
            store in
            var session = try await Self.signIn(store, "0", cookie: 10).session
            for index in 1...Limits.Fixed.authenticationsPerSession {
                let stepUp = try await Self.stepUp(
                    of: session, "\(index)", cookie: UInt8(10 + index), at: Self.start + .seconds(index), store)
                try await store.stepUp(stepUp, from: session.cookieDigest)
                session = stepUp.session
            }
            let grant = Self.start + .seconds(360)
            let swept = try await store.sweepAuthorizations(at: grant, idleSince: Self.start - .seconds(1), limit: 10)
            try expect(swept == 2, "the first grant and its authentication, not \(swept)")
        },
    ]

    private static let sessions: [ConformanceCheck<Subject>] = [
        ConformanceCheck("a session is found by its cookie and replaced at the next sign-in") { store in
            try await Self.signIn(store, "one", cookie: 10)
            try expect(
                try await store.session(cookieDigest: Self.bytes(10)) == Self.sample("one", cookie: 10).session,
                "the same session")
            try await Self.signIn(store, "two", cookie: 11, replacing: Self.bytes(10))
            try expect(try await store.session(cookieDigest: Self.bytes(10)) == nil, "replaced")
            try expect(try await store.session(cookieDigest: Self.bytes(11))?.id == "session-two", "the new one")
        },
        ConformanceCheck("a sign-in sets the language of its person, and a sign-in that tells none leaves it") {
            store in
            func complete(_ name: String, _ cookie: UInt8, _ language: String?) async throws {
                let sample = Self.sample(name, cookie: cookie)
                try await sample.addAccount(to: store)
                try await store.addRequest(sample.request)
                try await store.complete(
                    CompletedAuthorization(
                        request: sample.request.id, session: sample.session, grant: sample.grant, code: sample.code,
                        language: language), replacing: nil)
            }
            try await Self.signIn(store, "other", cookie: 9, account: "b")
            let signIns: [(UInt8, told: String?, kept: String?)] = [
                (10, nil, nil), (11, "de", "de"), (12, "de", "de"), (13, nil, "de"), (14, "zh-Hant-TW", "zh-Hant-TW"),
            ]
            for (cookie, told, kept) in signIns {
                try await complete("\(cookie)", cookie, told)
                try expect(try await store.account(id: "a")?.language == kept, "after \(cookie)")
            }
            try expect(try await store.account(id: "b")?.language == nil, "nobody else's")
            let sample = Self.sample("10", cookie: 20)
            try await expectError(StoreError(.notFound, "")) {
                try await store.complete(
                    CompletedAuthorization(
                        request: "none", session: sample.session, grant: sample.grant, code: sample.code,
                        language: "en"), replacing: nil)
            }
            try expect(try await store.account(id: "a")?.language == "zh-Hant-TW", "no sign-in, no language")
        },
        ConformanceCheck("a sign-in in a session that goes on sets the language of its person") { store in
            let first = try await Self.signIn(store, "one", cookie: 10).session
            let stepUp = try await Self.stepUp(of: first, "two", cookie: 11, at: Self.start + .seconds(9), store)
            try await store.stepUp(
                CompletedAuthorization(
                    request: stepUp.request, session: stepUp.session, grant: stepUp.grant, code: stepUp.code,
                    language: "de"), from: first.cookieDigest)
            try expect(try await store.account(id: "a")?.language == "de", "set")
        },
        ConformanceCheck("a session goes on with one authentication more, under another cookie") { store in
            let first = try await Self.signIn(store, "one", cookie: 10).session
            let stepUp = try await Self.stepUp(of: first, "two", cookie: 11, at: Self.start + .seconds(9), store)
            try await store.stepUp(stepUp, from: first.cookieDigest)
            try expect(try await store.session(cookieDigest: Self.bytes(10)) == nil, "the former cookie opens nothing")
            try expect(try await store.session(cookieDigest: Self.bytes(11)) == stepUp.session, "the same session")
            try expect(stepUp.session.authentications.count == 2 && stepUp.session.id == first.id, "with both")
            try expect(try await store.request("request-two") == nil, "the request has ended")
            try expect(try await store.grant("grant-one", token: nil, at: Self.start) != nil, "what it gave stands")
            try expect(
                try await store.grant("grant-two", token: nil, at: Self.start)?.authentication
                    == stepUp.session.authentication, "what it gives stands on the later one")
            try expect(try await Self.take(11, store) != .unknown, "and has its code")
        },
        ConformanceCheck("a session goes on with one authentication more, without a request, under another cookie") {
            store in
            let first = try await Self.signIn(store, "one", cookie: 10).session
            let raised = Self.raised(first, "two", cookie: 11, at: Self.start + .seconds(9))
            try await store.raise(raised, from: first.cookieDigest, audit: Self.event)
            try expect(try await store.session(cookieDigest: Self.bytes(10)) == nil, "the former cookie opens nothing")
            try expect(try await store.session(cookieDigest: Self.bytes(11)) == raised, "the same session")
            try expect(raised.authentications.count == 2 && raised.id == first.id, "with both")
            try expect(try await store.grant("grant-one", token: nil, at: Self.start) != nil, "what it gave stands")
            try expect(try await Self.trail(store).count == 1, "one event")
        },
        ConformanceCheck("a session that has ended, or has another cookie, is not raised, and no event is left") {
            store in
            let first = try await Self.signIn(store, "one", cookie: 10).session
            let raised = Self.raised(first, "two", cookie: 11, at: Self.start + .seconds(9))
            try await expectError(StoreError(.notFound, "")) {
                try await store.raise(raised, from: Self.bytes(12), audit: Self.event)
            }
            try expect(try await store.session(cookieDigest: Self.bytes(10)) == first, "as before")
            let gone = Self.raised(first, "three", cookie: 11, at: Self.start + .seconds(9), device: "none")
            try await expectError(StoreError(.notFound, "")) {
                try await store.raise(gone, from: first.cookieDigest, audit: Self.event)
            }
            try expect(try await Self.trail(store).isEmpty, "no event")
            try expect(try await store.endSession(first.id, audit: Self.event), "ended")
            try await expectError(StoreError(.notFound, "")) {
                try await store.raise(raised, from: first.cookieDigest, audit: Self.event)
            }
            try expect(try await Self.trail(store).count == 1, "the end alone")
        },
        ConformanceCheck("a session that has ended, or has another cookie, gets no authentication, and nothing is left")
        {
            store in
            let first = try await Self.signIn(store, "one", cookie: 10).session
            let stepUp = try await Self.stepUp(of: first, "two", cookie: 11, at: Self.start + .seconds(9), store)
            try await expectError(StoreError(.notFound, "")) {
                try await store.stepUp(stepUp, from: Self.bytes(12))
            }
            try expect(try await store.request("request-two") != nil, "the request waits on")
            try expect(try await store.endSession(first.id, audit: Self.event), "ended")
            try await expectError(StoreError(.notFound, "")) {
                try await store.stepUp(stepUp, from: first.cookieDigest)
            }
            try expect(try await store.grant("grant-two", token: nil, at: Self.start) == nil, "no grant")
            try expect(try await store.removeRequest("request-two"), "the request waits on")
        },
        ConformanceCheck("a session remembers its last authentications, and what the others gave stands") { store in
            var session = try await Self.signIn(store, "0", cookie: 10).session
            for index in 1...Limits.Fixed.authenticationsPerSession {
                let stepUp = try await Self.stepUp(
                    of: session, "\(index)", cookie: UInt8(10 + index), at: Self.start + .seconds(index), store)
                try await store.stepUp(stepUp, from: session.cookieDigest)
                session = stepUp.session
            }
            let kept = try await store.session(cookieDigest: session.cookieDigest)
            try expect(kept?.authentications == session.authentications.dropLast(), "all but the first")
            try expect(try await store.grant("grant-0", token: nil, at: Self.start) != nil, "its grant stands")
        },
        ConformanceCheck("the end of a session ends its grants") { store in
            try await Self.signIn(store, "one", cookie: 10)
            _ = try await Self.take(10, store)
            try expect(
                try await store.grant("grant-one", token: nil, at: Self.start)?.authentication.account == "a", "stands")
            try expect(try await store.endSession("session-one", audit: Self.event), "ended")
            try expect(try await store.endSession("session-one", audit: Self.event) == false, "ended once")
            try expect(
                try await store.grant("grant-one", token: nil, at: Self.start)?.authentication.account == nil,
                "ended with it")
            try expect(try await Self.trail(store).count == 1, "one event")
        },
        ConformanceCheck("a grant can be added to a session that goes on, and to no other") { store in
            let session = try await Self.signIn(store, "one", cookie: 10).session
            let later = Self.start + .seconds(5)
            let second = SampleSignIn.grant(
                "second", of: session, secret: Self.bytes(20), client: "d", at: later)
            try await store.addGrant(second.grant, code: second.code, usedAt: later, audit: Self.event)
            try expect(try await Self.trail(store).count == 1, "told in the trail")
            try expect(try await store.session(cookieDigest: Self.bytes(10))?.usedAt == later, "used")
            try expect(try await store.account(subject: "d-a", client: "d") == "a", "the client knows the person")
            let ended = Self.sample("never", cookie: 21)
            try await expectError(StoreError(.notFound, "")) {
                try await store.addGrant(ended.grant, code: ended.code, usedAt: later, audit: Self.event)
            }
            try expect(try await Self.take(21, at: later, store) == .unknown, "left nothing")
            try expect(try await Self.trail(store).count == 1, "left nothing in the trail")
        },
        ConformanceCheck("a grant without a session outlives the session that its authentication began") { store in
            let session = try await Self.signIn(store, "one", cookie: 10).session
            let request = Self.request("lasting")
            try await store.addRequest(request)
            let sample = Self.sample("lasting", cookie: 11)
            let grant = GrantRecord(
                id: "lasting", client: "c", subject: "c-a", authentication: sample.grant.authentication, session: nil,
                scope: "openid", expiresAt: Self.start + .seconds(9000))
            try await store.complete(
                CompletedAuthorization(
                    request: request.id, session: sample.session, grant: grant, code: sample.code), replacing: nil)
            try expect(try await store.endSession(sample.session.id, audit: Self.event), "ended")
            let late = Self.start + .seconds(8999)
            try expect(try await store.grant("lasting", token: nil, at: late)?.authentication.account == "a", "stands")
            var count = 0
            repeat {
                count = try await store.sweepAuthorizations(at: late, idleSince: late, limit: 10)
            } while count > 0
            try expect(
                try await store.grant("lasting", token: nil, at: late)?.authentication.account == "a",
                "and is not swept")
            try expect(try await store.session(cookieDigest: session.cookieDigest) == nil, "as a session is")
        },
    ]

    private static let subjects: [ConformanceCheck<Subject>] = [
        ConformanceCheck("a client finds the accounts that it was given, and no others") { store in
            try await Self.signIn(store, "one", cookie: 10)
            try await Self.signIn(store, "again", cookie: 11)
            try expect(try await store.account(subject: "c-a", client: "c") == "a", "found")
            try expect(try await store.account(subject: "c-a", client: "d") == nil, "another client's")
            try expect(try await store.account(subject: "c-b", client: "c") == nil, "never given")
            func knowing(_ account: String, after client: String? = nil, limit: Int = 9) async throws -> [String] {
                try await store.clients(knowingAccount: account, after: client, limit: limit)
            }
            try expect(try await knowing("a") == ["c"], "and the way back")
            try expect(try await knowing("b").isEmpty, "nobody else's")
            try expect(try await knowing("a", after: "c").isEmpty, "after it there is none")
            try expect(try await knowing("a", limit: 0).isEmpty, "and no more than asked for")
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
                to: [Self.key("two", 2, seconds: 100)], replacing: nil, from: Self.start + .seconds(150),
                forgettingRetiredBefore: Self.start, audit: Self.event)
            try expect(keys.signingKeys.map(\.id) == ["two", "one"], "the new one first")
            try expect(keys.signingKeys[0].retiredAt == nil, "the last")
            try expect(keys.signingKeys[1].retiredAt == Self.start + .seconds(150), "retired from then on")
            try expect(keys.signingKeys[1].privateKey == SecretBytes(Self.bytes(1)), "its own bytes")
            keys = try await store.rotateSigningKeys(
                to: [Self.key("three", 3, seconds: 200)], replacing: nil, from: Self.start + .seconds(250),
                forgettingRetiredBefore: Self.start + .seconds(151), audit: Self.event)
            try expect(keys.signingKeys.map(\.id) == ["three", "two"], "the oldest is forgotten")
            let again = try await store.providerKeys(
                orFirst: ProviderKeys(subjectSecret: SecretBytes(Self.bytes(8)), signingKeys: []))
            try expect(again == keys, "the same at the next start")
            try expect(again.subjectSecret == SecretBytes(Self.bytes(9)), "the first secret")
        },
        ConformanceCheck("of 20 nodes that rotate the same keys at once one does") { store in
            _ = try await store.providerKeys(
                orFirst: ProviderKeys(
                    subjectSecret: SecretBytes(Self.bytes(9)), signingKeys: [Self.key("es", 1)]))
            let all = try await withThrowingTaskGroup(of: ProviderKeys.self) { group in
                for index in 0..<20 {
                    group.addTask {
                        try await store.rotateSigningKeys(
                            to: [Self.key("new-\(index)", UInt8(index), seconds: 100)], replacing: ["es"],
                            from: Self.start + .seconds(150), forgettingRetiredBefore: Self.start, audit: Self.event)
                    }
                }
                return try await group.reduce(into: [ProviderKeys]()) { $0.append($1) }
            }
            try expect(all.allSatisfy { $0 == all[0] }, "the same for all")
            try expect(all[0].signingKeys.count == 2, "one more key")
            try expect(try await Self.trail(store).count == 1, "one event")
            let again = try await store.rotateSigningKeys(
                to: [Self.key("late", 2, seconds: 100)], replacing: ["unknown"], from: Self.start + .seconds(150),
                forgettingRetiredBefore: Self.start, audit: Self.event)
            try expect(again == all[0], "a key that is not there is not replaced")
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
                replacing: nil, from: takeover, forgettingRetiredBefore: Self.start, audit: Self.event
            ).signingKeys
            try expect(Set(keys.map(\.id)) == ["es", "es2", "rs", "rs2", "ed"], "old and new")
            for key in keys {
                let retires = ["es", "rs"].contains(key.id)
                try expect(key.retiredAt == (retires ? takeover : nil), "\(key.id) retires or goes on")
            }
            try expect(keys.first { $0.id == "rs2" }?.algorithm == .rs256, "its own algorithm")
            // A retiring key does not count among the remaining keys.
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
