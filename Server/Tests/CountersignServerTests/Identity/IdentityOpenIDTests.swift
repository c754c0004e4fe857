import Accounts
import CountersignServer
import HTTPTypes
import HummingbirdTesting
import JOSE
import Records
import Testing
import _Primitives

@Suite("OpenID Connect at a service of personalised identities, as any client of it speaks")
struct IdentityOpenIDTests {
    /// A client that knows the issuer and what it was registered with, and reads everything else.
    private struct Client {
        let fixture: TerminalPhoneFixture
        let discovery: JSONObject

        init(_ fixture: TerminalPhoneFixture) async throws {
            self.fixture = fixture
            self.discovery = try await fixture.client.send(.get, "/.well-known/openid-configuration").object
        }

        /// The path of an endpoint that the metadata name.
        func path(_ name: String) throws -> String {
            let issuer = try self.discovery.requiredString("issuer")
            let address = try self.discovery.requiredString(name)
            #expect(address.hasPrefix(issuer + "/"))
            return String(address.dropFirst(issuer.count))
        }

        /// Reads an ID token, with the key that its head names.
        func claims(of token: String) async throws -> JWTClaims {
            let keys = try await self.fixture.client.send(.get, try self.path("jwks_uri")).object
            return try JWTClaims(
                UnverifiedJWS(compact: token).verified(
                    by: JWKSet(parsing: JSON.object(keys).serialized), allowing: [.es256]))
        }

        func userinfo(_ access: String) async throws -> JSONObject {
            try await self.fixture.client.send(
                .get, try self.path("userinfo_endpoint"), headers: [.authorization: "Bearer \(access)"]
            ).object
        }
    }

    @Test("Metadata, a newcomer's page, state, nonce, the ID token by the published keys, and the claims beside it")
    func script() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            let client = try await Client(fixture)
            #expect(try client.discovery.requiredString("issuer") == "http://localhost:8080")
            #expect(try client.path("authorization_endpoint") == "/oauth2/authorize")
            #expect(try client.path("token_endpoint") == "/oauth2/token")
            for (name, value) in [
                ("response_types_supported", "code"), ("prompt_values_supported", "create"),
                ("subject_types_supported", "pairwise"), ("id_token_signing_alg_values_supported", "ES256"),
                ("code_challenge_methods_supported", "S256"),
            ] {
                #expect(try client.discovery.strings(name)?.contains(value) == true, "\(name)")
            }

            // Nobody is known here yet: the client asks for a page that says how somebody comes by an identity, and the
            // person has the code of one beside it.
            let refused = try await fixture.browser.get(fixture.party.authorizeAddress("&prompt=none"))
            #expect(refused.redirectParameters["error"] == "login_required")
            #expect(refused.redirectParameters["state"] == "st-1")
            let (request, page) = try await fixture.server.signInPage(
                fixture.browser, fixture.party, "&prompt=create")
            #expect(page.text.contains("data-testid=\"enrolment\""))
            #expect(try await fixture.enroll().refusal == nil)
            let outcome = try await fixture.scan(
                try TerminalPhoneFixture.code(on: page), ["--alias", "email=Office", "--value-stdin"],
                lines: [#"{"givenName":"Alice"}"#, "258036"])
            #expect(outcome.refusal == nil, "\(outcome.lines)")

            let back = try await fixture.browser.get("/sign-in/complete?request=\(request)").redirectParameters
            #expect(back["state"] == "st-1" && back["iss"] == "http://localhost:8080")
            let tokens = try await fixture.party.exchange(try #require(back["code"]), fixture.client)
            #expect(tokens.response.status == .ok)
            let claims = try await client.claims(of: tokens.object.requiredString("id_token"))
            #expect(claims.issuer == "http://localhost:8080" && claims.audience == [fixture.party.id])
            #expect(claims.members["nonce"] == .string("no-1"))
            let person = try await client.userinfo(tokens.object.requiredString("access_token"))
            #expect(try person.string("sub") == claims.subject && claims.subject?.isEmpty == false)
            #expect(try person.string("given_name") == "Alice")

            // The browser is known now: nobody has to be asked, unless the client wants it so.
            let silent = try await fixture.browser.get(fixture.party.authorizeAddress("&prompt=none"))
            #expect(silent.redirectParameters["state"] == "st-1")
            let again = try await fixture.party.exchange(
                try #require(silent.redirectParameters["code"]), fixture.client)
            let second = try await client.claims(of: again.object.requiredString("id_token"))
            #expect(second.subject == claims.subject)
            for prompt in ["login", "create"] {
                let (_, asked) = try await fixture.server.signInPage(
                    fixture.browser, fixture.party, "&prompt=\(prompt)")
                #expect(try asked.attribute("data-state", of: "state") == "waiting")
            }
        }
    }

    @Test(
        "With prompt=create whoever is new makes an identity on the way, signs in with it, and comes back to the client"
    )
    func onboarding() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            let client = try await Client(fixture)
            let changes: JSONObject = [
                "newcomers": .bool(true), "attributes": .object(["givenName": .string("required")]),
            ]
            _ = try await fixture.server.assembly.identities.changeService(fixture.party.id, by: changes, by: "test")
            let browser = fixture.browser
            let (request, sent) = try await fixture.server.signInPage(browser, fixture.party, "&prompt=create")
            let newcomer = try #require(sent.headers[.location]).split(separator: "?").map(String.init)
            #expect(newcomer.count == 2 && newcomer[0] == "/sign-in/newcomer")
            let mailed = try await browser.post(newcomer[0], form: newcomer[1] + "&email=new@post.example")
            let goOn = try mailed.attribute("href", of: "link").replacing("&amp;", with: "&")
            #expect(try await fixture.sendMail() == [.delivered])
            let letter = fixture.server.mail
            #expect(try #require(letter.messages.first).contains("To: <new@post.example>"))

            // The link may be opened anywhere; the PIN and the code are the new person's own.
            let elsewhere = TestBrowser(fixture.client)
            let invitation = try await elsewhere.get(try letter.link())
            #expect(invitation.text.contains("You are invited to Demo Bank"))
            let code = try await elsewhere.accept(invitation, pin: "604817")
            let enrolled = try await fixture.enroll(
                try code.words(of: "typed-code"), pins: ["604817"], named: "-new")
            #expect(enrolled.refusal == nil, "\(enrolled.lines)")
            let done = try await elsewhere.get(TerminalPhoneFixture.address(code))
            #expect(done.text.contains("This device is personalised"))
            #expect(done.text.contains("If a sign-in waits in another page, go on there."))

            // The sign-in that began it all goes on where it was left.
            let page = try await browser.get(goOn)
            let outcome = try await fixture.scan(
                try TerminalPhoneFixture.code(on: page), ["--value-stdin"],
                lines: [TerminalPhoneFixture.values, "604817"], named: "-new")
            #expect(outcome.refusal == nil, "\(outcome.lines)")
            let back = try await browser.get("/sign-in/complete?request=\(request)").redirectParameters
            #expect(back["state"] == "st-1" && back["iss"] == "http://localhost:8080")
            let tokens = try await fixture.party.exchange(try #require(back["code"]), fixture.client)
            let claims = try await client.claims(of: tokens.object.requiredString("id_token"))
            #expect(claims.members["nonce"] == .string("no-1") && claims.audience == [fixture.party.id])
            let person = try await client.userinfo(tokens.object.requiredString("access_token"))
            #expect(try person.string("sub") == claims.subject && person.string("given_name") == "Alice")
            // A person of their own, and not the one whom the server has known before.
            let invite = try #require(try await fixture.server.assembly.identities.invites().first)
            let alice = try await fixture.server.accountID()
            #expect(invite.state == .accepted && invite.acceptedBy != alice)
            #expect(invite.acceptedBy == invite.provisionalAccountID && invite.acceptedBy != nil)
        }
    }
}
