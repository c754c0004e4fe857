import Accounts
import Ceremony
import CeremonyEngine
import Endpoints
import HTTPTypes
import Hummingbird
import OAuth
import OAuthProvider
import Pages
import PersonalInformation
import Records
import Settings
import Texts
import UAF
import _Primitives

/// The pages on which a person who is signed in sees their identity, ends a device, and requests a code for another
/// device.
///
/// A session alone is enough to see. Ending a device needs a sign-in of a few minutes ago, by two factors. Two actions
/// need a confirmation on the phone: a code for another device, and the end of a device if at most one device is left
/// afterwards. An attacker who has talked the person into approving a sign-in has a session, and gets nothing that
/// outlasts the session.
struct OwnIdentityRoutes: Sendable {
    let identities: Identities
    let own: OwnIdentities
    let receipts: Receipts
    let provider: OpenIDProvider
    let activations: ActivationRoutes
    let confirmations: AddressConfirmations
    let changes: ConfirmedChanges
    let answers: PageAnswers
    let cookies: BrowserCookies
    let limits: Limits
    let digits: ClosedRange<Int>
    let time: TimeSource

    /// The confirmation that the form of a page carries, as the document describes the confirmation.
    static let confirmationField = DescribedField.required("confirmation", "What the page carried.")
    /// The refusal of a person whose sign-in is not fresh, as the document describes the refusal.
    static let notFresh = (status: 403, meaning: "Nobody is signed in, or not just now by two factors.")

    /// The endpoints of the pages.
    var endpoints: [Endpoint] {
        self.identityEndpoints + self.receiptEndpoints + self.activationEndpoints + self.valueEndpoints
    }

    private var identityEndpoints: [Endpoint] {
        let chosenFor = DescribedField.required("service", "The service's client.")
        let refused = [Self.nobodyMeaning, (404, "Nothing is chosen there.")]
        return [
            self.page(IdentityPaths.overview, "ownIdentity", "What a person has of personalised identities.") {
                try await self.overview($0, $1)
            },
            self.page(IdentityPaths.history, "ownHistory", "What a person's identity was used for.") {
                try await self.history($0, $1)
            },
            self.page(
                IdentityPaths.choice, "askForChoice",
                "The question whether what was chosen for a service is forgotten.",
                query: [chosenFor], refusing: refused, self.askForForgetting),
            Endpoint(
                method: .post, path: IdentityPaths.choice, id: "forgetOwnChoice",
                summary: "What was chosen for a service is forgotten: the person is asked again.", effect: .takesAway,
                body: (.form, [Self.confirmationField, chosenFor]), answers: [.page], refusals: .pages,
                refusing: refused, handler: self.answers.page(self.forget)),
        ]
    }

    private var activationEndpoints: [Endpoint] {
        let activation = DescribedField.required("activation", "The activation.")
        let gone = (status: 404, meaning: "There is no such device.")
        return [
            self.page(
                IdentityPaths.activation, "askForActivation", "The page that asks what the code is to be.",
                self.askForCode),
            Endpoint(
                method: .post, path: IdentityPaths.activation, id: "makeActivation",
                summary: "The code for another device, shown by this answer alone.", effect: .gives,
                body: (
                    .form,
                    [
                        Self.confirmationField, .optional("name", "What the device is to be called."),
                        ConfirmedChanges.described,
                    ] + ActivationRoutes.pins
                ),
                answers: [.page, .goOn], refusals: .pages,
                refusing: [
                    Endpoint.tooMany, Self.nobodyMeaning,
                    (409, "As many codes wait as can be."), (422, "The PIN is none."),
                ], handler: self.answers.page(self.makeCode)),
            self.page(
                IdentityPaths.activationEnd, "askForEnd", "The question whether a device ends.", query: [activation],
                refusing: [Self.notFresh, gone], self.askForEnd),
            Endpoint(
                method: .post, path: IdentityPaths.activationEnd, id: "endOwnActivation",
                summary: "A device ends, or a code for one.", effect: .gives,
                body: (.form, [Self.confirmationField, activation, ConfirmedChanges.described]),
                answers: [.page, .goOn], refusals: .pages,
                refusing: [Endpoint.tooMany, Self.notFresh, gone], handler: self.answers.page(self.end)),
            self.page(
                IdentityPaths.activationName, "askForActivationName", "The form that gives a device another name.",
                query: [activation], refusing: [Self.nobodyMeaning, gone], self.askForName),
            Endpoint(
                method: .post, path: IdentityPaths.activationName, id: "renameOwnActivation",
                summary: "A device gets another name.", effect: .none,
                body: (
                    .form, [Self.confirmationField, activation, .required("name", "What it is called from now on.")]
                ),
                answers: [.page], refusals: .pages,
                refusing: [
                    Self.nobodyMeaning, gone, (422, "The name cannot be shown."), Endpoint.tooMany,
                ], handler: self.answers.page(self.rename)),
        ]
    }

    /// The refusal of a visitor without a session, as the document describes the refusal.
    static let nobodyMeaning = (status: 403, meaning: "Nobody is signed in.")

    /// Returns the endpoint of a page that only shows something.
    func page(
        _ path: String, _ id: String, _ summary: String, query: [DescribedField] = [],
        refusing: [(status: Int, meaning: String)] = [Self.nobodyMeaning], _ handler: @escaping ServerRouter.Handler
    ) -> Endpoint {
        Endpoint(
            method: .get, path: path, id: id, summary: summary, effect: .none, query: query, answers: [.page],
            refusals: .pages, refusing: refusing, handler: self.answers.page(handler))
    }

    /// A person who is signed in here.
    struct Visitor {
        let accountID: String
        let session: SessionSecret
        let active: ActiveSession
    }

    func visitor(_ request: Request) async throws -> Visitor? {
        guard let session = self.cookies.session(of: request),
            let active = try await self.provider.sessions.session(session)
        else { return nil }
        return Visitor(accountID: active.account, session: session, active: active)
    }

    /// The page for a person who is not signed in.
    var nobody: Response {
        .page(
            self.answers.pages.html(
                ResultPage(.refused, .nobodyIsSignedIn(mayBeInvited: true))), status: .forbidden)
    }

    // MARK: Seeing

    @Sendable private func overview(_ request: Request, _ context: ServerContext) async throws -> Response {
        guard let visitor = try await self.visitor(request),
            let overview = try await self.own.overview(accountID: visitor.accountID)
        else { return self.nobody }
        let listings = self.identities.listings
        var page = IdentityPage(name: overview.name)
        page.devices = try await listings.activations(accountID: visitor.accountID).map { activation in
            IdentityPage.Device(
                id: activation.id, name: activation.name, factors: activation.factors.map(Self.factor),
                since: activation.createdAt.shownMinute, used: activation.lastUsedAt?.shownMinute,
                lockedUntil: activation.lockedUntil?.shownMinute, isDisabled: activation.isDisabled)
        }
        page.offers = try await listings.offers(accountID: visitor.accountID).map {
            IdentityPage.Offer(id: $0.id, name: $0.name, until: $0.expiresAt.shownMinute)
        }
        page.values = overview.values.map { value in
            var shown = IdentityPage.Value(
                id: value.id, attribute: value.attribute.rawValue, alias: value.alias, value: value.value,
                isPrimary: value.isPrimary, isVerified: value.isVerified)
            shown.needsVerification = value.attribute.needsVerification
            return shown
        }
        page.services = overview.services.map { service in
            IdentityPage.Service(
                id: service.id, name: service.name, roles: service.roles, choices: Self.shown(service.choices))
        }
        page.organisations = overview.organisations
        page.addresses = overview.emails.map {
            IdentityPage.Address(id: $0.id, address: $0.address, isVerified: $0.isVerified)
        }
        page.confirmation = self.own.sendsMail ? self.cookies.formToken(visitor.session) : nil
        return .page(self.answers.pages.html(page))
    }

    @Sendable private func history(_ request: Request, _ context: ServerContext) async throws -> Response {
        guard let visitor = try await self.visitor(request) else { return self.nobody }
        // Any other text in place of the number gives the newest page, and no dead end.
        let query = try? OAuth.Parameters(parsing: request.uri.query ?? "")
        let before = query?["before"].flatMap { Int64($0) }
        let history = try await self.own.namedHistory(accountID: visitor.accountID, before: before)
        let entries = history.sessions.map { session in
            let outcome: IdentityHistoryPage.Entry.Outcome =
                switch session.record.outcome {
                case .finished: .finished
                case .failed: .failed
                case .aborted: .aborted
                }
            return IdentityHistoryPage.Entry(
                what: Self.purpose(session.record.purpose, at: session.record.service), service: session.service,
                role: session.role,
                outcome: outcome, moment: session.record.at.description, shownMoment: session.record.at.shownMinute)
        }
        // The agreements stand beside the newest sessions. Older pages show sessions alone.
        let consents =
            try await before == nil ? self.identities.consents.consents(accountID: visitor.accountID) : []
        let agreements = consents.map { consent in
            let document = consent.document
            return IdentityHistoryPage.Agreement(
                what: Self.purpose(document.purpose.rawValue, at: consent.record.service),
                service: document.service.name,
                role: document.role.name,
                values: consent.attributes.map { attribute in
                    guard case .alias(_, let text) = document.attributes[attribute] else {
                        return NamedValue(attribute: attribute.rawValue, alias: nil)
                    }
                    return NamedValue(attribute: attribute.rawValue, alias: text)
                }, text: document.text?.text, moment: consent.record.at.description,
                shownMoment: consent.record.at.shownMinute)
        }
        return .page(
            self.answers.pages.html(
                IdentityHistoryPage(
                    entries: entries, agreements: agreements, older: history.older, isContinued: before != nil)))
    }

    private static func factor(_ type: AuthenticatorType) -> IdentityPage.Device.Factor {
        switch type {
        case .device: .device
        case .pin: .pin
        case .biometric: .biometric
        case .otp, .yubikey: .named(type.rawValue)
        }
    }

    /// Returns the purpose of a session.
    private static func purpose(_ text: String, at service: String?) -> IdentityHistoryPage.Purpose {
        switch SessionDocument.Purpose(exactly: text) {
        case .userLogin: service == nil ? .changeOfAccount : .signIn
        case .serviceLogin: .signInOfApp
        case .addFactor: .addedFactor
        case .changePin: .anotherPIN
        case .newActivation: .codeForDevice
        case .delete: .endOfIdentity
        case .merge: .merge
        case nil: .named(text)
        }
    }

    /// Returns the values that a service gets, by attribute and alias.
    static func shown(_ choices: [(attribute: String, alias: String)]) -> [NamedValue] {
        choices.map { NamedValue(attribute: $0.attribute, alias: $0.alias) }
    }

    // MARK: A code for another device

    private func form(
        _ visitor: Visitor, change: String, problem: ActivationRequestPage.Problem? = nil,
        status: HTTPResponse.Status = .ok
    ) -> Response {
        let page = ActivationRequestPage(
            proof: .confirmation(self.cookies.formToken(visitor.session), change: change), digits: self.digits,
            problem: problem)
        return .page(self.answers.pages.html(page), status: status)
    }

    @Sendable private func askForCode(_ request: Request, _ context: ServerContext) async throws -> Response {
        guard let visitor = try await self.visitor(request) else { return self.nobody }
        let confirmed = try await self.changes.confirmed(request, accountID: visitor.accountID)
        if let confirmed, confirmed.change == .device { return self.form(visitor, change: confirmed.reference) }
        return .page(
            self.answers.pages.html(
                ChangeQuestionPage(
                    .beforeDevice, action: IdentityPaths.activation,
                    fields: [("confirmation", self.cookies.formToken(visitor.session))])))
    }

    @Sendable private func makeCode(_ request: Request, _ context: ServerContext) async throws -> Response {
        let form = try await request.pageForm(limit: self.limits.oauth.parameterBytes)
        guard let visitor = try await self.visitor(request) else { return self.nobody }
        try self.cookies.requireToken(of: form, visitor.session)
        let change = form[ConfirmedChange.field]
        if let change, let pin = form["pin"] {
            guard pin.hasSameBytes(as: form["pin-again"] ?? "") else {
                return self.form(visitor, change: change, problem: .notTheSame, status: .unprocessableContent)
            }
            // The check comes first, so that a forbidden PIN does not spend the confirmation.
            do { try self.identities.offers.check(pin: pin) } catch {
                return self.form(
                    visitor, change: change, problem: error.code == .pinTooSimple ? .tooSimple : .noPIN,
                    status: .unprocessableContent)
            }
        }
        if let asked = try await self.changes.answer(
            unlessConfirmed: .device, on: IdentityPaths.activation, accountID: visitor.accountID,
            reference: form["pin"] == nil ? nil : change, request, context)
        {
            return asked
        }
        guard let pin = form["pin"] else { return self.gone }
        do {
            let offer = try await self.identities.offers.offerOnPage(
                accountID: visitor.accountID, pin: pin, name: form["name"], source: context.source)
            return try self.activations.response(
                showing: offer, to: request, renewal: IdentityPaths.activation, merges: false)
        } catch let error as CeremonyError where error.code == .conflict {
            return .page(
                self.answers.pages.html(
                    ResultPage(.refused, .tooManyCodes, target: IdentityPaths.overview)), status: .conflict)
        }
    }

    // MARK: The end of a device

    /// Returns the person's device or code with the given identifier.
    private func held(_ id: String, by visitor: Visitor) async throws -> Held? {
        let listings = self.identities.listings
        let devices = try await listings.activations(accountID: visitor.accountID)
        if let device = devices.first(where: { $0.id.hasSameBytes(as: id) }) {
            let others = devices.filter { !$0.isDisabled && !$0.id.hasSameBytes(as: id) }
            // Removing a device that can no longer sign anybody in does not weaken the account.
            return Held(
                id: device.id, name: device.name, isOffer: false, isLast: others.isEmpty,
                weakens: !device.isDisabled && others.count <= 1)
        }
        return try await listings.offers(accountID: visitor.accountID)
            .first { $0.id.hasSameBytes(as: id) }
            .map { Held(id: $0.id, name: $0.name, isOffer: true, isLast: false, weakens: false) }
    }

    /// A device or a code that its person may end.
    private struct Held {
        let id: String
        /// The name that the device has or will have; `nil` for a code without a name.
        let name: String?
        let isOffer: Bool
        let isLast: Bool
        /// `true` if at most one device is left afterwards, so that the phone confirms the end.
        let weakens: Bool
    }

    var gone: Response {
        .page(
            self.answers.pages.html(
                ResultPage(.done, .noDevice, target: IdentityPaths.overview)), status: .notFound)
    }

    @Sendable private func askForEnd(_ request: Request, _ context: ServerContext) async throws -> Response {
        let id = try SignInAddress.parameter("activation", of: request.uri.query ?? "")
        guard let visitor = try await self.visitor(request) else { return self.nobody }
        guard let held = try await self.held(id, by: visitor) else { return self.gone }
        let confirmed = try await self.changes.confirmed(request, accountID: visitor.accountID)
        let isConfirmed = confirmed?.change == .endOfDevice(id: held.id, name: held.name ?? "")
        guard held.weakens || visitor.active.isFresh(at: self.time.now(), self.limits) else {
            return self.stale(.endOfDevice, context)
        }
        return .page(
            self.answers.pages.html(
                EndActivationPage(
                    id: held.id, name: held.name, isOffer: held.isOffer, isLast: held.isLast,
                    confirmation: self.cookies.formToken(visitor.session),
                    change: isConfirmed ? confirmed?.reference : nil)))
    }

    /// Refuses a person who has signed in too long ago, or by one factor.
    func stale(_ matter: Notice.StaleMatter, _ context: ServerContext) -> Response {
        let what =
            switch matter {
            case .endOfDevice: "A device is ended"
            case .lostDevice: "A lost device is reported"
            case .values: "What services can ask for is changed"
            }
        context.notes.note(
            RequestRefusal(
                code: "stale-sign-in", reason: "\(what) soon after a sign-in by two factors, and this one is not."))
        var page = ResultPage.stale(matter, self.limits)
        page.reference = context.reference
        return .page(self.answers.pages.html(page), status: .forbidden)
    }

    @Sendable private func end(_ request: Request, _ context: ServerContext) async throws -> Response {
        let form = try await request.pageForm(limit: self.limits.oauth.parameterBytes)
        guard let visitor = try await self.visitor(request) else { return self.nobody }
        try self.cookies.requireToken(of: form, visitor.session)
        guard let id = form["activation"], let held = try await self.held(id, by: visitor) else { return self.gone }
        if held.weakens {
            let parameters: OAuth.Parameters = ["activation": held.id]
            if let asked = try await self.changes.answer(
                unlessConfirmed: .endOfDevice(id: held.id, name: held.name ?? ""),
                on: "\(IdentityPaths.activationEnd)?\(parameters.encoded)", accountID: visitor.accountID,
                reference: form[ConfirmedChange.field], request, context)
            {
                return asked
            }
        } else if !visitor.active.isFresh(at: self.time.now(), self.limits) {
            return self.stale(.endOfDevice, context)
        }
        guard try await self.identities.listings.end(id, accountID: visitor.accountID) else { return self.gone }
        return .page(
            self.answers.pages.html(
                ResultPage(.done, .deviceEnded, target: IdentityPaths.overview)))
    }
}
