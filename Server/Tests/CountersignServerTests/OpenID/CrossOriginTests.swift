import CountersignServer
import CountersignTestKit
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JOSE
import NIOCore
import OAuth
import OAuthProvider
import Records
import Testing
import _Primitives

@Suite("Sign-in parity F076: which pages' scripts may read what programs are answered (RFC 9700, section 2.6)")
struct CrossOriginTests {
    private static let origin = "https://app.example"

    private func app(_ server: ServerFixture, _ origins: [String] = [Self.origin]) async throws -> String {
        try await server.assembly.provider.clients.register(
            name: "App", redirectURIs: ["https://app.example/cb"],
            settings: ClientSettings(
                idTokenAlgorithm: .es256, authenticationMethod: "none", profile: ClientProfile(origins: origins))
        ).client.id
    }

    private static let addresses = [
        ("/oauth2/token", "POST"), ("/oauth2/par", "POST"), ("/oauth2/revoke", "POST"),
        ("/oauth2/userinfo", "GET, POST"), ("/oauth2/jwks", "GET"), ("/.well-known/openid-configuration", "GET"),
        ("/.well-known/oauth-authorization-server", "GET"),
    ]

    private func preflight(
        _ path: String, _ client: any TestClientProtocol, origin: String = Self.origin, asking: String? = "POST"
    ) async throws -> TestResponse {
        var headers: HTTPFields = [.origin: origin]
        headers[.accessControlRequestMethod] = asking
        headers[.accessControlRequestHeaders] = "dpop,authorization"
        return try await client.execute(uri: path, method: .options, headers: headers)
    }

    private func isSilent(_ answer: TestResponse) -> Bool {
        !answer.headers.contains { $0.name.canonicalName.hasPrefix("access-control-") }
    }

    @Test("a browser that asks first is told what scripts of a registered origin may send", arguments: Self.addresses)
    func preflights(path: String, methods: String) async throws {
        let server = try await ServerFixture()
        _ = try await self.app(server)
        try await server.withPublicClient { client in
            let answer = try await self.preflight(path, client)
            #expect(answer.status == .noContent && answer.body.readableBytes == 0)
            #expect(answer.headers[.accessControlAllowOrigin] == Self.origin)
            #expect(answer.headers[.accessControlAllowMethods] == methods)
            let allowed = Set(
                (answer.headers[.accessControlAllowHeaders] ?? "").split(separator: ", ").map(String.init))
            #expect(allowed == ["Authorization", "Content-Type", "DPoP"])
            #expect(answer.headers[.accessControlAllowCredentials] == nil)
            #expect(answer.headers[.accessControlMaxAge] == "600")
            #expect(answer.headers[.vary] == "Origin")
            for origin in [
                "https://evil.example", "https://app.example.evil.example", "https://APP.example", "null", "*",
            ] {
                let refused = try await self.preflight(path, client, origin: origin)
                #expect(refused.status == .methodNotAllowed && self.isSilent(refused), "\(origin)")
            }
            let unasked = try await self.preflight(path, client, asking: nil)
            #expect(unasked.status == .methodNotAllowed && self.isSilent(unasked))
        }
    }

    @Test(
        "authorization, pages, administration and what services call say nothing of origins",
        arguments: [
            "/oauth2/authorize", "/oauth2/logout", "/sign-in", "/sign-in/cancel", "/admin/v1/accounts",
            "/admin/v1/openapi.json", "/admin/setup", "/oauth2/introspect", "/token/dispatch/authentication", "/status",
            "/account/v1/sessions", "/uaf/1.1/authentication", "/oauth2/token/", "/nothing",
        ])
    func elsewhere(path: String) async throws {
        let server = try await ServerFixture()
        let id = try await self.app(server)
        try await server.withPublicClient { client in
            let asked = try await self.preflight(path, client)
            #expect([404, 405].contains(asked.status.code) && self.isSilent(asked))
            for method in [HTTPRequest.Method.get, .post] {
                let answer = try await client.execute(
                    uri: path, method: method,
                    headers: [.origin: Self.origin, .contentType: "application/x-www-form-urlencoded"],
                    body: method == .post ? ByteBuffer(string: "client_id=\(id)") : nil)
                #expect(self.isSilent(answer), "\(method)")
            }
        }
    }

    @Test("an answer is read by scripts of the client's own origins alone", arguments: ["token", "par", "revoke"])
    func forms(endpoint: String) async throws {
        let server = try await ServerFixture()
        let own = try await self.app(server)
        let other = try await self.app(server, ["https://other.example"])
        try await server.withPublicClient { client in
            func post(_ form: String, from origins: [String]) async throws -> TestResponse {
                var headers: HTTPFields = [.contentType: "application/x-www-form-urlencoded"]
                headers[values: .origin] = origins
                return try await client.execute(
                    uri: "/oauth2/\(endpoint)", method: .post, headers: headers, body: ByteBuffer(string: form))
            }
            let answer = try await post("client_id=\(own)&token=x", from: [Self.origin])
            #expect(answer.headers[.accessControlAllowOrigin] == Self.origin)
            let exposed = answer.headers[.accessControlExposeHeaders]
            #expect(exposed == "WWW-Authenticate, DPoP-Nonce")
            #expect(answer.headers[.accessControlAllowCredentials] == nil)
            #expect(answer.headers[.vary] == "Origin")
            for (form, origins) in [
                ("client_id=\(other)&token=x", [Self.origin]), ("client_id=never&token=x", [Self.origin]),
                ("token=x", [Self.origin]), ("client_id=\(own)&client_id=\(own)", [Self.origin]),
                ("client_id=\(own)&token=x", ["https://other.example"]), ("client_id=\(own)&token=x", []),
                ("client_id=\(own)&token=x", [Self.origin, Self.origin]),
            ] {
                let refused = try await post(form, from: origins)
                #expect(self.isSilent(refused), "\(form) \(origins)")
                #expect(refused.headers[.vary] == "Origin")
            }
        }
    }

    @Test("what is public, and a person's claims, are read by scripts of any registered origin, refusals too")
    func reading() async throws {
        let server = try await ServerFixture()
        _ = try await self.app(server)
        try await server.withPublicClient { client in
            for (path, status) in [
                ("/oauth2/jwks", 200), ("/.well-known/openid-configuration", 200), ("/oauth2/userinfo", 401),
            ] {
                let answer = try await client.execute(uri: path, method: .get, headers: [.origin: Self.origin])
                #expect(answer.status.code == status)
                #expect(answer.headers[.accessControlAllowOrigin] == Self.origin, "\(path)")
                #expect(answer.headers[.vary] == "Origin")
                let other = try await client.execute(
                    uri: path, method: .get, headers: [.origin: "https://evil.example"])
                #expect(self.isSilent(other) && other.headers[.vary] == "Origin", "\(path)")
                let none = try await client.execute(uri: path, method: .get)
                #expect(self.isSilent(none) && none.headers[.vary] == "Origin", "\(path)")
            }
        }
    }

    @Test("an origin that is taken away from the client is answered no more")
    func takenAway() async throws {
        let server = try await ServerFixture()
        let id = try await self.app(server)
        try await server.withPublicClient { client in
            #expect(try await self.preflight("/oauth2/token", client).status == .noContent)
            _ = try await server.assembly.provider.clients.change(
                id, ClientChange(profile: ClientProfileChange(origins: [])))
            #expect(try await self.preflight("/oauth2/token", client).status == .methodNotAllowed)
        }
    }
}
