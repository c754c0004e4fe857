import Accounts
import CountersignServer
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import OAuthProvider
import Records
import SQLStore
import Testing
import _Primitives

@Suite("Admin API: other providers, and who is connected with them (decision 45)")
struct UpstreamAdministrationTests {
    private static let body: JSONObject = [
        "name": .string("staff"), "issuer": .string("https://id.staff.example"), "clientId": .string("here"),
        "clientSecret": .string("a secret of theirs"),
    ]

    private static func with(_ changes: [String: JSON?]) -> JSONObject {
        var body = Self.body
        for (name, value) in changes { body[name] = value }
        return body
    }

    @Test("one is added, listed, shown, changed and removed, and its secret is never shown nor kept open")
    func whole() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            let added = try await client.send(.post, "/admin/v1/providers", Self.body)
            #expect(added.response.status == .created)
            #expect(try added.object.string("title") == "staff" && added.object.string("newcomers") == "refused")
            #expect(
                try added.object.string("redirectUri") == "http://localhost:8080/sign-in/provider/staff/callback")
            #expect(try added.object.strings("scopes") == ["openid", "profile", "email"])
            #expect(try added.object.string("usualLevel") == "urn:countersign:acr:one-factor")
            let level: JSON = .object([
                "theirs": .string("https://refeds.org/profile/mfa"), "ours": .string("urn:countersign:acr:two-factor"),
            ])
            let changed = try await client.send(
                .patch, "/admin/v1/providers/staff", ["title": .string("Staff"), "levels": .array([level])])
            #expect(changed.response.status == .ok && changed.object["levels"] == .array([level]))
            let shown = try await client.send(.get, "/admin/v1/providers/staff")
            #expect(shown.object == changed.object)
            let listed = try await client.send(.get, "/admin/v1/providers")
            #expect(try listed.object.array("providers") == [.object(shown.object)])
            for answer in [added, changed, shown, listed] {
                #expect(answer.response.text.contains("a secret of theirs") == false)
            }
            let conflict = try await client.send(.post, "/admin/v1/providers", Self.body)
            #expect(conflict.response.status == .conflict)
            let files = try FileManager.default.contentsOfDirectory(atPath: server.folder)
            #expect(files.contains("countersign.sqlite"))
            for file in files where file.hasPrefix("countersign.sqlite") {
                let data = try #require(FileManager.default.contents(atPath: "\(server.folder)/\(file)"))
                #expect(data.range(of: Data("a secret of theirs".utf8)) == nil)
            }
            #expect(try await client.send(.delete, "/admin/v1/providers/staff").response.status == .noContent)
            for method in [HTTPRequest.Method.get, .delete] {
                #expect(try await client.send(method, "/admin/v1/providers/staff").response.status == .notFound)
            }
            let gone = try await client.send(.patch, "/admin/v1/providers/staff", ["title": .string("a")])
            #expect(gone.response.status == .notFound)
        }
    }

    @Test("one that speaks OAuth 2.0 alone has three addresses")
    func oauth2() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            let addresses: [String: JSON?] = [
                "kind": .string("oauth2"), "authorizationEndpoint": .string("https://a.example/authorize"),
                "tokenEndpoint": .string("https://a.example/token"),
                "userinfoEndpoint": .string("https://a.example/me"),
                "subjectClaim": .string("id"), "scopes": .array([]),
            ]
            let added = try await client.send(.post, "/admin/v1/providers", Self.with(addresses))
            #expect(added.response.status == .created)
            #expect(try added.object.string("userinfoEndpoint") == "https://a.example/me")
            #expect(try added.object.string("subjectClaim") == "id" && added.object.strings("scopes") == [])
            let half = try await client.send(
                .patch, "/admin/v1/providers/staff", ["tokenEndpoint": .string("https://a.example/token")])
            #expect(half.response.status == .badRequest)
        }
    }

    private static let wrong: [JSONObject] = [
        with(["name": nil]), with(["issuer": nil]), with(["clientId": nil]), with(["name": .string("Staff")]),
        with(["issuer": .string("http://id.staff.example")]), with(["kind": .string("saml")]),
        with(["clientSecret": nil]), with(["tokenEndpointAuthMethod": .string("tls_client_auth")]),
        with(["newcomers": .string("yes")]), with(["levels": .array([.string("a")])]),
        with(["levels": .array([.object(["theirs": .string("a")])])]), with(["usualLevel": .string("aal2")]),
        with(["scopes": .string("openid")]), with(["emailDomains": .array([.integer(1)])]),
        with(["enabled": .bool(true)]),
    ]

    @Test("what is no provider is refused with a sentence", arguments: wrong.indices)
    func refused(index: Int) async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            let answer = try await client.send(.post, "/admin/v1/providers", Self.wrong[index])
            #expect(answer.response.status == .badRequest, "\(Self.wrong[index])")
            #expect(try await client.send(.get, "/admin/v1/providers").object.array("providers") == [])
        }
    }

    @Test("a change of nothing is none")
    func nothing() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            _ = try await client.send(.post, "/admin/v1/providers", Self.body)
            #expect(try await client.send(.patch, "/admin/v1/providers/staff", [:]).response.status == .badRequest)
        }
    }

    /// Answers each call with one document.
    private struct OneDocument: OutgoingCalls {
        let text: String

        func send(_ call: OutgoingCall) async throws -> OutgoingAnswer {
            guard !self.text.isEmpty else { throw OutgoingCallError("there is no connection to it") }
            return OutgoingAnswer(status: 200, body: Array(self.text.utf8))
        }
    }

    private static func document(issuer: String = "https://id.staff.example", keys: Bool = true) -> String {
        var document: JSONObject = [
            "issuer": .string(issuer), "authorization_endpoint": .string("https://id.staff.example/authorize"),
            "token_endpoint": .string("https://id.staff.example/token"),
        ]
        if keys { document["jwks_uri"] = .string("https://id.staff.example/keys") }
        return JSON.object(document).text
    }

    @Test(
        "who adds one is told the reason why nobody can come by it yet, and it is added all the same",
        arguments: [
            (document(), nil), ("", "its discovery document cannot be had: there is no connection to it"),
            (document(issuer: "https://other.example"), "its discovery document is of another issuer than --issuer"),
            (document(keys: false), "its discovery document cannot be had: it lacks an"),
            ("{", "its discovery document"),
        ])
    func trouble(text: String, reason: String?) async throws {
        let server = try await ServerFixture(calls: OneDocument(text: text))
        try await server.withSocketClient { client in
            let added = try await client.send(.post, "/admin/v1/providers", Self.body)
            #expect(added.response.status == .created)
            let told = try added.object.string("trouble")
            #expect(reason.map { told?.hasPrefix($0) == true } ?? (told == nil), "\(told ?? "nothing")")
            let shown = try await client.send(.get, "/admin/v1/providers/staff")
            #expect(shown.response.status == .ok && shown.object["trouble"] == nil)
        }
    }

    @Test("an account without a user name is managed by its identifier, and its connection is listed and ended")
    func links() async throws {
        try await TwoServers.run(settings: ["newcomers": .string("created")]) { two async throws in
            _ = try await two.claims(try await two.signIn(try await two.open()))
            let account = try #require(try await two.server.assembly.directory.accounts().first)
            try await two.server.withSocketClient { client in
                let path = "/admin/v1/accounts/id:\(account.id)"
                let shown = try await client.send(.get, path)
                #expect(try shown.object.string("id") == account.id && shown.object["username"] == nil)
                let listed = try await client.send(.get, "/admin/v1/accounts?after=id:\(account.id)")
                #expect(try listed.object.array("accounts") == [])
                let links = try #require(try await client.send(.get, path + "/links").object.array("links"))
                guard case .object(let link)? = links.first, links.count == 1 else {
                    Issue.record("not one link: \(links)")
                    return
                }
                #expect(try link.string("provider") == "staff" && link.string("issuer") == TwoServers.upstream)
                let sessions = try await client.send(.get, path + "/sessions").object.array("sessions")
                #expect(sessions?.count == 1)
                let id = try link.requiredString("id")
                #expect(try await client.send(.delete, path + "/links/\(id)").response.status == .noContent)
                #expect(try await client.send(.delete, path + "/links/\(id)").response.status == .notFound)
                #expect(try await client.send(.get, path + "/sessions").object.array("sessions") == [])
                for missing in ["nobody", "id:nobody"] {
                    #expect(
                        try await client.send(.get, "/admin/v1/accounts/\(missing)/links").response.status == .notFound)
                }
                // It can be locked, and given a user name.
                #expect(try await client.send(.post, path + "/lock").response.status == .ok)
                let named = try await client.send(.patch, path, ["username": .string("pat")])
                #expect(try named.object.string("username") == "pat")
                #expect(try await client.send(.get, "/admin/v1/accounts/pat").object.string("id") == account.id)
                #expect(try await client.send(.get, path).object.string("username") == "pat")
                #expect(try await client.send(.delete, path).response.status == .noContent)
                #expect(try await client.send(.get, path).response.status == .notFound)
            }
        }
    }
}
