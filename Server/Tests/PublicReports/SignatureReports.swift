import CountersignServer
import CountersignTestKit
import Crypto
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JOSE
import OAuth
import OAuthProvider
import Records
import Testing
import _Primitives

@testable import CountersignServerTests

@Suite("Reports of signatures (RFC 8725, RFC 7523 and RFC 9449)")
struct SignatureReports {
    /// A right server takes no token that nobody has signed, however the word is spelled.
    ///
    /// Source: RFC 8725, section 3.2; CVE-2022-23540 (jsonwebtoken).
    @Test("an assertion without a signature is nobody's", arguments: ["none", "None", "NONE", "nOnE", ""])
    func none(algorithm: String) async throws {
        try await ReportPlace.run { place in
            let service = try await place.signingService(try ReportPlace.key().set)
            let forged = ReportPlace.jws(["alg": .string(algorithm)], place.assertion(of: service))
            let answer = try await place.redeem(try await place.code(of: service), assertion: forged)
            #expect(answer.object.error == "invalid_client" && answer.response.status == .unauthorized)
        }
    }

    /// A right server chooses the algorithm by the key: a public key is no secret.
    ///
    /// Source: RFC 8725, section 3.1; CVE-2016-10555 (jwt-simple) and CVE-2015-9235 (jsonwebtoken).
    @Test("a public key signs nothing as if it were a secret, and neither does the client's own secret")
    func confusion() async throws {
        try await ReportPlace.run { place in
            let key = try ReportPlace.key()
            let service = try await place.signingService(key.set)
            for secret in [key.set, place.party.secret, ""] {
                let header: JSONObject = ["alg": .string("HS256")]
                let claims = place.assertion(of: service)
                let text = ReportPlace.jws(header, claims).dropLast()
                let code = HMAC<SHA256>.authenticationCode(
                    for: Array(text.utf8), using: SymmetricKey(data: Array(secret.utf8)))
                let forged = ReportPlace.jws(header, claims, signature: Array(code))
                let answer = try await place.redeem(try await place.code(of: service), assertion: forged)
                #expect(answer.object.error == "invalid_client")
            }
        }
    }

    /// A right server verifies with the keys that it knows, and fetches or believes none that the token brings.
    ///
    /// Source: RFC 8725, section 3.10; CVE-2018-0114 (node-jose: an embedded `jwk`).
    @Test(
        "a key that a token brings, or an address of one, is not looked at",
        arguments: ["jwk", "jku", "x5u", "x5c", "kid"])
    func keysInHeaders(member: String) async throws {
        let calls = PublishedFiles()
        try await ReportPlace.run(calls: calls) { place in
            let service = try await place.signingService(try ReportPlace.key().set)
            let thief = try ReportPlace.key().signing
            let publicKey = try #require(thief.publicKey?.publicJSON)
            let values: [String: JSON] = [
                "jwk": .object(publicKey),
                "jku": .string("https://evil.example/keys"), "x5u": .string("https://evil.example/chain"),
                "x5c": .array([.string("MIIB")]), "kid": .string("../../../../dev/null"),
            ]
            var header: JSONObject = [:]
            header[member] = values[member]
            let forged = try JWS.sign(
                JSON.object(place.assertion(of: service)).serialized, type: "JWT", header: header, with: thief)
            let answer = try await place.redeem(try await place.code(of: service), assertion: forged)
            #expect(answer.object.error == "invalid_client")
            #expect(calls.addresses.isEmpty)
        }
    }

    /// A right server refuses a token with a critical member that it does not know.
    ///
    /// Source: RFC 7515, section 4.1.11; CVE-2025-59420 (Authlib).
    @Test("a critical member that nobody here knows is a refusal")
    func critical() async throws {
        try await ReportPlace.run { place in
            let key = P256.Signing.PrivateKey()
            let (x, y) = (key.publicKey.rawRepresentation.prefix(32), key.publicKey.rawRepresentation.suffix(32))
            let service = try await place.signingService(
                #"{"keys":[{"kty":"EC","crv":"P-256","x":"\#(Base64URL.encode(Array(x)))","#
                    + #""y":"\#(Base64URL.encode(Array(y)))"}]}"#)
            for critical in [JSON.array([.string("bork")]), .array([]), .array([.string("alg")]), .string("b64")] {
                let header: JSONObject = ["alg": .string("ES256"), "crit": critical, "bork": .bool(true)]
                let claims = place.assertion(of: service)
                let text = ReportPlace.jws(header, claims).dropLast()
                let signature = try key.signature(for: Array(text.utf8)).rawRepresentation
                let forged = ReportPlace.jws(header, claims, signature: Array(signature))
                let answer = try await place.redeem(try await place.code(of: service), assertion: forged)
                #expect(answer.object.error == "invalid_client", "\(critical)")
            }
        }
    }

    /// A right server refuses a signature of zeros, which every message fits by careless arithmetic.
    ///
    /// Source: CVE-2022-21449 (Java: ECDSA).
    @Test("a signature of zeros fits nothing")
    func zeros() async throws {
        try await ReportPlace.run { place in
            let service = try await place.signingService(try ReportPlace.key().set)
            for count in [64, 0, 63] {
                let forged = ReportPlace.jws(
                    ["alg": .string("ES256")], place.assertion(of: service),
                    signature: Array(repeating: 0, count: count))
                let answer = try await place.redeem(try await place.code(of: service), assertion: forged)
                #expect(answer.object.error == "invalid_client")
            }
        }
    }

    /// A right server takes an assertion once, and looks at whom it names before it remembers it.
    ///
    /// Source: RFC 7523, section 3; CVE-2020-15222 (ORY Fosite) and CVE-2020-5300 (ORY Hydra).
    @Test("an assertion counts once")
    func assertionReplay() async throws {
        try await ReportPlace.run { place in
            let key = try ReportPlace.key()
            let service = try await place.signingService(key.set)
            let assertion = try JWS.sign(JSON.object(place.assertion(of: service)).serialized, with: key.signing)
            let first = try await place.redeem(try await place.code(of: service), assertion: assertion)
            #expect(first.response.status == .ok, "\(first.object)")
            let second = try await place.redeem(try await place.code(of: service), assertion: assertion)
            #expect(second.object.error == "invalid_client")
        }
    }

    /// A right server takes an assertion that is for itself alone: one for several, or for an address that another server can
    /// name as its own, would be carried on to it.
    ///
    /// Source: CVE-2025-27370 and CVE-2025-27371 (audience injection); draft-ietf-oauth-rfc7523bis; decision 79.
    @Test("an assertion for somebody else, for several, for the token endpoint or without an end is refused")
    func assertionClaims() async throws {
        try await ReportPlace.run { place in
            let key = try ReportPlace.key()
            let service = try await place.signingService(key.set)
            let now = place.now.seconds
            let wrong: [[String: JSON?]] = [
                ["aud": .string("https://other.example")], ["aud": .string(ReportPlace.issuer + "/oauth2/token")],
                ["aud": .array([.string(ReportPlace.issuer), .string("https://other.example")])],
                ["aud": nil], ["exp": nil], ["exp": .integer(now - 61)], ["jti": nil],
                ["exp": .integer(now + 999_999)], ["sub": .string(place.party.id)], ["iss": .string(place.party.id)],
                ["nbf": .integer(now + 999)], ["iat": .integer(now + 999)], ["exp": .string("\(now + 60)")],
            ]
            for changes in wrong {
                let assertion = try JWS.sign(
                    JSON.object(place.assertion(of: service, changes)).serialized, with: key.signing)
                let answer = try await place.redeem(try await place.code(of: service), assertion: assertion)
                #expect(answer.object.error == "invalid_client", "\(changes)")
            }
        }
    }

    /// A right server takes a proof of a key once, for its request and its token, and for a short time.
    ///
    /// Source: RFC 9449, sections 4.3 and 11.1.
    @Test("a proof of a key is for one request, one address, one method and one token")
    func proofs() async throws {
        try await ReportPlace.run { place in
            let key = try ReportPlace.key().signing
            let asked = try await place.redeem(
                try await place.code(), proofs: [try place.proof(key, "POST", "/oauth2/token", nonce: nil)])
            let nonce = try #require(asked.response.headers[.keyProofNonce])
            let right = try place.proof(key, "POST", "/oauth2/token", nonce: nonce)
            let tokens = try await place.redeem(try await place.code(), proofs: [right])
            #expect(tokens.object["token_type"] == .string("DPoP"))
            let access = try tokens.object.requiredString("access_token")
            let wrong = [
                right, try place.proof(key, "GET", "/oauth2/token", nonce: nonce),
                try place.proof(key, "POST", "/oauth2/par", nonce: nonce),
                try place.proof(key, "POST", "/oauth2/token/", nonce: nonce),
                try place.proof(key, "POST", "/oauth2/token", nonce: nonce, at: "http://evil.example"),
                try place.proof(key, "POST", "/oauth2/token", nonce: nonce, at: "http://localhost.evil.example:8080"),
            ]
            for proof in wrong {
                let answer = try await place.redeem(try await place.code(), proofs: [proof])
                #expect(answer.object.error == "invalid_dpop_proof")
            }
            // A bound token opens nothing for whoever has the token alone, or has a proof for another token or of another key.
            func open(_ scheme: String, _ proof: String?) async throws -> HTTPResponse.Status {
                var headers: HTTPFields = [.authorization: "\(scheme) \(access)"]
                headers[.keyProof] = proof
                return try await place.client.execute(uri: "/oauth2/userinfo", method: .get, headers: headers).status
            }
            let other = try ReportPlace.key().signing
            #expect(try await open("Bearer", nil) == .unauthorized)
            for (signing, token) in [(key, Optional("another")), (key, nil), (other, access)] {
                let proof = try place.proof(signing, "GET", "/oauth2/userinfo", of: token, nonce: nonce)
                #expect(try await open("DPoP", proof) == .unauthorized)
            }
            let proof = try place.proof(key, "GET", "/oauth2/userinfo", of: access, nonce: nonce)
            #expect(try await open("DPoP", proof) == .ok)
            #expect(try await open("DPoP", proof) == .unauthorized, "once")
        }
    }

    /// A right server judges a signed request by its own signature and its own parameters: what stands beside it counts for
    /// nothing, and an unsigned one is refused.
    ///
    /// Source: RFC 9101, sections 6.3 and 10.5.
    @Test("a request object without a signature, by another key or for somebody else asks for nothing")
    func requestObjects() async throws {
        try await ReportPlace.run { place in
            let key = try ReportPlace.key()
            let service = try await place.signingService(key.set)
            var claims = place.assertion(of: service, ["sub": nil])
            for (name, value) in place.request(of: service).members { claims[name] = .string(value) }
            func outcome(_ object: String) async throws -> String {
                let query: OAuth.Parameters = ["client_id": service.id, "request": object]
                return place.outcome(try await TestBrowser(place.client).get("/oauth2/authorize?" + query.encoded))
            }
            let type = "oauth-authz-req+jwt"
            let thief = try ReportPlace.key().signing
            #expect(try await outcome(ReportPlace.jws(["alg": .string("none")], claims)) != "/sign-in")
            #expect(try await outcome(JWS.sign(JSON.object(claims).serialized, type: type, with: thief)) != "/sign-in")
            var misled = claims
            misled["aud"] = .string("https://other.example")
            #expect(
                try await outcome(JWS.sign(JSON.object(misled).serialized, type: type, with: key.signing)) != "/sign-in"
            )
            #expect(
                try await outcome(JWS.sign(JSON.object(claims).serialized, type: type, with: key.signing)) == "/sign-in"
            )
        }
    }

    /// A right server does not take a token of one kind for another.
    ///
    /// Source: RFC 8725, section 3.12.
    @Test("an ID token is no access token, no refresh token and no assertion")
    func kinds() async throws {
        try await ReportPlace.run { place in
            let tokens = try await place.lastingTokens()
            let id = try tokens.requiredString("id_token")
            #expect(try await place.client.userinfo(id).response.status == .unauthorized)
            #expect(try await place.refresh(id).object.error == "invalid_grant")
            #expect(try await place.introspect(id)["active"] == .bool(false))
            #expect(try await place.redeem(try await place.code(), assertion: id).object.error == "invalid_client")
            let refresh = try tokens.requiredString("refresh_token")
            #expect(try await place.client.userinfo(refresh).response.status == .unauthorized)
            #expect(try await place.refresh(try tokens.requiredString("access_token")).object.error == "invalid_grant")
        }
    }

    /// A right server publishes the public halves of its keys, and offers nothing that is weak.
    ///
    /// Source: RFC 7517, section 9.2; RFC 8725, section 3.2; RFC 9700, section 2.
    @Test("the key set has no private member, and the metadata name neither none nor plain")
    func published() async throws {
        try await ReportPlace.run { place in
            let keys = try await place.client.send(.get, "/oauth2/jwks").object
            let published = try #require(try keys.array("keys"))
            #expect(!published.isEmpty)
            for key in published {
                guard case .object(let key) = key else {
                    Issue.record("a key that is no object")
                    continue
                }
                for name in ["d", "p", "q", "dp", "dq", "qi", "k", "oth"] { #expect(key[name] == nil, "\(name)") }
            }
            let metadata = try await place.client.send(.get, "/.well-known/openid-configuration").object
            let algorithms = metadata.members.filter { $0.name.hasSuffix("alg_values_supported") }
            #expect(!algorithms.isEmpty)
            for member in algorithms {
                for weak in ["none", "HS256", "RS1", "RSA1_5"] {
                    #expect(!member.value.text.contains("\"\(weak)\""), "\(member.name)")
                }
            }
            #expect(metadata["code_challenge_methods_supported"] == .array([.string("S256")]))
            #expect(metadata["response_types_supported"] == .array([.string("code")]))
            #expect(metadata["issuer"] == .string(ReportPlace.issuer))
        }
    }
}
