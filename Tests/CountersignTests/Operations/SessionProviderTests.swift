import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFClient
import _Primitives

@Suite("Operations parity 24; decision 118: an authentication that is bound to a session", .overEachKeyAbility)
struct SessionProviderTests {
    private static let cookie = AuthorizationCookie(
        name: "__Host-countersign_session", value: "former", domain: "id.example.com")
    private static let other = AuthorizationCookie(name: "lang", value: "de", domain: "id.example.com")
    private static let elsewhere = AuthorizationCookie(name: "x", value: "y", domain: "other.example.com")
    private static let cookies = CookieSessionProvider([Self.cookie, Self.other, Self.elsewhere])

    private static func world() async throws -> World {
        let world = try await World()
        try await world.enroll()
        return world
    }

    private static func operation(_ world: World, _ session: (any SessionProvider)?) -> Authentication {
        let operation = world.phone.ready(world.phone.client.operations.authentication.username("alice"))
        return session.map { operation.sessionProvider($0) } ?? operation
    }

    private static func error(_ world: World, _ session: (any SessionProvider)?) async -> OperationError? {
        await operationError { _ = try await Self.operation(world, session).execute() }
    }

    private static func values(_ session: (any SessionProvider)?) -> [String]? {
        (session as? CookieSessionProvider)?.cookies.map(\.value)
    }

    /// The server's requests of the authentication: for the request, and with the answer.
    private static func exchange(_ world: World) async -> [TransportRequest] {
        await world.server.requests.filter { $0.url.path().hasSuffix("authentication/") }
    }

    @Test("The session goes with the request and with the answer, and the request names its form")
    func shown() async throws {
        for (session, form, field) in [
            (Self.cookies as any SessionProvider, "cookie", ("Cookie", "__Host-countersign_session=former; lang=de")),
            (JwtSessionProvider("a.b.c"), "token", ("Authorization", "Bearer a.b.c")),
        ] {
            let world = try await Self.world()
            _ = try await Self.operation(world, session).execute()
            let requests = await Self.exchange(world)
            #expect(requests.count == 2)
            for request in requests { #expect(request.headers.contains { $0 == field }, "\(form)") }
            let context = try GetUAFRequest(parsing: try #require(requests.first).body).context
            #expect(try context?.string("session") == form)
            #expect(try context?.string("username") == "alice")
        }
    }

    @Test("Without a session nothing is shown, and neither result nor error has a session")
    func none() async throws {
        let world = try await Self.world()
        let result = try await Self.operation(world, nil).execute()
        #expect(result.sessionProvider == nil)
        let requests = await Self.exchange(world)
        for request in requests {
            #expect(!request.headers.contains { ["Cookie", "Authorization"].contains($0.name) })
        }
        #expect(try GetUAFRequest(parsing: try #require(requests.first).body).context?["session"] == nil)
        world.phone.person.script.reactions[.authenticator] = .cancels
        let error = await Self.error(world, nil)
        #expect(error == .fido(.userCanceled) && error?.sessionProvider == nil)
    }

    @Test("The session goes on with the server's new value of its cookie, and only of its cookie")
    func renewedCookie() async throws {
        let world = try await Self.world()
        await world.server.judge(
            ServerResponse(
                statusCode: .ok,
                additionalTokens: [
                    Token(kind: .jwt, value: "x.y.z"),
                    Token(kind: .httpCookie, value: "__Host-countersign_session=new=er"),
                    Token(kind: .httpCookie, value: "unknown=1"), Token(kind: .httpCookie, value: "malformed"),
                ]))
        let result = try await Self.operation(world, Self.cookies).execute()
        #expect(Self.values(result.sessionProvider) == ["new=er", "de", "y"])
        let session = try #require(result.sessionProvider as? CookieSessionProvider)
        #expect(session.cookies[0].domain == "id.example.com" && session.cookies[0].isSecure)
        // A server that had nothing to raise leaves the session as it is.
        let kept = try await Self.operation(world, result.sessionProvider).execute()
        #expect(Self.values(kept.sessionProvider) == ["new=er", "de", "y"])
    }

    @Test("A cookie of the same name that another server or another path receives keeps its value")
    func namesake() async throws {
        let world = try await Self.world()
        let name = Self.cookie.name
        await world.server.judge(
            ServerResponse(
                statusCode: .ok, additionalTokens: [Token(kind: .httpCookie, value: "\(name)=newer")]))
        let session = CookieSessionProvider([
            Self.cookie, AuthorizationCookie(name: name, value: "shop", domain: "shop.example.com"),
            AuthorizationCookie(name: name, value: "path", domain: "id.example.com", path: "/other"),
        ])
        let result = try await Self.operation(world, session).execute()
        #expect(Self.values(result.sessionProvider) == ["newer", "shop", "path"])
    }

    @Test("The session of a token goes on with the token of the authentication")
    func renewedToken() async throws {
        let world = try await Self.world()
        await world.server.judge(
            ServerResponse(statusCode: .ok, additionalTokens: [Token(kind: .jwt, value: "x.y.z")]))
        let result = try await Self.operation(world, JwtSessionProvider("a.b.c")).execute()
        #expect((result.sessionProvider as? JwtSessionProvider)?.jwt == "x.y.z")
    }

    @Test(
        "A session that has ended, and another account's, are refused before the person is asked",
        arguments: [UAFStatusCode.unauthorized, .forbidden])
    func refusedBefore(status: UAFStatusCode) async throws {
        let world = try await Self.world()
        await world.server.intercept { request in
            guard request.url.path().contains("request/authentication") else { return nil }
            return TransportResponse(
                status: 200, headers: [("Content-Type", "application/fido+uaf")],
                body: ReturnUAFRequest(statusCode: status, operation: .authentication).serialized)
        }
        let error = await Self.error(world, Self.cookies)
        #expect(error == OperationError(.notAuthorized) && error?.recovery == .authenticate)
        #expect(error?.serverStatusCode == Int(status.rawValue))
        #expect(Self.values(error?.sessionProvider) == ["former", "de", "y"])
        #expect(world.phone.person.asked.isEmpty)
    }

    @Test("A session that ends while the person answers is refused as one that has ended")
    func refusedAfter() async throws {
        let world = try await Self.world()
        await world.server.judge(ServerResponse(statusCode: .unauthorized))
        let error = await Self.error(world, JwtSessionProvider("a.b.c"))
        #expect(error == OperationError(.notAuthorized))
        #expect((error?.sessionProvider as? JwtSessionProvider)?.jwt == "a.b.c")
    }

    @Test("Each error has the session: the person gave up, the network failed, the app made a mistake")
    func errors() async throws {
        let world = try await Self.world()
        world.phone.person.script.reactions[.authenticator] = .cancels
        let gaveUp = await Self.error(world, Self.cookies)
        #expect(gaveUp == .fido(.userCanceled) && Self.values(gaveUp?.sessionProvider)?.count == 3)
        world.phone.person.script.reactions = [:]
        await world.server.intercept { _ in throw TransportError(.unreachable, "test") }
        let network = await Self.error(world, Self.cookies)
        #expect(network?.code == .networkError && Self.values(network?.sessionProvider)?.count == 3)
        let nobody = await operationError {
            _ =
                try await world.phone.client.operations.authentication.username("bob")
                .sessionProvider(Self.cookies).execute()
        }
        #expect(nobody?.code == .unknownUsername && Self.values(nobody?.sessionProvider)?.count == 3)
        let malformed = await Self.error(world, JwtSessionProvider("a b"))
        #expect(malformed?.code == .invalidRequestHeader && malformed?.sessionProvider != nil)
    }

    @Test("With callbacks the error has the session too, and its description no part of the session")
    func callbacks() async throws {
        let world = try await Self.world()
        world.phone.person.script.reactions[.authenticator] = .cancels
        let error = await withCheckedContinuation { continuation in
            Self.operation(world, Self.cookies)
                .onError { continuation.resume(returning: $0) }
                .execute()
        }
        #expect(Self.values(error.sessionProvider) == ["former", "de", "y"])
        for text in ["\(error)", String(reflecting: Self.cookies), "\(Self.cookies)", "\(JwtSessionProvider("a.b.c"))"]
        {
            #expect(!text.contains("former") && !text.contains("a.b.c"))
        }
    }
}
