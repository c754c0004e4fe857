import Crypto
import Foundation
import Testing
import UAF
import _Primitives

/// A message of another implementation; `Vectors/README.md` says where each is from.
struct Vector: CustomTestStringConvertible, Sendable {
    let id: String
    let kind: String
    let object: JSONObject

    var testDescription: String { self.id }

    static let all: [Vector] = {
        let folder = Bundle.module.resourceURL!.appendingPathComponent("Vectors")
        guard let index = try? Data(contentsOf: folder.appendingPathComponent("index.json")),
            case .array(let entries)? = try? JSON(
                parsing: withoutNulls(String(decoding: index, as: UTF8.self)), limits: JSONLimits(bytes: 1_000_000))
        else { return [] }
        return entries.compactMap { entry in
            guard case .object(let entry) = entry, case .string(let id) = entry["id"],
                case .string(let kind) = entry["kind"], kind == "registration" || kind == "authentication",
                let bytes = try? Data(contentsOf: folder.appendingPathComponent("\(id).json")),
                case .object(let object)? = try? JSON(
                    parsing: withoutNulls(String(decoding: bytes, as: UTF8.self)), limits: JSONLimits(bytes: 1_000_000))
            else { return nil }
            return Vector(id: id, kind: kind, object: object)
        }
    }()

    /// The notes of a vector have nulls, which this product's reader refuses.
    private static func withoutNulls(_ text: String) -> String {
        text.replacingOccurrences(of: ": null", with: ": \"none\"")
    }

    /// The assertion as its receiver decodes it after taking padding, line breaks and the other alphabet away (§18, row 2).
    func assertion() throws -> [UInt8] {
        let text = try self.object.requiredString("assertion").filter { !"=\n\r ".contains($0) }
            .replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
        return try #require(Base64URL.decode(text))
    }

    /// The strict reader's refusal, for those whose bytes break a rule of the encoding.
    static let refusals: [String: UAFError.Code] = [
        // Private critical tags, 0x3FFC and 0x3FFD.
        "unipi-reg-EBA0-0001": .unknownCriticalTag,
        // A nonce, which has no place in key registration data, and a KeyID of 15 bytes.
        "ebay-reg-EBA0-0001-client": .unknownCriticalTag,
        // Counters of eight bytes in signed data.
        "ebay-auth-EBA0-0001-client": .invalidLength,
    ]
}

@Suite("uaf-sections §20: messages of other implementations")
struct VectorTests {
    @Test("All vectors are there")
    func count() {
        #expect(Vector.all.count == 23)
    }

    @Test("An assertion reads to what an independent reader found, or is refused for its rule", arguments: Vector.all)
    func fields(vector: Vector) throws {
        let bytes = try vector.assertion()
        if let code = Vector.refusals[vector.id] {
            #expect(throws: UAFError(code)) {
                if vector.kind == "registration" {
                    _ = try RegistrationAssertion(parsing: bytes)
                } else {
                    _ = try AuthenticationAssertion(parsing: bytes)
                }
            }
            return
        }
        let decoded = try vector.object.requiredObject("decoded")
        if vector.kind == "registration" {
            let assertion = try RegistrationAssertion(parsing: bytes)
            let data = assertion.keyRegistrationData
            #expect(try data.aaid == AAID(decoded.requiredString("aaid")))
            #expect(try data.keyID.base64URL == decoded.requiredString("keyID"))
            #expect(try data.signCounter == decoded.requiredInteger("signCounter"))
            #expect(try data.signatureAlgorithm.rawValue == decoded.requiredInteger("sigAlg"))
            #expect(try assertion.serialized() == bytes || !assertion.extensions.isEmpty)
        } else {
            let assertion = try AuthenticationAssertion(parsing: bytes)
            let data = assertion.signedData
            #expect(try data.aaid == AAID(decoded.requiredString("aaid")))
            #expect(try data.keyID.base64URL == decoded.requiredString("keyID"))
            #expect(try data.signCounter == decoded.requiredInteger("signCounter"))
            #expect(try data.mode.rawValue == decoded.requiredInteger("mode"))
            #expect(try assertion.serialized() == bytes)
        }
    }

    @Test(
        "The hash of the parameters' letters is the one in the assertion, where the vector says so",
        arguments: Vector.all)
    func finalChallengeHash(vector: Vector) throws {
        guard Vector.refusals[vector.id] == nil, case .array(let messages) = vector.object["message"],
            case .object(let message) = messages.first,
            case .bool(let matches) = try vector.object.requiredObject("expected")["fchMatches"]
        else { return }
        let hash = FinalChallengeParams.hash(ofEncoded: try message.requiredString("fcParams"))
        let bytes = try vector.assertion()
        let signed =
            vector.kind == "registration"
            ? try RegistrationAssertion(parsing: bytes).keyRegistrationData.finalChallengeHash
            : try AuthenticationAssertion(parsing: bytes).signedData.finalChallengeHash
        #expect((hash == signed) == matches)
    }

    @Test("A P-256 signature over the received bytes verifies with the vector's key", arguments: Vector.all)
    func signature(vector: Vector) throws {
        guard Vector.refusals[vector.id] == nil else { return }
        let bytes = try vector.assertion()
        let (signed, signature, algorithm): ([UInt8], [UInt8], SignatureAlgorithm)
        var key: (bytes: [UInt8], format: PublicKeyFormat)?
        if vector.kind == "registration" {
            let assertion = try RegistrationAssertion(parsing: bytes)
            let data = assertion.keyRegistrationData
            // Full attestation is signed by another key.
            guard assertion.attestation.type == .basicSurrogate else { return }
            (signed, signature, algorithm) = (
                data.signedBytes, assertion.attestation.signature, data.signatureAlgorithm
            )
            key = (data.publicKey, data.publicKeyFormat)
        } else {
            let assertion = try AuthenticationAssertion(parsing: bytes)
            (signed, signature, algorithm) = (
                assertion.signedData.signedBytes, assertion.signature, assertion.signedData.signatureAlgorithm
            )
            if let text = try vector.object.string("publicKey") {
                let format: UInt16 = try vector.object.requiredInteger("publicKeyAlgAndEncoding")
                key = (try #require(Base64URL.decode(text)), PublicKeyFormat(rawValue: format))
            }
        }
        guard let key else { return }
        guard [.p256Raw, .p256DER].contains(algorithm) else {
            #expect(throws: UAFError(.unsupportedAlgorithm)) {
                try P256Encoding.signature(signature, algorithm: algorithm)
            }
            return
        }
        let publicKey = try P256Encoding.publicKey(key.bytes, format: key.format)
        #expect(
            publicKey.isValidSignature(try P256Encoding.signature(signature, algorithm: algorithm), for: signed))
    }

    @Test("A whole message without padding and line breaks is read and written back", arguments: Vector.all)
    func message(vector: Vector) throws {
        guard let message = vector.object["message"],
            !message.text.contains("="), !message.text.contains("\\n")
        else { return }
        if vector.kind == "registration" {
            let response = try RegistrationResponse(parsing: message.serialized)
            #expect(try RegistrationResponse(parsing: response.serialized) == response)
            #expect(throws: Never.self) { try FinalChallengeParams(encoded: response.fcParams) }
        } else {
            let response = try AuthenticationResponse(parsing: message.serialized)
            #expect(try AuthenticationResponse(parsing: response.serialized) == response)
            #expect(throws: Never.self) { try FinalChallengeParams(encoded: response.fcParams) }
        }
    }

    @Test("The standard's example requests are read")
    func exampleRequests() throws {
        let folder = try #require(Bundle.module.resourceURL).appendingPathComponent("Vectors")
        let registration = try RegistrationRequest(
            parsing: try Data(contentsOf: folder.appendingPathComponent("spec11-registration-request.json")))
        #expect(registration.username == "apa")
        #expect(registration.policy.accepted.count == 7)
        #expect(registration.policy.accepted[6].count == 4)
        #expect(registration.policy.disallowed.count == 3)
        #expect(try RegistrationRequest(parsing: registration.serialized) == registration)
        let authentication = try AuthenticationRequest(
            parsing: try Data(contentsOf: folder.appendingPathComponent("spec11-authentication-request.json")))
        #expect(try AuthenticationRequest(parsing: authentication.serialized) == authentication)
    }
}
