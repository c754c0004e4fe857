public import Records
import _Primitives

/// The rules for every ``SignInServiceStore``, about sessions of the app sign-in service.
public enum SignInServiceConformance {
    /// The store protocols that the rules use.
    public typealias Subject = any AccountStore & AuditStore & AuthorizationStore & ClientStore & DeviceSecretStore
        & GrantListStore & RefreshStore & SignInServiceStore

    private static let start = Timestamp(seconds: 1_800_000_000)
    private static let event = AuditEvent(AuditEvent.Kind(rawValue: "test"), at: start)

    private static func bytes(_ number: UInt8) -> [UInt8] { [UInt8](repeating: number, count: 32) }

    private static func addClient(_ store: Subject, _ id: String, _ settings: SignInServiceSettings?) async throws {
        var client = ClientSettings(authenticationMethod: "none")
        client.signInService = settings
        try await store.addClient(
            ClientRecord(
                id: id, name: id, redirectURIs: ["https://\(id).example/in"], postLogoutRedirectURIs: [],
                secretDigest: nil, createdAt: Self.start, settings: client), limit: 9, audit: Self.event)
    }

    /// Adds an app's session, `grant-app`, with the secret of its device.
    private static func app(_ store: Subject) async throws -> SampleSignIn {
        try await Self.addClient(store, "app", SignInServiceSettings(audience: "app", sharesSessions: true))
        try await Self.addClient(store, "web", SignInServiceSettings(answers: .cookie, audience: "web"))
        let sample = SampleSignIn("app", secret: Self.bytes(90), account: "a", client: "app", at: Self.start)
        try await sample.keep(in: store)
        try expect(try await store.setDeviceSecret(digest: Self.bytes(1), ofGrant: "grant-app"), "it is there")
        return sample
    }

    private static func passed(
        _ sample: SampleSignIn, _ id: String, from origin: String = "grant-app", secret: [UInt8]? = Self.bytes(1),
        client: String = "web", authentication: String? = nil
    ) -> PassedSession {
        PassedSession(
            origin: origin, deviceSecret: secret,
            grant: GrantRecord(
                id: id, client: client, subject: "web-a",
                authentication: authentication ?? sample.grant.authentication, session: nil, isLasting: true,
                scope: "offline_access", deviceSecret: secret, origin: origin,
                expiresAt: sample.grant.expiresAt), redirectURI: "https://web.example/in")
    }

    private static func family(_ grant: String, _ head: UInt8, until end: Timestamp) -> RefreshFamilyStart {
        RefreshFamilyStart(
            grant: grant, head: Self.bytes(head), headEndsAt: end, keyThumbprint: nil, until: end, most: 9,
            displaced: Self.event)
    }

    private static func pass(_ store: Subject, _ passed: PassedSession, _ head: UInt8) async throws {
        try await store.pass(
            passed, beginning: Self.family(passed.grant.id, head, until: passed.grant.expiresAt), code: nil,
            audit: Self.event)
    }

    private static func grant(_ store: Subject, _ id: String) async throws -> GrantRecord? {
        try await store.grant(id, token: nil, at: Self.start)?.grant
    }

    private static func events(_ store: Subject) async throws -> Int {
        try await store.auditEntries(after: 0, limit: 99).count { $0.event.kind == Self.event.kind }
    }

    /// The rules, each over an empty store.
    public static let checks: [ConformanceCheck<Subject>] = [
        ConformanceCheck("a client's settings come back, change and go, and say whether there is such a client") {
            store in
            try expect(try await !store.hasSignInServiceClient(), "there is none")
            try await Self.addClient(store, "other", nil)
            try expect(try await !store.hasSignInServiceClient(), "another face's is none")
            var settings = SignInServiceSettings(
                answers: .cookie, usesAntiCSRF: true, accessTokenLifetime: .seconds(61),
                refreshTokenLifetime: .seconds(301), audience: "va.gov", attributes: ["email"], sharesSessions: true,
                enforcesTerms: false, levels: [.init("min"), .init("loa3", needed: "urn:x")], wrapsData: false,
                takesQuery: true, takesAnyScheme: true, takesBackEndCookies: true, takesShortVerifiers: true)
            try await Self.addClient(store, "web", settings)
            try expect(try await store.client("web")?.settings.signInService == settings, "the whole of it")
            try expect(try await store.hasSignInServiceClient(), "there is one")
            settings.answers = .api
            let changed = settings
            _ = try await store.changeClient("web") { client in
                client.settings.signInService = changed
                return []
            }
            try expect(try await store.client("web")?.settings.signInService == changed, "as it was changed")
            _ = try await store.changeClient("web") { client in
                client.settings.signInService = nil
                return []
            }
            try expect(try await store.client("web")?.settings.signInService == nil, "gone")
            try expect(try await !store.hasSignInServiceClient(), "there is none again")
        },
        ConformanceCheck("the audiences of those clients alone whose sessions are shared, each once") { store in
            for (id, audience, isShared) in [
                ("a", "one", true), ("b", "one", true), ("c", "two", true), ("d", "3", false),
            ] {
                try await Self.addClient(
                    store, id, SignInServiceSettings(audience: audience, sharesSessions: isShared))
            }
            try await Self.addClient(store, "e", nil)
            try expect(try await store.sharedAudiences() == ["one", "two"], "those")
            _ = try await store.changeClient("c") { client in
                client.settings.isDisabled = true
                return []
            }
            try expect(try await store.sharedAudiences() == ["one"], "none of a client that is switched off")
            try await Self.addClient(store, "f", SignInServiceSettings(audience: "four", sharesSessions: true))
            try expect(try await store.sharedAudiences() == ["four", "one"], "one more, at once")
        },
        ConformanceCheck("a grant has one device's secret, which it is given once") { store in
            _ = try await Self.app(store)
            try expect(try await Self.grant(store, "grant-app")?.deviceSecret == Self.bytes(1), "it has it")
            try expect(try await !store.setDeviceSecret(digest: Self.bytes(2), ofGrant: "grant-app"), "no second one")
            try expect(try await !store.setDeviceSecret(digest: Self.bytes(2), ofGrant: "none"), "nor one of nothing")
            try expect(try await Self.grant(store, "grant-app")?.deviceSecret == Self.bytes(1), "it has it still")
        },
        ConformanceCheck("a session is passed on by its device's secret, once, while all of it is there") { store in
            let sample = try await Self.app(store)
            let before = try await Self.events(store)
            for wrong in [
                Self.passed(sample, "w", from: "none"), Self.passed(sample, "w", secret: Self.bytes(2)),
                Self.passed(sample, "w", client: "none"), Self.passed(sample, "w", authentication: "none"),
            ] {
                try await expectError(StoreError(.notFound, "")) { try await Self.pass(store, wrong, 50) }
            }
            try expect(try await Self.events(store) == before, "nothing in the trail")
            let right = Self.passed(sample, "web-1")
            try await Self.pass(store, right, 51)
            try expect(try await Self.grant(store, "web-1") == right.grant, "the whole of it")
            try expect(try await Self.events(store) == before + 1, "one event")
            let again = Self.passed(sample, "web-2", from: "web-1")
            try await expectError(StoreError(.notFound, "")) { try await Self.pass(store, again, 52) }
            let outcome = try await store.refresh(
                RefreshExchange(
                    grant: "web-1", presented: Self.bytes(51),
                    successor: RefreshExchange.Successor(digest: Self.bytes(53), step: Self.bytes(54)), isBound: true,
                    parentLifetime: .seconds(60), successorEndsAt: sample.grant.expiresAt, reuse: Self.event),
                at: Self.start, judge: { _ in })
            guard case .renewed(let renewal) = outcome else { throw ConformanceFailure(description: "not renewed") }
            try expect(renewal.standing.grant.origin == "grant-app", "and it says still where it came from")
        },
        ConformanceCheck("what is passed on lasts as its family says, and the oldest makes room") {
            store in
            let sample = try await Self.app(store)
            let end = sample.grant.expiresAt + .seconds(60)
            for number in 1...3 as ClosedRange<UInt8> {
                let id = "web-\(number)"
                try await store.pass(
                    Self.passed(sample, id),
                    beginning: RefreshFamilyStart(
                        grant: id, head: Self.bytes(50 + number), headEndsAt: end, keyThumbprint: "key-\(number)",
                        until: end, most: 2,
                        displaced: AuditEvent(AuditEvent.Kind(rawValue: "displaced"), at: Self.start)),
                    code: nil, audit: Self.event)
            }
            let kept = try await Self.grant(store, "web-3")
            try expect(kept?.expiresAt == end && kept?.keyThumbprint == "key-3", "until then, by that key")
            try expect(try await Self.grant(store, "web-2") != nil, "two of them")
            try expect(try await Self.grant(store, "web-1") == nil, "not three")
            try expect(try await Self.grant(store, "grant-app") != nil, "another client's is none of them")
            let displaced = try await store.auditEntries(after: 0, limit: 99).map(\.event).filter {
                $0.kind.rawValue == "displaced"
            }
            try expect(displaced.map(\.detail) == ["web-1"] && displaced.map(\.accountID) == ["a"], "and it is told")
            let listed = try await store.lastingGrants(account: "a", at: Self.start, limit: 9)
            try expect(Set(listed.map(\.id)).isSuperset(of: ["web-2", "web-3"]), "they are listed")
            try expect(listed.filter { $0.client == "web" }.allSatisfy { $0.since == Self.start }, "since then")
        },
        ConformanceCheck("a session that would end for what is passed on is not passed on, and goes on") { store in
            let sample = try await Self.app(store)
            func family(_ grant: String, _ head: UInt8, most: Int) -> RefreshFamilyStart {
                RefreshFamilyStart(
                    grant: grant, head: Self.bytes(head), headEndsAt: sample.grant.expiresAt, keyThumbprint: nil,
                    until: sample.grant.expiresAt, most: most, displaced: Self.event)
            }
            func passed(_ id: String) -> PassedSession {
                PassedSession(
                    origin: "grant-app", deviceSecret: Self.bytes(1),
                    grant: GrantRecord(
                        id: id, client: "app", subject: sample.grant.subject,
                        authentication: sample.grant.authentication, session: nil, isLasting: true,
                        scope: "offline_access", deviceSecret: Self.bytes(1), origin: "grant-app",
                        expiresAt: sample.grant.expiresAt), redirectURI: "https://app.example/in")
            }
            let isBegun = try await store.beginFamily(family("grant-app", 50, most: 2), at: Self.start)
            try expect(isBegun, "the origin is the oldest")
            try await store.pass(
                passed("self-1"), beginning: family("self-1", 51, most: 2), code: nil, audit: Self.event)
            let before = try await Self.events(store)
            try await expectError(StoreError(.notFound, "")) {
                try await store.pass(
                    passed("self-2"), beginning: family("self-2", 52, most: 2), code: nil, audit: Self.event)
            }
            try await store.pass(passed("self-3"), beginning: nil, code: nil, audit: Self.event)
            let isLasting = try await store.beginFamily(family("self-3", 53, most: 2), at: Self.start)
            try expect(!isLasting, "neither does it last later")
            try expect(try await Self.events(store) == before + 1, "the third alone")
            for id in ["grant-app", "self-1", "self-3"] {
                try expect(try await Self.grant(store, id) != nil, "\(id) goes on")
            }
            try expect(try await Self.grant(store, "self-2") == nil, "not passed on")
        },
        ConformanceCheck("a client that is switched off is passed nothing") { store in
            let sample = try await Self.app(store)
            _ = try await store.changeClient("web") { client in
                client.settings.isDisabled = true
                return []
            }
            try await expectError(StoreError(.notFound, "")) {
                try await Self.pass(store, Self.passed(sample, "web-1"), 50)
            }
        },
        ConformanceCheck("a session is passed on by a code, which is good once") { store in
            let sample = try await Self.app(store)
            let passed = Self.passed(sample, "web-1", secret: nil)
            let code = CodeRecord(
                digest: Self.bytes(60), redirectURI: "https://web.example/in", nonce: nil, challenge: Self.bytes(61),
                expiresAt: Self.start + .seconds(60))
            try await store.pass(passed, beginning: nil, code: code, audit: Self.event)
            func take() async throws -> CodeTaking {
                try await store.takeCode(digest: Self.bytes(60), at: Self.start, replay: Self.event) { _, _ in true }
            }
            guard case .taken(let taken, let standing) = try await take() else {
                throw ConformanceFailure(description: "not taken")
            }
            try expect(taken == code && standing.grant == passed.grant, "the whole of both")
            try expect(try await take() == .replayed, "once")
            try expect(try await Self.grant(store, "web-1") == nil, "and what it gave is gone")
        },
        ConformanceCheck("what came of a grant ends with it, and nothing else, however it ends") { store in
            let sample = try await Self.app(store)
            try await Self.pass(store, Self.passed(sample, "web-1"), 50)
            try await store.pass(
                Self.passed(sample, "web-2", secret: nil), beginning: nil,
                code: nil, audit: Self.event)
            let other = SampleSignIn("other", secret: Self.bytes(91), account: "a", client: "app", at: Self.start)
            try await other.keep(in: store)
            _ = try await store.setDeviceSecret(digest: Self.bytes(2), ofGrant: "grant-other")
            try await Self.pass(
                store, Self.passed(other, "web-3", from: "grant-other", secret: Self.bytes(2)), 51)
            let before = try await Self.events(store)
            let ended = try await store.endGrants(.grant("grant-app"), account: "a", audit: Self.event)
            try expect(ended == 3, "three")
            try expect(try await Self.events(store) == before + 1, "one event")
            for id in ["grant-app", "web-1", "web-2"] {
                try expect(try await Self.grant(store, id) == nil, "\(id) is gone")
            }
            try expect(try await Self.grant(store, "web-3") != nil, "another device's is not")
            for _ in 0..<2 {
                _ = try await store.takeCode(
                    digest: other.code.digest, at: Self.start, replay: Self.event, isRight: { _, _ in true })
            }
            try expect(try await Self.grant(store, "grant-other") == nil, "the code came twice")
            try expect(try await Self.grant(store, "web-3") == nil, "with all that came of it")
            let third = SampleSignIn("third", secret: Self.bytes(92), account: "a", client: "app", at: Self.start)
            try await third.keep(in: store)
            try await Self.pass(store, Self.passed(third, "web-4", from: "grant-third", secret: nil), 52)
            try expect(try await store.deleteGrant("web-4", client: "web", audit: Self.event), "what came of it, alone")
            try expect(try await Self.grant(store, "grant-third") != nil, "ends nothing that it came of")
            try await Self.pass(store, Self.passed(third, "web-5", from: "grant-third", secret: nil), 53)
            try expect(try await store.deleteClient("app", audit: Self.event), "its client goes")
            try expect(try await Self.grant(store, "web-5") == nil, "with all that came of what it had")
        },
    ]
}
