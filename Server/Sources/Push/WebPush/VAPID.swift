public import Crypto
import JOSE
import _Primitives

/// The identification of this server to the push services that devices name (VAPID, RFC 8292).
public struct VAPID: Sendable {
    private let key: SigningKey
    private let publicKey: [UInt8]
    private let contact: String

    /// Makes the identification.
    ///
    /// - Parameters:
    ///   - key: The server's key. Subscriptions of Web Push are bound to its public part.
    ///   - contact: The operator's address for push services: `mailto:` or `https:`.
    /// - Throws: `JOSEError` `invalidKey`.
    public init(key: P256.Signing.PrivateKey, contact: String) throws {
        self.key = try SigningKey(kept: SecretBytes(key.rawRepresentation), algorithm: .es256, keyID: nil)
        self.publicKey = Array(key.publicKey.x963Representation)
        self.contact = contact
    }

    /// The server's public key in the form that apps give to a push service (`applicationServerKey`).
    public var applicationServerKey: String { Base64URL.encode(self.publicKey) }

    /// Returns the field `Authorization` for one push service. The field is good for no other service, and until `end`
    /// (RFC 8292, section 2). Throws `JOSEError`.
    func authorization(for origin: String, until end: Timestamp) throws -> String {
        let token = try JWS.sign(
            JSON.object([
                "aud": .string(origin), "exp": .integer(end.seconds), "sub": .string(self.contact),
            ]).serialized, type: "JWT", with: self.key)
        // Without the space that RFC 9110 allows: readers in use split the field at spaces.
        return "vapid t=\(token),k=\(self.applicationServerKey)"
    }
}
