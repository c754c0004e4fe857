import Ceremony
import CeremonyEngine
import Endpoints
import Hummingbird
import OAuth
import OAuthProvider
import Pages
import Records
import Settings
import _Primitives

/// The page on which a person who has signed in decides about the data for a service.
///
/// The page answers only the browser that started the request, in the session in which the request waits.
struct ConsentRoutes: Sendable {
    let provider: OpenIDProvider
    let changes: ConfirmedChanges
    let answers: PageAnswers
    let cookies: BrowserCookies
    let limits: Limits
    let trace: TraceRecorder?

    /// The field that proves that a form stood on a page of this server, and the field with the person's decision.
    private static let (confirmation, decision) = ("confirmation", "decision")
    /// The field with the version of the operator's terms that the page has shown.
    private static let terms = "terms"
    /// The field with the wanted connection, as the page has shown the connection.
    private static let connection = "connection"

    /// The endpoints of the page.
    var endpoints: [Endpoint] {
        [
            Endpoint(
                method: .get, path: "/sign-in/consent", id: "askConsent", summary: "What a service may have.",
                effect: .none,
                query: SignInAddress.fields, answers: [.page, .goOn], refusals: .pages,
                refusing: [SignInAddress.unknown], handler: self.answers.page(self.question)),
            Endpoint(
                method: .post, path: "/sign-in/consent", id: "decideConsent", summary: "The person decides.",
                effect: .lasts,
                body: (
                    .form,
                    SignInAddress.fields + [
                        .optional("decision", .choice(["allow", "deny"]), "The person's word."),
                        .optional("confirmation", "What the page's form has."),
                        .optional("terms", "The version of the operator's terms that the page has shown."),
                        .optional("connection", "The other provider that the page has asked about."),
                        .optional("change", "The connection that was confirmed, as the page has carried it."),
                    ]
                ), answers: [.page, .goOn], refusals: .pages, refusing: [SignInAddress.unknown, Endpoint.tooMany],
                handler: self.answers.page(self.decide)),
        ]
    }

    @Sendable private func question(_ request: Request, _ context: ServerContext) async throws -> Response {
        let address = try SignInAddress(query: request.uri.query, context)
        guard let browser = self.cookies.browser(of: request) else { throw SignInProblem.unknownBrowser }
        let session = self.cookies.session(of: request)
        let asked = try await self.provider.authorizations.consentQuestion(
            request: address.request, browser: browser, session: session)
        guard let asked, let session else {
            // The request may wait for its person to sign in, or to sign in again.
            guard try await self.provider.authorizations.pending(request: address.request, browser: browser) != nil
            else {
                throw SignInProblem.unknown
            }
            return .seeOther(address.path("/sign-in"))
        }
        context.notes.note(client: asked.client)
        if let connection = asked.connection {
            var page = ConnectionPage(
                requestID: address.request, client: asked.client, returnOrigin: asked.clientOrigin,
                username: asked.username, name: connection.name, provider: connection.title,
                confirmation: self.cookies.formToken(session))
            if let active = try await self.provider.sessions.session(session),
                let confirmed = try await self.changes.confirmed(request, accountID: active.account),
                confirmed.change == .provider(name: connection.name, title: connection.title)
            {
                page.change = confirmed.reference
            }
            return .page(self.answers.pages.html(page))
        }
        if let terms = asked.terms {
            return .page(
                self.answers.pages.html(
                    TermsPage(
                        requestID: address.request, client: asked.client, clientName: asked.clientName,
                        returnOrigin: asked.clientOrigin, username: asked.username, version: terms.version,
                        address: terms.address, confirmation: self.cookies.formToken(session))))
        }
        var page = ConsentPage(
            requestID: address.request, client: asked.client, clientName: asked.clientName,
            returnOrigin: asked.clientOrigin, username: asked.username,
            items: asked.items.map(\.pageItem), scopes: asked.scopes, resources: asked.resources,
            confirmation: self.cookies.formToken(session))
        page.agreement = asked.agreement
        page.isStranger = asked.isStranger
        return .page(self.answers.pages.html(page))
    }

    @Sendable private func decide(_ request: Request, _ context: ServerContext) async throws -> Response {
        let form = try await request.formText(limit: self.limits.oauth.parameterBytes)
        let address = try SignInAddress(query: form, context)
        guard let browser = self.cookies.browser(of: request) else { throw SignInProblem.unknownBrowser }
        let fields = try? Parameters(
            parsing: form, limits: Parameters.Limits(bytes: self.limits.oauth.parameterBytes))
        let session = self.cookies.session(of: request)
        let word = fields?[Self.decision]
        // Another address of the same site can post with the cookies, too, but cannot know the token of our page.
        guard let fields, let session, let word,
            constantTimeEqual(
                Array((fields[Self.confirmation] ?? "").utf8), Array(self.cookies.formToken(session).utf8)),
            ["allow", "deny"].containsBytes(of: word)
        else { return .seeOther(address.path("/sign-in/consent")) }
        let isGranted = word.hasSameBytes(as: "allow")
        let pending =
            try await self.trace == nil
            ? nil : self.provider.authorizations.pending(request: address.request, browser: browser)
        var connection = fields[Self.connection]
        if isGranted, connection != nil {
            let question = try await self.provider.authorizations.consentQuestion(
                request: address.request, browser: browser, session: session)
            if let wanted = question?.connection, wanted.name.hasSameBytes(as: connection ?? ""),
                let active = try await self.provider.sessions.session(session)
            {
                if let asked = try await self.changes.answer(
                    unlessConfirmed: .provider(name: wanted.name, title: wanted.title),
                    on: address.path("/sign-in/consent"), accountID: active.account,
                    reference: fields[ConfirmedChange.field], request, context)
                {
                    return asked
                }
            } else {
                // Without a confirmation the server connects nothing.
                connection = nil
            }
        }
        var unmade: (connection: WantedConnection, refusal: LinkRefusal)?
        let answer = try await self.provider.authorizations.decide(
            request: address.request, browser: browser, session: session, isGranted: isGranted,
            connection: connection, terms: fields[Self.terms], address: context.clientAddress,
            explain: { context.notes.note(RequestRefusal($0)) }, notConnected: { unmade = ($0, $1) })
        let next: ClientAnswer
        switch answer {
        case .client(let answer):
            next = answer
            if let pending, isGranted, context.notes.refusal == nil {
                self.trace?.record(pending.codeArrow, in: pending.run(address.request))
            }
        // The person has to agree to something else, too.
        case .consent: next = .redirect(address.path("/sign-in/consent"))
        case .signIn, .tooMany, .page: throw SignInProblem.unknown
        }
        guard let unmade else { return self.answers.response(next) }
        context.notes.note(
            RequestRefusal(
                code: "not-connected-\(unmade.refusal.rawValue)",
                reason: "An account was not connected with \(unmade.connection.name): \(unmade.refusal.words)"))
        var page = NotConnectedPage(
            provider: unmade.connection.title, reason: unmade.refusal.reason, next: next.wayOn)
        page.reference = context.reference
        return .page(self.answers.pages.html(page))
    }
}

extension LinkRefusal {
    /// The reason, for the operator.
    fileprivate var words: String {
        switch self {
        case .taken: "the person there is another account's (countersign admin provider links)."
        case .full: "the account has as many connections as it can have (countersign admin provider unlink)."
        case .over: "it was no longer asked for, or the account is locked."
        }
    }

    /// The reason as the page shows it.
    fileprivate var reason: NotConnectedPage.Reason {
        switch self {
        case .taken: .taken
        case .full: .full
        case .over: .over
        }
    }
}

extension ClientAnswer {
    /// The target of a page that stands in front of the answer.
    fileprivate var wayOn: NotConnectedPage.Way {
        switch self {
        case .redirect(let location): .link(location)
        // Such a page stands in front of a code, and never in front of a failure that is told here.
        case .told: .link("/sign-in")
        case .post(let posted): .form(address: posted.address, origin: posted.origin, fields: posted.fields.members)
        }
    }
}

extension ConsentItem {
    /// The item as the page shows it.
    fileprivate var pageItem: ConsentPage.Item {
        switch self {
        case .identity: .identity
        case .username: .username
        case .name: .name
        case .profile: .profile
        case .email: .email
        case .phone: .phone
        case .address: .address
        case .offlineAccess: .offlineAccess
        case .deviceSSO: .deviceSSO
        }
    }
}
