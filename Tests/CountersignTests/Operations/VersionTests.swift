import Countersign
import CountersignTestKit
import Testing
import UAF
import UAFClient

@Suite("uaf-sections §9.1: versions of a request that reaches the SDK", .overEachKeyAbility)
struct VersionTests {
    private static let older = Version.uaf10
    private static let newer = Version(major: 1, minor: 2)

    /// The versions of the answers that the server got.
    private func answered(_ world: World) async -> [Version] {
        await world.server.requests.compactMap { try? SendUAFResponse(parsing: $0.body) }.compactMap { sent in
            (try? RegistrationResponse(parsing: sent.uafResponse.utf8).header.version)
                ?? (try? AuthenticationResponse(parsing: sent.uafResponse.utf8).header.version)
        }
    }

    @Test(
        "Without a common one nobody is asked, and the server hears UNSUPPORTED_VERSION",
        arguments: [[older], [newer], [older, newer]])
    func unsupported(versions: [Version]) async throws {
        let world = try await World()
        try await world.enroll()
        let result = try await world.phone.authenticate(username: "alice")
        world.phone.person.forget()
        await world.server.offer(versions)
        let expected = OperationError.fido(.unsupportedVersion)
        let authentication = try await world.server.authentication()
        #expect(await operationError { _ = try await world.phone.authenticate(authentication) } == expected)
        let registration = try await world.server.registration(for: "bob", policy: World.policy([[World.pin]]))
        #expect(await operationError { _ = try await world.phone.enroll(registration) } == expected)
        let inApp = world.phone.ready(world.phone.client.operations.registration.username("alice"))
            .authorizationProvider(try #require(result.authorizationProvider))
        #expect(await operationError { _ = try await inApp.execute() } == expected)
        #expect(await world.server.clientErrorCodes == [4, 4, 4])
        #expect(world.phone.person.asked.isEmpty)
        #expect(await world.phone.client.localData.accounts.map(\.username) == ["alice"])
    }

    @Test("Of several dictionaries the one of UAF 1.1 is answered, wherever it stands, also in the app")
    func several() async throws {
        for versions in [[Self.older, .uaf11], [.uaf11, Self.older], [Self.newer, .uaf11, Self.older]] {
            let world = try await World()
            await world.server.offer(versions)
            try await world.enroll()
            _ = try await world.phone.authenticate(try await world.server.authentication())
            let result = try await world.phone.authenticate(username: "alice")
            world.phone.sensor.feel(.match)
            world.phone.person.script.kind = .fingerprint
            let inApp = world.phone.ready(world.phone.client.operations.registration.username("alice"))
                .authorizationProvider(try #require(result.authorizationProvider))
            _ = try await inApp.execute()
            #expect(await self.answered(world) == [.uaf11, .uaf11, .uaf11, .uaf11])
            #expect(await world.server.clientErrorCodes.isEmpty)
        }
    }

    @Test("A failure is reported to whoever sent several dictionaries too")
    func reported() async throws {
        let world = try await World()
        try await world.enroll()
        await world.server.offer([Self.older, .uaf11])
        world.phone.person.script.reactions[.authenticator] = .cancels
        let payload = try await world.server.authentication()
        #expect(await operationError { _ = try await world.phone.authenticate(payload) } == .fido(.userCanceled))
        #expect(await world.server.clientErrorCodes == [3])
    }
}
