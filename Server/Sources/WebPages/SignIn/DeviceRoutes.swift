import CeremonyEngine
import Endpoints
import HTTPTypes
import Hummingbird
import OAuth
import OAuthProvider
import Pages
import Settings
import Texts
import _Primitives

/// The pages on which a person signs in a device without a browser (RFC 8628, section 3.3). The person types the
/// device's code, signs in as at any service, and confirms the device.
///
/// Only a form changes anything here, and a form counts only with the browser's own cookie. A form of another site does
/// not bring the cookie along.
struct DeviceRoutes: Sendable {
    let devices: DeviceAuthorizations
    let answers: PageAnswers
    let cookies: BrowserCookies
    let limits: Limits
    let ways: SignInWays

    /// The page that asks, after the person has authenticated.
    static let confirmation = "/device/confirm"

    /// The endpoints of the pages.
    var endpoints: [Endpoint] {
        [
            Endpoint(
                method: .get, path: "/device", id: "askForDeviceCode", summary: "The page for the code of a device.",
                effect: .none,
                query: [.optional("user_code", "What stands in its field.")], answers: [.page],
                handler: self.answers.page(self.ask)),
            Endpoint(
                method: .post, path: "/device", id: "enterDeviceCode", summary: "The person has typed it.",
                effect: .lasts,
                body: (.form, [.required("user_code", "The code.")]), answers: [.goOn], refusals: .pages,
                refusing: [SignInAddress.unknown, Endpoint.tooMany], handler: self.answers.page(self.enter)),
            Endpoint(
                method: .get, path: Self.confirmation, id: "askForDevice",
                summary: "The page that asks about the device.", effect: .none,
                query: SignInAddress.fields, answers: [.page], refusals: .pages,
                refusing: [SignInAddress.unknown], handler: self.answers.page(self.askForConfirmation)),
            Endpoint(
                method: .post, path: Self.confirmation, id: "confirmDevice", summary: "The person says yes.",
                effect: .lasts,
                body: (
                    .form, SignInAddress.fields + [.required("confirmation", "The page's own sign.")]
                ), answers: [.page], refusals: .pages,
                refusing: [SignInAddress.unknown, (403, "The account cannot sign in.")],
                handler: self.answers.page(self.confirm)),
        ]
    }

    /// Shows the page for a code. A code in the address stands in the page's field already, and has no other effect.
    @Sendable private func ask(_ request: Request, _ context: ServerContext) async throws -> Response {
        let browser = self.cookies.browser(of: request) ?? self.cookies.newBrowser()
        let code = (try? SignInAddress.parameter(Self.userCode, of: request.uri.query ?? ""))
            .flatMap(DeviceAuthorizations.userCode)
        return .page(
            self.answers.pages.html(DeviceCodePage(code: code)), headers: HTTPFields([self.cookies.set(browser)]))
    }

    @Sendable private func enter(_ request: Request, _ context: ServerContext) async throws -> Response {
        let form = try await request.formText(limit: self.limits.oauth.parameterBytes)
        guard let browser = self.cookies.browser(of: request) else { throw SignInProblem.unknownBrowser }
        let typed = (try? SignInAddress.parameter(Self.userCode, of: form)) ?? ""
        switch try await self.devices.enter(typed, browser: browser, source: context.source) {
        case .signIn(let id, let client):
            context.notes.note(client: client)
            return .seeOther(SignInAddress(request: id, service: client).path("/sign-in"))
        case .unknown:
            context.notes.note(
                RequestRefusal(code: "device-code-unknown", reason: "No device waits for the code that was typed."))
            var page = DeviceCodePage(code: DeviceAuthorizations.userCode(typed), isUnknown: true)
            page.reference = context.reference
            return .page(self.answers.pages.html(page), status: .badRequest)
        case .tooMany(let shortage):
            throw context.refusal(shortage)
        }
    }

    @Sendable private func askForConfirmation(_ request: Request, _ context: ServerContext) async throws -> Response {
        let address = try SignInAddress(query: request.uri.query, context)
        guard let browser = self.cookies.browser(of: request) else { throw SignInProblem.unknownBrowser }
        guard let asked = try await self.devices.confirmation(request: address.request, browser: browser) else {
            throw SignInProblem.unknown
        }
        context.notes.note(client: asked.client)
        return .page(
            self.answers.pages.html(
                DeviceConfirmationPage(
                    requestID: address.request, client: asked.client, code: asked.userCode,
                    clientName: asked.clientName, clientOrigin: asked.clientOrigin, username: asked.username,
                    formToken: self.cookies.formToken(browser, request: address.request))))
    }

    @Sendable private func confirm(_ request: Request, _ context: ServerContext) async throws -> Response {
        let form = try await request.formText(limit: self.limits.oauth.parameterBytes)
        let id = try SignInAddress(query: form, context).request
        guard let browser = self.cookies.browser(of: request) else { throw SignInProblem.unknownBrowser }
        // Another address of the same site can post with the cookie too, but cannot know the token of our page.
        let token = (try? SignInAddress.parameter(Self.formToken, of: form)) ?? ""
        let expected = self.cookies.formToken(browser, request: id)
        guard constantTimeEqual(Array(token.utf8), Array(expected.utf8)) else { throw SignInProblem.unknown }
        let decision = try await self.devices.confirm(
            request: id, browser: browser, language: self.answers.languageTag()
        ) { context.notes.note(RequestRefusal($0)) }
        switch decision {
        case .confirmed(let name, let method):
            if let way = self.ways.counted(method) { context.count(.signIns, way) }
            return .page(
                self.answers.pages.html(
                    ResultPage(.done, .deviceSignedIn(client: name))))
        case .denied:
            return .page(self.answers.pages.html(Self.refusedPage), status: .forbidden)
        case .ended: throw SignInProblem.unknown
        }
    }

    /// The page for a person whose device was not signed in.
    static let refusedPage = ResultPage(.refused, .deviceRefused)

    /// The field with a device's code, in the page's form and in its address (RFC 8628, section 3.3.1).
    private static let userCode = "user_code"
    /// The field that proves that a form stood on a page of this server.
    private static let formToken = "confirmation"
}
