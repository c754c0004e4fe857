import Accounts
import CeremonyEngine
import Endpoints
import HTTPTypes
import Hummingbird
import OAuth
import OAuthProvider
import Pages
import Passwords
import Records
import Settings
import Texts
import _Primitives

/// The pages behind mailed links, and the pages on which people request a link by mail.
///
/// Opening a link changes nothing, because programs that examine mailboxes open links too. The form of the link's page
/// spends the link. The form of a new password carries the link and needs no cookie, because people read their mail in
/// another browser. The form of an address needs the session of the address's account, and the sign of every form of a
/// session.
struct MailedLinkRoutes: Sendable {
    let resets: PasswordResets
    let confirmations: AddressConfirmations
    let provider: OpenIDProvider
    let changes: ConfirmedChanges
    let answers: PageAnswers
    let cookies: BrowserCookies
    let limits: Limits
    let hashing: PasswordLimits

    /// The endpoints of the pages.
    var endpoints: [Endpoint] {
        let link = DescribedField.required("link", "What the link carries.")
        let over = (status: 404, meaning: "The link does not work any more.")
        let nobody = (status: 403, meaning: "Nobody is signed in.")
        return [
            Endpoint(
                method: .get, path: ForgottenPasswordPage.path, id: "forgotten",
                summary: "The page that asks for the name.", effect: .none,
                answers: [.page], refusals: .pages, get: .reads
            ) { _, _ in .page(self.answers.pages.html(ForgottenPasswordPage())) },
            Endpoint(
                method: .post, path: ForgottenPasswordPage.path, id: "askForReset",
                summary: "A link to a new password is mailed, or nobody is; the answer is the same.", effect: .none,
                body: (.form, [.required("username", "The name.")]), answers: [.page], refusals: .pages,
                refusing: [Endpoint.tooMany], handler: self.answers.page(self.askForReset)),
            Endpoint(
                method: .get, path: MailedLinkPaths.passwordReset, id: "showReset", summary: "Where such a link leads.",
                effect: .none,
                query: [link], answers: [.page], refusals: .pages, refusing: [over],
                handler: self.answers.page(self.showReset)),
            Endpoint(
                method: .post, path: MailedLinkPaths.passwordReset, id: "reset",
                summary:
                    "A link is spent on a new password, or on a browser in which the present one is judged past the rest.",
                effect: .gives,
                body: (
                    .form,
                    [
                        link, .optional("new-password", "The password to keep, unless the present one is kept."),
                        .optional("keep", "`yes`: the password stays, and the account knows this browser."),
                        .optional("code", "A code, where one is asked for."),
                    ]
                ), answers: [.page], refusals: .pages,
                refusing: [over, Endpoint.tooMany, (403, "The code is not right."), (422, "It cannot be chosen.")],
                handler: self.answers.page(self.reset)),
            Endpoint(
                method: .get, path: OwnAddressPage.path, id: "ownAddress", summary: "A person's e-mail address.",
                effect: .none,
                query: [.optional("address", "A further address, by its identifier.")], answers: [.page],
                refusals: .pages, refusing: [nobody], handler: self.answers.page(self.showAddress)),
            Endpoint(
                method: .post, path: OwnAddressPage.path, id: "askForConfirmation",
                summary: "A link to confirm it, or a further address, is mailed there.", effect: .gives,
                body: (
                    .form,
                    [
                        .required("confirmation", "What the page carried."),
                        .optional("address", "The further address, by its identifier."), ConfirmedChanges.described,
                    ]
                ), answers: [.page, .goOn], refusals: .pages,
                refusing: [
                    Endpoint.tooMany,
                    (
                        403,
                        "Nobody is signed in, or no link is mailed."
                    ),
                ], handler: self.answers.page(self.askForConfirmation)),
            Endpoint(
                method: .get, path: MailedLinkPaths.addressConfirmation, id: "showConfirmation",
                summary: "Where such a link leads.", effect: .none, query: [link], answers: [.page], refusals: .pages,
                refusing: [over], handler: self.answers.page(self.showConfirmation)),
            Endpoint(
                method: .post, path: MailedLinkPaths.addressConfirmation, id: "confirmAddress",
                summary: "A link is spent: the address is the person's.", effect: .gives,
                body: (.form, [link, .required("confirmation", "What the page carried.")]), answers: [.page],
                refusals: .pages,
                refusing: [over, (403, "Nobody is signed in, or nobody was when the page was opened.")],
                handler: self.answers.page(self.confirm)),
        ]
    }

    // MARK: A forgotten password

    @Sendable private func askForReset(_ request: Request, _ context: ServerContext) async throws -> Response {
        let form = try await request.pageForm(limit: self.limits.oauth.parameterBytes)
        guard let username = form["username"] else {
            throw Problem(.badRequest, "invalid-request", "The form lacks username.")
        }
        try await self.resets.ask(username: username, source: context.source)
        return .page(
            self.answers.pages.html(
                ResultPage(.done, .resetLinkMailed)))
    }

    @Sendable private func showReset(_ request: Request, _ context: ServerContext) async throws -> Response {
        let link = try SignInAddress.parameter("link", of: request.uri.query ?? "")
        guard let visit = try await self.resets.visit(link: link) else { return self.over(context) }
        return self.page(visit, link, context)
    }

    private func page(
        _ visit: PasswordResets.Visit, _ link: String, _ context: ServerContext, problem: FormProblem? = nil,
        status: HTTPResponse.Status = .ok
    ) -> Response {
        var page = PasswordResetPage(
            link: link, username: visit.username, asksForCode: visit.hasSecondFactor,
            fewestCharacters: self.hashing.fewestCharacters, action: MailedLinkPaths.passwordReset, problem: problem)
        page.reference = problem.map { _ in context.reference }
        return .page(self.answers.pages.html(page), status: status)
    }

    @Sendable private func reset(_ request: Request, _ context: ServerContext) async throws -> Response {
        let form = try await request.pageForm(limit: self.limits.oauth.parameterBytes)
        let link = form["link"] ?? ""
        let visitor = self.cookies.visitor(of: request, source: context.source)
        guard form[PasswordResetPage.keepField] == nil else { return try await self.know(visitor, link, context) }
        do {
            let verdict = try await self.resets.reset(
                link: link, to: form["new-password"] ?? "", code: form["code"] ?? "", of: visitor,
                address: context.clientAddress)
            switch verdict {
            case .over: return self.over(context)
            case .done(let replacement):
                let cookies = HTTPFields([self.cookies.endSession] + self.cookies.set(knownBy: visitor))
                guard let replacement else {
                    return .page(self.answers.pages.html(ResultPage(.done, .passwordReset)), headers: cookies)
                }
                return .page(
                    self.answers.pages.html(ReplacedCodePage(code: replacement.shownOnce, next: nil)), headers: cookies)
            case .refused(let refusal, let account):
                let code = "code-\(refusal.rawValue)"
                context.count(.passwordAttempts, code)
                context.notes.note(
                    RequestRefusal(code: code, reason: refusal.words, setting: refusal.setting, account: account))
                guard let visit = try await self.resets.visit(link: link) else { return self.over(context) }
                return self.page(
                    visit, link, context, problem: .codeRefused, status: .forbidden)
            }
        } catch let refusal as PasswordRefusal {
            context.notes.note(RequestRefusal(code: "password-refused", reason: "A new password was \(refusal.code)."))
            guard let visit = try await self.resets.visit(link: link) else { return self.over(context) }
            return self.page(
                visit, link, context, problem: refusal.problem(self.hashing), status: .unprocessableContent)
        }
    }

    /// Makes the account know the browser of a person who keeps their password.
    private func know(_ visitor: Visitor, _ link: String, _ context: ServerContext) async throws -> Response {
        guard try await self.resets.knowBrowser(link: link, of: visitor, address: context.clientAddress) else {
            return self.over(context)
        }
        return .page(
            self.answers.pages.html(
                ResultPage(.done, .browserKnown)), headers: self.cookies.set(knownBy: visitor))
    }

    /// Returns the page of a link that is spent, too old, or not this server's.
    ///
    /// - Parameter isAddress: `true` for a link that confirms an address. The page of the identity mails another link.
    private func over(_ context: ServerContext, isAddress: Bool = false) -> Response {
        context.notes.note(
            RequestRefusal(code: "link-over", reason: "The mailed link is spent, too old, or none of this server's."))
        return .page(
            self.answers.pages.html(
                ResultPage(
                    .tooLate, isAddress ? .addressLinkOver : .resetLinkOver,
                    target: isAddress ? IdentityPaths.overview : ForgottenPasswordPage.path,
                    reference: context.reference)), status: .notFound)
    }

    // MARK: An address

    private func visitor(_ request: Request) async throws -> (session: SessionSecret, accountID: String)? {
        guard let session = self.cookies.session(of: request),
            let active = try await self.provider.sessions.session(session)
        else { return nil }
        return (session, active.account)
    }

    /// The page for a person who is not signed in.
    private var nobody: Response {
        .page(
            self.answers.pages.html(
                ResultPage(.refused, .nobodyIsSignedIn(mayBeInvited: false))), status: .forbidden)
    }

    @Sendable private func showAddress(_ request: Request, _ context: ServerContext) async throws -> Response {
        let further = request.uri.query.flatMap { try? SignInAddress.parameter("address", of: $0) }
        guard let visitor = try await self.visitor(request),
            let summary = try await self.confirmations.summary(accountID: visitor.accountID, further: further)
        else { return self.nobody }
        let confirmed = try await self.changes.confirmed(request, accountID: visitor.accountID)
        let isConfirmed = summary.address.map { confirmed?.change == .email($0) } ?? false
        let page = OwnAddressPage(
            address: summary.address, isVerified: summary.isVerified,
            confirmation: self.cookies.formToken(visitor.session), further: further,
            change: isConfirmed ? confirmed?.reference : nil)
        return .page(self.answers.pages.html(page))
    }

    @Sendable private func askForConfirmation(_ request: Request, _ context: ServerContext) async throws -> Response {
        let form = try await request.pageForm(limit: self.limits.oauth.parameterBytes)
        guard let visitor = try await self.visitor(request) else { return self.nobody }
        try self.cookies.requireToken(of: form, visitor.session)
        let further = form["address"]
        let summary = try await self.confirmations.summary(accountID: visitor.accountID, further: further)
        // Services receive a confirmed address, and the letters that reset a password go to the address. An account
        // with only a password confirms its address by the password's session: otherwise nobody could reset the
        // password.
        if let address = summary?.address, summary?.isVerified == false,
            try await self.changes.confirmations.hasPhone(accountID: visitor.accountID)
        {
            let parameters = further.map { ["address": $0] as OAuth.Parameters }
            let page = OwnAddressPage.path + (parameters.map { "?\($0.encoded)" } ?? "")
            if let asked = try await self.changes.answer(
                unlessConfirmed: .email(address), on: page, accountID: visitor.accountID,
                reference: form[ConfirmedChange.field], request, context)
            {
                return asked
            }
        }
        if let refusal = try await self.confirmations.ask(
            accountID: visitor.accountID, further: further, source: context.source)
        {
            context.notes.note(
                RequestRefusal(
                    code: "no-mail-\(refusal.rawValue)", reason: "No link was mailed to the account's address."))
            return .page(
                self.answers.pages.html(
                    ResultPage(
                        .refused, refusal == .resting ? .addressLinkResting : .nothingToConfirm,
                        reference: context.reference)), status: .forbidden)
        }
        return .page(
            self.answers.pages.html(
                ResultPage(.done, .addressLinkMailed)))
    }

    @Sendable private func showConfirmation(_ request: Request, _ context: ServerContext) async throws -> Response {
        let link = try SignInAddress.parameter("link", of: request.uri.query ?? "")
        return try await self.confirmationPage(link, try await self.visitor(request)?.session, context)
    }

    private func confirmationPage(
        _ link: String, _ session: SessionSecret?, _ context: ServerContext, status: HTTPResponse.Status = .ok
    ) async throws -> Response {
        guard let summary = try await self.confirmations.visit(link: link), let address = summary.address else {
            return self.over(context, isAddress: true)
        }
        let page = AddressConfirmationPage(
            link: link, username: summary.username, address: address, action: MailedLinkPaths.addressConfirmation,
            confirmation: session.map { self.cookies.formToken($0) })
        return .page(self.answers.pages.html(page), status: status)
    }

    @Sendable private func confirm(_ request: Request, _ context: ServerContext) async throws -> Response {
        let form = try await request.pageForm(limit: self.limits.oauth.parameterBytes)
        // A mistyped address is a stranger's. The stranger can read the mail, and must not get the account by the mail.
        guard let visitor = try await self.visitor(request) else { return self.nobody }
        let link = form["link"] ?? ""
        // Nor may that stranger, who has the link, make the person's browser send the link. A page that was opened
        // before its person had signed in has no sign of the person yet: the page is shown once more.
        guard form["confirmation"] != nil else {
            return try await self.confirmationPage(link, visitor.session, context, status: .forbidden)
        }
        try self.cookies.requireToken(of: form, visitor.session)
        let isComplete: Bool
        switch try await self.confirmations.confirm(link: link, accountID: visitor.accountID) {
        case nil: return self.over(context, isAddress: true)
        case .complete?: isComplete = true
        case .withoutValue?: isComplete = false
        }
        return .page(
            self.answers.pages.html(
                ResultPage(
                    .done, .addressConfirmed(isComplete: isComplete), target: IdentityPaths.overview)))
    }
}
