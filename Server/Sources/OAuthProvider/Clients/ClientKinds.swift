import JOSE
import OAuth
import Store
import _Primitives

extension OpenIDProvider {
    /// The grant for a service itself, without a person (RFC 6749, section 4.4).
    private static let ownGrant = "client_credentials"

    /// Holds what kind of client it is to be against what there is, and against itself. Throws `OAuthError`
    /// `invalid_request` with a sentence for the administrator.
    func checkKind(of client: ClientRecord) throws {
        let settings = client.settings
        if settings.isPublic { try Self.checkPublic(settings) }
        let known = Self.tokenGrants.map { type(of: $0).type }
        guard !settings.grantTypes.isEmpty, settings.grantTypes.allSatisfy(known.containsBytes),
            Set(settings.grantTypes.map(ExactText.init)).count == settings.grantTypes.count
        else {
            throw OAuthError(
                .invalidRequest,
                "A client has one grant type or more of these, each once: \(known.joined(separator: ", ")).")
        }
        let methods = Self.clientCredentials.flatMap { $0.methods }
        guard methods.containsBytes(of: settings.authenticationMethod) else {
            throw OAuthError(
                .invalidRequest, "A client authenticates in one of these ways: \(methods.joined(separator: ", ")).")
        }
        if PrivateKeyJWT.methods.containsBytes(of: settings.authenticationMethod), settings.keySet == nil {
            throw OAuthError(.invalidRequest, "A client that authenticates by private_key_jwt needs its keys (jwks).")
        }
        for address in client.redirectURIs + client.postLogoutRedirectURIs {
            _ = try RedirectURI(address, allowing: settings.redirectKinds)
        }
    }

    /// What a client that proves nothing can never have.
    private static func checkPublic(_ settings: ClientSettings) throws {
        guard !settings.grantTypes.containsBytes(of: Self.ownGrant) else {
            throw OAuthError(
                .invalidRequest, "A client without a way to authenticate cannot have the grant type \(Self.ownGrant).")
        }
        guard !settings.grantTypes.containsBytes(of: BackchannelAuthenticationGrant.type) else {
            throw OAuthError(
                .invalidRequest,
                "A client without a way to authenticate cannot have the grant type \(BackchannelAuthenticationGrant.type)."
            )
        }
        guard settings.codeBinding == .pkce else {
            throw OAuthError(
                .invalidRequest,
                "A client without a way to authenticate needs PKCE: its codes are bound to a challenge.")
        }
    }

    /// The keys of a client as they are kept: what is known of them, and nothing that came beside. Throws `OAuthError`
    /// with a sentence for the administrator.
    func keySet(_ text: String) throws -> String {
        let most = self.limits.oauth.keySetBytes
        guard text.utf8.count <= most else {
            throw OAuthError(.invalidClientMetadata, "The key set has more than \(most) bytes.")
        }
        return JSON.object(try JWKSet(ofClient: Array(text.utf8)).publicJSON).text
    }
}
