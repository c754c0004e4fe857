public import Crypto
public import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A message that only the server opens, whoever reads the traffic: factors, the keys of an enrolment, a new PIN's key.
///
/// HPKE in its base mode with DHKEM(P-256, HKDF-SHA256), HKDF-SHA256 and AES-256-GCM (RFC 9180); `data` is the
/// encapsulated key, 65 bytes, and the ciphertext. What it is for and where it belongs are authenticated with it, so that
/// it opens nowhere else.
public struct SealedMessage: IdentityMessage, Hashable {
    /// What is sealed, with what it belongs to.
    public enum Place: Hashable, Sendable {
        /// The proof that somebody knows the PIN of an activation, for one challenge of it.
        case activationProof(activation: String, challenge: String)
        /// The keys of a new activation.
        case enrolment(activation: String, token: String)
        /// The factors of a session, which sign the document of this challenge.
        case factors(session: String, challenge: String)
        /// What uses a grant.
        case completion(session: String)

        /// What it is for.
        fileprivate var purpose: Purpose {
            switch self {
            case .activationProof: .activationProof
            case .enrolment: .enrolment
            case .factors: .factors
            case .completion: .completion
            }
        }

        /// Where it belongs.
        fileprivate var fields: [String] {
            switch self {
            case .activationProof(let activation, let challenge): [activation, challenge]
            case .enrolment(let activation, let token): [activation, token]
            case .factors(let session, let challenge): [session, challenge]
            case .completion(let session): [session]
            }
        }

        /// Each field with its length before it, so that no two places have the same bytes.
        fileprivate var authenticated: Data {
            Data(
                self.fields.flatMap { field in
                    [UInt8(truncatingIfNeeded: field.utf8.count >> 8), UInt8(truncatingIfNeeded: field.utf8.count)]
                        + Array(field.utf8)
                })
        }
    }

    /// What a message is sealed for, wherever it belongs.
    public enum Purpose: String, Sendable {
        /// The proof that somebody knows the PIN of an activation.
        case activationProof = "activation proof"
        /// The keys of a new activation.
        case enrolment
        /// The factors of a session.
        case factors
        /// What uses a grant.
        case completion

        fileprivate var info: Data { Data("countersign identity \(self.rawValue)/1".utf8) }
    }

    /// What sealing costs most, done before there is a message: a key of its own, and the secret that it shares with the
    /// server's (RFC 9180, section 5.1). It seals one message.
    public struct Encapsulation: Sendable {
        fileprivate let keyID: String
        fileprivate let purpose: Purpose
        fileprivate var sender: HPKE.Sender

        /// Prepares to seal a message of that purpose to a key of the server.
        ///
        /// Throws ``IdentityMessageError``: `notSealed` where the key is none.
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

    /// Which key it is sealed to.
    public let keyID: String
    private let data: [UInt8]

    private static let suite = HPKE.Ciphersuite(kem: .P256_HKDF_SHA256, kdf: .HKDF_SHA256, aead: .AES_GCM_256)
    private static let encapsulatedBytes = 65
    /// The most bytes of what is sealed.
    public static let maximumBytes = 32 * 1024

    /// Seals a message to a key of the server.
    ///
    /// Throws ``IdentityMessageError``: `notSealed` where the key is none, `malformed` for too long a message.
    public init(
        sealing message: some IdentityMessage, to key: ManagerKeySet.SealingKey, for place: Place
    ) throws(IdentityMessageError) {
        try self.init(sealing: message, by: Encapsulation(to: key, for: place.purpose), for: place)
    }

    /// As ``init(sealing:to:for:)``, by what was prepared before.
    ///
    /// Throws ``IdentityMessageError``: `notSealed` where that was for another purpose, `malformed` for too long a message.
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

    /// Opens it, and reads the message.
    ///
    /// Throws ``IdentityMessageError``: `notSealed` for what was sealed to another key or for another place, and those of
    /// the message.
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
