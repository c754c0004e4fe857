import Accounts
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

/// The pages on which a person confirms a change of their account: on the phone, without a phone by the password, or
/// without either by another provider. The pages answer only the browser that asked for the change.
struct ChangeRoutes: Sendable {
    let confirmations: ChangeConfirmations
    let signIns: SignIns
    let passwords: OwnPassword
    let codes: ChangeCodes
    let questions: AccountChangeQuestions
    let upstream: UpstreamConfirmations
    let provider: OpenIDProvider
    let answers: PageAnswers
    let cookies: BrowserCookies
    let channels: EventChannels
    let limits: Limits
    let time: TimeSource

    /// The page of a change that waits for the phone.
    static let waiting = SignInPage.Matter.change.path + "/wait"
    /// The address that leads from the waiting page to the page that makes the change.
    static let complete = SignInPage.Matter.change.path + "/complete"

    /// The change in an address, as the document describes the change.
    static let requestField = DescribedField.required("request", "The change.")
    /// The refusal of a browser that has not asked for the change, as the document describes the refusal.
    static let unknownChange = (status: 404, meaning: "This browser has not asked for such a change.")

    /// The endpoints of the pages.
    var endpoints: [Endpoint] {
        let path = SignInPage.Matter.change.path
        func page(
            _ path: String, _ id: String, _ summary: String, handler: @escaping ServerRouter.Handler
        ) -> Endpoint {
            Endpoint(
                method: .get, path: path, id: id, summary: summary, effect: .none, query: [Self.requestField],
                answers: [.page, .goOn], refusals: .pages,
                refusing: [
                    Self.unknownChange, Endpoint.tooMany, (403, "Nobody is signed in who has a password."),
                ], handler: self.answers.page(handler))
        }
        return [
            page(
                Self.waiting, "waitForChange", "The page of a change that waits for the phone.", handler: self.wait),
            page(
                Self.complete, "completeChange", "The way to the page that makes the change.",
                handler: self.complete),
            page(
                "\(path)/again", "askForChangeAgain", "The way to the page on which the change is asked for.",
                handler: self.again),
            page(
                ChangePasswordPage.path, "askForChangePassword", "The form that confirms a change without a phone.",
                handler: self.showPassword),
            Endpoint(
                method: .get, path: "\(Self.waiting)/events", id: "changeEvents",
                summary: "The page's own channel.", effect: .none, query: [Self.requestField],
                answers: [.init(status: 200, meaning: "States, as they come.", type: "text/event-stream")],
                refusing: [Self.unknownChange], handler: self.events),
            Endpoint(
                method: .post, path: "\(path)/cancel", id: "cancelChange",
                summary: "The person gives the change up.", effect: .takesAway, body: (.form, [Self.requestField]),
                answers: [.page],
                refusals: .pages, refusing: [Self.unknownChange], handler: self.answers.page(self.cancel)),
            Endpoint(
                method: .post, path: ChangePasswordPage.path, id: "confirmChangeByPassword",
                summary: "A change of an account without a phone is confirmed.", effect: .none,
                body: (
                    .form,
                    [
                        Self.requestField, .required("confirmation", "What the page carried."),
                        .optional("password", "The password."), .optional("code", "A code beside it."),
                        .optional("mailed-code", "The code that was mailed once the password was right."),
                    ]
                ), answers: [.goOn], refusals: .pages,
                refusing: [Self.unknownChange, Endpoint.tooMany, (403, "Nobody is signed in, or it is not right.")],
                handler: self.answers.page(self.takePassword)),
        ] + self.providerEndpoints
    }

    /// Returns the address of a page about a change.
    static func address(_ path: String, _ reference: String) -> String {
        SignInAddress(request: reference, service: nil).path(path)
    }

    func requested(_ reference: String, _ request: Request) async throws -> (
        browser: BrowserSecret, change: RequestedChange
    ) {
        guard let browser = self.cookies.browser(of: request) else { throw SignInProblem.unknownBrowser }
        guard let change = try await self.confirmations.requested(reference, browser: browser.cookieValue) else {
            throw SignInProblem.unknown
        }
        return (browser, change)
    }

    // MARK: The phone

    @Sendable private func wait(_ request: Request, _ context: ServerContext) async throws -> Response {
        let reference = try SignInAddress(query: request.uri.query, context).request
        let (browser, change) = try await self.requested(reference, request)
        if change.state == .approved { return .seeOther(Self.address(Self.complete, reference)) }
        if let readyAt = change.readyAt { return self.delayed(until: readyAt) }
        if change.isWithoutPhone { return .seeOther(Self.address(ChangePasswordPage.path, reference)) }
        let view = try await self.signIns.renew(
            reference: reference, browser: browser.cookieValue, source: context.source)
        if view.state == .approved { return .seeOther(Self.address(Self.complete, reference)) }
        let state = view.state.pageState
        if let reason = view.reason {
            context.notes.note(RequestRefusal(code: "change-\(state.rawValue)", reason: reason))
        }
        let codes = view.codes.map { $0.shown(at: self.time.now()) }
        var page = SignInPage(
            requestID: reference, clientName: self.answers.pages.serviceName, state: state, codes: codes,
            reference: context.reference)
        page.matter = .change
        page.agreement = change.change.text
        return .page(try self.answers.pages.html(page))
    }

    @Sendable private func events(_ request: Request, _ context: ServerContext) async throws -> Response {
        let reference = try SignInAddress(query: request.uri.query, context).request
        let (browser, _) = try await self.requested(reference, request)
        let events = try await self.signIns.events(reference: reference, browser: browser.cookieValue)
        return .serverSentEvents(
            name: "state", to: context, events, in: self.channels, heartbeat: self.limits.heartbeat,
            heartbeatEvent: PageRenderer.heartbeatEvent
        ) { ["state": .string($0.rawValue)] }
    }

    /// Leads to the page of the change. The page's form takes the confirmation.
    @Sendable private func complete(_ request: Request, _ context: ServerContext) async throws -> Response {
        let reference = try SignInAddress(query: request.uri.query, context).request
        let (_, change) = try await self.requested(reference, request)
        guard change.state == .approved else { return .seeOther(Self.address(Self.waiting, reference)) }
        let parameters: OAuth.Parameters = [ConfirmedChange.field: reference]
        let sign = change.page.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
        return .seeOther("\(change.page)\(sign)\(parameters.encoded)")
    }

    /// Leads to the page on which the person asks for the change once more.
    @Sendable private func again(_ request: Request, _ context: ServerContext) async throws -> Response {
        let reference = try SignInAddress(query: request.uri.query, context).request
        return .seeOther(try await self.requested(reference, request).change.page)
    }

    @Sendable private func cancel(_ request: Request, _ context: ServerContext) async throws -> Response {
        let form = try await request.formText(limit: self.limits.oauth.parameterBytes)
        let reference = try SignInAddress(query: form, context).request
        let (browser, _) = try await self.requested(reference, request)
        try await self.signIns.cancel(reference: reference, browser: browser.cookieValue)
        return .page(
            self.answers.pages.html(
                ResultPage(.done, .changeCancelled, target: IdentityPaths.overview)))
    }

    // MARK: The password

    /// Returns the person of a change's account, if the person has a password; `nil` if the password cannot confirm the
    /// change here.
    ///
    /// The person is signed in, except for a decision about an earlier change: then the password is older than the
    /// change.
    func visitor(_ request: Request, _ change: RequestedChange) async throws -> OwnPassword.Summary? {
        guard let summary = try await self.passwords.summary(accountID: change.accountID), summary.hasPassword,
            let since = summary.unchangedSince
        else { return nil }
        if let moment = change.before { return since < moment ? summary : nil }
        return try await self.isSignedIn(request, change) ? summary : nil
    }

    /// Returns `true` if the person of a change's account is signed in here.
    func isSignedIn(_ request: Request, _ change: RequestedChange) async throws -> Bool {
        guard let session = self.cookies.session(of: request),
            let active = try await self.provider.sessions.session(session)
        else { return false }
        return active.account.hasSameBytes(as: change.accountID)
    }

    var unconfirmable: Response {
        .page(
            self.answers.pages.html(
                ResultPage(.refused, .changeUnconfirmable, target: IdentityPaths.overview)),
            status: .forbidden)
    }

    private func page(
        _ reference: String, _ browser: BrowserSecret, _ change: RequestedChange, _ summary: OwnPassword.Summary,
        _ context: ServerContext, problem: FormProblem? = nil, status: HTTPResponse.Status = .ok
    ) -> Response {
        var page = ChangePasswordPage(
            request: reference, text: change.change.text, username: summary.username,
            asksForCode: summary.hasSecondFactor, asksForMailedCode: change.hasPassword,
            confirmation: self.cookies.formToken(browser, request: reference), problem: problem)
        page.reference = problem.map { _ in context.reference }
        return .page(self.answers.pages.html(page), status: status)
    }

    @Sendable private func showPassword(_ request: Request, _ context: ServerContext) async throws -> Response {
        let reference = try SignInAddress(query: request.uri.query, context).request
        let (browser, change) = try await self.requested(reference, request)
        guard change.isWithoutPhone, change.state == .waiting, change.readyAt == nil else {
            return .seeOther(Self.address(Self.waiting, reference))
        }
        guard let summary = try await self.visitor(request, change) else {
            return try await self.providers(request, change).isEmpty
                ? self.unconfirmable : .seeOther(Self.address(ChangeProviderPage.path, reference))
        }
        return self.page(reference, browser, change, summary, context)
    }

    @Sendable private func takePassword(_ request: Request, _ context: ServerContext) async throws -> Response {
        let form = try await request.pageForm(limit: self.limits.oauth.parameterBytes)
        guard let reference = form["request"] else {
            throw Problem(.badRequest, "invalid-request", "The form lacks request.")
        }
        let (browser, change) = try await self.requested(reference, request)
        guard change.isWithoutPhone, let summary = try await self.visitor(request, change) else {
            return self.unconfirmable
        }
        try self.cookies.requireToken(of: form, browser, request: reference)
        let ways = (browser: browser, change: change, summary: summary)
        return change.hasPassword
            ? try await self.takeMailedCode(form["mailed-code"] ?? "", reference, ways, context)
            : try await self.takePassword(form, reference, ways, request, context)
    }

    /// A change that waits for a password, the browser that requested the change, and what is known of the account's
    /// password without its hash.
    private typealias Ways = (browser: BrowserSecret, change: RequestedChange, summary: OwnPassword.Summary)

    private func takePassword(
        _ form: OAuth.Parameters, _ reference: String, _ ways: Ways, _ request: Request, _ context: ServerContext
    ) async throws -> Response {
        let (browser, change, summary) = ways
        let proof = OwnPassword.Proof(
            accountID: change.accountID, password: form["password"] ?? "", code: form["code"] ?? "",
            visitor: self.cookies.visitor(of: request, source: context.source))
        switch try await self.passwords.judge(proof) {
        case .refused(let refusal):
            let code = "password-\(refusal.rawValue)"
            context.count(.passwordAttempts, code)
            context.notes.note(
                RequestRefusal(
                    code: code, reason: refusal.words, setting: refusal.setting, account: change.accountID))
            return self.page(
                reference, browser, change, summary, context,
                problem: .proofRefused,
                status: .forbidden)
        case .right(let person):
            context.count(.passwordAttempts, "right")
            guard change.before.map({ person.unchangedSince < $0 }) ?? true else { return self.unconfirmable }
            guard self.codes.areNeeded(summary) else {
                return try await self.confirm(reference, ways, by: summary.hasSecondFactor ? ["pwd", "otp"] : ["pwd"])
            }
            guard
                try await self.codes.ask(accountID: change.accountID, reference: reference, source: context.source)
            else {
                return self.page(
                    reference, browser, change, summary, context,
                    problem: .noCodeMailed,
                    status: .forbidden)
            }
            guard
                try await self.confirmations.notePassword(
                    reference, browser: browser.cookieValue, accountID: change.accountID)
            else { throw SignInProblem.unknown }
            return .seeOther(Self.address(ChangePasswordPage.path, reference))
        }
    }

    private func takeMailedCode(_ code: String, _ reference: String, _ ways: Ways, _ context: ServerContext)
        async throws -> Response
    {
        guard
            try await self.codes.judge(
                code, accountID: ways.change.accountID, reference: reference, source: context.source)
        else {
            context.notes.note(
                RequestRefusal(
                    code: "mailed-code", reason: "A mailed code was not right, or rests after several.",
                    account: ways.change.accountID))
            return self.page(
                reference, ways.browser, ways.change, ways.summary, context,
                problem: .mailedCodeRefused,
                status: .forbidden)
        }
        return try await self.confirm(reference, ways, by: ["pwd", "otp"])
    }

    private func confirm(_ reference: String, _ ways: Ways, by methods: [String]) async throws -> Response {
        guard
            try await self.confirmations.confirmByPassword(
                reference, browser: ways.browser.cookieValue, accountID: ways.change.accountID, methods: methods)
        else { throw SignInProblem.unknown }
        return .seeOther(Self.address(Self.complete, reference))
    }
}
