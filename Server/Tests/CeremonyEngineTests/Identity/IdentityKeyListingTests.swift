import Ceremony
import CeremonyEngine
import Records
import SQLStore
import Settings
import Testing
import UAF
import _Primitives

@Suite("The keys that phones seal to, as operators see them and have another made (decision 84)")
struct IdentityKeyListingTests {
    private func states(_ server: TestServer) async throws -> [ListedSealingKey.State] {
        try await server.engine.identities.keys.sealingKeys().map(\.state)
    }

    @Test("A key is current, former while phones may have it, closing while it is opened, and then gone")
    func turns() async throws {
        let server = try TestServer()
        let keys = server.engine.identities.keys
        let first = try #require(try await keys.sealingKeys().first)
        #expect(first.state == .current && first.since == server.clock.now && first.until < first.erasedAt)
        #expect(first.until == server.clock.now + Limits.Fixed.sealingKeyTurn + Limits.Fixed.keySetLifetime)
        server.clock.advance(Limits.Fixed.sealingKeyTurn)
        #expect(try await self.states(server) == [.current, .former])
        server.clock.advance(Limits.Fixed.keySetLifetime)
        #expect(try await keys.sealingKeys().first { $0.id == first.id }?.state == .closing)
        #expect(try await !server.keySet().sealingKeys.contains { $0.id == first.id })
        server.clock.advance(Limits.Fixed.sealingKeyAfterlife)
        #expect(try await !keys.sealingKeys().contains { $0.id == first.id })
    }

    @Test("A key that is made by hand is the first of the next set, and what was sealed to the former one is opened")
    func byHand() async throws {
        let server = try TestServer()
        try await server.addService()
        let (_, phone) = try await server.personalise()
        let code = try await server.showCode()
        _ = try await phone.start(code)
        let prepared = try await phone.prepared(code.id)
        let former = try await server.keySet().sealingKeys[0]
        try await server.engine.identities.keys.rotateSealingKey(by: "ann")
        let set = try await server.keySet()
        #expect(set.sealingKeys.count == 2 && set.sealingKeys[0].id != former.id && set.sealingKeys[1] == former)
        #expect(try await self.states(server) == [.current, .former])
        let entries = try await server.database.auditEntries(after: 0, limit: 99).map(\.event)
            .filter { $0.kind.rawValue == "identity-sealing-key-added" }
        #expect(entries.map(\.actor) == ["ann"] && entries.map(\.detail) == [set.sealingKeys[0].id])
        let call = try await phone.finishCall(code.id, prepared, [.device, .pin], sealedTo: former)
        let reply = try await server.engine.identities.judgement.finish(code.id, call)
        guard case .accepted = try await phone.read(reply, to: call, as: FinishResponse.self) else {
            Issue.record("refused")
            return
        }
        _ = try await phone.login(try await server.showCode("next"))
        // Another server over the same store opens what is sealed to the new one.
        let other = try server.anotherEngine()
        #expect(try await other.identities.keys.sealingKeys().first?.id == set.sealingKeys[0].id)
    }

    @Test("There are as many as phones read, and another once one is erased")
    func bound() async throws {
        let server = try TestServer()
        let keys = server.engine.identities.keys
        _ = try await keys.sealingKeys()
        for _ in 1..<Limits.Fixed.sealingKeys { try await keys.rotateSealingKey(by: "ann") }
        await #expect(throws: CeremonyError(.conflict)) { () async throws in
            try await keys.rotateSealingKey(by: "ann")
        }
        #expect(try await self.states(server).count == Limits.Fixed.sealingKeys)
        #expect(try await server.keySet().sealingKeys.count == Limits.Fixed.sealingKeys)
        server.clock.advance(
            Limits.Fixed.sealingKeyTurn + Limits.Fixed.keySetLifetime + Limits.Fixed.sealingKeyAfterlife)
        server.clock.advance(.seconds(1))
        try await keys.rotateSealingKey(by: "ann")
        #expect(try await self.states(server) == [.current, .former], "that, and the one of the day")
    }
}
