import JOSE
import OAuth
import OAuthProvider
import Records
import SQLStore
import Settings
import Testing
import _Primitives

@Suite("RFC 7517 and RFC 8725: signing keys and the tokens of this server")
struct SigningTests {
    @Test func theKeySetIsPublic() async throws {
        try await ProviderFixture.run { f in
            let keys = try #require(try f.provider.keys.keySet.array("keys"))
            #expect(keys.count == 1)
            guard case .object(let key) = keys[0] else {
                Issue.record("not a key")
                return
            }
            #expect(Set(key.members.map(\.name)) == ["kty", "crv", "x", "y", "kid", "use", "alg"])
            #expect(key["alg"] == .string("ES256") && key["use"] == .string("sig"))
            #expect(try JWK(json: key).thumbprint == key.requiredString("kid"))
        }
    }

    @Test func aRotationKeepsWhatWasSignedValidForAWhile() async throws {
        try await ProviderFixture.run { f in
            let before = try await f.tokens()
            let first = try JWKSet(parsing: JSON.object(f.provider.keys.keySet).serialized).keys[0]
            try await f.provider.keys.rotate()
            let keys = try JWKSet(parsing: JSON.object(f.provider.keys.keySet).serialized)
            #expect(keys.keys.count == 2 && keys.keys[1] == first)
            #expect(try await f.provider.userinfo.answer(header: "Bearer \(before.access)").status == 200)
            #expect(try UnverifiedJWS(compact: before.id).header.keyID == first.keyID)
            // As a client would verify it, with the keys that are published now.
            #expect(try f.claims(before.id, type: "JWT").members["nonce"] == .string("n-1"))
            f.clock.advance(Limits().oauth.keyAnnouncement)
            let after = try await f.tokens()
            #expect(try UnverifiedJWS(compact: after.id).header.keyID == keys.keys[0].keyID)
            f.clock.advance(Limits().oauth.retiredKeyRetention)
            #expect(try JWKSet(parsing: JSON.object(f.provider.keys.keySet).serialized).keys.count == 1)
            #expect(throws: JOSEError(.unknownKey, "")) { try f.claims(before.id, type: "JWT") }
        }
    }

    @Test func aNewKeySignsWhenEveryKeySetThatMayStillBeKeptHasIt() async throws {
        let limits = Limits()
        #expect(limits.oauth.keyAnnouncement > limits.oauth.keySetLifetime + limits.sweepInterval)
        try await ProviderFixture.run { f in
            func signer() async throws -> String? {
                try UnverifiedJWS(compact: f.provider.tokens.sign(["aud": .string("x")], type: "t")).header.keyID
            }
            let first = try await signer()
            try await f.provider.keys.rotate()
            f.clock.advance(.seconds(60))
            try await f.provider.keys.rotate()
            let announced = try JWKSet(parsing: JSON.object(f.provider.keys.keySet).serialized).keys.map(\.keyID)
            #expect(announced.count == 3 && announced[2] == first)
            f.clock.advance(limits.oauth.keyAnnouncement - .seconds(60) - .milliseconds(1))
            #expect(try await signer() == first)
            f.clock.advance(.milliseconds(1))
            #expect(try await signer() == announced[1], "each in its turn")
            f.clock.advance(.seconds(60) - .milliseconds(1))
            #expect(try await signer() == announced[1])
            f.clock.advance(.milliseconds(1))
            #expect(try await signer() == announced[0])
        }
    }

    @Test func aTokenOfAForgottenKeyIsRefused() async throws {
        var limits = Limits()
        limits.oauth.keyAnnouncement = .seconds(10)
        limits.oauth.retiredKeyRetention = .seconds(50)
        try await ProviderFixture.run(limits: limits) { f in
            let access = try await f.tokens().access
            try await f.provider.keys.rotate()
            f.clock.advance(.seconds(59))
            #expect(try await f.provider.userinfo.answer(header: "Bearer \(access)").status == 200)
            f.clock.advance(.seconds(1))
            #expect(try await f.provider.userinfo.answer(header: "Bearer \(access)").status == 401)
        }
    }

    @Test func retiredKeysAreForgottenAtTheNextRotation() async throws {
        try await ProviderFixture.run { f in
            for _ in 0..<4 {
                try await f.provider.keys.rotate()
                f.clock.advance(Limits().oauth.keyAnnouncement + Limits().oauth.retiredKeyRetention + .seconds(1))
            }
            let keys = try await f.store.providerKeys(
                orFirst: ProviderKeys(subjectSecret: SecretBytes([0]), signingKeys: []))
            #expect(keys.signingKeys.count == 2)
        }
    }

    @Test func keysOutliveARestart() async throws {
        try await ProviderFixture.run { f in
            let access = try await f.tokens().access
            let again = try await OpenIDProvider.open(
                OpenIDProvider.Configuration(issuer: ProviderFixture.issuer), store: f.store, methods: [f.outcomes],
                people: f.people, time: f.clock.source)
            #expect(again.keys.keySet == f.provider.keys.keySet)
            #expect(try await again.userinfo.answer(header: "Bearer \(access)").status == 200)
        }
    }

    @Test func statementsAreSignedWithTypeIssuerAndTime() async throws {
        try await ProviderFixture.run { f in
            let compact = try f.provider.tokens.sign(
                ["aud": .string("bank"), "iss": .string("forged")], type: "transaction-confirmation+jwt")
            let claims = try f.claims(compact, type: "transaction-confirmation+jwt")
            #expect(claims.issuer == ProviderFixture.issuer && claims.audience == ["bank"])
            #expect(claims.issuedAt == f.clock.source.now())
        }
    }

    @Test func aDeviceTokenNamesItsAccountAndDeviceForFiveMinutes() async throws {
        try await ProviderFixture.run { f in
            let holder = DeviceTokenHolder(account: "account-a", device: "device-a")
            let token = try f.provider.tokens.deviceToken(for: holder)
            #expect(try f.provider.tokens.holder(ofDeviceToken: "Bearer \(token)") == holder)
            f.clock.advance(.milliseconds(299_999))
            #expect(try f.provider.tokens.holder(ofDeviceToken: "Bearer \(token)") == holder)
            f.clock.advance(.milliseconds(1))
            #expect(throws: OAuthError(.invalidToken)) {
                try f.provider.tokens.holder(ofDeviceToken: "Bearer \(token)")
            }
        }
    }

    @Test func aDeviceTokenEndsWithTheStoresEpoch() async throws {
        try await ProviderFixture.run { f in
            let token = try f.deviceToken()
            func provider(epoch: String) async throws -> OpenIDProvider {
                try await OpenIDProvider.open(
                    .init(issuer: ProviderFixture.issuer, epoch: epoch), store: f.store, methods: [f.outcomes],
                    people: f.people, time: f.clock.source)
            }
            #expect(try await provider(epoch: "").tokens.holder(ofDeviceToken: "Bearer \(token)").device == "device-a")
            let later = try await provider(epoch: "restored")
            #expect(throws: OAuthError(.invalidToken)) { try later.tokens.holder(ofDeviceToken: "Bearer \(token)") }
        }
    }

    @Test func whatIsNoDeviceTokenIsRefused() async throws {
        try await ProviderFixture.run { f in
            let tokens = try await f.tokens()
            let now = f.clock.source.now()
            // All claims of one, under the key that signs for others.
            let statement = try f.provider.tokens.sign(
                [
                    "aud": .string(ProviderFixture.issuer), "sub": .string("account-a"), "scope": .string("device"),
                    "device": .string("device-a"), "exp": .integer((now + .seconds(60)).seconds),
                ], type: "device+jwt")
            var foreign = ""
            try await ProviderFixture.run { foreign = try $0.deviceToken() }
            let own = try f.deviceToken()
            for header in [
                nil, "", "Bearer x", f.basic(), "Bearer \(tokens.access)", "Bearer \(tokens.id)", "Bearer \(statement)",
                "Bearer \(foreign)", "Bearer \(own.dropLast())",
            ] {
                #expect(throws: OAuthError(.invalidToken)) { try f.provider.tokens.holder(ofDeviceToken: header) }
            }
        }
    }

    @Test func theAuditTrailNamesWhoDidWhat() async throws {
        try await ProviderFixture.run { f in
            let shop = try await f.provider.clients.register(
                name: "Shop", redirectURIs: [ProviderFixture.address],
                settings: ClientSettings(idTokenAlgorithm: .es256), by: "root")
            let signedIn = try await f.signIn()
            _ = try await f.token(signedIn.code)
            _ = try await f.token(signedIn.code)
            _ = try await f.provider.sessions.logout("", session: signedIn.session, confirmed: true)
            try await f.provider.keys.rotate(by: "root")
            #expect(try await f.provider.clients.delete("unknown", by: "root") == false)
            #expect(try await f.provider.clients.delete(shop.client.id, by: "root"))
            let trail = try await f.store.auditEntries(after: 0, limit: 100).map(\.event)
                .filter { $0.kind.rawValue != "test-account" }
            #expect(
                trail.map(\.kind.rawValue) == [
                    "client-added", "client-added", "code-replayed", "signed-out", "signing-key-rotated",
                    "client-deleted",
                ])
            #expect(trail.map(\.actor) == [nil, "root", f.bank.client.id, nil, "root", "root"])
            #expect(trail.map(\.accountID) == [nil, nil, "account-a", "account-a", nil, nil])
            #expect(trail[1].detail == shop.client.id && trail[5].detail == shop.client.id)
        }
    }

    @Test func discoveryNamesThisIssuer() async throws {
        try await ProviderFixture.run { f in
            #expect(f.provider.discovery["issuer"] == .string(ProviderFixture.issuer))
            #expect(
                f.provider.discovery["scopes_supported"]
                    == .array(
                        ["openid", "profile", "email", "phone", "address", "offline_access", "device_sso"].map(
                            JSON.string)))
        }
    }

    @Test func aStoreWhoseKeysAreNoKeysIsRefused() async throws {
        try await ProviderFixture.run { f in
            let key = SigningKeyRecord(
                id: "broken", algorithm: .es256, privateKey: SecretBytes([UInt8](repeating: 0, count: 32)),
                createdAt: f.clock.source.now(), retiredAt: nil)
            _ = try await f.store.rotateSigningKeys(
                to: [key], replacing: nil, from: f.clock.source.now(), forgettingRetiredBefore: f.clock.source.now(),
                audit: AuditEvent(AuditEvent.Kind(rawValue: "test"), at: f.clock.source.now()))
            await #expect(throws: StoreError(.corrupt, "")) {
                try await OpenIDProvider.open(
                    OpenIDProvider.Configuration(issuer: ProviderFixture.issuer), store: f.store, methods: [f.outcomes],
                    people: f.people)
            }
        }
    }
}
