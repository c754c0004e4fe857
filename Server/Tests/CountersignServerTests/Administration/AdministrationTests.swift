import CeremonyEngine
import CountersignServer
import CountersignTestKit
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Testing
import _Primitives

@Suite("Admin API: people")
struct AdministrationTests {
    @Test("adds, shows, lists, locks, unlocks and deletes a person")
    func accounts() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            let added = try await client.send(
                .post, "/admin/v1/accounts", ["username": .string("alice"), "displayName": .string("Alice A.")])
            #expect(added.response.status == .created)
            #expect(added.object["locked"] == .bool(false))
            let shown = try await client.send(.get, "/admin/v1/accounts/alice")
            #expect(shown.object["displayName"] == .string("Alice A."))
            #expect(try await client.send(.post, "/admin/v1/accounts/alice/lock").object["locked"] == .bool(true))
            #expect(try await client.send(.post, "/admin/v1/accounts/alice/unlock").object["locked"] == .bool(false))
            let listed = try await client.send(.get, "/admin/v1/accounts")
            #expect(try listed.object.array("accounts")?.count == 1)
            #expect(try await client.send(.get, "/admin/v1/accounts?after=alice").object["accounts"] == .array([]))
            #expect(try await client.send(.get, "/admin/v1/accounts?after=bob").response.status == .notFound)
            #expect(try await client.send(.get, "/admin/v1/accounts?after=%F").response.status == .badRequest)
            #expect(try await client.send(.delete, "/admin/v1/accounts/alice").response.status == .noContent)
            #expect(try await client.send(.get, "/admin/v1/accounts/alice").response.status == .notFound)
        }
    }

    @Test("a name that needs escaping is found by its escaped path")
    func escapedNames() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            _ = try await client.send(.post, "/admin/v1/accounts", ["username": .string("zoë/1")])
            #expect(try await client.send(.get, "/admin/v1/accounts/zo%C3%AB%2F1").response.status == .ok)
        }
    }

    @Test("a second account of one name is a conflict")
    func duplicates() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            _ = try await client.send(.post, "/admin/v1/accounts", ["username": .string("alice")])
            let second = try await client.send(.post, "/admin/v1/accounts", ["username": .string("alice")])
            #expect(second.response.status == .conflict)
            #expect(second.object["type"] == .string("urn:countersign:error:conflict"))
        }
    }

    @Test(
        "what is not there is 404, whatever is asked of it",
        arguments: [
            (HTTPRequest.Method.get, "/accounts/bob"), (.delete, "/accounts/bob"), (.post, "/accounts/bob/lock"),
            (.post, "/accounts/bob/unlock"), (.get, "/accounts/bob/devices"), (.delete, "/devices/none"),
            (.delete, "/clients/none"), (.get, "/activations/none"), (.get, "/nothing"),
        ])
    func missing(method: HTTPRequest.Method, path: String) async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            let answer = try await client.send(method, "/admin/v1" + path)
            #expect(answer.response.status == .notFound)
            #expect(answer.response.headers[.contentType] == "application/problem+json")
        }
    }

    @Test("a client's secret is shown once, and its addresses must be absolute")
    func clients() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            let added = try await client.send(
                .post, "/admin/v1/clients",
                ["name": .string("Bank"), "redirectUris": .array([.string("http://127.0.0.1:8081/callback")])])
            #expect(added.response.status == .created)
            #expect(try added.object.requiredString("clientSecret").utf8.count >= 22)
            let listed = try await client.send(.get, "/admin/v1/clients")
            let text = String(buffer: listed.response.body)
            #expect(text.contains(try added.object.requiredString("clientId")))
            #expect(!text.contains(try added.object.requiredString("clientSecret")))
            let refused = try await client.send(
                .post, "/admin/v1/clients",
                ["name": .string("Bank"), "redirectUris": .array([.string("http://bank.example/callback")])])
            #expect(refused.response.status == .badRequest)
            let path = "/admin/v1/clients/\(try added.object.requiredString("clientId"))"
            #expect(try await client.send(.delete, path).response.status == .noContent)
        }
    }

    @Test("an activation is made for somebody who is there, and shown by its id")
    func activations() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            let body: JSONObject = ["username": .string("alice")]
            #expect(try await client.send(.post, "/admin/v1/activations", body).response.status == .notFound)
            _ = try await client.send(.post, "/admin/v1/accounts", body)
            let made = try await client.send(.post, "/admin/v1/activations", body)
            #expect(made.response.status == .created)
            #expect(try made.object.requiredString("link").hasPrefix("http://localhost:8080/open?"))
            let path = "/admin/v1/activations/\(try made.object.requiredString("id"))"
            #expect(try await client.send(.get, path).object["state"] == .string("created"))
            let early = try await client.send(.post, path + "/confirm", ["number": .string("123456")])
            #expect(early.response.status == .conflict)
        }
    }
}

@Suite("Admin API: who may call")
struct AdminAuthorizationTests {
    @Test("the public listener takes a token that came of the one-time link, and nothing else")
    func tokens() async throws {
        let server = try await ServerFixture()
        let secret = try #require(try await server.assembly.administrators.makeLinkIfNone())
        try await server.withPublicClient { client in
            let refused = try await client.send(.get, "/admin/v1/accounts")
            #expect(refused.response.status == .unauthorized)
            #expect(refused.response.headers[.wwwAuthenticate] == "Bearer")
            let wrong = try await client.send(
                .get, "/admin/v1/accounts", headers: [.authorization: "Bearer \(secret)"])
            #expect(wrong.response.status == .unauthorized)
            let made = try await client.send(.post, "/admin/v1/tokens", ["secret": .string(secret)])
            #expect(made.response.status == .created)
            let token = try made.object.requiredString("token")
            let allowed = try await client.send(
                .get, "/admin/v1/accounts", headers: [.authorization: "Bearer \(token)"])
            #expect(allowed.response.status == .ok)
            let again = try await client.send(.post, "/admin/v1/tokens", ["secret": .string(secret)])
            #expect(again.response.status != .created)
        }
        #expect(try await server.assembly.administrators.makeLinkIfNone() == nil)
    }

    @Test("the link's secret ends with its time")
    func expiry() async throws {
        let server = try await ServerFixture()
        let secret = try #require(try await server.assembly.administrators.makeLinkIfNone())
        server.clock.advance(by: .seconds(15 * 60 + 1))
        try await server.withPublicClient { client in
            let late = try await client.send(.post, "/admin/v1/tokens", ["secret": .string(secret)])
            #expect(late.response.status != .created)
        }
    }
}

@Suite("Admin API: bodies, methods and the OpenAPI document")
struct AdminDocumentTests {
    @Test(
        "refuses bodies that are not the one JSON object that is asked for",
        arguments: [
            "", "{", "null", "[]", #"{"username":null}"#, #"{"username":"a","username":"b"}"#, #"{"username":1}"#,
            #"{"username":"a","more":1}"#, #"{}"#, #"{"username":"a"} x"#,
        ])
    func badBodies(body: String) async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            let response = try await client.execute(
                uri: "/admin/v1/accounts", method: .post, headers: [.contentType: "application/json"],
                body: ByteBuffer(string: body))
            #expect(response.status == .badRequest)
            #expect(response.headers[.contentType] == "application/problem+json")
        }
    }

    @Test("answers another content type 415, too many bytes 413 and another method 405 with Allow")
    func mediaTypeSizeAndMethod() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            let body: JSONObject = ["username": .string("a")]
            let text = try await client.send(.post, "/admin/v1/accounts", body, headers: [.contentType: "text/plain"])
            #expect(text.response.status == .unsupportedMediaType)
            let large: JSONObject = ["username": .string(String(repeating: "a", count: 70_000))]
            #expect(try await client.send(.post, "/admin/v1/accounts", large).response.status == .contentTooLarge)
            let method = try await client.send(.put, "/admin/v1/accounts", body)
            #expect(method.response.status == .methodNotAllowed)
            #expect(method.response.headers[.allow] == "GET, HEAD, POST")
        }
    }

    @Test("the document names every mounted operation, and every operation that it names is mounted")
    func document() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            let document = try await client.send(.get, "/admin/v1/openapi.json").object
            #expect(document["openapi"] == .string("3.1.0"))
            let paths = try document.requiredObject("paths")
            #expect(paths.members.count == 14)
            for (path, item) in paths.members {
                guard case .object(let item) = item else { continue }
                let known = Set(item.members.map { $0.name.uppercased() })
                let example = path.replacing(/\{\w+\}/, with: "x")
                for method in ["GET", "POST", "DELETE", "PUT", "PATCH"] {
                    let response = try await client.execute(
                        uri: "/admin/v1" + example, method: try #require(HTTPRequest.Method(method)))
                    #expect((response.status == .methodNotAllowed) == !known.contains(method), "\(method) \(path)")
                }
            }
        }
    }
}
