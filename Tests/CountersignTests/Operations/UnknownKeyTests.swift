import Countersign
import CountersignTestKit
import Testing
import UAF
import UAFClient

@Suite("uaf-sections §9.5: 1481 deletes the keys that the server does not know", .overEachKeyAbility)
struct UnknownKeyTests {
    private func refused(_ world: World, naming aaid: AAID?) async throws -> [AuthenticatorDescriptor.Kind] {
        let both = World.policy([[World.possession, World.fingerprint]])
        world.phone.sensor.feel(.match)
        _ = try await world.phone.authenticate(try await world.server.authentication(policy: both))
        let signed = try #require(await world.server.accepted.last).assertions
        var response = ServerResponse(statusCode: .unknownKeyID)
        if let key = signed.first(where: { $0.aaid == aaid }) {
            let message = DeregistrationRequest(
                header: OperationHeader(operation: .deregistration), authenticators: [.key(key.aaid, key.keyID)])
            response.newUAFRequest = String(decoding: message.serialized, as: UTF8.self)
        }
        // Refused after it was found right: the keys that it means are those that it names.
        await world.server.judge(response)
        world.phone.sensor.feel(.match)
        let payload = try await world.server.authentication(policy: both)
        let error = await operationError { _ = try await world.phone.authenticate(payload) }
        #expect(error == OperationError(.userNotRegisteredInServer) && error?.serverStatusCode == 1481)
        return await world.phone.client.localData.authenticators
            .filter { $0.registration.isRegistered(username: "alice") }.map(\.kind)
    }

    @Test("Those that its message names; the others stay")
    func named() async throws {
        let world = try await World()
        try await world.enroll("alice", [World.fingerprint, World.possession])
        #expect(try await self.refused(world, naming: World.possession.aaid) == [.fingerprint])
    }

    @Test("Without a message, all of the answer")
    func unnamed() async throws {
        let world = try await World()
        try await world.enroll("alice", [World.fingerprint, World.possession])
        #expect(try await self.refused(world, naming: nil).isEmpty)
        #expect(await world.phone.client.localData.accounts.isEmpty)
    }
}
