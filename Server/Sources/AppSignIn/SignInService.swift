import JOSE
public import OAuthProvider
import Records
public import _Primitives

/// The app sign-in service: the second face of the provider, for apps that keep people signed in and for the web sites
/// that the apps open (rows F010 to F056 of the parity table).
///
/// Only its serialisers, names and errors are its own. It issues grants, codes and refresh tokens like those of any
/// client, and its sessions are lasting grants. Each face refuses the tokens of the other.
public final class SignInService: Sendable {
    /// The names that a deployment chooses.
    public struct Names: Sendable, Equatable {
        /// The issuer in the access tokens (`iss`): any text. `nil` for the server's address.
        public var issuer: String?
        /// The start of the names of cookies.
        public var cookiePrefix: String
        /// The site whose hosts all get the cookies for more than this host; `nil` for this host alone.
        public var cookieDomain: String?

        /// Creates names; by default this product's own, and cookies for this host alone.
        public init(issuer: String? = nil, cookiePrefix: String = "countersign", cookieDomain: String? = nil) {
            self.issuer = issuer
            self.cookiePrefix = cookiePrefix
            self.cookieDomain = cookieDomain
        }
    }

    /// The deployment's names.
    public let names: Names
    /// Begins sign-ins.
    public let authorizations: SignInServiceAuthorizations
    /// The token endpoint.
    public let tokens: SignInServiceTokenEndpoint
    /// Sessions that apps and web sites pass to each other.
    public let passedOn: PassedOnSessions
    /// Renews and ends sessions by their refresh tokens.
    public let renewals: SignInServiceRenewals
    /// Signs people out.
    public let signOuts: SignInServiceSignOuts
    /// Tells clients about the person of a session.
    public let introspection: SignInServiceIntrospection
    private let clients: Clients

    /// Creates the service beside a provider.
    public init(
        _ provider: OpenIDProvider, grants: AccountGrants, upstream: UpstreamSignIns, names: Names = Names()
    ) {
        let (store, clients, tokens) = (provider.store, provider.clients, provider.tokens)
        let signIns = provider.authorizations.signIns
        let issuer = names.issuer ?? clients.issuer
        let endpoint = SignInServiceEndpoint(clients: clients, proofs: tokens.proofs)
        let pages = SignInServicePages(issuer: clients.issuer)
        let sessions = SignInServiceSessions(store: store, endpoint: endpoint, tokens: tokens, issuer: issuer)
        let passedOn = PassedOnSessions(
            store: store, sessions: sessions, pages: pages, standing: tokens.standing, signIns: signIns)
        self.names = names
        self.clients = clients
        self.authorizations = SignInServiceAuthorizations(
            store: store, providers: upstream.store, endpoint: endpoint, signIns: signIns)
        self.tokens = SignInServiceTokenEndpoint(
            codes: SignInServiceCodes(store: store, sessions: sessions, pages: pages), passedOn: passedOn,
            accounts: SignInServiceAccounts(store: store, endpoint: endpoint, issuer: issuer))
        self.passedOn = passedOn
        self.renewals = SignInServiceRenewals(
            store: store, sessions: sessions, pages: pages, renewals: provider.renewals,
            wrongFace: provider.authorizations.wrongFace)
        self.signOuts = SignInServiceSignOuts(
            sessions: sessions, pages: pages, browsers: provider.sessions, grants: grants, upstream: upstream)
        self.introspection = SignInServiceIntrospection(sessions: sessions, standing: tokens.standing)
    }

    /// Returns `true` if the service has a client. Without a client the service offers nothing.
    ///
    /// Cost: one query.
    public func isOffered() async throws -> Bool { try await self.clients.store.hasSignInServiceClient() }

    /// The public keys that verify the service's access tokens.
    public var keySet: JSONObject {
        self.clients.keys.signing.publicKeys(of: .signInService, at: self.clients.time.now()).publicJSON
    }
}
