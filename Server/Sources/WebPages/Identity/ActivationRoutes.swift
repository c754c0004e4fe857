import Accounts
import Ceremony
import CeremonyEngine
import Endpoints
import HTTPTypes
import Hummingbird
import OAuthProvider
import Pages
import Records
import Settings
import Texts
import _Primitives

/// Shows codes that personalise a device, and tells the browser that requested a code the state of the code.
///
/// A single answer has a code: the answer to the form that requested the code. No address, no other answer and no store
/// has the code. An address has the activation, which opens nothing, and a ticket. The ticket counts only with the
/// cookie of the browser that asked, and gives access to a single word about the state.
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

    /// The PIN of a requested code, as the document describes the fields of a form.
    static let pins: [DescribedField] = [
        .optional("pin", "The PIN of the code."), .optional("pin-again", "The same."),
    ]

    /// The endpoints at which the browser that requested a code reads the code's state.
    var endpoints: [Endpoint] {
        let parts: [DescribedField] = [
            .required("activation", "The activation."), .required("ticket", "What the page with the code carried."),
        ]
        let strange = (status: 404, meaning: "Another browser has asked for the code.")
        return [
            Endpoint(
                method: .get, path: ActivationCodePage.statePath, id: "activationState",
                summary: "What has become of a code.", effect: .none, query: parts, answers: [.page],
                refusals: .pages, refusing: [strange], handler: self.answers.page(self.state)),
            Endpoint(
                method: .get, path: ActivationCodePage.eventsPath, id: "activationEvents",
                summary: "The same, as it changes.", effect: .none, query: parts,
                answers: [.init(status: 200, meaning: "Events of the type state.", type: "text/event-stream")],
                refusing: [strange], handler: self.events),
        ]
    }

    /// Returns the answer that shows a code.
    ///
    /// - Parameters:
    ///   - renewal: The address on which a person requests another code.
    ///   - merges: `true` if the code can also bring an invitation into an existing account.
    func response(showing offer: ActivationOffer, to request: Request, renewal: String, merges: Bool) throws -> Response
    {
        let browser = self.cookies.browser(of: request) ?? self.cookies.newBrowser()
        let page = ActivationCodePage(
            activation: offer.id, ticket: self.cookies.formToken(browser, request: Self.matter(offer.id)),
            code: offer.code, link: ProcessCode.link(with: offer.code, at: self.issuer),
            // Rounded up: once these seconds are over, the code is over, too.
            secondsLeft: Int((offer.expiresAt - self.time.now()).components.seconds) + 1,
            until: offer.expiresAt.shownMinute, renewal: renewal, merges: merges)
        return .page(try self.answers.pages.html(page), headers: HTTPFields([self.cookies.set(browser)]))
    }

    /// Returns the purpose of a ticket, which differs from the purpose of all other tickets of a browser.
    private static func matter(_ activation: String) -> String { "activation \(activation)" }

    /// Returns the activation that a request asks about, if the request's browser requested the code; `nil` for every
    /// other activation.
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
                    ResultPage(.refused, .codeOfAnotherBrowser, target: IdentityPaths.overview)), status: .notFound)
        }
        let page: ActivationStatePage =
            switch try await self.identities.listings.state(ofOffer: id) {
            case .waiting: .waiting(again: IdentityPaths.activation)
            case .done: .done(home: try await self.home(ofOffer: id))
            case .over: .over(again: IdentityPaths.activation)
            }
        return .page(self.answers.pages.html(page))
    }

    /// Returns the service of an invitation, and the service's address. An invitation's activation has the invitation's
    /// identifier.
    private func home(ofOffer id: String) async throws -> (name: String, address: String)? {
        guard let place = try await self.directory.placeOfInvite(id),
            let service = try await self.provider.clients.service(place.service)
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
