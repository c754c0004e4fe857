import Accounts
import CeremonyEngine
import OAuthProvider
import Pages
import Settings

extension ServerAssembly {
    /// The pages and messages for people.
    var pageAnswers: PageAnswers {
        PageAnswers(
            renderers: PageRenderers { language in
                PageRenderer(
                    serviceName: self.configuration.serviceName, host: self.configuration.host,
                    path: IssuerPath(of: self.configuration.issuer).text,
                    heartbeat: self.configuration.limits.heartbeat, language: language)
            },
            provider: self.provider)
    }

    /// The sign-ins without a browser.
    var challenges: Challenges {
        Challenges(
            self.provider.authorizations,
            by: DirectSignIns(
                passwords: PasswordSignIns(self.passwords), phones: self.ceremonies.signIns, ways: self.ways,
                metrics: self.configuration.metrics, time: self.time))
    }

    /// The endpoints at the public addresses, in the order of their document.
    package var publicEndpoints: [Endpoint] { self.publicEndpoints(self.pageAnswers) }

    func publicEndpoints(_ answers: PageAnswers) -> [Endpoint] {
        let limits = self.configuration.limits
        let cookies = BrowserCookies(
            isSecure: self.configuration.isSecure, path: IssuerPath(of: self.configuration.issuer),
            lifetime: limits.browserCookieLifetime, knownLifetime: limits.passwords.knownBrowserLifetime,
            random: self.random)
        let questions = AccountChangeQuestions(self.passwords)
        let changes = ConfirmedChanges(
            confirmations: self.ceremonies.changes, questions: questions, cookies: cookies)
        let confirmations = self.changeRoutes(changes, answers, cookies)
        let signIns = SignInParts(
            provider: self.provider, upstream: self.upstream, confirmed: confirmations.arrive, answers: answers,
            cookies: cookies, limits: limits, trace: self.trace, metrics: self.configuration.metrics)
        let parts = [
            self.providerEndpoints(answers, cookies), self.signInEndpoints(signIns),
            self.decisionEndpoints(changes, confirmations, signIns), self.ownEndpoints(changes, answers, cookies),
            self.serviceEndpoints, self.phoneEndpoints,
        ]
        return PublicDocument.describing(
            parts.flatMap(\.self), server: IssuerPath(of: self.configuration.issuer))
    }

    /// The endpoints of the OpenID provider, and of the app sign-in service beside the provider.
    private func providerEndpoints(_ answers: PageAnswers, _ cookies: BrowserCookies) -> [Endpoint] {
        let limits = self.configuration.limits
        let authorization = AuthorizationRoutes(
            provider: self.provider, answers: answers, cookies: cookies, limits: limits, trace: self.trace,
            metrics: self.configuration.metrics)
        let hasRegistration = self.configuration.hasRegistration || self.configuration.isRegistrationOpen
        let registration = RegistrationRoutes(registrations: self.registrations, bodyLimit: limits.bodyBytes)
        let service = SignInServiceRoutes(
            service: self.signInService, provider: self.provider, answers: answers, browsers: cookies,
            cookies: SignInServiceCookieFields(
                names: self.signInService.names, isSecure: self.configuration.isSecure,
                refreshPath: IssuerPath(of: self.configuration.issuer).text + SignInServiceRoutes.refreshPath),
            limits: limits, trace: self.trace, time: self.time)
        return authorization.endpoints + self.tokenRoutes.endpoints
            + (hasRegistration ? registration.endpoints : []) + service.endpoints
    }

    /// The addresses of the OpenID provider for programs.
    var tokenRoutes: TokenRoutes {
        TokenRoutes(
            provider: self.provider, devices: self.devices, challenges: self.challenges,
            limits: self.configuration.limits, trace: self.trace)
    }

    /// The endpoints of the pages on which people sign in.
    private func signInEndpoints(_ parts: SignInParts) -> [Endpoint] {
        let (answers, cookies, limits, metrics) = (parts.answers, parts.cookies, parts.limits, parts.metrics)
        let newcomers = Newcomers(self.identities, self.passwords)
        let starts = SignInServiceStarts(
            service: self.signInService, ways: self.ways, answers: answers, limits: limits,
            trace: self.trace)
        let signIns = SignInRoutes(
            signIns: self.ceremonies.signIns, provider: self.provider, ways: self.ways,
            devices: self.devices, newcomers: newcomers, starts: { try await starts.page(of: $0, $1) },
            answers: answers, cookies: cookies, channels: self.channels, limits: limits, trace: self.trace,
            metrics: metrics, time: self.time)
        let devices = DeviceRoutes(
            devices: self.devices, answers: answers, cookies: cookies, limits: limits, ways: self.ways,
            metrics: metrics)
        let invitations = NewcomerRoutes(
            newcomers: newcomers, provider: self.provider, answers: answers, cookies: cookies, limits: limits)
        return PageRoutes(answers: answers).endpoints + signIns.endpoints + devices.endpoints
            + self.ways.endpoints(in: .signIn, parts) + invitations.endpoints
    }

    /// The pages on which a person confirms a change of their account.
    private func changeRoutes(
        _ changes: ConfirmedChanges, _ answers: PageAnswers, _ cookies: BrowserCookies
    ) -> ChangeRoutes {
        ChangeRoutes(
            confirmations: changes.confirmations, signIns: self.ceremonies.signIns,
            passwords: OwnPassword(self.passwords), codes: ChangeCodes(self.passwords), questions: changes.questions,
            upstream: self.upstreamConfirmations, provider: self.provider, answers: answers, cookies: cookies,
            channels: self.channels, limits: self.configuration.limits, metrics: self.configuration.metrics,
            time: self.time)
    }

    /// The endpoints of the pages on which people decide: about a service's data, and about a change of their account.
    private func decisionEndpoints(
        _ changes: ConfirmedChanges, _ confirmations: ChangeRoutes, _ parts: SignInParts
    ) -> [Endpoint] {
        let (answers, cookies, limits) = (parts.answers, parts.cookies, parts.limits)
        let questions = ChangeQuestionRoutes(
            questions: changes.questions, changes: changes, provider: self.provider, answers: answers,
            cookies: cookies, limits: limits, time: self.time)
        let consents = ConsentRoutes(
            provider: self.provider, changes: changes, answers: answers, cookies: cookies, limits: limits,
            trace: self.trace)
        return consents.endpoints + confirmations.endpoints + questions.endpoints
            + self.ways.endpoints(in: .decisions, parts)
    }

    /// The endpoints of the pages on which people see and change what is their own, and of mailed links.
    private func ownEndpoints(
        _ changes: ConfirmedChanges, _ answers: PageAnswers, _ cookies: BrowserCookies
    ) -> [Endpoint] {
        let identities = self.ceremonies.identities
        let limits = self.configuration.limits
        let digits = self.ceremonies.configuration.identities.pinLength
        let passwords = OwnPasswordRoutes(
            passwords: OwnPassword(self.passwords), factors: SecondFactors(self.passwords), provider: self.provider,
            changes: changes, answers: answers, cookies: cookies, limits: limits, hashing: self.configuration.hashing,
            metrics: self.configuration.metrics)
        let activations = ActivationRoutes(
            identities: identities, directory: self.identities, provider: self.provider, answers: answers,
            cookies: cookies, channels: self.channels, issuer: self.configuration.issuer, limits: limits,
            time: self.time)
        let identity = OwnIdentityRoutes(
            identities: identities, directory: self.identities, provider: self.provider, activations: activations,
            confirmations: AddressConfirmations(self.passwords), changes: changes, answers: answers, cookies: cookies,
            limits: limits, digits: digits, time: self.time)
        let invitations = InvitationRoutes(
            identities: identities, directory: self.identities, provider: self.provider, activations: activations,
            answers: answers, cookies: cookies, limits: limits, digits: digits)
        let links = MailedLinkRoutes(
            resets: PasswordResets(self.passwords), confirmations: AddressConfirmations(self.passwords),
            provider: self.provider, changes: changes, answers: answers, cookies: cookies, limits: limits,
            hashing: self.configuration.hashing, metrics: self.configuration.metrics)
        return passwords.endpoints + identity.endpoints + activations.endpoints + invitations.endpoints
            + (self.configuration.mail == nil ? [] : links.endpoints)
    }

    /// The endpoints for back ends of services.
    private var serviceEndpoints: [Endpoint] {
        DispatchRoutes(
            dispatches: self.ceremonies.dispatches, sessions: self.ceremonies.sessions, provider: self.provider,
            clients: ClientAuthorization(provider: self.provider), channels: self.channels,
            limits: self.configuration.limits, trace: self.trace
        ).endpoints
    }

    /// The endpoints for phones.
    private var phoneEndpoints: [Endpoint] {
        let limits = self.configuration.limits
        let devices = DeviceAuthorization(
            provider: self.provider, directory: self.directory, proofs: self.ceremonies.deviceProofs)
        let redemptions = RedeemRoutes(redemptions: self.ceremonies.redemptions, limits: limits, trace: self.trace)
        let uaf = UAFRoutes(
            ceremonies: self.ceremonies, provider: self.provider, devices: devices,
            clients: ClientAuthorization(provider: self.provider), limits: limits, trace: self.trace,
            metrics: self.configuration.metrics)
        let account = AccountRoutes(
            directory: self.directory, provider: self.provider, grants: self.grants, upstream: self.upstreamProviders,
            backchannel: self.ceremonies.backchannel, authorization: devices)
        let root = IdentityRootRoutes(identities: self.ceremonies.identities)
        let identity = IdentityRoutes(identities: self.ceremonies.identities, limits: limits, trace: self.trace)
        return redemptions.endpoints + uaf.endpoints + account.endpoints + root.endpoints + identity.endpoints
    }
}

extension ServerAssembly.Configuration {
    /// The host that people should see in their address bar.
    fileprivate var host: String {
        let address = self.issuer.firstRange(of: "://").map { self.issuer[$0.upperBound...] } ?? self.issuer[...]
        return String(address.utf8.prefix { $0 != UInt8(ascii: "/") }) ?? ""
    }
}
