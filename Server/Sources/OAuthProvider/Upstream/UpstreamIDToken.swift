import Crypto
import JOSE
import OAuth
import Records
import Settings
import _Primitives

/// The verified facts that another provider knows about a person.
struct UpstreamPerson: Sendable, Equatable {
    let subject: String
    /// The time of the person's authentication, if the provider states the time.
    let authenticatedAt: Timestamp?
    /// The provider's word for the level of the authentication (`acr`, or the claim that the operator has named).
    let acr: String?
    /// The methods of the authentication, in words of RFC 8176. Other words are left out.
    let amr: [String]
    /// `true` if the provider says that it can authenticate the person more surely.
    var canBeRaised = false
    /// The person's social security number, if the provider knows it; an empty text if the provider states different
    /// numbers.
    private(set) var ssn: String?
    /// The person's name, if the provider shows a name.
    var name: String?
    /// The person's e-mail address, if the provider knows one, and `true` if the provider has verified the address.
    var email: (address: String, isVerified: Bool)?

    /// Takes the name, the e-mail address and the number from a person's claims.
    mutating func takeProfile(_ claims: JSONObject) {
        if case .string(let name)? = claims["name"] { self.name = name }
        // Different numbers, or a value that is no text, become a number that agrees with none.
        for name in ["social_security_number", "social", "ssn"] {
            guard let said = claims[name] else { continue }
            if case .string(let number) = said, self.ssn?.hasSameBytes(as: number) ?? true {
                self.ssn = number
            } else {
                self.ssn = ""
            }
        }
        if case .string(let address)? = claims["email"] {
            self.email = (address, claims["email_verified"] == .bool(true))
        }
    }

    /// Two people are equal if their subjects are equal: other facts do not count.
    static func == (left: Self, right: Self) -> Bool { left.subject.hasSameBytes(as: right.subject) }

    /// The words of RFC 8176, section 2.
    static let methods = [
        "face", "fpt", "geo", "hwk", "iris", "kba", "mca", "mfa", "otp", "pin", "pop", "pwd", "rba", "retina", "sc",
        "sms",
        "swk", "tel", "user", "vbm", "wia",
    ]

    /// Returns a subject of another provider after a check of its length. Throws ``UpstreamRefusal``.
    static func checked(subject: String) throws(UpstreamRefusal) -> String {
        guard (1...Limits.Fixed.upstreamSubjectBytes).contains(subject.utf8.count) else {
            throw .failed("its subject is empty, or longer than one may be")
        }
        return subject
    }
}

extension UpstreamProvider.LevelHint {
    /// `true` if the claim of the hint has the hint's value. Without a value, any value but `false` and the empty text
    /// counts.
    func isMet(by claims: JSONObject) -> Bool {
        let value: String
        switch claims[self.claim] {
        case .string(let text)?: value = text
        case .integer(let number)?: value = String(number)
        case .bool(let isSo)?: value = isSo ? "true" : "false"
        default: return false
        }
        guard let expected = self.value else { return !value.hasSameBytes(as: "false") && !value.isEmpty }
        return value.hasSameBytes(as: expected)
    }
}

extension UpstreamPerson {
    /// Reads the person of an ID token after checks of its signature and claims (OpenID Connect Core 1.0, sections
    /// 3.1.3.7 and 3.1.3.8).
    ///
    /// - Parameters:
    ///   - keys: The provider's.
    ///   - trip: The trip that asked for the token: the token has to repeat the trip's nonce.
    ///   - accessToken: The access token that came with the ID token.
    ///   - skew: The permitted difference of the provider's clock.
    ///
    /// Throws ``UpstreamRefusal``.
    init(
        idToken: String, of provider: UpstreamProvider, by keys: JWKSet, for trip: UpstreamTrip, accessToken: String?,
        at time: TimeSource, skew: Duration
    ) throws(UpstreamRefusal) {
        let claims: JWTClaims
        let algorithm: JWSAlgorithm
        do {
            let token = try UnverifiedJWS(compact: idToken).verified(by: keys, allowing: JWSAlgorithm.ofClients)
            guard let known = JWSAlgorithm(rawValue: token.header.algorithm) else {
                throw JOSEError(.algorithmNotAllowed, "alg")
            }
            // A claim that is null is refused: only stated facts count.
            claims = try JWTClaims(token)
            algorithm = known
            try claims.check(issuer: provider.issuer, audience: provider.clientID, at: time, skew: skew)
        } catch {
            throw .failed("its ID token is refused: \(error)")
        }
        let members = claims.members
        // A token that is also for others has to name this server as its party.
        if claims.audience.count > 1, members["azp"] == nil { throw .failed("its ID token is for others, too") }
        if let party = members["azp"] {
            guard case .string(let party) = party, party.hasSameBytes(as: provider.clientID) else {
                throw .failed("its ID token was made for another client (azp)")
            }
        }
        let nonce = trip.nonce.withBytes { Array($0) }
        guard case .string(let repeated)? = members["nonce"], constantTimeEqual(Array(repeated.utf8), nonce) else {
            throw .failed("its ID token does not repeat the nonce")
        }
        // The nonce proves that the token was made for this trip. Some providers date their tokens minutes back.
        guard claims.issuedAt != nil else { throw .failed("its ID token does not say when it was made (iat)") }
        if let hash = members["at_hash"] {
            guard case .string(let hash) = hash, let accessToken,
                hash.hasSameBytes(as: Tokens.halfHash(accessToken, algorithm))
            else { throw .failed("its ID token belongs to another access token (at_hash)") }
        }
        guard let subject = claims.subject else { throw .failed("its ID token names nobody") }
        self.subject = try Self.checked(subject: subject)
        self.authenticatedAt = try Self.authenticationTime(members["auth_time"], now: time.now(), skew: skew)
        if case .string(let acr)? = members[provider.levelClaim] { self.acr = acr } else { self.acr = nil }
        self.canBeRaised = provider.levelHint?.isMet(by: members) ?? false
        var words: [String] = []
        if case .array(let values)? = members["amr"] {
            for case .string(let word) in values where Self.methods.containsBytes(of: word) {
                if !words.containsBytes(of: word) { words.append(word) }
            }
        }
        self.amr = words
        self.takeProfile(members)
    }

    private static func authenticationTime(
        _ value: JSON?, now: Timestamp, skew: Duration
    ) throws(UpstreamRefusal) -> Timestamp? {
        let latest = (now + skew).seconds
        let seconds: Int64
        switch value {
        case nil: return nil
        case .integer(let number)? where (0...latest).contains(number): seconds = number
        case .number(let number)? where number >= 0 && number <= Double(latest): seconds = Int64(number)
        default: throw .failed("its auth_time is no moment of the past")
        }
        return min(Timestamp(seconds: seconds), now)
    }

    /// Reads the person from the userinfo of a provider of OAuth 2.0 alone. Throws ``UpstreamRefusal``.
    init(userinfo claims: JSONObject, of provider: UpstreamProvider) throws(UpstreamRefusal) {
        switch claims[provider.subjectClaim] {
        case .string(let text): self.subject = try Self.checked(subject: text)
        case .integer(let number): self.subject = String(number)
        default: throw .failed("its userinfo has no \(provider.subjectClaim), which says who it is: --subject-claim")
        }
        self.authenticatedAt = nil
        self.acr = nil
        self.amr = []
        self.takeProfile(claims)
    }
}
