public import _Primitives

/// The address that a client has for its `client_id`, and at which the client's metadata stand
/// (draft-ietf-oauth-client-id-metadata-document, section 3).
///
/// The address is `https`, has a path, and has neither a user, a query nor a fragment. The draft advises against a query;
/// this server takes none. The address is written in the spelling of ``TargetURI``: without dot segments, with the host in
/// lower case, without the default port. So one client has one `client_id`. Two are the same when their bytes are.
public struct ClientIDAddress: Hashable, Sendable, CustomStringConvertible {
    /// The address, as the client sends the text.
    public let text: String
    /// Host and, where the address names one, port: `app.example`, `app.example:8443`. People are shown this.
    public let host: String

    /// Reads an address of at most 1024 characters. `nil` for every other text: no such `client_id` is looked up.
    public init?(_ text: String) {
        let scheme = "https://"
        guard text.utf8.count <= 1024, text.hasBytes(atStart: scheme), let target = TargetURI(text),
            target.text.hasSameBytes(as: text), target.origin.utf8.count < text.utf8.count
        else { return nil }
        self.text = text
        self.host = String(target.origin.dropFirst(scheme.count))
    }

    public var description: String { self.text }
}

/// The metadata that a client keeps at its ``ClientIDAddress``
/// (draft-ietf-oauth-client-id-metadata-document, section 4).
public struct ClientIDDocument: Sendable {
    /// The bytes that a document has at most: 5 KiB (section 6.6 of the draft).
    public static let longest = 5 * 1024

    /// The client's metadata (RFC 7591, section 2). `token_endpoint_auth_method` always stands there: `none` or
    /// `private_key_jwt`.
    public let metadata: JSONObject

    /// Reads what stands at an address.
    ///
    /// The document is refused where it is too long, is no JSON object, names another `client_id` by a single byte, has a
    /// secret, or asks to authenticate by a secret: server and client have none in common. A document that names no
    /// method means `none`, as the default of RFC 7591 is a secret. A member that is null counts as absent.
    /// - Throws: ``OAuthError`` `invalid_client_metadata`.
    public init(_ bytes: [UInt8], at address: ClientIDAddress) throws(OAuthError) {
        guard bytes.count <= Self.longest else { throw Self.refusal("has more than \(Self.longest) bytes") }
        guard case .object(var members)? = try? JSON(parsing: bytes, leavesOutNull: true) else {
            throw Self.refusal("is no JSON object")
        }
        guard case .string(let named)? = members["client_id"], named.hasSameBytes(as: address.text) else {
            throw Self.refusal("names another client_id than its address")
        }
        for name in ["client_secret", "client_secret_expires_at"] where members[name] != nil {
            throw Self.refusal("has the member \(name)")
        }
        switch members["token_endpoint_auth_method"] {
        case nil: members["token_endpoint_auth_method"] = .string("none")
        case .string(let method)? where ["none", "private_key_jwt"].containsBytes(of: method): break
        default: throw Self.refusal("asks to authenticate otherwise than by none or private_key_jwt")
        }
        self.metadata = members
    }

    private static func refusal(_ reason: String) -> OAuthError {
        OAuthError(.invalidClientMetadata, "The client's metadata document \(reason).")
    }
}
