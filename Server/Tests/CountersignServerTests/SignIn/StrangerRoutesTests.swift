import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import OAuthProvider
import Records
import SQLStore
import Testing
import _Primitives

/// One client's document, at one address.
private struct OneClientDocument: OutgoingCalls {
    static let id = "https://app.example/client.json"
    /// The identifier, as a form or a query has it.
    static let written = "https%3A%2F%2Fapp.example%2Fclient.json"

    func send(_ call: OutgoingCall) async throws -> OutgoingAnswer {
        guard call.address == Self.id else { throw OutgoingCallError("there is no connection to it") }
        let text = """
            {"client_id": "\(Self.id)", "client_name": "Demo Bank", "redirect_uris": ["http://127.0.0.1:8081/callback"],
             "token_endpoint_auth_method": "none", "id_token_signed_response_alg": "ES256",
             "logo_uri": "https://app.example/logo.png"}
            """
        return OutgoingAnswer(status: 200, body: Array(text.utf8), mediaType: "application/json")
    }
}

@Suite("Services that nobody has registered, as people and their phones see them (decision 98)")
struct StrangerRoutesTests {
    @Test("the phone and the pages show the hosts, marked as not known, and the person is asked each time")
    func document() async throws {
        let server = try await ServerFixture(
            calls: OneClientDocument(), configure: { $0.takesClientDocuments = true })
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let app = RelyingParty(id: OneClientDocument.written, secret: "")
            let browser = TestBrowser(client)
            for round in 1...2 {
                let (request, page) = try await server.signInPage(browser, app)
                #expect(page.text.contains("app.example (not known to the operator)"))
                #expect(!page.text.contains("Demo Bank") && !page.text.contains("logo.png"))
                _ = try await phone.authenticate(try server.typedPayload(page))
                let requester = try #require(phone.person.asked.compactMap(\.requester).last)
                #expect(requester.service == "app.example (not known to the operator)")
                #expect(requester.origin == "http://127.0.0.1:8081")
                let completed = try await browser.get("/sign-in/complete?request=\(request)")
                let asked = try await browser.get(try #require(completed.headers[.location]))
                #expect(
                    asked.text.contains("data-testid=\"stranger\"")
                        && asked.text.contains("You are asked this each time"))
                #expect(!asked.text.contains("Demo Bank") && !asked.text.contains("asked this once"))
                #expect(try await server.database.clients().count == round - 1, "nothing is kept before a yes")
                let allowed = try await browser.post("/sign-in/consent", form: asked.hiddenFields + "&decision=allow")
                let code = try #require(allowed.redirectParameters["code"])
                let tokens = try await client.execute(
                    uri: "/oauth2/token", method: .post,
                    headers: [.contentType: "application/x-www-form-urlencoded"],
                    body: ByteBuffer(
                        string: "grant_type=authorization_code&code=\(code)&code_verifier=\(app.verifier)"
                            + "&redirect_uri=http%3A%2F%2F127.0.0.1%3A8081%2Fcallback"
                            + "&client_id=\(OneClientDocument.written)"))
                #expect(tokens.status == .ok)
            }
            #expect(try await server.database.clients().map(\.id) == [OneClientDocument.id])
        }
    }

    @Test("without the operator's word the identifier is that of no client")
    func off() async throws {
        let server = try await ServerFixture(calls: OneClientDocument())
        try await server.withPublicClient { client in
            let app = RelyingParty(id: OneClientDocument.written, secret: "")
            let refused = try await TestBrowser(client).get(app.authorizeAddress())
            #expect(refused.status == .badRequest && refused.text.contains("The client is not known here."))
        }
    }

    @Test("the operator sees such a client, switches it off by its address, and ends it")
    func operated() async throws {
        let server = try await ServerFixture(
            calls: OneClientDocument(),
            configure: {
                $0.takesClientDocuments = true
                $0.isRegistrationOpen = true
            })
        try await server.withPublicClient { client in
            let registered = try await client.send(
                .post, "/oauth2/register",
                [
                    "redirect_uris": .array([.string("https://self.example/in")]),
                    "id_token_signed_response_alg": .string("ES256"),
                ])
            #expect(registered.response.status == .created)
            let phone = try await server.enrolledPhone(client)
            let app = RelyingParty(id: OneClientDocument.written, secret: "")
            let browser = TestBrowser(client)
            let (request, page) = try await server.signInPage(browser, app)
            _ = try await phone.authenticate(try server.typedPayload(page))
            let completed = try await browser.get("/sign-in/complete?request=\(request)")
            let asked = try await browser.get(try #require(completed.headers[.location]))
            _ = try await browser.post("/sign-in/consent", form: asked.hiddenFields + "&decision=allow")
            try await server.withSocketClient { admin in
                let clients = try #require(try await admin.send(.get, "/admin/v1/clients").object.array("clients"))
                let ways = clients.compactMap { client -> String? in
                    guard case .object(let object) = client else { return nil }
                    return try? object.string("registeredBy")
                }
                #expect(Set(ways) == ["open-registration", "client-id-document"])
                let path = "/admin/v1/clients/\(OneClientDocument.written)"
                let off = try await admin.send(.patch, path, ["disabled": .bool(true)])
                #expect(off.response.status == .ok, "\(off.object)")
                let renamed = try await admin.send(.patch, path, ["name": .string("Known")])
                #expect(renamed.response.status == .badRequest)
            }
            #expect(try await browser.get(app.authorizeAddress()).status == .badRequest)
            try await server.withSocketClient { admin in
                let path = "/admin/v1/clients/\(OneClientDocument.written)"
                let deleted = try await admin.send(.delete, path)
                #expect(deleted.response.status == .noContent)
            }
            #expect(try await browser.get(app.authorizeAddress()).status == .seeOther)
        }
    }
}
