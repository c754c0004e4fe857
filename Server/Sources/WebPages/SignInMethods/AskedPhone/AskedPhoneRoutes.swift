import Accounts
import CeremonyEngine
import Endpoints
import Hummingbird
import OAuth
import OAuthProvider
import Pages
import Records
import Settings
import _Primitives

/// The page on which a person types the name that the phone is to ask for. The page with the number is the page that
/// waits for a phone (``SignInRoutes``).
///
/// Like the phone's page, the pages answer only the browser that started the request, and only for a service that takes
/// this way.
struct AskedPhoneRoutes: Sendable {
    let ceremonies: LateCeremonies
    let directory: AccountDirectory
    let provider: OpenIDProvider
    let answers: PageAnswers
    let cookies: BrowserCookies
    let limits: Limits

    /// The endpoints of the page.
    var endpoints: [Endpoint] {
        [
            SignInAddress.page(
                AskedPhonePage.path, "askPhone", "The page that asks for a name.", .none,
                handler: self.answers.page(self.show)),
            Endpoint(
                method: .post, path: AskedPhonePage.path, id: "askPhone-answer", summary: "Whose phone is to ask.",
                effect: .signsIn,
                body: (.form, SignInAddress.fields + [.required("username", "The name, also one that nobody has.")]),
                answers: [.goOn], refusals: .pages,
                refusing: [
                    SignInAddress.unknown, Endpoint.tooMany, (403, "Another browser's, or of personalised identities."),
                ], handler: self.answers.page(self.take)),
        ]
    }

    @Sendable private func show(_ request: Request, _ context: ServerContext) async throws -> Response {
        let address = try SignInAddress(query: request.uri.query, context)
        let (_, pending) = try await self.pending(address, request, context)
        let page = AskedPhonePage(
            frame: SignInFrame(
                requestID: address.request, clientName: pending.clientName, client: pending.client,
                returnOrigin: pending.clientOrigin), username: pending.loginHint ?? "",
            hasOtherWays: pending.methods.count > 1)
        return .page(self.answers.pages.html(page))
    }

    /// Has the person's devices ask. Every name gets the same answer after the same work: one query for the name, and
    /// one step that creates the sign-in.
    @Sendable private func take(_ request: Request, _ context: ServerContext) async throws -> Response {
        let limit = self.limits.oauth.parameterBytes
        let text = try await request.formText(limit: limit)
        let address = try SignInAddress(query: text, context)
        let (browser, pending) = try await self.pending(address, request, context)
        guard let name = (try? OAuth.Parameters(parsing: text, limits: .init(bytes: limit)))?["username"] else {
            throw Problem(.badRequest, "invalid-request", "The form lacks username, or has a field twice.")
        }
        guard let asked = self.ceremonies.askedSignIns else { throw SignInProblem.unknown }
        let requester = SignInRequester(
            client: pending.client, service: pending.clientName, origin: pending.clientOrigin,
            address: context.clientAddress,
            browser: BrowserWords.describe(userAgent: request.headers[.userAgent]), agreement: pending.agreement)
        let view = try await asked.ask(
            try await self.account(name), reference: address.request, browser: browser.cookieValue,
            requester: requester, source: context.source
        ).view
        return .seeOther(address.path(view.state == .waiting ? "/sign-in/wait" : "/sign-in/complete"))
    }

    private func account(_ name: String) async throws -> String? {
        do { return try await self.directory.account(written: name).id } catch is AccountError { return nil }
    }

    /// Returns the request for the browser that started the request, if the service takes this way. Throws a ``Problem``
    /// for every other request.
    private func pending(
        _ address: SignInAddress, _ request: Request, _ context: ServerContext
    ) async throws -> (BrowserSecret, PendingAuthorization) {
        guard let browser = self.cookies.browser(of: request) else { throw SignInProblem.unknownBrowser }
        guard let pending = try await self.provider.authorizations.pending(request: address.request, browser: browser),
            pending.methods.containsBytes(of: AskedPhoneSignIn.word)
        else { throw SignInProblem.unknown }
        context.notes.note(client: pending.client)
        return (browser, pending)
    }
}
