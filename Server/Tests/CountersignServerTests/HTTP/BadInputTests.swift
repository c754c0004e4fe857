import CeremonyEngine
import CountersignServer
import CountersignTestKit
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
    let path: String
    let allow: String
    var body = Body.none
    /// Whether a client of the server calls it.
    var isForClients = false

    var testDescription: String { self.path }

    /// The path as it is mounted.
    var pattern: String {
        self.path.replacing("/status/unknown/", with: "/status/{session}/")
            .replacing("/sessions/unknown", with: "/sessions/{id}")
            .replacing("/consents/unknown", with: "/consents/{id}")
            .replacing("/grants/unknown", with: "/grants/{id}")
            .replacing("/links/unknown", with: "/links/{id}")
            .replacing("/provider/unknown", with: "/provider/{name}")
            .replacing("/sessions/unknown/", with: "/sessions/{id}/")
            .replacing("/api-access/unknown/", with: "/api-access/{id}/")
            .replacing("/activations/unknown/", with: "/activations/{id}/")
    }

    static let all: [MountedAddress] = [
        .init(path: "/openapi.json", allow: "GET, HEAD"),
        .init(path: "/open", allow: "GET, HEAD"), .init(path: "/admin/setup", allow: "GET, HEAD"),
        .init(path: "/sign-in", allow: "GET, HEAD"), .init(path: "/sign-in/wait", allow: "GET, HEAD"),
        .init(path: "/sign-in/wait/events", allow: "GET, HEAD"),
        .init(path: "/sign-in/complete", allow: "GET, HEAD"),
        .init(path: "/sign-in/continue", allow: "GET, HEAD"),
        .init(path: "/sign-in/newcomer", allow: "GET, HEAD, POST", body: .form),
        .init(path: "/sign-in/cancel", allow: "POST", body: .form),
        .init(path: "/sign-in/password", allow: "GET, HEAD, POST", body: .form),
        .init(path: "/sign-in/code", allow: "GET, HEAD, POST", body: .form),
        .init(path: "/sign-in/new-password", allow: "GET, HEAD, POST", body: .form),
        .init(path: "/sign-in/consent", allow: "GET, HEAD, POST", body: .form),
        .init(path: "/account/password", allow: "GET, HEAD, POST", body: .form),
        .init(path: "/account/second-factor", allow: "GET, HEAD, POST", body: .form),
        .init(path: "/account/recovery-codes", allow: "GET, HEAD, POST", body: .form),
        .init(path: "/account/second-factor/code", allow: "POST", body: .form),
        .init(path: "/account/change/wait", allow: "GET, HEAD"),
        .init(path: "/account/change/wait/events", allow: "GET, HEAD"),
        .init(path: "/account/change/complete", allow: "GET, HEAD"),
        .init(path: "/account/change/again", allow: "GET, HEAD"),
        .init(path: "/account/change/cancel", allow: "POST", body: .form),
        .init(path: "/account/change/password", allow: "GET, HEAD, POST", body: .form),
        .init(path: "/account/change/provider", allow: "GET, HEAD, POST", body: .form),
        .init(path: "/account/changes/stop", allow: "POST", body: .form),
        .init(path: "/account/changes", allow: "GET, HEAD"),
        .init(path: "/account/changes/question", allow: "GET, HEAD, POST", body: .form),
        .init(path: "/account/changes/again", allow: "POST", body: .form),
        .init(path: "/account/forgotten", allow: "GET, HEAD, POST", body: .form),
        .init(path: "/account/reset", allow: "GET, HEAD, POST", body: .form),
        .init(path: "/account/address", allow: "GET, HEAD, POST", body: .form),
        .init(path: "/account/address/confirm", allow: "GET, HEAD, POST", body: .form),
        .init(path: "/account", allow: "GET, HEAD"), .init(path: "/account/history", allow: "GET, HEAD"),
        .init(path: "/account/activation", allow: "GET, HEAD, POST", body: .form),
        .init(path: "/account/activation/end", allow: "GET, HEAD, POST", body: .form),
        .init(path: "/account/activation/name", allow: "GET, HEAD, POST", body: .form),
        .init(path: "/account/choice", allow: "GET, HEAD, POST", body: .form),
        .init(path: "/account/value/email", allow: "GET, HEAD, POST", body: .form),
        .init(path: "/account/value/phone", allow: "GET, HEAD, POST", body: .form),
        .init(path: "/account/value/name", allow: "GET, HEAD, POST", body: .form),
        .init(path: "/account/value/remove", allow: "GET, HEAD, POST", body: .form),
        .init(path: "/account/address/remove", allow: "GET, HEAD, POST", body: .form),
        .init(path: "/activation", allow: "GET, HEAD"), .init(path: "/activation/events", allow: "GET, HEAD"),
        .init(path: "/invitation", allow: "GET, HEAD, POST", body: .form),
        .init(path: "/sign-in/provider/unknown", allow: "GET, HEAD"),
        .init(path: "/sign-in/provider/unknown/callback", allow: "GET, HEAD"),
        .init(path: "/sign-in/provider/unknown/connect", allow: "POST", body: .form),
        .init(path: "/.well-known/openid-configuration", allow: "GET, HEAD"),
        .init(path: "/.well-known/oauth-authorization-server", allow: "GET, HEAD"),
        .init(path: "/oauth2/jwks", allow: "GET, HEAD"),
        .init(path: "/oauth2/authorize", allow: "GET, HEAD, POST", body: .form),
        .init(path: "/oauth2/logout", allow: "GET, HEAD, POST", body: .form),
        .init(path: "/oauth2/token", allow: "POST", body: .form, isForClients: true),
        .init(path: "/oauth2/par", allow: "POST", body: .form, isForClients: true),
        .init(path: "/oauth2/challenge", allow: "POST", body: .form, isForClients: true),
        .init(path: "/oauth2/bc-authorize", allow: "POST", body: .form, isForClients: true),
        .init(path: "/account/v1/questions", allow: "GET, HEAD"),
        .init(path: "/oauth2/device_authorization", allow: "POST", body: .form, isForClients: true),
        .init(path: "/device", allow: "GET, HEAD, POST", body: .form),
        .init(path: "/device/confirm", allow: "GET, HEAD, POST", body: .form),
        .init(path: "/oauth2/userinfo", allow: "GET, HEAD, POST"),
        .init(path: "/oauth2/revoke", allow: "POST", body: .form, isForClients: true),
        .init(path: "/oauth2/introspect", allow: "POST", body: .form, isForClients: true),
        .init(path: "/v0/sign_in/authorize", allow: "GET, HEAD"),
        .init(path: "/v0/sign_in/authorize_sso", allow: "GET, HEAD"),
        .init(path: "/v0/sign_in/token", allow: "POST", body: .form),
        .init(path: "/v0/sign_in/refresh", allow: "POST", body: .form),
        .init(path: "/v0/sign_in/revoke", allow: "POST", body: .form),
        .init(path: "/v0/sign_in/revoke_all_sessions", allow: "GET, HEAD, POST", body: .form),
        .init(path: "/v0/sign_in/logout", allow: "GET, HEAD, POST", body: .form),
        .init(path: "/v0/sign_in/introspect", allow: "GET, HEAD"),
        .init(path: "/v0/sign_in/logingov_logout_proxy", allow: "GET, HEAD"),
        .init(path: "/sign_in/openid_connect/certs", allow: "GET, HEAD"),
        .init(path: "/uaf/1.1/facets", allow: "GET, HEAD"),
        .init(path: "/uaf/1.1/request/registration", allow: "POST", body: .uaf),
        .init(path: "/uaf/1.1/request/authentication", allow: "POST", body: .uaf),
        .init(path: "/uaf/1.1/request/deregistration", allow: "POST", body: .uaf, isForClients: true),
        .init(path: "/uaf/1.1/registration", allow: "POST", body: .uaf),
        .init(path: "/uaf/1.1/authentication", allow: "POST", body: .uaf),
        .init(path: "/token/redeem/authentication", allow: "POST", body: .json),
        .init(path: "/token/redeem/registration", allow: "POST", body: .json),
        .init(path: "/token/redeem/deregistration", allow: "POST", body: .json),
        .init(path: "/token/dispatch/authentication", allow: "POST", body: .json, isForClients: true),
        .init(path: "/token/dispatch/deregistration", allow: "POST", body: .json, isForClients: true),
        .init(path: "/status", allow: "POST", body: .json, isForClients: true),
        .init(path: "/status/unknown/events", allow: "GET, HEAD", isForClients: true),
        .init(path: "/account/v1/notices", allow: "GET, HEAD"),
        .init(path: "/account/v1/sessions", allow: "GET, HEAD, DELETE"),
        .init(path: "/account/v1/sessions/unknown", allow: "DELETE"),
        .init(path: "/account/v1/consents", allow: "GET, HEAD"),
        .init(path: "/account/v1/consents/unknown", allow: "DELETE"),
        .init(path: "/account/v1/grants", allow: "GET, HEAD, DELETE"),
        .init(path: "/account/v1/grants/unknown", allow: "DELETE"),
        .init(path: "/account/v1/links", allow: "GET, HEAD"),
        .init(path: "/account/v1/links/unknown", allow: "DELETE"),
        .init(path: "/admin/v1/tokens", allow: "GET, HEAD, POST", body: .json),
        .init(path: "/identity/keys", allow: "GET, HEAD"),
        .init(path: "/identity/root", allow: "GET, HEAD"),
        .init(path: "/identity/activation", allow: "GET, HEAD, DELETE"),
        .init(path: "/identity/in-app", allow: "POST", body: .json),
        .init(path: "/identity/api-access", allow: "POST", body: .json),
        .init(path: "/identity/api-access/unknown/complete", allow: "POST", body: .json),
        .init(path: "/identity/activations/unknown/open", allow: "POST", body: .json),
        .init(path: "/identity/activations/unknown/prove", allow: "POST", body: .json),
        .init(path: "/identity/activations/unknown/pin-evaluation", allow: "POST", body: .json),
        .init(path: "/identity/activations/unknown/enroll", allow: "POST", body: .json),
        .init(path: "/identity/sessions/unknown/start", allow: "POST", body: .json),
        .init(path: "/identity/sessions/unknown/prepare", allow: "POST", body: .json),
        .init(path: "/identity/sessions/unknown/pin-evaluation", allow: "POST", body: .json),
        .init(path: "/identity/sessions/unknown/finish", allow: "POST", body: .json),
        .init(path: "/identity/sessions/unknown/code", allow: "POST", body: .json),
        .init(path: "/identity/sessions/unknown/abort", allow: "POST", body: .json),
        .init(path: "/identity/sessions/unknown/prolong", allow: "POST", body: .json),
    ]

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
    private static let withBody = MountedAddress.all.filter { $0.body != .none }

    @Test("RFC 9110, section 15.5.6: another method is 405 with Allow", arguments: MountedAddress.all)
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
                uri: address.path, method: .patch, headers: [.accept: "text/html"])
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

    @Test("RFC 9110, section 15.5.16: another media type is 415", arguments: Self.withBody)
    func otherMediaTypeIsRefused(address: MountedAddress) async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let headers = try await address.headers(nil, server)
            for contentType in [nil, "", "text/plain", "application/xml", "application/jsonx", "multipart/form-data"] {
                var headers = headers
                headers[.contentType] = contentType
                let answer = try await client.execute(
                    uri: address.path, method: .post, headers: headers, body: ByteBuffer(string: "{}"))
                #expect(answer.status == .unsupportedMediaType, "\(contentType ?? "none")")
                #expect(answer.headers[.accept] != nil)
            }
        }
    }

    @Test("RFC 9110, section 15.5.14: a larger body is 413", arguments: Self.withBody)
    func largeBodyIsRefused(address: MountedAddress) async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let limit = address.body == .json ? 65_536 : address.body == .uaf ? 16_384 : 8192
            let answer = try await client.execute(
                uri: address.path, method: .post, headers: try await address.headers(address.contentType, server),
                body: ByteBuffer(repeating: UInt8(ascii: "a"), count: limit + 1))
            #expect(answer.status == .contentTooLarge)
        }
    }

    @Test("No body gives a 500, and each refusal is of a known form", arguments: Self.withBody)
    func noBodyBreaksTheServer(address: MountedAddress) async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let headers = try await address.headers(address.contentType, server)
            for body in MountedAddress.badBodies {
                let answer = try await client.execute(
                    uri: address.path, method: .post, headers: headers, body: ByteBuffer(bytes: body))
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
