import CountersignServer
import CountersignTestKit
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JOSE
import NIOCore
import Records
import SQLStore
import Testing
import _Primitives

@Suite("Admin API: kinds of clients")
struct ClientKindAdministrationTests {
    private static func body(_ changes: JSONObject, at address: String = "https://bank.example/in") -> JSONObject {
        let base: JSONObject = ["name": .string("Bank"), "redirectUris": .array([.string(address)])]
        return JSONObject(base.members.map { ($0.name, $0.value) } + changes.members.map { ($0.name, $0.value) })
    }

    private static func keys() throws -> JSON {
        let kept = try SigningKey.make(.edDSA, random: .system)
        let key = try SigningKey(kept: kept, algorithm: .edDSA, keyID: "k").publicKey
        return .object(JWKSet(key.map { [$0] } ?? []).publicJSON)
    }

    @Test("what a client may do and how it proves itself are set, shown and changed")
    func settings() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            let usual = try await client.send(.post, "/admin/v1/clients", Self.body([:])).object
            #expect(usual["grantTypes"] == .array([.string("authorization_code")]))
            #expect(usual["tokenEndpointAuthMethod"] == .string("client_secret_basic"))
            #expect(usual["jwks"] == nil && usual["clientSecret"] != nil)
            let keys = try Self.keys()
            let signing = try await client.send(
                .post, "/admin/v1/clients",
                Self.body(["tokenEndpointAuthMethod": .string("private_key_jwt"), "jwks": keys]))
            #expect(signing.response.status == .created)
            #expect(signing.object["jwks"] == keys && signing.object["clientSecret"] == nil)
            let app = try await client.send(
                .post, "/admin/v1/clients",
                Self.body(["tokenEndpointAuthMethod": .string("none")], at: "com.example.app:/cb"))
            #expect(app.response.status == .created && app.object["clientSecret"] == nil)
            let path = "/admin/v1/clients/\(try app.object.requiredString("clientId"))"
            let changed = try await client.send(
                .patch, path, ["jwks": keys, "grantTypes": .array([.string("authorization_code")])])
            #expect(changed.object["jwks"] == keys)
            #expect(try await client.send(.get, path).object == changed.object)
            #expect(try await client.send(.patch, path, ["jwks": .object([:])]).object["jwks"] == nil)
            let listed = try await client.send(.get, "/admin/v1/clients").object.array("clients")
            let shown = try await client.send(.get, path).object
            #expect(listed?.contains(.object(shown)) == true)
            // A secret of one that has none.
            let rotated = try await client.send(.post, path + "/secret", [:])
            #expect(rotated.response.status == .badRequest)
            #expect(try rotated.object.string("detail") == "The client has no secret: it authenticates by none.")
        }
    }

    @Test("whether an app signs people in without a browser is set, shown and changed, and held against what it is")
    func directSignIn() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            let usual = try await client.send(.post, "/admin/v1/clients", Self.body([:])).object
            #expect(usual["signsInDirectly"] == .bool(false))
            let marked = try await client.send(
                .post, "/admin/v1/clients", Self.body(["signsInDirectly": .bool(true)])
            ).object
            #expect(marked["signsInDirectly"] == .bool(true))
            let path = "/admin/v1/clients/\(try usual.requiredString("clientId"))"
            let changed = try await client.send(.patch, path, ["signsInDirectly": .bool(true)])
            #expect(changed.object["signsInDirectly"] == .bool(true))
            #expect(try await client.send(.get, path).object["signsInDirectly"] == .bool(true))
            for refused: JSONObject in [
                ["party": .string("third-party")], ["signsInDirectly": .string("yes")],
                ["profile": .string("fapi2"), "tokenEndpointAuthMethod": .string("private_key_jwt")],
                ["grantTypes": .array([.string("client_credentials")])],
            ] {
                let answer = try await client.send(.patch, path, refused)
                #expect(answer.response.status == .badRequest, "\(JSON.object(refused).text)")
            }
            let freed = try await client.send(
                .patch, path, ["signsInDirectly": .bool(false), "party": .string("third-party")])
            #expect(freed.object["signsInDirectly"] == .bool(false))
        }
    }

    @Test("what is asked of a client's requests is set, shown and changed")
    func profiles() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            let usual = try await client.send(.post, "/admin/v1/clients", Self.body([:])).object
            #expect(usual["profile"] == .string("usual") && usual["origins"] == .array([]))
            #expect(usual["requireSignedRequestObject"] == .bool(false))
            let bank = try await client.send(
                .post, "/admin/v1/clients",
                Self.body([
                    "profile": .string("fapi2"), "requireSignedRequestObject": .bool(true),
                    "tokenEndpointAuthMethod": .string("private_key_jwt"), "jwks": Self.keys(),
                    "idTokenSignedResponseAlg": .string("ES256"),
                ]))
            #expect(bank.response.status == .created)
            #expect(bank.object["profile"] == .string("fapi2"))
            #expect(bank.object["requireSignedRequestObject"] == .bool(true))
            let path = "/admin/v1/clients/\(try bank.object.requiredString("clientId"))"
            for refused: JSONObject in [
                ["idTokenSignedResponseAlg": .string("RS256")], ["profile": .string("fapi1")], ["profile": .bool(true)],
                ["origins": .array([.string("https://app.example")])], ["jwks": .object([:])],
            ] {
                let answer = try await client.send(.patch, path, refused)
                #expect(answer.response.status == .badRequest, "\(JSON.object(refused).text)")
            }
            let shown = try await client.send(.get, path).object
            #expect(shown["profile"] == .string("fapi2") && shown["jwks"] != nil)
            let freed = try await client.send(
                .patch, path, ["profile": .string("usual"), "requireSignedRequestObject": .bool(false)])
            #expect(freed.object["profile"] == .string("usual"))
            #expect(freed.object["requireSignedRequestObject"] == .bool(false))
            let app = try await client.send(
                .post, "/admin/v1/clients",
                Self.body([
                    "tokenEndpointAuthMethod": .string("none"),
                    "origins": .array([.string("https://app.example"), .string("http://127.0.0.1:5173")]),
                ]))
            #expect(
                app.object["origins"] == .array([.string("https://app.example"), .string("http://127.0.0.1:5173")]))
            let address = "/admin/v1/clients/\(try app.object.requiredString("clientId"))"
            for origin in [
                "*", "null", "", "https://app.example/", "https://app.example/a", "https://app.example?", "app.example",
                "http://app.example", "https://*.example", "com.example.app:",
            ] {
                let answer = try await client.send(.patch, address, ["origins": .array([.string(origin)])])
                #expect(answer.response.status == .badRequest, "\(origin)")
            }
            #expect(try await client.send(.patch, address, ["origins": .array([])]).object["origins"] == .array([]))
            let kinds = try await server.database.auditEntries(after: 0, limit: 99).map(\.event.kind.rawValue)
            #expect(kinds.filter { $0 == "client-profile-changed" }.count == 2)
        }
    }

    @Test("how a client hears what people answer, and what it may ask in detail, is set, shown and changed")
    func answersAndDetails() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            let usual = try await client.send(.post, "/admin/v1/clients", Self.body([:])).object
            #expect(usual["backchannelTokenDeliveryMode"] == .string("poll"))
            #expect(usual["backchannelClientNotificationEndpoint"] == nil)
            #expect(usual["authorizationDetailsTypes"] == .array([]))
            let told = try await client.send(
                .post, "/admin/v1/clients",
                Self.body([
                    "backchannelTokenDeliveryMode": .string("push"),
                    "backchannelClientNotificationEndpoint": .string("https://calls.example/answers"),
                    "authorizationDetailsTypes": .array([.string("payment")]),
                ]))
            #expect(told.response.status == .created)
            let path = "/admin/v1/clients/\(try told.object.requiredString("clientId"))"
            for refused: JSONObject in [
                ["backchannelTokenDeliveryMode": .string("mail")], ["backchannelTokenDeliveryMode": .bool(true)],
                ["backchannelClientNotificationEndpoint": .string("http://calls.example/answers")],
                ["backchannelClientNotificationEndpoint": .string("")],
                ["authorizationDetailsTypes": .array([.string("account_information")])],
                ["authorizationDetailsTypes": .string("payment")],
            ] {
                let answer = try await client.send(.patch, path, refused)
                #expect(answer.response.status == .badRequest, "\(JSON.object(refused).text)")
            }
            let shown = try await client.send(.get, path).object
            #expect(shown["backchannelTokenDeliveryMode"] == .string("push"))
            #expect(shown["backchannelClientNotificationEndpoint"] == .string("https://calls.example/answers"))
            #expect(shown["authorizationDetailsTypes"] == .array([.string("payment")]))
            let changed = try await client.send(
                .patch, path,
                [
                    "backchannelTokenDeliveryMode": .string("poll"),
                    "backchannelClientNotificationEndpoint": .string(""), "authorizationDetailsTypes": .array([]),
                ]
            ).object
            #expect(changed["backchannelTokenDeliveryMode"] == .string("poll"))
            #expect(changed["backchannelClientNotificationEndpoint"] == nil)
            #expect(changed["authorizationDetailsTypes"] == .array([]))
            let kinds = try await server.database.auditEntries(after: 0, limit: 99).map(\.event.kind.rawValue)
            #expect(kinds.filter { $0 == "client-answers-changed" }.count == 1)
            #expect(kinds.filter { $0 == "client-profile-changed" }.count == 1)
        }
    }

    @Test("what no client can be is refused with its reason, and nothing is made")
    func refusals() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            for (changes, reason) in [
                (["grantTypes": .array([])], "grant type"),
                (["grantTypes": .array([.string("password")])], "authorization_code"),
                (["tokenEndpointAuthMethod": .string("client_secret_jwt")], "private_key_jwt"),
                (["tokenEndpointAuthMethod": .string("private_key_jwt")], "needs its keys"),
                (["tokenEndpointAuthMethod": .string("none"), "pkce": .string("nonce")], "needs PKCE"),
                (["jwks": .object(["keys": .array([])])], "key set"),
            ] as [(JSONObject, String)] {
                let refused = try await client.send(.post, "/admin/v1/clients", Self.body(changes))
                #expect(refused.response.status == .badRequest)
                #expect(refused.object["type"] == .string("urn:countersign:error:invalid-client-metadata"))
                #expect(try refused.object.string("detail")?.contains(reason) == true, "\(changes)")
            }
            for changes: JSONObject in [
                ["grantTypes": .string("authorization_code")], ["tokenEndpointAuthMethod": .bool(true)],
                ["jwks": .string("{}")], ["jwks": .array([])],
            ] {
                let refused = try await client.send(.post, "/admin/v1/clients", Self.body(changes))
                #expect(refused.response.status == .badRequest)
            }
            let scheme = Self.body([:], at: "com.example.app:/cb")
            #expect(try await client.send(.post, "/admin/v1/clients", scheme).response.status == .badRequest)
            #expect(try await client.send(.get, "/admin/v1/clients").object["clients"] == .array([]))
        }
    }

    @Test("what tokens a client may have, and which are for it, are set, shown and changed")
    func tokens() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            func texts(_ texts: String...) -> JSON { .array(texts.map(JSON.string)) }
            let usual = try await client.send(.post, "/admin/v1/clients", Self.body([:])).object
            for name in ["scopes", "resources", "audiences", "subjectClients"] { #expect(usual[name] == .array([])) }
            #expect(usual["accessTokenFormat"] == .string("jwt"))
            // A service that only takes tokens needs no address, and no way to any.
            let owner = try await client.send(
                .post, "/admin/v1/clients",
                [
                    "name": .string("API"), "resources": texts("https://api.bank.example"),
                    "accessTokenFormat": .string("opaque"),
                ])
            #expect(owner.response.status == .created)
            #expect(owner.object["grantTypes"] == .array([]) && owner.object["redirectUris"] == .array([]))
            #expect(owner.object["accessTokenFormat"] == .string("opaque"))
            let service = try await client.send(
                .post, "/admin/v1/clients",
                [
                    "name": .string("Report"), "grantTypes": texts("client_credentials"), "scopes": texts("read"),
                    "audiences": texts("https://api.bank.example"), "subjectClients": texts("shop"),
                    "mayAct": .string("api"), "ssoGroup": .string("apps"),
                    "redirectUris": texts("https://bank.example/in"),
                ])
            #expect(service.object["subjectClients"] == texts("shop") && service.object["mayAct"] == .string("api"))
            #expect(service.object["ssoGroup"] == .string("apps"))
            #expect(service.response.status == .created && service.object["scopes"] == texts("read"))
            let path = "/admin/v1/clients/\(try service.object.requiredString("clientId"))"
            let changed = try await client.send(.patch, path, ["scopes": texts("read", "write"), "audiences": texts()])
            #expect(changed.object["scopes"] == texts("read", "write") && changed.object["audiences"] == .array([]))
            #expect(try await client.send(.get, path).object == changed.object)
            let none: JSONObject = ["subjectClients": texts(), "mayAct": .string(""), "ssoGroup": .string("")]
            let without = try await client.send(.patch, path, none).object
            #expect(without["subjectClients"] == .array([]) && without["mayAct"] == nil && without["ssoGroup"] == nil)
            let again = try await client.send(
                .patch, path,
                ["subjectClients": texts("shop"), "mayAct": .string("api"), "ssoGroup": .string("apps")])
            #expect(again.object == changed.object)
            // A long time for tokens that nothing binds has its warning; zero brings the server's own time back.
            let app = try await client.send(
                .post, "/admin/v1/clients",
                [
                    "name": .string("App"), "redirectUris": texts("https://app.example/in"),
                    "tokenEndpointAuthMethod": .string("none"), "usedRefreshTokenSeconds": .integer(3600),
                ]
            ).object
            #expect(app["usedRefreshTokenSeconds"] == .integer(3600))
            #expect(try app.strings("warnings")?.first?.contains("3600 seconds") == true)
            let usualTime = try await client.send(
                .patch, "/admin/v1/clients/\(try app.requiredString("clientId"))",
                ["usedRefreshTokenSeconds": .integer(0)]
            ).object
            #expect(usualTime["usedRefreshTokenSeconds"] == nil && usualTime["warnings"] == nil)
            for (changes, reason) in [
                (["resources": texts("https://api.bank.example")], "Another client owns"),
                (["resources": texts("nowhere")], "not absolute"), (["scopes": texts("openid")], "openid"),
                (["accessTokenFormat": .string("jwe")], "jwt or opaque"),
                (["subjectClients": texts("a", "a")], "twice"), (["mayAct": .string("a b")], "identifier of a client"),
                (["ssoGroup": .string("a b")], "letters, digits"),
                (["usedRefreshTokenSeconds": .integer(3601)], "1 to 3600 seconds"),
                (["usedRefreshTokenSeconds": .integer(-1)], "1 to 3600 seconds"),
            ] as [(JSONObject, String)] {
                let refused = try await client.send(.patch, path, changes)
                #expect(refused.response.status == .badRequest, "\(changes)")
                #expect(try refused.object.string("detail")?.contains(reason) == true, "\(changes)")
            }
            #expect(try await client.send(.get, path).object == changed.object)
            let nowhere = try await client.send(.post, "/admin/v1/clients", ["name": .string("Bank")])
            #expect(nowhere.response.status == .badRequest)
            #expect(try nowhere.object.string("detail") == "A redirect address is needed.")
        }
    }
}
