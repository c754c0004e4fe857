import JOSE
import OAuth
import OAuthProvider
import Records
import Testing
import _Primitives

@Suite("OpenID Connect Core 1.0, sections 3.1.2.1 and 3.1.2.6, and Initiating User Registration: how a person is asked")
struct PromptTests {
    @Test("every way to ask shows the page, whatever session there is, and nobody is there to be asked without one")
    func prompts() async throws {
        try await ProviderFixture.run { f in
            let session = try await f.signIn().session
            #expect(try await f.answer(["prompt": "none"], session: session) == "code")
            #expect(try await f.answer(["prompt": "none"], session: nil) == "login_required")
            #expect(try await f.answer(["prompt": "consent"], session: session) == "consent")
            #expect(try await f.answer(["prompt": "consent"], session: nil) == "sign-in")
            for prompt in [
                "login", "select_account", "create", "login consent", "login select_account",
                "select_account consent login",
            ] {
                #expect(try await f.answer(["prompt": prompt], session: session) == "sign-in", "\(prompt)")
            }
        }
    }

    @Test(
        "none and create stand alone, and a word that is not known is refused",
        arguments: [
            "none login", "consent none", "create login", "none create", "create consent", "register", "login register",
            "Login", "login,consent", " login", "login  consent",
        ])
    func combinations(prompt: String) async throws {
        try await ProviderFixture.run { f in
            let session = try await f.signIn().session
            #expect(try await f.answer(["prompt": prompt], session: session) == "invalid_request")
        }
    }

    @Test("an age of nothing is an authentication anew, also at the very moment of the last one")
    func noAge() async throws {
        try await ProviderFixture.run { f in
            let session = try await f.signIn().session
            #expect(try await f.answer(["max_age": "0"], session: session) == "sign-in")
            #expect(try await f.answer(["max_age": "0", "prompt": "none"], session: session) == "login_required")
            #expect(try await f.answer(["max_age": "1", "prompt": "none"], session: session) == "code")
            f.clock.advance(.seconds(7))
            let again = try await f.signIn(["max_age": "0"], session: session)
            let body = try #require(try await f.token(again.code).body)
            let claims = try f.claims(body.requiredString("id_token"), type: "JWT").members
            #expect(claims["auth_time"] == .integer(f.clock.source.now().seconds))
        }
    }

    @Test("whoever has no account yet is told how one gets one, and nobody else is")
    func newcomers() async throws {
        try await ProviderFixture.run { f in
            for (prompt, isNewcomer) in [("create", true), ("login", false), ("select_account", false)] {
                let request = try await f.begin(["prompt": prompt])
                let pending = try #require(
                    try await f.provider.authorizations.pending(request: request, browser: f.browser))
                #expect(pending.isNewcomer == isNewcomer, "\(prompt)")
            }
            let bare = try await f.begin()
            #expect(try await f.provider.authorizations.pending(request: bare, browser: f.browser)?.isNewcomer == false)
        }
    }

    @Test("a client's words about languages and displays change nothing")
    func languages() async throws {
        try await ProviderFixture.run { f in
            let session = try await f.signIn().session
            let wishes = ["ui_locales": "fr-CA fr en", "claims_locales": "de", "display": "popup"]
            #expect(try await f.answer(wishes, session: session) == "code")
            #expect(try await f.answer(wishes, session: nil) == "sign-in")
        }
    }

    // MARK: login_hint

    @Test(
        "a name goes along to the page, whether or not there is such an account", arguments: ["alice", "nobody", "Zoë"])
    func hints(name: String) async throws {
        try await ProviderFixture.run { f in
            let request = try await f.begin(["login_hint": name])
            #expect(
                try await f.provider.authorizations.pending(request: request, browser: f.browser)?.loginHint == name)
            // Who authenticates decides who it is.
            f.authenticate(request, account: "account-b")
            guard
                case .signedIn = try await f.provider.authorizations.complete(
                    request: request, browser: f.browser, session: nil)
            else {
                Issue.record("not signed in")
                return
            }
        }
    }

    @Test("a name that is longer than any is refused")
    func longHint() async throws {
        try await ProviderFixture.run { f in
            let longest = String(repeating: "x", count: 1024)
            let (taken, refused) = (
                try await f.answer(["login_hint": longest], session: nil),
                try await f.answer(["login_hint": longest + "x"], session: nil)
            )
            #expect(taken == "sign-in" && refused == "invalid_request")
        }
    }

    @Test(
        "somebody else's session is not used where another name is hinted at: without a page, account_selection_required"
    )
    func anotherName() async throws {
        try await ProviderFixture.run { f in
            let session = try await f.signIn(account: "account-c").session
            let told = ["scope": "openid profile email"]
            for (hint, isOwn) in [
                ("carol", true), ("carol@post.example", true), ("alice", false), ("nobody", false), ("Carol", false),
                ("alice@post.example", false), ("nobody@nowhere.example", false),
            ] {
                let asked = told.merging(["login_hint": hint]) { $1 }
                let silent = asked.merging(["prompt": "none"]) { $1 }
                #expect(try await f.answer(asked, session: session) == (isOwn ? "code" : "sign-in"), "\(hint)")
                #expect(
                    try await f.answer(silent, session: session) == (isOwn ? "code" : "account_selection_required"),
                    "\(hint)")
                #expect(try await f.answer(silent, session: nil) == "login_required", "\(hint)")
            }
        }
    }

    @Test("a client that is told no name learns none by hinting at some")
    func noOracle() async throws {
        try await ProviderFixture.run { f in
            let session = try await f.signIn(account: "account-c").session
            for (scope, hint) in [
                ("openid", "alice"), ("openid", "carol"), ("openid", "alice@post.example"), ("openid email", "alice"),
                ("openid profile", "alice@post.example"),
            ] {
                let asked = ["scope": scope, "login_hint": hint, "prompt": "none"]
                #expect(try await f.answer(asked, session: session) == "code", "\(scope) \(hint)")
            }
            // Who has no e-mail address is not told apart by one.
            let alice = try await f.signIn().session
            let asked = ["scope": "openid email", "login_hint": "bob@post.example", "prompt": "none"]
            #expect(try await f.answer(asked, session: alice) == "code")
        }
    }

    // MARK: response_mode

    private func posted(_ answer: ClientAnswer) throws -> PostedAnswer {
        guard case .post(let posted) = answer else { throw OAuthError(.serverError, detail: "\(answer)") }
        return posted
    }

    @Test("code and error are posted to the address where a client wants it so, and its query stays as it is")
    func forms() async throws {
        try await ProviderFixture.run { f in
            let address = "https://bank.example/callback?tenant=7"
            let changed = try await f.provider.clients.change(
                f.bank.client.id, ClientChange(redirectURIs: [address]))
            #expect(changed != nil)
            let wishes = ["response_mode": "form_post", "redirect_uri": address]
            let request = try await f.begin(wishes)
            f.authenticate(request)
            guard
                case .signedIn(let answer, let session, _) = try await f.provider.authorizations.complete(
                    request: request, browser: f.browser, session: nil)
            else {
                Issue.record("not signed in")
                return
            }
            let posted = try self.posted(answer)
            #expect(posted.address == address && posted.origin == "https://bank.example")
            #expect(posted.fields.members.map(\.name) == ["code", "state", "iss"])
            #expect(posted.fields["state"] == "st&te" && posted.fields["iss"] == ProviderFixture.issuer)
            let code = try #require(posted.fields["code"])
            #expect(try await f.token(code, ["redirect_uri": address]).status == 200)

            // By the session, and an error before and after the page.
            for (more, name) in [
                ([:], "code"), (["prompt": "none", "max_age": "0"], "error"), (["scope": "x"], "error"),
            ] {
                let answer = try await f.provider.authorizations.authorize(
                    f.query(wishes.merging(more) { $1 }), browser: f.browser, session: session, source: "a",
                    address: nil)
                guard case .client(let client) = answer else {
                    Issue.record("no answer: \(answer)")
                    continue
                }
                #expect(try self.posted(client).fields[name] != nil)
            }
            let given = try await f.begin(wishes.merging(["prompt": "login"]) { $1 }, session: session)
            guard case .client(let no) = try await f.provider.authorizations.refuse(request: given, browser: f.browser)
            else {
                Issue.record("no answer")
                return
            }
            #expect(try self.posted(no).fields["error"] == "access_denied")
        }
    }

    @Test("an app that is opened by its scheme cannot be posted to, and is told so in the query")
    func formsToApps() async throws {
        try await ProviderFixture.run { f in
            let app = try await f.provider.clients.register(
                name: "App", redirectURIs: ["com.example.app:/cb", "http://127.0.0.1/cb"],
                settings: ClientSettings(idTokenAlgorithm: .es256, authenticationMethod: "none"))
            let wishes = ["response_mode": "form_post", "redirect_uri": "com.example.app:/cb"]
            let answer = try await f.provider.authorizations.authorize(
                f.query(wishes, client: app), browser: f.browser, session: nil, source: "a", address: nil)
            guard case .client(.redirect(let address)) = answer else {
                Issue.record("not told in the query: \(answer)")
                return
            }
            #expect(address.hasPrefix("com.example.app:/cb?"))
            #expect(try ProviderFixture.parameter("error", of: address) == "invalid_request")
            let loopback = wishes.merging(["redirect_uri": "http://127.0.0.1:5000/cb"]) { $1 }
            #expect(try await f.answer(loopback, session: nil, client: app) == "sign-in")
        }
    }

    @Test(
        "a mode that is not known is told in the query",
        arguments: ["fragment", "Form_Post", "form_post.jwt", "web_message"])
    func unknownModes(mode: String) async throws {
        try await ProviderFixture.run { f in
            let answer = try await f.provider.authorizations.authorize(
                f.query(["response_mode": mode]), browser: f.browser, session: nil, source: "a", address: nil)
            guard case .client(.redirect(let address)) = answer else {
                Issue.record("not told in the query: \(answer)")
                return
            }
            #expect(try ProviderFixture.parameter("error", of: address) == "invalid_request")
        }
    }
}
