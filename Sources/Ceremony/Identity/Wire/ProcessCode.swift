import Crypto
public import JOSE
public import _Primitives

/// What a QR code or a link tells a phone of a personalised identity: at which server something waits for it, and the
/// secret that it is claimed with. The seed of every process that begins outside the app.
///
///     CODE    = JWS "~" base64url(secret, 32 bytes)
///     JWS     = {"typ":"identity-code+jwt","alg":"ES256","kid":…} . {"kind":…,"iss":…,"id":…,"cd":…,"exp":…}
///     claim   = HKDF-SHA256(secret, salt: none, info: "countersign identity claim/1", 32 bytes)
///     cd      = base64url(SHA-256(claim))
///
/// The server signs what it says and has only the claim's hash; the secret may have been made by a phone, which adds it.
/// Nothing in it was made with a PIN. Whoever changes a letter has either broken the signature or a secret that does
/// not fit `cd`, so that a phone finds it out without asking anybody.
public struct ProcessCode: Hashable, Sendable {
    /// What waits.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// A person is to authenticate.
        case authentication
        /// An app is to be personalised.
        case activation
    }

    /// What waits.
    public let kind: Kind
    /// The server's identifier: its base address.
    public let server: String
    /// The server's name for what waits: a session or an activation.
    public let id: String
    /// Until when it can be claimed.
    public let expiresAt: Timestamp
    /// What the claim and, for an activation, the key of the activation's PIN are made of.
    public let secret: SecretBytes
    /// The text of the code.
    public let text: String

    /// The bytes of a secret.
    public static let secretBytes = 32
    /// The most letters of a code.
    public static let maximumLength = 1536
    private static let type = "identity-code+jwt"

    // MARK: Claims

    /// What a phone shows to the server for a secret.
    public static func claim(of secret: SecretBytes) -> SecretBytes {
        secret.withBytes { secret in
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: SymmetricKey(data: secret), info: Array("countersign identity claim/1".utf8),
                outputByteCount: 32
            ).withUnsafeBytes { SecretBytes($0) }
        }
    }

    /// What a server keeps of a claim, and finds it by.
    public static func digest(ofClaim claim: SecretBytes) -> [UInt8] {
        claim.withBytes { Array(SHA256.hash(data: $0)) }
    }

    /// What the phone shows to the server.
    public var claim: SecretBytes { Self.claim(of: self.secret) }

    // MARK: Making

    /// The part that the server signs.
    ///
    /// - Parameter claimDigest: ``digest(ofClaim:)``.
    /// - Throws: `JOSEError` where the key cannot sign.
    public static func signed(
        kind: Kind, server: String, id: String, claimDigest: [UInt8], expiresAt: Timestamp, by key: SigningKey
    ) throws(JOSEError) -> String {
        let payload: JSONObject = [
            "kind": .string(kind.rawValue), "iss": .string(server), "id": .string(id), "cd": .bytes(claimDigest),
            "exp": .integer(expiresAt.seconds),
        ]
        return try JWS.sign(JSON.object(payload).serialized, type: Self.type, with: key)
    }

    /// The code of what a server has signed and the secret that belongs to it.
    public static func text(signed: String, secret: SecretBytes) -> String {
        signed + "~" + secret.withBytes { Base64URL.encode($0) }
    }

    /// The link that opens an app with the text of a code. What stands behind its `#` reaches no server by a browser that
    /// opens it.
    ///
    /// - Parameter server: The server's base address, without a slash at its end.
    public static func link(with text: String, at server: String) -> String {
        "\(server)\(OutOfBandPayload.linkPath)#\(text)"
    }

    // MARK: Reading

    /// The server that a code says it is of, before anything is verified: to find out whose keys to verify with, and for
    /// nothing else.
    ///
    /// Throws ``IdentityMessageError`` `malformed`.
    public static func uncheckedServer(of text: String) throws(IdentityMessageError) -> String {
        let parts = try Self.parts(text)
        guard let server = parts.token.uncheckedClaim("iss") else { throw IdentityMessageError(.malformed, "iss") }
        return server
    }

    /// Reads a code. Whether it has expired is for the caller to ask: the answer depends on whose clock.
    ///
    /// - Parameter keys: The signing keys of the server that it says it is of.
    ///
    /// Throws ``IdentityMessageError``: `malformed`; `unsupported` for a kind that is not known; `wrongSignature` also
    /// where the secret is not the one that was signed for.
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
    /// What waits, without the secret.
    public var description: String { "ProcessCode(\(self.kind), \(self.server))" }
    public var customMirror: Mirror { Mirror(self, children: ["kind": self.kind, "server": self.server]) }
}
