import Crypto
public import JOSE
public import _Primitives

/// The time in which a token signed by another party counts (FAPI 2.0 Security Profile, section 5.3.2.1; RFC 7523,
/// section 3; RFC 9449, section 11.1).
///
/// Clocks differ, and the server remembers used tokens only for a limited time.
public struct ValidityWindow: Sendable {
    /// The moment of the request.
    public let now: Timestamp
    /// The accepted difference of the other clock. A token may begin this much in the future, and counts this much
    /// longer than its end. FAPI 2.0 requires at least 10 seconds and at most 60.
    public let skew: Duration
    /// The longest time in which a token counts: from `iat` for a DPoP proof, and up to `exp` for every other token.
    public let longest: Duration

    /// Creates the window from a server's numbers, at a moment of its clock.
    public init(now: Timestamp, skew: Duration, longest: Duration) {
        self.now = now
        self.skew = skew
        self.longest = longest
    }

    /// Returns `true` if a token may have been made at the moment, or may begin to count then.
    func hasBegun(_ moment: Timestamp) -> Bool { moment <= self.now + self.skew }
    /// Returns `true` if a token with this end still counts.
    func isBefore(_ end: Timestamp) -> Bool { self.now < end + self.skew }
    /// Returns `true` if the end is within the longest time of a token.
    func reaches(_ end: Timestamp) -> Bool { end <= self.now + self.longest + self.skew }
    /// Returns `true` if the moment is no longer ago than the longest time of a token.
    func isRecent(_ moment: Timestamp) -> Bool { self.now <= moment + self.longest }
}

extension JWSAlgorithm {
    /// The signature algorithms of FAPI 2.0 clients (FAPI 2.0 Security Profile, section 5.4.1).
    public static let ofFAPI2: Set<JWSAlgorithm> = [.es256, .ps256, .edDSA]
    /// The signature algorithms of all other clients: RS256 too, the default of many libraries. No client signs with a
    /// secret that the server knows.
    public static let ofClients: Set<JWSAlgorithm> = ofFAPI2.union([.rs256])
}

/// Returns a digest that identifies a token among all tokens, for the detection of a repeated token.
///
/// The digest covers the parts, each with its length, so different lists of parts never give the same bytes.
func replayDigest(of parts: String...) -> [UInt8] {
    var hash = SHA256()
    for part in parts {
        let bytes = Array(part.utf8)
        hash.update(data: [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: bytes.count >> $0) } + bytes)
    }
    return Array(hash.finalize())
}

/// A client's JWT with a signature that a registered key of the client has verified: the common part of assertions and
/// request objects.
struct ClientToken {
    /// The reason for refusing a token: the error code for the kind of token, and the sentence.
    struct Refusal {
        let code: OAuthError.Code
        let message: String

        func callAsFunction(_ detail: String) -> OAuthError { OAuthError(self.code, self.message, detail: detail) }
    }

    /// All claims.
    let claims: JWTClaims
    /// The end of the token's time, without skew.
    let expiration: Timestamp
    private let refusal: Refusal

    /// Reads a compact form. The length and the header are limited before any verification.
    static func read(_ compact: String, types: [String], refusal: Refusal) throws(OAuthError) -> UnverifiedJWS {
        let token: UnverifiedJWS
        do {
            token = try UnverifiedJWS(compact: compact, limits: JOSELimits(compactLength: 16_384, headerLength: 4096))
        } catch {
            throw refusal(error.reason)
        }
        // RFC 8725, section 3.11: a client's token for another purpose does not serve this purpose.
        guard token.header.type == nil || types.contains(where: token.header.hasType) else { throw refusal("typ") }
        return token
    }

    /// Verifies the signature and the times of a token: `exp` is required and not too far away, and `nbf` and `iat`, if
    /// present, are past.
    ///
    /// The key is the key that `kid` names. Without `kid` the key is the only key that fits the algorithm.
    ///
    /// - Parameter name: The claim in which a null becomes an empty object. No other claim may have nulls.
    init(
        _ token: UnverifiedJWS, by keys: JWKSet, allowing algorithms: Set<JWSAlgorithm>, within window: ValidityWindow,
        nullsIn name: String? = nil, refusal: Refusal
    ) throws(OAuthError) {
        do throws(JOSEError) {
            guard let algorithm = JWSAlgorithm(exactly: token.header.algorithm), algorithms.contains(algorithm),
                algorithm != .hs256
            else { throw JOSEError(.algorithmNotAllowed, "alg") }
            let verified = try token.verified(by: keys.fitting(algorithm), allowing: [algorithm])
            self.claims =
                if let name {
                    try JWTClaims(members: Self.members(verified.payload, nullsIn: name))
                } else {
                    try JWTClaims(verified)
                }
        } catch {
            throw refusal(error.reason)
        }
        self.refusal = refusal
        guard let expiration = self.claims.expiration else { throw refusal("exp is missing") }
        guard window.isBefore(expiration) else { throw refusal("exp is past") }
        guard window.reaches(expiration) else { throw refusal("exp is too far away") }
        if let notBefore = self.claims.notBefore, !window.hasBegun(notBefore) { throw refusal("nbf lies ahead") }
        if let issuedAt = self.claims.issuedAt, !window.hasBegun(issuedAt) { throw refusal("iat lies ahead") }
        self.expiration = expiration
    }

    private static func members(_ payload: [UInt8], nullsIn name: String) throws(JOSEError) -> JSONObject {
        do {
            return try NullableJSON.object(payload, nullsIn: name)
        } catch {
            throw JOSEError(.malformed, "claims: \(error.reason)")
        }
    }

    /// Returns the token's identifier (`jti`): 1 to 256 bytes; `nil` if the token has none.
    func identifier() throws(OAuthError) -> String? {
        guard let value = self.claims.members["jti"] else { return nil }
        guard case .string(let text) = value, (1...256).contains(text.utf8.count) else { throw self.refusal("jti") }
        return text
    }
}
