import Crypto
import CryptoExtras
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// How the content of a message is encrypted (RFC 7518, section 5.1).
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
    /// AES CBC with a key of 128 bits, and HMAC with SHA-256. What OpenID Connect means where nothing is named.
    public static let a128CBCHS256 = Self(known: "A128CBC-HS256")
    /// AES CBC with a key of 256 bits, and HMAC with SHA-512.
    public static let a256CBCHS512 = Self(known: "A256CBC-HS512")

    /// All that there are here, the preferred one first.
    public static let all: [Self] = [.a256GCM, .a128GCM, .a256CBCHS512, .a128CBCHS256]

    /// Bytes of the content key: of AES CBC both halves, that of the HMAC and that of AES.
    var keyLength: Int {
        switch self {
        case .a128GCM: 16
        case .a256CBCHS512: 64
        default: 32
        }
    }

    /// Whether it is AES CBC with an HMAC, of which decryption has to check the HMAC first.
    fileprivate var isCBC: Bool { self == .a128CBCHS256 || self == .a256CBCHS512 }

    /// Bytes of the initialization vector.
    var vectorLength: Int { self.isCBC ? 16 : 12 }

    /// Bytes of the authentication tag: of AES CBC the left half of the HMAC.
    var tagLength: Int { self == .a256CBCHS512 ? 32 : 16 }
}

/// Encrypts and decrypts the content of a message with a content key, and authenticates it together with what stands beside
/// it (RFC 7518, sections 5.2 and 5.3).
package struct ContentCipher {
    /// What a content has become.
    package struct Sealed: Equatable {
        /// As many bytes as the content or, with AES CBC, up to 16 more.
        package var ciphertext: [UInt8]
        package var tag: [UInt8]

        package init(ciphertext: [UInt8], tag: [UInt8]) {
            self.ciphertext = ciphertext
            self.tag = tag
        }
    }

    private let encryption: ContentEncryption
    private let key: SymmetricKey
    /// Of AES CBC the key of the HMAC.
    private let tagKey: SymmetricKey

    /// Throws ``JOSEError`` `invalidKey` for a key of another length.
    package init(_ encryption: ContentEncryption, key: [UInt8]) throws(JOSEError) {
        guard key.count == encryption.keyLength else { throw JOSEError(.invalidKey, "a content key's length") }
        self.encryption = encryption
        let half = encryption.isCBC ? key.count / 2 : 0
        self.tagKey = SymmetricKey(data: key[..<half])
        self.key = SymmetricKey(data: key[half...])
    }

    /// Encrypts. Throws ``JOSEError`` `invalidKey` where the vector has another length.
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

    /// Decrypts; `nil` where the tag is not that of all the rest. Nothing is decrypted, and no padding looked at, before the
    /// tag was compared.
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

    /// The left half of the HMAC (RFC 7518, section 5.2.2.1), over
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
