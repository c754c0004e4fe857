import JOSE
import OAuth
import OAuthProvider
import Records
import SQLStore
import Settings
import Testing
import _Primitives

@Suite("RFC 9449, sections 4, 5, 8 and 10: tokens for whoever holds a key")
struct KeyProofTests {
    private func refused(
        _ answer: ProviderAnswer, _ error: String = "invalid_dpop_proof", _ comment: Comment? = nil
    ) {
        #expect(answer.status == 400 && answer.error == error, comment)
        #expect(answer.body?["access_token"] == nil)
    }

    @Test("a proof binds the access token to its key", arguments: [JWSAlgorithm.es256, .ps256, .edDSA])
    func binds(algorithm: JWSAlgorithm) async throws {
        try await ProviderFixture.run { f in
            let key = try KeyHolder(algorithm)
            let answer = try await f.token(f.signIn().code, proofs: [key.proof(f)])
            let body = try #require(answer.body)
            #expect(answer.status == 200 && body["token_type"] == .string("DPoP"))
            let claims = try f.claims(body.requiredString("access_token"), type: "at+jwt")
            #expect(claims.members["cnf"] == key.confirmation)
            // Without one it is as ever.
            let plain = try #require(try await f.token(f.signIn().code).body)
            #expect(plain["token_type"] == .string("Bearer"))
            #expect(try f.claims(plain.requiredString("access_token"), type: "at+jwt").members["cnf"] == nil)
            #expect(
                try f.provider.discovery.strings("dpop_signing_alg_values_supported") == ["ES256", "EdDSA", "PS256"])
        }
    }

    // MARK: Nonces

    @Test("without a nonce the client is told one, and comes again with the same code and the same assertion")
    func challenge() async throws {
        try await ProviderFixture.run { f in
            let (own, key) = (try ClientKey(.es256), try KeyHolder())
            let client = try await f.register(own.settings)
            let code = try await f.code(of: client)
            let form = f.form(
                code,
                [
                    "client_assertion": try own.assertion(client.client.id, f),
                    "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
                ])
            let first = try await f.provider.grants.answer(
                header: nil, body: form, proofs: [key.proof(f, ["nonce": nil])])
            self.refused(first, "use_dpop_nonce")
            let nonce = try #require(first.header("DPoP-Nonce"))
            #expect(nonce.utf8.count == 22)
            let proof = try await key.proof(f, ["nonce": .string(nonce)])
            let second = try await f.provider.grants.answer(header: nil, body: form, proofs: [proof])
            #expect(second.status == 200 && second.header("DPoP-Nonce") == nonce)
            // Whoever proves no key needs none.
            #expect(try await f.token(f.signIn().code).header("DPoP-Nonce") == nil)
        }
    }

    @Test("a nonce is taken in its own slot of time and in the next, at every node, and not after a restore")
    func nonces() async throws {
        try await ProviderFixture.run { f in
            let key = try KeyHolder()
            let code = try await f.signIn(["scope": "openid"]).code
            let first = try await f.keyProofNonce()
            var seen: Set = [first]
            for _ in 0..<2 {
                f.clock.advance(.seconds(300))
                #expect(seen.insert(try await f.keyProofNonce()).inserted)
            }
            func error(_ nonce: String, _ node: OpenIDProvider? = nil) async throws -> String? {
                let answer = try await f.token(
                    code, proofs: [key.proof(f, ["nonce": .string(nonce)])], at: node)
                #expect(answer.status == 400)
                return answer.error
            }
            // The code is too old by now: that is found out of a proof that is right.
            #expect(try await error(first) == "use_dpop_nonce")
            for nonce in seen.subtracting([first]) {
                #expect(try await error(nonce) == "invalid_grant")
                #expect(try await error(nonce, f.node()) == "invalid_grant")
                #expect(try await error(nonce, f.node(epoch: "another")) == "use_dpop_nonce")
                #expect(try await error(nonce + "A") == "use_dpop_nonce")
            }
            #expect(try await error("AAAAAAAAAAAAAAAAAAAAAA") == "use_dpop_nonce")
        }
    }

    // MARK: What is no proof

    @Test("whatever is wrong with a proof is refused, and spends no code")
    func wrong() async throws {
        try await ProviderFixture.run { f in
            let (key, other, weak) = (try KeyHolder(), try KeyHolder(), try KeyHolder(.rs256))
            let code = try await f.signIn().code
            let now = f.clock.source.now().seconds
            var proofs: [(String, [String])] = [
                ("two", [try await key.proof(f), try await key.proof(f)]), ("empty", [""]), ("no JWT", ["a.b.c"]),
                ("typ", [try await key.proof(f, type: "JWT")]), ("alg", [try await weak.proof(f)]),
                ("no key", [try await key.proof(f, header: [:])]),
                ("another key's signature", [try await key.proof(f, header: ["jwk": .object(other.jwk)])]),
                ("a nonce that is no text", [try await key.proof(f, ["nonce": .integer(1)])]),
            ]
            var secret = key.jwk
            secret["d"] = .string(Base64URL.encode(RandomSource.system.bytes(32)))
            proofs.append(("a private key", [try await key.proof(f, header: ["jwk": .object(secret)])]))
            let changes: [(String, JSON?)] = [
                ("jti", nil), ("jti", .string("")), ("htm", nil), ("htm", .string("GET")), ("htm", .string("post")),
                ("htu", nil), ("htu", .string(KeyHolder.userinfo)),
                ("htu", .string("https://other.example/oauth2/token")),
                ("htu", .string("http://id.example/oauth2/token")), ("iat", nil), ("iat", .string("\(now)")),
                ("iat", .integer(now - 421)), ("iat", .integer(now + 301)),
            ]
            for (name, value) in changes {
                proofs.append(("\(name) \(value?.text ?? "missing")", [try await key.proof(f, [name: value])]))
            }
            for (name, fields) in proofs {
                let answer = try await f.token(code, proofs: fields)
                self.refused(answer, "invalid_dpop_proof", "\(name)")
                #expect(answer.header("DPoP-Nonce") != nil)
            }
            let right = try await key.proof(f, ["htu": .string("HTTPS://ID.example:443/oauth2/token?a#b")])
            #expect(try await f.token(code, proofs: [right]).status == 200)
        }
    }

    @Test("a client's clock may be behind and ahead", arguments: [-420, -300, -10, 10, 30, 300])
    func clocks(seconds: Int64) async throws {
        try await ProviderFixture.run { f in
            let made = JSON.integer(f.clock.source.now().seconds + seconds)
            let answer = try await f.token(f.signIn().code, proofs: [KeyHolder().proof(f, ["iat": made])])
            #expect(answer.status == 200)
        }
    }

    @Test("a proof counts once: at any node, for as long as it could be shown, whatever came of it")
    func replay() async throws {
        try await ProviderFixture.run { f in
            let key = try KeyHolder()
            let proof = try await key.proof(f, ["jti": .string("once")])
            // The first showing is a refused one.
            self.refused(try await f.token("unknown", proofs: [proof]), "invalid_grant")
            let code = try await f.signIn().code
            let other = try await f.node()
            for node in [f.provider, other] {
                self.refused(try await f.token(code, proofs: [proof], at: node))
            }
            // What another has named alike is another proof, and so is what the client does not authenticate with.
            let stranger = try await KeyHolder().proof(f, ["jti": .string("once")])
            let header = f.basic(secret: "wrong")
            #expect(
                try await f.provider.grants.answer(header: header, body: f.form(code), proofs: [stranger]).error
                    == "invalid_client")
            #expect(try await f.token(code, proofs: [stranger]).status == 200)
            let late = try await f.signIn().code
            f.clock.advance(.seconds(59))
            try await f.provider.sweep()
            self.refused(try await f.token(late, proofs: [proof]))
        }
    }

    @Test(
        "a proof is remembered until its nonce is not taken any more: shown again around it, at another node",
        arguments: [-300, 0, 300])
    func eachSecond(offset: Int64) async throws {
        try await ProviderFixture.run { f in
            // At the end of a slot, so that the nonce is taken for the shortest time, or at its start, for the longest.
            f.clock.advance(.seconds(offset < 0 ? 299 : 0))
            let other = try await f.node()
            let made = f.clock.source.now().seconds + offset
            let proof = try await KeyHolder().proof(f, ["iat": .integer(made)])
            self.refused(try await f.token("unknown", proofs: [proof]), "invalid_grant")
            for second in 1...610 {
                f.clock.advance(.seconds(1))
                try await f.provider.sweep()
                let answer = try await f.token("unknown", proofs: [proof], at: second.isMultiple(of: 2) ? other : nil)
                #expect(["invalid_dpop_proof", "use_dpop_nonce"].contains(answer.error), "\(second)")
                // By its clock it is good for seven minutes, and by its nonce for five to ten.
                let isGood = second <= 420 + Int(offset) && second < (offset < 0 ? 301 : 600)
                let isRemembered = answer.refusal?.reason?.contains("jti was shown before") == true
                #expect(isRemembered == isGood, "\(second)")
            }
        }
    }

    @Test("one sweep forgets all proofs whose time is over, however few a step deletes")
    func sweep() async throws {
        var limits = Limits()
        limits.sweepBatch = 2
        try await ProviderFixture.run(limits: limits) { f in
            func show(_ count: Int) async throws {
                for _ in 0..<count {
                    self.refused(try await f.token("unknown", proofs: [KeyHolder().proof(f)]), "invalid_grant")
                }
            }
            try await show(5)
            f.clock.advance(.seconds(601))
            try await show(1)
            #expect(try await f.provider.sweep() == 5)
            #expect(try await f.provider.sweep() == 0, "the sixth can still be shown")
        }
    }

    // MARK: The key that was announced

    @Test("a code that was asked for with a key's name is good with that key alone, however the person came in")
    func announced() async throws {
        try await ProviderFixture.run { f in
            let (key, other) = (try KeyHolder(), try KeyHolder())
            let changes = ["dpop_jkt": key.thumbprint]
            let session = try await f.signIn().session
            func bySession() async throws -> String {
                let answer = try await f.provider.authorizations.authorize(
                    f.query(changes), browser: f.browser, session: session, source: "a", address: nil)
                guard case .client(.redirect(let address)) = answer else { return "" }
                return try #require(try ProviderFixture.parameter("code", of: address))
            }
            for code in [try await f.signIn(changes).code, try await bySession()] {
                self.refused(try await f.token(code), "invalid_grant")
            }
            for code in [try await f.signIn(changes).code, try await bySession()] {
                self.refused(try await f.token(code, proofs: [other.proof(f)]), "invalid_grant")
                // It is spent, as by a wrong verifier.
                self.refused(try await f.token(code, proofs: [key.proof(f)]), "invalid_grant")
            }
            for code in [try await f.signIn(changes).code, try await bySession()] {
                let answer = try await f.token(code, proofs: [key.proof(f)])
                #expect(answer.status == 200 && answer.body?["token_type"] == .string("DPoP"))
            }
        }
    }

    @Test("what is no name of a key is refused before anybody is asked", arguments: ["x", "A", "not+base64url"])
    func unnamed(text: String) async throws {
        try await ProviderFixture.run { f in
            for name in [text, try KeyHolder().thumbprint + "AA"] {
                let answer = try await f.provider.authorizations.authorize(
                    f.query(["dpop_jkt": name]), browser: f.browser, session: nil, source: "a", address: nil)
                guard case .client(.redirect(let address)) = answer else {
                    Issue.record("taken: \(name)")
                    continue
                }
                #expect(try ProviderFixture.parameter("error", of: address) == "invalid_request")
            }
        }
    }
}
