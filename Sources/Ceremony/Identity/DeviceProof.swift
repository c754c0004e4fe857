import Crypto
public import JOSE
public import _Primitives

/// What a device says for itself at its server: one request, signed with the device's own key, that counts once.
///
/// It is a JWT of the type `device-proof+jwt` whose claims bind it to the server (`aud`), to the request (`htm` and `htu`,
/// as RFC 9449, section 4.2, has them, and `bdh`, the SHA-256 of the body) and to one use (`jti`). A value of this type was
/// verified, or nobody could have made it.
public struct DeviceProof: Hashable, Sendable {
    /// What a request is, as both sides see it.
    public struct Request: Hashable, Sendable {
        /// The server, by the name that it has for devices: its base address.
        public let audience: String
        /// The method.
        public let method: String
        /// The address, without query and fragment.
        public let target: String
        /// The body; empty where there is none.
        public let body: [UInt8]

        /// A request.
        public init(audience: String, method: String, target: String, body: [UInt8]) {
            self.audience = audience
            self.method = method
            self.target = target
            self.body = body
        }
    }

    /// How far the clocks of device and server may be apart, to either side.
    public static let skew = Duration.seconds(60)

    private static let type = "device-proof+jwt"

    /// The proof's name, which the device chose: a server takes one of each key.
    public let identifier: String
    /// When the device says that it was made.
    public let issuedAt: Timestamp
    /// After this moment the proof is refused for its age, and its name need not be remembered.
    public var repeatableUntil: Timestamp { self.issuedAt + Self.skew }

    /// Makes the proof of a request, for the device's key to sign (ES256).
    ///
    /// - Parameters:
    ///   - keyID: What the server knows the key by.
    ///   - now: The time, as the server's clock has it where the device knows.
    ///   - random: Where the proof's name comes from.
    public static func unsigned(
        _ request: Request, keyID: String, at now: Timestamp, random: RandomSource
    ) throws(JOSEError) -> UnsignedJWS {
        let claims: JSONObject = [
            "aud": .string(request.audience), "htm": .string(request.method), "htu": .string(request.target),
            "bdh": .string(Self.hash(of: request.body)), "jti": .string(random.token(byteCount: 16)),
            "iat": .integer(now.seconds),
        ]
        return try UnsignedJWS(
            JSON.object(claims).serialized, type: Self.type, algorithm: .es256, keyID: keyID)
    }

    /// Verifies the proof of a request. That its name was not seen before is the caller's to find out.
    ///
    /// A proof of more than 4096 letters and a header of more than 2048 bytes are refused before anything is verified.
    /// Throws `JOSEError`, and `missingClaim` with the claim that is missing or another.
    public init(verifying compact: String, of request: Request, with key: JWK, at now: Timestamp) throws(JOSEError) {
        try self.init(
            verifying: Self.token(of: compact), of: request, with: VerificationKey(key, algorithm: .es256), at: now)
    }

    /// Reads a proof that is still to be verified, with the limits that a proof has: to find the key by its name.
    public static func token(of compact: String) throws(JOSEError) -> UnverifiedJWS {
        try UnverifiedJWS(compact: compact, limits: JOSELimits(compactLength: 4096, headerLength: 2048))
    }

    /// As ``init(verifying:of:with:at:)``, of a proof that ``token(of:)`` has read, with an ES256 key.
    public init(
        verifying token: UnverifiedJWS, of request: Request, with key: VerificationKey, at now: Timestamp
    ) throws(JOSEError) {
        guard token.header.hasType(Self.type) else { throw JOSEError(.wrongType, "typ") }
        guard key.algorithm == .es256 else { throw JOSEError(.algorithmNotAllowed, key.algorithm.rawValue) }
        let claims = try JWTClaims(token.verified(by: key))
        for (name, value) in [
            ("aud", request.audience), ("htm", request.method), ("htu", request.target),
            ("bdh", Self.hash(of: request.body)),
        ] {
            guard case .string(let claimed)? = claims.members[name], claimed.hasSameBytes(as: value) else {
                throw JOSEError(name == "aud" ? .wrongAudience : .missingClaim, name)
            }
        }
        guard case .string(let identifier)? = claims.members["jti"], (1...256).contains(identifier.utf8.count) else {
            throw JOSEError(.missingClaim, "jti")
        }
        guard let issuedAt = claims.issuedAt else { throw JOSEError(.missingClaim, "iat") }
        guard now <= issuedAt + Self.skew else { throw JOSEError(.expired, "iat") }
        guard now >= issuedAt - Self.skew else { throw JOSEError(.notYetValid, "iat") }
        self.identifier = identifier
        self.issuedAt = issuedAt
    }

    private static func hash(of body: [UInt8]) -> String { Base64URL.encode(Array(SHA256.hash(data: body))) }
}
