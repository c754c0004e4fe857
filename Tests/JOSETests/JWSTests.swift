import Crypto
import JOSE
import Testing
import _Primitives

@Suite("RFC 7515: JSON Web Signature")
struct JWSTests {
    static func key(_ json: String) throws -> JWK {
        guard case .object(let object) = try JSON(parsing: json) else { throw JOSEError(.malformed, "test") }
        return try JWK(json: object)
    }

    static let keys = [
        (Vectors.hmacJWS, Vectors.hmacKey, JWSAlgorithm.hs256),
        (Vectors.rsaJWS, Vectors.rsaKey, .rs256),
        (Vectors.ecJWS, Vectors.ecKey, .es256),
    ]
    static let allKeys = Self.keys + [(Vectors.edwardsJWS, Vectors.edwardsKey, .edDSA)]

    @Test("verifies the examples of appendices A.1 to A.3", arguments: JWSTests.keys)
    func verifiesExamples(compact: String, key: String, algorithm: JWSAlgorithm) throws {
        let key = try VerificationKey(Self.key(key), algorithm: algorithm)
        let token = try UnverifiedJWS(compact: compact).verified(by: key)
        #expect(String(decoding: token.payload, as: UTF8.self) == Vectors.claimsText)
    }

    @Test(
        "verifies the examples of RFC 7520, section 4, and RFC 8037, appendix A.4, and PS256 of another implementation",
        arguments: [
            (Vectors.cookbookRS256, Vectors.cookbookRSAKey, JWSAlgorithm.rs256, "It\u{2019}s a dangerous"),
            (Vectors.cookbookHS256, Vectors.cookbookHMACKey, .hs256, "It\u{2019}s a dangerous"),
            (Vectors.foreignPS256, Vectors.rsaKey, .ps256, "made elsewhere"),
            (Vectors.edwardsJWS, Vectors.edwardsKey, .edDSA, "Example of Ed25519 signing"),
        ])
    func verifiesMore(compact: String, key: String, algorithm: JWSAlgorithm, start: String) throws {
        let key = try VerificationKey(Self.key(key), algorithm: algorithm)
        let token = try UnverifiedJWS(compact: compact).verified(by: key)
        #expect(String(decoding: token.payload, as: UTF8.self).hasPrefix(start))
    }

    @Test func deterministicSignaturesAreTheCookbooks() throws {
        let payload = try UnverifiedJWS(compact: Vectors.cookbookRS256)
            .verified(by: VerificationKey(Self.key(Vectors.cookbookRSAKey), algorithm: .rs256)).payload
        let rsa = try JWS.sign(
            payload, header: ["alg": .string("RS256")],
            with: SigningKey(Self.key(Vectors.cookbookRSAKey), algorithm: .rs256))
        #expect(rsa == Vectors.cookbookRS256)
        let hmac = try JWS.sign(payload, with: SigningKey(Self.key(Vectors.cookbookHMACKey), algorithm: .hs256))
        #expect(hmac == Vectors.cookbookHS256)
    }

    @Test("signs what it verifies", arguments: JWSTests.allKeys + [("", Vectors.rsaKey, .ps256)])
    func roundTrip(compact: String, key: String, algorithm: JWSAlgorithm) throws {
        let key = try Self.key(key)
        let compact = try JWS.sign(
            Array("text".utf8), type: "at+jwt", with: SigningKey(key, algorithm: algorithm))
        let token = try UnverifiedJWS(compact: compact).verified(by: VerificationKey(key, algorithm: algorithm))
        #expect(token.payload == Array("text".utf8))
        #expect(token.header.hasType("application/AT+JWT"))
        #expect(!token.header.hasType("JWT"))
        #expect(token.header.keyID == key.keyID)
    }

    @Test("refuses one changed bit of the signature, the payload or the header", arguments: JWSTests.allKeys)
    func refusesChanges(compact: String, key: String, algorithm: JWSAlgorithm) throws {
        let key = try VerificationKey(Self.key(key), algorithm: algorithm)
        var parts = compact.split(separator: ".").map { Base64URL.decode($0)! }
        for part in [1, 2] {
            parts[part][3] ^= 0x01
            let changed = parts.map { Base64URL.encode($0) }.joined(separator: ".")
            let token = try UnverifiedJWS(compact: changed)
            #expect(throws: JOSEError(.invalidSignature, "")) { try token.verified(by: key) }
            parts[part][3] ^= 0x01
        }
        // The same header with a space in it says the same, and is not what was signed.
        parts[0] = [UInt8(ascii: " ")] + parts[0]
        let token = try UnverifiedJWS(compact: parts.map { Base64URL.encode($0) }.joined(separator: "."))
        #expect(throws: JOSEError(.invalidSignature, "")) { try token.verified(by: key) }
    }

    @Test("refuses a signature of another length or form", arguments: [0, 1, 63, 64, 65, 71], JWSTests.allKeys)
    func refusesLengths(count: Int, example: (compact: String, key: String, algorithm: JWSAlgorithm)) throws {
        let parts = example.compact.split(separator: ".")
        let token = try UnverifiedJWS(
            compact: "\(parts[0]).\(parts[1])." + Base64URL.encode([UInt8](repeating: 0x30, count: count)))
        let key = try VerificationKey(Self.key(example.key), algorithm: example.algorithm)
        #expect(throws: JOSEError(.invalidSignature, "")) { try token.verified(by: key) }
    }

    @Test(
        "a key that is made signs, is kept in its own form, and names itself",
        arguments: [
            (JWSAlgorithm.es256, "EC"), (.edDSA, "OKP"), (.rs256, "RSA"), (.ps256, "RSA"),
        ])
    func keptKeys(algorithm: JWSAlgorithm, type: String) throws {
        let bytes = try SigningKey.make(algorithm, random: .system)
        let key = try SigningKey(kept: bytes, algorithm: algorithm, keyID: nil)
        let json = try #require(key.publicKey?.publicJSON)
        #expect(json["kty"] == .string(type) && json["use"] == .string("sig"))
        #expect(json["alg"] == .string(algorithm.rawValue))
        let read = try JWK(json: json)
        #expect(read.keyID == read.thumbprint && key.keyID == read.thumbprint)
        let compact = try JWS.sign(Array("text".utf8), with: SigningKey(kept: bytes, algorithm: algorithm, keyID: "k"))
        let token = try UnverifiedJWS(compact: compact)
        #expect(token.header.keyID == "k" && token.header.algorithm == algorithm.rawValue)
        #expect(try token.verified(by: VerificationKey(read, algorithm: algorithm)).payload == Array("text".utf8))
        // Bytes of another kind, or too few, are no key.
        for wrong in [SecretBytes([1, 2, 3]), SecretBytes([UInt8](repeating: 0, count: 33))] {
            #expect(throws: JOSEError(.invalidKey, "")) {
                try SigningKey(kept: wrong, algorithm: algorithm, keyID: nil)
            }
        }
    }

    @Test func noSharedSecretIsMade() {
        #expect(throws: JOSEError(.unsupportedKey, "")) { try SigningKey.make(.hs256, random: .system) }
        #expect(throws: JOSEError(.invalidKey, "")) {
            try SigningKey(kept: SecretBytes([UInt8](repeating: 1, count: 32)), algorithm: .hs256, keyID: nil)
        }
    }

    @Test(
        "refuses algorithms that are not allowed",
        arguments: [Vectors.unsecuredJWS, Vectors.p521JWS, Vectors.cookbookPS384, Vectors.hmacJWS])
    func refusesAlgorithms(compact: String) throws {
        let token = try UnverifiedJWS(compact: compact)
        let key = try Self.key(Vectors.ecKey)
        #expect(throws: JOSEError(.algorithmNotAllowed, "")) {
            try token.verified(by: VerificationKey(key, algorithm: .es256))
        }
        #expect(throws: JOSEError(.algorithmNotAllowed, "")) {
            try token.verified(by: JWKSet([key]), allowing: [.es256, .rs256, .ps256])
        }
    }

    @Test func aPublicRSAKeyIsNoHMACKey() throws {
        // RFC 8725, section 2.1: the attacker signs with the public key's text as HMAC key.
        let rsa = try Self.key(Vectors.publicRSAKey)
        let text = Array(Vectors.publicRSAKey.utf8).prefix(64)
        let forged = try JWS.sign(
            Array("{}".utf8), with: SigningKey(JWK(.octets(Array(text)), keyID: rsa.keyID), algorithm: .hs256))
        let token = try UnverifiedJWS(compact: forged)
        #expect(throws: JOSEError(.invalidKey, "")) {
            try token.verified(by: JWKSet([rsa]), allowing: [.hs256, .rs256])
        }
    }

    @Test(
        "refuses what is not the compact form",
        arguments: [
            ("", JOSEError.Code.malformed), (".", .malformed), ("..", .malformed),
            ("eyJhbGciOiJFUzI1NiJ9.e30", .malformed), ("eyJhbGciOiJFUzI1NiJ9.e30.AA.AA", .malformed),
            ("eyJhbGciOiJFUzI1NiJ9.e30=.AA", .malformed), ("eyJhbGciOiJFUzI1NiJ9 .e30.AA", .malformed),
            ("eyJhbGciOiJFUzI1NiJ8.e30.AA", .malformed),
        ])
    func refusesForms(compact: String, code: JOSEError.Code) {
        #expect(throws: JOSEError(code, "")) { try UnverifiedJWS(compact: compact) }
    }

    @Test(
        "refuses headers",
        arguments: [
            (#"{}"#, JOSEError.Code.malformed), (#"{"alg":1}"#, .malformed), (#"{"alg":null}"#, .malformed),
            (#"[]"#, .malformed), (#"{"alg":"ES256","alg":"HS256"}"#, .malformed),
            (#"{"alg":"ES256","kid":7}"#, .malformed), (#"{"alg":"ES256","typ":[]}"#, .malformed),
            (#"{"alg":"ES256","crit":["exp"]}"#, .criticalHeader), (#"{"alg":"ES256","crit":[]}"#, .criticalHeader),
            (#"{"alg":"ES256","b64":false,"crit":["b64"]}"#, .criticalHeader),
            (#"{"alg":"ES256","crit":"no"}"#, .criticalHeader),
            (#"{"alg":"ES256","x":"\#(String(repeating: "x", count: 4096))"}"#, .tooLarge),
        ])
    func refusesHeaders(header: String, code: JOSEError.Code) {
        #expect(throws: JOSEError(code, "")) {
            try UnverifiedJWS(compact: Base64URL.encode(Array(header.utf8)) + ".e30.AA")
        }
    }

    @Test func refusesMoreThanTheLimit() throws {
        let limits = JOSELimits(compactLength: Vectors.ecJWS.utf8.count)
        #expect(try UnverifiedJWS(compact: Vectors.ecJWS, limits: limits).header.algorithm == "ES256")
        #expect(throws: JOSEError(.tooLarge, "")) {
            try UnverifiedJWS(compact: Vectors.ecJWS + "A", limits: limits)
        }
    }

    @Test func theKeyIsChosenByName() throws {
        var first = try Self.key(Vectors.ecKey)
        var second = try JWK(
            .octets([UInt8](repeating: 7, count: 32)), keyID: "second")
        first.keyID = "first"
        let compact = try JWS.sign([1, 2, 3], with: SigningKey(first, algorithm: .es256))
        let token = try UnverifiedJWS(compact: compact)
        #expect(try token.verified(by: JWKSet([second, first]), allowing: [.es256]).payload == [1, 2, 3])
        #expect(throws: JOSEError(.unknownKey, "")) { try token.verified(by: JWKSet([second]), allowing: [.es256]) }
        second.keyID = "first"
        #expect(throws: JOSEError(.invalidKey, "")) { try token.verified(by: JWKSet([second]), allowing: [.es256]) }
    }

    @Test("says why the key that was looked for is not there, where it was left out of its set")
    func aKeyThatWasLeftOut() throws {
        // The coordinate without its leading zero, as some programs publish it.
        let short =
            #"{"kty":"EC","crv":"P-256","kid":"a","x":"toMxQWV7thICUlYOU3G7UhhTNhAhaIhlPImZMq0WKw","#
            + #""y":"udIebJ_FiLs3wU2M2iaD1Ju6CJSyo5MA3jdp21d8C-8"}"#
        let set = try JWKSet(parsing: #"{"keys":[\#(short)]}"#.utf8)
        #expect(set.keys.isEmpty && set.unusable.map(\.keyID) == ["a"])
        var key = try Self.key(Vectors.ecKey)
        for name in ["a", "b", nil] {
            key.keyID = name
            let token = try UnverifiedJWS(compact: JWS.sign([1], with: SigningKey(key, algorithm: .es256)))
            let error = #expect(throws: JOSEError(.unknownKey, "")) {
                try token.verified(by: set, allowing: [.es256])
            }
            #expect(error?.reason.contains("coordinates that are not 32 bytes") == (name != "b"))
        }
    }

    @Test func withoutANameTheSetMustHoldOneKey() throws {
        let key = try Self.key(Vectors.ecKey)
        let other = try Self.key(Vectors.publicECKey)
        let token = try UnverifiedJWS(compact: Vectors.ecJWS)
        #expect(!(try token.verified(by: JWKSet([key]), allowing: [.es256]).payload.isEmpty))
        #expect(throws: JOSEError(.unknownKey, "")) {
            try token.verified(by: JWKSet([key, other]), allowing: [.es256])
        }
        #expect(throws: JOSEError(.unknownKey, "")) { try token.verified(by: JWKSet([]), allowing: [.es256]) }
    }

    @Test(
        "tells what a claim says before anything is verified",
        arguments: [
            (#"{"sub":"bank"}"#, "bank"), (#"{"sub":""}"#, ""), (#"{"sub":1}"#, nil), (#"{"Sub":"bank"}"#, nil),
            ("[]", nil),
            ("", nil), (#"{"sub":"a","sub":"b"}"#, nil), (#"{"sub":null}"#, nil),
        ] as [(String, String?)])
    func uncheckedClaims(payload: String, value: String?) throws {
        let compact = [Array(#"{"alg":"none"}"#.utf8), Array(payload.utf8), []].map { Base64URL.encode($0) }
        #expect(try UnverifiedJWS(compact: compact.joined(separator: ".")).uncheckedClaim("sub") == value)
    }

    @Test("is signed by a key elsewhere as by one that is here")
    func unsigned() throws {
        let key = P256.Signing.PrivateKey()
        let point = Array(key.publicKey.rawRepresentation)
        let jwk = try JWK(.p256(x: Array(point[..<32]), y: Array(point[32...]), d: nil))
        let unsigned = try UnsignedJWS([1, 2, 3], type: "x+jwt", algorithm: .es256, keyID: "a")
        let signature = Array(try key.signature(for: unsigned.signingInput).rawRepresentation)
        let token = try UnverifiedJWS(compact: unsigned.compact(signature: signature)).verified(
            by: VerificationKey(jwk, algorithm: .es256))
        #expect(token.payload == [1, 2, 3] && token.header.hasType("x+jwt") && token.header.keyID == "a")
        #expect(throws: JOSEError(.criticalHeader, "")) {
            try UnsignedJWS([], header: ["crit": .array([])], algorithm: .es256, keyID: nil)
        }
    }

    @Test func aCriticalHeaderIsNotWritten() throws {
        let key = try SigningKey(Self.key(Vectors.ecKey), algorithm: .es256)
        #expect(throws: JOSEError(.criticalHeader, "")) {
            try JWS.sign([], header: ["crit": .array([.string("x")])], with: key)
        }
    }

    @Test(
        "refuses keys that are for something else",
        arguments: [
            (Vectors.ecKey, JWSAlgorithm.rs256), (Vectors.rsaKey, .es256), (Vectors.hmacKey, .es256),
            (Vectors.ecKey, .hs256), (Vectors.ecKey, .edDSA), (Vectors.edwardsKey, .es256),
            (Vectors.privateECKey, .es256), (Vectors.privateRSAKey, .ps256),
            (#"{"kty":"oct","k":"AAAAAAAAAAAAAAAAAAAAAA"}"#, .hs256),
        ])
    func refusesKeys(key: String, algorithm: JWSAlgorithm) throws {
        let key = try Self.key(key)
        #expect(throws: JOSEError(.invalidKey, "")) { try VerificationKey(key, algorithm: algorithm) }
        #expect(throws: JOSEError(.invalidKey, "")) { try SigningKey(key, algorithm: algorithm) }
    }

    @Test func aPublicKeyDoesNotSign() throws {
        let key = try #require(try Self.key(Vectors.ecKey).publicKey)
        #expect(throws: JOSEError(.invalidKey, "")) { try SigningKey(key, algorithm: .es256) }
    }
}
