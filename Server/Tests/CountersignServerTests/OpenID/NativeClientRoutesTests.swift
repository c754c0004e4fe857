import CountersignServer
import CountersignTestKit
import Foundation
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

@Suite("RFC 8252: an app signs a person in over HTTP")
struct NativeClientRoutesTests {
    private static let addresses = ["com.example.app:/cb", "http://127.0.0.1/cb", "https://app.example/cb"]

    private func app(_ server: ServerFixture) async throws -> String {
        try await server.assembly.provider.clients.register(
            name: "App", redirectURIs: Self.addresses,
            settings: ClientSettings(idTokenAlgorithm: .es256, authenticationMethod: "none")
        ).client.id
    }

    private static let verifier = CodeVerifier(random: .system)

    private func begin(_ browser: TestBrowser, _ client: String, _ address: String) async throws -> (
        request: String, page: TestResponse
    ) {
        let query: OAuth.Parameters = [
            "response_type": "code", "client_id": client, "scope": "openid", "state": "s", "redirect_uri": address,
            "code_challenge": Self.verifier.challenge.text, "code_challenge_method": "S256",
        ]
        let answer = try await browser.get("/oauth2/authorize?" + query.encoded)
        let request = try #require(answer.redirectParameters["request"])
        let location = try #require(answer.headers[.location])
        return (request, try await browser.get(location))
    }

    @Test(
        "the page lets its form lead to where the app is, and the app is told",
        arguments: [
            ("com.example.app:/cb", "com.example.app:"), ("http://127.0.0.1:51004/cb", "http://127.0.0.1:51004"),
            ("https://app.example/cb", "https://app.example"),
        ])
    func signsIn(address: String, origin: String) async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let id = try await self.app(server)
            let phone = try await server.enrolledPhone(client)
            let browser = TestBrowser(client)
            let (first, page) = try await self.begin(browser, id, address)
            let policy = try #require(page.headers[.contentSecurityPolicy])
            #expect(policy.contains("form-action 'self' \(origin);"))
            let cancelled = try await browser.post("/sign-in/cancel", form: "request=\(first)")
            #expect(cancelled.status == .seeOther)
            #expect(cancelled.headers[.location]?.hasPrefix("\(address)?error=access_denied") == true)

            let (request, open) = try await self.begin(browser, id, address)
            _ = try await phone.authenticate(try server.typedPayload(open))
            let done = try await browser.get("/sign-in/complete?request=\(request)")
            #expect(done.status == .seeOther && done.headers[.location]?.hasPrefix(address + "?code=") == true)
            let code = try #require(done.redirectParameters["code"])
            let form: OAuth.Parameters = [
                "grant_type": "authorization_code", "code": code, "redirect_uri": address, "client_id": id,
                "code_verifier": Self.verifier.text,
            ]
            let answer = try await client.execute(
                uri: "/oauth2/token", method: .post, headers: [.contentType: "application/x-www-form-urlencoded"],
                body: ByteBuffer(string: form.encoded))
            #expect(answer.status == .ok)
        }
    }

    @Test("an app's identifier alone opens nothing that is for services")
    func services() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let id = try await self.app(server)
            for credentials in ["\(id):", "\(id):x", ":"] {
                let basic = "Basic " + Data(credentials.utf8).base64EncodedString()
                let answer = try await client.send(
                    .post, "/token/dispatch/authentication", ["client_id": .string(id)],
                    headers: [.authorization: basic])
                #expect(answer.response.status == .unauthorized)
            }
        }
    }
}
