import Hummingbird
import OAuth
import OAuthProvider
import Pages
import Store
import _Primitives

/// The page on which a person, who has signed in, is asked what a service may have.
///
/// It answers the browser that started the request, in the session that the request waits in, and no other.
struct ConsentRoutes: Sendable {
    let provider: OpenIDProvider
    let answers: PageAnswers
    let cookies: BrowserCookies
    let limits: Limits

    /// The field that shows that a form stood on our page, and the one that has the person's word.
    private static let (confirmation, decision) = ("confirmation", "decision")
    /// The field with the version of the operator's terms that the page has shown.
    private static let terms = "terms"
    /// The field with what the page has shown that the person wants connected.
    private static let connection = "connection"

    func mount(on router: ServerRouter) {
        router.endpoint(
            "/sign-in/consent", [.get: self.answers.page(self.question), .post: self.answers.page(self.decide)])
    }

    @Sendable private func question(_ request: Request, _ context: ServerContext) async throws -> Response {
        let address = try SignInAddress(query: request.uri.query, context)
        guard let browser = self.cookies.browser(of: request) else { throw SignInRoutes.unknownBrowser }
        let session = self.cookies.session(of: request)
        let asked = try await self.provider.consentQuestion(
            request: address.request, browser: browser, session: session)
        guard let asked, let session else {
            // It may wait for its person to sign in, or to sign in again.
            guard try await self.provider.pending(request: address.request, browser: browser) != nil else {
                throw SignInRoutes.unknown
            }
            return .seeOther(address.path("/sign-in"))
        }
        context.notes.note(client: asked.client)
        if let connection = asked.connection {
            return .page(
                self.answers.pages.html(
                    ConnectionPage(
                        requestID: address.request, client: asked.client, returnOrigin: asked.clientOrigin,
                        username: asked.username, name: connection.name, provider: connection.title,
                        confirmation: self.cookies.formToken(session))))
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
        return .page(self.answers.pages.html(page))
    }

    @Sendable private func decide(_ request: Request, _ context: ServerContext) async throws -> Response {
        let form = try await request.formText(limit: self.limits.oauth.parameterBytes)
        let address = try SignInAddress(query: form, context)
        guard let browser = self.cookies.browser(of: request) else { throw SignInRoutes.unknownBrowser }
        let fields = try? Parameters(
            parsing: form, limits: Parameters.Limits(bytes: self.limits.oauth.parameterBytes))
        let session = self.cookies.session(of: request)
        let word = fields?[Self.decision]
        // Another address of the same site can post with the cookies, too; it cannot know what our page carried.
        guard let fields, let session, let word,
            constantTimeEqual(
                Array((fields[Self.confirmation] ?? "").utf8), Array(self.cookies.formToken(session).utf8)),
            ["allow", "deny"].containsBytes(of: word)
        else { return .seeOther(address.path("/sign-in/consent")) }
        let isGranted = word.hasSameBytes(as: "allow")
        let answer = try await self.provider.decide(
            request: address.request, browser: browser, session: session, isGranted: isGranted,
            connection: fields[Self.connection], terms: fields[Self.terms], address: context.clientAddress
        ) { context.notes.note(RequestRefusal($0)) }
        switch answer {
        case .client(let answer): return self.answers.response(answer)
        // There is something else to agree to.
        case .consent: return .seeOther(address.path("/sign-in/consent"))
        case .signIn, .tooMany, .page: throw SignInRoutes.unknown
        }
    }
}

extension ConsentItem {
    /// As the page has it.
    fileprivate var pageItem: ConsentPage.Item {
        switch self {
        case .identity: .identity
        case .username: .username
        case .name: .name
        case .email: .email
        case .phone: .phone
        case .address: .address
        case .offlineAccess: .offlineAccess
        case .deviceSSO: .deviceSSO
        }
    }
}
