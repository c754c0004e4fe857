import Crypto
import JOSE
import Testing
import _Primitives

@Suite("RFC 7516: JSON Web Encryption")
struct JWETests {
    static let allManagement: Set<KeyManagementAlgorithm> = [.ecdhES, .rsaOAEP, .rsaOAEP256]
    static let allEncryption = Set(ContentEncryption.all)

    static func open(_ compact: String, _ key: String) throws -> JWE {
        try JWE(
            opening: compact, with: JWSTests.key(key), allowing: self.allManagement, encryptions: self.allEncryption)
    }

    @Test(
        "opens the examples of appendix A.1 and RFC 7520, sections 5.2 and 5.5, and messages made elsewhere",
        arguments: [
            (Vectors.oaepJWE, Vectors.oaepKey, "The true sign of intelligence is not knowledge but imagination."),
            (Vectors.cookbookOAEPJWE, Vectors.cookbookOAEPKey, "You can trust us to stick with you"),
            (Vectors.foreignOAEP256, Vectors.rsaKey, "made elsewhere"),
            (Vectors.foreignECDHES, Vectors.ecKey, "made elsewhere"),
            (Vectors.cookbookCBCJWE, Vectors.cookbookECKey, "You can trust us to stick with you"),
            (Vectors.foreignECDHESCBC, Vectors.ecKey, "made elsewhere"),
            (Vectors.foreignOAEPCBC, Vectors.rsaKey, "made elsewhere"),
        ])
    func opensExamples(compact: String, key: String, start: String) throws {
        let opened = try Self.open(compact, key)
        #expect(String(decoding: opened.plaintext, as: UTF8.self).hasPrefix(start))
    }

    /// A message of Alice to Bob with the key that RFC 7518, appendix C, derives.
    private static func fromAlice(header: String = Vectors.aliceHeader, key: String = Vectors.agreedKey) throws
        -> String
    {
        let protected = Base64URL.encode(Array(header.utf8))
        let box = try AES.GCM.seal(
            Array("from Alice".utf8), using: SymmetricKey(data: Base64URL.decode(key)!),
            nonce: AES.GCM.Nonce(data: [UInt8](repeating: 1, count: 12)), authenticating: Array(protected.utf8))
        return [
            protected, "", Base64URL.encode(Array(box.nonce)), Base64URL.encode(box.ciphertext),
            Base64URL.encode(box.tag),
        ].joined(separator: ".")
    }

    @Test("derives the key of RFC 7518, appendix C")
    func derivesKey() throws {
        let opened = try Self.open(Self.fromAlice(), Vectors.bobKey)
        #expect(opened.plaintext == Array("from Alice".utf8))
        // Another party name gives another key.
        let header = Vectors.aliceHeader.replacing("QWxpY2U", with: "QWxpY2c")
        #expect(throws: JOSEError(.undecryptable, "")) {
            try Self.open(Self.fromAlice(header: header), Vectors.bobKey)
        }
    }

    @Test("opens by an agreement that somebody else makes, of ECDH-ES alone, with a point that was checked")
    func agreement() throws {
        let key = P256.KeyAgreement.PrivateKey()
        let point = Array(key.publicKey.rawRepresentation)
        let jwk = try JWK(.p256(x: Array(point[..<32]), y: Array(point[32...]), d: nil), keyID: "device")
        var keyIDs: [String?] = []
        func open(_ compact: String) throws -> [UInt8] {
            try JWE(opening: compact, encryptions: [.a256GCM]) { header, point in
                keyIDs.append(header.keyID)
                let other = try P256.KeyAgreement.PublicKey(x963Representation: point)
                let secret = try key.sharedSecretFromKeyAgreement(with: other)
                return SecretBytes(secret.withUnsafeBytes { Array($0) })
            }.plaintext
        }
        let sealed = try JWE.seal([1, 2, 3], to: jwk, algorithm: .ecdhES)
        #expect(try open(sealed) == [1, 2, 3])
        #expect(throws: JOSEError(.undecryptable, "")) {
            try JWE(opening: sealed, encryptions: [.a256GCM]) { _, _ in SecretBytes([UInt8](repeating: 1, count: 32)) }
        }
        #expect(throws: CancellationError.self) {
            try JWE(opening: sealed, encryptions: [.a256GCM]) { _, _ in throw CancellationError() }
        }
        #expect(throws: JOSEError(.algorithmNotAllowed, "")) {
            try open(try JWE.seal([1], to: jwk, algorithm: .ecdhES, encryption: .a128GCM))
        }
        #expect(throws: JOSEError(.algorithmNotAllowed, "")) { try open(Vectors.foreignOAEP256) }
        let header = Vectors.aliceHeader.replacing(#""x":""#, with: #""x":"AA"#)
        #expect(throws: JOSEError.self) { try open(Self.fromAlice(header: header)) }
        // The agreement gets the header that names the key, and is not called for a refused message.
        #expect(keyIDs == ["device"])
    }

    @Test(
        "opens what it seals",
        arguments: [
            (Vectors.bobKey, KeyManagementAlgorithm.ecdhES, ContentEncryption.a256GCM),
            (Vectors.bobKey, .ecdhES, .a128GCM), (Vectors.rsaKey, .rsaOAEP256, .a256GCM),
            (Vectors.bobKey, .ecdhES, .a256CBCHS512), (Vectors.bobKey, .ecdhES, .a128CBCHS256),
            (Vectors.rsaKey, .rsaOAEP, .a256CBCHS512), (Vectors.rsaKey, .rsaOAEP256, .a128CBCHS256),
        ])
    func roundTrip(key: String, algorithm: KeyManagementAlgorithm, encryption: ContentEncryption) throws {
        var recipient = try #require(try JWSTests.key(key).publicKey)
        recipient.keyID = "k"
        let compact = try JWE.seal(
            [1, 2, 3], to: recipient, algorithm: algorithm, encryption: encryption,
            header: ["cty": .string("x"), "apu": .string("AQ")])
        let opened = try Self.open(compact, key)
        #expect(opened.plaintext == [1, 2, 3])
        #expect(opened.header.keyID == "k" && opened.header.members["cty"] == .string("x"))
        let again = try JWE.seal([1, 2, 3], to: recipient, algorithm: algorithm, encryption: encryption)
        #expect(again != compact)
    }

    @Test(
        "refuses one changed bit of any part",
        arguments: [Vectors.oaepJWE, Vectors.foreignOAEP256, Vectors.foreignOAEPCBC])
    func refusesChanges(compact: String) throws {
        let key = compact == Vectors.oaepJWE ? Vectors.oaepKey : Vectors.rsaKey
        var parts = compact.split(separator: ".").map { Base64URL.decode($0)! }
        for part in 1...4 {
            parts[part][0] ^= 0x01
            let changed = parts.map { Base64URL.encode($0) }.joined(separator: ".")
            #expect(throws: JOSEError(.undecryptable, "")) { try Self.open(changed, key) }
            parts[part][0] ^= 0x01
        }
        parts[0] = [UInt8(ascii: " ")] + parts[0]
        #expect(throws: JOSEError(.undecryptable, "")) {
            try Self.open(parts.map { Base64URL.encode($0) }.joined(separator: "."), key)
        }
    }

    @Test func anotherKeyDoesNotOpen() throws {
        #expect(throws: JOSEError(.undecryptable, "")) { try Self.open(Vectors.foreignECDHES, Vectors.bobKey) }
        #expect(throws: JOSEError(.undecryptable, "")) { try Self.open(Vectors.oaepJWE, Vectors.rsaKey) }
    }

    @Test func algorithmsMustBeAllowed() throws {
        let key = try JWSTests.key(Vectors.oaepKey)
        #expect(throws: JOSEError(.algorithmNotAllowed, "")) {
            try JWE(opening: Vectors.oaepJWE, with: key, allowing: [.rsaOAEP256], encryptions: [.a256GCM])
        }
        #expect(throws: JOSEError(.algorithmNotAllowed, "")) {
            try JWE(opening: Vectors.oaepJWE, with: key, allowing: [.rsaOAEP], encryptions: [.a128GCM])
        }
        #expect(throws: JOSEError(.algorithmNotAllowed, "")) {
            try JWE(
                opening: Vectors.cookbookCBCJWE, with: JWSTests.key(Vectors.cookbookECKey), allowing: [.ecdhES],
                encryptions: [.a256GCM])
        }
    }

    private static let point = #""x":"gI0GAILBdu7T53akrFmMyGcsF3n5dO7MmwNBHKW5SV0""#

    @Test(
        "refuses headers",
        arguments: [
            (#"{"alg":"ECDH-ES"}"#, JOSEError.Code.malformed),
            (#"{"alg":"ECDH-ES","enc":"A128GCM"}"#, .malformed),
            (#"{"alg":"ECDH-ES","enc":"A128GCM","zip":"DEF"}"#, .algorithmNotAllowed),
            (#"{"alg":"dir","enc":"A128GCM"}"#, .algorithmNotAllowed),
            (#"{"alg":"ECDH-ES","enc":"A128GCM","epk":{}}"#, .malformed),
            (#"{"alg":"ECDH-ES","enc":"A128GCM","epk":{"kty":"EC","crv":"P-256",\#(point),"y":"AA"}}"#, .invalidKey),
            (
                #"{"alg":"ECDH-ES","enc":"A128GCM","epk":{"kty":"EC","crv":"P-256",\#(point),"#
                    + #""y":"SLW_xSffzlPWrHEVI30DHM_4egVwt3NQqeUD7nMFppo"}}"#, .invalidKey
            ),
            (#"{"alg":"ECDH-ES","enc":"A128GCM","epk":\#(Vectors.ecKey)}"#, .malformed),
            (#"{"alg":"ECDH-ES","enc":"A128GCM","crit":["x"]}"#, .criticalHeader),
        ])
    func refusesHeaders(header: String, code: JOSEError.Code) throws {
        let compact = try Self.fromAlice(header: header)
        #expect(throws: JOSEError(code, "")) { try Self.open(compact, Vectors.bobKey) }
    }

    @Test func refusesPartyInformationThatIsNotBase64url() throws {
        let header = Vectors.aliceHeader.replacing("QWxpY2U", with: "%")
        #expect(throws: JOSEError(.malformed, "")) { try Self.open(Self.fromAlice(header: header), Vectors.bobKey) }
        #expect(throws: JOSEError(.malformed, "")) {
            try JWE.seal(
                [], to: JWSTests.key(Vectors.bobKey), algorithm: .ecdhES, header: ["apv": .integer(1)])
        }
    }

    @Test func refusesAnEncryptedKeyBesideDirectAgreement() throws {
        var parts = try Self.fromAlice().split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        parts[1] = "AAAA"
        #expect(throws: JOSEError(.malformed, "")) { try Self.open(parts.joined(separator: "."), Vectors.bobKey) }
    }

    @Test("refuses initialization vectors and tags of another length", arguments: [2, 4])
    func refusesLengths(part: Int) throws {
        var parts = try Self.fromAlice().split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        parts[part] = Base64URL.encode([UInt8](repeating: 0, count: 8))
        #expect(throws: JOSEError(.malformed, "")) { try Self.open(parts.joined(separator: "."), Vectors.bobKey) }
    }

    @Test func refusesAContentKeyOfAnotherLength() throws {
        // A sealed A256GCM message whose header then claims A128GCM has a content key that is too long.
        let compact = try JWE.seal(
            [1], to: JWSTests.key(Vectors.rsaKey), algorithm: .rsaOAEP256, encryption: .a256GCM)
        let parts = compact.split(separator: ".")
        let header = Base64URL.encode(Array(#"{"alg":"RSA-OAEP-256","enc":"A128GCM"}"#.utf8))
        #expect(throws: JOSEError(.undecryptable, "")) {
            try Self.open(([Substring(header)] + parts[1...]).joined(separator: "."), Vectors.rsaKey)
        }
    }

    @Test(
        "refuses keys that are for something else",
        arguments: [
            (Vectors.rsaKey, KeyManagementAlgorithm.ecdhES), (Vectors.ecKey, .rsaOAEP256),
            (Vectors.hmacKey, .ecdhES), (Vectors.cookbookRSAKey, .rsaOAEP256), (Vectors.privateRSAKey, .rsaOAEP256),
        ])
    func refusesKeys(key: String, algorithm: KeyManagementAlgorithm) throws {
        let key = try JWSTests.key(key)
        #expect(throws: JOSEError(.invalidKey, "")) { try JWE.seal([], to: key, algorithm: algorithm) }
    }

    @Test func aPublicKeyDoesNotOpen() throws {
        let key = try #require(try JWSTests.key(Vectors.ecKey).publicKey)
        #expect(throws: JOSEError(.invalidKey, "")) {
            try JWE(opening: Vectors.foreignECDHES, with: key, allowing: [.ecdhES], encryptions: [.a256GCM])
        }
    }

    @Test("refuses to write", arguments: ["crit", "zip"])
    func refusesToWrite(name: String) throws {
        let code: JOSEError.Code = name == "crit" ? .criticalHeader : .algorithmNotAllowed
        #expect(throws: JOSEError(code, "")) {
            try JWE.seal(
                [], to: JWSTests.key(Vectors.bobKey), algorithm: .ecdhES, header: [name: .array([.string("DEF")])])
        }
    }

    @Test func refusesFormsAndSizes() throws {
        #expect(throws: JOSEError(.malformed, "")) { try Self.open(Vectors.ecJWS, Vectors.ecKey) }
        #expect(throws: JOSEError(.tooLarge, "")) {
            try JWE(
                opening: Vectors.foreignECDHES, with: JWSTests.key(Vectors.ecKey), allowing: [.ecdhES],
                encryptions: [.a256GCM], limits: JOSELimits(compactLength: 100))
        }
    }
}
