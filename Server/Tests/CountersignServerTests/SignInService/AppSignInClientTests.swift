import CountersignServer
import CountersignTestKit
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import OAuthProvider
import Records
import SQLStore
import Testing
import _Primitives

@Suite("The app sign-in service: its clients, as an operator registers and changes them (decision 52)")
struct AppSignInClientTests {
    private static let service: JSONObject = [
        "authentication": .string("api"), "accessTokenAudience": .string("vamobile"),
        "serviceLevels": .array([.string("min"), .string("loa3=urn:countersign:acr:two-factor")]),
        "sharedSessions": .bool(true), "accessTokenSeconds": .integer(1800),
        "refreshTokenSeconds": .integer(3_888_000),
    ]
    private static let client: JSONObject = [
        "name": .string("Health app"), "clientId": .string("vamobile"),
        "redirectUris": .array([.string("https://app.example/in")]), "tokenEndpointAuthMethod": .string("none"),
        "idTokenSignedResponseAlg": .string("ES256"), "signInService": .object(Self.service),
    ]

    private func with(_ changes: JSONObject, of object: JSONObject) -> JSONObject {
        var changed = object
        for (name, value) in changes.members { changed[name] = value }
        return changed
    }

    @Test("a client is registered under a name of the operator's, shown, changed in part, and made another one's")
    func registers() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            let added = try await client.send(.post, "/admin/v1/clients", Self.client)
            #expect(added.response.status == .created, "\(added.response.text)")
            #expect(added.object["clientId"] == .string("vamobile") && added.object["clientSecret"] == nil)
            let shown = try await client.send(.get, "/admin/v1/clients/vamobile").object
            let settings = try shown.requiredObject("signInService")
            for (name, value) in Self.service.members { #expect(settings[name] == value, "\(name)") }
            #expect(settings["enforcedTerms"] == .bool(true) && settings["jsonApiCompatibility"] == .bool(true))
            #expect(shown["warnings"] == nil)
            // A name is given once.
            let again = try await client.send(.post, "/admin/v1/clients", Self.client)
            #expect(again.response.status == .conflict)
            let changed = try await client.send(
                .patch, "/admin/v1/clients/vamobile", ["signInService": .object(["antiCsrf": .bool(true)])])
            let after = try changed.object.requiredObject("signInService")
            #expect(after["antiCsrf"] == .bool(true) && after["sharedSessions"] == .bool(true))
            let none = try await client.send(.patch, "/admin/v1/clients/vamobile", ["signInService": .object([:])])
            #expect(none.response.status == .ok && none.object["signInService"] == nil)
            let trail = try await server.database.auditEntries(after: 0, limit: 99).map(\.event)
            let changes = trail.filter { $0.kind.rawValue == "client-sign-in-service-changed" }
            #expect(changes.count == 2 && changes.allSatisfy { $0.detail == "vamobile" })
        }
    }

    @Test("what such a client cannot be is refused in a sentence, when it is registered and when it is changed")
    func refusals() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            func service(_ changes: JSONObject) -> JSONObject {
                ["signInService": .object(self.with(changes, of: Self.service))]
            }
            let cases: [JSONObject] = [
                ["tokenEndpointAuthMethod": .string("client_secret_basic")], ["clientId": .string("va mobile")],
                ["clientId": .string("")], ["redirectUris": .array([])],
                ["redirectUris": .array([.string("https://a.example/"), .string("https://b.example/")])],
                ["redirectUris": .array([.string("vamobile://in")])], ["party": .string("third-party")],
                ["scopes": .array([.string("read")])], ["ssoGroup": .string("apps")],
                ["grantTypes": .array([.string("authorization_code"), .string("refresh_token")])],
                ["signInService": .object([:])],
                service(["authentication": .string("mock")]), service(["accessTokenSeconds": .integer(59)]),
                service(["accessTokenSeconds": .integer(1801)]), service(["refreshTokenSeconds": .integer(299)]),
                service(["refreshTokenSeconds": .integer(1799)]),
                service(["refreshTokenSeconds": .integer(3_888_001)]), service(["accessTokenAudience": .string("")]),
                service(["accessTokenAudience": .string("a b")]), service(["serviceLevels": .array([])]),
                service(["serviceLevels": .array([.string("min"), .string("min")])]),
                service(["serviceLevels": .array([.string("loa3=nothing")])]),
                service(["accessTokenAttributes": .array([.string("ssn")])]),
                self.with(
                    service(["authentication": .string("cookie"), "anyScheme": .bool(true)]),
                    of: ["redirectUris": .array([.string("vamobile://in")])]),
            ]
            for changes in cases {
                let answer = try await client.send(.post, "/admin/v1/clients", self.with(changes, of: Self.client))
                #expect(answer.response.status == .badRequest, "\(changes) \(answer.response.text)")
                #expect(try answer.object.string("detail")?.isEmpty == false)
            }
            // Nobody else is called what they like.
            let other: JSONObject = [
                "name": .string("Bank"), "clientId": .string("bank"),
                "redirectUris": .array([.string("https://bank.example/in")]),
                "idTokenSignedResponseAlg": .string("ES256"),
            ]
            #expect(try await client.send(.post, "/admin/v1/clients", other).response.status == .badRequest)
            _ = try await client.send(.post, "/admin/v1/clients", Self.client)
            for changes in [
                ["tokenEndpointAuthMethod": .string("client_secret_basic")], ["scopes": .array([.string("read")])],
                ["signInService": .object(["accessTokenSeconds": .integer(1)])],
                ["signInService": .object(["accessTokenSeconds": .string("300")])],
            ] as [JSONObject] {
                let answer = try await client.send(.patch, "/admin/v1/clients/vamobile", changes)
                #expect(answer.response.status == .badRequest, "\(changes)")
            }
        }
    }

    @Test("keys of the service are followed by new ones with the others, and never stand among them")
    func rotation() async throws {
        try await AppSignIn.run { place async throws in
            let before = try await place.appTokens()
            let shown = try await place.client.send(.get, "/sign_in/openid_connect/certs").object
            try await place.server.assembly.provider.keys.rotate(by: "test")
            let after = try await place.client.send(.get, "/sign_in/openid_connect/certs").object
            #expect(try shown.array("keys")?.count == 1 && after.array("keys")?.count == 2)
            #expect(try await place.client.send(.get, "/oauth2/jwks").object.array("keys")?.count == 2)
            place.server.clock.advance(by: .seconds(11 * 60))
            let next = try AppTokens(try await place.refresh(before.refresh))
            #expect(try await place.introspect(before.access) == 200, "what was signed before still counts")
            #expect(try await place.introspect(next.access) == 200)
            let header = { (token: String) in token.split(separator: ".")[0] }
            #expect(header(before.access) != header(next.access))
        }
    }

    @Test("a client that is made another face's takes nothing along: no code, no session, no waiting sign-in")
    func otherFace() async throws {
        try await AppSignIn.run { place async throws in
            let tokens = try await place.appTokens()
            let code = try await place.code(AppSignIn.app)
            let browser = TestBrowser(place.client)
            let begun = try await browser.get(place.authorize(AppSignIn.app))
            let request = try #require(begun.redirectParameters["request"])
            for settings in [nil, AppSignIn.appSettings] {
                _ = try await place.server.database.changeClient(AppSignIn.app) { client in
                    client.settings.signInService = settings
                    return []
                }
            }
            #expect(try await place.introspect(tokens.access) == 401)
            #expect(try await place.refresh(tokens.refresh).status == .unauthorized)
            #expect(try await place.redeem(code).errors == "The code is not valid.")
            let shown = try await browser.post(
                "/sign-in/password",
                form: PasswordPlace.form(
                    ["request": request, "username": "alice", "password": PasswordPlace.password]))
            #expect(shown.headers[.location] == nil, "the sign-in that waited has ended")
            // What is changed beside that ends nothing.
            let next = try await place.appTokens()
            try await place.change(AppSignIn.app) { $0.usesAntiCSRF = true }
            #expect(try await place.introspect(next.access) == 200)
        }
    }

    @Test("what is no form and no JSON is refused in the service's own words, and not before there is a client")
    func bodies() async throws {
        let bodies: [(String, String, HTTPResponse.Status)] = [
            ("text/plain", "x", .unsupportedMediaType), ("application/json", "{", .badRequest),
            ("application/json", "[]", .badRequest), ("application/json", "{\"client_id\": 1}", .badRequest),
            ("application/x-www-form-urlencoded", "client_id=a&client_id=b", .badRequest),
        ]
        @Sendable func send(_ client: any TestClientProtocol, _ type: String, _ body: String) async throws
            -> TestResponse
        {
            try await client.execute(
                uri: "/v0/sign_in/token", method: .post, headers: [.contentType: type],
                body: ByteBuffer(string: body))
        }
        try await AppSignIn.run { place async throws in
            for (type, body, status) in bodies {
                let answer = try await send(place.client, type, body)
                #expect(answer.status == status && answer.errors?.isEmpty == false, "\(body) \(answer.text)")
            }
        }
        let server = try await ServerFixture()
        try await server.withPublicClient { client async throws in
            for (type, body, _) in bodies {
                #expect(try await send(client, type, body).status == .notFound, "\(body)")
            }
        }
    }
}
