public import JOSE
public import _Primitives

/// What a server that manages identities says of an agreement: which document was agreed to, when, and with which factors.
/// A JWT of the type `identity-consent+jwt`, signed with ES256 by one of the server's keys
/// (``ManagerKeySet/signingKeys``).
///
/// It stands in the place of a PIN's signature, which the server has judged and never keeps.
public struct ConsentStatement: Hashable, Sendable {
    /// The session.
    public var session: String
    /// Whose agreement it is, by the server's name for the account.
    public var account: String
    /// SHA-256 of the document, byte by byte as it was shown and signed (``SessionDocument/bytes``).
    public var documentHash: [UInt8]
    /// Every factor that was judged and was right, by its type's name.
    public var factors: [String]
    /// When they were accepted.
    public var agreedAt: Timestamp

    private static let type = "identity-consent+jwt"

    /// A statement of these parts.
    public init(session: String, account: String, documentHash: [UInt8], factors: [String], agreedAt: Timestamp) {
        self.session = session
        self.account = account
        self.documentHash = documentHash
        self.factors = factors
        self.agreedAt = agreedAt
    }

    /// Signs it.
    ///
    /// - Throws: `JOSEError` where the key cannot sign.
    public func signed(server: String, at now: Timestamp, by key: SigningKey) throws(JOSEError) -> String {
        let payload: JSONObject = [
            "iss": .string(server), "iat": .integer(now.seconds), "session": .string(self.session),
            "account": .string(self.account), "document": .string(Base64URL.encode(self.documentHash)),
            "factors": .array(self.factors.map(JSON.string)), "agreed": .moment(self.agreedAt),
        ]
        return try JWS.sign(JSON.object(payload).serialized, type: Self.type, with: key)
    }

    /// Reads a statement of a server.
    ///
    /// Throws ``IdentityMessageError``: `malformed`, `wrongSignature`, `wrongReceiver` for one of another server.
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
