import JOSE
import OAuth
import _Primitives

/// What an access token of ours says.
struct OwnAccessToken: Sendable {
    /// All of it.
    let claims: JSONObject
    /// The token's own name (`jti`).
    let id: String
    /// The grant that it is a leaf of; of a token that a client has for itself, the name of that.
    let grant: String
    /// Whose it is.
    let client: String
    /// The person's name at the client; of a token that a client has for itself, the client.
    let subject: String
    /// Where it can be used: this provider's issuer, or a resource (RFC 8707).
    let audience: String
    let scope: Scope
    /// The tokens that it was exchanged for, by their `jti`, the first one first: with any of them it is over.
    let parents: [String]
    /// The clients whose tokens those are.
    let holders: [String]
    /// What those were for.
    let audiences: [String]
    let expiresAt: Timestamp
    /// What it is bound to (`cnf`); `nil` where it is anybody's who has it.
    let binding: TokenBinding?

    /// How it is shown.
    var scheme: PresentedToken.Scheme { self.binding?.scheme ?? .bearer }

    /// What it is called, and what those are that it was exchanged for.
    var names: [String] { [self.id] + self.parents }

    /// Whether a client has it for itself: nothing stands behind it but the client.
    var isOwn: Bool { self.subject.hasSameBytes(as: self.client) }

    /// Throws `JOSEError` where a claim is missing: no token of ours lacks one.
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
