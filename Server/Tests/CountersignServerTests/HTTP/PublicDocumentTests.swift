import CountersignServer
import Endpoints
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Synchronization
import Testing
import _Primitives

@Suite("The document of the public addresses says what is mounted")
struct PublicDocumentTests {
    private static func document(_ server: ServerFixture) async throws -> JSONObject {
        try await server.withPublicClient { client in
            let answer = try await client.send(.get, "/openapi.json")
            #expect(answer.response.status == .ok)
            #expect(answer.response.headers[.contentType] == "application/json")
            return answer.object
        }
    }

    @Test("It has every address that is mounted, with every method of it, and no other")
    func everyAddress() async throws {
        let server = try await ServerFixture()
        var mounted: Set<String> = []
        // HEAD is what the router makes of GET; administration has a document of its own, and assets are files.
        for route in server.assembly.publicRouter().routes where route.method != .head {
            let path = route.path.description
            guard !path.hasPrefix("/admin/v1/"), !path.hasPrefix("/assets/") else { continue }
            mounted.insert("\(route.method.rawValue) \(path)")
        }
        var described: Set<String> = []
        let document = try await Self.document(server)
        #expect(document["openapi"] == .string("3.1.0"))
        for path in try document.requiredObject("paths").members {
            guard case .object(let methods) = path.value else { continue }
            for method in methods.members { described.insert("\(method.name.uppercased()) \(path.name)") }
        }
        #expect(described == mounted)
    }

    @Test("It is made at its first request, once")
    func madeOnce() {
        let made = Mutex(0)
        let document = LaterDocument {
            let count = made.withLock { made in
                made += 1
                return made
            }
            return ["count": .integer(Int64(count))]
        }
        let before = made.withLock { $0 }
        #expect(before == 0)
        for _ in 1...2 { #expect(document.json["count"] == .integer(1)) }
    }

    @Test("It says which addresses anybody may ask, where a client that proves who it is may do more")
    func callers() async throws {
        let paths = try await Self.document(try await ServerFixture()).requiredObject("paths")
        func security(_ path: String) throws -> JSON? {
            try paths.requiredObject(path).requiredObject("post")["security"]
        }
        let client = JSON.object(["client": .array([])])
        #expect(try security("/uaf/1.1/request/authentication") == .array([.object([:]), client]))
        #expect(try security("/status") == .array([client]))
        #expect(try security("/uaf/1.1/authentication") == nil)
    }

    @Test("What a parameter can be is what the provider's metadata lists")
    func lists() async throws {
        let server = try await ServerFixture()
        let document = try await Self.document(server)
        let metadata = try await server.withPublicClient {
            try await $0.send(.get, "/.well-known/openid-configuration").object
        }
        for (path, name, list) in [
            ("/oauth2/token", "grant_type", "grant_types_supported"),
            ("/oauth2/par", "response_type", "response_types_supported"),
            ("/oauth2/par", "code_challenge_method", "code_challenge_methods_supported"),
        ] {
            let parameter = try document.requiredObject("paths").requiredObject(path).requiredObject("post")
                .requiredObject("requestBody").requiredObject("content")
                .requiredObject("application/x-www-form-urlencoded").requiredObject("schema")
                .requiredObject("properties").requiredObject(name)
            let listed = try #require(try metadata.strings(list))
            #expect(!listed.isEmpty)
            #expect(try parameter.strings("enum") == listed)
        }
        let answer = try document.requiredObject("paths").requiredObject("/.well-known/openid-configuration")
            .requiredObject("get").requiredObject("responses").requiredObject("200").requiredObject("content")
            .requiredObject("application/json").requiredObject("schema")
        #expect(try answer.strings("required") == metadata.members.map(\.name))
    }

    @Test("An administrator's address is not in it")
    func administration() async throws {
        let paths = try await Self.document(ServerFixture()).requiredObject("paths")
        #expect(paths.members.count > 30)
        #expect(!paths.members.contains { $0.name.hasPrefix("/admin/v1") })
    }
}
