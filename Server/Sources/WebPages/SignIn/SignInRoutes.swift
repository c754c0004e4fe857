import Accounts
import Ceremony
import CeremonyEngine
import Endpoints
import HTTPTypes
import Hummingbird
import OAuth
import OAuthProvider
import Pages
import Records
import Settings
import _Primitives

/// The pages on which a person signs in with their phone, from the QR code to the way back to the service.
///
/// A request's page answers only the browser that started the request. Every other browser sees nothing, and cannot
/// even learn if the request exists.
struct SignInRoutes: Sendable {
    let signIns: SignIns
    let provider: OpenIDProvider
    let ways: SignInWays
    let devices: DeviceAuthorizations
    let newcomers: Newcomers
    /// Returns the page of an address that an app opens, without a request yet; `nil` for every other address.
    let starts: @Sendable (Request, ServerContext) async throws -> Response?
    let answers: PageAnswers
    let cookies: BrowserCookies
    let channels: EventChannels
    let limits: Limits
    let trace: TraceRecorder?
    let time: TimeSource

    /// The endpoints of a sign-in.
    var endpoints: [Endpoint] {
        [
            SignInAddress.page(
                "/sign-in", "signIn", "The page of a sign-in.", .signsIn, handler: self.answers.page(self.begin)),
            SignInAddress.page(
                "/sign-in/wait", "waitForPhone", "The same page, while a phone is waited for.", .none,
                handler: self.answers.page(self.wait)),
            SignInAddress.page(
                "/sign-in/complete", "completeSignIn", "The way back to the service.", .signsIn,
                handler: self.answers.page(self.complete)),
            Endpoint(
                method: .get, path: "/sign-in/continue", id: "continueSignIn",
                summary: "Where a phone leads its browser.", effect: .signsIn,
                query: [.required("code", "What the phone was given.")], answers: [.goOn], refusals: .pages,
                refusing: [
                    SignInAddress.unknown, (403, "Another browser's."), (409, "It has ended."), (410, "It is over."),
                ], handler: self.answers.page(self.continueOnDevice)),
            Endpoint(
                method: .post, path: "/sign-in/cancel", id: "cancelSignIn", summary: "The person gives it up.",
                effect: .takesAway,
                body: (.form, SignInAddress.fields), answers: [.page, .goOn], refusals: .pages,
                refusing: [SignInAddress.unknown], handler: self.answers.page(self.cancel)),
            Endpoint(
                method: .get, path: "/sign-in/wait/events", id: "signInEvents", summary: "The page's own channel.",
                effect: .none,
                query: SignInAddress.fields,
                answers: [.init(status: 200, meaning: "States, as they come.", type: "text/event-stream")],
                refusing: [SignInAddress.unknown], handler: self.events),
        ]
    }

    @Sendable private func begin(_ request: Request, _ context: ServerContext) async throws -> Response {
        if let page = try await self.starts(request, context) { return page }
        let address = try SignInAddress(query: request.uri.query, context)
        let id = address.request
        guard let (browser, pending) = try await self.pending(id, request) else {
            return try await self.completed(address, request)
        }
        context.notes.note(client: pending.client)
        if let response = try await self.bySession(address, request, context) { return response }
        let chosen = try? SignInAddress.parameter("by", of: request.uri.query ?? "")
        let enrolment = try await self.enrolment(address, pending)
        if chosen == nil, case .mail(let begin)? = enrolment { return .seeOther(begin) }
        if let response = try await self.otherWay(address, pending, chosen) { return response }
        let requester = SignInRequester(
            client: pending.client, service: pending.clientName, origin: pending.clientOrigin,
            address: context.clientAddress,
            browser: BrowserWords.describe(userAgent: request.headers[.userAgent]), agreement: pending.agreement)
        let view = try await self.signIns.begin(
            reference: id, browser: browser.cookieValue, requester: requester, source: context.source)
        // The request has not ended, so a completion was interrupted, and can happen again.
        if view.state == .completed { return .seeOther(address.path("/sign-in/complete")) }
        return try self.page(view, address, pending, enrolment, context)
    }

    /// Answers a request whose person has meanwhile signed in in another tab of the browser; `nil` if the session does
    /// not count, and the page waits on.
    ///
    /// The provider judges the request as a new request of the session.
    private func bySession(_ address: SignInAddress, _ request: Request, _ context: ServerContext) async throws
        -> Response?
    {
        guard let browser = self.cookies.browser(of: request) else { return nil }
        let answer = try await self.provider.authorizations.answer(
            request: address.request, browser: browser, by: self.cookies.session(of: request), source: context.source,
            address: context.clientAddress)
        switch answer {
        case nil: return nil
        case .client(let answer):
            context.count(.signIns, "session")
            return self.answers.response(answer)
        case .consent(let id, let client):
            return .seeOther(SignInAddress(request: id, service: client).path("/sign-in/consent"))
        case .signIn(let id, let client):
            return .seeOther(SignInAddress(request: id, service: client).path("/sign-in"))
        case .tooMany(let shortage): throw context.refusal(shortage)
        case .page(let error): return await self.answers.error(error, context)
        }
    }

    /// Returns the way to an account for a person who has none, as the client believes; `nil` if the client believes
    /// that the person has an account.
    private func enrolment(_ address: SignInAddress, _ pending: PendingAuthorization) async throws
        -> SignInPage.Enrolment?
    {
        guard pending.isNewcomer else { return nil }
        return switch try await self.newcomers.way(to: pending.client) {
        case nil: .link
        case .operators?: .invitation
        case .mail?: .mail(address.path(NewcomerPage.path))
        }
    }

    /// Returns the page with the choice of ways, if a service takes more than one way. If the service takes a single
    /// way with a page of its own, this page comes. `nil` if the way without a page of its own, the phone, is the only
    /// way or the chosen way: the caller shows the phone's page.
    private func otherWay(
        _ address: SignInAddress, _ pending: PendingAuthorization, _ chosen: String?
    ) async throws -> Response? {
        let choices = try await self.ways.choices(for: pending.methods)
        if let chosen, choices.contains(where: { $0.entry.isHere && $0.word.hasSameBytes(as: chosen) }) { return nil }
        guard choices.count == 1 else {
            if pending.isApp { self.trace?.record(.providersShown, in: pending.run(address.request)) }
            let frame = SignInFrame(
                requestID: address.request, clientName: pending.clientName, client: pending.client,
                returnOrigin: pending.clientOrigin)
            return .page(self.answers.pages.html(SignInChoicePage(frame: frame, ways: choices.map(\.entry))))
        }
        let only = choices[0].entry
        return only.isHere ? nil : .seeOther(address.path(only.path))
    }

    @Sendable private func wait(_ request: Request, _ context: ServerContext) async throws -> Response {
        let address = try SignInAddress(query: request.uri.query, context)
        let id = address.request
        guard let (browser, pending) = try await self.pending(id, request) else {
            return try await self.completed(address, request)
        }
        context.notes.note(client: pending.client)
        // The answer is not yet the way back: the way back is a navigation.
        if try await self.provider.authorizations.isAnswered(
            request: id, browser: browser, by: self.cookies.session(of: request))
        {
            return .seeOther(address.path("/sign-in/complete"))
        }
        let view = try await self.signIns.renew(
            reference: id, browser: browser.cookieValue, source: context.source)
        return try self.page(view, address, pending, try await self.enrolment(address, pending), context)
    }

    private func page(
        _ view: SignInView, _ address: SignInAddress, _ pending: PendingAuthorization,
        _ enrolment: SignInPage.Enrolment?, _ context: ServerContext
    ) throws -> Response {
        // The answer is not yet the way back: the way back is a navigation with the browser's cookie, and ends the
        // sign-in.
        if view.state == .approved { return .seeOther(address.path("/sign-in/complete")) }
        let pageState = view.state.pageState
        if let reason = view.reason {
            context.notes.note(RequestRefusal(code: "sign-in-\(pageState.rawValue)", reason: reason))
        }
        let codes = view.codes.map { $0.shown(at: self.time.now()) }
        if codes != nil { self.trace?.record(.codeShown, in: pending.run(address.request)) }
        var page = SignInPage(
            requestID: address.request, clientName: pending.clientName, client: pending.client,
            state: pageState, codes: codes, returnOrigin: pending.clientOrigin,
            reference: context.reference, enrolment: enrolment)
        page.number = view.number
        page.isAskedByName = view.isAskedByName
        page.hasOtherWays = pending.methods.count > 1
        page.agreement = pending.agreement
        return .page(try self.answers.pages.html(page))
    }

    /// The page's own channel: words for states, nothing else (threat model, Taking the answer from the waiting page).
    @Sendable private func events(_ request: Request, _ context: ServerContext) async throws -> Response {
        let address = try SignInAddress(query: request.uri.query, context)
        let id = address.request
        guard let browser = self.cookies.browser(of: request) else { throw SignInProblem.unknownBrowser }
        let pending = try await self.provider.authorizations.pending(request: id, browser: browser)
        if pending == nil { _ = try await self.completed(address, request) }
        if try await self.provider.authorizations.isAnswered(
            request: id, browser: browser, by: self.cookies.session(of: request))
        {
            return .serverSentEvent(name: "state", ["state": .string(SignInState.approved.rawValue)])
        }
        let run = pending?.run(id) ?? TraceContext(ofSignIn: id)
        let events = try await self.signIns.events(reference: id, browser: browser.cookieValue)
        return .serverSentEvents(
            name: "state", to: context, events, in: self.channels, heartbeat: self.limits.heartbeat,
            heartbeatEvent: PageRenderer.heartbeatEvent
        ) { [trace] state in
            // The closure lives as long as the page waits. The routes with all their values would take ten kilobytes
            // for each page.
            if state == .approved { trace?.record(.approvalAnnounced, in: run) }
            return ["state": .string(state.rawValue)]
        }
    }

    @Sendable private func complete(_ request: Request, _ context: ServerContext) async throws -> Response {
        let address = try SignInAddress(query: request.uri.query, context)
        guard let browser = self.cookies.browser(of: request) else { throw SignInProblem.unknownBrowser }
        let session = self.cookies.session(of: request)
        let pending = try await self.trace == nil ? nil : self.pending(address.request, request)?.pending
        var refusal: ProviderRefusal?
        let answer = try await self.provider.authorizations.complete(
            request: address.request, browser: browser, session: session, explain: { refusal = $0 },
            language: { self.answers.languageTag(uiLocales: $0) })
        if case .page = answer, let response = try await self.bySession(address, request, context) { return response }
        if let refusal { context.notes.note(RequestRefusal(refusal)) }
        switch answer {
        case .signedIn(let answer, let session, let method):
            if let way = self.ways.counted(method) { context.count(.signIns, way) }
            if let pending {
                let run = pending.run(address.request)
                self.trace?.record(.signInCompleted, in: run)
                self.trace?.record(pending.codeArrow, in: run)
            }
            return self.answers.response(answer, headers: HTTPFields([self.cookies.set(session)]))
        case .confirmDevice: return .seeOther(address.path(DeviceRoutes.confirmation))
        case .consent(let client, let session, let method):
            // The person is signed in, whatever data the service may have.
            if session != nil, let way = self.ways.counted(method) { context.count(.signIns, way) }
            let headers = HTTPFields(session.map { [self.cookies.set($0)] } ?? [])
            let address = SignInAddress(request: address.request, service: client)
            return .seeOther(address.path("/sign-in/consent"), headers: headers)
        case .refused(let answer): return self.answers.response(answer)
        case .page: return try await self.completed(address, request)
        }
    }

    /// Continues after an approval by link, of a sign-in or of a change: the phone opens this address.
    ///
    /// The address works in the browser that started. In any other browser the address completes and spends nothing,
    /// and the page names the browser that started (threat model, Forwarding a link).
    @Sendable private func continueOnDevice(_ request: Request, _ context: ServerContext) async throws -> Response {
        let code = try SignInAddress.parameter("code", of: request.uri.query ?? "")
        let browser = self.cookies.browser(of: request)
        let resumed: ResumedSignIn
        do {
            resumed = try await self.signIns.resume(
                code: code, browser: browser?.cookieValue, address: context.clientAddress)
        } catch let error as CeremonyError {
            context.notes.note(service: error.service)
            guard error.code == .wrongBrowser, let words = error.browser else { throw error }
            return await self.answers.anotherBrowser(than: words, error, context)
        }
        if resumed.isChange { return .seeOther(ChangeRoutes.address(ChangeRoutes.complete, resumed.reference)) }
        if let trace {
            trace.record(.continuationOpened, in: try await self.provider.run(ofSignIn: resumed.reference, browser))
        }
        return .seeOther(
            SignInAddress(request: resumed.reference, service: resumed.client).path("/sign-in/complete"))
    }

    @Sendable private func cancel(_ request: Request, _ context: ServerContext) async throws -> Response {
        let form = try await request.formText(limit: self.limits.oauth.parameterBytes)
        let id = try SignInAddress(query: form, context).request
        guard let (browser, _) = try await self.pending(id, request) else { throw SignInProblem.unknown }
        do {
            try await self.signIns.cancel(reference: id, browser: browser.cookieValue)
        } catch let error as CeremonyError where error.code == .notFound {
            // The page was never shown: only the request has to end.
        }
        if try await self.devices.refuse(request: id, browser: browser) {
            return .page(self.answers.pages.html(DeviceRoutes.refusedPage))
        }
        switch try await self.provider.authorizations.refuse(request: id, browser: browser) {
        case .client(let answer): return self.answers.response(answer)
        case .signIn, .consent, .tooMany, .page: throw SignInProblem.unknown
        }
    }

    // MARK: -

    /// Returns the request for the browser that started the request; `nil` for every other browser, and after the
    /// request's end.
    private func pending(_ id: String, _ request: Request) async throws -> (
        browser: BrowserSecret, pending: PendingAuthorization
    )? {
        guard let browser = self.cookies.browser(of: request),
            let pending = try await self.provider.authorizations.pending(request: id, browser: browser)
        else { return nil }
        return (browser, pending)
    }

    /// Returns the page of a sign-in that has gone on in another page of the same browser. Throws for every other
    /// browser.
    private func completed(_ address: SignInAddress, _ request: Request) async throws -> Response {
        guard let browser = self.cookies.browser(of: request) else { throw SignInProblem.unknownBrowser }
        let name = try await self.signIns.completedService(reference: address.request, browser: browser.cookieValue)
        guard let name else { throw SignInProblem.unknown }
        var page = SignInPage(
            requestID: address.request, clientName: name, client: address.service, state: .completed)
        // The name is the sign-in's own. The link is shown if the address names the service of that name.
        if let id = address.service, let service = try await self.provider.clients.service(id),
            service.name.hasSameBytes(as: name)
        {
            page.home = service.home
        }
        return .page(try self.answers.pages.html(page))
    }
}

extension SignInView {
    /// The reason why the sign-in has ended, for the log; `nil` for a sign-in that goes on or has succeeded.
    var reason: String? {
        let words: String
        switch self.state {
        case .denied: words = "The person declined on the phone"
        case .expired: words = "Its time was over before the phone and the browser were done, or it was given up"
        case .failed: words = "It failed on the phone, or the phone's answer was refused"
        case .waiting, .claimed, .approved, .approvedOnDevice, .completed: return nil
        }
        let codes = [
            ("UAF status code", self.statusCodes.uaf), ("client error code", self.statusCodes.client),
            ("ASM status code", self.statusCodes.asm),
        ].compactMap { name, code in code.map { "\(name) \($0)" } }
        return ([words] + codes).joined(separator: ", ") + "."
    }
}

extension SignInCodes {
    /// Returns the codes as a page shows the codes.
    func shown(at now: Timestamp) -> SignInPage.Codes {
        SignInPage.Codes(
            qrContent: self.qrContent, sameDeviceLink: self.link, typedCode: self.typedCode,
            secondsLeft: Int((self.expiresAt - now).components.seconds))
    }
}

extension SignInState {
    /// The page of a state.
    var pageState: SignInPage.State {
        switch self {
        case .waiting: .waiting
        case .claimed: .claimed
        case .approved: .approved
        case .approvedOnDevice: .approvedOnDevice
        case .completed: .completed
        case .denied: .denied
        case .expired: .expired
        case .failed: .failed
        }
    }
}
