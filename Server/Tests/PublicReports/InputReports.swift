import Accounts
import CountersignServer
import CountersignTestKit
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import OAuth
import OAuthProvider
import Records
import Testing
import _Primitives

@testable import CountersignServerTests

@Suite("Reports of what can be sent (RFC 6749, section 3.1, RFC 8259, section 9, and RFC 9110)")
struct InputReports {
    /// A right server reads a parameter that comes twice as a mistake: two readers would take one each.
    ///
    /// Source: RFC 6749, sections 3.1 and 3.2 (HTTP parameter pollution).
    @Test("a parameter that comes twice asks for nothing")
    func twice() async throws {
        try await ReportPlace.run { place in
            for (name, value) in [
                ("redirect_uri", "https://evil.example"), ("client_id", "other"), ("scope", "openid email"),
                ("state", "x"), ("response_type", "token"), ("code_challenge", place.party.challenge), ("nonce", "x"),
            ] {
                var request = place.request()
                request.append(name, value)
                let answer = try await TestBrowser(place.client).get("/oauth2/authorize?" + request.encoded)
                #expect(answer.redirectParameters["request"] == nil, "\(name)")
                #expect(answer.headers[.location]?.contains("evil.example") != true)
                #expect(try await place.post("/oauth2/par", request).response.status == .badRequest, "\(name)")
            }
            let code = try await place.code()
            var form = ReportPlace.parameters([
                "grant_type": "authorization_code", "code": code, "redirect_uri": ReportPlace.callback,
                "code_verifier": ReportPlace.verifier,
            ])
            form.append("code", "other")
            #expect(try await place.post("/oauth2/token", form).object.error == "invalid_request")
        }
    }

    /// A right server reads a form as libraries send it, with raw spaces and letters, and refuses what is no text.
    ///
    /// Source: the URL standard, section 5.1; the `-d` of curl; decision 79.
    @Test("raw spaces and letters in a form are read; what is no UTF-8, and a zero byte, are not")
    func rawForms() async throws {
        try await ReportPlace.run { place async throws in
            func push(_ text: [UInt8]) async throws -> HTTPResponse.Status {
                try await place.client.execute(
                    uri: "/oauth2/par", method: .post,
                    headers: [
                        .contentType: "application/x-www-form-urlencoded", .authorization: place.party.authorization,
                    ], body: ByteBuffer(bytes: Array(place.request(["scope": nil]).encoded.utf8) + text)
                ).status
            }
            #expect(try await push(Array("&scope=openid profile".utf8)) == .created)
            #expect(try await push(Array("&scope=openid&login_hint=J\u{FC}rgen".utf8)) == .created)
            for wrong in [Array("&scope=openid&x=".utf8) + [0xFF], Array("&scope=openid&x=".utf8) + [0]] {
                #expect(try await push(wrong) == .badRequest)
            }
            #expect(try await push(Array("&scope=openid&x=%00".utf8)) == .badRequest)
            #expect(try await push(Array("&scope=openid&x=%zz".utf8)) == .badRequest)
        }
    }

    /// A right server refuses a name with a zero byte: a store might take what stands before it for the name.
    ///
    /// Source: CWE-158.
    @Test("a zero byte in an address or a body is no part of a name")
    func zeroBytes() async throws {
        try await ReportPlace.run { place in
            for path in [
                "/%00", "/sign-in%00", "/account/v1/sessions/x%00y", "/assets/%00.css", "/oauth2/authorize%00",
            ] {
                let answer = try await place.client.execute(uri: path, method: .get)
                #expect([400, 401, 404, 405].contains(answer.status.code), "\(path): \(answer.status)")
            }
            let (response, _) = try await place.client.send(
                .post, "/token/redeem/authentication", ["token": .string("a\u{0}b")])
            #expect(response.status == .badRequest)
        }
    }

    /// A right server reads JSON within bounds, and one name once: depth, size and repetition cost it nothing.
    ///
    /// Source: RFC 8259, sections 4 and 9; CWE-674 and CWE-400.
    @Test("deep, long and doubled JSON is refused before anything is done with it")
    func bombs() async throws {
        try await ReportPlace.run(hasRegistration: true) { place in
            let deep = String(repeating: "[", count: 20_000) + String(repeating: "]", count: 20_000)
            let texts = [
                deep, "{\"a\":\(deep)}", "{" + String(repeating: "\"a\":1,", count: 5000) + "\"b\":1}",
                "{\"token\":\"a\",\"token\":\"b\"}", "{\"a\":1e999999}", "{\"a\":\"\\uD800\"}",
                "[" + String(repeating: "1,", count: 200_000) + "1]", "\u{FEFF}{}", "{\"a\":NaN}",
            ]
            for path in ["/token/redeem/authentication", "/oauth2/register", "/uaf/1.1/authentication"] {
                for text in texts {
                    let answer = try await place.client.execute(
                        uri: path, method: .post, headers: [.contentType: "application/json"],
                        body: ByteBuffer(string: text))
                    #expect((400..<500).contains(answer.status.code), "\(path): \(answer.status)")
                }
            }
        }
    }

    /// A right server reads no XML where nothing of its is XML: entities expand, and name files.
    ///
    /// Source: CWE-776 and CWE-611.
    @Test("XML is of no type that is taken anywhere")
    func xml() async throws {
        try await ReportPlace.run { place in
            let bomb = "<!DOCTYPE a [<!ENTITY b SYSTEM \"file:///etc/passwd\">]><a>&b;</a>"
            for path in ["/oauth2/token", "/oauth2/par", "/token/redeem/authentication", "/sign-in/password"] {
                for type in ["application/xml", "text/xml", "application/soap+xml"] {
                    let answer = try await place.client.execute(
                        uri: path, method: .post, headers: [.contentType: type], body: ByteBuffer(string: bomb))
                    #expect(answer.status == .unsupportedMediaType, "\(path)")
                    #expect(!String(buffer: answer.body).contains("root:"))
                }
            }
        }
    }

    /// A right server takes JSON that says it is JSON: forms of other sites can send text of any kind.
    ///
    /// Source: the Fetch standard (simple requests); CWE-352.
    @Test("a form of another site that holds JSON is no request of a program")
    func simpleRequests() async throws {
        try await ReportPlace.run(hasRegistration: true) { place in
            for type in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"] {
                for path in ["/token/redeem/authentication", "/oauth2/register"] {
                    let answer = try await place.client.execute(
                        uri: path, method: .post, headers: [.contentType: type],
                        body: ByteBuffer(string: "{\"token\":\"x\"}"))
                    #expect(answer.status == .unsupportedMediaType, "\(path) \(type)")
                }
            }
        }
    }

    /// A right server writes an error as a document of its type: a name of a member that comes back is no page.
    ///
    /// Source: CVE-2021-20323 (Keycloak: a reflected name in the error of a registration).
    @Test("what a refusal repeats is never HTML")
    func reflection() async throws {
        try await ReportPlace.run(hasRegistration: true) { place in
            let markup = "<svg onload=alert(1)>"
            let registered = try await place.client.send(.post, "/oauth2/register", [markup: .string(markup)])
            let token = try await place.post("/oauth2/token", ["grant_type": markup, markup: markup])
            let userinfo = try await place.client.userinfo(markup)
            for answer in [registered.response, token.response, userinfo.response] {
                #expect(answer.headers[.contentType]?.hasPrefix("text/html") != true)
                #expect(answer.headers[.xContentTypeOptions] == "nosniff" || answer.body.readableBytes == 0)
            }
            #expect(registered.response.status == .unauthorized || registered.response.status == .badRequest)
        }
    }

    /// A right server serves its own files by their names alone.
    ///
    /// Source: CVE-2021-3856 (Keycloak: files by a theme's address).
    @Test("no address climbs out of the files that are served")
    func traversal() async throws {
        try await ReportPlace.run { place in
            for path in [
                "/assets/../../../../etc/passwd", "/assets/..%2f..%2f..%2fetc%2fpasswd",
                "/assets/%2e%2e/%2e%2e/etc/passwd",
                "/assets/....//....//etc/passwd", "/assets/..\\..\\etc\\passwd", "/assets//etc/passwd",
                "/assets/%252e%252e%252fetc%252fpasswd",
            ] {
                let answer = try await place.client.execute(uri: path, method: .get)
                #expect(answer.status == .notFound || answer.status == .badRequest, "\(path)")
                #expect(!String(buffer: answer.body).contains("root:"))
            }
        }
    }

    /// A right server's method is the method of the request.
    ///
    /// Source: CWE-650; RFC 9110, section 9.1.
    @Test("no field and no parameter makes another method of a GET")
    func methods() async throws {
        try await ReportPlace.run { place in
            let browser = try await place.signedIn()
            for name in ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"] {
                let field = try #require(HTTPField.Name(name))
                let answer = try await browser.get("/oauth2/token?grant_type=x&_method=POST", headers: [field: "POST"])
                #expect(answer.status == .methodNotAllowed)
            }
            for method in [HTTPRequest.Method.trace, .connect] {
                let answer = try await place.client.execute(uri: "/oauth2/token", method: method)
                #expect(answer.status == .methodNotAllowed || answer.status == .notFound)
            }
        }
    }

    /// A right server administers nothing for strangers, and says nothing of itself to them.
    ///
    /// Source: CWE-306; CVE-2020-27838 (Keycloak: a client's registration for everybody).
    @Test("administration, measurements and clients' registrations are for nobody without a credential")
    func administration() async throws {
        try await ReportPlace.run(hasRegistration: true) { place in
            for path in [
                "/admin/v1/accounts", "/admin/v1/clients", "/admin/v1/keys", "/admin/v1/audit",
                "/oauth2/register/\(place.party.id)",
            ] {
                for headers: HTTPFields in [[:], [.authorization: "Bearer x"], [.authorization: "Basic cm9vdDpyb290"]] {
                    let answer = try await place.client.send(.get, path, headers: headers)
                    #expect([401, 403, 404].contains(answer.response.status.code), "\(path)")
                    #expect(!answer.response.text.contains(place.party.id))
                }
            }
            for path in ["/metrics", "/debug/pprof", "/actuator", "/.env", "/.git/config"] {
                #expect(try await place.client.execute(uri: path, method: .get).status == .notFound, "\(path)")
            }
        }
    }

    /// A right server keeps names that look alike apart, and refuses those that nobody can tell apart.
    ///
    /// Source: CVE-2019-19844 (Django: an address of other letters was taken for the account's); Unicode Technical Standard 39.
    @Test("a name of other letters is no other spelling of an account's")
    func names() async throws {
        try await ReportPlace.run { place in
            let directory = place.server.assembly.directory
            for name in ["\u{430}lice", "alice\u{301}", "ali\u{212A}e", "\u{FF41}lice"] {
                let browser = TestBrowser(place.client)
                let request = try #require(try await browser.get(place.address()).redirectParameters["request"])
                let answer = try await place.show(PasswordPlace.password, as: name, request, browser)
                #expect(answer.status == .forbidden, "\(name)")
                let other = try? await directory.create(username: name, displayName: nil, by: "test")
                #expect(try await other?.id != directory.account(username: "alice").id)
            }
            await #expect(throws: (any Error).self) {
                try await directory.create(username: "alice", displayName: nil, by: "test")
            }
        }
    }

    /// A right server writes no line of its own choosing into a header.
    ///
    /// Source: CWE-113 (response splitting).
    @Test("a line break in a state or an address begins no header")
    func lineBreaks() async throws {
        try await ReportPlace.run { place in
            let browser = try await place.signedIn()
            let answer = try await browser.get(place.address(["state": "x\r\nSet-Cookie: a=b"]))
            #expect(answer.headers[values: .setCookie].allSatisfy { !$0.hasPrefix("a=b") })
            #expect(
                answer.headers[.location]?.contains("\r") != true && answer.headers[.location]?.contains("\n") != true)
            let posted = try await place.post("/oauth2/par", place.request(["redirect_uri": "http://a/\r\nX: y"]))
            #expect(posted.response.status == .badRequest)
        }
    }

    /// A right server has each client managed by its own token alone.
    ///
    /// Source: RFC 7592, section 3; CVE-2020-27838 (Keycloak).
    @Test("one registered client reads, changes and deletes no other one")
    func management() async throws {
        try await ReportPlace.run(hasRegistration: true) { place in
            let initial = try await place.server.withSocketClient { client in
                try await client.send(.post, "/admin/v1/registration-tokens", ["clients": .integer(2)]).object
                    .requiredString("token")
            }
            let body: JSONObject = [
                "redirect_uris": .array([.string("https://self.example/in")]),
                "id_token_signed_response_alg": .string("ES256"),
            ]
            var made: [JSONObject] = []
            for _ in 0..<2 {
                made.append(
                    try await place.client.send(
                        .post, "/oauth2/register", body, headers: [.authorization: "Bearer \(initial)"]
                    ).object)
            }
            let others = "Bearer \(try made[1].requiredString("registration_access_token"))"
            let path = "/oauth2/register/\(try made[0].requiredString("client_id"))"
            for method in [HTTPRequest.Method.get, .put, .delete] {
                let answer = try await place.client.send(
                    method, path, method == .put ? body : nil, headers: [.authorization: others])
                #expect(answer.response.status == .unauthorized, "\(method)")
            }
            let spent = try await place.client.send(
                .post, "/oauth2/register", body, headers: [.authorization: "Bearer \(initial)"])
            #expect(spent.response.status == .unauthorized)
        }
    }
}
