/// The name by which a client's certificate is known, among the names that an authority vouches for (RFC 8705, section
/// 2.1.2).
public struct ClientCertificateName: Sendable, Hashable {
    /// The kind of a name. The values are the metadata names without their `tls_client_auth_`.
    public enum Kind: String, Sendable, CaseIterable {
        /// The subject's distinguished name, as text (RFC 4514).
        case subject = "subject_dn"
        /// A host's name.
        case dns = "san_dns"
        /// An address such as `https://…` or `urn:…`.
        case uri = "san_uri"
        /// A network address.
        case ip = "san_ip"
        /// A mailbox.
        case email = "san_email"
    }

    /// The kind of the name.
    public let kind: Kind
    /// The name. Names are compared by bytes; a host and a mailbox without regard to case.
    public let value: String

    /// Makes a name of that kind.
    public init(_ kind: Kind, _ value: String) {
        self.kind = kind
        self.value = value
    }

    /// Reads `KIND:NAME`, as ``text`` writes it; `nil` for an unknown kind.
    public init?(_ text: String) {
        guard let kind = Kind.allCases.first(where: { text.utf8.starts(with: "\($0.rawValue):".utf8) }) else {
            return nil
        }
        self.init(kind, String(decoding: text.utf8.dropFirst(kind.rawValue.utf8.count + 1), as: UTF8.self))
    }

    /// The name in one text: `san_dns:client.bank.example`.
    public var text: String { "\(self.kind.rawValue):\(self.value)" }
}
