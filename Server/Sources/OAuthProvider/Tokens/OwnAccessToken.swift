import JOSE
import OAuth
import _Primitives

/// The content of an access token of this provider.
struct OwnAccessToken: Sendable {
    /// All claims of the token.
    let claims: JSONObject
    /// The token's own identifier (`jti`).
    let id: String
    /// The grant of the token; for a client's own token, the name of the client's own grant.
    let grant: String
    /// The token's client.
    let client: String
    /// The person's subject at the client; for a client's own token, the client.
    let subject: String
    /// The audience at which the token is valid: this provider's issuer, or a resource (RFC 8707).
    let audience: String
    let scope: Scope
    /// The tokens for which this token was exchanged, by their `jti`, the first one first. This token ends with any of
    /// them.
    let parents: [String]
    /// The clients of the earlier tokens.
    let holders: [String]
    /// The audiences of the earlier tokens.
    let audiences: [String]
    let expiresAt: Timestamp
    /// The key or certificate that the token is bound to (`cnf`); `nil` for a token for any holder.
    let binding: TokenBinding?

    /// The scheme by which the token is shown.
    var scheme: PresentedToken.Scheme { self.binding?.scheme ?? .bearer }

    /// The identifiers of the token and of the earlier tokens.
    var names: [String] { [self.id] + self.parents }

    /// `true` if a client has the token for itself, without a person.
    var isOwn: Bool { self.subject.hasSameBytes(as: self.client) }

    /// Reads the claims. Throws `JOSEError` if a claim is missing, as every token of this provider has all claims.
    init(_ claims: JWTClaims) throws {
        func text(_ name: String) throws -> String {
            guard case .string(let text) = claims.members[name] else { throw JOSEError(.malformed, name) }
            return text
        }
        guard let subject = claims.subject, let expiresAt = claims.expiration, claims.audience.count == 1 else {
            throw JOSEError(.malformed, "sub, aud or exp")
        }
        if let confirmation = claims.members["cnf"] {
            guard case .object(let members) = confirmation, let binding = TokenBinding(confirmation: members) else {
                throw JOSEError(.malformed, "cnf")
            }
            self.binding = binding
        } else {
            self.binding = nil
        }
        self.claims = claims.members
        self.id = try text("jti")
        // A token of an earlier version was named after its grant; such tokens live for minutes.
        self.grant = try claims.members[TokenClaim.grant] == nil ? self.id : text(TokenClaim.grant)
        self.client = try text("client_id")
        self.subject = subject
        self.audience = claims.audience[0]
        self.scope = try Scope(text("scope"))
        do {
            self.parents = try claims.members.strings(TokenClaim.parents) ?? []
            self.holders = try claims.members.strings(TokenClaim.holders) ?? []
            self.audiences = try claims.members.strings(TokenClaim.audiences) ?? []
        } catch {
            throw JOSEError(.malformed, TokenClaim.parents)
        }
        guard self.parents.count == self.holders.count, self.parents.count == self.audiences.count else {
            throw JOSEError(.malformed, TokenClaim.holders)
        }
        self.expiresAt = expiresAt
    }
}
