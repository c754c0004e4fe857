import Crypto
public import JOSE
public import _Primitives

/// A JWT of a service account of the app sign-in service, read but not verified. The service account gets an access
/// token for the JWT (RFC 7523, section 2.1, with the claims of this service).
///
/// The JWT says more than an ``UnverifiedServiceAssertion``: the person for whom the service acts, the places that the
/// token may be used at, and the token's statements about the person.
public struct UnverifiedServiceAccountAssertion: Sendable, CustomStringConvertible {
    /// The service account that the assertion names (`service_account_id`). Use this value only to find the service
    /// account's keys.
    public let accountID: String
    /// The key that the assertion names (`kid`). Use this value only to find the key.
    public var keyID: String? { self.token.header.keyID }
    private let token: UnverifiedJWS
    /// SHA-256 of the signed text, for an assertion without its own identifier. The digest leaves out the signature,
    /// because a text can have many signatures.
    private let contentDigest: String

    /// Reads the assertion of a request.
    ///
    /// Throws ``OAuthError`` `invalid_grant` if the assertion cannot be read, `invalid_request` if the assertion is
    /// missing.
    public init(_ parameters: Parameters) throws(OAuthError) {
        let compact = try parameters.required("assertion")
        self.token = try ClientToken.read(compact, types: ["JWT"], refusal: Self.refusal)
        guard let account = self.token.uncheckedClaim("service_account_id"), (1...256).contains(account.utf8.count)
        else { throw Self.refusal("service_account_id") }
        self.accountID = account
        let signed = compact.utf8.lastIndex(of: UInt8(ascii: ".")).map { compact.utf8[..<$0] } ?? compact.utf8[...]
        self.contentDigest = Base64URL.encode(Array(SHA256.hash(data: Array(signed))))
    }

    /// Verifies the assertion: the signature, the issuer, this server as audience, the times with a required `iat`, and
    /// the form of the requested permissions. The caller has to check if the service account may have these
    /// permissions.
    ///
    /// Cost: one signature.
    ///
    /// - Parameters:
    ///   - keys: The registered keys of the service account ``accountID``.
    ///   - issuer: The required `iss`: the audience of the service account's tokens.
    ///   - audience: The required value of `aud`.
    ///   - algorithms: The accepted signature algorithms.
    ///   - window: The time in which the assertion counts.
    /// - Throws: ``OAuthError`` `invalid_grant`.
    public func verified(
        by keys: JWKSet, issuer: String, for audience: AssertionAudience, allowing algorithms: Set<JWSAlgorithm>,
        within window: ValidityWindow
    ) throws(OAuthError) -> VerifiedServiceAccountAssertion {
        let token = try ClientToken(
            self.token, by: keys, allowing: algorithms, within: window, refusal: Self.refusal)
        let claims = token.claims
        guard let own = claims.issuer, own.hasSameBytes(as: issuer) else {
            throw Self.refusal("iss is not the audience of the service account")
        }
        guard let subject = claims.subject, (1...256).contains(subject.utf8.count) else { throw Self.refusal("sub") }
        if let failure = audience.failure(in: claims) { throw Self.refusal(failure) }
        guard claims.issuedAt != nil else { throw Self.refusal("iat is missing") }
        let scopes: [String]
        let attributes: JSONObject
        do throws(JSONError) {
            scopes = try claims.members.strings("scopes") ?? []
            attributes = try claims.members.object("user_attributes") ?? [:]
        } catch {
            throw Self.refusal(error.reason)
        }
        return VerifiedServiceAccountAssertion(
            accountID: self.accountID, subject: subject, scopes: scopes, userAttributes: attributes,
            identifier: try token.identifier() ?? self.contentDigest,
            repeatableUntil: token.expiration + window.skew)
    }

    public var description: String { "UnverifiedServiceAccountAssertion" }

    /// Returns the error for a refused assertion: the same sentence for every reason.
    public static func refused(_ detail: String) -> OAuthError { Self.refusal(detail) }

    private static let refusal = ClientToken.Refusal(code: .invalidGrant, message: "The assertion is not valid.")
}

/// The assertion of an authenticated service account. Only ``UnverifiedServiceAccountAssertion`` creates a value.
///
/// The assertion counts once, like a ``VerifiedClientAssertion``.
public struct VerifiedServiceAccountAssertion: Sendable {
    /// The service account.
    public let accountID: String
    /// The person for whom the service account acts, by the service account's own name (`sub`). 1 to 256 bytes.
    public let subject: String
    /// The permissions for the token (`scopes`); empty if the assertion requests none.
    public let scopes: [String]
    /// The token's statements about the person, in the words of the service account (`user_attributes`).
    public let userAttributes: JSONObject
    /// The assertion's identifier (`jti`), chosen by the service, or else a digest of the assertion without its
    /// signature.
    let identifier: String
    /// The moment from which the assertion is refused because of its age. The server need not remember the assertion
    /// after this moment.
    public let repeatableUntil: Timestamp

    /// 32 bytes that are equal for two assertions of the same service account with the same identifier.
    public var replayDigest: [UInt8] { OAuth.replayDigest(of: "service account", self.accountID, self.identifier) }
}
