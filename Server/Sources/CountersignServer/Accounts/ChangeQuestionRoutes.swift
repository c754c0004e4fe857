import Accounts
import CeremonyEngine
import HTTPTypes
import Hummingbird
import OAuth
import OAuthProvider
import Pages
import Records
import Settings
import _Primitives

/// The routes of “This was not me”: the list of an account's latest changes, and the question about each change.
///
/// A person reaches the question from the list by a session of the account, or by a mailed link without a session. A
/// link opens nothing but the question, and the form spends the link. The phone or the password then confirms the
/// answer, if the phone or the password is older than the change (``AccountChangeQuestions``).
struct ChangeQuestionRoutes: Sendable {
    let questions: AccountChangeQuestions
    let changes: ConfirmedChanges
    let provider: OpenIDProvider
    let answers: PageAnswers
    let cookies: BrowserCookies
    let limits: Limits
    let time: TimeSource

    /// The endpoints of the list and of the question.
    var endpoints: [Endpoint] {
        let over = (status: 404, meaning: "The link is spent or too old, or nothing can be decided any more.")
        let nobody = (status: 403, meaning: "Nobody is signed in.")
        let parts: [DescribedField] = [
            .optional("link", "The mailed link."), .optional("id", "The change."),
            .optional("change", "The confirmation by a phone or a password."),
        ]
        return [
            Endpoint(
                method: .get, path: IdentityPaths.changes, id: "accountChanges",
                summary: "The latest changes of an account.", effect: .none,
                answers: [.page], refusals: .pages, refusing: [nobody], get: .reads,
                handler: self.answers.page(self.list)),
            Endpoint(
                method: .get, path: MailedLinkPaths.changeQuestion, id: "askAboutChange",
                summary: "The question whether a change was the person's own.", effect: .none, query: parts,
                answers: [.page],
                refusals: .pages, refusing: [over], get: .reads, handler: self.answers.page(self.ask)),
            Endpoint(
                method: .post, path: MailedLinkPaths.changeQuestion, id: "decideAboutChange",
                summary: "The answer: first it is confirmed, then the change rests, or counts again.",
                effect: .takesAway,
                body: (.form, parts + [.optional("confirmation", "What the page carried.")]),
                answers: [.page, .goOn], refusals: .pages,
                refusing: [over, Endpoint.tooMany, (403, "Nothing older than the change has confirmed.")],
                handler: self.answers.page(self.answer)),
            Endpoint(
                method: .post, path: "\(IdentityPaths.changes)/again", id: "mailChangeQuestion",
                summary: "Another link to the question is mailed.", effect: .none,
                body: (.form, [.required("id", "The change.")]),
                answers: [.page], refusals: .pages, refusing: [Endpoint.tooMany],
                handler: self.answers.page(self.mailAgain)),
        ]
    }

    private func visitor(_ request: Request) async throws -> (session: SessionSecret, accountID: String)? {
        guard let session = self.cookies.session(of: request), let active = try await self.provider.session(session)
        else { return nil }
        return (session, active.account)
    }

    private func result(
        _ outcome: ResultPage.Outcome, _ headline: String, _ explanation: String,
        link: (label: String, target: String)? = nil, status: HTTPResponse.Status = .ok, reference: String? = nil
    ) -> Response {
        .page(
            self.answers.pages.html(
                ResultPage(
                    outcome: outcome, headline: headline, explanation: explanation, link: link, reference: reference)),
            status: status)
    }

    // MARK: The list

    @Sendable private func list(_ request: Request, _ context: ServerContext) async throws -> Response {
        guard let visitor = try await self.visitor(request) else {
            return self.result(
                .refused, "Nobody is signed in here",
                "Sign in to a service first, and come back in the same browser.", status: .forbidden)
        }
        let recent = try await self.questions.recent(accountID: visitor.accountID)
        let delayed = try await self.changes.confirmations.delayed(accountID: visitor.accountID)
        let now = self.time.now()
        return .page(
            self.answers.pages.html(
                AccountChangesPage(
                    changes: recent.map { question in
                        AccountChangesPage.Change(
                            id: question.change.id, what: question.change.shown,
                            moment: question.change.madeAt.description,
                            shownMoment: question.change.madeAt.shownMinute, state: question.change.state.words,
                            question: question.decision?.question)
                    },
                    delayed: delayed.map { change in
                        AccountChangesPage.Delayed(
                            reference: change.reference, what: change.change.words,
                            moment: change.readyAt.description, shownMoment: change.readyAt.shownMinute,
                            target: change.readyAt <= now
                                ? ChangeRoutes.address(ChangeRoutes.complete, change.reference) : nil)
                    }, confirmation: self.cookies.formToken(visitor.session))))
    }

    // MARK: The question

    @Sendable private func ask(_ request: Request, _ context: ServerContext) async throws -> Response {
        let query = request.uri.query ?? ""
        if let confirmed = try await self.changes.confirmed(request), let (id, decision) = confirmed.change.decision {
            guard let question = try await self.questions.question(of: id), question.decision == decision else {
                return self.tooLate
            }
            return self.page(
                question, decision, [(ConfirmedChange.field, confirmed.reference)], label: decision.deed)
        }
        if let link = try? SignInAddress.parameter("link", of: query) {
            guard let question = try await self.questions.question(ofLink: link) else {
                return self.linkIsOver(try? SignInAddress.parameter("id", of: query), context)
            }
            guard let decision = question.decision else { return self.tooLate }
            return self.page(question, decision, [("link", link)])
        }
        guard let id = try? SignInAddress.parameter("id", of: query) else { return self.tooLate }
        guard let visitor = try await self.visitor(request) else { return self.linkIsOver(id, context) }
        guard let question = try await self.questions.question(of: id),
            question.change.accountID.hasSameBytes(as: visitor.accountID), let decision = question.decision
        else { return self.tooLate }
        return self.page(
            question, decision, [("id", id), ("confirmation", self.cookies.formToken(visitor.session))])
    }

    private func page(
        _ question: AccountChangeQuestions.Question, _ decision: AccountChangeRecord.State,
        _ fields: [(name: String, value: String)], label: String? = nil
    ) -> Response {
        .page(
            self.answers.pages.html(
                ChangeDecisionPage(
                    headline: decision.question,
                    explanation: "\(question.change.shown), \(question.change.madeAt.shownMinute). \(decision.meaning)",
                    action: MailedLinkPaths.changeQuestion, label: label ?? decision.question,
                    fields: fields)))
    }

    // MARK: The answer

    @Sendable private func answer(_ request: Request, _ context: ServerContext) async throws -> Response {
        let form = try await request.pageForm(limit: self.limits.oauth.parameterBytes)
        if let reference = form[ConfirmedChange.field] { return try await self.decide(reference, request, context) }
        let question: AccountChangeQuestions.Question?
        if let link = form["link"] {
            question = try await self.questions.open(link: link)
            guard question != nil else { return self.linkIsOver(form["id"], context) }
        } else {
            guard let visitor = try await self.visitor(request) else { return self.linkIsOver(form["id"], context) }
            try self.cookies.requireToken(of: form, visitor.session)
            question = try await self.questions.question(of: form["id"] ?? "").flatMap {
                $0.change.accountID.hasSameBytes(as: visitor.accountID) ? $0 : nil
            }
        }
        guard let question, let decision = question.decision else { return self.tooLate }
        let parameters: OAuth.Parameters = ["id": question.change.id]
        return try await self.changes.begin(
            AccountChange(decision, about: question.change),
            on: "\(MailedLinkPaths.changeQuestion)?\(parameters.encoded)", accountID: question.change.accountID,
            before: question.change.madeAt, request, context)
    }

    private func decide(_ reference: String, _ request: Request, _ context: ServerContext) async throws -> Response {
        guard let requested = try await self.changes.requested(reference, request),
            let (id, decision) = requested.change.decision,
            try await self.changes.take(requested.change, reference, accountID: requested.accountID, request)
        else {
            context.notes.note(
                RequestRefusal(
                    code: "change-unconfirmed",
                    reason:
                        "The decision about a change was not confirmed by a phone or a password older than the change.")
            )
            return self.result(
                .refused, "This was not confirmed",
                "The phone or the password that confirms has to be older than the change, and the confirmation works once, "
                    + "for \(self.limits.freshSignIn.components.seconds / 60) minutes. Begin again, or ask the people who run "
                    + "this service.", status: .forbidden, reference: context.reference)
        }
        guard
            try await self.questions.decide(
                decision, about: id, accountID: requested.accountID, source: context.source,
                address: context.clientAddress)
        else { return self.tooLate }
        let ended = HTTPFields([self.cookies.endSession])
        let page =
            decision == .disowned
            ? ResultPage(
                outcome: .done, headline: "The change rests",
                explanation:
                    "\(requested.change.words) counts for nothing now, and everybody is signed out. Nothing that the "
                    + "change took away has come back. Sign in by what is left to you, or ask for a new password by mail; if "
                    + "nothing is left, ask the people who run this service.",
                link: ("Ask for a new password", ForgottenPasswordPage.path))
            : ResultPage(
                outcome: .done, headline: "The change counts again",
                explanation:
                    "\(requested.change.words) counts again, unless something newer stands in its place. Everybody is "
                    + "signed out. If anybody disagrees, the people who run this service decide.")
        return .page(self.answers.pages.html(page), headers: ended)
    }

    // MARK: Refusals

    private var tooLate: Response {
        self.result(
            .tooLate, "Nothing can be said of this change any more",
            "A change can be disowned once within seven days, and that can be taken back once. After that the people who run "
                + "this service decide.", status: .notFound)
    }

    /// Returns the page of a link that does not work (any more). With the identifier of a change the page offers
    /// another link.
    private func linkIsOver(_ id: String?, _ context: ServerContext) -> Response {
        context.notes.note(
            RequestRefusal(code: "link-over", reason: "The mailed link is spent, too old, or none of this server's."))
        guard let id else {
            return self.result(
                .tooLate, "This link does not work any more", "A link works once, and for a quarter of an hour.",
                status: .notFound, reference: context.reference)
        }
        return .page(
            self.answers.pages.html(
                ChangeDecisionPage(
                    headline: "This link does not work any more",
                    explanation:
                        "A link works once, and for a quarter of an hour. Another one goes to the account's confirmed "
                        + "e-mail address.", action: "\(IdentityPaths.changes)/again", label: "Mail another link",
                    fields: [("id", id)])), status: .notFound)
    }

    @Sendable private func mailAgain(_ request: Request, _ context: ServerContext) async throws -> Response {
        let form = try await request.pageForm(limit: self.limits.oauth.parameterBytes)
        guard let id = form["id"] else { throw Problem(.badRequest, "invalid-request", "The form lacks id.") }
        try await self.questions.askAgain(id: id, source: context.source)
        return self.result(
            .done, "Look into your mailbox",
            "If the change is younger than seven days and the account has a confirmed e-mail address, a link is on its way "
                + "there. It works for a quarter of an hour.")
    }
}

extension AccountChange {
    /// The change and the decision about the change; `nil` for every other kind of change.
    fileprivate var decision: (id: String, AccountChangeRecord.State)? {
        switch self {
        case .disownment(let id, _): (id, .disowned)
        case .reclaim(let id, _): (id, .reclaimed)
        default: nil
        }
    }

    /// Creates the decision about a change, in the words that the phone shows.
    fileprivate init(_ decision: AccountChangeRecord.State, about change: AccountChangeRecord) {
        let day = change.madeAt.description.utf8.prefix { $0 != UInt8(ascii: "T") }
        let words = "\(change.words), \(String(day) ?? "")"
        self =
            decision == .reclaimed
            ? .reclaim(id: change.id, words: words) : .disownment(id: change.id, words: words)
    }
}

extension AccountChangeRecord.State {
    /// The state in words.
    fileprivate var words: String {
        switch self {
        case .made: "Stands"
        case .disowned: "Rests: you said that this was not you"
        case .reclaimed: "Stands: you said that this was you after all"
        }
    }

    /// The question whose answer is this decision.
    fileprivate var question: String { self == .reclaimed ? "This was me" : "This was not me" }

    /// The words of the button that makes the decision.
    fileprivate var deed: String {
        self == .reclaimed ? "Let it count again" : "Let it rest, and sign out everywhere"
    }

    /// The consequences of the decision.
    fileprivate var meaning: String {
        self == .reclaimed
            ? "It counts again, and everybody is signed out. You can say so once."
            : "It rests, and everybody is signed out, also the services that go on by themselves. Nothing that it took away "
                + "comes back. A phone or a password that is older than the change confirms this first."
    }
}
