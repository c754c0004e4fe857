public import _Primitives

/// The address that a client uses as its `client_id`. The client publishes its metadata at the address
/// (draft-ietf-oauth-client-id-metadata-document, section 3).
///
/// The address is `https`, has a path, and has no user, query or fragment. The draft advises against a query, and this
/// server accepts none. The address has the spelling of ``TargetURI``: without dot segments, with the host in lower
/// case, without the default port. A client therefore has exactly one `client_id`. Two addresses are equal if their
/// bytes are equal.
public struct ClientIDAddress: Hashable, Sendable, CustomStringConvertible {
    /// The address, as the client sends the text.
    public let text: String
    /// The host, with the port if the address has a port: `app.example`, `app.example:8443`. Pages show this text to
    /// people.
    public let host: String

    /// Creates an address of at most 1024 characters; `nil` for every other text. The server looks up no other
    /// `client_id`.
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

/// The metadata that a client publishes at its ``ClientIDAddress`` (draft-ietf-oauth-client-id-metadata-document,
/// section 4).
public struct ClientIDDocument: Sendable {
    /// The most bytes of a document: 5 KiB (section 6.6 of the draft).
    public static let longest = 5 * 1024

    /// The client's metadata (RFC 7591, section 2). `token_endpoint_auth_method` is always present: `none` or
    /// `private_key_jwt`.
    public let metadata: JSONObject

    /// Reads the document at an address.
    ///
    /// The initializer refuses a document that is too long, is not a JSON object, or names a `client_id` that differs
    /// by a single byte. It also refuses a secret and a method that needs a secret, because server and client have no
    /// secret in common. A document without a method means `none`, because the default of RFC 7591 needs a secret. A
    /// member that is null counts as absent.
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
