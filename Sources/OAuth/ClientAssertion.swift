public import JOSE
public import _Primitives

/// A JWT by which a client says who it is, `private_key_jwt`, read but not verified (RFC 7523, section 2.2; OpenID Connect
/// Core 1.0, section 9).
public struct UnverifiedClientAssertion: Sendable, CustomStringConvertible {
    /// The only `client_assertion_type`.
    public static let type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
    /// The name of this way to authenticate (`token_endpoint_auth_method`).
    public static let method = "private_key_jwt"

    /// Whom the assertion claims to be of: to find that client's keys, and for nothing else.
    public let clientID: String
    /// The key that it claims to be signed with (`kid`): to look for that key, and for nothing else.
    public var keyID: String? { self.token.header.keyID }
    private let token: UnverifiedJWS

    /// Whether a request has an assertion, whatever it is worth.
    public static func isPresent(in parameters: Parameters) -> Bool {
        parameters["client_assertion"] != nil || parameters["client_assertion_type"] != nil
    }

    /// Takes the assertion of a request that authenticates in no other way (RFC 7521, section 4.2; RFC 6749, section 2.3).
    ///
    /// - Parameters:
    ///   - header: The value of `Authorization`, or `nil`.
    ///   - parameters: The request's body.
    /// - Throws: ``OAuthError`` `invalid_client` where there is none or it cannot be read, `invalid_request` where the
    ///   client authenticates in two ways, or where `client_id` names another one.
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

    /// Verifies the assertion (RFC 7523, section 3): the signature, that issuer and subject are the client, that it is for
    /// this server, its times, and that it has a name.
    ///
    /// A signature, and not `aud`, is what is looked at first: whoever is told that the audience is another holds the key.
    ///
    /// Cost: one signature.
    ///
    /// - Parameters:
    ///   - keys: The keys that the client ``clientID`` has registered.
    ///   - audience: What `aud` has to name.
    ///   - algorithms: `JWSAlgorithm.ofFAPI2` or, for clients of no such profile, `JWSAlgorithm.ofClients`.
    ///   - window: When it counts.
    /// - Throws: ``OAuthError`` `invalid_client`; with the advice of the audience where all but the audience was looked at
    ///   and is right.
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

/// Whom an assertion is for (`aud`).
public enum AssertionAudience: Sendable {
    /// This server by its issuer's address, as one text and nobody else (FAPI 2.0 Security Profile, section 5.3.2.1).
    case issuer(String)
    /// This server by one of its names, as one text or in a list that names nobody else: an assertion that names another
    /// server, too, could have been made for that one. A client that is refused for it is told the advice.
    case names([String], advice: String)
    /// The address that the assertion is sent to, alone or in a list: for clients that know that address and no metadata,
    /// so that no other server can have told them a wrong one.
    case endpoint(String)

    /// Why claims are not for it; `nil` where they are.
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

    /// What a client is told whose assertion is for somebody else.
    func refused(_ refusal: ClientToken.Refusal, _ failure: String) -> OAuthError {
        guard case .names(_, let advice) = self else { return refusal(failure) }
        return OAuthError(refusal.code, "\(refusal.message) \(advice)", detail: failure)
    }
}

/// The assertion of a client that has proved who it is. Only ``UnverifiedClientAssertion`` and
/// ``UnverifiedServiceAssertion`` make one.
///
/// It counts once: a server takes it when it has remembered ``replayDigest``, which nobody had shown before (FAPI 2.0
/// Security Profile, section 5.3.2.1; RFC 7523, section 3, rule 7). No other assertion of the client's counts that has its
/// name, whatever it is for.
public struct VerifiedClientAssertion: Hashable, Sendable {
    /// The client that has authenticated.
    public let clientID: String
    /// The assertion's name (`jti`), which the client chose.
    public let identifier: String
    /// From this moment on the assertion is refused for its age, and need not be remembered.
    public let repeatableUntil: Timestamp

    /// Verifies what a client says of itself (RFC 7523, section 3): the signature, that issuer and subject are the client,
    /// that it is for this server, its times, and that it has a name.
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

    /// 32 bytes that are the same for two assertions of one client with one name.
    public var replayDigest: [UInt8] { OAuth.replayDigest(of: "private_key_jwt", self.clientID, self.identifier) }
}

/// Makes assertions for a client.
public enum ClientAssertion {
    /// The parameters by which the owner of a key authenticates once (RFC 7521, section 4.2). They belong into the body.
    ///
    /// - Parameters:
    ///   - clientID: The client.
    ///   - issuer: The issuer of the server that it is for.
    ///   - lifetime: How long it can be used: as long as a request takes.
    ///   - key: A key of the client, for an algorithm of `JWSAlgorithm.ofClients`.
    ///   - now: The time.
    ///   - random: Where the assertion's name comes from.
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
