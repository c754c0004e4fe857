import Crypto
public import JOSE
public import _Primitives

/// When a token that somebody else has signed counts: clocks differ, and what is remembered against repetition is
/// forgotten one day (FAPI 2.0 Security Profile, section 5.3.2.1; RFC 7523, section 3; RFC 9449, section 11.1).
public struct ValidityWindow: Sendable {
    /// The moment of the request.
    public let now: Timestamp
    /// How far the other clock may be ahead, and behind where an end has passed. FAPI 2.0 asks for 10 seconds at least, and
    /// for 60 at most.
    public let skew: Duration
    /// The longest time that a token counts: from its `iat` for a DPoP proof, and to its `exp` for every other.
    public let longest: Duration

    /// The numbers of a server, at a moment of its clock.
    public init(now: Timestamp, skew: Duration, longest: Duration) {
        self.now = now
        self.skew = skew
        self.longest = longest
    }

    /// Whether a token may have been made at that moment, or begin to count then.
    func hasBegun(_ moment: Timestamp) -> Bool { moment <= self.now + self.skew }
    /// Whether a token that ends at that moment still counts.
    func isBefore(_ end: Timestamp) -> Bool { self.now < end + self.skew }
    /// Whether that end is no further away than a token may last.
    func reaches(_ end: Timestamp) -> Bool { end <= self.now + self.longest + self.skew }
    /// Whether that moment is no longer ago than a token counts.
    func isRecent(_ moment: Timestamp) -> Bool { self.now <= moment + self.longest }
}

extension JWSAlgorithm {
    /// What clients of FAPI 2.0 sign with (FAPI 2.0 Security Profile, section 5.4.1).
    public static let ofFAPI2: Set<JWSAlgorithm> = [.es256, .ps256, .edDSA]
    /// What all other clients may sign with: RS256 too, which many libraries do unless they are told otherwise. Nobody
    /// signs with a secret that the server knows.
    public static let ofClients: Set<JWSAlgorithm> = ofFAPI2.union([.rs256])
}

/// What names a token among all that were ever made, to notice one that comes twice: a digest of the parts, each with its
/// length, so that no two rows of parts are the same bytes.
func replayDigest(of parts: String...) -> [UInt8] {
    var hash = SHA256()
    for part in parts {
        let bytes = Array(part.utf8)
        hash.update(data: [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: bytes.count >> $0) } + bytes)
    }
    return Array(hash.finalize())
}

/// A JWT of a client, its signature verified with a key that the client has registered: what assertions and request
/// objects have in common.
struct ClientToken {
    /// Why a token is refused: the code that its kind has, and the sentence.
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

    /// Reads a compact form, whose length and header are bounded before anything is verified.
    static func read(_ compact: String, types: [String], refusal: Refusal) throws(OAuthError) -> UnverifiedJWS {
        let token: UnverifiedJWS
        do {
            token = try UnverifiedJWS(compact: compact, limits: JOSELimits(compactLength: 16_384, headerLength: 4096))
        } catch {
            throw refusal(error.reason)
        }
        // RFC 8725, section 3.11: what a client signed for another purpose does not serve this one.
        guard token.header.type == nil || types.contains(where: token.header.hasType) else { throw refusal("typ") }
        return token
    }

    /// Verifies the signature, and that the token counts now: `exp` is there and not too far away, `nbf` and `iat` have
    /// come where they are there.
    ///
    /// The key is the one that `kid` names. Without a name it is the only one that fits the algorithm.
    ///
    /// - Parameter name: The claim in which a null is an empty object; no other claim has nulls.
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

    /// The token's name (`jti`): 1 to 256 bytes. `nil` where there is none.
    func identifier() throws(OAuthError) -> String? {
        guard let value = self.claims.members["jti"] else { return nil }
        guard case .string(let text) = value, (1...256).contains(text.utf8.count) else { throw self.refusal("jti") }
        return text
    }
}
