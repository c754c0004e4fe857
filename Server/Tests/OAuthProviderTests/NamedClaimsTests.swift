import JOSE
import OAuth
import OAuthProvider
import Records
import Testing
import _Primitives

@Suite("OpenID Connect Core 1.0, sections 5.4 and 5.5: what a client is told of a person")
struct NamedClaimsTests {
    private static let address: JSONObject = [
        "street_address": .string("Main Road 1"), "locality": .string("Berlin"),
    ]

    /// What ID token and userinfo say of carol beside the protocol's own.
    private func told(_ f: ProviderFixture, _ changes: [String: String?], account: String = "account-c") async throws
        -> (
            idToken: JSONObject, userinfo: JSONObject
        )
    {
        let tokens = try await f.tokens(changes, account: account)
        let claims = try f.claims(tokens.id, type: "JWT").members
        var idToken: JSONObject = [:]
        for (name, value) in claims.members where Self.names.contains(name) { idToken[name] = value }
        var userinfo = try #require(try await f.provider.userinfo.answer(header: "Bearer \(tokens.access)").body)
        #expect(userinfo["sub"] == claims["sub"])
        userinfo["sub"] = nil
        return (idToken, userinfo)
    }

    private static let names: Set = [
        "preferred_username", "name", "email", "email_verified", "phone_number", "phone_number_verified", "address",
    ]

    @Test("number and address are given to scopes of their own, and to no others")
    func scopes() async throws {
        try await ProviderFixture.run { f in
            let phone = try await self.told(f, ["scope": "openid phone"])
            #expect(
                phone.userinfo == [
                    "phone_number": .string("+4930901820"), "phone_number_verified": .bool(false),
                ])
            let address = try await self.told(f, ["scope": "openid address"])
            #expect(address.userinfo == ["address": .object(Self.address)])
            #expect(phone.idToken.members.isEmpty && address.idToken.members.isEmpty)
            let others = try await self.told(f, ["scope": "openid profile email"]).userinfo
            #expect(others["phone_number"] == nil && others["address"] == nil)
            // Whoever has none is told nothing of them.
            let alice = try await self.told(f, ["scope": "openid phone address"], account: "account-a")
            #expect(alice.userinfo.members.isEmpty)
            let scopes = try f.provider.discovery.strings("scopes_supported")
            #expect(scopes == ["openid", "profile", "email", "phone", "address", "offline_access", "device_sso"])
        }
    }

    @Test("claims are told where they are named, each at its own place, and nothing else with them")
    func places() async throws {
        try await ProviderFixture.run { f in
            let told = try await self.told(
                f,
                [
                    "scope": "openid",
                    "claims": #"{"userinfo": {"email": null, "address": {"essential": true}, "shoe_size": null}, "#
                        + #""id_token": {"phone_number": {"essential": false}, "preferred_username": null}}"#,
                ])
            #expect(
                told.userinfo == ["email": .string("carol@post.example"), "address": .object(Self.address)])
            #expect(
                told.idToken == [
                    "preferred_username": .string("carol"), "phone_number": .string("+4930901820"),
                ])
            #expect(try f.provider.discovery.bool("claims_parameter_supported") == true)
        }
    }

    @Test("what was named goes along with the browser's session, and with what it gives later")
    func sessions() async throws {
        try await ProviderFixture.run { f in
            let session = try await f.signIn(account: "account-c").session
            let wish = #"{"id_token": {"email": null}, "userinfo": {"phone_number": null}}"#
            let answer = try await f.provider.authorizations.authorize(
                f.query(["scope": "openid", "claims": wish]), browser: f.browser, session: session, source: "a",
                address: nil)
            guard case .client(let client) = answer else {
                Issue.record("no answer: \(answer)")
                return
            }
            let code = try #require(try ProviderFixture.fields(of: client)["code"])
            let body = try #require(try await f.token(code).body)
            let claims = try f.claims(body.requiredString("id_token"), type: "JWT").members
            #expect(claims["email"] == .string("carol@post.example") && claims["phone_number"] == nil)
            let access = try body.requiredString("access_token")
            let userinfo = try await f.provider.userinfo.answer(header: "Bearer \(access)").body
            #expect(userinfo?["phone_number"] == .string("+4930901820") && userinfo?["email"] == nil)
        }
    }

    @Test("an essential claim that is not there is left out, and a claim with another value than is asked for, too")
    func values() async throws {
        try await ProviderFixture.run { f in
            let wish =
                #"{"userinfo": {"name": {"essential": true}, "email": {"value": "other@post.example"}, "#
                + #""phone_number": {"values": ["+491", "+4930901820"]}, "email_verified": {"value": false}}}"#
            let told = try await self.told(f, ["scope": "openid", "claims": wish])
            #expect(told.userinfo == ["phone_number": .string("+4930901820")])
        }
    }

    @Test("a subject that is named is the only one who may be signed in (section 3.1.2.2)")
    func subject() async throws {
        try await ProviderFixture.run { f in
            func wish(_ account: String, _ member: String = "id_token") -> [String: String?] {
                let subject = f.provider.keys.subject(ofAccount: account, client: f.bank.client.id)
                return ["claims": "{\"\(member)\": {\"sub\": {\"value\": \"\(subject)\"}}}"]
            }
            let own = try await f.tokens()
            for member in ["id_token", "userinfo"] {
                #expect(try await f.answer(wish("account-a", member), session: own.session) == "code")
                #expect(try await f.answer(wish("account-b", member), session: own.session) == "login_required")
            }
            let request = try await f.begin(wish("account-a"))
            f.authenticate(request, account: "account-b")
            guard
                case .refused(let told) = try await f.provider.authorizations.complete(
                    request: request, browser: f.browser, session: nil)
            else {
                Issue.record("signed in")
                return
            }
            #expect(try ProviderFixture.fields(of: told)["error"] == "login_required")
            // Together with a hint they have to name the same person.
            let hinted = wish("account-a").merging(["id_token_hint": own.id]) { $1 }
            #expect(try await f.answer(hinted, session: own.session) == "code")
            let torn = wish("account-b").merging(["id_token_hint": own.id]) { $1 }
            #expect(try await f.answer(torn, session: own.session) == "login_required")
            for values in [#"{"values": ["a", "b"]}"#, #"{"value": 7}"#] {
                let wrong = "{\"id_token\": {\"sub\": \(values)}}"
                #expect(try await f.answer(["claims": wrong], session: nil) == "invalid_request")
            }
            let two = #"{"id_token": {"sub": {"value": "a"}}, "userinfo": {"sub": {"value": "b"}}}"#
            #expect(try await f.answer(["claims": two], session: nil) == "invalid_request")
        }
    }

    @Test("a locked account's claims are told to nobody")
    func locked() async throws {
        try await ProviderFixture.run { f in
            let signedIn = try await f.signIn(
                ["scope": "openid", "claims": #"{"id_token": {"email": null}}"#], account: "account-c")
            try f.lock("account-c")
            let answer = try await f.token(signedIn.code)
            #expect(answer.status == 400 && answer.body?["error"] == .string("invalid_grant"))
            #expect(answer.body?["id_token"] == nil)
        }
    }
}
