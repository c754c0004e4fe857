public import Crypto
public import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A message that only the server can open, even if others read the traffic: factors, the keys of an enrolment, or a
/// new PIN's key.
///
/// The encryption is HPKE in its base mode with DHKEM(P-256, HKDF-SHA256), HKDF-SHA256 and AES-256-GCM (RFC 9180).
/// `data` is the encapsulated key, 65 bytes, and the ciphertext. The encryption authenticates the purpose and the place
/// of the message, so the message opens in no other place.
public struct SealedMessage: IdentityMessage, Hashable {
    /// The purpose of a sealed message, with the session or activation of the message.
    public enum Place: Hashable, Sendable {
        /// The proof of an activation's PIN, for one challenge of the activation.
        case activationProof(activation: String, challenge: String)
        /// The keys of a new activation.
        case enrolment(activation: String, token: String)
        /// The factors of a session, which sign the document with this challenge.
        case factors(session: String, challenge: String)
        /// A request that uses a grant.
        case completion(session: String)

        /// The purpose of the message.
        fileprivate var purpose: Purpose {
            switch self {
            case .activationProof: .activationProof
            case .enrolment: .enrolment
            case .factors: .factors
            case .completion: .completion
            }
        }

        /// The fields that identify the place of the message.
        fileprivate var fields: [String] {
            switch self {
            case .activationProof(let activation, let challenge): [activation, challenge]
            case .enrolment(let activation, let token): [activation, token]
            case .factors(let session, let challenge): [session, challenge]
            case .completion(let session): [session]
            }
        }

        /// The bytes to authenticate: each field after its length, so different places have different bytes.
        fileprivate var authenticated: Data {
            Data(
                self.fields.flatMap { field in
                    [UInt8(truncatingIfNeeded: field.utf8.count >> 8), UInt8(truncatingIfNeeded: field.utf8.count)]
                        + Array(field.utf8)
                })
        }
    }

    /// The purpose of a sealed message, without its place.
    public enum Purpose: String, Sendable {
        /// The proof of an activation's PIN.
        case activationProof = "activation proof"
        /// The keys of a new activation.
        case enrolment
        /// The factors of a session.
        case factors
        /// A request that uses a grant.
        case completion

        fileprivate var info: Data { Data("countersign identity \(self.rawValue)/1".utf8) }
    }

    /// The costly part of sealing, which can run before the message exists: a new key pair, and the secret that the new
    /// key shares with the server's key (RFC 9180, section 5.1). An encapsulation seals one message.
    public struct Encapsulation: Sendable {
        fileprivate let keyID: String
        fileprivate let purpose: Purpose
        fileprivate var sender: HPKE.Sender

        /// Prepares to seal a message with this purpose to a key of the server.
        ///
        /// Throws ``IdentityMessageError``: `notSealed` if the key is invalid.
        public init(to key: ManagerKeySet.SealingKey, for purpose: Purpose) throws(IdentityMessageError) {
            do {
                self.sender = try HPKE.Sender(
                    recipientKey: P256.KeyAgreement.PublicKey(compressedRepresentation: key.publicKey),
                    ciphersuite: SealedMessage.suite, info: purpose.info)
            } catch {
                throw IdentityMessageError(.notSealed, "the key to seal to")
            }
            self.keyID = key.id
            self.purpose = purpose
        }
    }

    /// The identifier of the key that the message is sealed to.
    public let keyID: String
    private let data: [UInt8]

    private static let suite = HPKE.Ciphersuite(kem: .P256_HKDF_SHA256, kdf: .HKDF_SHA256, aead: .AES_GCM_256)
    private static let encapsulatedBytes = 65
    /// The most bytes of the message before sealing.
    public static let maximumBytes = 32 * 1024

    /// Seals a message to a key of the server.
    ///
    /// Throws ``IdentityMessageError``: `notSealed` if the key is invalid, `malformed` if the message is too long.
    public init(
        sealing message: some IdentityMessage, to key: ManagerKeySet.SealingKey, for place: Place
    ) throws(IdentityMessageError) {
        try self.init(sealing: message, by: Encapsulation(to: key, for: place.purpose), for: place)
    }

    /// Seals a message with a prepared encapsulation, otherwise as ``init(sealing:to:for:)``.
    ///
    /// Throws ``IdentityMessageError``: `notSealed` if the encapsulation is for another purpose, `malformed` if the
    /// message is too long.
    public init(
        sealing message: some IdentityMessage, by encapsulation: consuming Encapsulation, for place: Place
    ) throws(IdentityMessageError) {
        let bytes = message.serialized
        guard bytes.count <= Self.maximumBytes else { throw IdentityMessageError(.malformed, "too long") }
        guard encapsulation.purpose == place.purpose else {
            throw IdentityMessageError(.notSealed, "prepared for another purpose")
        }
        do {
            let sealed = try encapsulation.sender.seal(bytes, authenticating: place.authenticated)
            self.data = Array(encapsulation.sender.encapsulatedKey) + Array(sealed)
        } catch {
            throw IdentityMessageError(.notSealed, place.purpose.rawValue)
        }
        self.keyID = encapsulation.keyID
    }

    /// Opens the sealed message, and reads the content.
    ///
    /// Throws ``IdentityMessageError``: `notSealed` if the message was sealed to another key or for another place, and
    /// the errors of the content.
    public func open<Message: IdentityMessage>(
        _ type: Message.Type = Message.self, with key: P256.KeyAgreement.PrivateKey, for place: Place
    ) throws(IdentityMessageError) -> Message {
        let opened: Data
        do {
            var recipient = try HPKE.Recipient(
                privateKey: key, ciphersuite: Self.suite, info: place.purpose.info,
                encapsulatedKey: Data(self.data.prefix(Self.encapsulatedBytes)))
            opened = try recipient.open(
                self.data.dropFirst(Self.encapsulatedBytes), authenticating: place.authenticated)
        } catch {
            throw IdentityMessageError(.notSealed, place.purpose.rawValue)
        }
        return try Message(parsing: opened)
    }

    public init(json object: JSONObject) throws(IdentityMessageError) {
        let read = try IdentityMessageError.reading { () throws(JSONError) in
            (
                keyID: try object.requiredText("kid", 1...64),
                data: try object.requiredBytes(
                    "data", Self.encapsulatedBytes + 16...Self.encapsulatedBytes + 16 + Self.maximumBytes)
            )
        }
        self.keyID = read.keyID
        self.data = read.data
    }

    public var json: JSONObject { ["kid": .string(self.keyID), "data": .bytes(self.data)] }
}
