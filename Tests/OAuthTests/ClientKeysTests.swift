import JOSE
import OAuth
import Testing
import _Primitives

@Suite("RFC 7591, section 2, and FAPI 2.0 Security Profile, section 5.4: the keys that a client registers")
struct ClientKeysTests {
    private static func set(_ keys: [JSONObject]) -> [UInt8] {
        JSON.object(["keys": .array(keys.map(JSON.object))]).serialized
    }

    private static func json(_ algorithm: JWSAlgorithm, _ changes: [(String, JSON?)] = []) throws -> JSONObject {
        try #require(TestKey.of(algorithm).publicKey.publicJSON).with(changes)
    }

    @Test func takesKeysOfEveryAlgorithm() throws {
        let keys = try JWSAlgorithm.ofClients.map { try Self.json($0) }
        let set = try JWKSet(ofClient: Self.set(keys))
        #expect(set.keys.count == 4)
        for algorithm in JWSAlgorithm.ofClients { #expect(set.fitting(algorithm).keys.count == 1) }
        #expect(set.fitting(.hs256).keys.isEmpty)
        // Without use and alg a key is for all that its kind can do.
        let bare = try JWKSet(ofClient: Self.set([TestKey.of(.ps256).bareJSON]))
        #expect(bare.fitting(.ps256).keys.count == 1 && bare.fitting(.rs256).keys.count == 1)
    }

    @Test func keysForEncryptionMayBeOfAnyKind() throws {
        let other: JSONObject = [
            "kty": .string("EC"), "crv": .string("P-384"), "use": .string("enc"), "x": .string("AA"),
            "y": .string("AA"),
        ]
        let set = try JWKSet(ofClient: Self.set([other, Self.json(.es256)]))
        #expect(set.keys.count == 1)
        #expect(throws: OAuthError(.invalidClientMetadata)) {
            try JWKSet(ofClient: Self.set([other.with([("use", .string("sig"))]), Self.json(.es256)]))
        }
        #expect(throws: OAuthError(.invalidClientMetadata)) { try JWKSet(ofClient: Self.set([other])) }
    }

    @Test func aSetIsHeldAgainstWhatIsDoneByIt() throws {
        let sealing = try JWKSet(
            ofClient: Self.set([try Self.json(.es256, [("use", .string("enc")), ("alg", nil)])]), verifies: false)
        try sealing.checkUse(verifies: false)
        #expect(throws: OAuthError(.invalidClientMetadata)) { try sealing.checkUse(verifies: true) }
        try JWKSet(ofClient: Self.set([try Self.json(.es256)])).checkUse(verifies: true)
        #expect(throws: OAuthError(.invalidClientMetadata)) { try JWKSet([]).checkUse(verifies: false) }
    }

    @Test("refuses private and symmetric keys", arguments: ["d", "p", "q", "dp", "dq", "qi", "oth", "k"])
    func refusesPrivateKeys(name: String) throws {
        let keys = [try Self.json(.ps256, [(name, .string("AAAA"))]), try Self.json(.es256)]
        #expect(throws: OAuthError(.invalidClientMetadata)) { try JWKSet(ofClient: Self.set(keys)) }
        let secret: JSONObject = [
            "kty": .string("oct"), "k": .string(Base64URL.encode([UInt8](repeating: 7, count: 32))),
        ]
        #expect(throws: OAuthError(.invalidClientMetadata)) {
            try JWKSet(ofClient: Self.set([secret, Self.json(.es256)]))
        }
    }

    @Test(
        "refuses RSA keys of fewer than 2048 bits, and of more than 8192",
        arguments: [(64, false), (128, false), (255, false), (256, true), (384, true), (512, true), (1025, false)])
    func sizes(bytes: Int, isTaken: Bool) throws {
        var modulus = [UInt8](repeating: 0xC5, count: bytes)
        modulus[bytes - 1] |= 1
        let key: JSONObject = ["kty": .string("RSA"), "n": .string(Base64URL.encode(modulus)), "e": .string("AQAB")]
        #expect(((try? JWKSet(ofClient: Self.set([key]))) != nil) == isTaken)
        if !isTaken {
            // Beside a good key, too.
            #expect(throws: OAuthError(.invalidClientMetadata)) {
                try JWKSet(ofClient: Self.set([Self.json(.es256), key]))
            }
        }
    }

    @Test(
        "refuses curves that nothing is verified on here",
        arguments: ["P-192", "P-224", "secp256k1", "P-521", "p-256", ""])
    func curves(name: String) throws {
        let key = try Self.json(.es256, [("crv", .string(name)), ("kid", .string("x"))])
        #expect(throws: OAuthError(.invalidClientMetadata)) {
            try JWKSet(ofClient: Self.set([Self.json(.edDSA), key]))
        }
    }

    @Test func refusesTwoKeysOfOneName() throws {
        let keys = [try Self.json(.es256, [("kid", .string("x"))]), try Self.json(.edDSA, [("kid", .string("x"))])]
        #expect(throws: OAuthError(.invalidClientMetadata)) { try JWKSet(ofClient: Self.set(keys)) }
        let others = [keys[0], try Self.json(.edDSA, [("kid", .string("X"))])]
        #expect(try JWKSet(ofClient: Self.set(others)).keys.count == 2)
    }

    @Test(
        "refuses",
        arguments: [
            "", "[]", "{}", "{\"keys\":[]}", "{\"keys\":{}}", "{\"keys\":[1]}", "{\"keys\":[{}]}", "{\"keys\":[null]}",
            "{\"keys\":[{\"kty\":\"EC\"}]}", "{\"keys\":[{\"kty\":\"XY\",\"use\":\"sig\"}]}",
            "{\"keys\":[],\"keys\":[]}",
            "{\"keys\":[" + String(repeating: "{},", count: 64) + "{}]}",
        ])
    func refuses(text: String) {
        #expect(throws: OAuthError(.invalidClientMetadata)) { try JWKSet(ofClient: text.utf8) }
    }
}
