import OAuth
import Records
import _Primitives

extension Clients {
    /// The scopes with a meaning at this provider.
    static let scopes = [Scope.openID] + PersonClaims.scopes + [Scope.offlineAccess, Scope.deviceSSO]

    /// Returns the scopes that a client is granted if it requests these. Scopes that the client may not have are left
    /// out. Throws `OAuthError` `invalid_scope` if the request lacks `openid`.
    static func scope(_ text: String?, settings: ClientSettings) throws(OAuthError) -> Scope {
        // A client that may not renew tokens is not refused for requesting the scope, which is left out: OpenID Connect
        // Core 1.0, section 11.
        let mayRenew = settings.grantTypes.containsBytes(of: GrantType.refreshToken.rawValue)
        let scope = try Scope(text ?? "")
            .limited(
                to: Self.scopes.filter {
                    (mayRenew || !$0.hasSameBytes(as: Scope.offlineAccess))
                        && (settings.tokens.group != nil || !$0.hasSameBytes(as: Scope.deviceSSO))
                }
                    + settings.tokens.scopes)
        guard scope.contains(Scope.openID) else { throw OAuthError(.invalidScope, "The scope openid is needed.") }
        return scope
    }
}
