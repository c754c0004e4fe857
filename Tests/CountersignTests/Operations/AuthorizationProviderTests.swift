import Countersign
import CountersignTestKit
import Foundation
import JOSE
import Testing
import UAF
import UAFClient
import _Primitives

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("Operations parity 14; RFC 6265 §5, RFC 6750 §2.1: the credentials of requests", .overEachKeyAbility)
struct AuthorizationProviderTests {
    /// A provider of an app's own making.
    private struct OwnProvider: AuthorizationProvider {
        let headers: [(name: String, value: String)]
    }

    /// The error of a request for alice's notices with a provider; `nil` if the request was sent.
    private func error(_ world: World, _ provider: any AuthorizationProvider) async -> OperationError? {
        let before = await world.server.requests.count
        let operation = world.phone.client.operations.accountNotices.username("alice").authorizationProvider(provider)
        let error = await operationError { _ = try await operation.execute() as [AccountNotice] }
        // This server has no notices, so that a request that was sent ends with an error too.
        return await world.server.requests.count > before ? nil : error
    }

    /// The values of a header field in the request for alice's notices.
    private func sent(
        _ name: String, _ world: World, _ provider: any AuthorizationProvider, at server: URL? = nil
    ) async throws -> [String] {
        let before = await world.server.requests.count
        var operation = world.phone.client.operations.accountNotices.username("alice").authorizationProvider(provider)
        if let server { operation = operation.serverURL(server) }
        let asked = operation
        _ = await operationError { _ = try await asked.execute() as [AccountNotice] }
        let requests = await world.server.requests.dropFirst(before)
        #expect(requests.count == 1)
        return try #require(requests.first).headers.filter { $0.name == name }.map(\.value)
    }

    // MARK: Tokens

    @Test("A JWT goes as a bearer token", arguments: ["the-jwt", "eyJhbGciOiJFUzI1NiJ9.e30.c2ln", "a+/~._-=="])
    func bearer(token: String) async throws {
        let world = try await World()
        #expect(try await self.sent("Authorization", world, JwtAuthorizationProvider(token)) == ["Bearer \(token)"])
    }

    @Test(
        "A text that is no bearer token is a typed error, and nothing is sent",
        arguments: [
            "", "=", "a b", "a\r\nHost: evil.example", "a\n", "\ra", "a\u{0}", "tok\u{E9}n", "a=b", "a,b", "a\"b",
            String(repeating: "x", count: 8193),
        ])
    func malformedToken(token: String) async throws {
        let world = try await World()
        let error = await self.error(world, JwtAuthorizationProvider(token))
        #expect(error == OperationError(.invalidRequestHeader) && error?.recovery == .correctApp)
        #expect(token.utf8.count < 2 || error?.reason.contains(token) == false)
        let registration = world.phone.ready(world.phone.client.operations.registration.username("alice"))
            .authorizationProvider(JwtAuthorizationProvider(token))
        #expect(
            await operationError { _ = try await registration.execute() } == OperationError(.invalidRequestHeader))
        #expect(await world.server.requests.isEmpty)
    }

    @Test(
        "A provider of the app's own is held to the same rules",
        arguments: [
            ("Authorization", "Basic YWxpY2U6cGlu", true), ("X-Session", "1", true), ("DPoP", "a.b.c", true),
            ("Authorization", "Basic x\r\nHost: evil.example", false), ("Host", "evil.example", false),
            ("content-length", "0", false), ("Content-Type", "text/plain", false), ("Device-Proof", "x", false),
            ("X Y", "1", false), ("X-Session", "", false), ("X-Session", "\u{E9}", false),
        ])
    func ownProvider(name: String, value: String, isSent: Bool) async throws {
        let world = try await World()
        let provider = OwnProvider(headers: [(name: name, value: value)])
        if isSent {
            #expect(try await self.sent(name, world, provider) == [value])
        } else {
            #expect(await self.error(world, provider) == OperationError(.invalidRequestHeader))
        }
        let many = OwnProvider(headers: (0..<17).map { (name: "X-\($0)", value: "1") })
        #expect(await self.error(world, many) == OperationError(.invalidRequestHeader))
    }

    // MARK: Cookies

    private static func cookie(
        _ name: String = "session", domain: String = "id.example.com", isHostOnly: Bool = true, path: String = "/",
        isSecure: Bool = true, expiresAt: Timestamp? = nil
    ) -> AuthorizationCookie {
        AuthorizationCookie(
            name: name, value: "v-\(name)", domain: domain, isHostOnly: isHostOnly, path: path, isSecure: isSecure,
            expiresAt: expiresAt)
    }

    @Test(
        "A cookie is sent to the addresses of its host, path and scheme",
        arguments: [
            (Self.cookie(), "https://id.example.com/a", true), (Self.cookie(), "https://ID.example.com:8443", true),
            (Self.cookie(), "https://example.com/", false), (Self.cookie(), "https://a.id.example.com/", false),
            (Self.cookie(), "https://evil-id.example.com/", false),
            (Self.cookie(), "https://id.example.com.evil.example/", false),
            (Self.cookie(domain: "ID.Example.com"), "https://id.example.com/", true),
            (Self.cookie(domain: "example.com", isHostOnly: false), "https://id.example.com/", true),
            (Self.cookie(domain: ".example.com", isHostOnly: false), "https://a.id.example.com/", true),
            (Self.cookie(domain: "example.com", isHostOnly: false), "https://example.com/", true),
            (Self.cookie(domain: "example.com", isHostOnly: false), "https://evilexample.com/", false),
            (Self.cookie(domain: "example.com", isHostOnly: true), "https://id.example.com/", false),
            (Self.cookie(domain: "com", isHostOnly: false), "https://example.com/", false),
            (Self.cookie(domain: "", isHostOnly: false), "https://example.com/", false),
            (Self.cookie(domain: "0.0.1", isHostOnly: false), "https://127.0.0.1/", false),
            (Self.cookie(domain: "127.0.0.1"), "https://127.0.0.1/", true),
            (Self.cookie(path: "/uaf"), "https://id.example.com/uaf", true),
            (Self.cookie(path: "/uaf"), "https://id.example.com/uaf/1.1", true),
            (Self.cookie(path: "/uaf/"), "https://id.example.com/uaf/1.1", true),
            (Self.cookie(path: "/uaf/"), "https://id.example.com/uaf", false),
            (Self.cookie(path: "/uaf"), "https://id.example.com/uaf2", false),
            (Self.cookie(path: "/uaf"), "https://id.example.com/", false),
            (Self.cookie(path: ""), "https://id.example.com/", false),
            (Self.cookie(path: "/"), "https://id.example.com", true),
            (Self.cookie(domain: "localhost"), "http://localhost/", false),
            (Self.cookie(domain: "localhost", isSecure: false), "http://localhost/", true),
        ])
    func scope(cookie: AuthorizationCookie, address: String, isSent: Bool) throws {
        #expect(
            cookie.isSent(to: try #require(URL(string: address)), at: Timestamp(seconds: 1_800_000_000)) == isSent)
    }

    @Test("Cookies go to the matching host only, the longest path first, and not after their end")
    func cookies() async throws {
        let world = try await World()
        let end = world.phone.clock.now() + .seconds(60)
        let provider = CookieAuthorizationProvider([
            Self.cookie("root"), Self.cookie("other", domain: "other.example.com"),
            Self.cookie("deep", path: "/account/v1"), Self.cookie("short", path: "/account", expiresAt: end),
            Self.cookie("domain", domain: "example.com", isHostOnly: false), Self.cookie("uaf", path: "/uaf"),
        ])
        #expect(
            try await self.sent("Cookie", world, provider) == [
                "deep=v-deep; short=v-short; root=v-root; domain=v-domain"
            ])
        world.phone.clock.advance(by: .milliseconds(59_999))
        #expect(try await self.sent("Cookie", world, provider)[0].contains("short"))
        world.phone.clock.advance(by: .milliseconds(1))
        #expect(
            try await self.sent("Cookie", world, provider) == ["deep=v-deep; root=v-root; domain=v-domain"])
        let other = try #require(URL(string: "https://other.example.com"))
        #expect(try await self.sent("Cookie", world, provider, at: other) == ["other=v-other; domain=v-domain"])
        let elsewhere = try #require(URL(string: "https://evil.test"))
        #expect(try await self.sent("Cookie", world, provider, at: elsewhere) == [])
        #expect(try await self.sent("Authorization", world, provider) == [])
        #expect(!"\(provider)".contains("v-root") && !"\(provider.cookies)".contains("v-root"))
    }

    @Test("A cookie that no request can carry is a typed error, and nothing is sent", arguments: 0..<11)
    func malformedCookie(number: Int) async throws {
        let values = ["a\r\nHost: evil.example", "a;b", "a,b", "a b", "a\\b", "a\"b", "\"", "\u{E9}"]
        var cookies = values.map { AuthorizationCookie(name: "s", value: $0, domain: "id.example.com") }
        cookies += ["", "a=b"].map { AuthorizationCookie(name: $0, value: "1", domain: "id.example.com") }
        cookies.append(
            AuthorizationCookie(name: "s", value: String(repeating: "x", count: 4096), domain: "id.example.com"))
        let world = try await World()
        let provider = CookieAuthorizationProvider([Self.cookie(), cookies[number]])
        #expect(await self.error(world, provider) == OperationError(.invalidRequestHeader))
    }

    @Test("Quotes around a value, and fifty cookies, are sent; more cookies, and longer fields, are not")
    func bounds() async throws {
        let world = try await World()
        let quoted = AuthorizationCookie(name: "s", value: "\"a\"", domain: "id.example.com")
        #expect(try await self.sent("Cookie", world, CookieAuthorizationProvider([quoted])) == ["s=\"a\""])
        let fifty = (0..<50).map { Self.cookie("c\($0)") }
        #expect(try await self.sent("Cookie", world, CookieAuthorizationProvider(fifty)).count == 1)
        let more = CookieAuthorizationProvider(fifty + [Self.cookie("c50", domain: "other.example.com")])
        #expect(await self.error(world, more) == OperationError(.invalidRequestHeader))
        let long = (0..<3).map {
            AuthorizationCookie(name: "c\($0)", value: String(repeating: "x", count: 4000), domain: "id.example.com")
        }
        #expect(
            await self.error(world, CookieAuthorizationProvider(long)) == OperationError(.invalidRequestHeader))
    }

    @Test("A cookie of Foundation keeps its host, path, scheme and end")
    func foundation() throws {
        let properties: [HTTPCookiePropertyKey: Any] = [
            .name: "session", .value: "1", .domain: ".example.com", .path: "/uaf", .secure: "TRUE",
            .expires: Date(timeIntervalSince1970: 1_800_000_060),
        ]
        let cookie = AuthorizationCookie(try #require(HTTPCookie(properties: properties)))
        #expect(cookie.name == "session" && cookie.value == "1" && cookie.domain == "example.com")
        #expect(!cookie.isHostOnly && cookie.path == "/uaf" && cookie.isSecure)
        #expect(cookie.expiresAt == Timestamp(seconds: 1_800_000_060))
        var host = properties
        host[.domain] = "id.example.com"
        host[.secure] = nil
        host[.expires] = nil
        let foundation = try #require(HTTPCookie(properties: host))
        let own = try #require(CookieAuthorizationProvider([foundation]).cookies.first)
        #expect(own.isHostOnly && own.domain == "id.example.com" && !own.isSecure && own.expiresAt == nil)
    }

    // MARK: The device

    @Test("The device signs a deregistration itself; if the server does not know its keys, nothing is sent")
    func device() async throws {
        let world = try await World()
        try await world.enroll()
        let operations = world.phone.client.operations
        func deregister() async -> OperationError? {
            let operation = operations.deregistration.username("alice")
                .authorizationProvider(JwsAuthorizationProvider())
            return await operationError { try await operation.execute() }
        }
        let before = await world.server.requests.count
        #expect(await deregister() == OperationError(.notAuthorized))
        #expect(await self.error(world, JwsAuthorizationProvider()) == OperationError(.missingInteraction))
        #expect(await world.server.requests.count == before)
        let account = try #require(await world.phone.client.localData.accounts.first)
        let identity = try #require(try await world.phone.client.deviceIdentity(of: account))
        await world.server.judge(ServerResponse(statusCode: .ok, deviceKey: identity.signingKey.keyID))
        _ = try await world.phone.authenticate(try await world.server.authentication())
        #expect(try await self.sent("Device-Proof", world, JwsAuthorizationProvider()).count == 1)
        // This server takes no proof, so that the account stays.
        #expect(await deregister() == OperationError(.notAuthorized))
        let sent = try #require(await world.server.requests.last)
        #expect(sent.headers.contains { $0.name == "Device-Proof" })
        #expect(!sent.headers.contains { $0.name == "Authorization" })
    }

    @Test("An operation that needs the person is not sent with the device alone")
    func devicePersonNeeded() async throws {
        let world = try await World()
        let operations = world.phone.client.operations
        let registration = world.phone.ready(operations.registration.username("alice"))
            .authorizationProvider(JwsAuthorizationProvider())
        #expect(await operationError { _ = try await registration.execute() } == OperationError(.notAuthorized))
        let revocation = operations.sessionRevocation.everySession().authorizationProvider(JwsAuthorizationProvider())
        #expect(await operationError { try await revocation.execute() } == OperationError(.notAuthorized))
        #expect(await world.server.requests.isEmpty)
    }
}
