import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFClient
import _Primitives

@Suite("Operations parity 61, 62, 64: deregistration", .overEachKeyAbility)
struct DeregistrationTests {
    private let provider = JwtAuthorizationProvider("virtual-jwt")

    private func deregister(_ world: World, _ username: Username = "alice", _ aaid: Aaid? = nil) async throws {
        try await world.phone.client.operations.deregistration.username(username).aaid(aaid)
            .authorizationProvider(self.provider).execute()
    }

    @Test("All keys of a person go, at the server and here, and the device's name with the last account")
    func everything() async throws {
        let world = try await World()
        try await world.enroll("alice", [World.possession, World.pin])
        try await world.enroll("alice", [World.password])
        try await world.enroll("bob")
        try await self.deregister(world)
        #expect(await world.server.credentials.values.map(\.username) == ["bob"])
        let data = world.phone.client.localData
        #expect(await data.accounts.map(\.username) == ["bob"])
        #expect(await data.deviceInformation != nil)
        try await self.deregister(world, "bob")
        #expect(await world.server.credentials.isEmpty)
        #expect(await world.isEmpty())
        #expect(await data.deviceInformation == nil)
    }

    @Test("One authenticator goes and the others stay; the last one takes with it what came along")
    func oneAuthenticator() async throws {
        let world = try await World()
        try await world.enroll("alice", [World.possession, World.pin])
        try await world.enroll("alice", [World.password])
        try await self.deregister(world, "alice", World.password.aaid.text)
        #expect(await world.server.credentials.count == 2)
        _ = try await world.phone.authenticate(try await world.server.authentication())
        try await self.deregister(world, "alice", World.pin.aaid.text)
        #expect(await world.server.credentials.isEmpty)
        #expect(await world.isEmpty())
    }

    @Test("An account that is not enrolled, and an authenticator that is not, are done without a request")
    func unknown() async throws {
        let world = try await World()
        try await world.enroll()
        let before = await world.server.requests.count
        try await self.deregister(world, "nobody")
        try await self.deregister(world, "alice", World.face.aaid.text)
        #expect(await world.server.requests.count == before)
        #expect(await world.phone.client.localData.accounts.count == 1)
    }

    @Test(
        "Where the server refuses, everything stays",
        arguments: [UAFStatusCode.badRequest, .unauthorized, .forbidden])
    func refused(status: UAFStatusCode) async throws {
        let world = try await World()
        try await world.enroll()
        await world.server.judge(ServerResponse(statusCode: status))
        let error = await operationError { try await self.deregister(world) }
        #expect(error?.serverStatusCode == status.rawValue)
        _ = try await world.phone.authenticate(try await world.server.authentication())
    }

    @Test("Where the answer is lost, everything stays, and asking again is right")
    func lostAnswer() async throws {
        let world = try await World()
        try await world.enroll()
        let server = world.server
        await server.intercept { request in
            guard request.url.path().contains("deregistration") else { return nil }
            throw TransportError(.unreachable, "cut")
        }
        #expect(await operationError { try await self.deregister(world) }?.code == .networkError)
        #expect(await world.phone.client.localData.accounts.count == 1)
        await server.stopIntercepting()
        try await self.deregister(world)
        #expect(await world.isEmpty())
    }

    @Test("Without a provider the server wants one, and everything stays")
    func noProvider() async throws {
        let world = try await World()
        try await world.enroll()
        let operation = world.phone.client.operations.deregistration.username("alice")
        #expect(await operationError { try await operation.execute() }?.code == .notAuthorized)
        #expect(await operationError { try await operation.execute() }?.code == .operationReused)
        #expect(await world.server.credentials.count == 1)
        #expect(await world.phone.client.localData.accounts.count == 1)
        let nameless = world.phone.client.operations.deregistration
        #expect(await operationError { try await nameless.execute() }?.code == .missingInteraction)
    }

    @Test("A message about other keys than were asked for deletes nothing", arguments: [true, false])
    func otherKeys(isEverything: Bool) async throws {
        let world = try await World()
        try await world.enroll("alice")
        try await world.enroll("bob")
        let stranger = DeregisterAuthenticator.key(World.pin.aaid, try KeyID(Array(repeating: 7, count: 32)))
        let message = DeregistrationRequest(
            header: OperationHeader(version: .uaf11, operation: .deregistration, appID: ""),
            authenticators: [isEverything ? .everything : stranger])
        await world.server.intercept { request in
            guard request.url.path().contains("deregistration") else { return nil }
            let answer = ReturnUAFRequest(
                statusCode: .ok, operation: .deregistration,
                uafRequest: String(decoding: message.serialized, as: UTF8.self))
            return TransportResponse(
                status: 200, headers: [("Content-Type", "application/fido+uaf")], body: answer.serialized)
        }
        #expect(await operationError { try await self.deregister(world) } == .fido(.protocolError))
        #expect(await world.phone.client.localData.accounts.count == 2)
    }

    @Test("The callback form ends once")
    func callbacks() async throws {
        let world = try await World()
        try await world.enroll()
        await withCheckedContinuation { continuation in
            world.phone.client.operations.deregistration.username("alice")
                .authorizationProvider(self.provider).onSuccess { continuation.resume() }.execute()
        }
        #expect(await world.isEmpty())
    }
}
