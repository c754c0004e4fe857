public import Records
import _Primitives

/// The rules for every ``DeviceSecretStore``, about the secrets by which the apps of a device sign in through each
/// other.
public enum DeviceSecretConformance {
    /// The store protocols that the rules use.
    public typealias Subject = any AccountStore & AuditStore & AuthorizationStore & ClientStore & ConsentStore
        & DeviceSecretStore & GrantListStore & RefreshStore & SessionStore

    private static let start = Timestamp(seconds: 1_800_000_000)
    private static let event = AuditEvent(AuditEvent.Kind(rawValue: "test"), at: start)

    private static func bytes(_ number: UInt8) -> [UInt8] { [UInt8](repeating: number, count: 32) }

    private static func secret(
        _ number: UInt8, client: String = "first", session: String = "session-r", consent: String? = nil
    ) -> DeviceSecretRecord {
        DeviceSecretRecord(
            digest: Self.bytes(number), id: "secret-\(number)", session: session, client: client, group: "apps",
            scope: "openid profile", isBound: number == 1, consent: consent, givenAt: Self.start)
    }

    private static func signIn(_ store: Subject) async throws -> SampleSignIn {
        let sample = SampleSignIn("r", secret: Self.bytes(90), account: "a", client: "first", at: Self.start)
        try await sample.keep(in: store)
        return sample
    }

    /// Gives a secret with a grant of the sample's session, `grant-1` for `secret-1`. The digest of the grant's code is
    /// the secret's number plus a hundred.
    private static func add(_ store: Subject, _ secret: DeviceSecretRecord, _ sample: SampleSignIn) async throws -> Bool
    {
        let name = secret.id.replacing("secret-", with: "")
        let (grant, code) = SampleSignIn.grant(
            name, of: sample.session, secret: Self.bytes(secret.digest[0] + 100), client: secret.client, at: Self.start)
        try await store.addGrant(
            grant, code: code, usedAt: Self.start, audit: AuditEvent(AuditEvent.Kind(rawValue: "added"), at: Self.start)
        )
        return try await store.addDeviceSecret(secret, ofGrant: grant.id)
    }

    private static func isThere(_ store: Subject, _ number: UInt8) async throws -> Bool {
        try await store.deviceSecret(digest: Self.bytes(number)) != nil
    }

    private static func grant(
        _ sample: SampleSignIn, client: String = "second", session: String? = "session-r", consent: String? = nil
    ) -> GrantRecord {
        GrantRecord(
            id: "second", client: client, subject: "second-a", authentication: sample.grant.authentication,
            session: session, scope: "openid", consent: consent, expiresAt: Self.start + .seconds(360))
    }

    /// Returns a grant that the second app has got by a secret.
    private static func got(by number: UInt8, of sample: SampleSignIn, isLasting: Bool) -> GrantRecord {
        GrantRecord(
            id: "got-\(number)", client: "second", subject: "second-a",
            authentication: sample.grant.authentication, session: sample.session.id, isLasting: isLasting,
            scope: "openid", deviceSecret: Self.bytes(number), origin: "secret-\(number)",
            expiresAt: Self.start + .seconds(360))
    }

    private static func addClients(_ store: Subject) async throws {
        for client in ["first", "second", "third"] {
            try await store.addClient(
                ClientRecord(
                    id: client, name: "App", redirectURIs: ["com.example.\(client):/in"],
                    postLogoutRedirectURIs: [], secretDigest: nil, createdAt: Self.start,
                    settings: ClientSettings(
                        authenticationMethod: "none",
                        tokens: TokenSettings(group: client == "third" ? "others" : "apps"))),
                limit: 9, audit: Self.event)
        }
    }

    private static func events(_ store: Subject) async throws -> Int {
        try await store.auditEntries(after: 0, limit: 99).count { $0.event.kind == Self.event.kind }
    }

    /// The rules, each over an empty store.
    public static let checks: [ConformanceCheck<Subject>] = [
        ConformanceCheck("a secret comes back with its session, and takes its app's former place in it") { store in
            let sample = try await Self.signIn(store)
            try expect(try await Self.add(store, Self.secret(1), sample), "session and grant are there")
            try expect(try await !Self.add(store, Self.secret(2, session: "other"), sample), "no other session is")
            try expect(try await !store.addDeviceSecret(Self.secret(2), ofGrant: "other"), "no other grant is")
            let expected = HeldDeviceSecret(secret: Self.secret(1), session: sample.session)
            try expect(try await store.deviceSecret(digest: Self.bytes(1)) == expected, "the whole of it")
            try expect(try await !Self.isThere(store, 2), "nothing was kept")
            try expect(try await Self.add(store, Self.secret(3, client: "second"), sample), "another app's")
            try expect(try await Self.add(store, Self.secret(4), sample), "the app's next")
            try expect(try await !Self.isThere(store, 1), "the one before is gone")
            try expect(try await Self.isThere(store, 3), "the other app's is not")
        },
        ConformanceCheck("a secret gives a grant of its session while both are there") { store in
            let sample = try await Self.signIn(store)
            try await Self.addClients(store)
            _ = try await Self.add(store, Self.secret(1), sample)
            let before = try await Self.events(store)
            let moment = Self.start + .seconds(30)
            func add(_ grant: GrantRecord, by digest: UInt8) async throws {
                try await store.addGrant(
                    grant, byDeviceSecret: Self.bytes(digest), redirectURI: "https://second.example/in",
                    usedAt: moment, audit: Self.event)
            }
            for (grant, digest) in [
                (Self.grant(sample), UInt8(2)), (Self.grant(sample, session: "other"), 1),
                (Self.grant(sample, consent: "none"), 1), (Self.grant(sample, client: "third"), 1),
                (Self.grant(sample, client: "gone"), 1),
            ] {
                try await expectError(StoreError(.notFound, "")) { try await add(grant, by: digest) }
            }
            try expect(try await Self.events(store) == before, "nothing in the trail")
            try await add(Self.grant(sample), by: 1)
            let kept = try await store.grant("second", token: nil, at: moment)
            try expect(kept?.grant == Self.grant(sample), "the whole of it")
            try expect(kept?.authentication == sample.session.authentication, "of the same authentication")
            let used = try await store.deviceSecret(digest: Self.bytes(1))?.session.usedAt
            try expect(used == moment, "the session was used")
            try expect(try await store.account(subject: "second-a", client: "second") == "a", "and its subject")
            try expect(try await Self.events(store) == before + 1, "one event")
        },
        ConformanceCheck("a secret ends with its session, its client, and by its own group") { store in
            let sample = try await Self.signIn(store)
            try await Self.addClients(store)
            for (number, client) in [(UInt8(1), "first"), (2, "second"), (3, "third")] {
                _ = try await Self.add(store, Self.secret(number, client: client), sample)
            }
            func delete(_ number: UInt8, _ group: String) async throws -> Bool {
                try await store.deleteDeviceSecret(digest: Self.bytes(number), group: group, audit: Self.event)
            }
            let before = try await Self.events(store)
            try expect(try await !delete(1, "others"), "another group's no is none")
            try expect(try await Self.isThere(store, 1), "it stands")
            try expect(try await delete(1, "apps"), "its own")
            try expect(try await !delete(1, "apps"), "once")
            try expect(try await Self.events(store) == before + 1, "one event")
            _ = try await store.deleteClient("second", audit: Self.event)
            try expect(try await !Self.isThere(store, 2), "gone with the client")
            try expect(try await Self.isThere(store, 3), "another stands")
            _ = try await store.endSession(sample.session.id, audit: Self.event)
            try expect(try await !Self.isThere(store, 3), "gone with the session")
        },
        ConformanceCheck("a secret ends with the consent that its sign-in stands on, and where its code comes twice") {
            store in
            let sample = try await Self.signIn(store)
            let second = SampleSignIn("s", secret: Self.bytes(91), account: "a", client: "third", at: Self.start)
            try await store.addRequest(second.request)
            try await store.authenticate(
                AuthenticatedRequest(request: second.request.id, session: second.session, isStepUp: false),
                replacing: nil)
            let consent = ConsentRecord(
                id: "consent", account: "a", client: "third", content: Self.bytes(5), scope: "openid",
                grantedAt: Self.start)
            try await store.consent(
                ConsentedAuthorization(
                    request: second.request.id, consent: consent, grant: second.grant, code: second.code),
                usedAt: Self.start, audit: Self.event)
            let agreed = Self.secret(6, client: "third", session: "session-s", consent: "consent")
            try expect(try await store.addDeviceSecret(agreed, ofGrant: "grant-s"), "given")
            try expect(try await store.deviceSecret(digest: Self.bytes(6))?.secret == agreed, "the whole of it")
            try expect(try await store.endConsent("consent", account: "a", audit: Self.event), "taken back")
            try expect(try await !Self.isThere(store, 6), "gone with the consent")

            for (number, client) in [(UInt8(1), "first"), (2, "second")] {
                _ = try await Self.add(store, Self.secret(number, client: client), sample)
            }
            for _ in 0..<2 {
                _ = try await store.takeCode(digest: Self.bytes(101), at: Self.start, replay: Self.event) { _, _ in true
                }
            }
            try expect(try await !Self.isThere(store, 1), "gone with the grant of its code")
            try expect(try await Self.isThere(store, 2), "another app's is not")
        },
        ConformanceCheck("secrets are listed and ended with what lasts, each of its own account") { store in
            let sample = try await Self.signIn(store)
            try await Self.addClients(store)
            for (number, client) in [(UInt8(1), "first"), (2, "second"), (3, "third")] {
                _ = try await Self.add(store, Self.secret(number, client: client), sample)
            }
            func list(_ account: String = "a", at moment: Timestamp = Self.start) async throws -> [GrantListing] {
                try await store.lastingGrants(account: account, at: moment, limit: 9)
            }
            let expected = ["first", "second", "third"].enumerated().map { number, client in
                GrantListing(
                    kind: .deviceSecret, id: "secret-\(number + 1)", client: client, clientName: "App",
                    scope: "openid profile",
                    session: GivingSession(id: sample.session.id, sample.session.authentication),
                    since: Self.start, usedAt: nil, expiresAt: sample.session.expiresAt)
            }
            try expect(try await list() == expected, "all three")
            try await store.addGrant(
                Self.grant(sample), byDeviceSecret: Self.bytes(1), redirectURI: "https://second.example/in",
                usedAt: Self.start + .seconds(7), audit: Self.event)
            try expect(try await list().map(\.usedAt) == [Self.start + .seconds(7), nil, nil], "one was used")
            try expect(try await list(at: sample.session.expiresAt).isEmpty, "not when the session is over")
            try expect(try await list("b").isEmpty, "nobody else's")
            func end(_ selection: GrantSelection, _ account: String = "a") async throws -> Int {
                try await store.endGrants(selection, account: account, audit: Self.event)
            }
            try expect(try await end(.grant("secret-1"), "b") == 0, "another's")
            try expect(try await end(.grant("secret-1")) == 1, "by its identifier")
            try expect(try await !Self.isThere(store, 1), "that one")
            try expect(try await end(.client("second"), "b") == 0, "another's")
            try expect(
                try await end(.client("second")) == 3, "the app's secret, the grant of it, and the one that it got")
            try expect(try await !Self.isThere(store, 2), "of that app")
            try expect(try await Self.isThere(store, 3), "of that app alone")
            try expect(try await end(.all) == 4, "the last one, and the grants of all sign-ins")
            try expect(try await list().isEmpty, "all of them")
        },
        ConformanceCheck("what was got by a secret ends with the grant that it was given with, and not with the secret")
        {
            store in
            let sample = try await Self.signIn(store)
            try await Self.addClients(store)
            func give(_ number: UInt8, lasting: Bool) async throws -> GrantRecord {
                _ = try await Self.add(store, Self.secret(number), sample)
                let got = Self.got(by: number, of: sample, isLasting: lasting)
                try await store.addGrant(
                    got, byDeviceSecret: Self.bytes(number), redirectURI: "https://second.example/in",
                    usedAt: Self.start, audit: Self.event)
                return got
            }
            func stands(_ grant: GrantRecord) async throws -> Bool {
                try await store.grant(grant.id, token: nil, at: Self.start)?.grant == grant
            }
            func giveUp(_ number: UInt8) async throws -> Bool {
                try await store.deleteGrant("grant-\(number)", client: "first", audit: Self.event)
            }
            for (number, isLasting) in [(UInt8(1), true), (2, false)] {
                let got = try await give(number, lasting: isLasting)
                try expect(try await stands(got), "got")
                try expect(
                    try await store.deleteDeviceSecret(digest: Self.bytes(number), group: "apps", audit: Self.event),
                    "the secret alone")
                try expect(try await stands(got), "it goes on")
                try expect(try await giveUp(number), "the grant that the secret was given with")
                try expect(try await !stands(got), "over with that, lasting: \(isLasting)")
            }
            let (former, latter) = (try await give(3, lasting: true), try await give(4, lasting: true))
            try expect(try await giveUp(4), "one of two")
            try expect(try await !Self.isThere(store, 4), "its secret")
            let isLeft = try await stands(former)
            let isGone = try await !stands(latter)
            try expect(isLeft && isGone, "what came of that alone")
            // A sign-in that presents the secret of an earlier sign-in shares the secret.
            _ = try await Self.add(store, Self.secret(5), sample)
            try expect(
                try await !store.setDeviceSecret(digest: Self.bytes(6), ofGrant: "grant-5"), "it has one already")
            let (again, code) = SampleSignIn.grant(
                "again", of: sample.session, secret: Self.bytes(110), client: "first", at: Self.start)
            try await store.addGrant(again, code: code, usedAt: Self.start, audit: Self.event)
            try expect(try await store.setDeviceSecret(digest: Self.bytes(5), ofGrant: again.id), "shared")
            try expect(try await store.deleteGrant(again.id, client: "first", audit: Self.event), "given up")
            try expect(try await !Self.isThere(store, 5), "whoever has it may have taken the secret, too")
            // The secret ends with its session. The lasting grant stays until the other end.
            let lasting = try await give(7, lasting: true)
            _ = try await store.endSession(sample.session.id, audit: Self.event)
            try expect(try await stands(lasting), "it outlives the session")
            try expect(try await store.endSession(sample.session.id, account: "a", audit: Self.event) == false, "ended")
            try expect(try await giveUp(7), "given up")
            try expect(try await !stands(lasting), "over, though the secret was gone before")
        },
    ]
}
