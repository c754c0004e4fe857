import JOSE
import OAuth
import OAuthProvider
import Records
import Settings
import Testing
import _Primitives

/// FAPI 2.0 Security Profile, section 5.3.2.1: what begins up to ten seconds from now is taken, what begins more than sixty
/// seconds from now is not.
@Suite("FAPI 2.0, section 5.3.2.1: clocks of clients that differ from the server's")
struct ClockSkewTests {
    /// What clients sign that has a time.
    enum Statement: CaseIterable, CustomTestStringConvertible {
        case assertion, serviceAssertion, requestObject, proof

        var testDescription: String { "\(self)" }
    }

    /// A client of each kind, and what it has signed.
    private struct Signer {
        let f: ProviderFixture
        let key: ClientKey
        let holder: KeyHolder
        let client: RegisteredClient
        let service: RegisteredClient

        init(_ f: ProviderFixture) async throws {
            self.f = f
            self.key = try ClientKey(.es256)
            self.holder = try KeyHolder()
            self.client = try await f.register(self.key.settings)
            var settings = self.key.settings
            settings.grantTypes = ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
            settings.tokens = TokenSettings(scopes: ["read"])
            self.service = try await f.provider.clients.register(name: "Report", redirectURIs: [], settings: settings)
        }

        /// What is made by the client's clock, which shows what the server's shows now, but for `changes`.
        func make(_ statement: Statement, _ changes: [String: JSON?] = [:]) async throws -> String {
            switch statement {
            case .assertion: return try self.key.assertion(self.client.client.id, self.f, changes)
            case .serviceAssertion: return try self.key.assertion(self.service.client.id, self.f, changes)
            case .requestObject:
                let now = self.f.clock.source.now().seconds
                var claims: JSONObject = [
                    "iss": .string(self.client.client.id), "aud": .string(ProviderFixture.issuer),
                    "exp": .integer(now + 60), "nbf": .integer(now), "iat": .integer(now),
                    "client_id": .string(self.client.client.id), "response_type": .string("code"),
                    "redirect_uri": .string(ProviderFixture.address), "scope": .string("openid"),
                    "state": .string("signed"), "code_challenge": .string(self.f.verifier.challenge.text),
                    "code_challenge_method": .string("S256"),
                ]
                for (name, value) in changes { claims[name] = value }
                return try JWS.sign(
                    JSON.object(claims).serialized, type: "oauth-authz-req+jwt", with: self.key.signing)
            case .proof: return try await self.holder.proof(self.f, changes)
            }
        }

        /// Whether the server takes it now.
        func isTaken(_ statement: Statement, _ text: String) async throws -> Bool {
            let provider = self.f.provider
            switch statement {
            case .assertion:
                // The code is none: whoever has proved who it is is told so.
                let answer = try await self.f.token("unknown", assertion: text)
                #expect(["invalid_grant", "invalid_client"].contains(answer.error))
                return answer.error == "invalid_grant"
            case .serviceAssertion:
                let form: Parameters = [
                    "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": text,
                ]
                let answer = try await provider.grants.answer(header: nil, body: form.encoded)
                #expect([nil, "invalid_grant"].contains(answer.error))
                return answer.status == 200
            case .requestObject:
                let parameters: Parameters = ["client_id": self.client.client.id, "request": text]
                let answer = try await provider.authorizations.authorize(
                    parameters.encoded, browser: self.f.browser, session: nil, source: "a", address: nil)
                if case .signIn = answer { return true }
                return false
            case .proof:
                let answer = try await self.f.token("unknown", proofs: [text])
                #expect(["invalid_grant", "invalid_dpop_proof"].contains(answer.error))
                return answer.error == "invalid_grant"
            }
        }
    }

    /// A moment in the middle of the time that a nonce is given for.
    private func run(_ body: (Signer) async throws -> Void) async throws {
        try await ProviderFixture.run { f in
            f.clock.advance(.seconds(150))
            try await body(Signer(f))
        }
    }

    @Test("a client whose clock is ten seconds ahead or behind is understood", arguments: Statement.allCases)
    func tenSeconds(statement: Statement) async throws {
        try await self.run { signer in
            for ahead in [10, -10, 0, 30, -30] {
                let text = try await signer.make(statement)
                signer.f.clock.advance(.seconds(-ahead))
                #expect(try await signer.isTaken(statement, text), "\(ahead) seconds ahead")
                signer.f.clock.advance(.seconds(ahead))
            }
        }
    }

    @Test("one that is further ahead is not, and least of all by more than a minute", arguments: Statement.allCases)
    func tooFarAhead(statement: Statement) async throws {
        try await self.run { signer in
            // The nonce of a proof says when it was made: its client's clock may be five minutes ahead.
            for ahead in statement == .proof ? [301, 360] : [31, 60, 61, 100] {
                let text = try await signer.make(statement)
                signer.f.clock.advance(.seconds(-ahead))
                #expect(try await !signer.isTaken(statement, text), "\(ahead) seconds ahead")
                signer.f.clock.advance(.seconds(ahead))
            }
        }
    }

    @Test(
        "each time that a statement has is held against the clock by itself",
        arguments: [Statement.assertion, .serviceAssertion, .requestObject])
    func eachTime(statement: Statement) async throws {
        try await self.run { signer in
            let now = signer.f.clock.source.now().seconds
            for (claim, offset, isTaken) in [
                ("iat", 10, true), ("iat", 30, true), ("iat", 31, false), ("iat", 61, false),
                ("nbf", 10, true), ("nbf", 30, true), ("nbf", 31, false), ("nbf", 61, false),
                ("exp", -10, true), ("exp", -29, true), ("exp", -30, false), ("exp", -61, false),
            ] as [(String, Int64, Bool)] {
                let text = try await signer.make(statement, [claim: .integer(now + offset)])
                #expect(try await signer.isTaken(statement, text) == isTaken, "\(claim) \(offset)")
            }
        }
    }

    @Test("a proof of a client of fapi2 counts for two minutes, and from ten seconds before it was made")
    func proofsOfFAPI2() async throws {
        try await ProviderFixture.run { f in
            f.clock.advance(.seconds(150))
            let (own, key) = (try ClientKey(.es256), try KeyHolder())
            var settings = own.settings
            settings.profile = ClientProfile(security: .fapi2)
            let client = try await f.register(settings)
            let now = f.clock.source.now().seconds
            for (offset, isTaken) in [
                (10, true), (30, true), (31, false), (61, false), (-10, true), (-120, true), (-121, false),
            ] as [(Int64, Bool)] {
                let form: Parameters = [
                    "grant_type": "authorization_code", "code": "unknown", "redirect_uri": ProviderFixture.address,
                    "code_verifier": f.verifier.text,
                    "client_assertion": try own.assertion(client.client.id, f),
                    "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
                ]
                let answer = try await f.provider.grants.answer(
                    header: nil, body: form.encoded, proofs: [key.proof(f, ["iat": .integer(now + offset)])])
                #expect(answer.error == (isTaken ? "invalid_grant" : "invalid_dpop_proof"), "\(offset)")
            }
        }
    }

    @Test("a proof with a nonce of ours counts where its client's clock is five minutes off")
    func proofs() async throws {
        try await self.run { signer in
            let now = signer.f.clock.source.now().seconds
            for (offset, isTaken) in [
                (10, true), (300, true), (301, false), (-10, true), (-300, true), (-420, true), (-421, false),
            ] as [(Int64, Bool)] {
                let text = try await signer.make(.proof, ["iat": .integer(now + offset)])
                #expect(try await signer.isTaken(.proof, text) == isTaken, "\(offset)")
            }
        }
    }

    @Test func theBoundIsWhereTheProfileWantsIt() {
        let skew = Limits().oauth.clientClockSkew
        #expect(skew >= .seconds(10) && skew <= .seconds(60))
    }
}
