import Countersign
import CountersignTestKit
import Testing
import UAF
import UAFClient

@Suite("uaf-sections §5.3: another authenticator is asked where the chosen one is gone", .overEachKeyAbility)
struct DisconnectedSensorTests {
    private static let either = World.policy([[World.fingerprint], [World.pin]])

    @Test("The person chooses among the others, and signs with one of them")
    func authentication() async throws {
        let world = try await World()
        try await world.enroll("alice", [World.fingerprint])
        try await world.enroll("alice", [World.pin])
        world.phone.sensor.fail(.disconnected)
        let payload = try await world.server.authentication(policy: Self.either, transaction: [text("Pay 5")])
        _ = try await world.phone.authenticate(payload)
        let choices = world.phone.person.asked.filter { $0.question == .authenticator }
        #expect(choices.map(\.compliant) == [[.fingerprint, .pin], [.pin]])
        #expect(await world.server.accepted.last?.assertions.map(\.aaid) == [World.pin.aaid])
        #expect(await world.server.clientErrorCodes.isEmpty)
    }

    @Test("Where none is left the operation ends, and the server hears of it")
    func nothingLeft() async throws {
        let world = try await World()
        try await world.enroll("alice", [World.fingerprint])
        world.phone.sensor.fail(.disconnected)
        let payload = try await world.server.authentication(policy: Self.either)
        let error = await operationError { _ = try await world.phone.authenticate(payload) }
        #expect(error == .fido(.noSuitableAuthenticator))
        #expect(await world.server.clientErrorCodes == [5])
        #expect(await world.server.asmStatusCodes == [0x0B])
        #expect(world.phone.person.asked.filter { $0.question == .authenticator }.count == 1)
    }

    @Test("A registration goes on with another one; no key of the first is left")
    func registration() async throws {
        let world = try await World()
        world.phone.sensor.fail(.disconnected)
        _ = try await world.phone.enroll(try await world.server.registration(for: "alice", policy: Self.either))
        #expect(world.phone.person.asked.filter { $0.question == .authenticator }.count == 2)
        let registered = await world.phone.client.localData.authenticators.filter {
            $0.registration.isRegistered(username: "alice")
        }
        #expect(registered.map(\.kind) == [.pin])
        #expect(await world.server.credentials.count == 1)
    }

    @Test("A sensor that never answers ends the operation with its own code")
    func silence() async throws {
        let world = try await World()
        try await world.enroll("alice", [World.fingerprint])
        world.phone.sensor.fail(.timedOut, .timedOut, .timedOut)
        let payload = try await world.server.authentication(policy: Self.either)
        #expect(await operationError { _ = try await world.phone.authenticate(payload) } == .fido(.unknown))
        #expect(world.phone.person.asked.filter { $0.question == .finger }.count == 3)
        #expect(await world.server.clientErrorCodes == [0xFF])
    }
}
