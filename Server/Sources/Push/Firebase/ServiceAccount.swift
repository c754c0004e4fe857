import CryptoExtras
import JOSE
import _Primitives

/// A service account of Google. The account has an identity, a key, and an address that exchanges signed statements for
/// access tokens.
public struct ServiceAccount: Sendable {
    /// The audience of statements. Google demands this address, whatever address takes the statements.
    static let audience = "https://oauth2.googleapis.com/token"
    /// The permission that a statement asks for.
    static let scope = "https://www.googleapis.com/auth/firebase.messaging"

    /// The project whose apps get messages.
    public let project: String
    /// The address that gives access tokens (`token_uri`).
    public let tokenAddress: String
    private let email: String
    private let key: SigningKey

    /// Reads the file that Google makes (JSON). The key's bytes are not kept beside the key.
    ///
    /// Throws ``ServiceAccountError`` with the member that is missing or wrong.
    public init(file: [UInt8]) throws(ServiceAccountError) {
        guard case .object(let object)? = try? JSON(parsing: file) else {
            throw ServiceAccountError("the file is no JSON object")
        }
        func member(_ name: String) throws(ServiceAccountError) -> String {
            guard let text = (try? object.string(name)).flatMap({ $0 }), !text.isEmpty else {
                throw ServiceAccountError("\(name) is missing")
            }
            return text
        }
        guard try member("type").hasSameBytes(as: "service_account") else {
            throw ServiceAccountError("type is not service_account")
        }
        self.project = try member("project_id")
        guard self.project.utf8.allSatisfy(Self.isLetterOfProject) else {
            throw ServiceAccountError("project_id has letters that no project has")
        }
        self.email = try member("client_email")
        self.tokenAddress = try member("token_uri")
        guard self.tokenAddress.hasPrefix("https://") else { throw ServiceAccountError("token_uri is not https") }
        guard let key = try? _RSA.Signing.PrivateKey(pemRepresentation: try member("private_key")),
            let kept = try? SigningKey(
                kept: SecretBytes(key.derRepresentation), algorithm: .rs256, keyID: try member("private_key_id"))
        else { throw ServiceAccountError("private_key and private_key_id are no key") }
        self.key = kept
    }

    /// Returns the statement for an access token (RFC 7523, section 2.1), made at `now` for `lifetime`.
    func statement(at now: Timestamp, lifetime: Duration) throws -> String {
        try JWS.sign(
            JSON.object([
                "iss": .string(self.email), "scope": .string(Self.scope), "aud": .string(Self.audience),
                "iat": .integer(now.seconds), "exp": .integer((now + lifetime).seconds),
            ]).serialized, type: "JWT", with: self.key)
    }

    private static func isLetterOfProject(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
            UInt8(ascii: "."), UInt8(ascii: ":"):
            true
        default: false
        }
    }
}

/// The reason why a file is no service account, in words that name the member and hold no value.
public struct ServiceAccountError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The reason.
    public let reason: String

    init(_ reason: String) { self.reason = reason }

    public var description: String { self.reason }
}
