public import _Primitives

/// The claims of a JSON Web Token (RFC 7519, section 4), from a payload whose signature is already verified.
public struct JWTClaims: Hashable, Sendable {
    /// All claims, in their order.
    public let members: JSONObject
    /// Who issued the token (`iss`).
    public let issuer: String?
    /// Whom the token is about (`sub`).
    public let subject: String?
    /// Whom the token is for (`aud`): one name or many.
    public let audience: [String]
    /// From this moment on the token is refused (`exp`).
    public let expiration: Timestamp?
    /// Before this moment the token is refused (`nbf`).
    public let notBefore: Timestamp?
    /// When the token was issued (`iat`).
    public let issuedAt: Timestamp?

    /// Reads the claims of a verified token.
    ///
    /// Throws ``JOSEError`` `malformed` where the payload is not a JSON object or a registered claim has another type.
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

    /// Takes claims that were read already, from a payload whose signature was verified.
    ///
    /// Throws ``JOSEError`` `malformed` where a registered claim has another type.
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

    /// Checks that the token is this issuer's, for this audience, and valid now. `exp` is required, `nbf` and `iat` are
    /// checked where they are there.
    ///
    /// - Parameter skew: How far the issuer's clock may differ. The default is none, for tokens that we issued.
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

    /// A NumericDate: seconds since 1970, perhaps with a fraction, within the years that a clock can show.
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
