public import Records
import Settings
import _Primitives

/// The rules for every ``ConsentStore``, about the consents of people.
public enum ConsentConformance {
    /// The store protocols that the rules use.
    public typealias Subject = any AccountStore & AuditStore & AuthorizationStore & ClientStore & ConsentStore
        & RefreshStore & SessionStore

    private static let start = Timestamp(seconds: 1_800_000_000)
    private static let event = AuditEvent(AuditEvent.Kind(rawValue: "test"), at: start)

    private static func bytes(_ number: UInt8) -> [UInt8] { [UInt8](repeating: number, count: 32) }

    private static func consent(
        _ id: String, content: UInt8 = 1, account: String = "a", in session: String? = nil, at seconds: Int = 0
    ) -> ConsentRecord {
        ConsentRecord(
            id: id, account: account, client: "c", content: Self.bytes(content), scope: "openid email",
            claims: content == 1 ? "{\"userinfo\":{\"\u{20AC}\":{}}}" : nil,
            resources: content == 1 ? ["https://api.example/a", "urn:b"] : [],
            session: GivingSession(id: "session-\(session ?? id)", browser: "Firefox \(session ?? id)", address: nil),
            grantedAt: Self.start + .seconds(seconds))
    }

    /// Adds a session, and a request in this session that waits for the person's consent.
    private static func waiting(_ store: Subject, _ name: String, cookie: UInt8) async throws -> SampleSignIn {
        let sample = SampleSignIn(name, secret: Self.bytes(cookie), account: "a", client: "c", at: Self.start)
        try await sample.addAccount(to: store)
        try await store.addRequest(sample.request)
        try await store.authenticate(
            AuthenticatedRequest(request: sample.request.id, session: sample.session, isStepUp: false), replacing: nil)
        return sample
    }

    private static func agree(_ store: Subject, _ sample: SampleSignIn, _ consent: ConsentRecord) async throws {
        try await store.consent(
            ConsentedAuthorization(
                request: sample.request.id, consent: consent, grant: sample.grant, code: sample.code),
            usedAt: Self.start, audit: Self.event)
    }

    /// Returns the number of trail entries that these rules have made.
    private static func events(_ store: Subject) async throws -> Int {
        try await store.auditEntries(after: 0, limit: 99).count { $0.event.kind == Self.event.kind }
    }

    private static func grant(_ store: Subject, _ name: String) async throws -> GrantRecord? {
        try await store.grant("grant-\(name)", token: nil, at: Self.start)?.grant
    }

    /// The rules, each over an empty store.
    public static let checks: [ConformanceCheck<Subject>] = [
        ConformanceCheck("a request waits in the session that was begun for it") { store in
            let sample = try await Self.waiting(store, "r", cookie: 10)
            try expect(try await store.session(cookieDigest: Self.bytes(10)) == sample.session, "it has begun")
            try expect(try await store.request("request-r")?.session == "session-r", "the request waits in it")
            // The browser has lost its cookie, and its person signs in again.
            let again = SampleSignIn("again", secret: Self.bytes(11), account: "a", client: "c", at: Self.start)
            try await store.authenticate(
                AuthenticatedRequest(request: "request-r", session: again.session, isStepUp: false), replacing: nil)
            try expect(try await store.session(cookieDigest: Self.bytes(10)) == nil, "the former one has ended")
            try expect(try await store.request("request-r")?.session == "session-again", "it waits in the later one")
            try await expectError(StoreError(.notFound, "")) {
                try await store.authenticate(
                    AuthenticatedRequest(request: "none", session: sample.session, isStepUp: false), replacing: nil)
            }
        },
        ConformanceCheck("a sign-in before a question sets the language of its person") { store in
            _ = try await Self.waiting(store, "r", cookie: 10)
            try expect(try await store.account(id: "a")?.language == nil, "not told")
            // The person signs in again for the request, and yet again.
            let signIns: [(name: String, UInt8, told: String?)] = [("again", 11, "de"), ("later", 12, nil)]
            for (name, cookie, told) in signIns {
                let sample = SampleSignIn(name, secret: Self.bytes(cookie), account: "a", client: "c", at: Self.start)
                try await store.authenticate(
                    AuthenticatedRequest(
                        request: "request-r", session: sample.session, isStepUp: false, language: told), replacing: nil)
                try expect(try await store.account(id: "a")?.language == "de", "told once")
            }
        },
        ConformanceCheck("a session goes on where the person authenticates in it, and where it has ended nothing does")
        {
            store in
            let first = try await Self.waiting(store, "one", cookie: 10).session
            let second = SampleSignIn(
                "two", secret: Self.bytes(11), account: "a", client: "c", at: Self.start + .seconds(1))
            try await store.addRequest(second.request)
            let later = SessionRecord(
                id: first.id, cookieDigest: Self.bytes(11),
                authentications: second.session.authentications + first.authentications,
                usedAt: second.session.usedAt, expiresAt: first.expiresAt)
            let stepUp = AuthenticatedRequest(request: "request-two", session: later, isStepUp: true)
            try await expectError(StoreError(.notFound, "")) {
                try await store.authenticate(stepUp, replacing: Self.bytes(99))
            }
            try expect(try await store.request("request-two")?.session == nil, "nothing was noted")
            try await store.authenticate(stepUp, replacing: Self.bytes(10))
            try expect(try await store.session(cookieDigest: Self.bytes(11)) == later, "the same session goes on")
            try expect(try await store.request("request-two")?.session == first.id, "and the request waits in it")
        },
        ConformanceCheck("what was agreed to is found by all of its content, and its grant stands on it") { store in
            let sample = try await Self.waiting(store, "r", cookie: 10)
            try await Self.agree(store, sample, Self.consent("one"))
            let found = try await store.consent(account: "a", client: "c", content: Self.bytes(1))
            try expect(found == Self.consent("one"), "as it was given")
            for (account, client, content) in [("b", "c", 1), ("a", "d", 1), ("a", "c", 2)] as [(String, String, UInt8)]
            {
                try expect(
                    try await store.consent(account: account, client: client, content: Self.bytes(content)) == nil,
                    "no other")
            }
            try expect(try await Self.grant(store, "r")?.consent == "one", "the grant stands on it")
            try expect(try await store.request("request-r") == nil, "the request has ended")
            try await expectError(StoreError(.notFound, "")) {
                try await Self.agree(store, sample, Self.consent("two"))
            }
            try expect(try await Self.events(store) == 1, "one event")
        },
        ConformanceCheck("the same that is agreed to again is one consent, with another moment and session") { store in
            let first = try await Self.waiting(store, "one", cookie: 10)
            try await Self.agree(store, first, Self.consent("one"))
            let second = try await Self.waiting(store, "two", cookie: 11)
            try await Self.agree(store, second, Self.consent("other", at: 9))
            try expect(
                try await store.consents(account: "a", limit: 9) == [Self.consent("one", in: "other", at: 9)],
                "one consent")
            try expect(try await Self.grant(store, "two")?.consent == "one", "the later grant stands on it too")
        },
        ConformanceCheck("the end of all sessions of an account ends the account's consents, and nobody else's") {
            store in
            let sample = try await Self.waiting(store, "r", cookie: 10)
            try await Self.agree(store, sample, Self.consent("one"))
            _ = try await store.endSessions(account: "b", audit: Self.event)
            try expect(try await store.consents(account: "a", limit: 9).count == 1, "another account's end")
            try expect(try await store.endSessions(account: "a", audit: Self.event) == 1, "the session")
            try expect(try await store.consents(account: "a", limit: 9).isEmpty, "taken back")
            try expect(try await Self.grant(store, "r") == nil, "the grant ends with the consent")
        },
        ConformanceCheck("with a consent every grant ends that stands on it, and no other") { store in
            for (name, cookie, content) in [("one", 10, 1), ("two", 11, 1), ("three", 12, 2)]
                as [(String, UInt8, UInt8)]
            {
                let sample = try await Self.waiting(store, name, cookie: cookie)
                try await Self.agree(
                    store, sample, Self.consent("consent-\(content)", content: content, at: Int(cookie)))
            }
            let listed = try await store.consents(account: "a", limit: 9).map(\.id)
            try expect(listed == ["consent-2", "consent-1"], "the last one first")
            try expect(try await store.consents(account: "a", limit: 1).map(\.id) == ["consent-2"], "at most so many")
            try expect(try await store.consents(account: "b", limit: 9).isEmpty, "nobody else's")
            try expect(
                try await store.endConsent("consent-1", account: "b", audit: Self.event) == false, "another person's")
            try expect(try await store.endConsent("consent-1", account: "a", audit: Self.event), "ended")
            try expect(
                try await store.endConsent("consent-1", account: "a", audit: Self.event) == false, "ended once")
            try expect(try await Self.events(store) == 4, "with one event")
            let ended = (try await Self.grant(store, "one"), try await Self.grant(store, "two"))
            try expect(ended == (nil, nil), "what stood on it has ended")
            try expect(try await Self.grant(store, "three") != nil, "the other stands")
        },
        ConformanceCheck("no grant stands on a consent that was taken back") { store in
            let sample = try await Self.waiting(store, "one", cookie: 10)
            try await Self.agree(store, sample, Self.consent("one"))
            try expect(try await store.endConsent("one", account: "a", audit: Self.event), "ended")
            let grant = GrantRecord(
                id: "late", client: "c", subject: "s", authentication: sample.grant.authentication,
                session: sample.grant.session, scope: "openid", consent: "one", expiresAt: sample.grant.expiresAt)
            let code = CodeRecord(
                digest: Self.bytes(20), redirectURI: "https://c.example/in", nonce: nil, challenge: nil,
                expiresAt: sample.code.expiresAt)
            try await expectError(StoreError(.notFound, "")) {
                try await store.addGrant(grant, code: code, usedAt: Self.start, audit: Self.event)
            }
        },
        ConformanceCheck("past the limit the oldest consent to a client ends") { store in
            for number in 0...Limits.Fixed.consentsPerClient {
                let sample = try await Self.waiting(store, "\(number)", cookie: UInt8(100 + number))
                try await Self.agree(
                    store, sample, Self.consent("\(number)", content: UInt8(1 + number), at: number))
            }
            let kept = try await store.consents(account: "a", limit: 99).map(\.id)
            try expect(
                kept == (1...Limits.Fixed.consentsPerClient).reversed().map { "\($0)" }, "all but the first: \(kept)")
        },
        ConformanceCheck("consents go with their client") { store in
            let client = ClientRecord(
                id: "c", name: "C", redirectURIs: ["https://c.example/in"], postLogoutRedirectURIs: [],
                secretDigest: nil, createdAt: Self.start, settings: ClientSettings(party: .third))
            try await store.addClient(client, limit: 9, audit: Self.event)
            try expect(try await store.client("c")?.settings.party == .third, "it is somebody else's")
            try await Self.agree(store, try await Self.waiting(store, "r", cookie: 10), Self.consent("one"))
            try expect(try await store.deleteClient("c", audit: Self.event), "deleted")
            try expect(try await store.consents(account: "a", limit: 9).isEmpty, "and with it what it was given")
        },
    ]
}
