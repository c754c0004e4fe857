import JOSE
import OAuth
import OAuthProvider
import Records
import SQLStore
import Settings
import Testing
import _Primitives

@Suite("RFC 7517 and decision 48: signing keys come, sign in their turn and go by themselves")
struct SigningKeyRotationTests {
    private static let limits = Limits()
    private static let lifetime = limits.oauth.signingKeyLifetime
    private static let announcement = limits.oauth.keyAnnouncement
    private static let tick = Limits.Fixed.clockTick

    private func signer(_ provider: OpenIDProvider, _ algorithm: JWSAlgorithm = .es256) throws -> String {
        try #require(
            provider.keys.signingKeys.last { $0.algorithm == algorithm.rawValue && $0.signsUntil == nil }?.name)
    }

    private func published(_ provider: OpenIDProvider) throws -> [String] {
        try JWKSet(parsing: JSON.object(provider.keys.keySet).serialized).keys.compactMap(\.keyID)
    }

    private func keyID(_ compact: String) throws -> String? { try UnverifiedJWS(compact: compact).header.keyID }

    private func rotations(_ f: ProviderFixture) async throws -> [AuditEvent] {
        try await f.store.auditEntries(after: 0, limit: 999).map(\.event)
            .filter { $0.kind.rawValue == "signing-key-rotated" }
    }

    @Test("Decision 121: the first receipt, whose key is made while it is signed, is within the time of its key")
    func firstReceipt() async throws {
        try await ProviderFixture.run { f in
            let at = f.clock.source.now()
            f.clock.advance(.seconds(2))
            _ = try await f.provider.keys.sign(
                receipt: ["iat": .integer(at.seconds)], issuer: ProviderFixture.issuer, at: at)
            #expect(try await f.store.receiptKeys().map(\.signsFrom) == [at])
        }
    }

    @Test func aKeyIsFollowedWhenItsTimeIsOverAndNeverBeforeTheNextIsKnown() async throws {
        try await ProviderFixture.run { f in
            let first = try self.published(f.provider)[0]
            f.clock.advance(Self.lifetime - Self.announcement - Self.tick)
            #expect(try await f.provider.keys.rotateDue().isEmpty)
            #expect(try self.published(f.provider) == [first])
            f.clock.advance(Self.tick)
            let made = try await f.provider.keys.rotateDue()
            #expect(made.count == 1)
            #expect(try self.published(f.provider) == made + [first], "published before it signs")
            #expect(try await f.provider.keys.rotateDue().isEmpty, "one is enough")
            f.clock.advance(Self.announcement - Self.tick)
            let last = try await f.tokens()
            #expect(try self.keyID(last.id) == first, "it signs for as long as a key does")
            f.clock.advance(Self.tick)
            let next = try await f.tokens()
            #expect(try self.keyID(next.id) == made[0] && self.keyID(next.access) == made[0])
            // What the former key has signed last is good until it ends by itself.
            // The times in tokens are whole seconds.
            f.clock.advance(Limits().accessTokenLifetime - .seconds(2))
            #expect(try await f.provider.userinfo.answer(header: "Bearer \(last.access)").status == 200)
            #expect(try f.claims(last.id, type: "JWT").members["nonce"] == .string("n-1"))
            f.clock.advance(Self.limits.oauth.retiredKeyRetention)
            #expect(try self.published(f.provider) == made)
            let event = try #require(try await self.rotations(f).first)
            #expect(event.detail == made[0] && event.actor == nil, "the trail says so, and that nobody did it")
        }
    }

    @Test func aKeyWhoseEndLiesFarAheadIsTakenOutByHandAtOnce() async throws {
        try await ProviderFixture.run { f in
            // The clock jumped ahead, and back again.
            f.clock.advance(Self.lifetime * 20)
            let strange = try await f.provider.keys.rotateDue()
            f.clock.advance(Self.lifetime * -20)
            try await f.provider.keys.rotate(by: "operator")
            f.clock.advance(Self.announcement + Self.tick)
            let newest = try #require(f.provider.keys.signingKeys.first { $0.signsUntil == nil }).name
            let signed = try self.keyID(try await f.tokens().id)
            #expect(signed == newest && !strange.contains(newest))
            f.clock.advance(Self.lifetime / 2)
            #expect(try self.keyID(try await f.tokens().id) == newest, "and stays so")
        }
    }

    @Test func anotherFollowsThatOneAndTheFirstIsForgotten() async throws {
        try await ProviderFixture.run { f in
            for _ in 0..<3 {
                f.clock.advance(Self.lifetime)
                #expect(try await f.provider.keys.rotateDue().count == 1)
            }
            let kept = try await f.store.providerKeys()
            #expect(kept.signingKeys.count == 2, "of the past none but the one that still signs")
            let states = f.provider.keys.signingKeys
            #expect(states.count == 2 && states[0].signsUntil == nil && states[0].publishedUntil == nil)
            #expect(states[1].signsUntil == states[0].signsFrom)
            #expect(states[1].publishedUntil == states[0].signsFrom + Self.limits.oauth.retiredKeyRetention)
            #expect(states[0].signsFrom == f.clock.source.now() + Self.announcement)
        }
    }

    @Test func eachAlgorithmHasItsOwnTime() async throws {
        try await ProviderFixture.run { f in
            f.clock.advance(Self.lifetime / 2)
            let shop = try await f.provider.clients.register(
                name: "Shop", redirectURIs: [ProviderFixture.address],
                settings: ClientSettings(idTokenAlgorithm: .rs256))
            #expect(shop.client.settings.idTokenAlgorithm == .rs256)
            f.clock.advance(Self.lifetime / 2)
            let first = try await f.provider.keys.rotateDue()
            #expect(try first == [self.signer(f.provider)])
            f.clock.advance(Self.lifetime / 2)
            let second = try await f.provider.keys.rotateDue()
            #expect(try second == [self.signer(f.provider, .rs256)])
        }
    }

    @Test func aKeyThatAnOperatorHasRotatedHasItsWholeTime() async throws {
        try await ProviderFixture.run { f in
            f.clock.advance(Self.lifetime / 2)
            try await f.provider.keys.rotate(by: "root")
            f.clock.advance(Self.lifetime - Self.tick)
            #expect(try await f.provider.keys.rotateDue().isEmpty, "it has signed since it was announced")
            f.clock.advance(Self.tick)
            #expect(try await f.provider.keys.rotateDue().count == 1)
        }
    }

    @Test func ofManyNodesOneDoesIt() async throws {
        try await ProviderFixture.run { f in
            var nodes: [OpenIDProvider] = []
            for _ in 0..<8 {
                nodes.append(
                    try await OpenIDProvider.open(
                        OpenIDProvider.Configuration(issuer: ProviderFixture.issuer), store: f.store,
                        methods: [f.outcomes], people: f.people, time: f.clock.source))
            }
            f.clock.advance(Self.lifetime)
            let made = try await withThrowingTaskGroup(of: [String].self) { group in
                for node in nodes { group.addTask { try await node.keys.rotateDue() } }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(made.count == 1, "one node says that it made one")
            #expect(try await self.rotations(f).count == 1)
            #expect(try await f.store.providerKeys().signingKeys.count == 2)
            for node in nodes {
                #expect(try await node.keys.rotateDue().isEmpty)
                #expect(try self.published(node).first == made[0])
            }
        }
    }

    @Test func aShortTimeMakesFewKeys() async throws {
        var limits = Limits()
        limits.oauth.signingKeyLifetime = .seconds(1)
        try await ProviderFixture.run(limits: limits) { f in
            for _ in 0..<(5 * 24) {
                f.clock.advance(.seconds(60 * 60))
                _ = try await f.provider.keys.rotateDue()
                #expect(try self.published(f.provider).count <= 3)
            }
            #expect(try await self.rotations(f).count == 5, "one a day")
        }
    }

    @Test func aClockThatGoesBackRotatesNothing() async throws {
        try await ProviderFixture.run { f in
            f.clock.advance(Self.lifetime)
            #expect(try await f.provider.keys.rotateDue().count == 1)
            f.clock.advance(.seconds(-7 * 24 * 60 * 60))
            #expect(try await f.provider.keys.rotateDue().isEmpty)
            let access = try await f.tokens().access
            #expect(try await f.provider.userinfo.answer(header: "Bearer \(access)").status == 200)
        }
    }

    @Test func aKeyStaysPublishedForLongerThanAnythingThatItSignsLasts() {
        let limits = Self.limits
        let signed = [
            limits.accessTokenLifetime, limits.deviceTokenLifetime, limits.resultLifetime,
            limits.oauth.logoutTokenLifetime,
        ]
        // An operator can set some of them to twice as much.
        #expect(signed.allSatisfy { $0 * Limits.Fixed.lifetimeFactor <= limits.oauth.retiredKeyRetention })
        #expect(limits.oauth.hintLifetime <= limits.oauth.retiredKeyRetention)
        #expect(limits.oauth.keyAnnouncement > limits.oauth.keySetLifetime + limits.sweepInterval)
    }
}
