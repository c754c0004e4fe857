public import JOSE
import _Primitives

/// The content of a person's denial: the reason, and if the request was the person's at all.
public struct DenialStatement: Hashable, Sendable {
    /// The reason for a denial.
    public enum Reason: String, Sendable, CaseIterable {
        /// The person does not want the request to be carried out.
        case unwanted
        /// The shown content differs from the content that the person expected, for example another amount.
        case wrongContent
    }

    /// The reason.
    public var reason: Reason
    /// `true` if the person says that another party began the request.
    public var isNotMe: Bool

    /// Creates a statement.
    public init(reason: Reason, isNotMe: Bool = false) {
        self.reason = reason
        self.isNotMe = isNotMe
    }

    /// The person does not want the request to be carried out.
    public static let unwanted = Self(reason: .unwanted)
    /// The person began the request, and the shown content is wrong.
    public static let wrongContent = Self(reason: .wrongContent)
    /// The person did not begin the request.
    public static let notMe = Self(reason: .unwanted, isNotMe: true)
}

/// A person's denial, signed by the device's own key (decision 119).
///
/// The denial is a JWT of the type `denial+jwt`. Its claims bind the denial to the server (`aud`) and to the challenge of
/// one request (`challenge`), and state the person's words (`reason`, `notMe`). Every value of this type was verified;
/// no other way creates a value.
public struct SignedDenial: Hashable, Sendable {
    private static let type = "denial+jwt"

    /// The verified statement.
    public let statement: DenialStatement

    /// Creates a denial for the device's key to sign (ES256).
    ///
    /// - Parameters:
    ///   - audience: The server's name for devices, as in a ``DeviceProof``: its base address.
    ///   - challenge: The text of the challenge in the denied request.
    ///   - keyID: The server's identifier of the key.
    public static func unsigned(
        _ statement: DenialStatement, audience: String, challenge: String, keyID: String
    ) throws(JOSEError) -> UnsignedJWS {
        let claims: JSONObject = [
            "aud": .string(audience), "challenge": .string(challenge), "reason": .string(statement.reason.rawValue),
            "notMe": .bool(statement.isNotMe),
        ]
        return try UnsignedJWS(JSON.object(claims).serialized, type: Self.type, algorithm: .es256, keyID: keyID)
    }

    /// Reads a denial without verifying the signature. The caller finds the key by the name in the header.
    ///
    /// Throws `JOSEError`, also for more than 2048 letters and for a header of more than 1024 bytes.
    public static func token(of compact: String) throws(JOSEError) -> UnverifiedJWS {
        try UnverifiedJWS(compact: compact, limits: JOSELimits(compactLength: 2048, headerLength: 1024))
    }

    /// Verifies a denial that ``token(of:)`` has read, with an ES256 key.
    ///
    /// Throws `JOSEError`: `wrongType`, `wrongAudience` for a denial to another server, `missingClaim` for another
    /// challenge and for a reason or a `notMe` that is missing or unknown, and the errors of the signature.
    public init(
        verifying token: UnverifiedJWS, audience: String, challenge: String, with key: VerificationKey
    ) throws(JOSEError) {
        guard token.header.hasType(Self.type) else { throw JOSEError(.wrongType, "typ") }
        guard key.algorithm == .es256 else { throw JOSEError(.algorithmNotAllowed, key.algorithm.rawValue) }
        let claims = try JWTClaims(token.verified(by: key)).members
        for (name, value) in [("aud", audience), ("challenge", challenge)] {
            guard case .string(let claimed)? = claims[name], claimed.hasSameBytes(as: value) else {
                throw JOSEError(name == "aud" ? .wrongAudience : .missingClaim, name)
            }
        }
        guard case .string(let word)? = claims["reason"], let reason = DenialStatement.Reason(rawValue: word) else {
            throw JOSEError(.missingClaim, "reason")
        }
        guard case .bool(let isNotMe)? = claims["notMe"] else { throw JOSEError(.missingClaim, "notMe") }
        self.statement = DenialStatement(reason: reason, isNotMe: isNotMe)
    }
}
