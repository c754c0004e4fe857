import Records
import Sealing
package import _Primitives

/// A refresh token: the name of its family, and a secret.
///
/// ```
///  0              16                              48              64
///  ├─ grant ───────┼─ secret ──────────────────────┼─ seal ────────┤   as base64url: 86 characters
/// ```
///
/// The seal is this provider's. A family keeps the digests of its last three tokens. For any other token the seal shows
/// that this provider issued it. So a past token ends its family, and an invented token ends nothing, and costs no look
/// at the store.
///
/// The secret of the next token is an HMAC-SHA256 of this token's secret and of random bytes that the family keeps (the
/// step). A thief of the store without the server's key can compute no token. Every node computes the same token.
package struct RefreshToken: Sendable {
    private static let grantBytes = 16
    private static let secretBytes = 32
    private static let sealBytes = 16

    /// The grant.
    package let grant: String
    /// The text for the client. Not for a log.
    package let text: String
    private let secret: [UInt8]
    /// SHA-256 of the secret.
    package let digest: [UInt8]

    /// Creates a new token of a grant, whose identifier has 128 bits.
    ///
    /// Cost: one HMAC, one hash.
    package init(grant: String, keys: SigningKeys, random: RandomSource) throws {
        try self.init(grant: grant, secret: random.bytes(Self.secretBytes), keys: keys)
    }

    /// Creates the token of a grant with a secret of 32 bytes, which must be unguessable.
    ///
    /// Cost: one HMAC, one hash.
    init(grant: String, secret: [UInt8], keys: SigningKeys) throws {
        guard let name = Base64URL.decode(grant), name.count == Self.grantBytes, secret.count == Self.secretBytes else {
            throw StoreError(.corrupt, "a grant's identifier")
        }
        self.grant = grant
        self.secret = secret
        self.text = Base64URL.encode(name + secret + keys.seal(ofRefreshToken: name + secret))
        self.digest = Sealing.digest(ofSecret: secret)
    }

    /// Reads a token; `nil` if this provider never made the token.
    ///
    /// Cost: one HMAC, one hash.
    package init?(_ text: String, keys: SigningKeys) {
        let (name, secret) = (Self.grantBytes, Self.secretBytes)
        guard text.utf8.count == (name + secret + Self.sealBytes) * 4 / 3 + 1, let bytes = Base64URL.decode(text),
            constantTimeEqual(
                keys.seal(ofRefreshToken: Array(bytes.prefix(name + secret))), Array(bytes.dropFirst(name + secret)))
        else { return nil }
        self.grant = Base64URL.encode(Array(bytes.prefix(name)))
        self.text = text
        self.secret = Array(bytes.dropFirst(name).prefix(secret))
        self.digest = Sealing.digest(ofSecret: self.secret)
    }

    /// Returns the token that follows this token by a step of random bytes: the same token for the same step, on every
    /// node.
    ///
    /// Cost: two HMACs, one hash.
    func successor(by step: [UInt8], keys: SigningKeys) throws -> Self {
        try Self(
            grant: self.grant, secret: keys.secret(ofRefreshTokenAfter: self.secret, step: step), keys: keys)
    }

    // MARK: As the app sign-in service has it

    /// The third part of a token: the version of its form.
    private static let version = "V0"

    /// The token in three parts, so that an app can keep two of the parts separately: `NAME.SECRET.V0`. The first part,
    /// the name and the seal, is worth nothing without the second. The second is short enough for a store that a
    /// fingerprint guards.
    package var inParts: String {
        let bytes = Base64URL.decode(self.text) ?? []
        let rest = bytes.prefix(Self.grantBytes) + bytes.suffix(Self.sealBytes)
        return "\(Base64URL.encode(Array(rest))).\(Base64URL.encode(self.secret)).\(Self.version)"
    }

    /// Reads ``inParts``; `nil` if this provider never made the token.
    ///
    /// Cost: one HMAC, one hash.
    package init?(inParts text: String, keys: SigningKeys) {
        let parts = text.splitBytes(at: ".", maxSplits: 3)
        guard parts.count == 3, parts[2].hasSameBytes(as: Self.version),
            parts.allSatisfy({ $0.utf8.count <= Self.secretBytes * 2 }),
            let rest = Base64URL.decode(String(parts[0])), rest.count == Self.grantBytes + Self.sealBytes,
            let secret = Base64URL.decode(String(parts[1])), secret.count == Self.secretBytes
        else { return nil }
        let whole = Array(rest.prefix(Self.grantBytes)) + secret + Array(rest.suffix(Self.sealBytes))
        self.init(Base64URL.encode(whole), keys: keys)
    }
}
