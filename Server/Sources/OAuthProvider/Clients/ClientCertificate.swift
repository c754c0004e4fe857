public import JOSE
import OAuth
public import Records
public import _Primitives

/// The certificate that a client showed at the beginning of its connection, with proof of the certificate's key (RFC
/// 8705).
///
/// The code that reads certificates is in another module, which fills in the contents here.
public struct ClientCertificate: Sendable {
    /// SHA-256 of the certificate as base64url (`x5t#S256`, section 3.1).
    public let thumbprint: String
    /// The certificate's names, the subject's first.
    public let names: [ClientCertificateName]
    /// The certificate's key; `nil` if no client can register a key of this kind.
    public let key: JWK?
    /// The start of the certificate's validity.
    public let notBefore: Timestamp
    /// The end of the certificate's validity.
    public let notAfter: Timestamp
    /// Returns the reason why none of the operator's authorities vouches for the certificate now; `nil` if an authority
    /// does.
    public let distrust: @Sendable () async -> String?

    /// Creates a certificate of these contents.
    public init(
        thumbprint: String, names: [ClientCertificateName], key: JWK?, notBefore: Timestamp, notAfter: Timestamp,
        distrust: @escaping @Sendable () async -> String?
    ) {
        self.thumbprint = thumbprint
        self.names = names
        self.key = key
        self.notBefore = notBefore
        self.notAfter = notAfter
        self.distrust = distrust
    }

    /// `true` if the certificate has the name. Hosts and mailboxes have no case (RFC 5280, section 7; RFC 4343).
    func has(_ name: ClientCertificateName) -> Bool {
        func folded(_ name: ClientCertificateName) -> [UInt8] {
            switch name.kind {
            case .dns, .email:
                name.value.utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
            case .subject, .uri, .ip: Array(name.value.utf8)
            }
        }
        return self.names.contains { $0.kind == name.kind && folded($0) == folded(name) }
    }
}

/// A listener that asks clients for their certificates (RFC 8705).
public struct CertificateListener: Sendable {
    /// The start of the listener's addresses (`mtls_endpoint_aliases`), without a slash at the end.
    public var origin: String
    /// `true` if certificates of trusted authorities count (`tls_client_auth`).
    public var hasAuthorities: Bool

    /// Creates the description of a listener at that address.
    public init(origin: String, hasAuthorities: Bool) {
        self.origin = origin
        self.hasAuthorities = hasAuthorities
    }
}

/// The connection of a client's request.
public enum ClientConnection: Sendable {
    /// A connection without a request for a certificate.
    case usual
    /// A connection to `mtls_endpoint_aliases` (section 5), with the client's certificate, if any.
    case mutual(ClientCertificate?)

    /// The certificate of the connection; `nil` for none.
    var certificate: ClientCertificate? {
        guard case .mutual(let certificate) = self else { return nil }
        return certificate
    }
}
