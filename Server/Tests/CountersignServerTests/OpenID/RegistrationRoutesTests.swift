import CountersignServer
import CountersignTestKit
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import OAuthProvider
import Records
import Testing
import _Primitives

@Suite("RFC 7591 and RFC 7592: the addresses where clients register themselves (F130)")
struct RegistrationRoutesTests {
    private static let body: JSONObject = [
        "client_name": .string("Self"), "redirect_uris": .array([.string("https://self.example/in")]),
        "id_token_signed_response_alg": .string("ES256"),
    ]

    private static func bearer(_ token: String) -> HTTPFields { [.authorization: "Bearer \(token)"] }

    @Test("without the operator's wish there is no such address, and the metadata name none")
    func off() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let answer = try await client.send(.post, "/oauth2/register", Self.body)
            #expect(answer.response.status == .notFound)
            #expect(try await client.send(.get, "/oauth2/register/x").response.status == .notFound)
            let metadata = try await client.send(.get, "/.well-known/openid-configuration").object
            #expect(metadata["registration_endpoint"] == nil)
        }
    }

    @Test("a member that is null is as good as none, also within a key set")
    func nulls() async throws {
        let server = try await ServerFixture(hasRegistration: true)
        let initial = try await server.withSocketClient { client in
            try await client.send(.post, "/admin/v1/registration-tokens", ["clients": .integer(9)]).object
                .requiredString("token")
        }
        try await server.withPublicClient { client in
            func register(_ text: String) async throws -> TestResponse {
                var headers = Self.bearer(initial)
                headers[.contentType] = "application/json"
                return try await client.execute(
                    uri: "/oauth2/register", method: .post, headers: headers, body: ByteBuffer(string: text))
            }
            let start = #"{"redirect_uris":["https://self.example/in"],"id_token_signed_response_alg":"ES256","#
            let made = try await register(start + #""client_uri":null,"jwks":null,"logo_uri":null,"contacts":[null]}"#)
            #expect(made.status == .created, "\(String(buffer: made.body))")
            let key =
                #"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","use":null,"x5c":null}"#
            let signing = try await register(
                start + #""token_endpoint_auth_method":"private_key_jwt","jwks_uri":null,"jwks":{"keys":[\#(key)]}}"#)
            #expect(signing.status == .created, "\(String(buffer: signing.body))")
            for wrong in [start + #""redirect_uris":null}"#, "null", #"{"redirect_uris":null}"#] {
                #expect(try await register(wrong).status == .badRequest, "\(wrong)")
            }
        }
    }

    @Test("a client registers, reads, replaces and deletes itself, with a token that an operator made")
    func lifeCycle() async throws {
        let server = try await ServerFixture(hasRegistration: true)
        let initial = try await server.withSocketClient { client in
            let made = try await client.send(.post, "/admin/v1/registration-tokens", ["clients": .integer(2)])
            #expect(made.response.status == .created && made.object["left"] == .integer(2))
            let listed = try await client.send(.get, "/admin/v1/registration-tokens").object
            #expect(try listed.array("tokens")?.count == 1)
            #expect(!JSON.object(listed).text.contains(try made.object.requiredString("token")))
            return try made.object.requiredString("token")
        }
        let id = try await server.withPublicClient { client in
            let metadata = try await client.send(.get, "/.well-known/openid-configuration").object
            #expect(metadata["registration_endpoint"] == .string("http://localhost:8080/oauth2/register"))
            let refused = try await client.send(.post, "/oauth2/register", Self.body)
            #expect(refused.response.status == .unauthorized && refused.object["error"] == .string("invalid_token"))
            #expect(refused.response.headers[.wwwAuthenticate]?.hasPrefix("Bearer") == true)
            let made = try await client.send(.post, "/oauth2/register", Self.body, headers: Self.bearer(initial))
            #expect(made.response.status == .created)
            #expect(made.response.headers[.cacheControl] == "no-store")
            let id = try made.object.requiredString("client_id")
            let own = Self.bearer(try made.object.requiredString("registration_access_token"))
            let path = "/oauth2/register/\(id)"
            #expect(try made.object.requiredString("registration_client_uri") == "http://localhost:8080\(path)")
            #expect(try await client.send(.get, path, headers: own).object["client_name"] == .string("Self"))
            var other = Self.body
            other["client_id"] = .string(id)
            other["client_name"] = .string("Other")
            let replaced = try await client.send(.put, path, other, headers: own)
            #expect(replaced.response.status == .ok && replaced.object["client_name"] == .string("Other"))
            let wrong = try await client.send(.put, path, Self.body, headers: own)
            #expect(wrong.response.status == .badRequest)
            #expect(wrong.object["error"] == .string("invalid_client_metadata"))
            #expect(
                try await client.send(.delete, path, headers: Self.bearer(initial)).response.status == .unauthorized)
            #expect(try await client.send(.get, path, headers: own).response.status == .ok)
            return id
        }
        try await server.withSocketClient { client in
            let shown = try await client.send(.get, "/admin/v1/clients/\(id)").object
            let token = try #require(
                try await client.send(.get, "/admin/v1/registration-tokens").object.array("tokens")?.first)
            guard case .object(let token) = token else {
                Issue.record("no object: \(token.text)")
                return
            }
            #expect(shown["registeredBy"] == token["id"] && token["left"] == .integer(1))
            let path = "/admin/v1/registration-tokens/\(try token.requiredString("id"))"
            #expect(try await client.send(.delete, path).response.status == .noContent)
            #expect(try await client.send(.delete, path).response.status == .notFound)
        }
        try await server.withPublicClient { client in
            let late = try await client.send(.post, "/oauth2/register", Self.body, headers: Self.bearer(initial))
            #expect(late.response.status == .unauthorized)
        }
    }

    @Test("what is no JSON object is refused in the words of the standard's form, and other methods are 405")
    func badInput() async throws {
        let server = try await ServerFixture(hasRegistration: true)
        try await server.withPublicClient { client in
            for text in ["", "[]", "null", "{", "{\"a\":1,\"a\":2}"] {
                let answer = try await client.execute(
                    uri: "/oauth2/register", method: .post, headers: [.contentType: "application/json"],
                    body: ByteBuffer(string: text))
                #expect(answer.status == .badRequest)
                #expect(answer.text.contains("invalid_request"))
            }
            let form = try await client.execute(
                uri: "/oauth2/register", method: .post,
                headers: [.contentType: "application/x-www-form-urlencoded"], body: ByteBuffer(string: "a=b"))
            #expect(form.status == .unsupportedMediaType)
            let get = try await client.send(.get, "/oauth2/register")
            #expect(get.response.status == .methodNotAllowed && get.response.headers[.allow] == "POST")
            let post = try await client.send(.post, "/oauth2/register/x", Self.body)
            #expect(post.response.status == .methodNotAllowed)
        }
    }

    @Test("the document of the public addresses has them where they are, with every method")
    func document() async throws {
        let server = try await ServerFixture(hasRegistration: true)
        var mounted: Set<String> = []
        for route in server.assembly.publicRouter().routes
        where route.method != .head && route.path.description.hasPrefix("/oauth2/register") {
            mounted.insert("\(route.method.rawValue) \(route.path.description)")
        }
        var described: Set<String> = []
        let document = try await server.withPublicClient { try await $0.send(.get, "/openapi.json").object }
        for path in try document.requiredObject("paths").members where path.name.hasPrefix("/oauth2/register") {
            guard case .object(let methods) = path.value else { continue }
            for method in methods.members { described.insert("\(method.name.uppercased()) \(path.name)") }
        }
        #expect(described == mounted && mounted.count == 4)
    }
}
