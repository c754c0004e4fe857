import Countersign
import CountersignTestKit
import Foundation
import JOSE
import Testing
import UAF

@Suite("Decision 68: the notices of an account, which its device asks for by itself", .overEachKeyAbility)
struct AccountNoticesTests {
    private static let provider = JwtAuthorizationProvider("the-jwt")
    private static let body = """
        {"username":"alice","notices":[
        {"id":"n1","kind":"device-keys-replaced","at":"2026-11-21T09:00:01.500Z","subject":"Alice's \\u001b[2Jphone"},
        {"id":"n2","kind":"moon-landed","at":"1969-07-20T20:17:40.000Z","subject":""}]}
        """

    /// A world in which alice is enrolled, and the server does not know the device's keys.
    private static func world(_ body: String = Self.body, status: Int = 200) async throws -> World {
        let world = try await World()
        try await world.enroll()
        await world.server.intercept { request in
            guard request.method == "GET", request.url.path() == "/account/v1/notices" else { return nil }
            return TransportResponse(
                status: status, headers: [("Content-Type", "application/json")], body: Array(body.utf8))
        }
        return world
    }

    private static func notices(_ world: World) -> AccountNotices {
        world.phone.client.operations.accountNotices.username("alice")
    }

    /// The server says that it knows the device's key, whatever name it has.
    private static func makeKnown(_ world: World) async throws {
        let account = try #require(await world.phone.client.localData.accounts.first)
        let identity = try #require(try await world.phone.client.deviceIdentity(of: account))
        await world.server.judge(ServerResponse(statusCode: .ok, deviceKey: identity.signingKey.keyID))
        _ = try await world.phone.authenticate(try await world.server.authentication())
    }

    @Test("With a provider it is asked with the token: nobody else is asked, and nothing else is fetched")
    func token() async throws {
        let world = try await Self.world()
        let before = await world.server.requests.count
        let notices: [AccountNotice] = try await Self.notices(world).authorizationProvider(Self.provider).execute()
        #expect(notices.map(\.kind) == [.deviceKeysReplaced, AccountNotice.Kind(rawValue: "moon-landed")])
        #expect(notices.map(\.subject) == ["Alice's phone", ""])
        let sent = await world.server.requests.dropFirst(before)
        #expect(sent.map { $0.url.path() } == ["/account/v1/notices"])
        #expect(sent.last?.headers.contains { $0 == ("Authorization", "Bearer the-jwt") } == true)
        #expect(sent.last?.headers.contains { $0.name == "Device-Proof" } == false)
    }

    @Test("Where the server knows the device it asks by its own proof, and with a token only where one is given")
    func proof() async throws {
        let world = try await Self.world()
        #expect(
            await operationError { _ = try await Self.notices(world).execute() as [AccountNotice] }
                == OperationError(.missingInteraction))
        try await Self.makeKnown(world)
        world.phone.person.forget()
        let notices: [AccountNotice] = try await Self.notices(world).execute()
        #expect(notices.count == 2 && world.phone.person.asked.isEmpty)
        let sent = try #require(await world.server.requests.last)
        #expect(sent.headers.contains { $0.name == "Device-Proof" })
        #expect(!sent.headers.contains { $0.name == "Authorization" })
        _ = try await Self.notices(world).authorizationProvider(Self.provider).execute() as [AccountNotice]
        #expect(await world.server.requests.last?.headers.contains { $0.name == "Device-Proof" } == false)
    }

    @Test(
        "What the server refuses has a code that says what to do, and what is not of the protocol is refused",
        arguments: [
            (401, Self.body, OperationError(.notAuthorized)), (403, Self.body, OperationError(.accountLocked)),
            (429, Self.body, OperationError(.networkError)), (503, Self.body, OperationError(.networkError)),
            (200, Self.body.replacing("alice", with: "bob"), OperationError.fido(.protocolError)),
            (200, Self.body.replacing("1969-07-20T20:17:40.000Z", with: "once"), OperationError.fido(.protocolError)),
            (200, "{}", OperationError.fido(.protocolError)),
        ])
    func refusals(status: Int, body: String, error: OperationError) async throws {
        let world = try await Self.world(body, status: status)
        await #expect(throws: error) {
            _ = try await Self.notices(world).authorizationProvider(Self.provider).execute() as [AccountNotice]
        }
    }

    @Test("It is executed once, and for somebody")
    func once() async throws {
        let world = try await Self.world()
        let operation = Self.notices(world).authorizationProvider(Self.provider)
        _ = try await operation.execute() as [AccountNotice]
        await #expect(throws: OperationError(.operationReused)) { _ = try await operation.execute() as [AccountNotice] }
        await #expect(throws: OperationError(.missingInteraction)) {
            _ =
                try await world.phone.client.operations.accountNotices.authorizationProvider(Self.provider).execute()
                as [AccountNotice]
        }
    }
}
