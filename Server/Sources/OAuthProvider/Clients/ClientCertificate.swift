public import JOSE
import OAuth
public import Store
public import _Primitives

/// The certificate that a client has shown when its connection began, and proved the key of (RFC 8705).
///
/// What reads certificates is above this room: it says here what stands in one.
public struct ClientCertificate: Sendable {
    /// SHA-256 of the certificate as base64url (`x5t#S256`, section 3.1).
    public let thumbprint: String
    /// The names that it has, the subject's first.
    public let names: [ClientCertificateName]
    /// Its key; `nil` where that is of a kind that no client can register.
    public let key: JWK?
    /// Before that it is not valid.
    public let notBefore: Timestamp
    /// After that it is not valid any more.
    public let notAfter: Timestamp
    /// Says why none of the operator's authorities vouches for it now; `nil` where one does.
    public let distrust: @Sendable () async -> String?

    /// A certificate of these contents.
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

    /// Whether it has a name. Hosts and mailboxes have no case (RFC 5280, section 7; RFC 4343).
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

/// The connection that a request of a client came over.
public enum ClientConnection: Sendable {
    /// One that asks for no certificate.
    case usual
    /// One of `mtls_endpoint_aliases` (section 5), with the certificate that the client has shown, if it has any.
    case mutual(ClientCertificate?)

    /// The certificate.
    var certificate: ClientCertificate? {
        guard case .mutual(let certificate) = self else { return nil }
        return certificate
    }
}

extension OpenIDProvider {
    /// Where the addresses begin that a request came to by a connection: what proofs of keys name there.
    func origin(of connection: ClientConnection) -> String {
        switch connection {
        case .usual: self.issuer
        case .mutual: self.configuration.mutualTLS?.origin ?? self.issuer
        }
    }

    /// Refuses a certificate out of its time, whatever it is shown for.
    ///
    /// Throws `OAuthError` with `code`.
    func checkTime(of connection: ClientConnection, else code: OAuthError.Code, _ message: String) throws {
        guard let certificate = connection.certificate else { return }
        let now = self.time.now()
        guard certificate.notBefore <= now, now <= certificate.notAfter else {
            throw OAuthError(
                code, message,
                detail: "its certificate is valid from \(certificate.notBefore) to \(certificate.notAfter)")
        }
    }
}
