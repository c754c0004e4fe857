import Accounts
import CeremonyEngine
import Endpoints
import HTTPTypes
import Hummingbird
import OAuth
import OAuthProvider
import Pages
import Passwords
import Settings
import Texts
import _Primitives

/// The pages on which a person who is signed in changes the password and the factors beside the password.
///
/// The session only identifies the person. Every change asks for the password anew, and for a code if the account has a
/// second factor. For an account with a phone, the phone confirms the change first. Forms carry a token that only this
/// server and the browser know, because other addresses of the same site can post with the browser's cookie.
struct OwnPasswordRoutes: Sendable {
    let passwords: OwnPassword
    let factors: SecondFactors
    let provider: OpenIDProvider
    let changes: ConfirmedChanges
    let answers: PageAnswers
    let cookies: BrowserCookies
    let limits: Limits
    let hashing: PasswordLimits

    /// The endpoints of the pages. Each page asks for the password anew.
    var endpoints: [Endpoint] {
        OwnPasswordPage.Matter.allCases.flatMap { matter in
            [
                Endpoint(
                    method: .get, path: matter.path, id: "own-\(matter.rawValue)",
                    summary: "The page that asks for it.",
                    effect: .none, answers: [.page], refusals: .pages, refusing: [(403, "Nobody is signed in.")],
                    handler: self.answers.page { try await self.show(matter, $0, $1) }),
                self.change(
                    matter.path, matter.rawValue, handler: self.answers.page { try await self.take(matter, $0, $1) }),
            ]
        } + [
            self.change(
                OwnPasswordPage.confirmationPath, "second-factor/code",
                handler: self.answers.page(self.confirmSecondFactor))
        ]
    }

    private func change(_ path: String, _ name: String, handler: @escaping ServerRouter.Handler) -> Endpoint {
        Endpoint(
            method: .post, path: path, id: "own-\(name)-change", summary: "A change by the person.", effect: .gives,
            body: (
                .form,
                [
                    .required("confirmation", "What the page carried."), .optional("password", "The password."),
                    .optional("code", "A code beside it."), .optional("new-password", "The password to keep."),
                    .optional("offer", "What the page with the picture carried."), ConfirmedChanges.described,
                ]
            ), answers: [.page, .goOn], refusals: .pages,
            refusing: [
                Endpoint.tooMany, (403, "Nobody is signed in, or it is not right."), (422, "It cannot be chosen."),
            ], handler: handler)
    }

    /// A person who is signed in here.
    private struct Visitor {
        let accountID: String
        let summary: OwnPassword.Summary
        let session: SessionSecret
        let sessionID: String
    }

    private func visitor(_ request: Request) async throws -> Visitor? {
        guard let session = self.cookies.session(of: request),
            let active = try await self.provider.sessions.session(session),
            let summary = try await self.passwords.summary(accountID: active.account), summary.hasPassword
        else { return nil }
        return Visitor(accountID: active.account, summary: summary, session: session, sessionID: active.id)
    }

    /// The page for a person who is not signed in, or has no password. The page does not tell which of the two is true,
    /// because nobody else has to know.
    private var nobody: Response {
        .page(
            self.answers.pages.html(
                ResultPage(.refused, .noPasswordHere)), status: .forbidden)
    }

    private func show(_ matter: OwnPasswordPage.Matter, _ request: Request, _ context: ServerContext) async throws
        -> Response
    {
        guard let visitor = try await self.visitor(request) else { return self.nobody }
        guard try await self.changes.confirmations.hasPhone(accountID: visitor.accountID) else {
            return self.page(matter, visitor, context)
        }
        let confirmed = try await self.changes.confirmed(request, accountID: visitor.accountID)
        if let confirmed, confirmed.change == matter.change {
            return self.page(matter, visitor, context, change: confirmed.reference)
        }
        return .page(
            self.answers.pages.html(
                ChangeQuestionPage(
                    matter.question, action: matter.path,
                    fields: [("confirmation", self.cookies.formToken(visitor.session))])))
    }

    private func page(
        _ matter: OwnPasswordPage.Matter, _ visitor: Visitor, _ context: ServerContext, change: String? = nil,
        problem: FormProblem? = nil, status: HTTPResponse.Status = .ok
    ) -> Response {
        var page = OwnPasswordPage(
            matter: matter, username: visitor.summary.username, asksForCode: visitor.summary.hasSecondFactor,
            recoveryCodes: visitor.summary.recoveryCodes, fewestCharacters: self.hashing.fewestCharacters,
            confirmation: self.cookies.formToken(visitor.session), problem: problem)
        page.change = change
        page.reference = problem.map { _ in context.reference }
        return .page(self.answers.pages.html(page), status: status)
    }

    /// Returns the form of a visitor, if the form stood on a page of this server. Throws a ``Problem`` for any other
    /// form.
    private func form(of request: Request, _ visitor: Visitor) async throws -> OAuth.Parameters {
        let form = try await request.pageForm(limit: self.limits.oauth.parameterBytes)
        try self.cookies.requireToken(of: form, visitor.session)
        return form
    }

    private func take(_ matter: OwnPasswordPage.Matter, _ request: Request, _ context: ServerContext) async throws
        -> Response
    {
        guard let visitor = try await self.visitor(request) else {
            // The route reads the body all the same, so that a malformed body gets the usual answer.
            _ = try await request.formText(limit: self.limits.oauth.parameterBytes)
            return self.nobody
        }
        let form = try await self.form(of: request, visitor)
        let change = form[ConfirmedChange.field]
        let needsPhone = try await self.changes.confirmations.hasPhone(accountID: visitor.accountID)
        if needsPhone, form["password"] == nil {
            return try await self.ask(matter, visitor, reference: nil, request, context) ?? self.nobody
        }
        let person = self.cookies.visitor(of: request, source: context.source)
        do {
            // The check comes first, so that a forbidden password spends nothing.
            if matter == .password {
                try await self.passwords.check(
                    new: form["new-password"] ?? "", accountID: visitor.accountID, by: person)
            }
            let proof = OwnPassword.Proof(
                accountID: visitor.accountID, password: form["password"] ?? "", code: form["code"] ?? "",
                visitor: person)
            switch try await self.passwords.judge(proof) {
            case .refused(let refusal):
                let code = "password-\(refusal.rawValue)"
                context.count(.passwordAttempts, code)
                context.notes.note(
                    RequestRefusal(
                        code: code, reason: refusal.words, setting: refusal.setting, account: visitor.accountID))
                return self.page(
                    matter, visitor, context, change: change,
                    problem: .proofRefused,
                    status: .forbidden)
            case .right(let proved):
                context.count(.passwordAttempts, "right")
                if needsPhone, let asked = try await self.ask(matter, visitor, reference: change, request, context) {
                    return asked
                }
                return try await self.carryOut(matter, form, visitor, proved, person, context)
            }
        } catch let refusal as PasswordRefusal {
            context.notes.note(RequestRefusal(code: "password-refused", reason: "A new password was \(refusal.code)."))
            return self.page(
                matter, visitor, context, change: change, problem: refusal.problem(self.hashing),
                status: .unprocessableContent)
        }
    }

    /// Takes the confirmation of a change and returns `nil`. Without a confirmation the answer leads to the page on
    /// which the phone confirms the change.
    private func ask(
        _ matter: OwnPasswordPage.Matter, _ visitor: Visitor, reference: String?, _ request: Request,
        _ context: ServerContext
    ) async throws -> Response? {
        try await self.changes.answer(
            unlessConfirmed: matter.change, on: matter.path, accountID: visitor.accountID, reference: reference,
            request, context)
    }

    private func carryOut(
        _ matter: OwnPasswordPage.Matter, _ form: OAuth.Parameters, _ visitor: Visitor, _ person: OwnPassword.Proved,
        _ origin: Accounts.Visitor, _ context: ServerContext
    ) async throws -> Response {
        switch matter {
        case .password:
            let isChanged = try await self.passwords.change(
                to: form["new-password"] ?? "", by: person, at: origin, address: context.clientAddress)
            guard isChanged else { return self.nobody }
            return .page(
                self.answers.pages.html(
                    ResultPage(.done, .passwordChanged)),
                headers: HTTPFields([self.cookies.endSession] + self.cookies.set(knownBy: origin)))
        case .secondFactor:
            return try self.page(offering: self.factors.offer(to: person), visitor, context)
        case .recoveryCodes:
            guard let codes = try await self.factors.renewRecoveryCodes(of: person) else {
                return self.page(
                    matter, visitor, context, problem: .noAuthenticatorApp)
            }
            return .page(self.answers.pages.html(RecoveryCodesPage(codes: codes.map(\.shownOnce))))
        }
    }

    private func page(
        offering offer: SecondFactors.Offer, _ visitor: Visitor, _ context: ServerContext, problem: FormProblem? = nil,
        status: HTTPResponse.Status = .ok
    ) throws -> Response {
        var page = SecondFactorOfferPage(
            address: offer.totp.address(
                issuer: self.answers.pages.serviceName, account: visitor.summary.username),
            typedSecret: offer.totp.typedSecret, sealed: offer.sealed,
            confirmation: self.cookies.formToken(visitor.session), problem: problem)
        page.reference = problem.map { _ in context.reference }
        return .page(try self.answers.pages.html(page), status: status)
    }

    @Sendable private func confirmSecondFactor(_ request: Request, _ context: ServerContext) async throws -> Response {
        guard let visitor = try await self.visitor(request) else {
            _ = try await request.formText(limit: self.limits.oauth.parameterBytes)
            return self.nobody
        }
        let form = try await self.form(of: request, visitor)
        guard let offer = try await self.factors.offer(sealed: form["offer"] ?? "", accountID: visitor.accountID) else {
            return self.page(
                .secondFactor, visitor, context,
                problem: .offerOver, status: .forbidden)
        }
        guard
            let codes = try await self.factors.enrol(offer, code: form["code"] ?? "", session: visitor.sessionID)
        else {
            context.notes.note(
                RequestRefusal(
                    code: "code-wrong", reason: "The first code of a new app was not the right one.",
                    account: visitor.accountID))
            return try self.page(
                offering: offer, visitor, context,
                problem: .firstCodeWrong,
                status: .forbidden)
        }
        return .page(self.answers.pages.html(RecoveryCodesPage(codes: codes.map(\.shownOnce))))
    }
}

extension OwnPasswordPage.Matter {
    /// The change that a phone confirms.
    fileprivate var change: AccountChange {
        switch self {
        case .password: .password
        case .secondFactor: .secondFactor
        case .recoveryCodes: .recoveryCodes
        }
    }

    /// The question before the change.
    fileprivate var question: Question {
        switch self {
        case .password: .beforePassword
        case .secondFactor: .beforeSecondFactor
        case .recoveryCodes: .beforeRecoveryCodes
        }
    }
}
