public import JOSE
public import _Primitives

/// A client's JWT for its authentication, `private_key_jwt`, read but not verified (RFC 7523, section 2.2; OpenID
/// Connect Core 1.0, section 9).
public struct UnverifiedClientAssertion: Sendable, CustomStringConvertible {
    /// The only `client_assertion_type`.
    public static let type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
    /// The name of this authentication method (`token_endpoint_auth_method`).
    public static let method = "private_key_jwt"

    /// The client that the assertion names. Use this value only to find the client's keys.
    public let clientID: String
    /// The key that the assertion names (`kid`). Use this value only to find the key.
    public var keyID: String? { self.token.header.keyID }
    private let token: UnverifiedJWS

    /// Returns `true` if a request has an assertion, valid or not.
    public static func isPresent(in parameters: Parameters) -> Bool {
        parameters["client_assertion"] != nil || parameters["client_assertion_type"] != nil
    }

    /// Reads the assertion of a request that authenticates in no other way (RFC 7521, section 4.2; RFC 6749, section
    /// 2.3).
    ///
    /// - Parameters:
    ///   - header: The value of `Authorization`, or `nil`.
    ///   - parameters: The request's body.
    /// - Throws: ``OAuthError`` `invalid_client` if the request has no assertion or the assertion cannot be read,
    ///   `invalid_request` if the client authenticates in two ways, or if `client_id` names another client.
    public init(header: String?, parameters: Parameters) throws(OAuthError) {
        guard header == nil, parameters["client_secret"] == nil else {
            throw OAuthError(.invalidRequest, "The client authenticates in two ways.")
        }
        guard let type = parameters["client_assertion_type"], type.hasSameBytes(as: Self.type),
            let compact = parameters["client_assertion"]
        else { throw Self.refusal("no client_assertion, or a client_assertion_type that is not known") }
        self.token = try ClientToken.read(
            compact, types: ["JWT", "client-authentication+jwt"], refusal: Self.refusal)
        guard let subject = self.token.uncheckedClaim("sub"), (1...256).contains(subject.utf8.count) else {
            throw Self.refusal("sub")
        }
        self.clientID = subject
        if let named = parameters["client_id"], !named.hasSameBytes(as: subject) {
            throw OAuthError(.invalidRequest, "The client_id is not the authenticated client.")
        }
    }

    /// Verifies the assertion (RFC 7523, section 3): the signature, the client as issuer and subject, this server as
    /// audience, the times, and the presence of an identifier.
    ///
    /// The signature is checked before `aud`, so only a holder of the key learns that the audience is wrong.
    ///
    /// Cost: one signature.
    ///
    /// - Parameters:
    ///   - keys: The registered keys of the client ``clientID``.
    ///   - audience: The required value of `aud`.
    ///   - algorithms: `JWSAlgorithm.ofFAPI2` or, for clients without this profile, `JWSAlgorithm.ofClients`.
    ///   - window: The time in which the assertion counts.
    /// - Throws: ``OAuthError`` `invalid_client`; with the audience's advice if the audience alone is wrong.
    public func verified(
        by keys: JWKSet, for audience: AssertionAudience, allowing algorithms: Set<JWSAlgorithm>,
        within window: ValidityWindow
    ) throws(OAuthError) -> VerifiedClientAssertion {
        try VerifiedClientAssertion(
            self.token, of: self.clientID, by: keys, for: audience, allowing: algorithms, within: window,
            refusal: Self.refusal)
    }

    public var description: String { "UnverifiedClientAssertion" }

    static let refusal = ClientToken.Refusal(code: .invalidClient, message: "The client did not authenticate.")
}

/// The required audience of an assertion (`aud`).
public enum AssertionAudience: Sendable {
    /// This server by its issuer's address, as a single text without further audiences (FAPI 2.0 Security Profile,
    /// section 5.3.2.1).
    case issuer(String)
    /// This server by one of its names, as a single text or in a list of this server's names only.
    ///
    /// An assertion that also names another server could have been made for the other server. A client that is refused
    /// because of the audience is told the advice.
    case names([String], advice: String)
    /// The address to which the client sends the assertion, alone or in a list. This case is for clients that know only
    /// this address and no metadata, so no other server can have told them a wrong address.
    case endpoint(String)

    /// Returns the reason why the claims are for another audience; `nil` if the audience is right.
    func failure(in claims: JWTClaims) -> String? {
        switch self {
        case .issuer(let issuer):
            guard case .string(let audience)? = claims.members["aud"], audience.hasSameBytes(as: issuer) else {
                return "aud is not the issuer's address as one text"
            }
        case .names(let names, _):
            guard !claims.audience.isEmpty, claims.audience.count <= names.count,
                claims.audience.allSatisfy(names.containsBytes)
            else { return "aud is not \(names.joined(separator: " or ")) alone" }
        case .endpoint(let address):
            guard claims.audience.contains(where: { $0.hasSameBytes(as: address) }) else {
                return "aud does not have the address that it was sent to, \(address)"
            }
        }
        return nil
    }

    /// Returns the error for a client whose assertion is for another audience.
    func refused(_ refusal: ClientToken.Refusal, _ failure: String) -> OAuthError {
        guard case .names(_, let advice) = self else { return refusal(failure) }
        return OAuthError(refusal.code, "\(refusal.message) \(advice)", detail: failure)
    }
}

/// The assertion of an authenticated client. Only ``UnverifiedClientAssertion`` and ``UnverifiedServiceAssertion``
/// create a value.
///
/// An assertion counts once. A server accepts the assertion after storing ``replayDigest``, if the digest is new (FAPI
/// 2.0 Security Profile, section 5.3.2.1; RFC 7523, section 3, rule 7). A client's second assertion with the same
/// identifier does not count, whatever its purpose.
public struct VerifiedClientAssertion: Hashable, Sendable {
    /// The authenticated client.
    public let clientID: String
    /// The assertion's identifier (`jti`), chosen by the client.
    public let identifier: String
    /// The moment from which the assertion is refused because of its age. The server need not remember the assertion
    /// after this moment.
    public let repeatableUntil: Timestamp

    /// Verifies a client's assertion about itself (RFC 7523, section 3): the signature, the client as issuer and
    /// subject, this server as audience, the times, and the presence of an identifier.
    init(
        _ token: UnverifiedJWS, of clientID: String, by keys: JWKSet, for audience: AssertionAudience,
        allowing algorithms: Set<JWSAlgorithm>, within window: ValidityWindow, refusal: ClientToken.Refusal
    ) throws(OAuthError) {
        let token = try ClientToken(token, by: keys, allowing: algorithms, within: window, refusal: refusal)
        guard let own = token.claims.issuer, own.hasSameBytes(as: clientID) else { throw refusal("iss") }
        guard let subject = token.claims.subject, subject.hasSameBytes(as: clientID) else { throw refusal("sub") }
        guard let identifier = try token.identifier() else { throw refusal("jti is missing") }
        if let failure = audience.failure(in: token.claims) { throw audience.refused(refusal, failure) }
        self.clientID = clientID
        self.identifier = identifier
        self.repeatableUntil = token.expiration + window.skew
    }

    /// 32 bytes that are equal for two assertions of the same client with the same identifier.
    public var replayDigest: [UInt8] { OAuth.replayDigest(of: "private_key_jwt", self.clientID, self.identifier) }
}

/// Creates assertions for a client.
public enum ClientAssertion {
    /// Returns the parameters with which the owner of a key authenticates once (RFC 7521, section 4.2). The parameters
    /// belong into the body.
    ///
    /// - Parameters:
    ///   - clientID: The client.
    ///   - issuer: The issuer of the receiving server.
    ///   - lifetime: The time in which the assertion can be used: the duration of a request.
    ///   - key: A key of the client, for an algorithm of `JWSAlgorithm.ofClients`.
    ///   - now: The time.
    ///   - random: The source of the assertion's identifier.
    /// - Throws: `JOSEError`: `algorithmNotAllowed`, `invalidKey`.
    public static func parameters(
        clientID: String, issuer: String, lifetime: Duration, with key: SigningKey, at now: Timestamp,
        random: RandomSource
    ) throws(JOSEError) -> Parameters {
        guard JWSAlgorithm.ofClients.contains(key.algorithm) else {
            throw JOSEError(.algorithmNotAllowed, key.algorithm.rawValue)
        }
        let claims: JSONObject = [
            "iss": .string(clientID), "sub": .string(clientID), "aud": .string(issuer),
            "jti": .string(random.token(byteCount: 16)), "iat": .integer(now.seconds),
            "exp": .integer((now + lifetime).seconds),
        ]
        let compact = try JWS.sign(JSON.object(claims).serialized, type: "JWT", with: key)
        return ["client_assertion_type": UnverifiedClientAssertion.type, "client_assertion": compact]
    }
}
