package import Accounts
package import Ceremony
package import CeremonyEngine
package import Endpoints
package import Hummingbird
package import OAuthProvider
package import Settings

/// The public addresses for programs: clients of the OpenID provider, back ends of services, and phones.
package struct PublicAPI: Sendable {
    /// The parts of a server that the addresses for programs are made of.
    package struct Parts: Sendable {
        let provider: OpenIDProvider
        let devices: DeviceAuthorizations
        let challenges: Challenges
        let registrations: ClientRegistrations
        let ceremonies: CeremonyEngine
        let directory: AccountDirectory
        let grants: AccountGrants
        let upstream: UpstreamProviders
        let channels: EventChannels

        /// Names the parts.
        package init(
            provider: OpenIDProvider, devices: DeviceAuthorizations, challenges: Challenges,
            registrations: ClientRegistrations, ceremonies: CeremonyEngine, directory: AccountDirectory,
            grants: AccountGrants, upstream: UpstreamProviders, channels: EventChannels
        ) {
            self.provider = provider
            self.devices = devices
            self.challenges = challenges
            self.registrations = registrations
            self.ceremonies = ceremonies
            self.directory = directory
            self.grants = grants
            self.upstream = upstream
            self.channels = channels
        }
    }

    private let parts: Parts
    private let hasRegistration: Bool
    private let sessionCookie: SessionCookie
    private let limits: Limits
    private let trace: TraceRecorder?

    /// Creates the addresses over the parts of a server.
    ///
    /// - Parameters:
    ///   - hasRegistration: `true` if clients can register themselves.
    ///   - sessionCookie: The cookie of a signed-in browser, which an app may have too.
    ///   - trace: The recorder of runs' events; `nil` if the server records no runs.
    package init(
        _ parts: Parts, hasRegistration: Bool, sessionCookie: SessionCookie, limits: Limits, trace: TraceRecorder?
    ) {
        self.sessionCookie = sessionCookie
        self.parts = parts
        self.hasRegistration = hasRegistration
        self.limits = limits
        self.trace = trace
    }

    /// The endpoints of the OpenID provider for programs.
    package var providerEndpoints: [Endpoint] {
        let registration = RegistrationRoutes(
            registrations: self.parts.registrations, bodyLimit: self.limits.bodyBytes)
        return self.tokenRoutes.endpoints + (self.hasRegistration ? registration.endpoints : [])
    }

    /// The endpoints that clients call by themselves, and at which clients may show a certificate.
    package var clientEndpoints: [Endpoint] { self.tokenRoutes.clientEndpoints }

    private var tokenRoutes: TokenRoutes {
        TokenRoutes(
            provider: self.parts.provider, devices: self.parts.devices, challenges: self.parts.challenges,
            limits: self.limits, trace: self.trace)
    }

    /// The endpoints for back ends of services.
    package var serviceEndpoints: [Endpoint] {
        DispatchRoutes(
            dispatches: self.parts.ceremonies.dispatches, sessions: self.parts.ceremonies.sessions,
            enrolments: self.parts.ceremonies.enrolments,
            documents: SessionStatusDocuments(provider: self.parts.provider, limits: self.limits),
            clients: ClientAuthorization(provider: self.parts.provider),
            channels: self.parts.channels, limits: self.limits, trace: self.trace
        ).endpoints + self.receiptRoutes.serviceEndpoints
    }

    private var receiptRoutes: ReceiptRoutes {
        ReceiptRoutes(
            receipts: self.parts.ceremonies.receipts, clients: ClientAuthorization(provider: self.parts.provider),
            authorization: DeviceAuthorization(
                provider: self.parts.provider, directory: self.parts.directory,
                proofs: self.parts.ceremonies.deviceProofs))
    }

    /// The endpoints for back ends on the listener that the public does not reach.
    package var internalEndpoints: [Endpoint] {
        ClientTargetRoutes(
            targets: self.parts.ceremonies.dispatchTargets, clients: ClientAuthorization(provider: self.parts.provider)
        ).endpoints
    }

    /// The endpoints for phones.
    package var phoneEndpoints: [Endpoint] {
        let (ceremonies, provider) = (self.parts.ceremonies, self.parts.provider)
        let devices = DeviceAuthorization(
            provider: provider, directory: self.parts.directory, proofs: ceremonies.deviceProofs)
        let redemptions = RedeemRoutes(
            redemptions: ceremonies.redemptions, devices: devices, limits: self.limits, trace: self.trace)
        let uaf = UAFRoutes(
            ceremonies: ceremonies, provider: provider, devices: devices,
            clients: ClientAuthorization(provider: provider),
            sessions: SessionHolders(provider: provider, devices: devices, cookie: self.sessionCookie),
            limits: self.limits, trace: self.trace)
        let account = AccountRoutes(
            directory: self.parts.directory, provider: provider, grants: self.parts.grants,
            upstream: self.parts.upstream, backchannel: ceremonies.backchannel,
            enrolments: ceremonies.enrolments, deviceLimits: ceremonies.deviceLimits, authorization: devices)
        let targets = DispatchTargetRoutes(
            targets: ceremonies.deviceTargets, authorization: devices, bodyLimit: self.limits.bodyBytes)
        let operations = DeviceRoutes(
            operations: ceremonies.deviceOperations, authorization: devices, channels: self.parts.channels,
            limits: self.limits)
        let approvals = DeviceApprovalRoutes(approvals: ceremonies.approvals, authorization: devices)
        let associations = AppAssociationRoutes(
            apps: ceremonies.configuration.apps, issuer: ceremonies.configuration.issuer)
        let root = IdentityRootRoutes(identities: ceremonies.identities)
        let identity = IdentityRoutes(identities: ceremonies.identities, limits: self.limits, trace: self.trace)
        return self.receiptRoutes.phoneEndpoints + redemptions.endpoints + operations.endpoints
            + approvals.endpoints + uaf.endpoints + associations.endpoints + account.endpoints + targets.endpoints
            + root.endpoints + identity.endpoints
    }

    /// Returns the middleware by which scripts of registered origins may read answers at the addresses for programs,
    /// on a server with this path.
    package func crossOrigin(below path: IssuerPath) -> any MiddlewareProtocol<Request, Response, ServerContext> {
        CrossOriginMiddleware(provider: self.parts.provider, path: path)
    }
}
