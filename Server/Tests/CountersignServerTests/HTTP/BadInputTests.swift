import CeremonyEngine
import CountersignServer
import CountersignTestKit
import Endpoints
import FreshStores
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JOSE
import NIOCore
import OAuthProvider
import Records
import SQLStore
import Testing
import _Primitives

/// A mounted address and what it takes.
struct MountedAddress: Sendable, CustomTestStringConvertible {
    enum Body: Sendable { case none, form, json, uaf }
    /// The path as it is mounted, with parameters in braces.
    let pattern: String
    let allow: String
    var body = Body.none
    /// The method of a request with a body.
    var bodyMethod = HTTPRequest.Method.post
    /// Whether a client of the server calls it.
    var isForClients = false

    var testDescription: String { self.pattern }

    /// The path of a request, which names nothing that is there.
    var path: String {
        self.pattern.split(separator: "/").map { $0.hasPrefix("{") ? "/unknown" : "/\($0)" }.joined()
    }

    /// The addresses of the public listener: those of the endpoints' own list, and the one at which an administrator's
    /// link becomes a token.
    static func all() async throws -> [MountedAddress] {
        let server = try await ServerFixture()
        let endpoints = server.assembly.publicEndpoints
        var addresses: [MountedAddress] = []
        for endpoint in endpoints where !addresses.contains(where: { $0.pattern == endpoint.path }) {
            addresses.append(MountedAddress(of: endpoints.filter { $0.path == endpoint.path }, at: endpoint.path))
        }
        return addresses + [.init(pattern: "/admin/v1/tokens", allow: "GET, HEAD, POST", body: .json)]
    }

    /// The addresses that take a body.
    static func withBody() async throws -> [MountedAddress] { try await self.all().filter { $0.body != .none } }

    private init(pattern: String, allow: String, body: Body) {
        self.pattern = pattern
        self.allow = allow
        self.body = body
    }

    /// Describes the address of endpoints, one for each method.
    private init(of endpoints: [Endpoint], at path: String) {
        self.pattern = path
        let methods = Set(endpoints.map(\.method))
        // Whoever answers GET answers HEAD.
        let order: [HTTPRequest.Method] = [.get, .head, .post, .put, .patch, .delete]
        self.allow = order.filter { methods.contains($0 == .head ? .get : $0) }.map(\.rawValue).joined(separator: ", ")
        for endpoint in endpoints {
            if endpoint.body != nil { self.bodyMethod = endpoint.method }
            switch endpoint.body?.type {
            case .form?: self.body = .form
            case .json?: self.body = .json
            case .uaf?: self.body = .uaf
            case nil: break
            }
            switch endpoint.caller {
            case .client, .clientByHeader, .clientOrDevice: self.isForClients = true
            case .anybody, .anybodyOrClient, .token, .device, .deviceByProof: break
            }
        }
    }

    /// Bodies that are not what any address takes.
    static let badBodies: [[UInt8]] =
        [
            "", "null", "[]", "{}", "{\"a\":1,\"a\":2}", "{\"token\":null}", "{\"token\":1}", "{\"token\":\"\"}", "{",
            "{\"uafResponse\":\"[]\"}", "{\"uafResponse\":\"[{}]\"}", "{\"op\":\"Auth\",\"context\":\"{\"}",
            "{\"op\":\"Other\"}", "{\"sessionId\":{}}", "{\"sessionId\":\"x\",\"sessionId\":\"x\"}",
            "{\"dispatcher\":\"link\",\"getUafRequest\":[]}",
            "{\"dispatcher\":\"x\",\"getUafRequest\":{\"op\":\"Auth\"}}",
            "{\"secret\":\"\\ud800\"}", "{\"secret\":[]}", "request=&request=", "request=%", "%=%00&a", "&&&&", "=",
            String(repeating: "[", count: 3000), String(repeating: "{\"a\":", count: 1000), "{\"token\":1e999}",
        ].map { Array($0.utf8) } + [[0xFF, 0xFE], [0x00], Array("{\"token\":\"".utf8) + [0xC3, 0x28, 0x22, 0x7D]]

    var contentType: String? {
        switch self.body {
        case .none: nil
        case .form: "application/x-www-form-urlencoded"
        case .json: "application/json"
        case .uaf: "application/fido+uaf;charset=UTF-8"
        }
    }

    /// The headers of whoever may call it.
    func headers(_ contentType: String?, _ server: ServerFixture) async throws -> HTTPFields {
        var headers: HTTPFields = [:]
        headers[.contentType] = contentType
        if self.isForClients { headers[.authorization] = try await server.relyingParty().authorization }
        if self.path == "/uaf/1.1/request/registration" {
            headers[.authorization] = try await server.deviceAuthorization(username: "a")
        }
        // Without a client of it nothing of the app sign-in service is there.
        if self.path.hasPrefix("/v0/sign_in/") {
            var settings = ClientSettings(
                idTokenAlgorithm: .es256, authenticationMethod: "none", signInMethods: ["password"])
            settings.signInService = AppSignIn.appSettings
            _ = try await server.assembly.provider.clients.register(
                name: AppSignIn.app, redirectURIs: [AppSignIn.appAddress], settings: settings, id: AppSignIn.app)
        }
        return headers
    }
}

@Suite("Bad input is refused in words and changes nothing")
struct BadInputTests {
    @Test("RFC 9110, section 15.5.6: another method is 405 with Allow", arguments: try await MountedAddress.all())
    func otherMethodIsRefused(address: MountedAddress) async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let allowed = Set(address.allow.split(separator: ", ").map(String.init))
            for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "QUERY", "X-ANY"]
            where !allowed.contains(method) {
                let answer = try await client.execute(
                    uri: address.path, method: try #require(HTTPRequest.Method(rawValue: method)))
                #expect(answer.status == .methodNotAllowed, "\(method)")
                #expect(answer.headers[.allow] == address.allow)
                #expect(answer.headers[.contentType] == "application/problem+json")
            }
            // A browser is told no less.
            let answer = try await client.execute(
                uri: address.path, method: allowed.contains("PATCH") ? .put : .patch, headers: [.accept: "text/html"])
            #expect(answer.status == .methodNotAllowed)
        }
    }

    @Test("What is not mounted has no methods either", arguments: ["/nothing", "/sign-in/wait/other", "/status/a/b/c"])
    func unknownMethodOfNothingIsNotFound(path: String) async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            for method in ["GET", "PROPFIND"] {
                let answer = try await client.execute(
                    uri: path, method: try #require(HTTPRequest.Method(rawValue: method)))
                #expect(answer.status == .notFound)
                #expect(answer.headers[.allow] == nil)
            }
        }
    }

    @Test("RFC 9110, section 15.5.16: another media type is 415", arguments: try await MountedAddress.withBody())
    func otherMediaTypeIsRefused(address: MountedAddress) async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let headers = try await address.headers(nil, server)
            for contentType in [nil, "", "text/plain", "application/xml", "application/jsonx", "multipart/form-data"] {
                var headers = headers
                headers[.contentType] = contentType
                let answer = try await client.execute(
                    uri: address.path, method: address.bodyMethod, headers: headers, body: ByteBuffer(string: "{}"))
                #expect(answer.status == .unsupportedMediaType, "\(contentType ?? "none")")
                #expect(answer.headers[.accept] != nil)
            }
        }
    }

    @Test("RFC 9110, section 15.5.14: a larger body is 413", arguments: try await MountedAddress.withBody())
    func largeBodyIsRefused(address: MountedAddress) async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let limit = address.body == .json ? 65_536 : address.body == .uaf ? 16_384 : 8192
            let answer = try await client.execute(
                uri: address.path, method: address.bodyMethod,
                headers: try await address.headers(address.contentType, server),
                body: ByteBuffer(repeating: UInt8(ascii: "a"), count: limit + 1))
            #expect(answer.status == .contentTooLarge)
        }
    }

    @Test("No body gives a 500, and each refusal is of a known form", arguments: try await MountedAddress.withBody())
    func noBodyBreaksTheServer(address: MountedAddress) async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let headers = try await address.headers(address.contentType, server)
            for body in MountedAddress.badBodies {
                let answer = try await client.execute(
                    uri: address.path, method: address.bodyMethod, headers: headers, body: ByteBuffer(bytes: body))
                let shown = String(decoding: body.prefix(60), as: UTF8.self)
                #expect(answer.status.code < 500, "\(shown)")
                switch address.body {
                case .json: #expect([200, 400, 401, 404].contains(answer.status.code), "\(shown)")
                case .uaf: #expect([200, 400].contains(answer.status.code), "\(shown)")
                case .form: #expect([200, 303, 400, 401, 403, 404].contains(answer.status.code), "\(shown)")
                case .none: Issue.record("an address without a body")
                }
            }
        }
    }

    @Test(
        "Malformed JSON, null and duplicate keys are 400 problems",
        arguments: [
            "{", "null", "[]", "{\"token\":null}", "{\"token\":\"a\",\"token\":\"a\"}", "{\"token\":\"a\"} x", "{}",
            "{\"token\":7}", String(repeating: "[", count: 200),
        ])
    func malformedJSONIsAProblem(body: String) async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let answer = try await client.execute(
                uri: "/token/redeem/authentication", method: .post, headers: [.contentType: "application/json"],
                body: ByteBuffer(string: body))
            #expect(answer.status == .badRequest)
            #expect(answer.headers[.contentType] == "application/problem+json")
            #expect(String(buffer: answer.body).contains("\"type\":\"urn:countersign:error:malformed-body\""))
        }
    }

    @Test(
        "An address that is not mounted is a problem", arguments: ["/", "/nothing", "/oauth2", "/%00", "/%", "/..%2f"])
    func addressThatIsNotMountedIsAProblem(path: String) async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let answer = try await client.send(.get, path)
            #expect(answer.response.status == .notFound)
            #expect(answer.object["type"] == .string("urn:countersign:error:not-found"))
        }
    }

    @Test func longAddressIsRefused() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let answer = try await client.execute(
                uri: "/open?a=" + String(repeating: "b", count: 9000), method: .get)
            #expect(answer.status.code == 414)
        }
    }

    @Test("What Unicode holds for a semicolon separates no parameters of a media type (RFC 9110, section 8.3.1)")
    func mediaTypeIsReadByItsBytes() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            for (contentType, isTaken) in [
                ("application/json;charset=utf-8", true), ("application/json; charset=UTF-8", true),
                ("application/json\u{37E}charset=utf-8", false), ("application/json;=utf-8", false),
            ] {
                let answer = try await client.execute(
                    uri: "/token/redeem/authentication", method: .post, headers: [.contentType: contentType],
                    body: ByteBuffer(string: "{\"token\":\"x\"}"))
                #expect((answer.status == .unsupportedMediaType) == !isTaken, "\(contentType)")
            }
        }
    }

    @Test(
        "What a step finds in its way is the caller's affair, not the server's",
        arguments: [(StoreError.Code.conflict, 409), (.corrupt, 500)])
    func stepThatIsRefusedIsNoFailure(code: StoreError.Code, status: Int) async throws {
        let server = try await ServerFixture()
        try await server.withSignIn { phone, browser, request, page in
            _ = try await phone.authenticate(try server.typedPayload(page))
            server.hooks.failNext(.completion, with: StoreError(code, "as the test wants it"))
            #expect(try await browser.get("/sign-in/complete?request=\(request)").status.code == status)
        }
    }

    @Test func storeThatCannotWriteIs503WithRetryAfter() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let party = try await server.relyingParty()
            let browser = TestBrowser(client)
            let (request, _) = try await server.signInPage(browser, party)
            await server.database.close()
            let page = try await browser.get("/sign-in/wait?request=\(request)")
            #expect(page.status == .serviceUnavailable)
            #expect(page.headers[.retryAfter] == "5")
            #expect(page.text.contains("The server is busy"))
            let redeem = try await client.send(.post, "/token/redeem/authentication", ["token": .string("abc")])
            #expect(redeem.response.status == .serviceUnavailable)
            #expect(redeem.object["type"] == .string("urn:countersign:error:store-unavailable"))
            let token = try await party.exchange("code", client)
            #expect(token.response.status == .serviceUnavailable)
            #expect(token.response.headers[.retryAfter] == "5")
            #expect(token.object["error"] == .string("temporarily_unavailable"))
        }
    }
}
