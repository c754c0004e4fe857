import Accounts
import CeremonyEngine
import OAuthProvider
import Pages
import Settings

extension ServerAssembly {
    /// The pages and messages for people.
    var pageAnswers: PageAnswers {
        PageAnswers(
            pages: PageRenderer(
                serviceName: self.configuration.serviceName, host: self.configuration.host,
                path: IssuerPath(of: self.configuration.issuer).text, heartbeat: self.configuration.limits.heartbeat),
            provider: self.provider)
    }

    /// The sign-ins without a browser.
    var challenges: Challenges {
        Challenges(
            self.provider,
            by: DirectSignIns(
                passwords: PasswordSignIns(self.passwords), phones: self.ceremonies.signIns,
                metrics: self.configuration.metrics, time: self.time))
    }

    /// Mounts the pages for browsers, and the OpenID provider.
    func mountPages(on router: ServerRouter, _ answers: PageAnswers) {
        let limits = self.configuration.limits
        let cookies = BrowserCookies(
            isSecure: self.configuration.isSecure, path: IssuerPath(of: self.configuration.issuer),
            lifetime: limits.browserCookieLifetime, knownLifetime: limits.passwords.knownBrowserLifetime,
            random: self.random)
        PageRoutes(pages: answers.pages).mount(on: router)
        let devices = self.devices
        DeviceRoutes(
            devices: devices, answers: answers, cookies: cookies, limits: limits, metrics: self.configuration.metrics
        ).mount(on: router)
        let starts = SignInServiceStarts(
            service: self.signInService, upstream: self.upstream, answers: answers, limits: limits,
            trace: self.trace)
        let newcomers = Newcomers(self.identities, self.passwords)
        NewcomerRoutes(
            newcomers: newcomers, provider: self.provider, answers: answers, cookies: cookies, limits: limits
        ).mount(on: router)
        SignInRoutes(
            signIns: self.ceremonies.signIns, provider: self.provider, upstream: self.upstream, devices: devices,
            newcomers: newcomers,
            starts: { try await starts.page(of: $0, $1) },
            answers: answers, cookies: cookies, channels: self.channels, limits: limits, trace: self.trace,
            metrics: self.configuration.metrics,
            time: self.time
        ).mount(on: router)
        PasswordSignInRoutes(
            signIns: PasswordSignIns(self.passwords), provider: self.provider, answers: answers, cookies: cookies,
            limits: limits, hashing: self.configuration.hashing, metrics: self.configuration.metrics,
            hasMail: self.configuration.mail != nil
        ).mount(on: router)
        let questions = AccountChangeQuestions(self.passwords)
        let changes = ConfirmedChanges(
            confirmations: self.ceremonies.changes, questions: questions, cookies: cookies)
        ChangeQuestionRoutes(
            questions: questions, changes: changes, provider: self.provider, answers: answers, cookies: cookies,
            limits: limits, time: self.time
        ).mount(on: router)
        let confirmations = ChangeRoutes(
            confirmations: self.ceremonies.changes, signIns: self.ceremonies.signIns,
            passwords: OwnPassword(self.passwords), codes: ChangeCodes(self.passwords), questions: questions,
            upstream: self.upstreamConfirmations, provider: self.provider, answers: answers, cookies: cookies,
            channels: self.channels, limits: limits, metrics: self.configuration.metrics, time: self.time)
        confirmations.mount(on: router)
        UpstreamRoutes(
            signIns: self.upstream, confirmed: confirmations.arrive, answers: answers, cookies: cookies, limits: limits,
            trace: self.trace, metrics: self.configuration.metrics
        ).mount(on: router)
        ConsentRoutes(
            provider: self.provider, changes: changes, answers: answers, cookies: cookies, limits: limits,
            trace: self.trace
        ).mount(on: router)
        OwnPasswordRoutes(
            passwords: OwnPassword(self.passwords), factors: SecondFactors(self.passwords), provider: self.provider,
            changes: changes, answers: answers, cookies: cookies, limits: limits, hashing: self.configuration.hashing,
            metrics: self.configuration.metrics
        ).mount(on: router)
        self.mountIdentityPages(on: router, changes, answers, cookies)
        if self.configuration.mail != nil {
            MailedLinkRoutes(
                resets: PasswordResets(self.passwords), confirmations: AddressConfirmations(self.passwords),
                provider: self.provider, changes: changes, answers: answers, cookies: cookies, limits: limits,
                hashing: self.configuration.hashing, metrics: self.configuration.metrics
            ).mount(on: router)
        }
        AuthorizationRoutes(
            provider: self.provider, answers: answers, cookies: cookies, limits: limits, trace: self.trace,
            metrics: self.configuration.metrics
        ).mount(on: router)
        SignInServiceRoutes(
            service: self.signInService, provider: self.provider, answers: answers, browsers: cookies,
            cookies: SignInServiceCookieFields(
                names: self.signInService.names, isSecure: self.configuration.isSecure,
                refreshPath: IssuerPath(of: self.configuration.issuer).text + SignInServiceRoutes.refreshPath),
            limits: limits, trace: self.trace, time: self.time
        ).mount(on: router)
        if self.configuration.hasRegistration || self.configuration.isRegistrationOpen {
            RegistrationRoutes(registrations: self.registrations, bodyLimit: limits.bodyBytes).mount(on: router)
        }
        TokenRoutes(
            provider: self.provider, devices: devices, challenges: self.challenges,
            limits: limits, trace: self.trace
        ).mount(on: router)
    }
}

extension ServerAssembly {
    /// Mounts the pages on which people see their own identities, and the pages behind invitations.
    private func mountIdentityPages(
        on router: ServerRouter, _ changes: ConfirmedChanges, _ answers: PageAnswers, _ cookies: BrowserCookies
    ) {
        let identities = self.ceremonies.identities
        let limits = self.configuration.limits
        let digits = self.ceremonies.configuration.identities.pinLength
        let activations = ActivationRoutes(
            identities: identities, directory: self.identities, provider: self.provider, answers: answers,
            cookies: cookies, channels: self.channels, issuer: self.configuration.issuer, limits: limits,
            time: self.time)
        activations.mount(on: router)
        OwnIdentityRoutes(
            identities: identities, directory: self.identities, provider: self.provider, activations: activations,
            confirmations: AddressConfirmations(self.passwords), changes: changes, answers: answers, cookies: cookies,
            limits: limits, digits: digits, time: self.time
        ).mount(on: router)
        InvitationRoutes(
            identities: identities, directory: self.identities, provider: self.provider, activations: activations,
            answers: answers, cookies: cookies, limits: limits, digits: digits
        ).mount(on: router)
    }
}

extension ServerAssembly.Configuration {
    /// The host that people should see in their address bar.
    fileprivate var host: String {
        let address = self.issuer.firstRange(of: "://").map { self.issuer[$0.upperBound...] } ?? self.issuer[...]
        return String(address.utf8.prefix { $0 != UInt8(ascii: "/") }) ?? ""
    }
}
