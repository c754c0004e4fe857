import JOSE
import OAuth
import OAuthProvider
import Records
import SQLStore
import Settings
import Testing
import _Primitives

@Suite("OpenID Connect RP-Initiated Logout 1.0, sections 2 and 4: a hint that names nobody counts as absent")
struct SignOutHintTests {
    private static let day: Duration = .seconds(24 * 60 * 60)
    /// Sessions that go on for longer than a former key is in the key set.
    private static let longSessions: Limits = {
        var limits = Limits()
        limits.sessionLifetime = day * 3
        limits.oauth.sessionIdleLifetime = day * 3
        return limits
    }()

    private func form(
        _ hint: String, client: String? = nil, to address: String? = ProviderFixture.afterLogout
    ) -> String {
        var parameters: Parameters = ["id_token_hint": hint]
        if let client { parameters.append("client_id", client) }
        if let address { parameters.append("post_logout_redirect_uri", address) }
        parameters.append("state", "s-1")
        return parameters.encoded
    }

    /// An ID token with these claims under a key of the store.
    private func hint(
        _ f: ProviderFixture, _ changes: [String: JSON?] = [:], type: String = "JWT",
        by face: SigningKeyRecord.Face = .openID
    ) async throws -> String {
        let now = f.clock.source.now()
        var claims: JSONObject = [
            "iss": .string(ProviderFixture.issuer), "aud": .string(f.bank.client.id),
            "sub": .string(f.provider.keys.subject(ofAccount: "account-a", client: f.bank.client.id)),
            "iat": .integer(now.seconds), "exp": .integer((now + .seconds(300)).seconds),
        ]
        for (name, value) in changes { claims[name] = value }
        let record = try #require(
            try await f.store.providerKeys().signingKeys.first { $0.face == face && $0.algorithm == .es256 })
        let key = try SigningKey(kept: record.privateKey, algorithm: .es256, keyID: record.id)
        return try JWS.sign(JSON.object(claims).serialized, type: type, with: key)
    }

    /// Signs out with a hint that names nobody: the person is asked once, with or without a `client_id`, and the session
    /// ends.
    private func expectAbsent(_ hint: String, _ f: ProviderFixture, _ what: Comment) async throws {
        let session = try await f.signIn().session
        let plain = try await f.provider.sessions.logout(self.form(hint), session: session, confirmed: false)
        #expect(plain == .askPerson(clientName: nil, fields: [:]), what)
        #expect(try await f.provider.sessions.session(session) != nil, what)
        #expect(
            try await f.provider.sessions.logout(self.form(hint), session: nil, confirmed: false) == .signedOut, what)
        let named = try await f.provider.sessions.logout(
            self.form(hint, client: f.bank.client.id), session: session, confirmed: false)
        guard case .askPerson("Demo Bank", let fields) = named else {
            Issue.record("\(what): \(named)")
            return
        }
        #expect(
            fields == [
                "client_id": f.bank.client.id, "post_logout_redirect_uri": ProviderFixture.afterLogout, "state": "s-1",
            ], what)
        let left = try await f.provider.sessions.logout(fields.encoded, session: session, confirmed: true)
        #expect(left == .redirect(ProviderFixture.afterLogout + "?state=s-1"), what)
        #expect(try await f.provider.sessions.session(session) == nil, what)
        // Without a client_id the person's yes ends the session as well, and leads nowhere.
        let again = try await f.signIn().session
        #expect(try await f.provider.sessions.logout("", session: again, confirmed: true) == .signedOut, what)
        #expect(try await f.provider.sessions.session(again) == nil, what)
    }

    @Test("broken, of another kind, of another issuer, from the future, for several clients, for nobody, too long")
    func absent() async throws {
        try await ProviderFixture.run { f in
            let tokens = try await f.tokens()
            let parts = tokens.id.split(separator: ".").map(String.init)
            let unsigned = Base64URL.encode(Array(#"{"alg":"none","typ":"JWT"}"#.utf8))
            let later = f.clock.source.now() + Limits().oauth.clientClockSkew + .seconds(1)
            let hints: [(Comment, String)] = [
                ("no token", "x"), ("an access token", tokens.access),
                ("without its signature", "\(parts[0]).\(parts[1])."),
                ("another signature", "\(parts[0]).\(parts[1]).\(String(parts[2].reversed()))"),
                ("alg none", "\(unsigned).\(parts[1])."), ("five parts, as if encrypted", "\(tokens.id).e30.e30"),
                ("too long", tokens.id + String(repeating: "A", count: 6000)),
                ("another type", try await self.hint(f, type: "logout+jwt")),
                ("another issuer", try await self.hint(f, ["iss": .string("https://other.example")])),
                ("no issuer", try await self.hint(f, ["iss": nil])),
                ("no subject", try await self.hint(f, ["sub": nil])),
                ("no time", try await self.hint(f, ["iat": nil])),
                ("the future", try await self.hint(f, ["iat": .integer(later.seconds)])),
                ("no audience", try await self.hint(f, ["aud": .array([])])),
                (
                    "several audiences",
                    try await self.hint(f, ["aud": .array([.string(f.bank.client.id), .string("other")])])
                ), ("a client that is gone", try await self.hint(f, ["aud": .string("gone")])),
            ]
            for (what, hint) in hints { try await self.expectAbsent(hint, f, what) }
            // The hint that these were made from is good.
            let session = try await f.signIn().session
            let answer = try await f.provider.sessions.logout(
                self.form(try await self.hint(f)), session: session, confirmed: false)
            #expect(answer == .redirect(ProviderFixture.afterLogout + "?state=s-1"))
        }
    }

    @Test("the address of another client than the client_id is not followed, whatever a broken hint claims")
    func foreignAddress() async throws {
        try await ProviderFixture.run { f in
            let tokens = try await f.tokens()
            let shop = try await f.provider.clients.register(
                name: "Shop", redirectURIs: ["https://shop.example/"],
                postLogoutRedirectURIs: ["https://shop.example/bye"],
                settings: ClientSettings(idTokenAlgorithm: .es256))
            // The claims of the bank, under a signature that is none.
            let broken = String(tokens.id.dropLast(8))
            let answer = try await f.provider.sessions.logout(
                self.form(broken, client: shop.client.id), session: tokens.session, confirmed: true)
            #expect(answer == .page(OAuthError(.invalidRequest)))
            // A good hint of another client than the client_id is refused: section 2 has both match.
            let torn = try await f.provider.sessions.logout(
                self.form(tokens.id, client: shop.client.id, to: "https://shop.example/bye"), session: tokens.session,
                confirmed: true)
            #expect(torn == .page(OAuthError(.invalidRequest)))
            #expect(try await f.provider.sessions.session(tokens.session) != nil)
        }
    }

    @Test("a hint that is older than a day names its client, and the person is asked once")
    func old() async throws {
        try await ProviderFixture.run { f in
            let old = try await f.tokens()
            f.clock.advance(Self.day + .seconds(1))
            let text = self.form(old.id)
            #expect(
                try await f.provider.sessions.logout(text, session: old.session, confirmed: false)
                    == .redirect(ProviderFixture.afterLogout + "?state=s-1"), "nobody is signed in")
            let session = try await f.signIn().session
            let asked = try await f.provider.sessions.logout(text, session: session, confirmed: false)
            guard case .askPerson("Demo Bank", let fields) = asked else {
                Issue.record("\(asked)")
                return
            }
            #expect(try await f.provider.sessions.session(session) != nil)
            #expect(
                try await f.provider.sessions.logout(fields.encoded, session: session, confirmed: true)
                    == .redirect(ProviderFixture.afterLogout + "?state=s-1"))
            #expect(try await f.provider.sessions.session(session) == nil)
            // Authorization keeps its limit.
            #expect(try await f.answer(["id_token_hint": old.id], session: nil) == "invalid_request")
        }
    }

    @Test("a hint of this very session needs no question, however old, nor does one of the person's recent session")
    func session() async throws {
        try await ProviderFixture.run(limits: Self.longSessions) { f in
            let tokens = try await f.tokens()
            f.clock.advance(Self.day * 2)
            let answer = try await f.provider.sessions.logout(
                self.form(tokens.id, to: nil), session: tokens.session, confirmed: false)
            #expect(answer == .signedOut)
            #expect(try await f.provider.sessions.session(tokens.session) == nil)
            let recent = try await f.tokens()
            try await f.endSessions()
            let next = try await f.signIn().session
            #expect(
                try await f.provider.sessions.logout(self.form(recent.id, to: nil), session: next, confirmed: false)
                    == .signedOut)
            #expect(try await f.provider.sessions.session(next) == nil)
        }
    }

    @Test("a former key verifies hints until the sessions of its time have ended, at sign-out alone")
    func formerKey() async throws {
        try await ProviderFixture.run(limits: Self.longSessions) { f in
            f.clock.advance(Self.longSessions.oauth.signingKeyLifetime)
            #expect(try await f.provider.keys.rotateDue().count == 1)
            let tokens = try await f.tokens()
            let name = try UnverifiedJWS(compact: tokens.id).header.keyID
            f.clock.advance(Self.longSessions.oauth.keyAnnouncement + Self.longSessions.oauth.retiredKeyRetention)
            // Another rotation leaves the key where sessions of its time go on.
            try await f.provider.keys.rotate(by: "root")
            let published = try JWKSet(parsing: JSON.object(f.provider.keys.keySet).serialized).keys.map(\.keyID)
            #expect(!published.contains(name), "not in the key set")
            #expect(f.provider.keys.signingKeys.map(\.name).contains { $0 == name } == false)
            #expect(try await f.answer(["id_token_hint": tokens.id], session: nil) == "invalid_request")
            #expect(try await f.provider.userinfo.answer(header: "Bearer \(tokens.access)").status == 401)
            let statement = try await self.hintOfFace(f)
            #expect(
                try await f.provider.sessions.logout(self.form(statement), session: tokens.session, confirmed: false)
                    == .askPerson(clientName: nil, fields: [:]), "no key of the other face")
            f.clock.advance(Self.day * 2 - .seconds(1) - Self.longSessions.oauth.keyAnnouncement)
            #expect(
                try await f.provider.sessions.logout(self.form(tokens.id), session: tokens.session, confirmed: false)
                    == .redirect(ProviderFixture.afterLogout + "?state=s-1"), "of this very session")
            f.clock.advance(Self.longSessions.oauth.keyAnnouncement + .seconds(1))
            try await self.expectAbsent(tokens.id, f, "past the sessions of its time")
        }
    }

    @Test("a key that others have seen verifies nothing from then on, on no node, and the next one signs at once")
    func seenKey() async throws {
        try await ProviderFixture.run { f in
            let former = try await f.tokens()
            try await f.provider.keys.rotate(by: "root")
            f.clock.advance(Limits().oauth.keyAnnouncement)
            let tokens = try await f.tokens()
            let node = try await OpenIDProvider.open(
                OpenIDProvider.Configuration(issuer: ProviderFixture.issuer), store: f.store, methods: [f.outcomes],
                people: f.people, time: f.clock.source)
            // A key that is announced has been in the same place.
            try await f.provider.keys.rotate(by: "root")
            try await f.provider.keys.rotate(areSeen: true, by: "root")
            try await node.keys.refresh()
            let kept = try await f.store.providerKeys().signingKeys
            #expect(kept.count == 1 && kept[0].retiredAt == nil)
            for provider in [f.provider, node] {
                let published = try JWKSet(parsing: JSON.object(provider.keys.keySet).serialized).keys.map(\.keyID)
                #expect(published == [kept[0].id])
                #expect(try await provider.userinfo.answer(header: "Bearer \(tokens.access)").status == 401)
                for hint in [tokens.id, former.id] {
                    #expect(
                        try await provider.sessions.logout(self.form(hint), session: tokens.session, confirmed: false)
                            == .askPerson(clientName: nil, fields: [:]))
                }
            }
            #expect(try await f.answer(["id_token_hint": tokens.id], session: nil) == "invalid_request")
            try await self.expectAbsent(tokens.id, f, "of a seen key")
            let next = try await f.tokens()
            #expect(try UnverifiedJWS(compact: next.id).header.keyID == kept[0].id, "it signs at once")
            #expect(try await f.provider.userinfo.answer(header: "Bearer \(next.access)").status == 200)
            let events = try await f.store.auditEntries(after: 0, limit: 999).map(\.event)
                .filter { $0.kind.rawValue == "signing-key-rotated" }
            #expect(events.last?.detail == kept[0].id && events.last?.actor == "root")
        }
    }

    private func hintOfFace(_ f: ProviderFixture) async throws -> String {
        let bytes = try SigningKey.make(.es256, random: .system)
        let key = try SigningKey(kept: bytes, algorithm: .es256, keyID: nil)
        _ = try await f.store.addSigningKey(
            SigningKeyRecord(
                id: try #require(key.keyID), algorithm: .es256, privateKey: bytes, face: .signInService,
                createdAt: f.clock.source.now(), retiredAt: nil),
            audit: AuditEvent(AuditEvent.Kind(rawValue: "test"), at: f.clock.source.now()))
        return try await self.hint(f, by: .signInService)
    }
}
