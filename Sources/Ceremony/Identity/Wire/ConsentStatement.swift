public import JOSE
public import _Primitives

/// A statement of an identity server about an agreement: the document, the moment, and the factors. The statement is a
/// JWT of the type `identity-consent+jwt`, signed with ES256 by one of the server's keys
/// (``ManagerKeySet/signingKeys``).
///
/// The statement replaces the signature of a PIN, because the server judges this signature and never stores it.
public struct ConsentStatement: Hashable, Sendable {
    /// The session.
    public var session: String
    /// The account that agreed, by the server's name for the account.
    public var account: String
    /// SHA-256 of the document, byte by byte as shown and signed (``SessionDocument/bytes``).
    public var documentHash: [UInt8]
    /// Every factor that was judged right, by the name of its type.
    public var factors: [String]
    /// The moment at which the server accepted the factors.
    public var agreedAt: Timestamp

    private static let type = "identity-consent+jwt"

    /// Creates a statement.
    public init(session: String, account: String, documentHash: [UInt8], factors: [String], agreedAt: Timestamp) {
        self.session = session
        self.account = account
        self.documentHash = documentHash
        self.factors = factors
        self.agreedAt = agreedAt
    }

    /// Signs the statement.
    ///
    /// - Throws: `JOSEError` if the key cannot sign.
    public func signed(server: String, at now: Timestamp, by key: SigningKey) throws(JOSEError) -> String {
        let payload: JSONObject = [
            "iss": .string(server), "iat": .integer(now.seconds), "session": .string(self.session),
            "account": .string(self.account), "document": .string(Base64URL.encode(self.documentHash)),
            "factors": .array(self.factors.map(JSON.string)), "agreed": .moment(self.agreedAt),
        ]
        return try JWS.sign(JSON.object(payload).serialized, type: Self.type, with: key)
    }

    /// Reads and verifies a statement of a server.
    ///
    /// Throws ``IdentityMessageError``: `malformed`, `wrongSignature`, `wrongReceiver` for a statement of another
    /// server.
    public init(verifying compact: String, server: String, keys: JWKSet) throws(IdentityMessageError) {
        let payload = try ManagerResponse.payload(of: compact, type: Self.type, keys: keys)
        let (issuer, statement) = try IdentityMessageError.reading { () throws(JSONError) in
            guard case .object(let object) = try JSON(parsing: payload, limits: IdentityMessageError.limits),
                let hash = Base64URL.decode(try object.requiredString("document"))
            else { throw JSONError(.wrongType, "payload") }
            return (
                try object.requiredString("iss"),
                Self(
                    session: try object.requiredString("session"), account: try object.requiredString("account"),
                    documentHash: hash, factors: try object.strings("factors") ?? [],
                    agreedAt: try object.requiredMoment("agreed"))
            )
        }
        guard issuer.hasSameBytes(as: server) else { throw IdentityMessageError(.wrongReceiver, "iss") }
        self = statement
    }
}
