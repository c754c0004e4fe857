import Crypto
import Foundation
import JOSE
import Testing
import _Primitives

@Suite("RFC 7517: JSON Web Key")
struct JWKTests {
    @Test func readsTheKeySetOfAppendixA1() throws {
        let set = try JWKSet(parsing: Vectors.publicKeySet.utf8)
        #expect(set.keys.count == 2)
        let ec = try #require(set["1"])
        #expect(ec.use == "enc" && !ec.isPrivate)
        let rsa = try #require(set["2011-04-29"])
        #expect(rsa.algorithm == "RS256" && !rsa.isPrivate)
        #expect(set["2"] == nil)
    }

    @Test("writes no private part", arguments: [Vectors.privateECKey, Vectors.privateRSAKey, Vectors.edwardsKey])
    func writesPublicParts(text: String) throws {
        let key = try JWSTests.key(text)
        #expect(key.isPrivate)
        let json = try #require(key.publicJSON)
        let secret = ["d", "p", "q", "dp", "dq", "qi"]
        #expect(json.members.allSatisfy { !secret.contains($0.name) })
        let again = try JWK(json: json)
        #expect(again == key.publicKey)
        #expect(again.keyID == key.keyID && again.use == key.use && again.algorithm == key.algorithm)
    }

    @Test func anOctetSequenceHasNoPublicPart() throws {
        let key = try JWSTests.key(Vectors.hmacKey)
        #expect(key.publicKey == nil && key.publicJSON == nil && key.isPrivate)
        #expect(JWKSet([key]).publicJSON == ["keys": .array([])])
    }

    @Test func theDescriptionShowsNoNumbers() throws {
        let key = try JWSTests.key(Vectors.privateECKey)
        #expect(key.description == "JWK(P-256, 1)")
        #expect(try JWSTests.key(Vectors.edwardsKey).description == "JWK(Ed25519, without name)")
        #expect(try JWSTests.key(Vectors.rsaKey).description == "JWK(RSA, without name)")
    }

    @Test("computes thumbprints (RFC 7638, section 3.1; RFC 8037, appendix A.3)")
    func thumbprints() throws {
        #expect(try JWSTests.key(Vectors.publicRSAKey).thumbprint == Vectors.rsaThumbprint)
        #expect(try JWSTests.key(Vectors.publicECKey).thumbprint == Vectors.ecThumbprint)
        #expect(try JWSTests.key(Vectors.edwardsKey).thumbprint == Vectors.edwardsThumbprint)
        // Neither private parts nor names change it.
        #expect(try JWSTests.key(Vectors.privateRSAKey).thumbprint == Vectors.rsaThumbprint)
    }

    @Test(
        "reads as a public key no private or symmetric one (RFC 7518, section 6)",
        arguments: [Vectors.privateECKey, Vectors.privateRSAKey, Vectors.edwardsKey, Vectors.hmacKey])
    func publicKeysAlone(text: String) throws {
        guard case .object(let json) = try JSON(parsing: text) else {
            Issue.record("no object: \(text)")
            return
        }
        #expect(throws: JOSEError(.invalidKey, "")) { try JWK(publicJSON: json) }
        guard let publicJSON = try JWK(json: json).publicJSON else { return }
        #expect(try JWK(publicJSON: publicJSON) == JWK(json: publicJSON))
        // Members that are no key by themselves give one away as well.
        for name in ["d", "p", "q", "dp", "dq", "qi", "oth", "k"] {
            var json = publicJSON
            json[name] = .array([])
            #expect(throws: JOSEError(.invalidKey, "")) { try JWK(publicJSON: json) }
        }
    }

    @Test("knows the keys that fit an algorithm")
    func fitting() throws {
        var (ec, rsa) = (try JWSTests.key(Vectors.ecKey), try JWSTests.key(Vectors.rsaKey))
        let set = JWKSet([ec, rsa, try JWSTests.key(Vectors.edwardsKey), try JWSTests.key(Vectors.hmacKey)])
        for (algorithm, index) in [(JWSAlgorithm.es256, 0), (.rs256, 1), (.ps256, 1), (.edDSA, 2), (.hs256, 3)] {
            #expect(set.fitting(algorithm).keys == [set.keys[index]])
        }
        ec.use = "enc"
        rsa.algorithm = "PS256"
        #expect(!ec.fits(.es256) && rsa.fits(.ps256) && !rsa.fits(.rs256))
        #expect(throws: JOSEError(.invalidKey, "")) { try VerificationKey(ec, algorithm: .es256) }
        #expect(throws: JOSEError(.invalidKey, "")) { try VerificationKey(rsa, algorithm: .rs256) }
    }

    @Test func readsEveryKeyOfTheExamples() throws {
        for text in [
            Vectors.hmacKey, Vectors.rsaKey, Vectors.ecKey, Vectors.cookbookRSAKey, Vectors.cookbookHMACKey,
            Vectors.oaepKey, Vectors.cookbookOAEPKey, Vectors.bobKey,
        ] {
            #expect(try JWSTests.key(text).isPrivate)
        }
    }

    private static let x = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"
    private static let y = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"

    @Test(
        "refuses",
        arguments: [
            (#"{}"#, JOSEError.Code.malformed), (#"{"kty":7}"#, .malformed),
            (#"{"kty":"OKP","crv":"X25519","x":"\#(x)"}"#, .unsupportedKey),
            ("{\"kty\":\"O\u{212A}P\",\"crv\":\"Ed25519\",\"x\":\"\(x)\"}", .unsupportedKey),
            (#"{"kty":"OKP","crv":"Ed25519","x":"AA"}"#, .invalidKey), (#"{"kty":"OKP","crv":"Ed25519"}"#, .malformed),
            (#"{"kty":"OKP","crv":"Ed25519","x":"\#(x)","d":"\#(y)"}"#, .invalidKey),
            (#"{"kty":"OKP","crv":"Ed25519","x":"\#(x)","d":"AA"}"#, .invalidKey),
            (#"{"kty":"EC","crv":"P-521","x":"AA","y":"AA"}"#, .unsupportedKey),
            (#"{"kty":"EC","crv":"P-256","x":"\#(x)"}"#, .malformed),
            (#"{"kty":"EC","crv":"P-256","x":"\#(x)=","y":"\#(y)"}"#, .malformed),
            (#"{"kty":"EC","crv":"P-256","x":"AAAA","y":"\#(y)"}"#, .invalidKey),
            (#"{"kty":"EC","crv":"P-256","x":"\#(y)","y":"\#(x)"}"#, .invalidKey),
            (#"{"kty":"EC","crv":"P-256","x":"\#(x)","y":"\#(y)","d":"\#(x)"}"#, .invalidKey),
            (#"{"kty":"EC","crv":"P-256","x":"\#(x)","y":"\#(y)","d":"AAAA"}"#, .invalidKey),
            (#"{"kty":"EC","crv":"P-256","x":"\#(x)","y":"\#(y)","kid":1}"#, .malformed),
            (#"{"kty":"RSA","n":"AQAB","e":"AQAB"}"#, .unsupportedKey),
            (#"{"kty":"RSA","n":"AAAB","e":"AQAB"}"#, .invalidKey),
            (#"{"kty":"RSA","e":"AQAB"}"#, .malformed),
            (#"{"kty":"oct","k":"AAAA"}"#, .unsupportedKey), (#"{"kty":"oct"}"#, .malformed),
        ])
    func refuses(text: String, code: JOSEError.Code) {
        #expect(throws: JOSEError(code, "")) { try JWSTests.key(text) }
    }

    @Test func refusesAnRSAKeyWhosePartsDoNotBelongTogether() throws {
        guard case .rsa(let n, let e, .some(let numbers)) = try JWSTests.key(Vectors.rsaKey).material,
            case .rsa(let otherN, _, _) = try JWSTests.key(Vectors.publicRSAKey).material
        else {
            Issue.record("the examples are RSA keys")
            return
        }
        #expect(throws: JOSEError(.invalidKey, "")) { try JWK(.rsa(n: otherN, e: e, privateNumbers: numbers)) }
        #expect(throws: JOSEError(.invalidKey, "")) { try JWK(.rsa(n: [0] + n, e: e, privateNumbers: nil)) }
        #expect(throws: JOSEError(.invalidKey, "")) { try JWK(.rsa(n: n, e: [2], privateNumbers: nil)) }
        #expect(throws: JOSEError(.unsupportedKey, "")) {
            try JWK(.rsa(n: n, e: [1, 0, 0, 0, 1], privateNumbers: nil))
        }
    }

    @Test func keysOfMorePrimesAreNotRead() throws {
        let text = Vectors.rsaKey.trimmingCharacters(in: .whitespacesAndNewlines).dropLast() + #","oth":[]}"#
        #expect(throws: JOSEError(.unsupportedKey, "")) { try JWSTests.key(String(text)) }
    }

    @Test func unknownKeysOfASetAreLeftOut() throws {
        let set = try JWKSet(
            parsing: #"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AA"},\#(Vectors.publicECKey)]}"#.utf8)
        #expect(set.keys.map(\.keyID) == ["1"])
    }

    @Test(
        "refuses key sets",
        arguments: [
            ("{}", JOSEError.Code.malformed), ("[]", .malformed), (#"{"keys":{}}"#, .malformed),
            (#"{"keys":[1]}"#, .malformed),
            (#"{"keys":[\#(Vectors.publicECKey),\#(Vectors.publicECKey)]}"#, .malformed),
            (#"{"keys":[\#(Array(repeating: "{}", count: 65).joined(separator: ","))]}"#, .tooLarge),
            (#"{"keys":[],"x":"\#(String(repeating: "x", count: 70_000))"}"#, .tooLarge),
        ])
    func refusesSets(text: String, code: JOSEError.Code) {
        #expect(throws: JOSEError(code, "")) { try JWKSet(parsing: text.utf8) }
    }

    @Test("a member of a set that is null is as good as none")
    func nulls() throws {
        let key =
            #"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","kid":null,"use":null}"#
        let set = try JWKSet(parsing: #"{"keys":[\#(key),null],"x":null}"#.utf8)
        #expect(set.keys.count == 1 && set.keys[0].keyID == nil && set.keys[0].use == nil)
    }
}
