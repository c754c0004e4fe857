public import JOSE
import OAuth
import Settings
public import _Primitives

/// The issuers that may vouch for software (RFC 7591, section 2.3). The operator has named the issuers and given their
/// keys.
public struct SoftwareStatementIssuers: Sendable {
    /// The keys, by the issuer's name (`iss`).
    private let keys: [ExactText: JWKSet]

    /// Creates the list of these issuers, each with its keys.
    public init(_ keys: [ExactText: JWKSet] = [:]) { self.keys = keys }

    /// Returns a statement's claims about a client, which replace the client's own. Throws `OAuthError`
    /// `invalid_software_statement` if the issuer is not listed, the signature is not the issuer's, or the statement
    /// has ended or not yet begun.
    ///
    /// Cost: one signature.
    func claims(of statement: String, within window: ValidityWindow) throws -> JSONObject {
        func refusal(_ detail: String) -> OAuthError {
            OAuthError(.invalidSoftwareStatement, "The software statement is not valid here.", detail: detail)
        }
        do {
            let token = try UnverifiedJWS(
                compact: statement, limits: JOSELimits(compactLength: Limits.Fixed.signedTokenCharacters))
            guard let issuer = token.uncheckedClaim("iss") else { throw refusal("iss is missing") }
            guard let keys = self.keys[ExactText(issuer)] else {
                throw refusal("its issuer is not one of softwareStatements")
            }
            let claims = try JWTClaims(token.verified(by: keys, allowing: JWSAlgorithm.ofClients))
            if let end = claims.expiration, window.now >= end + window.skew { throw refusal("expired") }
            if let begin = claims.notBefore, begin > window.now + window.skew { throw refusal("nbf") }
            return claims.members
        } catch let error as JOSEError {
            throw refusal("\(error)")
        }
    }
}
