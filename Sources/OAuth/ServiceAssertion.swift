public import JOSE
import _Primitives

/// A JWT for which a service gets an access token of its own, without a person and without a second proof of who it is,
/// read but not verified (RFC 7523, section 2.1).
public struct UnverifiedServiceAssertion: Sendable, CustomStringConvertible {
    /// The `grant_type`.
    public static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"

    /// Whom the assertion claims to be of: to find that client's keys, and for nothing else.
    public let clientID: String
    /// The key that it claims to be signed with (`kid`): to look for that key, and for nothing else.
    public var keyID: String? { self.token.header.keyID }
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
    ) throws(OAuthError) -> VerifiedClientAssertion {
        try VerifiedClientAssertion(
            self.token, of: self.clientID, by: keys, for: .issuer(issuer), allowing: algorithms, within: window,
            refusal: Self.refusal)
    }

    public var description: String { "UnverifiedServiceAssertion" }

    /// What a service is told whose assertion is not taken: one sentence for all.
    public static func refused(_ detail: String) -> OAuthError { Self.refusal(detail) }

    private static let refusal = ClientToken.Refusal(code: .invalidGrant, message: "The assertion is not valid.")
}
