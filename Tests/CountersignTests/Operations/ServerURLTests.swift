import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFClient

@Suite("Operations parity 16: an operation at another server than the configured one", .overEachKeyAbility)
struct ServerURLTests {
    private static let provider = JwtAuthorizationProvider("virtual-jwt")

    private static func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

    private static func registration(_ world: World) -> Registration {
        world.phone.ready(world.phone.client.operations.registration.username("alice"))
            .authorizationProvider(Self.provider)
    }

    @Test(
        "Scheme, host and port change, and the path stays, with the base address's own path",
        arguments: [
            ("https://id.example.com", "https://other.example.com", "https://other.example.com"),
            ("https://id.example.com:8443", "https://other.example.com/", "https://other.example.com"),
            (
                "https://id.example.com/shared/id", "https://other.example.com:9443",
                "https://other.example.com:9443/shared/id"
            ),
            ("https://id.example.com/shared/", "HTTPS://Other.Example.COM:443", "https://other.example.com/shared"),
            ("https://id.example.com", "http://localhost:8080", "http://localhost:8080"),
            ("https://id.example.com", "https://[2001:DB8::1]:8443", "https://[2001:db8::1]:8443"),
            ("https://id.example.com", "https://[::1]", "https://[::1]"),
            ("https://id.example.com/x?y#z", "https://192.0.2.7", "https://192.0.2.7/x"),
        ])
    func moved(base: String, server: String, expected: String) async throws {
        let (baseURL, address) = (try Self.url(base), try Self.url(server))
        let world = try await World { $0.baseURL = baseURL }
        _ = try? await Self.registration(world).serverURL(address).execute()
        // The virtual server knows the paths without a base path only, and refuses the others.
        let sent = await world.server.requests.map(\.url.absoluteString)
        let isServed = URL(string: expected)?.path() == ""
        let paths = ["/uaf/1.1/request/registration/", "/uaf/1.1/registration/"].prefix(isServed ? 2 : 1)
        #expect(sent == paths.map { expected + $0 })
    }

    @Test("Every operation that the app starts goes to the named server")
    func everyOperation() async throws {
        let world = try await World()
        let server = try Self.url("https://other.example.com")
        _ = try await Self.registration(world).serverURL(server).execute()
        let accounts = await world.phone.client.localData.accounts
        #expect(accounts.map(\.server.baseURL) == [server])
        let operations = world.phone.client.operations
        _ = try await world.phone.ready(operations.authentication.username("alice")).serverURL(server).execute()
        let activity = operations.accountActivity.username("alice").authorizationProvider(Self.provider)
        _ = try? await activity.serverURL(server).execute() as AccountActivityResult
        let notices = operations.accountNotices.username("alice").authorizationProvider(Self.provider)
        _ = try? await notices.serverURL(server).execute() as [AccountNotice]
        let questions = operations.waitingQuestions.username("alice").authorizationProvider(Self.provider)
        _ = try? await questions.serverURL(server).execute() as [ServiceQuestion]
        let session = operations.sessionRevocation.sessionID("s1").authorizationProvider(Self.provider)
        _ = try? await session.serverURL(server).execute()
        let grant = operations.grantRevocation.grantID("g1").authorizationProvider(Self.provider)
        _ = try? await grant.serverURL(server).execute()
        let end = operations.deregistration.username("alice").authorizationProvider(Self.provider)
        #expect(
            await operationError { try await end.execute() }
                == OperationError(.userAlreadyRegisteredInAnotherServer))
        let other = operations.deregistration.username("alice").authorizationProvider(Self.provider)
        try await other.serverURL(server).execute()
        #expect(await world.isEmpty())
        let requests = await world.server.requests
        #expect(requests.count == 10 && requests.allSatisfy { $0.url.host() == "other.example.com" })
    }

    @Test("The configured server in another spelling is the configured server")
    func sameServer() async throws {
        let world = try await World()
        try await world.enroll()
        let operation = world.phone.ready(world.phone.client.operations.authentication.username("alice"))
        let result = try await operation.serverURL(try Self.url("https://ID.example.com:443/")).execute()
        #expect(result.account.server.baseURL == world.server.baseURL)
    }

    @Test(
        "A server with more than scheme, host and port is a typed error, and nothing is sent",
        arguments: [
            "https://other.example.com/path", "https://other.example.com/%2e", "https://other.example.com?",
            "https://other.example.com?x=1", "https://other.example.com#", "https://other.example.com/#y",
            "https://alice@other.example.com", "https://alice:secret@other.example.com",
            "https://:secret@other.example.com",
            "https:other.example.com", "other.example.com", "/path", "https://other.example.com:0",
            "https://other.example.com:99999", "https://other%2eexample.com", "https://b\u{FC}cher.example",
        ])
    func refused(server: String) async throws {
        let address = try Self.url(server)
        let world = try await World()
        let error = await operationError { _ = try await Self.registration(world).serverURL(address).execute() }
        #expect(error == OperationError(.invalidServerURL) && error?.recovery == .correctApp)
        #expect(error?.reason.contains("secret") == false)
        #expect(await world.server.requests.isEmpty)
    }

    @Test(
        "A server without TLS is refused as the base address is, and nothing is sent",
        arguments: ["http://other.example.com", "http://127.0.0.1.example.com", "ftp://other.example.com"])
    func insecure(server: String) async throws {
        let address = try Self.url(server)
        let world = try await World()
        let error = await operationError { _ = try await Self.registration(world).serverURL(address).execute() }
        #expect(error == .fido(.insecureTransport))
        #expect(await world.server.requests.isEmpty)
    }

    @Test("The app's header fields go to the named server")
    func headers() async throws {
        let world = try await World()
        let server = try Self.url("https://other.example.com:8443")
        _ =
            try await Self.registration(world).requestHeaders([(name: "X-One", value: "1")]).serverURL(server)
            .execute()
        #expect(await world.server.requests.allSatisfy { $0.headers.contains { $0 == ("X-One", "1") } })
    }
}
