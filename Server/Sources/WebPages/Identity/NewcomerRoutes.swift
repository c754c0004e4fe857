import Accounts
import Endpoints
import HTTPTypes
import Hummingbird
import OAuth
import OAuthProvider
import Pages
import Settings
import _Primitives

/// The page for a person who has no account, as the service believes (`prompt=create`), if the service takes newcomers.
///
/// The person requests an invitation to the service by mail, makes an identity by the invitation's link, and goes on
/// with the same sign-in. The page answers only the browser that started the sign-in.
struct NewcomerRoutes: Sendable {
    let newcomers: Newcomers
    let provider: OpenIDProvider
    let answers: PageAnswers
    let cookies: BrowserCookies
    let limits: Limits

    /// The endpoints of the page.
    var endpoints: [Endpoint] {
        [
            Endpoint(
                method: .get, path: NewcomerPage.path, id: "newcomer",
                summary: "Where somebody has an invitation mailed who has no identity yet.", effect: .none,
                query: SignInAddress.fields, answers: [.page, .goOn], refusals: .pages,
                refusing: [SignInAddress.unknown], handler: self.answers.page(self.show)),
            Endpoint(
                method: .post, path: NewcomerPage.path, id: "inviteNewcomer",
                summary: "An invitation to the service is mailed, or none is; the answer is the same.", effect: .gives,
                body: (.form, SignInAddress.fields + [.required("email", "The address.")]),
                answers: [.page, .goOn], refusals: .pages,
                refusing: [SignInAddress.unknown, Endpoint.tooMany, (422, "It is no address.")],
                handler: self.answers.page(self.invite)),
        ]
    }

    /// Returns the sign-in that waits in this browser; `nil` if its service takes no newcomers by mail. Throws
    /// ``SignInProblem/unknown`` if no such sign-in waits in this browser.
    private func frame(_ address: SignInAddress, _ request: Request, _ context: ServerContext) async throws
        -> SignInFrame?
    {
        guard let browser = self.cookies.browser(of: request),
            let pending = try await self.provider.authorizations.pending(request: address.request, browser: browser)
        else { throw SignInProblem.unknown }
        context.notes.note(client: pending.client)
        guard try await self.newcomers.way(to: pending.client) == .mail else { return nil }
        return SignInFrame(
            requestID: address.request, clientName: pending.clientName, client: pending.client,
            returnOrigin: pending.clientOrigin)
    }

    @Sendable private func show(_ request: Request, _ context: ServerContext) async throws -> Response {
        let address = try SignInAddress(query: request.uri.query, context)
        guard let frame = try await self.frame(address, request, context) else {
            return .seeOther(address.path("/sign-in"))
        }
        return .page(self.answers.pages.html(NewcomerPage(frame: frame)))
    }

    @Sendable private func invite(_ request: Request, _ context: ServerContext) async throws -> Response {
        let text = try await request.formText(limit: self.limits.oauth.parameterBytes)
        let address = try SignInAddress(query: text, context)
        guard let frame = try await self.frame(address, request, context), let service = frame.client else {
            return .seeOther(address.path("/sign-in"))
        }
        let form = try? OAuth.Parameters(parsing: text, limits: .init(bytes: self.limits.oauth.parameterBytes))
        do {
            let isOnItsWay = try await self.newcomers.ask(
                email: form?["email"] ?? "", service: service, source: context.source,
                language: self.answers.languageTag())
            if !isOnItsWay {
                context.notes.note(
                    RequestRefusal(
                        code: "newcomer-not-invited",
                        reason:
                            "The address was invited often just now, too much mail waits, or too many invitations are open."
                    ))
            }
        } catch let error as AccountError where error.code == .invalidRequest {
            return .page(
                self.answers.pages.html(NewcomerPage(frame: frame, isNoAddress: true)), status: .unprocessableContent)
        } catch let error as AccountError where error.code == .notFound {
            // The service has stopped taking newcomers this moment.
            return .seeOther(address.path("/sign-in"))
        }
        return .page(self.answers.pages.html(InvitedNewcomerPage(frame: frame)))
    }
}
