import Crypto
import JOSE
import Testing
import _Primitives

@Suite("RFC 7519, section 4: claims")
struct JWTClaimsTests {
    private static let key = try? JWK(.octets([UInt8](repeating: 9, count: 32)))

    private static func claims(_ text: String) throws -> JWTClaims {
        let key = try #require(self.key)
        let compact = try JWS.sign(Array(text.utf8), with: SigningKey(key, algorithm: .hs256))
        return try JWTClaims(
            UnverifiedJWS(compact: compact).verified(by: VerificationKey(key, algorithm: .hs256)))
    }

    private static func time(_ seconds: Int64) -> TimeSource { TimeSource { Timestamp(seconds: seconds) } }

    @Test func readsTheExampleOfTheStandard() throws {
        let claims = try Self.claims(Vectors.claimsText)
        #expect(claims.issuer == "joe")
        #expect(claims.expiration == Timestamp(seconds: 1_300_819_380))
        #expect(claims.members["http://example.com/is_root"] == .bool(true))
        #expect(claims.audience.isEmpty && claims.subject == nil && claims.notBefore == nil)
    }

    @Test("takes one audience or many", arguments: [#""a""#, #"["b","a"]"#])
    func audiences(text: String) throws {
        let claims = try Self.claims(#"{"iss":"i","sub":"s","aud":\#(text),"exp":100,"nbf":10.5,"iat":10}"#)
        #expect(claims.subject == "s" && claims.notBefore == Timestamp(milliseconds: 10_500))
        try claims.check(issuer: "i", audience: "a", at: Self.time(50))
        #expect(throws: JOSEError(.wrongAudience, "")) {
            try claims.check(issuer: "i", audience: "c", at: Self.time(50))
        }
    }

    @Test(
        "RFC 7519, section 4.1: issuer and audience are the same where their bytes are",
        arguments: [("K", "\u{212A}"), (";", "\u{37E}"), ("\u{E9}", "e\u{301}")])
    func namesAreBytes(name: String, other: String) throws {
        let claims = try Self.claims(#"{"iss":"i\#(name)","aud":"a\#(name)","exp":100}"#)
        try claims.check(issuer: "i\(name)", audience: "a\(name)", at: Self.time(50))
        #expect(throws: JOSEError(.wrongIssuer, "")) {
            try claims.check(issuer: "i\(other)", audience: "a\(name)", at: Self.time(50))
        }
        #expect(throws: JOSEError(.wrongAudience, "")) {
            try claims.check(issuer: "i\(name)", audience: "a\(other)", at: Self.time(50))
        }
    }

    @Test func theEndIsNotWithinTheTime() throws {
        let claims = try Self.claims(#"{"iss":"i","aud":"a","exp":100,"nbf":10,"iat":10}"#)
        try claims.check(issuer: "i", audience: "a", at: Self.time(99))
        #expect(throws: JOSEError(.expired, "")) { try claims.check(issuer: "i", audience: "a", at: Self.time(100)) }
        try claims.check(issuer: "i", audience: "a", at: Self.time(129), skew: .seconds(30))
        #expect(throws: JOSEError(.expired, "")) {
            try claims.check(issuer: "i", audience: "a", at: Self.time(130), skew: .seconds(30))
        }
    }

    @Test("is not valid before", arguments: ["nbf", "iat"])
    func notBefore(claim: String) throws {
        let claims = try Self.claims(#"{"iss":"i","aud":"a","exp":100,"\#(claim)":50}"#)
        #expect(throws: JOSEError(.notYetValid, "")) {
            try claims.check(issuer: "i", audience: "a", at: Self.time(49))
        }
        try claims.check(issuer: "i", audience: "a", at: Self.time(49), skew: .seconds(1))
        try claims.check(issuer: "i", audience: "a", at: Self.time(50))
    }

    @Test(
        "refuses",
        arguments: [
            (#"{"aud":"a","exp":100}"#, JOSEError.Code.missingClaim), (#"{"iss":"i","exp":100}"#, .missingClaim),
            (#"{"iss":"i","aud":"a"}"#, .missingClaim), (#"{"iss":"I","aud":"a","exp":100}"#, .wrongIssuer),
            (#"{"iss":"i","aud":[],"exp":100}"#, .missingClaim),
        ])
    func refuses(text: String, code: JOSEError.Code) throws {
        let claims = try Self.claims(text)
        #expect(throws: JOSEError(code, "")) { try claims.check(issuer: "i", audience: "a", at: Self.time(50)) }
    }

    @Test(
        "refuses claims of other types",
        arguments: [
            "[]", "", #"{"iss":1}"#, #"{"sub":{}}"#, #"{"aud":1}"#, #"{"aud":[1]}"#, #"{"exp":"100"}"#, #"{"exp":-1}"#,
            #"{"exp":1e300}"#, #"{"nbf":9223372036854775807}"#, #"{"iat":true}"#, #"{"a":1,"a":2}"#,
        ])
    func refusesTypes(text: String) {
        #expect(throws: JOSEError(.malformed, "")) { try Self.claims(text) }
    }
}
