public import Crypto
import CryptoExtras
public import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A question about a PIN to a PIN service, which learns nothing about the PIN: the scheme `pin/2` (``PinScheme``).
///
///     stretched = scrypt(PIN, phone's half)                                       as in pin/1
///     blinded   = Blind(stretched), 49 bytes                 phone → server → PIN service
///     evaluated = the activation's key · blinded, with its proof, 145 bytes       and back
///     y         = Finalize(stretched, evaluated), 48 bytes
///     scalar    = HKDF-SHA256(stretched ‖ y, info ‖ counter)                      as in pin/1, info of "pin/2"
///
/// Blind, Finalize and the evaluation are the functions of RFC 9497 in its verifiable mode with P384-SHA384. A reader
/// of the traffic sees two points that say nothing about the PIN. The proof reveals an answer with another key.
// Safe to share: nothing changes after the initializer, and the library's blinded input is a plain value. The library
// only does not declare the type sendable.
public struct PinQuestion: @unchecked Sendable {
    /// The number of bytes of a blinded PIN, a compressed point of P-384.
    public static let blindedBytes = 49
    /// The number of bytes of an evaluation: a point, and the proof that the service used the right key.
    public static let evaluatedBytes = 145
    /// The number of bytes of a service's public key, a compressed point of P-384.
    public static let serviceKeyBytes = 49

    /// The blinded PIN, for the PIN service. Each question has other bytes, even for the same PIN, and the bytes look
    /// random.
    public let blinded: [UInt8]
    private let input: P384._VOPRF.BlindedInput
    private let stretched: SymmetricKey
    private let serviceKey: P384._VOPRF.PublicKey
    private let context: PinScheme.Context

    /// Creates a question about a PIN. The call takes the time and the memory of `parameters`, and half a millisecond
    /// more.
    ///
    /// - Parameter serviceKey: The service's public key for the activation.
    ///
    /// Throws ``PinSchemeError``: `invalidInput` and `unavailable` as
    /// ``PinScheme/key(pin:phoneHalf:parameters:context:)``, with parameters of the scheme `pin/2`; `malformed` if
    /// `serviceKey` is not a public key.
    public init(
        pin: SecretBytes, phoneHalf: SecretBytes, parameters: PinParameters, context: PinScheme.Context,
        serviceKey: [UInt8]
    ) throws(PinSchemeError) {
        let stretched = try PinScheme.pin2.stretched(
            pin: pin, phoneHalf: phoneHalf, parameters: parameters, context: context)
        let key = try Self.key(serviceKey)
        do {
            self.input = try stretched.withUnsafeBytes { try key.blind(Data($0)) }
        } catch {
            throw PinSchemeError(.unavailable)
        }
        self.blinded = Array(self.input.blindedElement.oprfRepresentation)
        self.stretched = stretched
        self.serviceKey = key
        self.context = context
    }

    /// Returns the PIN's key from the service's answer. Do not store the key, nor its public half.
    ///
    /// Throws ``PinSchemeError``: `notProven` if the answer is not an evaluation of ``blinded`` by the service's key.
    public func key(evaluated: [UInt8]) throws(PinSchemeError) -> P256.Signing.PrivateKey {
        let output: Data
        do {
            output = try self.serviceKey.finalize(
                self.input, using: P384._VOPRF.BlindEvaluation(rawRepresentation: Data(evaluated)))
        } catch {
            throw PinSchemeError(.notProven)
        }
        let both = self.stretched.withUnsafeBytes { SymmetricKey(data: Array($0) + Array(output)) }
        return try PinScheme.pin2.key(of: both, self.context)
    }

    /// Checks the public key of a PIN service. Throws ``PinSchemeError`` `malformed` for other bytes.
    public static func check(serviceKey: [UInt8]) throws(PinSchemeError) { _ = try self.key(serviceKey) }

    /// Returns `true` if the bytes can be a blinded PIN: a point of P-384.
    public static func isBlinded(_ bytes: [UInt8]) -> Bool {
        bytes.count == Self.blindedBytes
            && (try? P384._VOPRF.BlindedElement(oprfRepresentation: Data(bytes))) != nil
    }

    private static func key(_ bytes: [UInt8]) throws(PinSchemeError) -> P384._VOPRF.PublicKey {
        guard bytes.count == Self.serviceKeyBytes else { throw PinSchemeError(.malformed, "serviceKey") }
        do { return try P384._VOPRF.PublicKey(compressedRepresentation: Data(bytes)) } catch {
            throw PinSchemeError(.malformed, "serviceKey")
        }
    }
}

/// The key of a PIN service for one activation. The service evaluates the blinded PINs of phones with this key.
///
///     key = HKDF-SHA384(master, salt: none, info: "countersign pin-service/1" ‖ 0 ‖ activation, 48 bytes)   (RFC 5869)
// Safe to share: the key is a value that nothing changes. The library only does not declare the type sendable.
public struct PinServiceKey: @unchecked Sendable {
    /// The number of bytes of a service's master secret.
    public static let masterBytes = 48

    private let key: P384._VOPRF.PrivateKey

    /// Derives the key of an activation.
    ///
    /// Throws ``PinSchemeError`` `invalidInput` for another length of the master secret, or for an activation's name
    /// outside 1 to 64 bytes. Throws `unavailable` with a probability of 2⁻¹⁸⁹.
    public init(master: SecretBytes, activation: String) throws(PinSchemeError) {
        guard master.count == Self.masterBytes, (1...64).contains(activation.utf8.count) else {
            throw PinSchemeError(.invalidInput)
        }
        let scalar = master.withBytes { master in
            HKDF<SHA384>.deriveKey(
                inputKeyMaterial: SymmetricKey(data: master),
                info: Array("countersign pin-service/1".utf8) + [0] + Array(activation.utf8),
                outputByteCount: Self.masterBytes)
        }
        do {
            self.key = try scalar.withUnsafeBytes { try P384._VOPRF.PrivateKey(rawRepresentation: Data($0)) }
        } catch {
            throw PinSchemeError(.unavailable)
        }
    }

    /// The public key with which phones check evaluations: a compressed point, ``PinQuestion/serviceKeyBytes``.
    public var publicKey: [UInt8] { Array(self.key.publicKey.compressedRepresentation) }

    /// Evaluates a phone's blinded PIN, and proves the use of this key. The evaluation takes 2 ms.
    ///
    /// Throws ``PinSchemeError`` `malformed` for bytes that are not a point of P-384.
    public func evaluate(_ blinded: [UInt8]) throws(PinSchemeError) -> [UInt8] {
        guard blinded.count == PinQuestion.blindedBytes else { throw PinSchemeError(.malformed, "blinded") }
        do {
            let element = try P384._VOPRF.BlindedElement(oprfRepresentation: Data(blinded))
            return Array(try self.key.evaluate(element).rawRepresentation)
        } catch {
            throw PinSchemeError(.malformed, "blinded")
        }
    }
}
