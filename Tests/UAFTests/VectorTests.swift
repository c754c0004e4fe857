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

    /// Whether the assertion carries the hash of the message's parameters; `nil` where no whole message tells.
    var hashMatches: Bool? {
        guard Self.refusals[self.id] == nil, case .array = self.object["message"],
            case .bool(let matches)? = try? self.object.requiredObject("expected")["fchMatches"]
        else { return nil }
        return matches
    }

    /// The whole message as a strict reader takes it; `nil` where it has padding or line breaks, or is not there.
    var strictMessage: JSON? {
        guard let message = self.object["message"], !message.text.contains("="), !message.text.contains("\\n") else {
            return nil
        }
        return message
    }

    /// What a key that is known has signed; `nil` where another key signed, or nobody knows which.
    func signed() throws -> Signed? {
        guard Self.refusals[self.id] == nil else { return nil }
        let bytes = try self.assertion()
        guard self.kind == "registration" else {
            guard let text = try self.object.string("publicKey") else { return nil }
            let assertion = try AuthenticationAssertion(parsing: bytes)
            return Signed(
                bytes: assertion.signedData.signedBytes, signature: assertion.signature,
                algorithm: assertion.signedData.signatureAlgorithm, key: try #require(Base64URL.decode(text)),
                format: PublicKeyFormat(rawValue: try self.object.requiredInteger("publicKeyAlgAndEncoding")))
        }
        let assertion = try RegistrationAssertion(parsing: bytes)
        // Full attestation is signed by another key.
        guard assertion.attestation.type == .basicSurrogate else { return nil }
        let data = assertion.keyRegistrationData
        return Signed(
            bytes: data.signedBytes, signature: assertion.attestation.signature, algorithm: data.signatureAlgorithm,
            key: data.publicKey, format: data.publicKeyFormat)
    }

    /// What was signed, and by which key.
    struct Signed {
        let bytes: [UInt8]
        let signature: [UInt8]
        let algorithm: SignatureAlgorithm
        let key: [UInt8]
        let format: PublicKeyFormat
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
    @Test("All vectors are there, and what each of them is held against")
    func count() throws {
        #expect(Vector.all.count == 23)
        #expect(Vector.all.count { $0.hashMatches != nil } == 11)
        #expect(Vector.all.count { $0.strictMessage != nil } == 7)
        #expect(try Vector.all.filter { try $0.signed() != nil }.count == 6)
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
        arguments: Vector.all.filter { $0.hashMatches != nil })
    func finalChallengeHash(vector: Vector) throws {
        guard case .array(let messages) = vector.object["message"], case .object(let message)? = messages.first else {
            throw JSONError(.wrongType, vector.id)
        }
        let hash = FinalChallengeParams.hash(ofEncoded: try message.requiredString("fcParams"))
        let bytes = try vector.assertion()
        let signed =
            vector.kind == "registration"
            ? try RegistrationAssertion(parsing: bytes).keyRegistrationData.finalChallengeHash
            : try AuthenticationAssertion(parsing: bytes).signedData.finalChallengeHash
        #expect((hash == signed) == vector.hashMatches)
    }

    @Test(
        "A P-256 signature over the received bytes verifies with the vector's key",
        arguments: Vector.all.filter { (try? $0.signed()) != nil })
    func signature(vector: Vector) throws {
        let signed = try #require(try vector.signed())
        guard [.p256Raw, .p256DER].contains(signed.algorithm) else {
            #expect(throws: UAFError(.unsupportedAlgorithm)) {
                try P256Encoding.signature(signed.signature, algorithm: signed.algorithm)
            }
            return
        }
        let key = try P256Encoding.publicKey(signed.key, format: signed.format)
        let signature = try P256Encoding.signature(signed.signature, algorithm: signed.algorithm)
        #expect(key.isValidSignature(signature, for: signed.bytes))
    }

    @Test(
        "A whole message without padding and line breaks is read and written back",
        arguments: Vector.all.filter { $0.strictMessage != nil })
    func message(vector: Vector) throws {
        let message = try #require(vector.strictMessage)
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
