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

/// The confirmation of a change by another provider, for an account with neither phone nor password.
///
/// The provider authenticates the person afresh, and the change waits a day (``Limits/providerConfirmationWait``). A
/// letter and the list of changes tell the person, who can stop the change until then. The decision that an earlier
/// change was not the person's own does not wait. For a decision about an earlier change the provider also confirms if
/// the account's password is newer than the change.
extension ChangeRoutes {
    /// The endpoints of the confirmation by another provider.
    var providerEndpoints: [Endpoint] {
        [
            Endpoint(
                method: .get, path: ChangeProviderPage.path, id: "confirmChangeByProvider",
                summary: "The providers that can confirm a change of an account that has neither phone nor password.",
                effect: .none,
                query: [Self.requestField], answers: [.page, .goOn], refusals: .pages,
                refusing: [Self.unknownChange, (403, "Nothing can confirm the change here.")],
                handler: self.answers.page(self.showProviders)),
            Endpoint(
                method: .post, path: ChangeProviderPage.path, id: "leaveForProvider",
                summary: "The browser goes to a provider that authenticates the person afresh.", effect: .none,
                body: (
                    .form,
                    [
                        Self.requestField, .required("confirmation", "What the page carried."),
                        .required("provider", "The provider, by its name."),
                    ]
                ), answers: [.goOn], refusals: .pages,
                refusing: [Self.unknownChange, Endpoint.tooMany, (403, "Nothing can confirm the change here.")],
                handler: self.answers.page(self.leave)),
            Endpoint(
                method: .post, path: AccountChangesPage.stop, id: "stopChange",
                summary: "A change that another provider has confirmed, and that waits, is stopped.",
                effect: .takesAway,
                body: (
                    .form,
                    [
                        .required("request", "The change that waits."),
                        .required("confirmation", "What the page carried."),
                    ]
                ), answers: [.page, .goOn], refusals: .pages,
                refusing: [(404, "The change does not wait any more.")], handler: self.answers.page(self.stop)),
        ]
    }

    /// Returns the providers that can confirm a change here.
    ///
    /// The list is empty if a phone or the password can confirm the change. Except for a decision about an earlier
    /// change, the list is also empty for an account with any password, and in a browser in which nobody is signed in
    /// to the account. A decision needs no session: the connection with the provider is older than the change.
    func providers(_ request: Request, _ change: RequestedChange) async throws -> [(
        name: String, title: String
    )] {
        guard change.isWithoutPhone, try await self.visitor(request, change) == nil else { return [] }
        if change.before == nil {
            let summary = try await self.passwords.summary(accountID: change.accountID)
            guard try await self.isSignedIn(request, change), summary.map({ !$0.hasPassword }) ?? true else {
                return []
            }
        }
        return try await self.upstream.providers(of: change.accountID, before: change.before)
    }

    private func page(
        _ reference: String, _ browser: BrowserSecret, _ change: RequestedChange,
        _ providers: [(name: String, title: String)], _ context: ServerContext, problem: FormProblem? = nil,
        status: HTTPResponse.Status = .ok
    ) -> Response {
        let hours = Int(self.limits.providerConfirmationWait.components.seconds / 3_600)
        var page = ChangeProviderPage(
            request: reference, text: change.change.text, providers: providers,
            confirmation: self.cookies.formToken(browser, request: reference),
            hours: change.change.waits ? hours : nil, problem: problem)
        page.reference = problem.map { _ in context.reference }
        return .page(self.answers.pages.html(page), status: status)
    }

    @Sendable private func showProviders(_ request: Request, _ context: ServerContext) async throws -> Response {
        let reference = try SignInAddress(query: request.uri.query, context).request
        let (browser, change) = try await self.requested(reference, request)
        guard change.isWithoutPhone, change.state == .waiting, change.readyAt == nil else {
            return .seeOther(Self.address(Self.waiting, reference))
        }
        let providers = try await self.providers(request, change)
        return providers.isEmpty ? self.unconfirmable : self.page(reference, browser, change, providers, context)
    }

    /// Sends the browser to the provider.
    @Sendable private func leave(_ request: Request, _ context: ServerContext) async throws -> Response {
        let form = try await request.pageForm(limit: self.limits.oauth.parameterBytes)
        guard let reference = form["request"], let name = form["provider"] else {
            throw Problem(.badRequest, "invalid-request", "The form lacks request or provider.")
        }
        let (browser, change) = try await self.requested(reference, request)
        try self.cookies.requireToken(of: form, browser, request: reference)
        let providers = try await self.providers(request, change)
        guard providers.contains(where: { $0.name.hasSameBytes(as: name) }) else { return self.unconfirmable }
        do {
            switch try await self.upstream.begin(name, reference: reference, source: context.source) {
            case .away(let trip, let location):
                guard
                    try await self.confirmations.begin(
                        trip, browser: browser.cookieValue, accountID: change.accountID)
                else { throw SignInProblem.unknown }
                context.count(.providerSteps, "away")
                return .seeOther(location)
            case .unknown: throw SignInProblem.unknown
            case .tooMany(let shortage):
                context.notes.note(
                    RequestRefusal(
                        code: "too-many-requests", reason: "A network has begun too many sign-ins.",
                        setting: shortage.setting))
                return self.page(
                    reference, browser, change, providers, context,
                    problem: .providerCrowded,
                    status: .tooManyRequests)
            }
        } catch let refusal as UpstreamRefusal {
            return self.refused(refusal, name, (reference, browser, change, providers), context)
        }
    }

    /// Takes a browser that comes back from a provider; `nil` for a browser that comes back from a sign-in.
    @Sendable func arrive(_ name: String, _ request: Request, _ context: ServerContext) async throws -> Response? {
        let parameters: OAuth.Parameters
        do {
            parameters = try OAuth.Parameters(
                parsing: request.uri.query ?? "",
                limits: OAuth.Parameters.Limits(bytes: self.limits.oauth.parameterBytes))
        } catch { return nil }
        guard let state = parameters["state"], let (reference, digest) = UpstreamConfirmations.returning(state) else {
            return nil
        }
        let (browser, change) = try await self.requested(reference, request)
        guard
            let trip = try await self.confirmations.takeTrip(
                reference, stateDigest: digest, browser: browser.cookieValue, provider: name)
        else { throw SignInProblem.unknown }
        let providers = try await self.providers(request, change)
        guard providers.contains(where: { $0.name.hasSameBytes(as: name) }) else { return self.unconfirmable }
        do {
            guard let link = try await self.upstream.person(parameters, of: trip, accountID: change.accountID),
                change.before.map({ link.createdAt < $0 }) ?? true
            else {
                context.count(.providerSteps, "upstream-unknown-person")
                context.notes.note(
                    RequestRefusal(
                        code: "upstream-unknown-person",
                        reason: "The person of \(name) is not the one whose account is to be changed."))
                return self.page(
                    reference, browser, change, providers, context,
                    problem: .providerOfAnother,
                    status: .forbidden)
            }
        } catch let refusal as UpstreamRefusal {
            return self.refused(refusal, name, (reference, browser, change, providers), context)
        }
        context.count(.providerSteps, "finished")
        guard
            try await self.confirmations.confirmByProvider(
                reference, browser: browser.cookieValue, accountID: change.accountID,
                method: UpstreamProvider.method(of: name),
                letter: try await self.questions.waitingLetter(to: change.accountID, about: reference))
        else { throw SignInProblem.unknown }
        return .seeOther(Self.address(Self.waiting, reference))
    }

    private func refused(
        _ refusal: UpstreamRefusal, _ name: String,
        _ asked: (
            reference: String, browser: BrowserSecret, change: RequestedChange,
            providers: [(name: String, title: String)]
        ), _ context: ServerContext
    ) -> Response {
        context.count(.providerSteps, refusal.code.rawValue)
        context.notes.note(
            RequestRefusal(code: refusal.code.rawValue, reason: "The provider \(name): \(refusal.reason)."))
        let problem: FormProblem =
            switch refusal.code {
            case .declined: .providerDeclined
            case .stale: .providerStale
            case .failed, .keptOut: .providerFailed
            }
        return self.page(
            asked.reference, asked.browser, asked.change, asked.providers, context, problem: problem,
            status: .forbidden)
    }

    /// Returns the page of a change that another provider has confirmed, and whose time has not come.
    func delayed(until moment: Timestamp) -> Response {
        .page(
            self.answers.pages.html(
                ResultPage(.done, .changeWaits(until: moment.shownMinute), target: IdentityPaths.changes)))
    }

    @Sendable private func stop(_ request: Request, _ context: ServerContext) async throws -> Response {
        let form = try await request.pageForm(limit: self.limits.oauth.parameterBytes)
        guard let session = self.cookies.session(of: request),
            let active = try await self.provider.sessions.session(session)
        else { return .seeOther(IdentityPaths.changes) }
        try self.cookies.requireToken(of: form, session)
        let isStopped = try await self.confirmations.stopDelayed(
            form["request"] ?? "", accountID: active.account, address: context.clientAddress)
        return .page(
            self.answers.pages.html(
                ResultPage(
                    isStopped ? .done : .tooLate, isStopped ? .changeStopped : .changeNotWaiting,
                    target: IdentityPaths.changes)), status: isStopped ? .ok : .notFound)
    }
}

extension AccountChange {
    /// `true` if the change waits after another provider has confirmed the change.
    fileprivate var waits: Bool {
        if case .disownment = self { false } else { true }
    }
}
