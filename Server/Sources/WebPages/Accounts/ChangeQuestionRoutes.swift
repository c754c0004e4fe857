import Accounts
import CeremonyEngine
import Endpoints
import HTTPTypes
import Hummingbird
import OAuth
import OAuthProvider
import Pages
import Records
import Settings
import Texts
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
        guard let session = self.cookies.session(of: request),
            let active = try await self.provider.sessions.session(session)
        else { return nil }
        return (session, active.account)
    }

    private func result(
        _ outcome: ResultPage.Outcome, _ notice: Notice, status: HTTPResponse.Status = .ok, reference: String? = nil
    ) -> Response {
        .page(
            self.answers.pages.html(
                ResultPage(outcome, notice, reference: reference)),
            status: status)
    }

    // MARK: The list

    @Sendable private func list(_ request: Request, _ context: ServerContext) async throws -> Response {
        guard let visitor = try await self.visitor(request) else {
            return self.result(
                .refused, .nobodyIsSignedIn(mayBeInvited: false), status: .forbidden)
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
                            shownMoment: question.change.madeAt.shownMinute, state: question.change.state.text,
                            question: question.decision?.asked)
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
                question, decision, [(ConfirmedChange.field, confirmed.reference)], isConfirmed: true)
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
        _ fields: [(name: String, value: String)], isConfirmed: Bool = false
    ) -> Response {
        .page(
            self.answers.pages.html(
                ChangeDecisionPage(
                    decision.question(about: question.change, isConfirmed: isConfirmed),
                    action: MailedLinkPaths.changeQuestion, fields: fields)))
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
                .refused,
                .decisionUnconfirmed(minutes: Int(self.limits.freshSignIn.components.seconds / 60)), status: .forbidden,
                reference: context.reference)
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
                .done, .changeRests(change: requested.change.words), target: ForgottenPasswordPage.path)
            : ResultPage(.done, .changeCounts(change: requested.change.words))
        return .page(self.answers.pages.html(page), headers: ended)
    }

    // MARK: Refusals

    private var tooLate: Response {
        self.result(
            .tooLate, .changeTooOld, status: .notFound)
    }

    /// Returns the page of a link that does not work (any more). With the identifier of a change the page offers
    /// another link.
    private func linkIsOver(_ id: String?, _ context: ServerContext) -> Response {
        context.notes.note(
            RequestRefusal(code: "link-over", reason: "The mailed link is spent, too old, or none of this server's."))
        guard let id else {
            return self.result(
                .tooLate, .changeLinkOver,
                status: .notFound, reference: context.reference)
        }
        return .page(
            self.answers.pages.html(
                ChangeDecisionPage(
                    .anotherChangeLink, action: "\(IdentityPaths.changes)/again",
                    fields: [("id", id)])), status: .notFound)
    }

    @Sendable private func mailAgain(_ request: Request, _ context: ServerContext) async throws -> Response {
        let form = try await request.pageForm(limit: self.limits.oauth.parameterBytes)
        guard let id = form["id"] else { throw Problem(.badRequest, "invalid-request", "The form lacks id.") }
        try await self.questions.askAgain(id: id, source: context.source)
        return self.result(.done, .changeLinkMailed)
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
    /// The state, as the list names it.
    fileprivate var text: ChangeText {
        switch self {
        case .made: .stands
        case .disowned: .disowned
        case .reclaimed: .reclaimed
        }
    }

    /// The question whose answer is this decision, as the list asks it.
    fileprivate var asked: ChangeText { self == .reclaimed ? .me : .notMe }

    /// Returns the question whose answer is this decision, with the decision's consequences.
    fileprivate func question(about change: AccountChangeRecord, isConfirmed: Bool) -> Question {
        let (shown, made) = (change.shown, change.madeAt.shownMinute)
        return self == .reclaimed
            ? .reclaim(change: shown, made: made, isConfirmed: isConfirmed)
            : .disown(change: shown, made: made, isConfirmed: isConfirmed)
    }
}
