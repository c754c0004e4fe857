import OAuth
import OAuthProvider
import Records
import Testing
import _Primitives

@Suite("OpenID Connect RP-Initiated Logout 1.0, sections 2 and 3")
struct LogoutTests {
    private func form(_ values: KeyValuePairs<String, String>) -> String { Parameters(values).encoded }

    @Test func aClientsOwnPersonIsSignedOutWithoutAQuestion() async throws {
        try await ProviderFixture.run { f in
            let tokens = try await f.tokens()
            let text = self.form([
                "id_token_hint": tokens.id, "post_logout_redirect_uri": ProviderFixture.afterLogout, "state": "x y",
            ])
            let answer = try await f.provider.sessions.logout(text, session: tokens.session, confirmed: false)
            #expect(answer == .redirect(ProviderFixture.afterLogout + "?state=x%20y"))
            #expect(try await f.provider.sessions.session(tokens.session) == nil)
            // Once more, without a session: the client still gets its person back.
            #expect(try await f.provider.sessions.logout(text, session: tokens.session, confirmed: false) == answer)
            #expect(try await f.provider.sessions.logout(text, session: nil, confirmed: false) == answer)
        }
    }

    @Test func anExpiredIDTokenIsStillAHint() async throws {
        try await ProviderFixture.run { f in
            let tokens = try await f.tokens()
            f.clock.advance(.seconds(600))
            let text = self.form(["id_token_hint": tokens.id])
            #expect(try await f.provider.sessions.logout(text, session: tokens.session, confirmed: false) == .signedOut)
            #expect(try await f.provider.sessions.session(tokens.session) == nil)
        }
    }

    @Test func withoutAHintThePersonIsAsked() async throws {
        try await ProviderFixture.run { f in
            let session = try await f.signIn().session
            let text = self.form([
                "client_id": f.bank.client.id, "post_logout_redirect_uri": ProviderFixture.afterLogout,
            ])
            let asked = try await f.provider.sessions.logout(text, session: session, confirmed: false)
            let fields = try Parameters(parsing: text)
            #expect(asked == .askPerson(clientName: "Demo Bank", fields: fields))
            #expect(try await f.provider.sessions.session(session) != nil)
            let answer = try await f.provider.sessions.logout(fields.encoded, session: session, confirmed: true)
            #expect(answer == .redirect(ProviderFixture.afterLogout))
            #expect(try await f.provider.sessions.session(session) == nil)
        }
    }

    @Test func otherParametersAreNotCarriedOn() async throws {
        try await ProviderFixture.run { f in
            let session = try await f.signIn().session
            let text = self.form(["x\"\u{301}y": "1", "client_id": f.bank.client.id, "logout_hint": "a", "state": "s"])
            let asked = try await f.provider.sessions.logout(text, session: session, confirmed: false)
            #expect(
                asked == .askPerson(clientName: "Demo Bank", fields: ["client_id": f.bank.client.id, "state": "s"]))
        }
    }

    @Test func anotherPersonsHintAsksToo() async throws {
        try await ProviderFixture.run { f in
            let other = try await f.tokens(account: "account-b")
            let own = try await f.tokens(account: "account-a")
            let answer = try await f.provider.sessions.logout(
                self.form(["id_token_hint": other.id]), session: own.session, confirmed: false)
            #expect(
                answer == .askPerson(clientName: "Demo Bank", fields: ["id_token_hint": other.id]))
            #expect(try await f.provider.sessions.session(own.session) != nil)
            #expect(
                try await f.provider.sessions.logout("", session: own.session, confirmed: false)
                    == .askPerson(clientName: nil, fields: [:]))
        }
    }

    @Test func addressesThatAreNotRegisteredAreRefusedAndNothingEnds() async throws {
        try await ProviderFixture.run { f in
            let tokens = try await f.tokens()
            let shop = try await f.provider.clients.register(
                name: "Shop", redirectURIs: ["https://shop.example/"],
                postLogoutRedirectURIs: ["https://shop.example/bye"])
            for text in [
                self.form(["id_token_hint": tokens.id, "post_logout_redirect_uri": "https://evil.example/"]),
                self.form(["id_token_hint": tokens.id, "post_logout_redirect_uri": ProviderFixture.address]),
                self.form(["id_token_hint": tokens.id, "post_logout_redirect_uri": "https://shop.example/bye"]),
                self.form(["post_logout_redirect_uri": ProviderFixture.afterLogout]),
                self.form(["id_token_hint": tokens.id, "client_id": shop.client.id]),
                self.form(["client_id": "unknown"]), "a=%", "state=1&state=2",
                self.form([
                    "id_token_hint": tokens.id, "post_logout_redirect_uri": ProviderFixture.afterLogout,
                    "state": String(repeating: "s", count: 1025),
                ]),
            ] {
                let answer = try await f.provider.sessions.logout(text, session: tokens.session, confirmed: true)
                #expect(answer == .page(OAuthError(.invalidRequest)))
            }
            #expect(try await f.provider.sessions.session(tokens.session) != nil)
        }
    }
}
