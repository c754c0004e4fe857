package import Accounts
package import AppSignIn
package import Ceremony
package import CeremonyEngine
package import Endpoints
package import Hummingbird
package import OAuthProvider
import Pages
package import Passwords
package import Settings
package import _Primitives

/// The pages for people: signing in, deciding, and everything that is a person's own.
package struct WebPages: Sendable {
    /// The parts of a server that the pages are made of.
    package struct Parts: Sendable {
        let provider: OpenIDProvider
        let upstream: UpstreamSignIns
        let signInService: SignInService
        let ways: SignInWays
        let devices: DeviceAuthorizations
        let ceremonies: CeremonyEngine
        let identities: IdentityDirectory
        let passwords: PasswordAccounts
        let channels: EventChannels

        /// Names the parts.
        package init(
            provider: OpenIDProvider, upstream: UpstreamSignIns, signInService: SignInService, ways: SignInWays,
            devices: DeviceAuthorizations, ceremonies: CeremonyEngine, identities: IdentityDirectory,
            passwords: PasswordAccounts, channels: EventChannels
        ) {
            self.provider = provider
            self.upstream = upstream
            self.signInService = signInService
            self.ways = ways
            self.devices = devices
            self.ceremonies = ceremonies
            self.identities = identities
            self.passwords = passwords
            self.channels = channels
        }
    }

    /// The choices of an operator.
    package struct Configuration: Sendable {
        let issuer: String
        let isSecure: Bool
        let serviceName: String
        let sendsMail: Bool
        let hashing: PasswordLimits
        let limits: Limits

        /// Creates the choices.
        ///
        /// - Parameters:
        ///   - issuer: The server's address, without a slash at its end.
        ///   - isSecure: `true` if people reach the server by https.
        ///   - serviceName: The name that pages show.
        ///   - sendsMail: `true` if the server sends mail.
        ///   - hashing: The bounds of passwords.
        ///   - limits: Every time, count and size.
        package init(
            issuer: String, isSecure: Bool, serviceName: String, sendsMail: Bool, hashing: PasswordLimits,
            limits: Limits
        ) {
            self.issuer = issuer
            self.isSecure = isSecure
            self.serviceName = serviceName
            self.sendsMail = sendsMail
            self.hashing = hashing
            self.limits = limits
        }

        /// The path of the server on its host.
        fileprivate var path: IssuerPath { IssuerPath(of: self.issuer) }

        /// The host that people should see in their address bar.
        fileprivate var host: String {
            let address = self.issuer.firstRange(of: "://").map { self.issuer[$0.upperBound...] } ?? self.issuer[...]
            return String(address.utf8.prefix { $0 != UInt8(ascii: "/") }) ?? ""
        }
    }

    private let provider: OpenIDProvider
    private let upstream: UpstreamSignIns
    private let signInService: SignInService
    private let ways: SignInWays
    private let devices: DeviceAuthorizations
    private let ceremonies: CeremonyEngine
    private let identities: IdentityDirectory
    private let passwords: PasswordAccounts
    private let channels: EventChannels
    private let configuration: Configuration
    private let answers: PageAnswers
    private let cookies: BrowserCookies
    private let changes: ConfirmedChanges
    private let trace: TraceRecorder?
    private let time: TimeSource

    /// Creates the pages over the parts of a server.
    ///
    /// - Parameter trace: The recorder of runs' events; `nil` if the server records no runs.
    package init(
        _ parts: Parts, _ configuration: Configuration, trace: TraceRecorder?, time: TimeSource,
        random: RandomSource
    ) {
        let limits = configuration.limits
        self.provider = parts.provider
        self.upstream = parts.upstream
        self.signInService = parts.signInService
        self.ways = parts.ways
        self.devices = parts.devices
        self.ceremonies = parts.ceremonies
        self.identities = parts.identities
        self.passwords = parts.passwords
        self.channels = parts.channels
        self.configuration = configuration
        self.trace = trace
        self.time = time
        self.answers = PageAnswers(
            renderers: PageRenderers { language in
                PageRenderer(
                    serviceName: configuration.serviceName, host: configuration.host, path: configuration.path.text,
                    heartbeat: limits.heartbeat, language: language)
            },
            provider: parts.provider)
        self.cookies = BrowserCookies(
            isSecure: configuration.isSecure, path: configuration.path, lifetime: limits.browserCookieLifetime,
            knownLifetime: limits.passwords.knownBrowserLifetime, random: random)
        self.changes = ConfirmedChanges(
            confirmations: parts.ceremonies.changes, questions: AccountChangeQuestions(parts.passwords),
            cookies: self.cookies)
    }

    private var limits: Limits { self.configuration.limits }

    /// Returns a page about a problem at an address without a page.
    @Sendable package func outside(_ problem: Problem, _ context: ServerContext) -> Response {
        self.answers.outside(problem, context)
    }

    /// The files that all pages refer to, which no document describes.
    package var files: [ServerRouter.Route] { PageRoutes(answers: self.answers).files }

    /// The endpoints of the OpenID provider for browsers.
    package var providerEndpoints: [Endpoint] {
        AuthorizationRoutes(
            provider: self.provider, answers: self.answers, cookies: self.cookies, limits: self.limits,
            trace: self.trace
        ).endpoints
    }

    /// The endpoints of the app sign-in service.
    package var signInServiceEndpoints: [Endpoint] {
        SignInServiceRoutes(
            service: self.signInService, provider: self.provider, answers: self.answers, browsers: self.cookies,
            cookies: SignInServiceCookieFields(
                names: self.signInService.names, isSecure: self.configuration.isSecure,
                refreshPath: self.configuration.path.text + SignInServiceRoutes.refreshPath),
            limits: self.limits, trace: self.trace, time: self.time
        ).endpoints
    }

    /// The endpoints of the pages on which people sign in, decide, and see and change what is their own.
    package var endpoints: [Endpoint] {
        let confirmations = self.changeRoutes
        let parts = SignInParts(
            provider: self.provider, upstream: self.upstream, confirmed: confirmations.arrive, answers: self.answers,
            cookies: self.cookies, limits: self.limits, trace: self.trace)
        return self.signInEndpoints(parts) + self.decisionEndpoints(confirmations, parts) + self.ownEndpoints
    }

    /// The endpoints of the pages on which people sign in.
    private func signInEndpoints(_ parts: SignInParts) -> [Endpoint] {
        let newcomers = Newcomers(self.identities, self.passwords)
        let starts = SignInServiceStarts(
            service: self.signInService, ways: self.ways, answers: self.answers, limits: self.limits,
            trace: self.trace)
        let signIns = SignInRoutes(
            signIns: self.ceremonies.signIns, provider: self.provider, ways: self.ways,
            devices: self.devices, newcomers: newcomers, starts: { try await starts.page(of: $0, $1) },
            answers: self.answers, cookies: self.cookies, channels: self.channels, limits: self.limits,
            trace: self.trace, time: self.time)
        let devices = DeviceRoutes(
            devices: self.devices, answers: self.answers, cookies: self.cookies, limits: self.limits, ways: self.ways)
        let invitations = NewcomerRoutes(
            newcomers: newcomers, provider: self.provider, answers: self.answers, cookies: self.cookies,
            limits: self.limits)
        return PageRoutes(answers: self.answers).endpoints + signIns.endpoints + devices.endpoints
            + self.ways.endpoints(in: .signIn, parts) + invitations.endpoints
    }

    /// The pages on which a person confirms a change of their account.
    private var changeRoutes: ChangeRoutes {
        ChangeRoutes(
            confirmations: self.changes.confirmations, signIns: self.ceremonies.signIns,
            passwords: OwnPassword(self.passwords), codes: ChangeCodes(self.passwords),
            questions: self.changes.questions, upstream: UpstreamConfirmations(self.upstream), provider: self.provider,
            answers: self.answers, cookies: self.cookies, channels: self.channels, limits: self.limits, time: self.time)
    }

    /// The endpoints of the pages on which people decide: about a service's data, and about a change of their account.
    private func decisionEndpoints(_ confirmations: ChangeRoutes, _ parts: SignInParts) -> [Endpoint] {
        let questions = ChangeQuestionRoutes(
            questions: self.changes.questions, changes: self.changes, provider: self.provider, answers: self.answers,
            cookies: self.cookies, limits: self.limits, time: self.time)
        let consents = ConsentRoutes(
            provider: self.provider, changes: self.changes, answers: self.answers, cookies: self.cookies,
            limits: self.limits, trace: self.trace)
        return consents.endpoints + confirmations.endpoints + questions.endpoints
            + self.ways.endpoints(in: .decisions, parts)
    }

    /// The endpoints of the pages on which people see and change what is their own, and of mailed links.
    private var ownEndpoints: [Endpoint] {
        let identities = self.ceremonies.identities
        let digits = self.ceremonies.configuration.identities.pinLength
        let passwords = OwnPasswordRoutes(
            passwords: OwnPassword(self.passwords), factors: SecondFactors(self.passwords), provider: self.provider,
            changes: self.changes, answers: self.answers, cookies: self.cookies, limits: self.limits,
            hashing: self.configuration.hashing)
        let activations = ActivationRoutes(
            identities: identities, directory: self.identities, provider: self.provider, answers: self.answers,
            cookies: self.cookies, channels: self.channels, issuer: self.configuration.issuer, limits: self.limits,
            time: self.time)
        let identity = OwnIdentityRoutes(
            identities: identities, own: OwnIdentities(self.identities),
            receipts: self.ceremonies.receipts, provider: self.provider, activations: activations,
            confirmations: AddressConfirmations(self.passwords), changes: self.changes, answers: self.answers,
            cookies: self.cookies, limits: self.limits, digits: digits, time: self.time)
        let devices = OwnDeviceRoutes(
            devices: LostDevices(self.passwords), provider: self.provider, changes: self.changes,
            answers: self.answers, cookies: self.cookies, limits: self.limits, time: self.time)
        let invitations = InvitationRoutes(
            identities: identities, directory: self.identities, provider: self.provider, activations: activations,
            answers: self.answers, cookies: self.cookies, limits: self.limits, digits: digits)
        let links = MailedLinkRoutes(
            resets: PasswordResets(self.passwords), confirmations: AddressConfirmations(self.passwords),
            provider: self.provider, changes: self.changes, answers: self.answers, cookies: self.cookies,
            limits: self.limits, hashing: self.configuration.hashing)
        return passwords.endpoints + devices.endpoints + identity.endpoints + activations.endpoints
            + invitations.endpoints + (self.configuration.sendsMail ? links.endpoints : [])
    }
}
