import Accounts
import Ceremony
import CeremonyEngine
import HTTPTypes
import Hummingbird
import OAuthProvider
import Pages
import Store
import _Primitives

/// Shows codes that personalise a device, and tells the browser that has asked for one what has become of it.
///
/// A code is in one answer: the one to the form that has asked for it. No address has it, no other answer, and no store.
/// What an address has is the activation, which opens nothing, and a ticket that counts with the cookie of the browser that
/// asked, and says no more than a word.
struct ActivationRoutes: Sendable {
    let identities: Identities
    let directory: IdentityDirectory
    let provider: OpenIDProvider
    let answers: PageAnswers
    let cookies: BrowserCookies
    let channels: EventChannels
    let issuer: String
    let limits: Limits
    let time: TimeSource

    func mount(on router: ServerRouter) {
        router.endpoint(RouterPath(ActivationCodePage.statePath), [.get: self.answers.page(self.state)])
        router.endpoint(RouterPath(ActivationCodePage.eventsPath), [.get: self.events])
    }

    /// The answer that has a code.
    ///
    /// - Parameters:
    ///   - renewal: Where another one is made.
    ///   - merges: Whether it also brings an invitation into an account that is there.
    func response(showing offer: ActivationOffer, to request: Request, renewal: String, merges: Bool) throws -> Response
    {
        let browser = self.cookies.browser(of: request) ?? self.cookies.newBrowser()
        let page = ActivationCodePage(
            activation: offer.id, ticket: self.cookies.formToken(browser, request: Self.matter(offer.id)),
            code: offer.code, link: ProcessCode.link(with: offer.code, at: self.issuer),
            // Rounded up: whoever asks when they are over is told that the code is, too.
            secondsLeft: Int((offer.expiresAt - self.time.now()).components.seconds) + 1,
            until: offer.expiresAt.shownMinute, renewal: renewal, merges: merges)
        return .page(try self.answers.pages.html(page), headers: HTTPFields([self.cookies.set(browser)]))
    }

    /// What a ticket is made for, told from everything else that a browser has tickets of.
    private static func matter(_ activation: String) -> String { "activation \(activation)" }

    /// The activation that a request asks about, where its browser has asked for the code; `nil` for every other.
    private func activation(of request: Request) throws -> String? {
        let query = request.uri.query ?? ""
        let id = try SignInAddress.parameter("activation", of: query)
        let ticket = try SignInAddress.parameter("ticket", of: query)
        guard let browser = self.cookies.browser(of: request),
            constantTimeEqual(
                Array(ticket.utf8), Array(self.cookies.formToken(browser, request: Self.matter(id)).utf8))
        else { return nil }
        return id
    }

    @Sendable private func state(_ request: Request, _ context: ServerContext) async throws -> Response {
        guard let id = try self.activation(of: request) else {
            return .page(
                self.answers.pages.html(
                    ResultPage(
                        outcome: .refused, headline: "This browser has not asked for this code",
                        explanation: "Only the browser that has asked is told what has become of it.",
                        link: ("See your identity", IdentityPaths.overview))), status: .notFound)
        }
        let page: ActivationStatePage =
            switch try await self.identities.listings.state(ofOffer: id) {
            case .waiting: .waiting
            case .done: .done(home: try await self.home(ofOffer: id))
            case .over: .over
            }
        return .page(self.answers.pages.html(page, again: IdentityPaths.activation))
    }

    /// Where the service is that somebody is at home at now: an invitation's activation has the invitation's identifier.
    private func home(ofOffer id: String) async throws -> (name: String, address: String)? {
        guard let place = try await self.directory.placeOfInvite(id),
            let service = try await self.provider.service(place.service)
        else { return nil }
        return service.home.map { (service.name, $0) }
    }

    @Sendable private func events(_ request: Request, _ context: ServerContext) async throws -> Response {
        guard let id = try self.activation(of: request) else {
            throw Problem(.notFound, Problem.Name.notFound, "This browser has not asked for this code.")
        }
        return .serverSentEvents(
            name: "state", to: context, self.identities.listings.events(ofOffer: id), in: self.channels,
            heartbeat: self.limits.heartbeat, heartbeatEvent: PageRenderer.heartbeatEvent
        ) { ["state": .string($0.rawValue)] }
    }
}
