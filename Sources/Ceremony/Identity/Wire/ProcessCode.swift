import Crypto
public import JOSE
public import _Primitives

/// The content of a QR code or a link for a personalised identity: the server, the waiting process, and the secret that
/// claims the process. Every process that begins outside the app starts with such a code.
///
///     CODE    = JWS "~" base64url(secret, 32 bytes)
///     JWS     = {"typ":"identity-code+jwt","alg":"ES256","kid":…} . {"kind":…,"iss":…,"id":…,"cd":…,"exp":…}
///     claim   = HKDF-SHA256(secret, salt: none, info: "countersign identity claim/1", 32 bytes)
///     cd      = base64url(SHA-256(claim))
///
/// The server signs the JWS and has only the claim's hash. A phone may have made the secret, and then adds the secret
/// itself. No part of the code depends on a PIN. A changed letter either breaks the signature, or gives a secret that
/// does not fit `cd`. A phone therefore detects a change without asking a server.
public struct ProcessCode: Hashable, Sendable {
    /// The kind of the waiting process.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// The authentication of a person.
        case authentication
        /// The personalisation of an app.
        case activation
    }

    /// The kind of the waiting process.
    public let kind: Kind
    /// The server's identifier: its base address.
    public let server: String
    /// The server's name for the waiting process: a session or an activation.
    public let id: String
    /// The end of the time in which a phone can claim the process.
    public let expiresAt: Timestamp
    /// The secret from which the phone makes the claim and, for an activation, the key of the activation's PIN.
    public let secret: SecretBytes
    /// The text of the code.
    public let text: String

    /// The number of bytes of a secret.
    public static let secretBytes = 32
    /// The most letters of a code.
    public static let maximumLength = 1536
    private static let type = "identity-code+jwt"

    // MARK: Claims

    /// Returns the claim for a secret, which a phone shows to the server.
    public static func claim(of secret: SecretBytes) -> SecretBytes {
        secret.withBytes { secret in
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: SymmetricKey(data: secret), info: Array("countersign identity claim/1".utf8),
                outputByteCount: 32
            ).withUnsafeBytes { SecretBytes($0) }
        }
    }

    /// Returns the digest of a claim, which a server stores and finds the process by.
    public static func digest(ofClaim claim: SecretBytes) -> [UInt8] {
        claim.withBytes { Array(SHA256.hash(data: $0)) }
    }

    /// The claim that the phone shows to the server.
    public var claim: SecretBytes { Self.claim(of: self.secret) }

    // MARK: Making

    /// Returns the part of a code that the server signs.
    ///
    /// - Parameter claimDigest: ``digest(ofClaim:)``.
    /// - Throws: `JOSEError` if the key cannot sign.
    public static func signed(
        kind: Kind, server: String, id: String, claimDigest: [UInt8], expiresAt: Timestamp, by key: SigningKey
    ) throws(JOSEError) -> String {
        let payload: JSONObject = [
            "kind": .string(kind.rawValue), "iss": .string(server), "id": .string(id), "cd": .bytes(claimDigest),
            "exp": .integer(expiresAt.seconds),
        ]
        return try JWS.sign(JSON.object(payload).serialized, type: Self.type, with: key)
    }

    /// Returns the code that combines the server's signed part with the secret.
    public static func text(signed: String, secret: SecretBytes) -> String {
        signed + "~" + secret.withBytes { Base64URL.encode($0) }
    }

    /// Returns the link that opens an app with the text of a code. A browser that opens the link sends the text after
    /// `#` to no server.
    ///
    /// - Parameter server: The server's base address, without a slash at its end.
    public static func link(with text: String, at server: String) -> String {
        "\(server)\(OutOfBandPayload.linkPath)#\(text)"
    }

    // MARK: Reading

    /// Returns the server that a code names, before any verification. Use the server only to find the keys for the
    /// verification.
    ///
    /// Throws ``IdentityMessageError`` `malformed`.
    public static func uncheckedServer(of text: String) throws(IdentityMessageError) -> String {
        let parts = try Self.parts(text)
        guard let server = parts.token.uncheckedClaim("iss") else { throw IdentityMessageError(.malformed, "iss") }
        return server
    }

    /// Returns the name of the key with which a code claims to be signed, before any verification.
    ///
    /// Throws ``IdentityMessageError`` `malformed`.
    public static func uncheckedKeyID(of text: String) throws(IdentityMessageError) -> String? {
        try Self.parts(text).token.header.keyID
    }

    /// Reads and verifies a code. The caller checks the expiry, because the result depends on the clock.
    ///
    /// - Parameter keys: The signing keys of the server that the code names.
    ///
    /// Throws ``IdentityMessageError``: `malformed`; `unsupported` for an unknown kind; `wrongSignature`, also if the
    /// secret does not belong to the signed part.
    public init(parsing text: String, keys: JWKSet) throws(IdentityMessageError) {
        let parts = try Self.parts(text)
        guard parts.token.header.hasType(Self.type), parts.token.header.keyID != nil else {
            throw IdentityMessageError(.malformed, "typ")
        }
        let payload: [UInt8]
        do throws(JOSEError) {
            payload = try parts.token.verified(by: keys, allowing: [.es256]).payload
        } catch {
            throw IdentityMessageError(.wrongSignature, error.code.description)
        }
        let read = try IdentityMessageError.reading { () throws(JSONError) in
            guard case .object(let object) = try JSON(parsing: payload) else { throw JSONError(.wrongType, "payload") }
            return (
                kind: try object.requiredText("kind", 1...32), server: try object.requiredText("iss"),
                id: try object.requiredText("id", 1...64), digest: try object.requiredBytes("cd", 32...32),
                seconds: try object.requiredInteger("exp", as: Int64.self)
            )
        }
        guard let kind = Kind(exactly: read.kind) else { throw IdentityMessageError(.unsupported, "kind") }
        guard (0..<253_402_300_800).contains(read.seconds) else { throw IdentityMessageError(.malformed, "exp") }
        guard constantTimeEqual(Self.digest(ofClaim: Self.claim(of: parts.secret)), read.digest) else {
            throw IdentityMessageError(.wrongSignature, "the secret")
        }
        self.kind = kind
        self.server = read.server
        self.id = read.id
        self.expiresAt = Timestamp(seconds: read.seconds)
        self.secret = parts.secret
        self.text = text
    }

    private static func parts(_ text: String) throws(IdentityMessageError) -> (
        token: UnverifiedJWS, secret: SecretBytes
    ) {
        guard text.utf8.count <= Self.maximumLength else { throw IdentityMessageError(.malformed, "too long") }
        let parts = text.splitBytes(at: "~", maxSplits: 1)
        guard parts.count == 2, let secret = Base64URL.decode(parts[1]), secret.count == Self.secretBytes else {
            throw IdentityMessageError(.malformed, "secret")
        }
        do throws(JOSEError) {
            return (
                try UnverifiedJWS(
                    compact: String(parts[0]), limits: JOSELimits(compactLength: maximumLength, headerLength: 512)),
                SecretBytes(secret)
            )
        } catch {
            throw IdentityMessageError(.malformed, error.code.description)
        }
    }

    public static func == (left: Self, right: Self) -> Bool { left.text.hasSameBytes(as: right.text) }
    public func hash(into hasher: inout Hasher) { self.text.hashBytes(into: &hasher) }
}

extension ProcessCode: CustomStringConvertible, CustomReflectable {
    /// The kind and the server, without the secret.
    public var description: String { "ProcessCode(\(self.kind), \(self.server))" }
    public var customMirror: Mirror { Mirror(self, children: ["kind": self.kind, "server": self.server]) }
}
