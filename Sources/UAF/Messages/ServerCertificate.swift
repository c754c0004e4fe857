import Crypto
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension ChannelBinding {
    /// Creates the binding of an answer to the TLS channel of a server: the server's certificate, and a hash of the
    /// certificate (§2.1, RFC 5929 `tls-server-end-point`).
    ///
    /// The hash function is the function of the certificate's signature, with SHA-256 in place of MD5 and SHA-1. If the
    /// signature has no hash function of its own or an unknown function, `serverEndPoint` is missing. Bytes that are
    /// not a certificate, or exceed 16 KiB, give an empty binding.
    public init(serverCertificate der: [UInt8]) {
        self.init()
        guard der.count <= 16_384, let algorithm = DERElement.signatureAlgorithm(ofCertificate: der) else { return }
        self.tlsServerCertificate = Base64URL.encode(der)
        switch CertificateHash(algorithm) {
        case .sha256: self.serverEndPoint = Base64URL.encode(Array(SHA256.hash(data: der)))
        case .sha384: self.serverEndPoint = Base64URL.encode(Array(SHA384.hash(data: der)))
        case .sha512: self.serverEndPoint = Base64URL.encode(Array(SHA512.hash(data: der)))
        case nil: break
        }
    }
}

/// The hash function in a certificate's signature.
private enum CertificateHash {
    case sha256, sha384, sha512

    /// Reads the hash function from the contents of an AlgorithmIdentifier: an object identifier and its parameters.
    init?(_ algorithm: [DERElement]) {
        guard let identifier = algorithm.first, identifier.tag == 0x06 else { return nil }
        switch Array(identifier.content) {
        // RSA with MD5, SHA-1, SHA-256; ECDSA with SHA-1, SHA-256
        case Self.pkcs1 + [4], Self.pkcs1 + [5], Self.pkcs1 + [11], Self.ecdsa + [1], Self.ecdsa + [3, 2]:
            self = .sha256
        case Self.pkcs1 + [12], Self.ecdsa + [3, 3]: self = .sha384
        case Self.pkcs1 + [13], Self.ecdsa + [3, 4]: self = .sha512
        case Self.pkcs1 + [10]: self.init(pssParameters: algorithm.dropFirst().first)
        default: return nil
        }
    }

    /// Reads the hash function of RSASSA-PSS-params (RFC 4055). The hash function is in `[0]`, and is SHA-1 if `[0]` is
    /// missing.
    private init?(pssParameters: DERElement?) {
        guard let parameters = pssParameters?.children(0x30) else { return nil }
        guard let hash = parameters.first(where: { $0.tag == 0xA0 }) else {
            self = .sha256
            return
        }
        guard let identifier = hash.children(0xA0)?.first?.children(0x30)?.first, identifier.tag == 0x06 else {
            return nil
        }
        switch Array(identifier.content) {
        case [0x2B, 0x0E, 3, 2, 26], Self.nist + [1]: self = .sha256
        case Self.nist + [2]: self = .sha384
        case Self.nist + [3]: self = .sha512
        default: return nil
        }
    }

    private static let pkcs1: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 1]
    private static let ecdsa: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 4]
    private static let nist: [UInt8] = [0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2]
}

/// An element of DER, with just the features that the algorithm of a certificate's signature needs.
private struct DERElement {
    let tag: UInt8
    let content: ArraySlice<UInt8>

    /// Returns the contents of `signatureAlgorithm` in Certificate ::= SEQUENCE { tbsCertificate, signatureAlgorithm,
    /// signature }.
    static func signatureAlgorithm(ofCertificate bytes: [UInt8]) -> [DERElement]? {
        guard let roots = Self.elements(bytes[...]), roots.count == 1, let parts = roots[0].children(0x30),
            parts.map(\.tag) == [0x30, 0x30, 0x03]
        else { return nil }
        return parts[1].children(0x30)
    }

    /// Returns the elements inside this element; `nil` if this element has another tag.
    func children(_ tag: UInt8) -> [DERElement]? { self.tag == tag ? Self.elements(self.content) : nil }

    private static func elements(_ bytes: ArraySlice<UInt8>) -> [DERElement]? {
        var elements: [DERElement] = []
        var rest = bytes
        while let tag = rest.popFirst() {
            guard elements.count < 16, tag & 0x1F != 0x1F, var length = rest.popFirst().map(Int.init) else {
                return nil
            }
            if length >= 0x80 {
                let count = length & 0x7F
                guard (1...3).contains(count), rest.count >= count else { return nil }
                length = rest.prefix(count).reduce(0) { $0 << 8 | Int($1) }
                rest = rest.dropFirst(count)
            }
            guard rest.count >= length else { return nil }
            elements.append(DERElement(tag: tag, content: rest.prefix(length)))
            rest = rest.dropFirst(length)
        }
        return elements
    }
}
