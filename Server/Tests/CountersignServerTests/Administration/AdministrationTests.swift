import Accounts
import CeremonyEngine
import CountersignServer
import CountersignTestKit
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Records
import SQLStore
import Settings
import Testing
import _Primitives

@Suite("Admin API: people")
struct AdministrationTests {
    @Test("adds, shows, lists, locks, unlocks and deletes a person")
    func accounts() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            let added = try await client.send(
                .post, "/admin/v1/accounts", ["username": .string("alice"), "displayName": .string("Alice A.")])
            #expect(added.response.status == .created)
            #expect(added.object["locked"] == .bool(false))
            let shown = try await client.send(.get, "/admin/v1/accounts/alice")
            #expect(shown.object["displayName"] == .string("Alice A."))
            #expect(try await client.send(.post, "/admin/v1/accounts/alice/lock").object["locked"] == .bool(true))
            #expect(try await client.send(.post, "/admin/v1/accounts/alice/unlock").object["locked"] == .bool(false))
            let listed = try await client.send(.get, "/admin/v1/accounts")
            #expect(try listed.object.array("accounts")?.count == 1)
            #expect(try await client.send(.get, "/admin/v1/accounts?after=alice").object["accounts"] == .array([]))
            #expect(try await client.send(.get, "/admin/v1/accounts?after=bob").response.status == .notFound)
            #expect(try await client.send(.get, "/admin/v1/accounts?after=%F").response.status == .badRequest)
            #expect(try await client.send(.delete, "/admin/v1/accounts/alice").response.status == .noContent)
            #expect(try await client.send(.get, "/admin/v1/accounts/alice").response.status == .notFound)
        }
    }

    @Test("a name that needs escaping is found by its escaped path")
    func escapedNames() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            _ = try await client.send(.post, "/admin/v1/accounts", ["username": .string("zoë/1")])
            #expect(try await client.send(.get, "/admin/v1/accounts/zo%C3%AB%2F1").response.status == .ok)
        }
    }

    @Test("a second account of one name is a conflict")
    func duplicates() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            _ = try await client.send(.post, "/admin/v1/accounts", ["username": .string("alice")])
            let second = try await client.send(.post, "/admin/v1/accounts", ["username": .string("alice")])
            #expect(second.response.status == .conflict)
            #expect(second.object["type"] == .string("urn:countersign:error:conflict"))
        }
    }

    @Test(
        "what is not there is 404, whatever is asked of it",
        arguments: [
            (HTTPRequest.Method.get, "/accounts/bob", "account"), (.delete, "/accounts/bob", "account"),
            (.post, "/accounts/bob/lock", "account"), (.post, "/accounts/bob/unlock", "account"),
            (.get, "/accounts/bob/devices", "account"), (.delete, "/devices/none", "device"),
            (.get, "/accounts/bob/sessions", "account"), (.delete, "/accounts/bob/sessions", "account"),
            (.get, "/accounts/bob/grants", "account"), (.delete, "/accounts/bob/grants", "account"),
            (.delete, "/clients/none", "client"), (.get, "/activations/none", "enrolment"),
            (.delete, "/tokens/none", "token"), (.post, "/tokens/none/rotate", "token"), (.get, "/nothing", ""),
        ])
    func missing(method: HTTPRequest.Method, path: String, thing: String) async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            let answer = try await client.send(method, "/admin/v1" + path)
            #expect(answer.response.status == .notFound)
            #expect(answer.response.headers[.contentType] == "application/problem+json")
            let detail = thing.isEmpty ? "There is nothing at this address." : "There is no such \(thing)."
            #expect(try answer.object.string("detail") == detail)
        }
    }

    @Test("a client's secret is shown once, and its addresses must be absolute")
    func clients() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            let added = try await client.send(
                .post, "/admin/v1/clients",
                ["name": .string("Bank"), "redirectUris": .array([.string("http://127.0.0.1:8081/callback")])])
            #expect(added.response.status == .created)
            #expect(try added.object.requiredString("clientSecret").utf8.count >= 22)
            let listed = try await client.send(.get, "/admin/v1/clients")
            let text = String(buffer: listed.response.body)
            #expect(text.contains(try added.object.requiredString("clientId")))
            #expect(!text.contains(try added.object.requiredString("clientSecret")))
            let refused = try await client.send(
                .post, "/admin/v1/clients",
                ["name": .string("Bank"), "redirectUris": .array([.string("http://bank.example/callback")])])
            #expect(refused.response.status == .badRequest)
            let path = "/admin/v1/clients/\(try added.object.requiredString("clientId"))"
            #expect(try await client.send(.delete, path).response.status == .noContent)
        }
    }

    @Test("what a service's OpenID library asks for is shown and changed, with the defaults of the standard")
    func clientSettings() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            let base: JSONObject = [
                "name": .string("Bank"), "redirectUris": .array([.string("http://127.0.0.1:8081/callback")]),
            ]
            func shown(_ object: JSONObject) -> [JSON?] { [object["idTokenSignedResponseAlg"], object["pkce"]] }
            let added = try await client.send(.post, "/admin/v1/clients", base)
            #expect(shown(added.object) == [.string("RS256"), .string("usual")])
            var other = base
            other["idTokenSignedResponseAlg"] = .string("PS256")
            other["pkce"] = .string("nonce")
            #expect(
                shown(try await client.send(.post, "/admin/v1/clients", other).object)
                    == [.string("PS256"), .string("nonce")])
            let path = "/admin/v1/clients/\(try added.object.requiredString("clientId"))"
            let changed = try await client.send(.patch, path, ["pkce": .string("nonce")])
            #expect(changed.response.status == .ok)
            #expect(shown(changed.object) == [.string("RS256"), .string("nonce")], "what is not named stays")
            let again = try await client.send(.patch, path, ["idTokenSignedResponseAlg": .string("EdDSA")])
            #expect(shown(again.object) == [.string("EdDSA"), .string("nonce")])
            for body: JSONObject in [
                ["idTokenSignedResponseAlg": .string("none")], ["idTokenSignedResponseAlg": .string("HS256")],
                ["idTokenSignedResponseAlg": .bool(true)], ["pkce": .string("off")], ["pkce": .bool(false)],
            ] {
                #expect(try await client.send(.patch, path, body).response.status == .badRequest)
                let refused = try await client.send(
                    .post, "/admin/v1/clients", JSONObject(base.members.map { ($0.name, $0.value) } + body.members))
                #expect(refused.response.status == .badRequest)
            }
            #expect(shown(try await client.send(.get, path).object) == [.string("EdDSA"), .string("nonce")])
        }
    }

    @Test("a person's e-mail address is set, changed and taken away, and says whether anybody vouches for it")
    func emails() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            let path = "/admin/v1/accounts/alice"
            let added = try await client.send(
                .post, "/admin/v1/accounts", ["username": .string("alice"), "email": .string("alice@post.example")])
            #expect(added.object["email"] == .string("alice@post.example"))
            #expect(added.object["emailVerified"] == .bool(false), "nobody vouches unless it is said")
            let set = try await client.send(
                .put, path + "/email", ["email": .string("a.b+c@x.example"), "emailVerified": .bool(true)])
            #expect(set.response.status == .ok && set.object["emailVerified"] == .bool(true))
            #expect(try await client.send(.get, path).object == set.object)
            for address in [
                "", "alice", "@post.example", "alice@", "a b@post.example", "alice@post..example", ".a@post.example",
                "alice@-post.example", "alice@post.example\n", "zo\u{EB}@post.example", "alice@b\u{FC}cher.example",
                "\"a\"@post.example", "a@[127.0.0.1]", "a@b@post.example",
                String(repeating: "a", count: 65) + "@x.example",
                "a@" + String(repeating: "x", count: 64) + ".example",
                "a@" + Array(repeating: "xxxxxxxxx", count: 26).joined(separator: "."),
            ] {
                let refused = try await client.send(.put, path + "/email", ["email": .string(address)])
                #expect(refused.response.status == .badRequest, "\(address)")
            }
            let other = try await client.send(
                .post, "/admin/v1/accounts", ["username": .string("bob"), "email": .string("bob")])
            #expect(other.response.status == .badRequest)
            let alone = try await client.send(
                .post, "/admin/v1/accounts", ["username": .string("bob"), "emailVerified": .bool(true)])
            #expect(alone.response.status == .badRequest)
            #expect(try await client.send(.get, path).object == set.object)
            #expect(try await client.send(.delete, path + "/email").object["email"] == nil)
            #expect(try await client.send(.get, path).object["emailVerified"] == nil)
            let missing = try await client.send(
                .put, "/admin/v1/accounts/nobody/email", ["email": .string("a@post.example")])
            #expect(missing.response.status == .notFound)
            let kinds = try await server.database.auditEntries(after: 0, limit: 99).map(\.event.kind.rawValue)
            #expect(kinds == ["account-created", "account-email-changed", "account-email-changed"])
        }
    }

    @Test("a person's telephone number and address are set, changed and taken away, each with its event")
    func contacts() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            let path = "/admin/v1/accounts/alice"
            _ = try await client.send(.post, "/admin/v1/accounts", ["username": .string("alice")])
            let phone = try await client.send(.put, path + "/phone", ["phone": .string("+4930901820")])
            #expect(phone.response.status == .ok && phone.object["phoneVerified"] == .bool(false))
            let sure = try await client.send(
                .put, path + "/phone", ["phone": .string("+15555550100"), "phoneVerified": .bool(true)])
            #expect(sure.object["phone"] == .string("+15555550100") && sure.object["phoneVerified"] == .bool(true))
            for number in [
                "", "+", "030901820", "+030901820", "+49 30 901820", "+493090182a", "+123456", "+1234567890123456",
                "4930901820", "+\u{664}930901820",
            ] {
                let refused = try await client.send(.put, path + "/phone", ["phone": .string(number)])
                #expect(refused.response.status == .badRequest, "\(number)")
            }
            let parts: JSONObject = [
                "formatted": .string("Main Road 1\n10178 Berlin"), "street_address": .string("Main Road 1"),
                "locality": .string("Berlin"), "postal_code": .string("10178"), "country": .string("DE"),
                "region": .string("BE"),
            ]
            let address = try await client.send(.put, path + "/address", parts)
            #expect(address.response.status == .ok && address.object["address"] == .object(parts))
            #expect(try await client.send(.get, path).object == address.object)
            let fewer = try await client.send(.put, path + "/address", ["locality": .string("Potsdam")])
            #expect(fewer.object["address"] == .object(["locality": .string("Potsdam")]))
            for wrong: JSONObject in [
                [:], ["locality": .string("")], ["locality": .string("a\nb")], ["country": .integer(7)],
                ["town": .string("Berlin")], ["locality": .string(String(repeating: "x", count: 257))],
                ["formatted": .string("a\tb")],
            ] {
                let refused = try await client.send(.put, path + "/address", wrong)
                #expect(refused.response.status == .badRequest, "\(wrong)")
            }
            #expect(try await client.send(.get, path).object == fewer.object)
            #expect(try await client.send(.delete, path + "/phone").object["phone"] == nil)
            let bare = try await client.send(.delete, path + "/address").object
            #expect(bare["address"] == nil && bare["phoneVerified"] == nil)
            for (name, body) in [("phone", ["phone": .string("+4930901820")]), ("address", parts)]
                as [(String, JSONObject)]
            {
                let missing = try await client.send(.put, "/admin/v1/accounts/nobody/\(name)", body)
                #expect(missing.response.status == .notFound)
            }
            let kinds = try await server.database.auditEntries(after: 0, limit: 99).map(\.event.kind.rawValue)
            #expect(
                kinds == [
                    "account-created", "account-phone-changed", "account-phone-changed", "account-address-changed",
                    "account-address-changed", "account-phone-changed", "account-address-changed",
                ])
        }
    }

    @Test("an e-mail address that is set or taken away is answered as the account is read afterwards")
    func addressesAsRead() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            let path = "/admin/v1/accounts/alice"
            _ = try await client.send(.post, "/admin/v1/accounts", ["username": .string("alice")])
            for method in [HTTPRequest.Method.put, .delete] {
                server.clock.advance(by: .seconds(60))
                let body: JSONObject? = method == .put ? ["email": .string("a@post.example")] : nil
                let answered = try await client.send(method, path + "/email", body).object
                let read = try await client.send(.get, path).object
                #expect(answered == read && read["updatedAt"] != read["createdAt"])
            }
        }
    }

    @Test("a person's profile is set as a whole, taken away, and refused where a claim is none of its kind")
    func profiles() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            let path = "/admin/v1/accounts/alice"
            let added = try await client.send(.post, "/admin/v1/accounts", ["username": .string("alice")])
            #expect(added.object["profile"] == nil && added.object["updatedAt"] == added.object["createdAt"])
            server.clock.advance(by: .seconds(60))
            let whole: JSONObject = [
                "given_name": .string("Alice"), "family_name": .string("O'Example"), "middle_name": .string("\u{C9}."),
                "picture": .string("https://pictures.example/a.png?size=2"), "locale": .string("zh-Hant-TW"),
                "zoneinfo": .string("America/Argentina/Buenos_Aires"),
            ]
            let set = try await client.send(.put, path + "/profile", whole)
            #expect(set.response.status == .ok && set.object["profile"] == .object(whole))
            #expect(set.object["updatedAt"] != set.object["createdAt"])
            #expect(try await client.send(.get, path).object == set.object)
            let fewer = try await client.send(.put, path + "/profile", ["locale": .string("de_CH")])
            #expect(fewer.object["profile"] == .object(["locale": .string("de_CH")]))
            for wrong: JSONObject in [
                [:], ["given_name": .string("")], ["given_name": .string("a\nb")], ["given_name": .integer(7)],
                ["given_name": .string(String(repeating: "x", count: 257))], ["nickname": .string("Al")],
                ["updated_at": .integer(7)], ["picture": .string("http://pictures.example/a.png")],
                ["picture": .string("javascript:alert(1)")], ["picture": .string("https://")],
                ["picture": .string("https://a.example/\"x")],
                ["picture": .string("https://a.example/" + String(repeating: "x", count: 1024))],
                ["locale": .string("d")], ["locale": .string("de-")], ["locale": .string("de CH")],
                ["locale": .string("de-abcdefghi")], ["locale": .string("1e")], ["zoneinfo": .string("/Europe")],
                ["zoneinfo": .string("Europe//Berlin")], ["zoneinfo": .string("Europe/Berlin!")],
                ["zoneinfo": .string("1/2")],
            ] {
                let refused = try await client.send(.put, path + "/profile", wrong)
                #expect(refused.response.status == .badRequest, "\(wrong)")
            }
            #expect(try await client.send(.get, path).object == fewer.object)
            #expect(try await client.send(.delete, path + "/profile").object["profile"] == nil)
            let missing = try await client.send(.put, "/admin/v1/accounts/nobody/profile", whole)
            #expect(missing.response.status == .notFound)
            let kinds = try await server.database.auditEntries(after: 0, limit: 99).map(\.event.kind.rawValue)
            #expect(
                kinds == ["account-created"] + [String](repeating: "account-profile-changed", count: 3))
        }
    }

    @Test("the rules of a service's requests and answers are set, shown and taken back, and wrong ones are refused")
    func rules() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            let added = try await client.send(
                .post, "/admin/v1/clients",
                ["name": .string("Bank"), "redirectUris": .array([.string("https://bank.example/")])])
            let path = "/admin/v1/clients/" + (try added.object.requiredString("clientId"))
            #expect(added.object["dpopBoundAccessTokens"] == .bool(false))
            #expect(added.object["requirePushedAuthorizationRequests"] == .bool(false))
            #expect(added.object["defaultMaxAge"] == nil && added.object["userinfoSignedResponseAlg"] == nil)
            let rules: JSONObject = [
                "dpopBoundAccessTokens": .bool(true), "requirePushedAuthorizationRequests": .bool(true),
                "defaultMaxAge": .integer(0), "userinfoSignedResponseAlg": .string("ES256"),
            ]
            _ = try await client.send(.patch, path, rules)
            let shown = try await client.send(.get, path)
            for rule in rules.members { #expect(shown.object[rule.name] == rule.value, "\(rule.name)") }
            for wrong: JSONObject in [
                ["defaultMaxAge": .integer(1_000_000_000)], ["defaultMaxAge": .string("1")],
                ["userinfoSignedResponseAlg": .string("HS256")], ["dpopBoundAccessTokens": .string("yes")],
                ["requirePushedAuthorizationRequests": .integer(1)],
            ] { #expect(try await client.send(.patch, path, wrong).response.status == .badRequest, "\(wrong)") }
            let taken = try await client.send(
                .patch, path,
                [
                    "dpopBoundAccessTokens": .bool(false), "requirePushedAuthorizationRequests": .bool(false),
                    "defaultMaxAge": .integer(-1), "userinfoSignedResponseAlg": .string("none"),
                ])
            #expect(taken.object["dpopBoundAccessTokens"] == .bool(false))
            #expect(taken.object["requirePushedAuthorizationRequests"] == .bool(false))
            #expect(taken.object["defaultMaxAge"] == nil && taken.object["userinfoSignedResponseAlg"] == nil)
        }
    }

    @Test("whom assertions name, and whether a refresh gives an ID token, are shown and changed, with events")
    func librarySettings() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            let key: JSON = .object([
                "keys": .array([
                    .object([
                        "kty": .string("OKP"), "crv": .string("Ed25519"),
                        "x": .string("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"),
                    ])
                ])
            ])
            let body: JSONObject = [
                "name": .string("Shop"), "redirectUris": .array([.string("http://127.0.0.1:8081/callback")]),
                "tokenEndpointAuthMethod": .string("private_key_jwt"), "jwks": key,
                "idTokenSignedResponseAlg": .string("ES256"),
            ]
            let added = try await client.send(.post, "/admin/v1/clients", body)
            #expect(added.object["assertionAudience"] == .string("issuer"))
            #expect(added.object["idTokenAtRefresh"] == .bool(true) && added.object["warnings"] == nil)
            let path = "/admin/v1/clients/\(try added.object.requiredString("clientId"))"
            let changed = try await client.send(
                .patch, path,
                [
                    "assertionAudience": .string("token-endpoint"), "idTokenAtRefresh": .bool(false),
                    "pkce": .string("none"),
                ])
            #expect(changed.response.status == .ok && changed.object["pkce"] == .string("none"))
            #expect(changed.object["assertionAudience"] == .string("token-endpoint"))
            #expect(changed.object["idTokenAtRefresh"] == .bool(false))
            #expect(try changed.object.strings("warnings")?.count == 2)
            #expect(try await client.send(.get, path).object == changed.object)
            for wrong: JSONObject in [
                ["assertionAudience": .string("anybody")], ["assertionAudience": .bool(true)],
                ["idTokenAtRefresh": .string("yes")], ["tokenEndpointAuthMethod": .string("client_secret_basic")],
                ["party": .string("third-party")],
            ] {
                #expect(try await client.send(.patch, path, wrong).response.status == .badRequest, "\(wrong)")
            }
            let kinds = try await server.database.auditEntries(after: 0, limit: 99).map(\.event.kind.rawValue)
            #expect(
                Set(kinds.dropFirst()) == [
                    "client-pkce-changed", "client-authentication-changed", "client-tokens-changed",
                ])
        }
    }

    @Test(
        "an address at localhost is registered with a warning that names 127.0.0.1, and a refusal names what is wrong")
    func redirectAddresses() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            func add(_ address: String, _ others: JSONObject = [:]) async throws -> JSONObject {
                var body: JSONObject = [
                    "name": .string("Shop"), "redirectUris": .array([.string(address)]),
                    "idTokenSignedResponseAlg": .string("ES256"),
                ]
                for (name, value) in others.members { body[name] = value }
                return try await client.send(.post, "/admin/v1/clients", body).object
            }
            let app: JSONObject = ["tokenEndpointAuthMethod": .string("none")]
            for others in [[:], app] {
                let added = try await add("http://localhost:3000/callback", others)
                #expect(added["clientId"] != nil)
                let warnings = try #require(try added.strings("warnings"))
                #expect(warnings.count == 1 && warnings[0].contains("http://127.0.0.1:3000/callback"))
            }
            let scheme = try await add("com.example.app://callback", app)
            #expect(scheme["clientId"] != nil && scheme["warnings"] == nil)
            for (address, others, reason) in [
                ("http://bank.example/in", [:], "use https, or http://127.0.0.1"),
                ("com.example.app://callback", [:], "only an app without a secret or a key can have"),
                ("myapp://callback", app, "no domain in reverse"), ("https://a@bank.example/", [:], "names a user"),
                ("https://bank.example/#a", [:], "has a fragment"), ("/in", [:], "begins with no scheme"),
            ] as [(String, JSONObject, String)] {
                let detail = try await add(address, others).string("detail")
                #expect(detail?.contains(reason) == true, "\(address): \(detail ?? "")")
            }
            for origin in ["capacitor://localhost", "http://localhost:8100", "https://app.example"] {
                let added = try await add(
                    "https://app.example/in",
                    [
                        "tokenEndpointAuthMethod": .string("none"), "origins": .array([.string(origin)]),
                    ])
                #expect(added["clientId"] != nil, "\(origin)")
            }
            for origin in ["capacitor://localhost/", "capacitor://other", "ionic://localhost", "http://app.example"] {
                let refused = try await add(
                    "https://app.example/in",
                    [
                        "tokenEndpointAuthMethod": .string("none"), "origins": .array([.string(origin)]),
                    ])
                #expect(try refused.string("detail")?.contains("capacitor://localhost") == true, "\(origin)")
            }
        }
    }

    @Test("whose a service is is shown and changed, with an event")
    func clientParties() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            let body: JSONObject = [
                "name": .string("Shop"), "redirectUris": .array([.string("http://127.0.0.1:8081/callback")]),
                "idTokenSignedResponseAlg": .string("ES256"),
            ]
            let own = try await client.send(.post, "/admin/v1/clients", body)
            #expect(own.object["party"] == .string("first-party"), "nobody is asked unless it is said")
            let path = "/admin/v1/clients/\(try own.object.requiredString("clientId"))"
            let other = try await client.send(.patch, path, ["party": .string("third-party")])
            #expect(other.response.status == .ok && other.object["party"] == .string("third-party"))
            #expect(try await client.send(.get, path).object == other.object)
            for wrong: JSON in [.string("third"), .string(""), .bool(true)] {
                #expect(try await client.send(.patch, path, ["party": wrong]).response.status == .badRequest)
            }
            let added = try await client.send(
                .post, "/admin/v1/clients",
                JSONObject(body.members.map { ($0.name, $0.value) } + [("party", .string("third-party"))]))
            #expect(added.object["party"] == .string("third-party"))
            let events = try await server.database.auditEntries(after: 0, limit: 99).map(\.event)
            #expect(events.map(\.kind.rawValue) == ["client-added", "client-party-changed", "client-added"])
            #expect(try events[1].detail == "\(own.object.requiredString("clientId")) third-party")
        }
    }

    @Test("what a service may do is shown and changed, with an event that names the operator")
    func clientPermissions() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            let redirects: JSON = .array([.string("http://127.0.0.1:8081/callback")])
            let added = try await client.send(
                .post, "/admin/v1/clients", ["name": .string("Bank"), "redirectUris": redirects])
            #expect(added.object["mayDeregister"] == .bool(false), "nothing is allowed unless it is said")
            let id = try added.object.requiredString("clientId")
            let path = "/admin/v1/clients/\(id)"
            let changed = try await client.send(.patch, path, ["mayDeregister": .bool(true)])
            #expect(changed.response.status == .ok && changed.object["mayDeregister"] == .bool(true))
            let shown = try await client.send(.get, path)
            #expect(shown.object == changed.object && shown.object["name"] == .string("Bank"))
            for body: JSONObject in [[:], ["mayDeregister": .string("no")], ["clientId": .string("Bank")]] {
                #expect(try await client.send(.patch, path, body).response.status == .badRequest)
            }
            #expect(try await client.send(.get, path).object == shown.object)
            let taken = try await client.send(.patch, path, ["mayDeregister": .bool(false)])
            #expect(taken.object["mayDeregister"] == .bool(false))
            let trusted = try await client.send(
                .post, "/admin/v1/clients",
                ["name": .string("Desk"), "redirectUris": redirects, "mayDeregister": .bool(true)])
            #expect(trusted.object["mayDeregister"] == .bool(true))
            for method in [HTTPRequest.Method.get, .patch] {
                let never = try await client.send(
                    method, "/admin/v1/clients/never", method == .patch ? ["mayDeregister": .bool(true)] : nil)
                #expect(never.response.status == .notFound)
            }
            let document = try await client.send(.get, "/admin/v1/openapi.json").object
            let described = try document.requiredObject("paths").requiredObject("/clients/{id}")
            #expect(described["get"] != nil)
            #expect(String(JSON.object(try described.requiredObject("patch")).text).contains("mayDeregister"))
            let events = try await server.database.auditEntries(after: 0, limit: 99).map(\.event)
                .filter { $0.detail == id && $0.actor == "socket" }
            #expect(
                events.map(\.kind.rawValue) == ["client-added", "client-may-deregister", "client-may-not-deregister"])
        }
    }

    @Test("a service more than there can be is a conflict, in words")
    func tooManyClients() async throws {
        var limits = Limits()
        limits.oauth.clients = 1
        let server = try await ServerFixture(limits: limits)
        try await server.withSocketClient { client in
            let body: JSONObject = [
                "name": .string("Bank"), "redirectUris": .array([.string("http://127.0.0.1:8081/callback")]),
            ]
            #expect(try await client.send(.post, "/admin/v1/clients", body).response.status == .created)
            let second = try await client.send(.post, "/admin/v1/clients", body)
            #expect(second.response.status == .conflict)
            #expect(second.object["type"] == .string("urn:countersign:error:too-many-clients"))
            #expect(try second.object.requiredString("detail").contains("Delete one"))
            let document = try await client.send(.get, "/admin/v1/openapi.json").object
            let answers = try document.requiredObject("paths").requiredObject("/clients").requiredObject("post")
                .requiredObject("responses")
            #expect(answers["409"] != nil)
        }
    }

    @Test("an activation is made for somebody who is there, and shown by its id")
    func activations() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            let body: JSONObject = ["username": .string("alice")]
            #expect(try await client.send(.post, "/admin/v1/activations", body).response.status == .notFound)
            _ = try await client.send(.post, "/admin/v1/accounts", body)
            let made = try await client.send(.post, "/admin/v1/activations", body)
            #expect(made.response.status == .created)
            #expect(try made.object.requiredString("link").hasPrefix("http://localhost:8080/open?"))
            _ = try await client.send(.post, "/admin/v1/accounts/alice/lock")
            let locked = try await client.send(.post, "/admin/v1/activations", body)
            #expect(locked.response.status == .forbidden)
            #expect(locked.object["type"] == .string("urn:countersign:error:locked"))
            let path = "/admin/v1/activations/\(try made.object.requiredString("id"))"
            #expect(try await client.send(.get, path).object["state"] == .string("created"))
            let early = try await client.send(.post, path + "/confirm", ["number": .string("123456")])
            #expect(early.response.status == .conflict)
        }
    }
}

@Suite("Admin API: who may call")
struct AdminAuthorizationTests {
    @Test("the public listener takes a token that came of the one-time link, and nothing else")
    func tokens() async throws {
        let server = try await ServerFixture()
        let secret = try #require(try await server.assembly.administrators.makeLinkIfNone())
        try await server.withPublicClient { client in
            let refused = try await client.send(.get, "/admin/v1/accounts")
            #expect(refused.response.status == .unauthorized)
            #expect(refused.response.headers[.wwwAuthenticate] == "Bearer")
            let wrong = try await client.send(
                .get, "/admin/v1/accounts", headers: [.authorization: "Bearer \(secret)"])
            #expect(wrong.response.status == .unauthorized)
            let made = try await client.send(.post, "/admin/v1/tokens", ["secret": .string(secret)])
            #expect(made.response.status == .created)
            let token = try made.object.requiredString("token")
            let allowed = try await client.send(
                .get, "/admin/v1/accounts", headers: [.authorization: "Bearer \(token)"])
            #expect(allowed.response.status == .ok)
            let again = try await client.send(.post, "/admin/v1/tokens", ["secret": .string(secret)])
            #expect(again.response.status != .created)
        }
        #expect(try await server.assembly.administrators.makeLinkIfNone() == nil)
    }

    @Test("a right secret counts as no guess")
    func rightSecretIsNoGuess() async throws {
        var limits = Limits()
        limits.guessBurst = 1
        let server = try await ServerFixture(limits: limits)
        let administrators = server.assembly.administrators
        let secret = try #require(try await administrators.makeLinkIfNone())
        _ = try await administrators.redeem(secret: secret, source: "a")
        await #expect(throws: AccountError(.notFound)) {
            _ = try await administrators.redeem(secret: secret, source: "a")
        }
        await #expect(throws: AccountError(.tooManyRequests)) {
            _ = try await administrators.redeem(secret: secret, source: "a")
        }
    }

    /// The token of the first administrator, and their id.
    private func administrator(_ server: ServerFixture) async throws -> (token: String, id: String) {
        let secret = try #require(try await server.assembly.administrators.makeLinkIfNone())
        let token = try await server.assembly.administrators.redeem(secret: secret, source: "a")
        return (token, try #require(try await server.assembly.administrators.administrator(token: token)))
    }

    @Test("tokens are listed without their secrets, and a revoked one is refused at once")
    func revocation() async throws {
        let server = try await ServerFixture()
        let (token, id) = try await self.administrator(server)
        let headers: HTTPFields = [.authorization: "Bearer \(token)"]
        try await server.withPublicClient { client in
            let listed = try await client.send(.get, "/admin/v1/tokens", headers: headers)
            guard case .object(let entry)? = try listed.object.array("tokens")?.first else {
                Issue.record("no token is listed")
                return
            }
            #expect(entry["id"] == .string(id) && entry["createdAt"] != nil && entry["expiresAt"] != nil)
            #expect(!String(buffer: listed.response.body).contains(token))
            let revoked = try await client.send(.delete, "/admin/v1/tokens/\(id)", headers: headers)
            #expect(revoked.response.status == .noContent)
            let refused = try await client.send(.get, "/admin/v1/accounts", headers: headers)
            #expect(refused.response.status == .unauthorized)
        }
        let last = try #require(try await server.database.auditEntries(after: 0, limit: 99).last?.event)
        #expect(last.kind.rawValue == "administrator-revoked" && last.detail == id && last.actor == id)
        #expect(try await server.assembly.administrators.makeLinkIfNone() != nil, "there is a way back in")
    }

    @Test("a rotated token gives way to the new one, for as long as a new token lives")
    func rotation() async throws {
        let server = try await ServerFixture()
        let (token, id) = try await self.administrator(server)
        server.clock.advance(by: .seconds(24 * 60 * 60))
        let answer = try await server.withSocketClient { client in
            try await client.send(.post, "/admin/v1/tokens/\(id)/rotate").object
        }
        let new = try answer.requiredString("token")
        #expect(try await server.assembly.administrators.administrator(token: token) == nil)
        #expect(try await server.assembly.administrators.administrator(token: new) == id)
        let record = try #require(try await server.assembly.administrators.list().first)
        #expect(record.createdAt == server.clock.now())
        let last = try #require(try await server.database.auditEntries(after: 0, limit: 99).last?.event)
        #expect(last.kind.rawValue == "administrator-token-rotated" && last.detail == id && last.actor == "socket")
    }

    @Test("a token lives as long as was asked for, a year at most, and a rotated one as long as the one before was to")
    func lifetime() async throws {
        let server = try await ServerFixture()
        let secret = try #require(try await server.assembly.administrators.makeLinkIfNone())
        try await server.withPublicClient { client in
            let lifetimes: [Int64] = [0, -1, 365 * 86_400 + 1]
            for seconds in lifetimes {
                let refused = try await client.send(
                    .post, "/admin/v1/tokens", ["secret": .string(secret), "lifetimeSeconds": .integer(seconds)])
                #expect(refused.response.status == .badRequest)
            }
            let made = try await client.send(
                .post, "/admin/v1/tokens", ["secret": .string(secret), "lifetimeSeconds": .integer(7200)])
            #expect(made.response.status == .created)
            var authorization: HTTPFields = [.authorization: "Bearer \(try made.object.requiredString("token"))"]
            let record = try #require(try await server.assembly.administrators.list().first)
            #expect(record.expiresAt == server.clock.now() + .seconds(7200))

            server.clock.advance(by: .seconds(7199))
            let path = "/admin/v1/tokens/\(record.id)/rotate"
            let rotated = try await client.send(.post, path, headers: authorization)
            let token = try rotated.object.requiredString("token")
            authorization[.authorization] = "Bearer \(token)"
            #expect(
                try await server.assembly.administrators.list().first?.expiresAt == server.clock.now() + .seconds(7200))
            server.clock.advance(by: .seconds(7199))
            let shorter = try await client.send(
                .post, path, ["lifetimeSeconds": .integer(60)], headers: authorization)
            authorization[.authorization] = "Bearer \(try shorter.object.requiredString("token"))"
            server.clock.advance(by: .seconds(59))
            #expect(try await client.send(.get, "/admin/v1/tokens", headers: authorization).response.status == .ok)
            server.clock.advance(by: .seconds(1))
            let over = try await client.send(.get, "/admin/v1/tokens", headers: authorization)
            #expect(over.response.status == .unauthorized)
        }
    }

    @Test("guesses at the link's secret are limited for each source")
    func guesses() async throws {
        var limits = Limits()
        limits.guessBurst = 2
        let server = try await ServerFixture(limits: limits)
        _ = try await server.assembly.administrators.makeLinkIfNone()
        try await server.withPublicClient { client in
            var statuses: [Int] = []
            for _ in 0..<3 {
                let answer = try await client.send(.post, "/admin/v1/tokens", ["secret": .string("guess")])
                statuses.append(answer.response.status.code)
                #expect((answer.response.headers[.retryAfter] != nil) == (answer.response.status.code == 429))
            }
            #expect(statuses == [404, 404, 429])
        }
    }

    @Test("the link's secret ends with its time")
    func expiry() async throws {
        let server = try await ServerFixture()
        let secret = try #require(try await server.assembly.administrators.makeLinkIfNone())
        server.clock.advance(by: .seconds(15 * 60 + 1))
        try await server.withPublicClient { client in
            let late = try await client.send(.post, "/admin/v1/tokens", ["secret": .string(secret)])
            #expect(late.response.status != .created)
        }
    }
}

@Suite("Admin API: the audit trail and the signing key")
struct AuditOperationTests {
    @Test("the trail is read in pages, and names nobody")
    func list() async throws {
        let server = try await ServerFixture(limits: Self.smallPages)
        try await server.withSocketClient { client in
            for name in ["alice", "bob", "carol"] {
                _ = try await client.send(.post, "/admin/v1/accounts", ["username": .string(name)])
            }
            var (numbers, last): ([Int64], Int64) = ([], 0)
            while true {
                let answer = try await client.send(.get, "/admin/v1/audit?after=\(last)")
                #expect(!String(buffer: answer.response.body).contains("alice"))
                let entries = try #require(try answer.object.array("entries"))
                #expect(entries.count <= 2)
                guard !entries.isEmpty else { break }
                for case .object(let entry) in entries {
                    numbers.append(try entry.requiredInteger("number"))
                    last = numbers.last ?? 0
                    guard try entry.requiredString("kind") == "account-created" else { continue }
                    #expect(entry["actor"] == .string("socket") && entry["account"] != nil)
                    #expect(try entry.string("at") == server.clock.now().description)
                }
            }
            #expect(numbers == Array(1...Int64(numbers.count)) && numbers.count >= 3)
            for query in ["after=x", "after=-1", "after=%F"] {
                #expect(try await client.send(.get, "/admin/v1/audit?" + query).response.status == .badRequest)
            }
        }
    }

    private static var smallPages: Limits {
        var limits = Limits()
        limits.pageSize = 2
        return limits
    }

    @Test("an intact trail is told with its length")
    func verify() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            _ = try await client.send(.post, "/admin/v1/accounts", ["username": .string("alice")])
            let count = try await server.database.auditEntries(after: 0, limit: 99).count
            let answer = try await client.send(.get, "/admin/v1/audit/verification").object
            #expect(answer == ["intact": .bool(true), "entries": .integer(Int64(count))])
        }
    }

    @Test("the signing key is rotated, the old one stays published, and the trail says who did it")
    func rotate() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            let answer = try await client.send(.post, "/admin/v1/keys/rotate")
            #expect(answer.response.status == .noContent)
        }
        let last = try #require(try await server.database.auditEntries(after: 0, limit: 99).last?.event)
        #expect(last.kind.rawValue == "signing-key-rotated" && last.actor == "socket")
        try await server.withPublicClient { client in
            let keys = try await client.send(.get, "/oauth2/jwks").object.array("keys")
            #expect(keys?.count == 2)
            for (method, path) in [(HTTPRequest.Method.post, "/keys/rotate"), (.get, "/audit"), (.get, "/tokens")] {
                #expect(try await client.send(method, "/admin/v1" + path).response.status == .unauthorized)
            }
        }
    }

    @Test("a key that others have seen is out of the key set at once")
    func rotateSeen() async throws {
        let server = try await ServerFixture()
        let before = try await server.database.providerKeys().signingKeys.map(\.id)
        try await server.withSocketClient { client in
            let answer = try await client.send(.post, "/admin/v1/keys/rotate", ["seen": .bool(true)])
            #expect(answer.response.status == .noContent)
        }
        try await server.withPublicClient { client in
            let keys = try await client.send(.get, "/oauth2/jwks").object.array("keys")
            #expect(keys?.count == 1)
        }
        #expect(Set(try await server.database.providerKeys().signingKeys.map(\.id)).isDisjoint(with: before))
    }

    @Test("the keys that sign are listed, each with its time, and the key that values are sealed under")
    func keys() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            _ = try await client.send(.post, "/admin/v1/keys/rotate")
            let answer = try await client.send(.get, "/admin/v1/keys").object
            let signing = try #require(try answer.array("signing"))
            guard signing.count == 2, case .object(let next) = signing[0], case .object(let present) = signing[1] else {
                Issue.record("\(signing)")
                return
            }
            let takeover = server.clock.timeSource.now() + Limits().oauth.keyAnnouncement
            #expect(next["signsFrom"] == .string(takeover.description) && next["signsUntil"] == nil)
            #expect(present["signsUntil"] == next["signsFrom"] && present["algorithm"] == .string("ES256"))
            let end = takeover + Limits().oauth.retiredKeyRetention
            #expect(present["publishedUntil"] == .string(end.description))
            let key = try #require(try await server.database.sealingKeys().first)
            #expect(answer["sealing"] == .array([.object(["id": .string(key), "isNewest": .bool(true)])]))
            #expect(answer["resealed"] == .integer(0) && answer["unreadable"] == .integer(0))
        }
    }
}

@Suite("Admin API: bodies, methods and the OpenAPI document")
struct AdminDocumentTests {
    @Test(
        "refuses bodies that are not the one JSON object that is asked for",
        arguments: [
            "", "{", "null", "[]", #"{"username":null}"#, #"{"username":"a","username":"b"}"#, #"{"username":1}"#,
            #"{"username":"a","more":1}"#, #"{}"#, #"{"username":"a"} x"#,
        ])
    func badBodies(body: String) async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            let response = try await client.execute(
                uri: "/admin/v1/accounts", method: .post, headers: [.contentType: "application/json"],
                body: ByteBuffer(string: body))
            #expect(response.status == .badRequest)
            #expect(response.headers[.contentType] == "application/problem+json")
        }
    }

    @Test("answers another content type 415, too many bytes 413 and another method 405 with Allow")
    func mediaTypeSizeAndMethod() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            let body: JSONObject = ["username": .string("a")]
            let text = try await client.send(.post, "/admin/v1/accounts", body, headers: [.contentType: "text/plain"])
            #expect(text.response.status == .unsupportedMediaType)
            let large: JSONObject = ["username": .string(String(repeating: "a", count: 70_000))]
            #expect(try await client.send(.post, "/admin/v1/accounts", large).response.status == .contentTooLarge)
            let method = try await client.send(.put, "/admin/v1/accounts", body)
            #expect(method.response.status == .methodNotAllowed)
            #expect(method.response.headers[.allow] == "GET, HEAD, POST")
        }
    }

    @Test("the document names the states that an activation has, and no other")
    func states() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            let document = try await client.send(.get, "/admin/v1/openapi.json").object
            let state = try document.requiredObject("paths").requiredObject("/activations/{id}").requiredObject("get")
                .requiredObject("responses").requiredObject("200").requiredObject("content")
                .requiredObject("application/json").requiredObject("schema").requiredObject("properties")
                .requiredObject("state")
            #expect(
                try state.requiredString("description")
                    == "One of: created, claimed, pending-confirmation, succeeded, denied, failed, expired, cancelled.")
        }
    }

    @Test("the document names every mounted operation, and every operation that it names is mounted")
    func document() async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            let document = try await client.send(.get, "/admin/v1/openapi.json").object
            #expect(document["openapi"] == .string("3.1.0"))
            let paths = try document.requiredObject("paths")
            #expect(paths.members.count == 80)
            for (path, item) in paths.members {
                guard case .object(let item) = item else { continue }
                let known = Set(item.members.map { $0.name.uppercased() })
                let example = path.replacing(/\{\w+\}/, with: "x")
                for method in ["GET", "POST", "DELETE", "PUT", "PATCH"] {
                    let response = try await client.execute(
                        uri: "/admin/v1" + example, method: try #require(HTTPRequest.Method(method)))
                    #expect((response.status == .methodNotAllowed) == !known.contains(method), "\(method) \(path)")
                }
            }
        }
    }
}
