import Crypto
public import PersonalInformation
public import _Primitives

/// The random key of one ``SuppliedValueDigest``.
///
/// The salt travels beside the document and is stored beside the value. If the document outlives the value, the
/// document no longer reveals the value.
public struct SuppliedValueSalt: Sendable, Equatable {
    /// 32 bytes.
    public let bytes: SecretBytes

    /// Creates a new salt.
    public init(random: RandomSource) { self.bytes = SecretBytes(random.bytes(32)) }

    /// Creates a salt from base64url; `nil` for anything but 32 bytes.
    public init?(base64URL text: String) {
        guard let bytes = Base64URL.decode(text), bytes.count == 32 else { return nil }
        self.bytes = SecretBytes(bytes)
    }

    /// The salt in base64url, for messages.
    public var base64URL: String { self.bytes.withBytes { Base64URL.encode(Array($0)) } }
}

/// The digest that represents a typed value in a signed document.
///
/// The digest is the HMAC-SHA256 of the attribute and the value's single spelling, under a random key for each value.
/// Without the key, nobody can find the value by trying a few possible values.
public struct SuppliedValueDigest: Hashable, Sendable {
    /// 32 bytes.
    public let bytes: [UInt8]

    /// Creates a digest from the bytes in a document; `nil` for another length.
    public init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == 32 else { return nil }
        self.bytes = Array(bytes)
    }

    /// Computes the digest of a value, which the caller has brought into its single spelling.
    public init(of spelling: String, for attribute: PersonalAttribute, salt: SuppliedValueSalt) {
        let key = salt.bytes.withBytes { SymmetricKey(data: $0) }
        let message = [
            Array("countersign supplied value/1".utf8), Array(attribute.rawValue.utf8), Array(spelling.utf8),
        ]
        self.bytes = Array(
            HMAC<SHA256>.authenticationCode(for: Array(message.joined(separator: [0])), using: key))
    }

    /// Returns `true` if this is the digest of the value. The comparison takes constant time.
    public func isDigest(of spelling: String, for attribute: PersonalAttribute, salt: SuppliedValueSalt) -> Bool {
        constantTimeEqual(self.bytes, Self(of: spelling, for: attribute, salt: salt).bytes)
    }
}
