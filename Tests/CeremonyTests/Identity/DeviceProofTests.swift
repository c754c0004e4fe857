import Ceremony
import Crypto
import JOSE
import Testing
import _Primitives

@Suite("Decision 61: what a device says for itself about one request")
struct DeviceProofTests {
    private static let now = Timestamp(seconds: 1_800_000_000)
    private static let request = DeviceProof.Request(
        audience: "https://id.example.com", method: "POST", target: "https://id.example.com/sessions/1/start",
        body: Array(#"{"role":"user"}"#.utf8))

    /// A device's key, and what it is verified with.
    private struct DeviceKey {
        private let key = P256.Signing.PrivateKey()

        func jwk() throws -> JWK {
            let point = Array(self.key.publicKey.rawRepresentation)
            return try JWK(.p256(x: Array(point[..<32]), y: Array(point[32...]), d: nil), keyID: "device")
        }

        func sign(_ unsigned: UnsignedJWS) throws -> String {
            unsigned.compact(signature: Array(try self.key.signature(for: unsigned.signingInput).rawRepresentation))
        }

        func proof(of request: DeviceProof.Request = DeviceProofTests.request, at now: Timestamp = DeviceProofTests.now)
            throws -> String
        {
            try self.sign(try DeviceProof.unsigned(request, keyID: "device", at: now, random: .system))
        }
    }

    @Test("A proof is verified with a key of ES256 alone")
    func algorithm() throws {
        let key = DeviceKey()
        let token = try DeviceProof.token(of: try key.proof())
        let own = try VerificationKey(try key.jwk(), algorithm: .es256)
        #expect(throws: Never.self) {
            try DeviceProof(verifying: token, of: Self.request, with: own, at: Self.now)
        }
        let other = try VerificationKey(
            JWK(.ed25519(x: Array(Curve25519.Signing.PrivateKey().publicKey.rawRepresentation), d: nil)),
            algorithm: .edDSA)
        #expect(throws: JOSEError(.algorithmNotAllowed, "")) {
            try DeviceProof(verifying: token, of: Self.request, with: other, at: Self.now)
        }
        #expect(throws: JOSEError(.tooLarge, "")) {
            try DeviceProof.token(of: String(repeating: "A", count: 4097))
        }
    }

    @Test("A proof of a request is taken for that request, and each has a name of its own")
    func taken() throws {
        let key = DeviceKey()
        var names: Set<ExactText> = []
        for _ in 0..<16 {
            let compact = try key.proof()
            let proof = try DeviceProof(verifying: compact, of: Self.request, with: try key.jwk(), at: Self.now)
            #expect(proof.issuedAt == Self.now && proof.repeatableUntil == Self.now + .seconds(60))
            #expect(try UnverifiedJWS(compact: compact).header.keyID == "device")
            names.insert(ExactText(proof.identifier))
        }
        #expect(names.count == 16)
    }

    @Test("It is none for another server, method, address or body")
    func otherRequest() throws {
        let key = DeviceKey()
        let compact = try key.proof()
        let request = Self.request
        let others = [
            DeviceProof.Request(
                audience: "https://other.example", method: request.method, target: request.target, body: request.body),
            DeviceProof.Request(
                audience: request.audience, method: "PUT", target: request.target, body: request.body),
            DeviceProof.Request(
                audience: request.audience, method: request.method, target: request.target + "/", body: request.body),
            DeviceProof.Request(
                audience: request.audience, method: request.method, target: request.target, body: request.body + [32]),
        ]
        for other in others {
            #expect(throws: JOSEError.self) {
                try DeviceProof(verifying: compact, of: other, with: try key.jwk(), at: Self.now)
            }
        }
    }

    @Test("It is none by another key, nor with any letter changed")
    func otherKeyOrLetter() throws {
        let key = DeviceKey()
        let compact = try key.proof()
        #expect(throws: JOSEError(.invalidSignature, "")) {
            try DeviceProof(verifying: compact, of: Self.request, with: try DeviceKey().jwk(), at: Self.now)
        }
        let letters = Array(compact.utf8)
        for index in letters.indices {
            var changed = letters
            changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(throws: JOSEError.self) {
                try DeviceProof(
                    verifying: String(decoding: changed, as: UTF8.self), of: Self.request, with: try key.jwk(),
                    at: Self.now)
            }
        }
    }

    @Test(
        "The clocks of device and server may be a minute apart, to either side",
        arguments: [(-61, JOSEError.Code.notYetValid), (-60, nil), (60, nil), (61, .expired)])
    func clocks(seconds: Int, refusal: JOSEError.Code?) throws {
        let key = DeviceKey()
        let compact = try key.proof()
        let now = Self.now + .seconds(seconds)
        if let refusal {
            #expect(throws: JOSEError(refusal, "")) {
                try DeviceProof(verifying: compact, of: Self.request, with: try key.jwk(), at: now)
            }
        } else {
            _ = try DeviceProof(verifying: compact, of: Self.request, with: try key.jwk(), at: now)
        }
    }

    @Test("A token of another type, one that lacks a claim, and one that is too long are none")
    func otherTokens() throws {
        let key = DeviceKey()
        let payload = try UnverifiedJWS(compact: try key.proof()).verified(
            by: VerificationKey(try key.jwk(), algorithm: .es256)
        ).payload
        func verify(_ payload: [UInt8], type: String = "device-proof+jwt") throws {
            let unsigned = try UnsignedJWS(payload, type: type, algorithm: .es256, keyID: "device")
            _ = try DeviceProof(
                verifying: try key.sign(unsigned), of: Self.request, with: try key.jwk(), at: Self.now)
        }
        try verify(payload)
        #expect(throws: JOSEError(.wrongType, "")) { try verify(payload, type: "dpop+jwt") }
        guard case .object(let claims) = try JSON(parsing: payload) else { throw JOSEError(.malformed, "") }
        for (name, code) in [
            ("aud", JOSEError.Code.wrongAudience), ("htm", .missingClaim), ("htu", .missingClaim),
            ("bdh", .missingClaim), ("jti", .missingClaim), ("iat", .missingClaim),
        ] {
            var fewer = claims
            fewer[name] = nil
            #expect(throws: JOSEError(code, "")) { try verify(JSON.object(fewer).serialized) }
        }
        for identifier in ["", String(repeating: "x", count: 257)] {
            var other = claims
            other["jti"] = .string(identifier)
            #expect(throws: JOSEError(.missingClaim, "")) { try verify(JSON.object(other).serialized) }
        }
        var longer = claims
        longer["more"] = .string(String(repeating: "x", count: 4096))
        #expect(throws: JOSEError(.tooLarge, "")) { try verify(JSON.object(longer).serialized) }
    }
}
