public import _Primitives

/// The claims of a JSON Web Token (RFC 7519, section 4), from a payload whose signature is already verified.
public struct JWTClaims: Hashable, Sendable {
    /// All claims, in their order.
    public let members: JSONObject
    /// The issuer of the token (`iss`).
    public let issuer: String?
    /// The subject of the token (`sub`).
    public let subject: String?
    /// The audience of the token (`aud`): one name or many; empty if the token has none.
    public let audience: [String]
    /// The moment from which the token is refused (`exp`).
    public let expiration: Timestamp?
    /// The moment before which the token is refused (`nbf`).
    public let notBefore: Timestamp?
    /// The moment of the token's issue (`iat`).
    public let issuedAt: Timestamp?

    /// Reads the claims of a verified token.
    ///
    /// Throws ``JOSEError`` `malformed` if the payload is not a JSON object or a registered claim has another type.
    public init(_ token: VerifiedJWS) throws(JOSEError) {
        let document: JSON
        do {
            document = try JSON(parsing: token.payload)
        } catch {
            throw JOSEError(.malformed, "claims: \(error.reason)")
        }
        guard case .object(let members) = document else { throw JOSEError(.malformed, "the claims are not an object") }
        try self.init(members: members)
    }

    /// Creates claims from members that were already read, from a payload with a verified signature.
    ///
    /// Throws ``JOSEError`` `malformed` if a registered claim has another type.
    public init(members: JSONObject) throws(JOSEError) {
        do {
            self.members = members
            self.issuer = try members.string("iss")
            self.subject = try members.string("sub")
            self.audience =
                switch members["aud"] {
                case .none: []
                case .string(let name): [name]
                default: try members.strings("aud") ?? []
                }
            self.expiration = try Self.moment(members, "exp")
            self.notBefore = try Self.moment(members, "nbf")
            self.issuedAt = try Self.moment(members, "iat")
        } catch let error as JSONError {
            throw JOSEError(.malformed, "claims: \(error.reason)")
        } catch let error as JOSEError {
            throw error
        } catch {
            throw JOSEError(.malformed, "claims")
        }
    }

    /// Checks that the token is from this issuer, for this audience, and valid now. `exp` is required; `nbf` and `iat`
    /// are checked if present.
    ///
    /// - Parameter skew: The accepted difference of the issuer's clock. The default is zero, for tokens of our own.
    /// - Throws: ``JOSEError``: `missingClaim`, `wrongIssuer`, `wrongAudience`, `expired`, `notYetValid`.
    public func check(issuer: String, audience: String, at time: TimeSource, skew: Duration = .zero)
        throws(JOSEError)
    {
        guard let own = self.issuer else { throw JOSEError(.missingClaim, "iss") }
        guard own.hasSameBytes(as: issuer) else { throw JOSEError(.wrongIssuer, "iss") }
        guard !self.audience.isEmpty else { throw JOSEError(.missingClaim, "aud") }
        guard self.audience.containsBytes(of: audience) else { throw JOSEError(.wrongAudience, "aud") }
        guard let expiration = self.expiration else { throw JOSEError(.missingClaim, "exp") }
        let now = time.now()
        guard now < expiration + skew else { throw JOSEError(.expired, "exp") }
        if let notBefore, now < notBefore - skew { throw JOSEError(.notYetValid, "nbf") }
        if let issuedAt, now < issuedAt - skew { throw JOSEError(.notYetValid, "iat") }
    }

    /// Returns the moment of a NumericDate: seconds since 1970, perhaps with a fraction, within the years that a clock
    /// can show.
    private static func moment(_ members: JSONObject, _ name: String) throws -> Timestamp? {
        let latest = 253_402_300_799.0  // the end of the year 9999
        switch members[name] {
        case .none: return nil
        case .integer(let seconds) where seconds >= 0 && Double(seconds) <= latest:
            return Timestamp(seconds: seconds)
        case .number(let seconds) where seconds >= 0 && seconds <= latest:
            return Timestamp(milliseconds: Int64((seconds * 1000).rounded(.down)))
        default: throw JOSEError(.malformed, "\(name) is not a date")
        }
    }
}
