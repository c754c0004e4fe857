import JOSE
import OAuth
import OAuthProvider
import Records
import Testing
import _Primitives

@Suite("RFC 9449, sections 5 to 7: tokens that are bound to a key")
struct BoundTokenTests {
    private static let day: Duration = .seconds(24 * 60 * 60)

    // MARK: At a resource

    private func refused(
        _ answer: ProviderAnswer, _ error: String, scheme: String, _ comment: Comment? = nil
    ) {
        #expect(answer.status == 401 && answer.error == error, comment)
        let challenge = answer.header("WWW-Authenticate") ?? ""
        #expect(challenge.hasPrefix("\(scheme) realm=\"https://id.example\", error=\"\(error)\""), comment)
        #expect(challenge.hasSuffix("algs=\"ES256 EdDSA PS256\"") == (scheme == "DPoP"), comment)
        #expect(answer.body?["sub"] == nil)
    }

    @Test(
        "a bound token opens its person's claims with a proof of its key, once each",
        arguments: ["DPoP", "dpop", "DPOP"])
    func opens(scheme: String) async throws {
        try await ProviderFixture.run { f in
            let key = try KeyHolder()
            let access = try await f.access(boundTo: key)
            for method in ["GET", "POST"] {
                let proof = try await key.proof(f, of: access, method: method)
                let first = try await f.provider.userinfo.answer(
                    header: "\(scheme) \(access)", method: method, proofs: [proof])
                #expect(first.status == 200 && first.body?["sub"] != nil && first.header("DPoP-Nonce") != nil)
                for node in [f.provider, try await f.node()] {
                    let again = try await node.userinfo.answer(
                        header: "\(scheme) \(access)", method: method, proofs: [proof])
                    self.refused(again, "invalid_dpop_proof", scheme: "DPoP")
                }
            }
        }
    }

    @Test("a bound token is nothing as a bearer's, and a bearer's is nothing as a bound one")
    func schemes() async throws {
        try await ProviderFixture.run { f in
            let key = try KeyHolder()
            let bound = try await f.access(boundTo: key)
            for proofs in [[], [try await key.proof(f, of: bound)]] {
                for scheme in ["Bearer", "bearer"] {
                    let answer = try await f.provider.userinfo.answer(header: "\(scheme) \(bound)", proofs: proofs)
                    self.refused(answer, "invalid_token", scheme: "Bearer")
                }
            }
            let plain = try await f.tokens().access
            for proofs in [[], [try await key.proof(f, of: plain)]] {
                let answer = try await f.provider.userinfo.answer(header: "DPoP \(plain)", proofs: proofs)
                self.refused(answer, "invalid_token", scheme: "DPoP")
            }
            // A proof beside a bearer's token changes nothing.
            let beside = try await f.provider.userinfo.answer(
                header: "Bearer \(plain)", proofs: [key.proof(f, of: plain)])
            #expect(beside.status == 200)
        }
    }

    @Test("whatever is wrong with the proof is refused")
    func proofs() async throws {
        try await ProviderFixture.run { f in
            let (key, other) = (try KeyHolder(), try KeyHolder())
            let access = try await f.access(boundTo: key)
            let another = try await f.access(boundTo: key)
            func answer(_ proofs: [String]) async throws -> ProviderAnswer {
                try await f.provider.userinfo.answer(header: "DPoP \(access)", proofs: proofs)
            }
            let right = try await key.proof(f, of: access)
            let wrong: [(String, [String])] = [
                ("none", []), ("two", [right, try await key.proof(f, of: access)]),
                ("no ath", [try await key.proof(f, of: nil)]),
                ("another token's", [try await key.proof(f, of: another)]),
                ("another method", [try await key.proof(f, of: access, method: "POST")]),
                ("another address", [try await key.proof(f, of: access, target: KeyHolder.token)]),
            ]
            for (name, proofs) in wrong {
                self.refused(try await answer(proofs), "invalid_dpop_proof", scheme: "DPoP", "\(name)")
            }
            self.refused(try await answer([other.proof(f, of: access)]), "invalid_token", scheme: "DPoP")
            let bare = try DPoPProof.make(
                method: "GET", target: #require(TargetURI(KeyHolder.userinfo)), accessToken: access,
                with: key.signing, at: f.clock.source.now(), random: .system)
            let challenge = try await answer([bare])
            self.refused(challenge, "use_dpop_nonce", scheme: "DPoP")
            #expect(try await challenge.header("DPoP-Nonce") == f.keyProofNonce())
            #expect(try await answer([right]).status == 200)
        }
    }

    @Test("introspection tells what a token is bound to")
    func introspection() async throws {
        try await ProviderFixture.run { f in
            let key = try KeyHolder()
            let form: Parameters = ["token": try await f.access(boundTo: key)]
            let body = try #require(
                try await f.provider.introspection.answer(header: f.basic(), body: form.encoded).body)
            #expect(body["active"] == .bool(true) && body["token_type"] == .string("DPoP"))
            #expect(body["cnf"] == key.confirmation)
        }
    }

    // MARK: Refresh tokens

    /// A client that may renew its tokens, and what it was given last.
    private struct Renewing {
        let f: ProviderFixture
        let client: RegisteredClient
        var body: JSONObject

        /// - Parameter method: How it authenticates; `none` for an app.
        init(_ f: ProviderFixture, method: String, key: KeyHolder?) async throws {
            self.f = f
            self.client = try await Self.register(f, method: method)
            let id = self.client.client.id
            let changes = ["client_id": id, "scope": "openid offline_access"]
            let code = try await f.signIn(changes).code
            let answer = try await f.provider.grants.answer(
                header: method == "none" ? nil : f.basic(self.client),
                body: f.form(code, method == "none" ? ["client_id": id] : [:]), proofs: Self.proofs(f, key))
            self.body = try #require(answer.body)
        }

        static func register(_ f: ProviderFixture, method: String) async throws -> RegisteredClient {
            try await f.provider.clients.register(
                name: "Mail", redirectURIs: [ProviderFixture.address],
                settings: ClientSettings(
                    idTokenAlgorithm: .es256, grantTypes: ["authorization_code", "refresh_token"],
                    authenticationMethod: method))
        }

        private static func proofs(_ f: ProviderFixture, _ key: KeyHolder?) async throws -> [String] {
            guard let key else { return [] }
            return [try await key.proof(f)]
        }

        var refresh: String { get throws { try self.body.requiredString("refresh_token") } }

        func show(_ token: String, key: KeyHolder?) async throws -> ProviderAnswer {
            try await self.show(token, proofs: Self.proofs(self.f, key))
        }

        func show(_ token: String, proofs: [String], at node: OpenIDProvider? = nil) async throws -> ProviderAnswer {
            var form: Parameters = ["grant_type": "refresh_token", "refresh_token": token]
            if self.client.secret == nil { form.append("client_id", self.client.client.id) }
            return try await (node ?? self.f.provider).grants.answer(
                header: self.client.secret == nil ? nil : self.f.basic(self.client), body: form.encoded,
                proofs: proofs)
        }

        /// Renews, and says what the access token is bound to.
        mutating func renew(key: KeyHolder?) async throws -> JSON? {
            let answer = try await self.show(self.refresh, key: key)
            self.body = try #require(answer.status == 200 ? answer.body : nil)
            #expect(self.body["token_type"] == .string(key == nil ? "Bearer" : "DPoP"))
            return try self.f.claims(self.body.requiredString("access_token"), type: "at+jwt").members["cnf"]
        }
    }

    @Test("what an app was given for a key renews with that key alone, and whoever has another changes nothing")
    func app() async throws {
        try await ProviderFixture.run { f in
            let (key, other) = (try KeyHolder(), try KeyHolder())
            var app = try await Renewing(f, method: "none", key: key)
            let first = try app.refresh
            func expectRefused(_ token: String) async throws {
                for thief in [nil, other] {
                    let answer = try await app.show(token, key: thief)
                    #expect(answer.status == 400 && answer.error == "invalid_grant")
                }
            }
            try await expectRefused(first)
            #expect(try await app.renew(key: key) == key.confirmation)
            let second = try app.refresh
            // The parent is as good as before for a day, and nothing to a thief; neither does he end the family.
            f.clock.advance(Self.day)
            try await expectRefused(first)
            try await expectRefused(second)
            let repeated = try await app.show(first, key: key)
            #expect(repeated.status == 200)
            app.body = try #require(repeated.body)
            #expect(try await app.renew(key: key) == key.confirmation)
            // Past, and without its key: nothing is ended.
            try await expectRefused(first)
            #expect(try await app.renew(key: key) == key.confirmation)
            // Past, and with its key: it was the owner's, and somebody has it twice.
            f.clock.advance(.seconds(60))
            #expect(try await app.show(first, key: key).error == "invalid_grant")
            #expect(try await app.show(app.refresh, key: key).error == "invalid_grant")
        }
    }

    @Test("a repeated request reaches no grant and ends no session, whatever its network has shown before")
    func repetition() async throws {
        try await ProviderFixture.run { f in
            let (key, thief) = (try KeyHolder(), try KeyHolder())
            var app = try await Renewing(f, method: "none", key: key)
            let (past, proof) = (try app.refresh, try await key.proof(f))
            app.body = try #require(try await app.show(past, proofs: [proof]).body)
            // Two more tokens, and the first of the three ends the session if its owner shows it.
            for _ in 0..<2 {
                f.clock.advance(.seconds(61))
                #expect(try await app.renew(key: key) == key.confirmation)
            }
            for _ in 0..<9 { #expect(try await app.show(past, key: thief).error == "invalid_grant") }
            for node in [f.provider, try await f.node()] {
                #expect(try await app.show(past, proofs: [proof], at: node).error == "invalid_dpop_proof")
            }
            #expect(try await app.renew(key: key) == key.confirmation)
            #expect(try await app.show(past, key: key).error == "invalid_grant")
            #expect(try await app.show(app.refresh, key: key).error == "invalid_grant", "the owner's showing ends it")
        }
    }

    @Test("of 20 requests at once with one code and one proof one gets tokens, and the others do not end them")
    func oneOfTwentyRequests() async throws {
        try await ProviderFixture.run { f in
            let key = try KeyHolder()
            let id = try await Renewing.register(f, method: "none").client.id
            let code = try await f.signIn(["client_id": id, "scope": "openid offline_access"]).code
            let (body, proof) = (f.form(code, ["client_id": id]), try await key.proof(f))
            let answers = try await withThrowingTaskGroup(of: ProviderAnswer.self) { group in
                for _ in 0..<20 {
                    group.addTask { try await f.provider.grants.answer(header: nil, body: body, proofs: [proof]) }
                }
                return try await group.reduce(into: [ProviderAnswer]()) { $0.append($1) }
            }
            #expect(answers.count { $0.error == "invalid_dpop_proof" } == 19)
            let given = try #require(answers.first { $0.status == 200 }?.body)
            let form: Parameters = [
                "grant_type": "refresh_token", "refresh_token": try given.requiredString("refresh_token"),
                "client_id": id,
            ]
            let renewed = try await f.provider.grants.answer(
                header: nil, body: form.encoded, proofs: [key.proof(f)])
            #expect(renewed.status == 200)
        }
    }

    @Test("what an app was given for no key is bound to none by a proof that comes later")
    func unbound() async throws {
        try await ProviderFixture.run { f in
            let key = try KeyHolder()
            var app = try await Renewing(f, method: "none", key: nil)
            let first = try app.refresh
            // Its access token is the key's.
            #expect(try await app.renew(key: key) == key.confirmation)
            #expect(try await app.renew(key: nil) == nil)
            f.clock.advance(.seconds(60))
            let (parent, child) = (try app.refresh, try await app.show(app.refresh, key: key))
            #expect(first != parent && child.status == 200)
            // Ten minutes later nobody is believed to have lost an answer.
            f.clock.advance(.seconds(599))
            #expect(try await app.show(parent, key: key).status == 200)
            f.clock.advance(.seconds(1))
            #expect(try await app.show(parent, key: key).error == "invalid_grant")
            let token = try #require(try child.body?.requiredString("refresh_token"))
            #expect(try await app.show(token, key: key).error == "invalid_grant")
        }
    }

    @Test("an operator lets an app's used token be taken again for another time than the server's")
    func usedTokenTime() async throws {
        try await ProviderFixture.run { f in
            let app = try await Renewing(f, method: "none", key: nil)
            _ = try await f.provider.clients.change(
                app.client.client.id, ClientChange(tokens: TokenSettingsChange(usedRefreshTokenLifetime: .seconds(20))))
            let first = try app.refresh
            #expect(try await app.show(first, key: nil).status == 200)
            f.clock.advance(.seconds(19))
            #expect(try await app.show(first, key: nil).status == 200)
            f.clock.advance(.seconds(1))
            #expect(try await app.show(first, key: nil).error == "invalid_grant")
        }
    }

    @Test("a client that authenticates changes its keys as it likes: its refresh tokens are bound to it")
    func service() async throws {
        try await ProviderFixture.run { f in
            let (key, other) = (try KeyHolder(), try KeyHolder())
            var service = try await Renewing(f, method: "client_secret_basic", key: key)
            #expect(try await service.renew(key: key) == key.confirmation)
            #expect(try await service.renew(key: other) == other.confirmation)
            #expect(try await service.renew(key: nil) == nil)
        }
    }
}
