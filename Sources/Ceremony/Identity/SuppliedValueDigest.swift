import Crypto
public import PersonalInformation
public import _Primitives

/// The random key of one ``SuppliedValueDigest``. It travels beside the document and is kept beside the value, so that a
/// document that outlives the value no longer tells which one it was.
public struct SuppliedValueSalt: Sendable, Equatable {
    /// 32 bytes.
    public let bytes: SecretBytes

    /// A new one.
    public init(random: RandomSource) { self.bytes = SecretBytes(random.bytes(32)) }

    /// Reads base64url; `nil` for anything but 32 bytes.
    public init?(base64URL text: String) {
        guard let bytes = Base64URL.decode(text), bytes.count == 32 else { return nil }
        self.bytes = SecretBytes(bytes)
    }

    /// The spelling in messages.
    public var base64URL: String { self.bytes.withBytes { Base64URL.encode(Array($0)) } }
}

/// Stands for a value that a person typed in a document that is signed: HMAC-SHA256 of the attribute and the value's one
/// spelling, under a random key of its own. Without the key nobody can find out by trying which of few values it was.
public struct SuppliedValueDigest: Hashable, Sendable {
    /// 32 bytes.
    public let bytes: [UInt8]

    /// Takes what a document says; `nil` for another length.
    public init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == 32 else { return nil }
        self.bytes = Array(bytes)
    }

    /// The digest of a value.
    public init(of spelling: String, for attribute: PersonalAttribute, salt: SuppliedValueSalt) {
        let key = salt.bytes.withBytes { SymmetricKey(data: $0) }
        let message = [
            Array("countersign supplied value/1".utf8), Array(attribute.rawValue.utf8), Array(spelling.utf8),
        ]
        self.bytes = Array(
            HMAC<SHA256>.authenticationCode(for: Array(message.joined(separator: [0])), using: key))
    }

    /// Whether it is the digest of that value, in constant time.
    public func isDigest(of spelling: String, for attribute: PersonalAttribute, salt: SuppliedValueSalt) -> Bool {
        constantTimeEqual(self.bytes, Self(of: spelling, for: attribute, salt: salt).bytes)
    }
}
