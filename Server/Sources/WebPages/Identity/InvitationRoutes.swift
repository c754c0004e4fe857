import Accounts
import CeremonyEngine
import Endpoints
import HTTPTypes
import Hummingbird
import OAuth
import OAuthProvider
import Pages
import Records
import Settings
import Texts
import _Primitives

/// The pages behind the link of an invitation.
///
/// A person without an identity here gets a code for an app and accepts with the app, or brings the invitation into an
/// identity that has another address. A person who has an identity with this address signs in and accepts.
///
/// Opening the link changes nothing, because programs that examine mailboxes open links too.
struct InvitationRoutes: Sendable {
    let identities: Identities
    let directory: IdentityDirectory
    let provider: OpenIDProvider
    let activations: ActivationRoutes
    let answers: PageAnswers
    let cookies: BrowserCookies
    let limits: Limits
    let digits: ClosedRange<Int>

    /// The endpoints of the pages.
    var endpoints: [Endpoint] {
        let link = DescribedField.required("link", "What the link carries.")
        let over = (status: 404, meaning: "The invitation cannot be accepted (any more).")
        let nobody = (status: 403, meaning: "Nobody is signed in.")
        return [
            Endpoint(
                method: .get, path: MailedLinkPaths.invitation, id: "showInvitation",
                summary: "Where the link of an invitation leads.", effect: .none, query: [link], answers: [.page],
                refusals: .pages, refusing: [over], handler: self.answers.page(self.show)),
            Endpoint(
                method: .post, path: MailedLinkPaths.invitation, id: "acceptInvitation",
                summary: "An invitation is accepted, or a code for an app is made that accepts it.", effect: .gives,
                body: (.form, [link, .optional("confirmation", "What the page carried.")] + ActivationRoutes.pins),
                answers: [.page], refusals: .pages,
                refusing: [over, Endpoint.tooMany, nobody, (422, "The PIN is none.")],
                handler: self.answers.page(self.accept)),
        ]
    }

    // MARK: What has become of it

    /// The reason why nobody can accept an invitation; `nil` for an invitation that can be accepted.
    private enum Obstacle {
        /// The link is not this server's, or belongs to a forgotten invitation.
        case unknown
        case accepted
        case revoked
        case expired
    }

    private func opened(_ link: String) async throws -> (invite: InviteRecord?, obstacle: Obstacle?) {
        guard let invite = try await self.directory.invite(link: link) else { return (nil, .unknown) }
        switch invite.state {
        case .accepted: return (invite, .accepted)
        case .revoked: return (invite, .revoked)
        case .open: return (invite, self.directory.isOpen(invite) ? nil : .expired)
        }
    }

    private func page(_ obstacle: Obstacle, _ context: ServerContext) -> Response {
        let service = self.answers.pages.serviceName
        let (outcome, notice): (ResultPage.Outcome, Notice) =
            switch obstacle {
            case .unknown: (.refused, .invitationUnknown(operatorName: service))
            case .accepted: (.done, .invitationAccepted(operatorName: service))
            case .revoked: (.refused, .invitationRevoked(operatorName: service))
            case .expired: (.tooLate, .invitationOver(operatorName: service))
            }
        context.notes.note(
            RequestRefusal(code: "invitation-over", reason: "The invitation is accepted, taken back, over, or none."))
        return .page(
            self.answers.pages.html(
                ResultPage(outcome, notice, target: IdentityPaths.overview, reference: context.reference)),
            status: .notFound)
    }

    // MARK: Showing it

    @Sendable private func show(_ request: Request, _ context: ServerContext) async throws -> Response {
        let link = try SignInAddress.parameter("link", of: request.uri.query ?? "")
        let (invite, obstacle) = try await self.opened(link)
        guard let invite, obstacle == nil else { return self.page(obstacle ?? .unknown, context) }
        return try await self.page(about: invite, link, request)
    }

    private func page(
        about invite: InviteRecord, _ link: String, _ request: Request, problem: ActivationRequestPage.Problem? = nil,
        status: HTTPResponse.Status = .ok
    ) async throws -> Response {
        let matter = try await self.matter(of: invite)
        guard invite.provisionalAccountID == nil else {
            let page = ActivationRequestPage(
                proof: .invitation(link: link, to: matter, action: MailedLinkPaths.invitation), digits: self.digits,
                problem: problem)
            return .page(self.answers.pages.html(page), status: status)
        }
        var other: String?
        if let session = self.cookies.session(of: request),
            let active = try await self.provider.sessions.session(session),
            let name = try await self.directory.name(accountID: active.account)
        {
            if try await self.directory.isAddressed(invite, accountID: active.account) {
                let page = AcceptInvitationPage(
                    link: link, matter: matter, username: name, confirmation: self.cookies.formToken(session),
                    action: MailedLinkPaths.invitation)
                return .page(self.answers.pages.html(page))
            }
            other = name
        }
        let service: KnownService? =
            if let place = invite.place { try await self.provider.clients.service(place.service) } else { nil }
        let home = service.flatMap { service in service.home.map { (name: service.name, address: $0) } }
        let page = InvitationElsewherePage(matter, signedInAs: other, home: home)
        return .page(self.answers.pages.html(page), status: status)
    }

    private func matter(of invite: InviteRecord) async throws -> InvitationMatter {
        let names = try await self.directory.names(of: invite)
        return InvitationMatter(
            organisation: names.organisation, place: names.place, until: invite.expiresAt.shownMinute)
    }

    // MARK: Accepting it

    @Sendable private func accept(_ request: Request, _ context: ServerContext) async throws -> Response {
        let form = try await request.pageForm(limit: self.limits.oauth.parameterBytes)
        guard let link = form["link"] else { throw Problem(.badRequest, "invalid-request", "The form lacks link.") }
        let (invite, obstacle) = try await self.opened(link)
        guard let invite, obstacle == nil else { return self.page(obstacle ?? .unknown, context) }
        guard let provisional = invite.provisionalAccountID else {
            return try await self.acceptSignedIn(invite, link, form, request, context)
        }
        guard let pin = form["pin"], pin.hasSameBytes(as: form["pin-again"] ?? "") else {
            return try await self.page(
                about: invite, link, request, problem: .notTheSame, status: .unprocessableContent)
        }
        do {
            // A person who has lost the code makes another code. The new code ends the old code.
            let offer = try await self.identities.offers.offerOnPage(
                accountID: provisional, pin: pin, isAnew: true, source: context.source)
            let parameters: OAuth.Parameters = ["link": link]
            return try self.activations.response(
                showing: offer, to: request,
                renewal: "\(MailedLinkPaths.invitation)?\(parameters.encoded)", merges: true)
        } catch let error as CeremonyError where error.code == .invalidRequest {
            return try await self.page(
                about: invite, link, request, problem: .noPIN, status: .unprocessableContent)
        } catch let error as CeremonyError where error.code == .pinTooSimple {
            return try await self.page(
                about: invite, link, request, problem: .tooSimple, status: .unprocessableContent)
        } catch let error as CeremonyError where [.conflict, .notFound, .locked].contains(error.code) {
            // Another request was quicker, or the invitation has ended since.
            return self.page(try await self.opened(link).obstacle ?? .accepted, context)
        }
    }

    private func acceptSignedIn(
        _ invite: InviteRecord, _ link: String, _ form: OAuth.Parameters, _ request: Request, _ context: ServerContext
    ) async throws -> Response {
        guard let session = self.cookies.session(of: request),
            let active = try await self.provider.sessions.session(session)
        else { return try await self.page(about: invite, link, request, status: .forbidden) }
        try self.cookies.requireToken(of: form, session)
        do {
            try await self.directory.accept(invite, accountID: active.account)
        } catch let refusal as InviteRefusal {
            switch refusal {
            case .notInvited, .notMergeable:
                return try await self.page(about: invite, link, request, status: .forbidden)
            case .unknown: return self.page(.unknown, context)
            case .consumed: return self.page(.accepted, context)
            case .expired: return self.page(.expired, context)
            }
        }
        return .page(
            self.answers.pages.html(
                ResultPage(.done, .accepted, target: IdentityPaths.overview)))
    }
}
