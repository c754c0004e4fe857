import Accounts
import CeremonyEngine
import OAuthProvider
import Pages
import Store

extension ServerAssembly {
    /// What people are told.
    var pageAnswers: PageAnswers {
        PageAnswers(
            pages: PageRenderer(serviceName: self.configuration.serviceName, host: self.configuration.host),
            provider: self.provider)
    }

    /// Mounts what browsers see, and the OpenID provider.
    func mountPages(on router: ServerRouter, _ answers: PageAnswers) {
        let limits = self.configuration.limits
        let cookies = BrowserCookies(
            isSecure: self.configuration.isSecure, lifetime: limits.browserCookieLifetime, random: self.random)
        PageRoutes(pages: answers.pages).mount(on: router)
        let devices = self.devices
        DeviceRoutes(
            devices: devices, answers: answers, cookies: cookies, limits: limits, metrics: self.configuration.metrics
        ).mount(on: router)
        SignInRoutes(
            signIns: self.ceremonies.signIns, provider: self.provider, upstream: self.upstream, devices: devices,
            answers: answers, cookies: cookies, channels: self.channels, limits: limits, trace: self.trace,
            metrics: self.configuration.metrics,
            time: self.time
        ).mount(on: router)
        PasswordSignInRoutes(
            signIns: PasswordSignIns(self.passwords), provider: self.provider, answers: answers, cookies: cookies,
            limits: limits, hashing: self.configuration.hashing, metrics: self.configuration.metrics,
            hasMail: self.configuration.mail != nil
        ).mount(on: router)
        UpstreamRoutes(
            signIns: self.upstream, answers: answers, cookies: cookies, limits: limits,
            metrics: self.configuration.metrics
        ).mount(on: router)
        ConsentRoutes(provider: self.provider, answers: answers, cookies: cookies, limits: limits).mount(on: router)
        OwnPasswordRoutes(
            passwords: OwnPassword(self.passwords), factors: SecondFactors(self.passwords), provider: self.provider,
            answers: answers, cookies: cookies, limits: limits, hashing: self.configuration.hashing,
            metrics: self.configuration.metrics
        ).mount(on: router)
        if self.configuration.mail != nil {
            MailedLinkRoutes(
                resets: PasswordResets(self.passwords), confirmations: AddressConfirmations(self.passwords),
                provider: self.provider, answers: answers, cookies: cookies, limits: limits,
                hashing: self.configuration.hashing, metrics: self.configuration.metrics
            ).mount(on: router)
        }
        AuthorizationRoutes(
            provider: self.provider, answers: answers, cookies: cookies, limits: limits, trace: self.trace,
            metrics: self.configuration.metrics
        ).mount(on: router)
        if self.configuration.hasRegistration {
            RegistrationRoutes(registrations: self.registrations, bodyLimit: limits.bodyBytes).mount(on: router)
        }
        TokenRoutes(provider: self.provider, devices: devices, limits: limits, trace: self.trace).mount(on: router)
    }
}

extension ServerAssembly.Configuration {
    /// What people should see in their address bar.
    fileprivate var host: String {
        self.issuer.firstRange(of: "://").map { String(self.issuer[$0.upperBound...]) } ?? self.issuer
    }
}
