public import JOSE
import _Primitives

/// A service's JWT for its own access token, without a person and without a second proof of identity, read but not
/// verified (RFC 7523, section 2.1).
public struct UnverifiedServiceAssertion: Sendable, CustomStringConvertible {
    /// The `grant_type`.
    public static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"

    /// The client that the assertion names. Use this value only to find the client's keys.
    public let clientID: String
    /// The key that the assertion names (`kid`). Use this value only to find the key.
    public var keyID: String? { self.token.header.keyID }
    private let token: UnverifiedJWS

    /// Returns `true` if a request has such an assertion, valid or not.
    public static func isPresent(in parameters: Parameters) -> Bool {
        parameters["assertion"] != nil && parameters["grant_type"]?.hasSameBytes(as: Self.grantType) ?? false
    }

    /// Reads the assertion of a request.
    ///
    /// Throws ``OAuthError`` `invalid_grant` if the assertion cannot be read, `invalid_request` if the assertion is
    /// missing or `client_id` names another client.
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

    /// Verifies the assertion (RFC 7523, section 3): the signature, the client as issuer and subject, this issuer as
    /// the only audience, the times, and the presence of an identifier.
    ///
    /// A service acts for itself alone. A service that could name a person here would not need a grant of the person.
    ///
    /// Cost: one signature.
    ///
    /// - Parameters:
    ///   - keys: The registered keys of the client ``clientID``.
    ///   - issuer: The server's own issuer.
    ///   - algorithms: The accepted signature algorithms.
    ///   - window: The time in which the assertion counts.
    /// - Throws: ``OAuthError`` `invalid_grant`.
    public func verified(
        by keys: JWKSet, issuer: String, allowing algorithms: Set<JWSAlgorithm>, within window: ValidityWindow
    ) throws(OAuthError) -> VerifiedClientAssertion {
        try VerifiedClientAssertion(
            self.token, of: self.clientID, by: keys, for: .issuer(issuer), allowing: algorithms, within: window,
            refusal: Self.refusal)
    }

    public var description: String { "UnverifiedServiceAssertion" }

    /// Returns the error for a refused assertion: the same sentence for every reason.
    public static func refused(_ detail: String) -> OAuthError { Self.refusal(detail) }

    private static let refusal = ClientToken.Refusal(code: .invalidGrant, message: "The assertion is not valid.")
}
