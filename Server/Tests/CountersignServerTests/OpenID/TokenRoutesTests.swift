import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JOSE
import NIOCore
import Records
import SQLStore
import Testing
import _Primitives

@Suite("RFC 6749, section 3.2, and OpenID Connect Discovery 1.0: what programs ask the provider")
struct TokenRoutesTests {
    @Test func descriptionNamesAddressesThatAreThere() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            for name in ["openid-configuration", "oauth-authorization-server"] {
                let (response, document) = try await client.send(.get, "/.well-known/\(name)")
                #expect(response.status == .ok)
                #expect(response.headers[.contentType] == "application/json")
                #expect(document["issuer"] == .string("http://localhost:8080"))
                let members = document.members.filter { $0.name.hasSuffix("_endpoint") || $0.name == "jwks_uri" }
                #expect(members.count == 11)
                for member in members {
                    guard case .string(let address) = member.value else {
                        Issue.record("\(member.name) is no address")
                        continue
                    }
                    #expect(address.hasPrefix("http://localhost:8080/oauth2/"))
                    let path = String(address.dropFirst("http://localhost:8080".count))
                    #expect(try await client.execute(uri: path, method: .patch).status == .methodNotAllowed, "\(path)")
                }
            }
        }
    }

    @Test func keySetHasItsOwnMediaType() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let (response, document) = try await client.send(.get, "/oauth2/jwks")
            #expect(response.headers[.contentType] == "application/jwk-set+json")
            #expect(try document.array("keys")?.count == 1)
        }
    }

    @Test("a form with raw spaces and raw letters is read, as curl -d sends it; a query is not")
    func rawForms() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let party = try await server.relyingParty()
            func push(_ form: [UInt8]) async throws -> TestResponse {
                try await client.execute(
                    uri: "/oauth2/par", method: .post,
                    headers: [
                        .contentType: "application/x-www-form-urlencoded", .authorization: party.authorization,
                    ], body: ByteBuffer(bytes: form))
            }
            let address = party.authorizeAddress()
            let query = String(address[(address.firstIndex(of: "?") ?? address.startIndex)...].dropFirst())
            let form = query.replacing(#/&scope=[^&]*/#, with: "")
            for scope in ["openid profile", " openid  profile ", "openid+profile", "openid%20profile"] {
                let answer = try await push(Array((form + "&scope=" + scope).utf8))
                #expect(answer.status == .created, "\(scope): \(String(buffer: answer.body))")
            }
            #expect(try await push(Array((form + "&scope=openid&login_hint=J\u{FC}rgen M").utf8)).status == .created)
            for (wrong, name) in [
                (Array("&scope=openid&login_hint=J".utf8) + [0xFC], "invalid UTF-8"),
                (Array("&scope=openid&login_hint=a".utf8) + [0], "NUL"),
                (Array("&scope=openid profile&scope=openid".utf8), "twice"),
                (Array("&scope=openid&login_hint=a\tb".utf8), "a control character"),
            ] {
                let answer = try await push(Array(form.utf8) + wrong)
                #expect(answer.status == .badRequest, "\(name)")
                #expect(String(buffer: answer.body).contains("invalid_request"), "\(name)")
            }
            let raw = try await client.execute(uri: address + "&login_hint=J\u{FC}rgen", method: .get)
            #expect(raw.status == .badRequest)
        }
    }

    @Test func codeIsExchangedOnce() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let party = try await server.relyingParty()
            let browser = try await server.signedInBrowser(client, party)
            let code = try #require(try await browser.get(party.authorizeAddress()).redirectParameters["code"])
            let first = try await party.exchange(code, client)
            #expect(first.response.status == .ok)
            #expect(first.response.headers[.cacheControl] == "no-store")
            #expect(first.object["token_type"] == .string("Bearer"))
            let second = try await party.exchange(code, client)
            #expect(second.response.status == .badRequest)
            #expect(second.object["error"] == .string("invalid_grant"))
            #expect(second.response.headers[.cacheControl] == "no-store")
            let access = try first.object.requiredString("access_token")
            for token in [access, "none"] {
                let claims = try await client.send(
                    .get, "/oauth2/userinfo", headers: [.authorization: "Bearer \(token)"])
                #expect(claims.response.headers[.cacheControl] == "no-store")
            }
        }
    }

    @Test func aTokenIsShownAndTakenBack() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let party = try await server.relyingParty()
            let browser = try await server.signedInBrowser(client, party)
            let code = try #require(try await browser.get(party.authorizeAddress()).redirectParameters["code"])
            let access = try await party.exchange(code, client).object.requiredString("access_token")
            func post(_ path: String) async throws -> TestResponse {
                try await client.execute(
                    uri: path, method: .post,
                    headers: [
                        .contentType: "application/x-www-form-urlencoded", .authorization: party.authorization,
                    ], body: ByteBuffer(string: "token=\(access)"))
            }
            let shown = try await post("/oauth2/introspect")
            #expect(shown.status == .ok && shown.headers[.cacheControl] == "no-store")
            #expect(String(buffer: shown.body).contains("\"active\":true"))
            let revoked = try await post("/oauth2/revoke")
            #expect(revoked.status == .ok && revoked.body.readableBytes == 0)
            let claims = try await client.send(
                .get, "/oauth2/userinfo", headers: [.authorization: "Bearer \(access)"])
            #expect(claims.response.status == .unauthorized)
            #expect(String(buffer: try await post("/oauth2/introspect").body) == "{\"active\":false}")
        }
    }

    @Test("Whoever asks for it gets what is told of a token signed, as text of its own media type")
    func aSignedAnswer() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let party = try await server.relyingParty()
            func ask(_ accept: String) async throws -> TestResponse {
                try await client.execute(
                    uri: "/oauth2/introspect", method: .post,
                    headers: [
                        .contentType: "application/x-www-form-urlencoded", .authorization: party.authorization,
                        .accept: accept,
                    ], body: ByteBuffer(string: "token=x"))
            }
            let signed = try await ask("application/token-introspection+jwt")
            #expect(signed.status == .ok && signed.headers[.cacheControl] == "no-store")
            #expect(signed.headers[values: .contentType] == ["application/token-introspection+jwt"])
            let token = try UnverifiedJWS(compact: String(buffer: signed.body))
            #expect(token.header.hasType("token-introspection+jwt"))
            let plain = try await ask("application/json")
            #expect(String(buffer: plain.body) == "{\"active\":false}")
        }
    }

    @Test("A client that does not prove itself gets 401 with a challenge", arguments: ["", "Basic AAAA", "Bearer x"])
    func unknownClientIsChallenged(authorization: String) async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            var headers: HTTPFields = [.contentType: "application/x-www-form-urlencoded"]
            if !authorization.isEmpty { headers[.authorization] = authorization }
            let answer = try await client.execute(
                uri: "/oauth2/token", method: .post, headers: headers,
                body: ByteBuffer(string: "grant_type=authorization_code&code=x"))
            #expect(answer.status == .unauthorized)
            #expect(try #require(answer.headers[.wwwAuthenticate]).hasPrefix("Basic "))
            #expect(String(buffer: answer.body).contains("\"error\":\"invalid_client\""))
        }
    }

    /// The server's own fault is not told as one of the client's, which would take its code for refused.
    @Test func aSigningKeyThatIsMissingIsAServerError() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let party = try await server.relyingParty()
            _ = try await server.database.changeClient(party.id) { client in
                client.settings.idTokenAlgorithm = .edDSA
                return []
            }
            let (response, object) = try await party.exchange("x", client)
            #expect(response.status == .internalServerError)
            #expect(object["error"] == .string("server_error"))
        }
    }

    @Test func twoAuthorizationsAreNone() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let party = try await server.relyingParty()
            var headers: HTTPFields = [.contentType: "application/x-www-form-urlencoded"]
            headers.append(HTTPField(name: .authorization, value: party.authorization))
            headers.append(HTTPField(name: .authorization, value: "Basic AAAA"))
            let answer = try await client.execute(
                uri: "/oauth2/token", method: .post, headers: headers, body: ByteBuffer(string: "grant_type=x"))
            #expect(answer.status == .unauthorized)
        }
    }

    @Test("Claims need an access token", arguments: ["", "Bearer unknown", "Basic AAAA"])
    func claimsNeedAToken(authorization: String) async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let headers: HTTPFields = authorization.isEmpty ? [:] : [.authorization: authorization]
            let answer = try await client.execute(uri: "/oauth2/userinfo", method: .get, headers: headers)
            #expect(answer.status == .unauthorized)
            #expect(try #require(answer.headers[.wwwAuthenticate]).hasPrefix("Bearer"))
        }
    }

    @Test(
        "A body of another kind has an error of the standard's form",
        arguments: [
            ("application/json", "{}", 415), ("application/x-www-form-urlencoded; charset=latin1", "a=b", 415),
            ("application/x-www-form-urlencoded", String(repeating: "a", count: 9000), 413),
            ("application/x-www-form-urlencoded", "a=%F", 400),
        ])
    func otherBodyIsRefused(contentType: String, body: String, status: Int) async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let party = try await server.relyingParty()
            let answer = try await client.execute(
                uri: "/oauth2/token", method: .post,
                headers: [.contentType: contentType, .authorization: party.authorization],
                body: ByteBuffer(string: body))
            #expect(answer.status.code == status)
            #expect(String(buffer: answer.body).contains("\"error\":\"invalid_request\""))
        }
    }
}
