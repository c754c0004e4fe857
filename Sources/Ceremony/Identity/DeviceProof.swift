import Crypto
public import JOSE
public import _Primitives

/// A device's proof for one request to its server: the device signs the request with its own key. A proof counts once.
///
/// The proof is a JWT of the type `device-proof+jwt`. Its claims bind the proof to the server (`aud`), to the request
/// (`htm` and `htu`, as in RFC 9449, section 4.2, and `bdh`, the SHA-256 of the body) and to one use (`jti`). Every
/// value of this type was verified; no other way creates a value.
public struct DeviceProof: Hashable, Sendable {
    /// A request, with the parts that both sides know.
    public struct Request: Hashable, Sendable {
        /// The server's name for devices: its base address.
        public let audience: String
        /// The method.
        public let method: String
        /// The address, without query and fragment.
        public let target: String
        /// The body; empty if the request has none.
        public let body: [UInt8]

        /// Creates a request.
        public init(audience: String, method: String, target: String, body: [UInt8]) {
            self.audience = audience
            self.method = method
            self.target = target
            self.body = body
        }
    }

    /// The largest difference between the clocks of device and server, in either direction.
    public static let skew = Duration.seconds(60)

    private static let type = "device-proof+jwt"

    /// The proof's identifier, chosen by the device. A server accepts an identifier once for each key.
    public let identifier: String
    /// The moment of creation, according to the device.
    public let issuedAt: Timestamp
    /// The end of the time in which the proof could be repeated. After this moment the server refuses the proof because
    /// of its age, and need not remember the identifier.
    public var repeatableUntil: Timestamp { self.issuedAt + Self.skew }

    /// Creates the proof of a request, for the device's key to sign (ES256).
    ///
    /// - Parameters:
    ///   - keyID: The server's identifier of the key.
    ///   - now: The time, by the server's clock if the device knows the server's clock.
    ///   - random: The source of the proof's identifier.
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

    /// Verifies the proof of a request. The caller has to check that the identifier is new.
    ///
    /// Before any verification, the initializer refuses a proof of more than 4096 letters and a header of more than
    /// 2048 bytes.
    ///
    /// Throws `JOSEError`: `wrongAudience` for a proof to another server, `missingClaim` with the name of any other
    /// claim that is missing or has another value, `expired` or `notYetValid` for a moment further away than ``skew``,
    /// and the errors of the reading and of the signature.
    public init(verifying compact: String, of request: Request, with key: JWK, at now: Timestamp) throws(JOSEError) {
        try self.init(
            verifying: Self.token(of: compact), of: request, with: VerificationKey(key, algorithm: .es256), at: now)
    }

    /// Reads a proof without verifying the signature, within the limits of a proof. The caller finds the key by the
    /// name in the header.
    public static func token(of compact: String) throws(JOSEError) -> UnverifiedJWS {
        try UnverifiedJWS(compact: compact, limits: JOSELimits(compactLength: 4096, headerLength: 2048))
    }

    /// Verifies a proof that ``token(of:)`` has read, with an ES256 key. Otherwise as ``init(verifying:of:with:at:)``.
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
