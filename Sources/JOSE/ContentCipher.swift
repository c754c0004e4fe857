import Crypto
import CryptoExtras
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The algorithm that encrypts the content of a message (RFC 7518, section 5.1).
public struct ContentEncryption: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init?(rawValue: String) {
        guard Self.all.contains(where: { $0.rawValue.hasSameBytes(as: rawValue) }) else { return nil }
        self.rawValue = rawValue
    }
    private init(known: String) { self.rawValue = known }

    /// AES GCM with a key of 128 bits.
    public static let a128GCM = Self(known: "A128GCM")
    /// AES GCM with a key of 256 bits.
    public static let a256GCM = Self(known: "A256GCM")
    /// AES CBC with a key of 128 bits, and HMAC with SHA-256. OpenID Connect's default algorithm.
    public static let a128CBCHS256 = Self(known: "A128CBC-HS256")
    /// AES CBC with a key of 256 bits, and HMAC with SHA-512.
    public static let a256CBCHS512 = Self(known: "A256CBC-HS512")

    /// All supported algorithms, the preferred algorithm first.
    public static let all: [Self] = [.a256GCM, .a128GCM, .a256CBCHS512, .a128CBCHS256]

    /// The number of bytes of the content key. For AES CBC, both halves count: the key of the HMAC and the key of AES.
    var keyLength: Int {
        switch self {
        case .a128GCM: 16
        case .a256CBCHS512: 64
        default: 32
        }
    }

    /// `true` for AES CBC with an HMAC. Decryption has to check the HMAC first.
    fileprivate var isCBC: Bool { self == .a128CBCHS256 || self == .a256CBCHS512 }

    /// The number of bytes of the initialization vector.
    var vectorLength: Int { self.isCBC ? 16 : 12 }

    /// The number of bytes of the authentication tag. For AES CBC, the tag is the left half of the HMAC.
    var tagLength: Int { self == .a256CBCHS512 ? 32 : 16 }
}

/// Encrypts and decrypts the content of a message with a content key. The cipher authenticates the content together
/// with additional data (RFC 7518, sections 5.2 and 5.3).
package struct ContentCipher {
    /// An encrypted content.
    package struct Sealed: Equatable {
        /// The encrypted bytes: as many as the content or, with AES CBC, up to 16 more.
        package var ciphertext: [UInt8]
        package var tag: [UInt8]

        package init(ciphertext: [UInt8], tag: [UInt8]) {
            self.ciphertext = ciphertext
            self.tag = tag
        }
    }

    private let encryption: ContentEncryption
    private let key: SymmetricKey
    /// The key of the HMAC, for AES CBC.
    private let tagKey: SymmetricKey

    /// Creates a cipher. Throws ``JOSEError`` `invalidKey` for a key of another length.
    package init(_ encryption: ContentEncryption, key: [UInt8]) throws(JOSEError) {
        guard key.count == encryption.keyLength else { throw JOSEError(.invalidKey, "a content key's length") }
        self.encryption = encryption
        let half = encryption.isCBC ? key.count / 2 : 0
        self.tagKey = SymmetricKey(data: key[..<half])
        self.key = SymmetricKey(data: key[half...])
    }

    /// Encrypts a content. Throws ``JOSEError`` `invalidKey` for a vector of another length.
    package func seal(_ plaintext: [UInt8], vector: [UInt8], beside: [UInt8]) throws(JOSEError) -> Sealed {
        do {
            guard self.encryption.isCBC else {
                let box = try AES.GCM.seal(
                    plaintext, using: self.key, nonce: AES.GCM.Nonce(data: vector), authenticating: beside)
                return Sealed(ciphertext: Array(box.ciphertext), tag: Array(box.tag))
            }
            let ciphertext = Array(try AES._CBC.encrypt(plaintext, using: self.key, iv: AES._CBC.IV(ivBytes: vector)))
            return Sealed(ciphertext: ciphertext, tag: self.tag(of: ciphertext, vector, beside))
        } catch {
            throw JOSEError(.invalidKey, "the content was not encrypted")
        }
    }

    /// Decrypts a content; `nil` if the tag does not belong to the rest. Before the comparison of the tag, the function
    /// decrypts nothing and looks at no padding.
    package func open(_ sealed: Sealed, vector: [UInt8], beside: [UInt8]) -> [UInt8]? {
        guard self.encryption.isCBC else {
            let box = try? AES.GCM.SealedBox(
                nonce: AES.GCM.Nonce(data: vector), ciphertext: sealed.ciphertext, tag: sealed.tag)
            return box.flatMap { try? AES.GCM.open($0, using: self.key, authenticating: beside) }.map { Array($0) }
        }
        guard constantTimeEqual(self.tag(of: sealed.ciphertext, vector, beside), sealed.tag),
            let vector = try? AES._CBC.IV(ivBytes: vector)
        else { return nil }
        return (try? AES._CBC.decrypt(sealed.ciphertext, using: self.key, iv: vector)).map { Array($0) }
    }

    /// Returns the left half of the HMAC (RFC 7518, section 5.2.2.1), over
    ///
    ///     beside | initialization vector | ciphertext | length of `beside` in bits, 8 bytes
    private func tag(of ciphertext: [UInt8], _ vector: [UInt8], _ beside: [UInt8]) -> [UInt8] {
        let bits = UInt64(beside.count) * 8
        let length = stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: bits >> UInt64($0)) }
        let message = beside + vector + ciphertext + length
        let whole: [UInt8] =
            self.encryption == .a256CBCHS512
            ? Array(HMAC<SHA512>.authenticationCode(for: message, using: self.tagKey))
            : Array(HMAC<SHA256>.authenticationCode(for: message, using: self.tagKey))
        return Array(whole.prefix(self.encryption.tagLength))
    }
}
