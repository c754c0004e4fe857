import Foundation
import JOSE
import OAuth
import OAuthProvider
import Records
import SQLStore
import Testing
import _Primitives

@Suite("RFC 7591, section 2: kinds of clients, by their grants and by how they prove who they are")
struct ClientKindsTests {
    private static let publicClient = ClientSettings(idTokenAlgorithm: .es256, authenticationMethod: "none")

    /// What the administrator is told of a refused registration; `nil` where it is taken.
    private func refusal(_ f: ProviderFixture, _ settings: ClientSettings) async throws -> String? {
        do {
            _ = try await f.register(settings)
            return nil
        } catch let error as OAuthError {
            return error.message ?? ""
        }
    }

    @Test("no third party's service is at the server's own origin, where browsers take its pages for the server's")
    func ownHost() async throws {
        try await ProviderFixture.run { f async throws in
            var settings = ClientSettings(idTokenAlgorithm: .es256)
            func refusal(_ address: String, logout: [String] = [], home: String? = nil) async throws -> String? {
                do {
                    _ = try await f.provider.clients.register(
                        name: "Shop", redirectURIs: [address], postLogoutRedirectURIs: logout, clientURI: home,
                        settings: settings)
                    return nil
                } catch let error as OAuthError {
                    return error.message ?? ""
                }
            }
            let (own, other) = ("\(ProviderFixture.issuer)/shop/callback", "https://shop.example/callback")
            settings.party = .third
            #expect(try await refusal(own)?.contains(ProviderFixture.issuer) == true)
            for written in ["https://id.example:443/x", "https://ID.example/x", "https://Id.Example:443/"] {
                #expect(try await refusal(written)?.contains(ProviderFixture.issuer) == true, "\(written)")
            }
            #expect(try await refusal(other, logout: [own])?.contains(ProviderFixture.issuer) == true)
            #expect(try await refusal(other, home: own)?.contains(ProviderFixture.issuer) == true)
            #expect(try await refusal(other, logout: [other], home: other) == nil)
            #expect(try await refusal("\(ProviderFixture.issuer):8443/callback") == nil)
            settings.party = .first
            #expect(try await refusal(own, logout: [own], home: own) == nil)
        }
    }

    // MARK: Grants

    @Test func aGrantTypeThatTheClientDoesNotHaveIsRefusedAndSpendsNothing() async throws {
        try await ProviderFixture.run { f in
            let code = try await f.signIn().code
            func allow(_ types: [String]) async throws {
                // As a later version may have left it.
                _ = try await f.store.changeClient(f.bank.client.id) { client in
                    client.settings.grantTypes = types
                    return []
                }
            }
            for types in [["refresh_token"], ["another"], [], ["authorization_code "], ["Authorization_code"]] {
                try await allow(types)
                let answer = try await f.token(code)
                #expect(answer.status == 400 && answer.error == "unauthorized_client", "\(types)")
                #expect(answer.refusal?.reason?.contains("--grant-type") == true)
            }
            try await allow(["another", "authorization_code"])
            #expect(try await f.token(code).status == 200)
        }
    }

    @Test(
        "takes the grant types that there are, each once",
        arguments: [
            [], ["password"], ["authorization_code", "password"], ["authorization_code", "authorization_code"],
        ])
    func grantTypes(types: [String]) async throws {
        try await ProviderFixture.run { f in
            let settings = ClientSettings(idTokenAlgorithm: .es256, grantTypes: types)
            let refusal = try await self.refusal(f, settings)
            #expect(refusal?.contains("authorization_code") == true)
            await #expect(throws: OAuthError(.invalidRequest)) {
                try await f.provider.clients.change(f.bank.client.id, ClientChange(grantTypes: types))
            }
            let kept = try await f.provider.clients.client(f.bank.client.id)
            #expect(kept == f.bank.client)
        }
    }

    @Test(
        "a third party's client has no way to tokens on which people are not asked what it may have",
        arguments: ["urn:ietf:params:oauth:grant-type:device_code", "urn:openid:params:grant-type:ciba"])
    func unasked(type: String) async throws {
        try await ProviderFixture.run { f in
            var settings = ClientSettings(idTokenAlgorithm: .es256, grantTypes: ["authorization_code", type])
            let own = try await f.register(settings)
            settings.party = .third
            #expect(try await self.refusal(f, settings)?.contains("third party") == true)
            await #expect(throws: OAuthError(.invalidRequest)) {
                try await f.provider.clients.change(own.client.id, ClientChange(party: .third))
            }
            settings.grantTypes = ["authorization_code"]
            #expect(try await self.refusal(f, settings) == nil)
        }
    }

    @Test("a client that may renew and no more gets no code's tokens, and the other way round")
    func eachGrantByItself() async throws {
        try await ProviderFixture.run { f in
            let client = try await f.register(ClientSettings(idTokenAlgorithm: .es256, grantTypes: ["refresh_token"]))
            let code = try await f.token(try await f.code(of: client))
            #expect(code.error == "invalid_grant", "another client's code")
            let own = try await f.provider.grants.answer(
                header: f.basic(client), body: f.form(try await f.code(of: client)))
            #expect(own.status == 400 && own.error == "unauthorized_client")
            let form: Parameters = ["grant_type": "refresh_token", "refresh_token": "x"]
            let refused = try await f.provider.grants.answer(header: f.basic(), body: form.encoded)
            #expect(refused.status == 400 && refused.error == "unauthorized_client")
            let taken = try await f.provider.grants.answer(header: f.basic(client), body: form.encoded)
            #expect(taken.error == "invalid_grant")
        }
    }

    // MARK: How a client proves who it is

    @Test(
        "takes the ways to authenticate that there are",
        arguments: ["", "client_secret_jwt", "tls_client_auth", "None", "private_key_jwt "])
    func methods(method: String) async throws {
        try await ProviderFixture.run { f in
            let settings = ClientSettings(idTokenAlgorithm: .es256, authenticationMethod: method)
            let refusal = try await self.refusal(f, settings)
            #expect(refusal?.contains("private_key_jwt, none") == true)
            await #expect(throws: OAuthError(.invalidRequest)) {
                try await f.provider.clients.change(f.bank.client.id, ClientChange(authenticationMethod: method))
            }
        }
    }

    @Test("a secret is taken in the header and in the form, whichever of the two was registered")
    func secrets() async throws {
        try await ProviderFixture.run { f in
            for method in ["client_secret_basic", "client_secret_post"] {
                let client = try await f.register(
                    ClientSettings(idTokenAlgorithm: .es256, authenticationMethod: method))
                let secret = try #require(client.secret)
                for isBasic in [true, false] {
                    let code = try await f.code(of: client)
                    let named: [String: String?] = ["client_id": client.client.id, "client_secret": secret]
                    let answer = try await f.provider.grants.answer(
                        header: isBasic ? f.basic(client) : nil, body: f.form(code, isBasic ? [:] : named))
                    #expect(answer.status == 200, "\(method)")
                }
            }
        }
    }

    @Test("the identifier alone is enough for a public client, and for no other")
    func identifierAlone() async throws {
        try await ProviderFixture.run { f in
            let app = try await f.register(Self.publicClient)
            #expect(app.secret == nil && app.client.secretDigest == nil)
            #expect(try await f.provider.clients.client(app.client.id) == app.client)
            let code = try await f.code(of: app)
            let answer = try await f.provider.grants.answer(
                header: nil, body: f.form(code, ["client_id": app.client.id]))
            #expect(answer.status == 200)
            let other = try await f.signIn().code
            let refused = try await f.provider.grants.answer(
                header: nil, body: f.form(other, ["client_id": f.bank.client.id]))
            #expect(refused.status == 401 && refused.error == "invalid_client")
            #expect(refused.refusal?.reason?.contains("registered for client_secret_basic") == true)
            #expect(try await f.token(other).status == 200)
        }
    }

    @Test("a public client that shows a secret is refused; an empty parameter is none")
    func publicClientWithASecret() async throws {
        try await ProviderFixture.run { f in
            let app = try await f.register(Self.publicClient)
            let id = app.client.id
            let code = try await f.code(of: app)
            for secret in ["secret", f.secret] {
                let posted = try await f.provider.grants.answer(
                    header: nil, body: f.form(code, ["client_id": id, "client_secret": secret]))
                #expect(posted.status == 401 && posted.error == "invalid_client")
            }
            for secret in ["", "secret", String(repeating: "\0", count: 32)] {
                let shown = try await f.provider.grants.answer(header: f.basic(app, secret: secret), body: f.form(code))
                #expect(shown.status == 401 && shown.error == "invalid_client")
                await #expect(throws: OAuthError(.invalidClient)) {
                    try await f.provider.clients.authenticate(header: f.basic(app, secret: secret))
                }
            }
            let answer = try await f.provider.grants.answer(
                header: nil, body: f.form(code, ["client_id": id, "client_secret": ""]))
            #expect(answer.status == 200)
        }
    }

    @Test("a public client's code is worth nothing without its verifier")
    func publicClientsVerifier() async throws {
        try await ProviderFixture.run { f in
            let app = try await f.register(Self.publicClient)
            for (changes, error) in [
                (["code_verifier": nil], "invalid_request"),
                (["code_verifier": CodeVerifier(random: .system).text], "invalid_grant"),
            ] as [([String: String?], String)] {
                let form = f.form(try await f.code(of: app), ["client_id": app.client.id].merging(changes) { $1 })
                let answer = try await f.provider.grants.answer(header: nil, body: form)
                #expect(answer.status == 400 && answer.error == error)
            }
            let query = f.query(["code_challenge": nil, "code_challenge_method": nil], client: app)
            guard
                case .client(.redirect(let address)) = try await f.provider.authorizations.authorize(
                    query, browser: f.browser, session: nil, source: "a", address: nil)
            else {
                Issue.record("asked without a challenge")
                return
            }
            #expect(try ProviderFixture.parameter("error", of: address) == "invalid_request")
        }
    }

    @Test("a public client gives up what it has, and is told nothing about tokens")
    func publicClientsTokens() async throws {
        try await ProviderFixture.run { f in
            var settings = Self.publicClient
            settings.grantTypes = ["authorization_code", "refresh_token"]
            let app = try await f.register(settings)
            let id = app.client.id
            let code = try await f.signIn(["client_id": id, "scope": "openid offline_access"]).code
            let body = try #require(
                try await f.provider.grants.answer(header: nil, body: f.form(code, ["client_id": id])).body)
            let access: Parameters = ["client_id": id, "token": try body.requiredString("access_token")]
            let asked = try await f.provider.introspection.answer(header: nil, body: access.encoded)
            #expect(asked.status == 401 && asked.error == "invalid_client")
            let refresh: Parameters = [
                "client_id": id, "grant_type": "refresh_token",
                "refresh_token": try body.requiredString("refresh_token"),
            ]
            #expect(try await f.provider.grants.answer(header: nil, body: refresh.encoded).status == 200)
            #expect(try await f.provider.revocation.answer(header: nil, body: access.encoded).status == 200)
            let header = "Bearer \(try body.requiredString("access_token"))"
            #expect(try await f.provider.userinfo.answer(header: header).status == 401)
        }
    }

    @Test("a public client can have neither codes bound to a nonce nor a grant of its own")
    func publicClientsLimits() async throws {
        try await ProviderFixture.run { f in
            var settings = Self.publicClient
            settings.codeBinding = .nonce
            #expect(try await self.refusal(f, settings)?.contains("needs PKCE") == true)
            settings = Self.publicClient
            settings.grantTypes = ["authorization_code", "client_credentials"]
            let own = try await self.refusal(f, settings)
            #expect(own == "A client without a way to authenticate cannot have the grant type client_credentials.")
            let app = try await f.register(Self.publicClient)
            for change in [ClientChange(codeBinding: .nonce), ClientChange(grantTypes: ["client_credentials"])] {
                await #expect(throws: OAuthError(.invalidRequest)) {
                    try await f.provider.clients.change(app.client.id, change)
                }
            }
            // From the other side, in one change and in two.
            _ = try await f.provider.clients.change(f.bank.client.id, ClientChange(codeBinding: .nonce))
            await #expect(throws: OAuthError(.invalidRequest)) {
                try await f.provider.clients.change(f.bank.client.id, ClientChange(authenticationMethod: "none"))
            }
            let both = ClientChange(codeBinding: .pkce, authenticationMethod: "none")
            #expect(try await f.provider.clients.change(f.bank.client.id, both)?.settings.isPublic == true)
        }
    }

    @Test("a client without a secret is given none, and one that gets another way loses its secret at once")
    func rotation() async throws {
        try await ProviderFixture.run { f in
            let id = f.bank.client.id
            #expect(try await f.provider.clients.rotateSecret(ofClient: id) != nil)
            let changed = try await f.provider.clients.change(id, ClientChange(authenticationMethod: "none"), by: "op")
            #expect(changed?.secretDigest == nil && changed?.formerSecret == nil)
            let last = try #require(try await f.store.auditEntries(after: 0, limit: 99).last?.event)
            #expect(last.kind.rawValue == "client-authentication-changed" && last.detail == "\(id) none")
            do {
                _ = try await f.provider.clients.rotateSecret(ofClient: id)
                Issue.record("a public client was given a secret")
            } catch let error as OAuthError {
                #expect(error.message == "The client has no secret: it authenticates by none.")
            }
            await #expect(throws: OAuthError(.invalidClient)) {
                try await f.provider.clients.authenticate(header: f.basic())
            }
            // Back again: what it had before is worth nothing, until it is given another one.
            _ = try await f.provider.clients.change(id, ClientChange(authenticationMethod: "client_secret_basic"))
            for secret in [f.secret, "", String(repeating: "\0", count: 32)] {
                await #expect(throws: OAuthError(.invalidClient)) {
                    try await f.provider.clients.authenticate(header: f.basic(secret: secret))
                }
            }
            let rotated = try #require(try await f.provider.clients.rotateSecret(ofClient: id))
            #expect(rotated.client.formerSecret == nil)
            #expect(try await f.provider.clients.authenticate(header: f.basic(rotated)).id == id)
        }
    }

    @Test("what a client may do and how it proves itself are changed with their events")
    func events() async throws {
        try await ProviderFixture.run { f in
            let id = f.bank.client.id
            let before = try await f.store.auditEntries(after: 0, limit: 99).count
            for change in [
                ClientChange(grantTypes: ["authorization_code"]),
                ClientChange(authenticationMethod: "client_secret_post"),
                ClientChange(keySet: try ClientKey(.es256).set), ClientChange(keySet: ""),
                ClientChange(authenticationMethod: "client_secret_post", keySet: ""),
            ] {
                _ = try await f.provider.clients.change(id, change, by: "op")
            }
            let trail = try await f.store.auditEntries(after: 0, limit: 99).dropFirst(before).map(\.event)
            #expect(trail.map(\.kind.rawValue) == Array(repeating: "client-authentication-changed", count: 3))
            #expect(trail.allSatisfy { $0.detail == "\(id) client_secret_post" && $0.actor == "op" })
            _ = try await f.store.changeClient(id) { client in
                client.settings.grantTypes = ["another"]
                return []
            }
            _ = try await f.provider.clients.change(id, ClientChange(grantTypes: ["authorization_code"]), by: "op")
            let last = try #require(try await f.store.auditEntries(after: 0, limit: 99).last?.event)
            #expect(last.kind.rawValue == "client-grants-changed" && last.detail == "\(id) authorization_code")
        }
    }
}

extension ProviderFixture {
    /// A client of these settings at the usual address.
    func register(_ settings: ClientSettings, at addresses: [String] = [Self.address]) async throws -> RegisteredClient
    {
        try await self.provider.clients.register(name: "Shop", redirectURIs: addresses, settings: settings)
    }

    /// A code of a client, of a person who has just signed in.
    func code(of client: RegisteredClient, at address: String = Self.address) async throws -> String {
        try await self.signIn(["client_id": client.client.id, "redirect_uri": address]).code
    }
}
