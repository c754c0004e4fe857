import Crypto
public import JOSE
public import _Primitives

/// A JWT for which a service account of the app sign-in service gets an access token, read but not verified (RFC 7523,
/// section 2.1, with that service's own claims).
///
/// It says more than an ``UnverifiedServiceAssertion``: for whom the service acts, where it is let, and what its token says
/// of that person.
public struct UnverifiedServiceAccountAssertion: Sendable, CustomStringConvertible {
    /// Which service account the assertion claims to be of (`service_account_id`): to find that one's keys, and for nothing
    /// else.
    public let accountID: String
    /// The key that it claims to be signed with (`kid`): to look for that key, and for nothing else.
    public var keyID: String? { self.token.header.keyID }
    private let token: UnverifiedJWS
    /// SHA-256 of what is signed, for an assertion without a name of its own. The signature is not in it: of one text
    /// there can be many.
    private let contentDigest: String

    /// Takes the assertion of a request.
    ///
    /// Throws ``OAuthError`` `invalid_grant` where it cannot be read, `invalid_request` where there is none.
    public init(_ parameters: Parameters) throws(OAuthError) {
        let compact = try parameters.required("assertion")
        self.token = try ClientToken.read(compact, types: ["JWT"], refusal: Self.refusal)
        guard let account = self.token.uncheckedClaim("service_account_id"), (1...256).contains(account.utf8.count)
        else { throw Self.refusal("service_account_id") }
        self.accountID = account
        let signed = compact.utf8.lastIndex(of: UInt8(ascii: ".")).map { compact.utf8[..<$0] } ?? compact.utf8[...]
        self.contentDigest = Base64URL.encode(Array(SHA256.hash(data: Array(signed))))
    }

    /// Verifies the assertion: the signature, whose it is, that it is for this server, its times, and the form of what it
    /// asks for. Whether the service account may have that is for the caller to say.
    ///
    /// Cost: one signature.
    ///
    /// - Parameters:
    ///   - keys: The keys that the service account ``accountID`` has registered.
    ///   - issuer: What `iss` is: the audience of the service account's tokens.
    ///   - audience: What `aud` has to name.
    ///   - algorithms: What it may be signed with.
    ///   - window: When it counts.
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

    /// What a service is told whose assertion is not taken: one sentence for all.
    public static func refused(_ detail: String) -> OAuthError { Self.refusal(detail) }

    private static let refusal = ClientToken.Refusal(code: .invalidGrant, message: "The assertion is not valid.")
}

/// The assertion of a service account that has proved who it is. Only ``UnverifiedServiceAccountAssertion`` makes one.
///
/// It counts once, as a ``VerifiedClientAssertion`` does.
public struct VerifiedServiceAccountAssertion: Sendable {
    /// The service account.
    public let accountID: String
    /// For whom it acts, in a word of its own (`sub`). 1 to 256 bytes.
    public let subject: String
    /// Where its token is let (`scopes`); empty where it asks for nothing.
    public let scopes: [String]
    /// What its token says of the person, in the words of the service account (`user_attributes`).
    public let userAttributes: JSONObject
    /// The assertion's name (`jti`), which the service chose, or in the place of that a digest of all that it says.
    let identifier: String
    /// From this moment on the assertion is refused for its age, and need not be remembered.
    public let repeatableUntil: Timestamp

    /// 32 bytes that are the same for two assertions of one service account with one name.
    public var replayDigest: [UInt8] { OAuth.replayDigest(of: "service account", self.accountID, self.identifier) }
}
