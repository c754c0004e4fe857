import Crypto
import Foundation
import Testing

@testable import BankCommand

@Suite("The bank verifies what the provider signed (OpenID Connect Core 1.0, section 3.1.3.7)")
struct SignedTokenTests {
    private let key = P256.Signing.PrivateKey()
    private let now = Date(timeIntervalSince1970: 1_800_000_000)

    private func keys(_ id: String = "k1") throws -> KeySet {
        let point = self.key.publicKey.rawRepresentation
        let x = Base64.encodeURL(point.prefix(32))
        let y = Base64.encodeURL(point.suffix(32))
        let json =
            #"{"keys":[{"kty":"RSA","kid":"k1"},{"kty":"EC","crv":"P-256","kid":"\#(id)","x":"\#(x)","y":"\#(y)"}]}"#
        return try JSONDecoder().decode(KeySet.self, from: Data(json.utf8))
    }

    private func token(header: String = #"{"alg":"ES256","kid":"k1","typ":"JWT"}"#, claims: [String: Any]) throws
        -> String
    {
        let payload = try JSONSerialization.data(withJSONObject: claims)
        let signed = "\(Base64.encodeURL(Data(header.utf8))).\(Base64.encodeURL(payload))"
        let signature = try self.key.signature(for: Data(signed.utf8)).rawRepresentation
        return "\(signed).\(Base64.encodeURL(signature))"
    }

    private var idClaims: [String: Any] {
        [
            "iss": "https://id.example", "sub": "s-1", "aud": "bank", "iat": 1_799_999_990, "exp": 1_800_000_300,
            "nonce": "n-1",
        ]
    }

    private func checkID(_ claims: [String: Any]) throws {
        try UnverifiedToken(self.token(claims: claims)).claims(IDTokenClaims.self, keys: self.keys())
            .validate(issuer: "https://id.example", clientID: "bank", nonce: "n-1", now: self.now)
    }

    @Test("An ID token for this bank, of now, with the nonce, is taken")
    func idTokenIsTaken() throws { try self.checkID(self.idClaims) }

    @Test(
        "An ID token with another claim is refused",
        arguments: [
            ("iss", "https://other.example"), ("aud", "shop"), ("azp", "shop"), ("nonce", "n-2"), ("sub", ""),
        ])
    func wrongClaim(name: String, value: String) throws {
        var claims = self.idClaims
        claims[name] = value
        #expect(throws: ProviderError.self) { try self.checkID(claims) }
    }

    @Test("An ID token for several audiences, too old, or of the future is refused")
    func wrongAudiencesAndTimes() throws {
        for (name, value) in [("aud", ["bank", "shop"]), ("exp", 1_800_000_000), ("iat", 1_800_000_061)]
            as [(String, Any)]
        {
            var claims = self.idClaims
            claims[name] = value
            #expect(throws: ProviderError.self, "\(name)") { try self.checkID(claims) }
        }
    }

    @Test("A token with a changed claim, another algorithm, an unknown key or a critical header is refused")
    func forgedTokens() throws {
        let good = try self.token(claims: self.idClaims).split(separator: ".").map(String.init)
        var changed = self.idClaims
        changed["sub"] = "s-2"
        let payload = Base64.encodeURL(try JSONSerialization.data(withJSONObject: changed))
        let unsigned = Base64.encodeURL(Data(#"{"alg":"none","kid":"k1"}"#.utf8))
        let forged = [
            "\(good[0]).\(payload).\(good[2])",
            "\(unsigned).\(good[1]).",
            try self.token(header: #"{"alg":"ES256","kid":"k2"}"#, claims: self.idClaims),
            try self.token(header: #"{"alg":"ES384","kid":"k1"}"#, claims: self.idClaims),
            try self.token(header: #"{"alg":"ES256","kid":"k1","crit":["b64"]}"#, claims: self.idClaims),
        ]
        for text in forged {
            #expect(throws: ProviderError.self, "\(text)") {
                try UnverifiedToken(text).claims(IDTokenClaims.self, keys: self.keys())
            }
        }
    }

    @Test(
        "What is no compact JWS is refused",
        arguments: ["", "a.b", "a.b.c.d", "e30.e30.!", "e30=.e30.e30", "bm8.e30.e30"])
    func notAToken(text: String) {
        #expect(throws: ProviderError.self) { try UnverifiedToken(text) }
    }

    private static let text = "Payment\nAmount: EUR 120.00\nTo: Jo Gardener\nIBAN: DE89370400440532013000"

    private func confirmation(_ changes: [String: Any] = [:]) throws -> ConfirmationClaims {
        var claims: [String: Any] = [
            "iss": "https://id.example", "sub": "s-1", "aud": "bank", "exp": 1_800_000_300, "session_id": "session",
            "transaction_hash": Base64.sha256URL(Self.text), "transaction_content_type": "text/plain",
        ]
        claims.merge(changes) { $1 }
        return try UnverifiedToken(self.token(claims: claims)).claims(ConfirmationClaims.self, keys: self.keys())
    }

    private func check(_ claims: ConfirmationClaims) throws {
        try claims.validate(
            issuer: "https://id.example", clientID: "bank", subject: "s-1", session: "session", text: Self.text,
            now: self.now)
    }

    @Test("A confirmation of this very text is taken")
    func confirmationIsTaken() throws { try self.check(self.confirmation()) }

    @Test(
        "A confirmation of another text, person, session, service, provider or kind is refused",
        arguments: [
            ("transaction_hash", Base64.sha256URL(text.replacingOccurrences(of: "120", with: "920"))),
            ("transaction_content_type", "image/png"), ("sub", "s-2"), ("session_id", "other"), ("aud", "shop"),
            ("iss", "https://other.example"),
        ])
    func wrongConfirmation(name: String, value: String) throws {
        let claims = try self.confirmation([name: value])
        #expect(throws: ProviderError.self) { try self.check(claims) }
    }

    @Test("A confirmation past its time is refused")
    func oldConfirmation() throws {
        let claims = try self.confirmation(["exp": 1_799_999_999])
        #expect(throws: ProviderError.self) { try self.check(claims) }
    }
}
