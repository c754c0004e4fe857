import Ceremony
import Crypto
import JOSE
import Testing
import _Primitives

@Suite("Decision 119: what a device signs when its person denies")
struct SignedDenialTests {
    private static let audience = "https://id.example.com"
    private static let challenge = "AAECAwQFBgcICQoLDA0ODw"

    private static func key() throws -> SigningKey {
        try SigningKey(kept: try SigningKey.make(.es256, random: .system), algorithm: .es256, keyID: "k")
    }

    private static func verifier(_ key: SigningKey) throws -> VerificationKey {
        try VerificationKey(try #require(key.publicKey), algorithm: .es256)
    }

    private static func signed(_ claims: JSONObject, type: String = "denial+jwt", by key: SigningKey) throws -> String {
        try JWS.sign(JSON.object(claims).serialized, type: type, with: key)
    }

    private static let claims: JSONObject = [
        "aud": .string(audience), "challenge": .string(challenge), "reason": .string("unwanted"), "notMe": .bool(true),
    ]

    private static func verify(_ compact: String, by key: SigningKey) throws -> DenialStatement {
        try Self.verify(compact, by: try Self.verifier(key))
    }

    private static func verify(_ compact: String, by verifier: VerificationKey) throws -> DenialStatement {
        try SignedDenial(
            verifying: try SignedDenial.token(of: compact), audience: Self.audience, challenge: Self.challenge,
            with: verifier
        ).statement
    }

    @Test("Each statement comes back as it was signed")
    func statements() throws {
        let key = P256.Signing.PrivateKey()
        let point = Array(key.publicKey.x963Representation)
        let verifier = try VerificationKey(
            JWK(.p256(x: Array(point[1..<33]), y: Array(point[33...]), d: nil)), algorithm: .es256)
        for reason in DenialStatement.Reason.allCases {
            for isNotMe in [false, true] {
                let statement = DenialStatement(reason: reason, isNotMe: isNotMe)
                let unsigned = try SignedDenial.unsigned(
                    statement, audience: Self.audience, challenge: Self.challenge, keyID: "k")
                let signature = try key.signature(for: unsigned.signingInput)
                let compact = unsigned.compact(signature: Array(signature.rawRepresentation))
                #expect(try Self.verify(compact, by: verifier) == statement)
            }
        }
    }

    @Test("The wire has these claims")
    func wire() throws {
        let key = try Self.key()
        #expect(try Self.verify(try Self.signed(Self.claims, by: key), by: key) == .notMe)
    }

    @Test(
        "Another claim, a missing one, or a claim of another type is refused",
        arguments: ["aud", "challenge", "reason", "notMe"], [JSON.string("other"), .integer(1), nil])
    func claims(name: String, value: JSON?) throws {
        let key = try Self.key()
        var claims = Self.claims
        claims[name] = value
        let compact = try Self.signed(claims, by: key)
        #expect(throws: JOSEError.self) { try Self.verify(compact, by: key) }
    }

    @Test("Another type, another key, a changed letter and a long text are refused")
    func forms() throws {
        let key = try Self.key()
        let right = try Self.signed(Self.claims, by: key)
        let proof = try Self.signed(Self.claims, type: "device-proof+jwt", by: key)
        #expect(throws: JOSEError(.wrongType, "")) { try Self.verify(proof, by: key) }
        #expect(throws: JOSEError(.invalidSignature, "")) { try Self.verify(right, by: try Self.key()) }
        let parts = right.split(separator: ".").map(String.init)
        var other = Self.claims
        other["notMe"] = .bool(false)
        let changed = try Self.signed(other, by: key).split(separator: ".").map(String.init)
        #expect(throws: JOSEError(.invalidSignature, "")) {
            try Self.verify("\(parts[0]).\(changed[1]).\(parts[2])", by: key)
        }
        #expect(throws: JOSEError(.tooLarge, "")) {
            try SignedDenial.token(of: right + String(repeating: "A", count: 2048))
        }
    }
}
