public import JOSE
public import _Primitives

/// A JWT for which a service gets an access token of its own, without a person and without a second proof of who it is,
/// read but not verified (RFC 7523, section 2.1).
public struct UnverifiedServiceAssertion: Sendable, CustomStringConvertible {
    /// The `grant_type`.
    public static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"

    /// Whom the assertion claims to be of: to find that client's keys, and for nothing else.
    public let clientID: String
    private let token: UnverifiedJWS

    /// Whether a request has such an assertion, whatever it is worth.
    public static func isPresent(in parameters: Parameters) -> Bool {
        parameters["assertion"] != nil && parameters["grant_type"]?.hasSameBytes(as: Self.grantType) ?? false
    }

    /// Takes the assertion of a request.
    ///
    /// Throws ``OAuthError`` `invalid_grant` where it cannot be read, `invalid_request` where there is none or `client_id`
    /// names another one.
    public init(_ parameters: Parameters) throws(OAuthError) {
        self.token = try ClientToken.read(
            parameters.required("assertion"), types: ["JWT"], refusal: Self.refusal)
        guard let issuer = self.token.uncheckedClaim("iss"), (1...256).contains(issuer.utf8.count) else {
            throw Self.refusal("iss")
        }
        self.clientID = issuer
        if let named = parameters["client_id"], !named.hasSameBytes(as: issuer) {
            throw OAuthError(.invalidRequest, "The client_id is not the issuer of the assertion.")
        }
    }

    /// Verifies the assertion (RFC 7523, section 3): the signature, that issuer and subject are the client, that it is for
    /// this issuer and for nobody else, its times, and that it has a name.
    ///
    /// A service speaks for itself alone: whoever could name a person here would need no grant of theirs.
    ///
    /// Cost: one signature.
    ///
    /// - Parameters:
    ///   - keys: The keys that the client ``clientID`` has registered.
    ///   - issuer: The server's own issuer.
    ///   - algorithms: What it may be signed with.
    ///   - window: When it counts.
    /// - Throws: ``OAuthError`` `invalid_grant`.
    public func verified(
        by keys: JWKSet, issuer: String, allowing algorithms: Set<JWSAlgorithm>, within window: ValidityWindow
    ) throws(OAuthError) -> VerifiedServiceAssertion {
        let token = try ClientToken(self.token, by: keys, allowing: algorithms, within: window, refusal: Self.refusal)
        guard let own = token.claims.issuer, own.hasSameBytes(as: self.clientID) else { throw Self.refusal("iss") }
        guard let subject = token.claims.subject, subject.hasSameBytes(as: self.clientID) else {
            throw Self.refusal("sub")
        }
        guard case .string(let audience)? = token.claims.members["aud"], audience.hasSameBytes(as: issuer) else {
            throw Self.refusal("aud is not the issuer's address as one text")
        }
        guard let identifier = try token.identifier() else { throw Self.refusal("jti is missing") }
        return VerifiedServiceAssertion(
            clientID: self.clientID, identifier: identifier, repeatableUntil: token.expiration + window.skew)
    }

    public var description: String { "UnverifiedServiceAssertion" }

    /// What a service is told whose assertion is not taken: one sentence for all.
    public static func refused(_ detail: String) -> OAuthError { Self.refusal(detail) }

    private static let refusal = ClientToken.Refusal(code: .invalidGrant, message: "The assertion is not valid.")
}

/// The assertion of a service that has proved who it is. Only ``UnverifiedServiceAssertion`` makes one. It counts once, as
/// ``VerifiedClientAssertion`` does, and no other statement of the client's counts that has its name.
public struct VerifiedServiceAssertion: Hashable, Sendable {
    /// The client that has signed it.
    public let clientID: String
    /// The assertion's name (`jti`), which the client chose.
    public let identifier: String
    /// From this moment on the assertion is refused for its age, and need not be remembered.
    public let repeatableUntil: Timestamp

    fileprivate init(clientID: String, identifier: String, repeatableUntil: Timestamp) {
        self.clientID = clientID
        self.identifier = identifier
        self.repeatableUntil = repeatableUntil
    }

    /// 32 bytes that are the same for two statements of one client with one name.
    public var replayDigest: [UInt8] { OAuth.replayDigest(of: "private_key_jwt", self.clientID, self.identifier) }
}
