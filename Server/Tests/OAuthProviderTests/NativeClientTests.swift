import JOSE
import OAuth
import OAuthProvider
import Records
import SQLStore
import Testing
import _Primitives

@Suite("RFC 8252: apps on people's own devices")
struct NativeClientTests {
    private static let loopback = "http://127.0.0.1:8081/cb"
    private static let scheme = "com.example.app:/cb"
    private static let claimed = "https://app.example/cb"

    private func app(_ f: ProviderFixture) async throws -> RegisteredClient {
        try await f.register(
            ClientSettings(idTokenAlgorithm: .es256, authenticationMethod: "none"),
            at: [Self.loopback, "http://[::1]/cb", Self.scheme, Self.claimed])
    }

    private func answer(
        _ f: ProviderFixture, _ client: RegisteredClient, _ address: String, session: SessionSecret? = nil,
        _ changes: [String: String?] = [:]
    ) async throws -> AuthorizationAnswer {
        let changes = ["redirect_uri": address].merging(changes) { $1 }
        return try await f.provider.authorizations.authorize(
            f.query(changes, client: client), browser: f.browser, session: session, source: "a", address: nil)
    }

    @Test(
        "an app signs people in at a loopback address of any port, at its own scheme, and at a site's address",
        arguments: [
            Self.loopback, "http://127.0.0.1:51004/cb", "http://127.0.0.1/cb", "http://[::1]:51004/cb", Self.scheme,
            Self.claimed,
        ])
    func signsIn(address: String) async throws {
        try await ProviderFixture.run { f in
            let app = try await self.app(f)
            let signedIn = try await f.signIn(["client_id": app.client.id, "redirect_uri": address])
            #expect(signedIn.redirect.hasPrefix(address + "?"))
            let changes = ["client_id": app.client.id, "redirect_uri": address]
            let answer = try await f.provider.grants.answer(header: nil, body: f.form(signedIn.code, changes))
            #expect(answer.status == 200)
            // The person sees later where it was.
            let origin = try RedirectURI(address, allowing: RedirectURI.everyKind).origin
            let services = try await f.provider.sessions.running(ofAccount: "account-a").flatMap(\.services)
            #expect(services.map(\.origin) == [origin])
        }
    }

    @Test("a code goes with the very address that was asked for")
    func port() async throws {
        try await ProviderFixture.run { f in
            let app = try await self.app(f)
            let code = try await f.code(of: app, at: "http://127.0.0.1:51004/cb")
            let changes = ["client_id": app.client.id, "redirect_uri": Self.loopback]
            #expect(
                try await f.provider.grants.answer(header: nil, body: f.form(code, changes)).error == "invalid_grant")
        }
    }

    @Test(
        "nobody is sent to an address that the app has not registered",
        arguments: [
            "http://127.0.0.1:51004/other", "http://127.0.0.2:8081/cb", "http://localhost:8081/cb",
            "https://127.0.0.1:8081/cb", "http://[::1]:51004/cb?x", "com.example.other:/cb", "com.example.app:/other",
            "com.example.app:/cb/", "COM.example.app:/cb", "https://app.example:8443/cb", "https://app.example/cb?",
        ])
    func unregistered(address: String) async throws {
        try await ProviderFixture.run { f in
            let app = try await self.app(f)
            guard case .page = try await self.answer(f, app, address) else {
                Issue.record("taken")
                return
            }
        }
    }

    @Test("with a running session nobody is sent to an app unasked, but where its site vouches for it (section 8.6)")
    func silence() async throws {
        try await ProviderFixture.run { f in
            let app = try await self.app(f)
            let session = try await f.signIn().session
            for address in [Self.loopback, "http://[::1]:51004/cb", Self.scheme] {
                guard case .signIn = try await self.answer(f, app, address, session: session) else {
                    Issue.record("completed silently at \(address)")
                    continue
                }
                guard
                    case .client(.redirect(let refusal)) = try await self.answer(
                        f, app, address, session: session, ["prompt": "none"])
                else {
                    Issue.record("no answer at \(address)")
                    continue
                }
                #expect(try ProviderFixture.parameter("error", of: refusal) == "interaction_required")
                #expect(refusal.hasPrefix(address + "?"))
            }
            guard case .client(.redirect(let claimed)) = try await self.answer(f, app, Self.claimed, session: session)
            else {
                Issue.record("a site's address was asked for")
                return
            }
            #expect(try ProviderFixture.parameter("code", of: claimed) != nil)
        }
    }

    @Test("a service with a secret is compared letter by letter at loopback, and completes there by its session")
    func confidential() async throws {
        try await ProviderFixture.run { f in
            let bank = try await f.register(ClientSettings(idTokenAlgorithm: .es256), at: [Self.loopback])
            for address in ["http://127.0.0.1:51004/cb", "http://127.0.0.1/cb"] {
                guard case .page = try await self.answer(f, bank, address) else {
                    Issue.record("another port was taken")
                    continue
                }
            }
            let session = try await f.signIn().session
            guard case .client(.redirect(let address)) = try await self.answer(f, bank, Self.loopback, session: session)
            else {
                Issue.record("asked")
                return
            }
            #expect(try ProviderFixture.parameter("code", of: address) != nil)
        }
    }

    @Test("a scheme of one's own is for apps alone, at registration and at every change")
    func schemes() async throws {
        try await ProviderFixture.run { f in
            let refused = OAuthError(.invalidRequest)
            for method in ["client_secret_basic", "private_key_jwt"] {
                var settings = try ClientKey(.es256).settings
                settings.authenticationMethod = method
                await #expect(throws: refused) { try await f.register(settings, at: [Self.scheme]) }
            }
            for change in [
                ClientChange(redirectURIs: [Self.scheme]), ClientChange(postLogoutRedirectURIs: [Self.scheme]),
            ] {
                await #expect(throws: refused) { try await f.provider.clients.change(f.bank.client.id, change) }
            }
            let app = try await self.app(f)
            await #expect(throws: refused) {
                try await f.provider.clients.change(
                    app.client.id, ClientChange(authenticationMethod: "client_secret_basic"))
            }
            for wrong in ["myapp:/cb", "com.example.app:///cb", "javascript:/x", "http://localhost.example/cb"] {
                await #expect(throws: refused) {
                    try await f.provider.clients.change(app.client.id, ClientChange(redirectURIs: [wrong]))
                }
            }
            #expect(try await f.provider.clients.client(app.client.id) == app.client)
        }
    }

    @Test("a change of something else ends no sign-in at another port; a change of the address does")
    func change() async throws {
        try await ProviderFixture.run { f in
            let app = try await self.app(f)
            func begin() async throws -> String {
                try await f.begin(["client_id": app.client.id, "redirect_uri": "http://127.0.0.1:51004/cb"])
            }
            let request = try await begin()
            _ = try await f.provider.clients.change(app.client.id, ClientChange(name: "Another name"))
            let pending = try await f.provider.authorizations.pending(request: request, browser: f.browser)
            #expect(pending?.clientOrigin == "http://127.0.0.1:51004")
            _ = try await f.provider.clients.change(app.client.id, ClientChange(redirectURIs: [Self.scheme]))
            #expect(try await f.provider.authorizations.pending(request: request, browser: f.browser) == nil)
        }
    }

    @Test("an app is told that its person said no, and led back to after signing out")
    func refusalAndLogout() async throws {
        try await ProviderFixture.run { f in
            let app = try await f.provider.clients.register(
                name: "App", redirectURIs: [Self.scheme], postLogoutRedirectURIs: ["com.example.app:/bye"],
                settings: ClientSettings(idTokenAlgorithm: .es256, authenticationMethod: "none"))
            let request = try await f.begin(["client_id": app.client.id, "redirect_uri": Self.scheme])
            let pending = try await f.provider.authorizations.pending(request: request, browser: f.browser)
            #expect(pending?.clientOrigin == "com.example.app:")
            guard
                case .client(.redirect(let refusal)) = try await f.provider.authorizations.refuse(
                    request: request, browser: f.browser)
            else {
                Issue.record("not told")
                return
            }
            #expect(refusal.hasPrefix("com.example.app:/cb?error=access_denied"))
            let query: Parameters = [
                "client_id": app.client.id, "post_logout_redirect_uri": "com.example.app:/bye", "state": "s",
            ]
            let answer = try await f.provider.sessions.logout(query.encoded, session: nil, confirmed: false)
            #expect(answer == .redirect("com.example.app:/bye?state=s"))
        }
    }
}
