public import JOSE
public import _Primitives

/// The keys of an identity server, signed by the server's root key. Apps are configured with the root key.
///
/// The key set is a JWT of the type `identity-keys+jwt`, signed with ES256 by the root. Phones accept only messages of
/// the server that one of ``signingKeys`` has signed, and send factors only sealed to one of ``sealingKeys``.
public struct ManagerKeySet: Hashable, Sendable {
    /// A key to which phones seal factors and other secrets (RFC 9180, DHKEM(P-256, HKDF-SHA256)).
    public struct SealingKey: Hashable, Sendable {
        /// The identifier of the key.
        public let id: String
        /// The public key in its compressed form, 33 bytes.
        public let publicKey: [UInt8]
        /// The end of the time in which a phone may seal to the key.
        public let until: Timestamp

        /// Creates a key.
        public init(id: String, publicKey: [UInt8], until: Timestamp) {
            self.id = id
            self.publicKey = publicKey
            self.until = until
        }
    }

    /// The server's identifier: its base address.
    public let server: String
    /// The keys with which the server signs codes and answers (ES256), by their names.
    public let signingKeys: JWKSet
    /// The keys to seal to, the newest first; at least one key.
    public let sealingKeys: [SealingKey]
    /// The versions of this protocol that the server speaks.
    public let versions: ClosedRange<Int>
    /// The allowed length of the server's PINs, in characters.
    public let pinLength: ClosedRange<Int>
    /// The moment of the signature.
    public let issuedAt: Timestamp
    /// The end of the key set's validity.
    public let expiresAt: Timestamp

    /// The protocol version that this product speaks.
    public static let version = 1
    private static let type = "identity-keys+jwt"

    /// Creates a key set.
    public init(
        server: String, signingKeys: JWKSet, sealingKeys: [SealingKey], versions: ClosedRange<Int> = 1...1,
        pinLength: ClosedRange<Int> = 5...32, issuedAt: Timestamp, expiresAt: Timestamp
    ) {
        self.server = server
        self.signingKeys = signingKeys
        self.sealingKeys = sealingKeys
        self.versions = versions
        self.pinLength = pinLength
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
    }

    /// Signs the key set.
    ///
    /// - Throws: `JOSEError` if the key cannot sign.
    public func signed(by root: SigningKey) throws(JOSEError) -> String {
        let payload: JSONObject = [
            "iss": .string(self.server),
            "keys": .array(self.signingKeys.keys.compactMap { $0.publicJSON.map(JSON.object) }),
            "sealing": .array(
                self.sealingKeys.map {
                    .object(["kid": .string($0.id), "key": .bytes($0.publicKey), "until": .moment($0.until)])
                }),
            "versions": .array([
                .integer(Int64(self.versions.lowerBound)), .integer(Int64(self.versions.upperBound)),
            ]),
            "pin": .array([.integer(Int64(self.pinLength.lowerBound)), .integer(Int64(self.pinLength.upperBound))]),
            "iat": .integer(self.issuedAt.seconds), "exp": .integer(self.expiresAt.seconds),
        ]
        return try JWS.sign(JSON.object(payload).serialized, type: Self.type, with: root)
    }

    /// Reads a key set that one of the root keys has signed for this server.
    ///
    /// Throws ``IdentityMessageError``: `malformed`, `wrongSignature`, `wrongReceiver` for another server's key set,
    /// `expired`, `unsupported` if server and phone have no protocol version in common.
    public init(verifying compact: String, server: String, roots: JWKSet, at now: Timestamp)
        throws(IdentityMessageError)
    {
        let payload = try ManagerResponse.payload(of: compact, type: Self.type, keys: roots)
        let object = try IdentityMessageError.reading { () throws(JSONError) in
            guard case .object(let object) = try JSON(parsing: payload, limits: IdentityMessageError.limits) else {
                throw JSONError(.wrongType, "payload")
            }
            return object
        }
        guard
            try IdentityMessageError.reading({ () throws(JSONError) in try object.requiredString("iss") })
                .hasSameBytes(as: server)
        else { throw IdentityMessageError(.wrongReceiver, "iss") }
        let bounds = try IdentityMessageError.reading { () throws(JSONError) in
            (
                versions: try Self.range(object, "versions"), pin: try Self.range(object, "pin"),
                issued: try object.requiredInteger("iat", as: Int64.self),
                expires: try object.requiredInteger("exp", as: Int64.self),
                sealing: try object.objects("sealing").map { key throws(JSONError) in
                    SealingKey(
                        id: try key.requiredText("kid", 1...64), publicKey: try key.requiredBytes("key", 33...33),
                        until: try key.requiredMoment("until"))
                },
                keys: try object.objects("keys")
            )
        }
        guard (0..<253_402_300_800).contains(bounds.issued), (0..<253_402_300_800).contains(bounds.expires) else {
            throw IdentityMessageError(.malformed, "exp")
        }
        guard bounds.versions.contains(Self.version) else { throw IdentityMessageError(.unsupported, "versions") }
        guard now < Timestamp(seconds: bounds.expires) else { throw IdentityMessageError(.expired, "exp") }
        let keys: [JWK]
        do throws(JOSEError) {
            keys = try bounds.keys.map { json throws(JOSEError) in try JWK(publicJSON: json) }
        } catch {
            throw IdentityMessageError(.malformed, "keys")
        }
        guard !bounds.sealing.isEmpty, !keys.isEmpty, keys.allSatisfy({ $0.keyID != nil }) else {
            throw IdentityMessageError(.malformed, "keys")
        }
        self.init(
            server: server, signingKeys: JWKSet(keys), sealingKeys: bounds.sealing, versions: bounds.versions,
            pinLength: bounds.pin, issuedAt: Timestamp(seconds: bounds.issued),
            expiresAt: Timestamp(seconds: bounds.expires))
    }

    private static func range(_ object: JSONObject, _ name: String) throws(JSONError) -> ClosedRange<Int> {
        guard case .array(let bounds)? = object[name], bounds.count == 2, case .integer(let lower) = bounds[0],
            case .integer(let upper) = bounds[1], (1...1024).contains(lower), (lower...1024).contains(upper)
        else { throw JSONError(.wrongType, name) }
        return Int(lower)...Int(upper)
    }
}
