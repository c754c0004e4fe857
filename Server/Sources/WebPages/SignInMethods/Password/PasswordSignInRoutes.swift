import Accounts
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

/// The pages on which a person signs in by a password, and by a code beside the password.
///
/// Like the phone's page, the pages answer only the browser that started the request, and only for a service that takes
/// passwords.
struct PasswordSignInRoutes: Sendable {
    let signIns: PasswordSignIns
    let provider: OpenIDProvider
    let answers: PageAnswers
    let cookies: BrowserCookies
    let limits: Limits
    let hashing: PasswordLimits
    /// `true` if the server can mail a link for a new password.
    let hasMail: Bool

    /// The endpoints of the pages.
    var endpoints: [Endpoint] {
        self.endpoints(
            of: .password, "password", "password", .signsIn,
            [.required("username", "The name."), .required("password", "The password.")])
            + self.endpoints(
                of: .secondFactor, "code", "code", .signsIn, [.required("code", "A code beside the password.")])
            + self.endpoints(
                of: .newPassword, "new-password", "newPassword", .gives,
                [.required("new-password", "The password to keep.")])
    }

    /// Returns the endpoints of a page that asks for something: the page, and the endpoint that takes the answer.
    private func endpoints(
        of stage: PasswordSignIns.Stage, _ name: String, _ id: String, _ effect: Endpoint.Effect,
        _ fields: [DescribedField]
    ) -> [Endpoint] {
        [
            SignInAddress.page(
                "/sign-in/\(name)", id, "The page that asks for it.", .none,
                handler: self.answers.page { try await self.show(stage, $0, $1) }),
            Endpoint(
                method: .post, path: "/sign-in/\(name)", id: "\(id)-answer", summary: "What the person has typed.",
                effect: effect, body: (.form, SignInAddress.fields + fields), answers: [.goOn, .page], refusals: .pages,
                refusing: [
                    SignInAddress.unknown, Endpoint.tooMany, (403, "Not right, or not now."),
                    (422, "It cannot be chosen."),
                ], handler: self.answers.page { try await self.take(stage, $0, $1) }),
        ]
    }

    /// A request in progress, in the browser that started the request.
    fileprivate struct Pending {
        let address: SignInAddress
        let authorization: PendingAuthorization
        let place: PasswordSignIns.Place
    }

    private func show(
        _ question: PasswordSignIns.Stage, _ request: Request, _ context: ServerContext
    ) async throws -> Response {
        let pending = try await self.pending(SignInAddress(query: request.uri.query, context), request, context)
        let stage = try await self.signIns.stage(request: pending.address.request)
        // A person who goes back to the first page begins anew. Every other page is open only at its own stage.
        guard question == stage || question == .password else { return .seeOther(pending.path(to: stage)) }
        return try await self.page(question, pending, context)
    }

    private func take(
        _ question: PasswordSignIns.Stage, _ request: Request, _ context: ServerContext
    ) async throws -> Response {
        let text = try await request.formText(limit: self.limits.oauth.parameterBytes)
        let pending = try await self.pending(SignInAddress(query: text, context), request, context)
        let form = try Form(text, limit: self.limits.oauth.parameterBytes)
        let verdict: PasswordSignIns.Verdict?
        do {
            switch question {
            case .password, .done:
                verdict = try await self.signIns.attempt(
                    username: try form.required("username"), password: try form.required("password"), at: pending.place)
            case .secondFactor:
                verdict = try await self.signIns.attempt(code: try form.required("code"), at: pending.place)
            case .newPassword:
                verdict = try await self.signIns.choose(try form.required("new-password"), at: pending.place)
            }
        } catch let refusal as PasswordRefusal {
            context.notes.note(RequestRefusal(code: "password-refused", reason: "A new password was \(refusal.code)."))
            return try await self.page(
                question, pending, context, problem: refusal.problem(self.hashing), status: .unprocessableContent)
        }
        switch verdict {
        case .right(let stage, let replacement)?:
            context.count(.passwordAttempts, "right")
            let next = pending.path(to: stage)
            let cookies = stage == .done ? self.cookies.set(knownBy: pending.place.visitor) : [:]
            guard let replacement else { return .seeOther(next, headers: cookies) }
            return .page(
                self.answers.pages.html(ReplacedCodePage(code: replacement.shownOnce, next: next)), headers: cookies)
        case .refused(let refusal, let account)?:
            let code = "\(question.word)-\(refusal.rawValue)"
            context.count(.passwordAttempts, code)
            context.notes.note(
                RequestRefusal(code: code, reason: refusal.words, setting: refusal.setting, account: account))
            return try await self.page(
                question, pending, context, problem: question.refusal,
                username: try form.required(question.name, orElse: ""),
                status: .forbidden)
        case nil:
            // The request does not wait for this form: another page of the browser has gone on, or begun anew.
            let stage = try await self.signIns.stage(request: pending.address.request)
            return .seeOther(pending.path(to: stage))
        }
    }

    private func page(
        _ question: PasswordSignIns.Stage, _ pending: Pending, _ context: ServerContext, problem: FormProblem? = nil,
        username: String? = nil,
        status: HTTPResponse.Status = .ok
    ) async throws -> Response {
        let authorization = pending.authorization
        let asked: PasswordPage.Question
        switch question {
        case .password, .done: asked = .password(username: username ?? authorization.loginHint ?? "")
        case .secondFactor: asked = .code
        case .newPassword:
            asked = .newPassword(
                username: try await self.signIns.username(request: pending.address.request) ?? "",
                fewestCharacters: self.hashing.fewestCharacters)
        }
        var page = PasswordPage(
            frame: SignInFrame(
                requestID: pending.address.request, clientName: authorization.clientName, client: authorization.client,
                returnOrigin: authorization.clientOrigin), question: asked, problem: problem,
            hasOtherWays: authorization.methods.count > 1, hasMail: self.hasMail)
        page.reference = problem.map { _ in context.reference }
        return .page(self.answers.pages.html(page), status: status)
    }

    /// Returns the request for the browser that started the request, if the service takes passwords. Throws a
    /// ``Problem`` for every other request.
    private func pending(
        _ address: SignInAddress, _ request: Request, _ context: ServerContext
    ) async throws -> Pending {
        guard let browser = self.cookies.browser(of: request) else {
            throw Problem(.notFound, Problem.Name.browserUnknown, "The browser shows no cookie of a sign-in.")
        }
        guard let pending = try await self.provider.authorizations.pending(request: address.request, browser: browser),
            pending.methods.containsBytes(of: PasswordSignIn.word)
        else { throw Problem(.notFound, Problem.Name.notFound, "There is no such sign-in in this browser.") }
        context.notes.note(client: pending.client)
        return Pending(
            address: address, authorization: pending,
            place: PasswordSignIns.Place(
                request: address.request, client: (pending.client, pending.clientName),
                visitor: self.cookies.visitor(of: request, source: context.source),
                browser: BrowserWords.describe(userAgent: request.headers[.userAgent]), address: context.clientAddress))
    }

    /// The fields of a form.
    private struct Form {
        private let parameters: OAuth.Parameters

        init(_ text: String, limit: Int) throws {
            guard let parameters = try? OAuth.Parameters(parsing: text, limits: .init(bytes: limit)) else {
                throw Problem(.badRequest, "malformed-body", "The form is not encoded, or has a field twice.")
            }
            self.parameters = parameters
        }

        /// Returns a field, which may be empty. Throws a ``Problem`` if the field is missing.
        func required(_ name: String, orElse otherwise: String? = nil) throws -> String {
            guard let value = self.parameters[name] ?? otherwise else {
                throw Problem(.badRequest, "invalid-request", "The form lacks \(name).")
            }
            return value
        }
    }
}

extension PasswordSignInRoutes.Pending {
    /// Returns the address of the page for the missing proof.
    fileprivate func path(to stage: PasswordSignIns.Stage) -> String {
        switch stage {
        case .password: self.address.path("/sign-in/password")
        case .secondFactor: self.address.path("/sign-in/code")
        case .newPassword: self.address.path("/sign-in/new-password")
        case .done: self.address.path("/sign-in/complete")
        }
    }
}

extension PasswordSignIns.Stage {
    /// The stage's name in the log.
    fileprivate var word: String { self == .secondFactor ? "code" : "password" }

    /// The field that a form shows again.
    fileprivate var name: String { self == .password ? "username" : "" }

    /// The message for the person, the same for every reason.
    fileprivate var refusal: FormProblem { self == .secondFactor ? .codeRefused : .signInRefused }
}
