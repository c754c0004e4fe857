import Crypto
public import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The public keys that the servers of an app may have (TLS pinning; RFC 7469).
///
/// A pin is the SHA-256 hash of a key's SubjectPublicKeyInfo in Base64 (RFC 7469, section 2.4). OpenSSL prints the pin of
/// a certificate:
///
/// ```sh
/// openssl x509 -in server.pem -pubkey -noout | openssl pkey -pubin -outform der |
///     openssl dgst -sha256 -binary | base64
/// ```
///
/// Only the key of the server's own certificate counts. The key of another certificate of the chain is no match, unlike
/// in RFC 7469, section 2.6. Pins add a check: a transport with pins still verifies the chain, the name and the time of
/// each certificate.
///
/// The pins apply to every server that the transport reaches. An app with several servers, or with a facet list at
/// another host, pins the keys of all these servers together.
public struct TLSPins: Hashable, Sendable {
    /// The maximum number of pins, the backup pins included.
    public static let maximumCount = 32

    /// The pins of the keys that the servers use now.
    public let pins: [String]
    /// The pins of keys that the operator keeps in reserve (RFC 7469, section 4.3). A server that changes to such a key
    /// is accepted too.
    public let backupPins: [String]
    /// The decoded pins of both lists.
    private let digests: [[UInt8]]

    /// Creates pins.
    ///
    /// Throws ``TLSPinsError``: `malformed` for a text that is not the Base64 form of 32 bytes, `noPin` and `noBackupPin`
    /// for an empty list, `repeatedPin` for a pin that occurs twice, and `tooManyPins` beyond ``maximumCount``.
    ///
    /// - Parameters:
    ///   - pins: The pins of the keys that the servers use now.
    ///   - backupPins: The pins of keys in reserve. At least one is required, because the app would lose its servers with
    ///     their only key.
    public init(_ pins: [String], backupPins: [String]) throws(TLSPinsError) {
        guard !pins.isEmpty else { throw TLSPinsError(.noPin, "no pin of a key in use") }
        guard !backupPins.isEmpty else { throw TLSPinsError(.noBackupPin, "no pin of a key in reserve") }
        let texts = pins + backupPins
        guard texts.count <= Self.maximumCount else {
            throw TLSPinsError(.tooManyPins, "more than \(Self.maximumCount) pins")
        }
        var digests: [[UInt8]] = []
        for text in texts {
            guard let digest = Self.digest(text) else {
                throw TLSPinsError(.malformed, "a pin is not the Base64 form of a SHA-256 hash")
            }
            guard !digests.contains(digest) else { throw TLSPinsError(.repeatedPin, "a pin occurs twice") }
            digests.append(digest)
        }
        self.pins = pins
        self.backupPins = backupPins
        self.digests = digests
    }

    /// Returns `true` if the key of a certificate is pinned. Meant for transports, which first verify the certificate.
    ///
    /// - Parameter certificate: The server's own certificate, DER (RFC 5280, section 4.1). A certificate that is not DER
    ///   has no pinned key.
    public func includeKey(ofCertificate certificate: [UInt8]) -> Bool {
        guard let key = DERElement.publicKeyInfo(ofCertificate: certificate) else { return false }
        return self.digests.contains(Array(SHA256.hash(data: key)))
    }

    /// Decodes a pin; `nil` for a text that is not the one Base64 form of 32 bytes.
    private static func digest(_ pin: String) -> [UInt8]? {
        guard pin.utf8.count == 44, let data = Data(base64Encoded: pin), data.count == SHA256.byteCount,
            data.base64EncodedString().hasSameBytes(as: pin)
        else { return nil }
        return Array(data)
    }
}

/// The reason why texts form no ``TLSPins``. Two errors are equal if their codes are equal.
public struct TLSPinsError: CodedError {
    /// The kind of the error. Each is a mistake in the app's configuration.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String { case malformed, noPin, noBackupPin, repeatedPin, tooManyPins }
        private let base: Base
        /// A text is not the Base64 form of 32 bytes.
        public static let malformed = Self(base: .malformed)
        /// No pin of a key in use is given.
        public static let noPin = Self(base: .noPin)
        /// No pin of a key in reserve is given.
        public static let noBackupPin = Self(base: .noBackupPin)
        /// A pin occurs twice. A key in use is no reserve for itself.
        public static let repeatedPin = Self(base: .repeatedPin)
        /// More pins than ``TLSPins/maximumCount`` are given.
        public static let tooManyPins = Self(base: .tooManyPins)
        public var description: String { self.base.rawValue }
    }

    /// The kind of the error.
    public let code: Code
    /// The reason for the log.
    public let reason: String

    init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }
}

/// An element of DER with one byte of tag and a definite length (X.690, sections 8.1 and 10.1).
private struct DERElement {
    /// The element with its tag and length.
    let whole: ArraySlice<UInt8>
    let content: ArraySlice<UInt8>

    private static let sequence: UInt8 = 0x30
    private static let integer: UInt8 = 0x02
    private static let version: UInt8 = 0xA0

    /// Takes the first element of some bytes; `nil` if the element has another tag or is no DER.
    private init?(_ tag: UInt8, from bytes: inout ArraySlice<UInt8>) {
        let head = bytes.prefix(2)
        guard head.count == 2, head.first == tag, var length = head.last.map(Int.init) else { return nil }
        var content = bytes.dropFirst(2)
        if length >= 0x80 {
            let octets = content.prefix(length - 0x80)
            // A length has as few octets as possible, and no certificate has more than three.
            guard (1...3).contains(octets.count), octets.count == length - 0x80, octets.first != 0 else { return nil }
            length = octets.reduce(0) { $0 << 8 | Int($1) }
            guard length >= 0x80 else { return nil }
            content = content.dropFirst(octets.count)
        }
        guard content.count >= length else { return nil }
        self.content = content.prefix(length)
        self.whole = bytes[bytes.startIndex..<self.content.endIndex]
        bytes = bytes[self.content.endIndex...]
    }

    /// Returns the SubjectPublicKeyInfo of a certificate (RFC 5280, section 4.1): the element after serial number,
    /// signature algorithm, issuer, validity and subject. `nil` for bytes that are no certificate.
    static func publicKeyInfo(ofCertificate bytes: [UInt8]) -> ArraySlice<UInt8>? {
        var rest = bytes[...]
        guard let certificate = Self(Self.sequence, from: &rest), rest.isEmpty else { return nil }
        var parts = certificate.content
        guard var fields = Self(Self.sequence, from: &parts)?.content else { return nil }
        // A certificate of version 1 does not name its version.
        if fields.first == Self.version { guard Self(Self.version, from: &fields) != nil else { return nil } }
        for tag in [Self.integer] + Array(repeating: Self.sequence, count: 4) {
            guard Self(tag, from: &fields) != nil else { return nil }
        }
        return Self(Self.sequence, from: &fields)?.whole
    }
}
