import Crypto
import JOSE
import OAuth
import Testing
import _Primitives

@Suite("RFC 9449: a proof that the sender holds a key")
struct DPoPProofTests {
    private static let target = "https://server.example/token"
    private static let claims: JSONObject = [
        "jti": .string("-BwC3ESc6acc2lTc"), "htm": .string("POST"), "htu": .string(target),
        "iat": .integer(1_800_000_000),
    ]

    /// A proof of these claims, with a header that a test may change.
    private static func proof(
        _ changes: [(String, JSON?)] = [], type: String = "dpop+jwt", by algorithm: JWSAlgorithm = .es256,
        header: [(String, JSON?)] = []
    ) throws -> String {
        let key = try TestKey.of(algorithm)
        let members: JSONObject = ["jwk": .object(key.bareJSON)]
        return try key.sign(self.claims.with(changes), type: type, header: members.with(header))
    }

    /// When the nonces of these tests are not taken any more.
    private static let end = ValidityWindow.usual.now + .seconds(600)

    private static func verify(
        _ fields: [String], method: String = "POST", target: String = Self.target, accessToken: String? = nil,
        within window: ValidityWindow = .usual, nonceEnd: ((String) -> Timestamp?)? = nil
    ) throws -> DPoPProof {
        try DPoPProof(
            verifying: fields, method: method, target: #require(TargetURI(target)), accessToken: accessToken,
            within: window, nonceEnd: nonceEnd)
    }

    private static func verify(_ field: String, accessToken: String? = nil) throws -> DPoPProof {
        try self.verify([field], accessToken: accessToken)
    }

    // MARK: The standard's own

    private static let exampleHeader =
        "eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw4dEZyaHgtMzR0VjNoUklDUkRZOXpDa0Rs"
        + "cEJoRjQyVVFVZldWQVdCRnMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VOSmFqSG10NnY5VERWclUwQ2R2R1JEQSIsImNydiI6IlAtMjU2"
        + "In19."

    @Test func verifiesTheExampleOfSection41() throws {
        let compact =
            Self.exampleHeader
            + "eyJqdGkiOiItQndDM0VTYzZhY2MybFRjIiwiaHRtIjoiUE9TVCIsImh0dSI6Imh0dHBzOi8vc2VydmVyLmV4YW1wbGUuY29tL3Rva2Vu"
            + "IiwiaWF0IjoxNTYyMjYyNjE2fQ."
            + "2-GxA6T8lP4vfrg8v-FdWP0A0zdrj8igiMLvqRMUvwnQg4PtFLbdLXiOSsX0x7NVY-FNyJK70nfbV37xRZT3Lg"
        let window = ValidityWindow(now: Timestamp(seconds: 1_562_262_620), skew: .seconds(10), longest: .seconds(60))
        let proof = try Self.verify([compact], target: "https://server.example.com/token", within: window)
        #expect(proof.thumbprint.text == "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I")
        #expect(proof.identifier == "-BwC3ESc6acc2lTc" && proof.nonce == nil)
        #expect(proof.issuedAt == Timestamp(seconds: 1_562_262_616))
        #expect(proof.repeatableUntil == Timestamp(seconds: 1_562_262_676))
        #expect(proof.thumbprint.confirmation == ["jkt": .string("0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I")])
    }

    @Test func verifiesTheExampleOfSection71() throws {
        let compact =
            Self.exampleHeader
            + "eyJqdGkiOiJlMWozVl9iS2ljOC1MQUVCIiwiaHRtIjoiR0VUIiwiaHR1IjoiaHR0cHM6Ly9yZXNvdXJjZS5leGFtcGxlLm9yZy9wcm90"
            + "ZWN0ZWRyZXNvdXJjZSIsImlhdCI6MTU2MjI2MjYxOCwiYXRoIjoiZlVIeU8ycjJaM0RaNTNFc05yV0JiMHhXWG9hTnk1OUlpS0NBcWtzbVFF"
            + "byJ9.2oW9RP35yRqzhrtNP86L-Ey71EOptxRimPPToA1plemAgR6pxHF8y6-yqyVnmcw6Fy1dqd-jfxSYoMxhAJpLjA"
        let window = ValidityWindow(now: Timestamp(seconds: 1_562_262_620), skew: .seconds(10), longest: .seconds(60))
        func verify(_ token: String) throws -> DPoPProof {
            try Self.verify(
                [compact], method: "GET", target: "https://resource.example.org/protectedresource", accessToken: token,
                within: window)
        }
        let token = "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU"
        #expect(try verify(token).identifier == "e1j3V_bKic8-LAEB")
        #expect(throws: OAuthError(.invalidDPoPProof)) { try verify(token + "U") }
    }

    // MARK: What a client makes

    @Test("a server takes what a client makes", arguments: [JWSAlgorithm.es256, .edDSA, .ps256])
    func makes(algorithm: JWSAlgorithm) throws {
        let key = try TestKey.of(algorithm)
        let target = try #require(TargetURI("https://Server.example:443/token?x=y"))
        let field = try DPoPProof.make(
            method: "POST", target: target, accessToken: "token", nonce: "nonce", with: key.signing,
            at: ValidityWindow.usual.now, random: .system)
        let proof = try Self.verify([field], accessToken: "token", nonceEnd: { $0 == "nonce" ? Self.end : nil })
        #expect(proof.thumbprint == KeyThumbprint(key.publicKey) && proof.nonce == "nonce")
        #expect(proof.issuedAt == ValidityWindow.usual.now && proof.repeatableUntil == Self.end)
        #expect(proof.description == "DPoPProof(\(key.publicKey.thumbprint))")
        // The key is there with its numbers alone, and nothing of its private part.
        let header = try UnverifiedJWS(compact: field).header
        #expect(header.members["jwk"] == .object(key.bareJSON) && header.type == "dpop+jwt")
        let other = try DPoPProof.make(
            method: "POST", target: target, with: key.signing, at: ValidityWindow.usual.now, random: .system)
        #expect(try Self.verify(other).replayDigest != proof.replayDigest)
        #expect(try Self.verify(other).nonce == nil)
    }

    @Test func nobodyMakesOneWithAnotherAlgorithm() throws {
        let secret = try SigningKey(JWK(.octets([UInt8](repeating: 7, count: 32))), algorithm: .hs256)
        for key in [secret, try TestKey.of(.rs256).signing] {
            #expect(throws: JOSEError(.algorithmNotAllowed, "")) {
                try DPoPProof.make(
                    method: "GET", target: #require(TargetURI(Self.target)), with: key, at: ValidityWindow.usual.now,
                    random: .system)
            }
        }
    }

    // MARK: Step by step (section 4.3)

    @Test("1: there is one field", arguments: [0, 2])
    func oneField(count: Int) throws {
        let proof = try Self.proof()
        #expect(throws: OAuthError(.invalidDPoPProof)) { try Self.verify([String](repeating: proof, count: count)) }
        #expect(throws: OAuthError(.invalidDPoPProof)) { try Self.verify("\(proof), \(proof)") }
    }

    @Test("2: it is a JWT", arguments: ["", "x", "..", "a.b", "e30.e30.AA", "\u{301}.\u{301}.\u{301}"])
    func wellFormed(field: String) {
        #expect(throws: OAuthError(.invalidDPoPProof)) { try Self.verify(field) }
    }

    @Test("2: its claims are an object", arguments: ["", "[]", "{", "1", "{\"jti\":1,\"jti\":2}", "{\"iat\":null}"])
    func claimsAreAnObject(text: String) throws {
        let key = try TestKey.of(.es256)
        let field = try key.sign(text: text, type: "dpop+jwt", header: ["jwk": .object(key.bareJSON)])
        #expect(throws: OAuthError(.invalidDPoPProof)) { try Self.verify(field) }
    }

    @Test("3: every claim is there and of its kind", arguments: ["jti", "htm", "htu", "iat"])
    func claimsAreThere(name: String) throws {
        _ = try Self.verify(Self.proof())
        for value in [nil, JSON.bool(true), .array([]), .object([:])] {
            let field = try Self.proof([(name, value)])
            #expect(throws: OAuthError(.invalidDPoPProof)) { try Self.verify(field) }
        }
    }

    @Test("3: jti has 1 to 256 bytes", arguments: [(0, false), (1, true), (256, true), (257, false)])
    func identifierLength(count: Int, isTaken: Bool) throws {
        let field = try Self.proof([("jti", .string(String(repeating: "j", count: count)))])
        #expect(((try? Self.verify(field)) != nil) == isTaken)
    }

    @Test(
        "4: typ is dpop+jwt", arguments: ["JWT", "jwt", "at+jwt", "dpop", "dpop+jwt ", "oauth-authz-req+jwt", ""])
    func type(type: String) throws {
        let field = try Self.proof(type: type)
        #expect(throws: OAuthError(.invalidDPoPProof)) { try Self.verify(field) }
    }

    @Test("4: typ is a media type, so its case does not count", arguments: ["DPoP+JWT", "application/dpop+jwt"])
    func spellingsOfType(type: String) throws {
        #expect(try Self.verify(Self.proof(type: type)).identifier == "-BwC3ESc6acc2lTc")
    }

    @Test func fiveNoTypeIsNone() throws {
        let key = try TestKey.of(.es256)
        let field = try key.sign(Self.claims, header: ["jwk": .object(key.bareJSON)])
        #expect(throws: OAuthError(.invalidDPoPProof)) { try Self.verify(field) }
    }

    @Test("5: RS256 is no algorithm of a proof, however right the signature is")
    func refusesRS256() throws {
        let field = try Self.proof(by: .rs256)
        #expect(throws: OAuthError(.invalidDPoPProof)) { try Self.verify(field) }
    }

    @Test(
        "5: nor is none, or a secret",
        arguments: ["none", "None", "HS256", "HS512", "ES384", "RS512", "dir", "ES256K", "E\u{17F}256", ""])
    func refusesOtherAlgorithms(name: String) throws {
        let key = try TestKey.of(.es256)
        for signature in [[], [UInt8](repeating: 1, count: 64)] {
            let field = TestKey.unsigned(
                header: ["typ": .string("dpop+jwt"), "alg": .string(name), "jwk": .object(key.bareJSON)],
                claims: Self.claims, signature: signature)
            #expect(throws: OAuthError(.invalidDPoPProof)) { try Self.verify(field) }
        }
    }

    @Test func fiveAPublicKeyIsNoSecret() throws {
        // RFC 8725, section 2.1: signed with the public key's text as if it were a secret.
        let json = try TestKey.of(.es256).bareJSON
        let secret = try SigningKey(JWK(.octets(Array(JSON.object(json).serialized.prefix(64)))), algorithm: .hs256)
        let field = try JWS.sign(
            JSON.object(Self.claims).serialized, type: "dpop+jwt", header: ["jwk": .object(json)], with: secret)
        #expect(throws: OAuthError(.invalidDPoPProof)) { try Self.verify(field) }
    }

    @Test("6: the signature is the key's of the header", arguments: [JWSAlgorithm.es256, .edDSA, .ps256])
    func signature(algorithm: JWSAlgorithm) throws {
        let other = try TestKey(algorithm)
        let field = try Self.proof(by: algorithm, header: [("jwk", .object(other.bareJSON))])
        #expect(throws: OAuthError(.invalidDPoPProof)) { try Self.verify(field) }
        var parts = try Self.proof(by: algorithm).split(separator: ".").map { Base64URL.decode($0) ?? [] }
        _ = try Self.verify(parts.map { Base64URL.encode($0) }.joined(separator: "."))
        parts[2][5] ^= 1
        let changed = parts.map { Base64URL.encode($0) }.joined(separator: ".")
        #expect(throws: OAuthError(.invalidDPoPProof)) { try Self.verify(changed) }
    }

    @Test("6: a key of another kind than the algorithm's verifies nothing")
    func kindOfKey() throws {
        for (algorithm, other) in [(JWSAlgorithm.es256, JWSAlgorithm.ps256), (.ps256, .es256), (.edDSA, .es256)] {
            let field = try Self.proof(by: algorithm, header: [("jwk", .object(TestKey.of(other).bareJSON))])
            #expect(throws: OAuthError(.invalidDPoPProof)) { try Self.verify(field) }
        }
        let encryption = try Self.proof(header: [
            ("jwk", .object(TestKey.of(.es256).bareJSON.with([("use", .string("enc"))])))
        ])
        #expect(throws: OAuthError(.invalidDPoPProof)) { try Self.verify(encryption) }
    }

    @Test("7: the key is public", arguments: ["d", "p", "q", "dp", "dq", "qi", "oth", "k"])
    func keyIsPublic(name: String) throws {
        for algorithm in [JWSAlgorithm.es256, .edDSA, .ps256] {
            let json = try TestKey.of(algorithm).bareJSON.with([(name, .string("AAAA"))])
            let field = try Self.proof(by: algorithm, header: [("jwk", .object(json))])
            #expect(throws: OAuthError(.invalidDPoPProof)) { try Self.verify(field) }
        }
    }

    @Test("7: a private key that signed is refused as well")
    func privateKey() throws {
        let secret = P256.Signing.PrivateKey()
        let point = Array(secret.publicKey.rawRepresentation)
        let key = try JWK(.p256(x: Array(point[..<32]), y: Array(point[32...]), d: Array(secret.rawRepresentation)))
        var json = try #require(key.publicJSON)
        let signing = try SigningKey(key, algorithm: .es256)
        func field() throws -> String {
            try JWS.sign(
                JSON.object(Self.claims).serialized, type: "dpop+jwt", header: ["jwk": .object(json)], with: signing)
        }
        _ = try Self.verify(field())
        json["d"] = .string(Base64URL.encode(Array(secret.rawRepresentation)))
        #expect(throws: OAuthError(.invalidDPoPProof)) { try Self.verify(field()) }
    }

    @Test(
        "7: the header has a key, and nothing is fetched",
        arguments: [nil, JSON.string("x"), .array([]), .object([:]), .object(["kty": .string("EC")])] as [JSON?])
    func keyIsThere(value: JSON?) throws {
        let key = try TestKey.of(.es256)
        let field = try Self.proof(header: [
            ("jwk", value), ("jku", .string("https://server.example/keys")), ("kid", .string(key.publicKey.thumbprint)),
        ])
        #expect(throws: OAuthError(.invalidDPoPProof)) { try Self.verify(field) }
    }

    @Test(
        "8: the method is the request's, in its letters", arguments: ["GET", "post", "Post", "POST ", "", "PO\u{17F}T"])
    func method(text: String) throws {
        let field = try Self.proof([("htm", .string(text))])
        #expect(throws: OAuthError(.invalidDPoPProof)) { try Self.verify(field) }
    }

    @Test(
        "9: the address is the request's, whatever its query",
        arguments: [
            "https://server.example/token", "https://server.example:443/token", "HTTPS://SERVER.example/token",
            "https://server.example/token?a=b", "https://server.example/token#a", "https://server.example/x/../t%6Fken",
        ])
    func sameAddress(text: String) throws {
        let field = try Self.proof([("htu", .string(text))])
        for target in [Self.target, Self.target + "?x=y", "https://server.example:443/token"] {
            #expect(try Self.verify([field], target: target).identifier == "-BwC3ESc6acc2lTc")
        }
    }

    @Test(
        "9: and no other",
        arguments: [
            "", "/token", "https://server.example", "https://server.example/token/", "https://server.example/Token",
            "http://server.example/token", "https://server.example:8443/token", "https://other.example/token",
            "https://server.example/token2", "https://user@server.example/token", "https://server.example/?/token",
        ])
    func otherAddress(text: String) throws {
        let field = try Self.proof([("htu", .string(text))])
        #expect(throws: OAuthError(.invalidDPoPProof)) { try Self.verify(field) }
    }

    @Test("10: a nonce that is asked for is there and is one of the server's")
    func nonce() throws {
        let nonceEnd: (String) -> Timestamp? = { $0 == "now" || $0 == "before" ? Self.end : nil }
        for text in ["now", "before"] {
            #expect(try Self.verify([Self.proof([("nonce", .string(text))])], nonceEnd: nonceEnd).nonce == text)
        }
        for value in [nil, JSON.string("long-ago")] {
            let field = try Self.proof([("nonce", value)])
            #expect(throws: OAuthError(.useDPoPNonce)) { try Self.verify([field], nonceEnd: nonceEnd) }
            #expect(try Self.verify(field).nonce == (value == nil ? nil : "long-ago"))
        }
        // Who has done something else wrong, too, is not sent for a nonce.
        let wrong = try Self.proof([("htm", .string("GET"))])
        #expect(throws: OAuthError(.invalidDPoPProof)) { try Self.verify([wrong], nonceEnd: nonceEnd) }
    }

    @Test(
        "10: a nonce has 1 to 256 characters, and neither quotation marks nor backslashes",
        arguments: [
            .string(""), .string("a b"), .string("a\"b"), .string("a\\b"), .string("\u{E9}"), .integer(1), .array([]),
            .string(String(repeating: "n", count: 257)),
        ] as [JSON])
    func nonceLetters(value: JSON) throws {
        let field = try Self.proof([("nonce", value)])
        #expect(throws: OAuthError(.invalidDPoPProof)) { try Self.verify([field], nonceEnd: { _ in Self.end }) }
        #expect(throws: OAuthError(.invalidDPoPProof)) { try Self.verify(field) }
        let longest = String(repeating: "n", count: 256)
        #expect(try Self.verify(Self.proof([("nonce", .string(longest))])).nonce == longest)
    }

    @Test(
        "11: iat is of now (FAPI 2.0: 10 seconds ahead are taken, more than 60 are not)",
        arguments: [
            (0, true), (10, true), (11, false), (61, false), (-300, true), (-301, false), (-1_800_000_000, false),
        ])
    func time(seconds: Int64, isTaken: Bool) throws {
        let field = try Self.proof([("iat", .integer(1_800_000_000 + seconds))])
        #expect(((try? Self.verify(field)) != nil) == isTaken)
        if !isTaken { #expect(throws: OAuthError(.invalidDPoPProof)) { try Self.verify(field) } }
    }

    @Test func elevenAProofIsRefusedOnceItNeedNotBeRemembered() throws {
        let field = try Self.proof([("iat", .integer(1_800_000_010))])
        let proof = try Self.verify(field)
        func verify(_ now: Timestamp) throws -> DPoPProof {
            try Self.verify([field], within: ValidityWindow(now: now, skew: .seconds(10), longest: .seconds(300)))
        }
        #expect(try verify(proof.repeatableUntil) == proof)
        #expect(throws: OAuthError(.invalidDPoPProof)) { try verify(proof.repeatableUntil + .milliseconds(1)) }
    }

    @Test(
        "11: iat is a date", arguments: [.integer(-1), .number(1e30), .string("1800000000"), .bool(true)] as [JSON])
    func timeIsADate(value: JSON) throws {
        let field = try Self.proof([("iat", value)])
        #expect(throws: OAuthError(.invalidDPoPProof)) { try Self.verify(field) }
    }

    @Test("12: ath is the access token's hash, where a token is shown")
    func accessToken() throws {
        let right = Base64URL.encode(Array(SHA256.hash(data: Array("token".utf8))))
        #expect(try Self.verify(Self.proof([("ath", .string(right))]), accessToken: "token").nonce == nil)
        for value in [
            nil, JSON.string(""), .string(right + "="), .string("token"), .bool(true), .string(right.uppercased()),
        ] {
            let field = try Self.proof([("ath", value)])
            #expect(throws: OAuthError(.invalidDPoPProof)) { try Self.verify(field, accessToken: "token") }
            // Where none is shown nobody looks.
            _ = try Self.verify(field)
        }
    }

    // MARK: Bounds

    @Test("what is too long is refused before anything is verified")
    func bounds() throws {
        func padded(_ count: Int) throws -> String {
            try Self.proof([("padding", .string(String(repeating: "p", count: count)))])
        }
        let room = (4096 - (try padded(0)).utf8.count) * 3 / 4
        #expect(try padded(room - 2).utf8.count <= 4096)
        _ = try Self.verify(padded(room - 2))
        let long = try padded(room + 2)
        #expect(throws: OAuthError(.invalidDPoPProof)) { try Self.verify(long) }
        let header = try Self.proof(header: [("x", .string(String(repeating: "h", count: 2048)))])
        #expect(header.utf8.count < 4096)
        #expect(throws: OAuthError(.invalidDPoPProof)) { try Self.verify(header) }
        let modulus = JSON.string(Base64URL.encode([UInt8](repeating: 0xFF, count: 513)))
        let key = try Self.proof(
            by: .ps256, header: [("jwk", .object(TestKey.of(.ps256).bareJSON.with([("n", modulus)])))])
        let refusal = #expect(throws: OAuthError.self) { try Self.verify(key) }
        #expect(refusal?.detail == "an RSA key of more than 4096 bits")
    }

    @Test("any change of one letter is refused", arguments: 0..<120)
    func oneLetter(number: Int) throws {
        var letters = Array(try Self.proof(by: .edDSA).utf8)
        let index = number * 7 % letters.count
        letters[index] = letters[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        let field = String(decoding: letters, as: UTF8.self)
        #expect(throws: OAuthError(.invalidDPoPProof)) { try Self.verify(field) }
    }

    @Test(
        "random claims are taken or refused, and what is taken is as it should be", arguments: 0..<60 as Range<UInt64>)
    func property(seed: UInt64) throws {
        var draw = Draw(seed: seed)
        var claims = Self.claims
        for name in ["jti", "htm", "htu", "iat", "nonce"] where draw.below(3) == 0 {
            claims[name] = draw.element(of: [
                nil, .string(draw.text()), .integer(Int64(draw.below(2_000_000_000))), .string(Self.target + "#" + "x"),
                .array([.string(draw.text())]), .integer(1_800_000_000 + Int64(draw.below(700)) - 350),
            ])
        }
        let key = try TestKey.of(.edDSA)
        let field = try key.sign(claims, type: "dpop+jwt", header: ["jwk": .object(key.bareJSON)])
        do {
            let proof = try Self.verify(field)
            #expect(claims["jti"] == .string(proof.identifier) && claims["htm"] == .string("POST"))
            #expect(abs(proof.issuedAt.seconds - 1_800_000_000) <= 300)
        } catch let error as OAuthError {
            #expect(error.code == .invalidDPoPProof)
        }
    }

    // MARK: Names

    @Test func aProofIsKnownAgainByItsKeyAndItsName() throws {
        let first = try Self.verify(Self.proof())
        #expect(first.replayDigest.count == 32)
        // Another time and another method make no other proof of it.
        #expect(try Self.verify(Self.proof([("iat", .integer(1_799_999_990))])).replayDigest == first.replayDigest)
        #expect(try Self.verify(Self.proof([("jti", .string("other"))])).replayDigest != first.replayDigest)
        #expect(try Self.verify(Self.proof(by: .edDSA)).replayDigest != first.replayDigest)
    }

    @Test(
        "reads dpop_jkt (section 10)",
        arguments: ["", "AA", "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I=", "=", "x y"])
    func thumbprints(text: String) throws {
        #expect(throws: OAuthError(.invalidRequest)) { try KeyThumbprint(text) }
        let key = try TestKey.of(.es256).publicKey
        let thumbprint = try KeyThumbprint(key.thumbprint)
        #expect(thumbprint == KeyThumbprint(key) && thumbprint.description == key.thumbprint)
    }
}
