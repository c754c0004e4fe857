import Accounts
import Ceremony
import CeremonyEngine
import HTTPTypes
import Hummingbird
import OAuth
import OAuthProvider
import Pages
import PersonalInformation
import Store
import UAF
import _Primitives

/// The pages on which a person who is signed in sees what the server has of their identity, ends a device of theirs, and has
/// a code made for another one.
///
/// A session alone is enough to see, and to end: who has lost a phone has nothing else. It is not enough for another way to
/// be the person: that takes a sign-in of a few minutes ago, by two factors.
struct OwnIdentityRoutes: Sendable {
    let identities: Identities
    let directory: IdentityDirectory
    let provider: OpenIDProvider
    let activations: ActivationRoutes
    let confirmations: AddressConfirmations
    let answers: PageAnswers
    let cookies: BrowserCookies
    let limits: Limits
    let digits: ClosedRange<Int>
    let time: TimeSource

    func mount(on router: ServerRouter) {
        router.endpoint(RouterPath(IdentityPaths.overview), [.get: self.answers.page(self.overview)])
        router.endpoint(RouterPath(IdentityPaths.history), [.get: self.answers.page(self.history)])
        router.endpoint(
            RouterPath(IdentityPaths.activation),
            [.get: self.answers.page(self.askForCode), .post: self.answers.page(self.makeCode)])
        router.endpoint(
            RouterPath(IdentityPaths.activationEnd),
            [.get: self.answers.page(self.askForEnd), .post: self.answers.page(self.end)])
        router.endpoint(
            RouterPath(IdentityPaths.activationName),
            [.get: self.answers.page(self.askForName), .post: self.answers.page(self.rename)])
        router.endpoint(
            RouterPath(IdentityPaths.choice),
            [.get: self.answers.page(self.askForForgetting), .post: self.answers.page(self.forget)])
        self.mountValues(on: router)
    }

    /// A person who is signed in here.
    struct Visitor {
        let accountID: String
        let session: SessionSecret
        let active: ActiveSession
    }

    func visitor(_ request: Request) async throws -> Visitor? {
        guard let session = self.cookies.session(of: request), let active = try await self.provider.session(session)
        else { return nil }
        return Visitor(accountID: active.account, session: session, active: active)
    }

    /// Said to whoever is not signed in.
    var nobody: Response {
        .page(
            self.answers.pages.html(
                ResultPage(
                    outcome: .refused, headline: "Nobody is signed in here",
                    explanation:
                        "Sign in to a service first, and come back in the same browser. If you came by an invitation, open its link again."
                )), status: .forbidden)
    }

    // MARK: Seeing

    @Sendable private func overview(_ request: Request, _ context: ServerContext) async throws -> Response {
        guard let visitor = try await self.visitor(request),
            let overview = try await self.directory.overview(accountID: visitor.accountID)
        else { return self.nobody }
        let listings = self.identities.listings
        var page = IdentityPage(name: overview.name)
        page.devices = try await listings.activations(accountID: visitor.accountID).map { activation in
            let used = activation.lastUsedAt.map { "used \($0.shownMinute)" } ?? "not used yet"
            return IdentityPage.Device(
                id: activation.id, name: activation.name,
                factors: activation.factors.map(Self.factor).joined(separator: ", "),
                times: "Since \(activation.createdAt.shownMinute), \(used)",
                lockedUntil: activation.lockedUntil?.shownMinute, isDisabled: activation.isDisabled)
        }
        page.offers = try await listings.offers(accountID: visitor.accountID).map {
            IdentityPage.Offer(id: $0.id, name: $0.name, until: $0.expiresAt.shownMinute)
        }
        page.values = overview.values.map { value in
            var shown = IdentityPage.Value(
                id: value.id, attribute: Self.words(value.attribute.rawValue), alias: value.alias, value: value.value,
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
        page.confirmation = self.directory.sendsMail ? self.cookies.formToken(visitor.session) : nil
        return .page(self.answers.pages.html(page))
    }

    @Sendable private func history(_ request: Request, _ context: ServerContext) async throws -> Response {
        guard let visitor = try await self.visitor(request) else { return self.nobody }
        // Whatever else stands there is the newest page, and no dead end.
        let query = try? OAuth.Parameters(parsing: request.uri.query ?? "")
        let before = query?["before"].flatMap { Int64($0) }
        let history = try await self.directory.namedHistory(accountID: visitor.accountID, before: before)
        let entries = history.sessions.map { session in
            let outcome: IdentityHistoryPage.Entry.Outcome =
                switch session.record.outcome {
                case .finished: .finished
                case .failed: .failed
                case .aborted: .aborted
                }
            return IdentityHistoryPage.Entry(
                what: Self.purpose(session.record.purpose), service: session.service, role: session.role,
                outcome: outcome, moment: session.record.at.description, shownMoment: session.record.at.shownMinute)
        }
        // Beside the newest sessions; older pages are of sessions alone.
        let consents =
            try await before == nil ? self.identities.consents.consents(accountID: visitor.accountID) : []
        let agreements = consents.map { consent in
            let document = consent.document
            return IdentityHistoryPage.Agreement(
                what: Self.purpose(document.purpose.rawValue), service: document.service.name,
                role: document.role.name,
                values: consent.attributes.map { attribute in
                    let name = Self.words(attribute.rawValue)
                    guard case .alias(_, let text) = document.attributes[attribute] else {
                        return "\(name), as you have typed it"
                    }
                    return "\(name): \(text)"
                }, text: document.text?.text, moment: consent.record.at.description,
                shownMoment: consent.record.at.shownMinute)
        }
        return .page(
            self.answers.pages.html(
                IdentityHistoryPage(
                    entries: entries, agreements: agreements, older: history.older, isContinued: before != nil)))
    }

    private static func factor(_ type: AuthenticatorType) -> String {
        switch type {
        case .device: "the device itself"
        case .pin: "PIN"
        case .biometric: "fingerprint or face"
        case .otp, .yubikey: type.rawValue
        }
    }

    /// What a session was for, in words.
    private static func purpose(_ text: String) -> String {
        switch SessionDocument.Purpose(exactly: text) {
        case .userLogin: "Sign-in"
        case .serviceLogin: "Sign-in of an app"
        case .addFactor: "A further factor"
        case .changePin: "Another PIN"
        case .newActivation: "A code for another device"
        case .delete: "The end of the identity"
        case .merge: "An invitation into this identity"
        case nil: text
        }
    }

    /// What a service gets, by attribute and alias.
    static func shown(_ choices: [(attribute: String, alias: String)]) -> [String] {
        choices.map { "\(Self.words($0.attribute)): \($0.alias)" }
    }

    /// The name of an attribute in words: `givenName` is "Given name".
    static func words(_ attribute: String) -> String {
        let words = attribute.unicodeScalars.reduce(into: "") { words, letter in
            words += letter.properties.isUppercase ? " \(letter.properties.lowercaseMapping)" : String(letter)
        }
        return String(words.prefix(1)).asciiUppercased + words.dropFirst()
    }

    // MARK: A code for another device

    /// Whether a session says enough of who is there for another way to be that person.
    private func isFresh(_ session: ActiveSession) -> Bool { session.isFresh(at: self.time.now(), self.limits) }

    private var stale: Response {
        .page(
            self.answers.pages.html(ResultPage.stale("A code for another device is made", self.limits)),
            status: .forbidden)
    }

    private func form(
        _ visitor: Visitor, problem: ActivationRequestPage.Problem? = nil, status: HTTPResponse.Status = .ok
    ) -> Response {
        let page = ActivationRequestPage(
            proof: .confirmation(self.cookies.formToken(visitor.session)), digits: self.digits, problem: problem)
        return .page(self.answers.pages.html(page), status: status)
    }

    @Sendable private func askForCode(_ request: Request, _ context: ServerContext) async throws -> Response {
        guard let visitor = try await self.visitor(request) else { return self.nobody }
        guard self.isFresh(visitor.active) else { return self.stale }
        return self.form(visitor)
    }

    @Sendable private func makeCode(_ request: Request, _ context: ServerContext) async throws -> Response {
        let form = try await request.pageForm(limit: self.limits.oauth.parameterBytes)
        guard let visitor = try await self.visitor(request) else { return self.nobody }
        try self.cookies.requireToken(of: form, visitor.session)
        guard self.isFresh(visitor.active) else {
            context.notes.note(
                RequestRefusal(
                    code: "stale-sign-in", reason: "A code was asked for long after the sign-in, or by one factor."))
            return self.stale
        }
        guard let pin = form["pin"], pin.hasSameBytes(as: form["pin-again"] ?? "") else {
            return self.form(visitor, problem: .notTheSame, status: .unprocessableContent)
        }
        do {
            let offer = try await self.identities.offers.offerOnPage(
                accountID: visitor.accountID, pin: pin, name: form["name"], source: context.source)
            return try self.activations.response(
                showing: offer, to: request, renewal: IdentityPaths.activation, merges: false)
        } catch let error as CeremonyError where error.code == .invalidRequest {
            return self.form(visitor, problem: .noPIN, status: .unprocessableContent)
        } catch let error as CeremonyError where error.code == .pinTooSimple {
            return self.form(visitor, problem: .tooSimple, status: .unprocessableContent)
        } catch let error as CeremonyError where error.code == .conflict {
            return self.form(visitor, problem: .tooManyCodes, status: .conflict)
        }
    }

    // MARK: The end of a device

    /// What a person has of that identifier.
    private func held(_ id: String, by visitor: Visitor) async throws -> (name: String, isOffer: Bool, isLast: Bool)? {
        let listings = self.identities.listings
        let devices = try await listings.activations(accountID: visitor.accountID)
        if let device = devices.first(where: { $0.id.hasSameBytes(as: id) }) {
            let others = devices.filter { !$0.isDisabled && !$0.id.hasSameBytes(as: id) }
            return (device.name, false, others.isEmpty)
        }
        return try await listings.offers(accountID: visitor.accountID)
            .first { $0.id.hasSameBytes(as: id) }.map { ($0.name ?? "a device", true, false) }
    }

    var gone: Response {
        .page(
            self.answers.pages.html(
                ResultPage(
                    outcome: .done, headline: "There is no such device",
                    explanation: "It has ended already, or the code was used or is over.",
                    link: ("Back to your identity", IdentityPaths.overview))), status: .notFound)
    }

    @Sendable private func askForEnd(_ request: Request, _ context: ServerContext) async throws -> Response {
        let id = try SignInAddress.parameter("activation", of: request.uri.query ?? "")
        guard let visitor = try await self.visitor(request) else { return self.nobody }
        guard let held = try await self.held(id, by: visitor) else { return self.gone }
        return .page(
            self.answers.pages.html(
                EndActivationPage(
                    id: id, name: held.name, isOffer: held.isOffer, isLast: held.isLast,
                    confirmation: self.cookies.formToken(visitor.session))))
    }

    @Sendable private func end(_ request: Request, _ context: ServerContext) async throws -> Response {
        let form = try await request.pageForm(limit: self.limits.oauth.parameterBytes)
        guard let visitor = try await self.visitor(request) else { return self.nobody }
        try self.cookies.requireToken(of: form, visitor.session)
        guard let id = form["activation"],
            try await self.identities.listings.end(id, accountID: visitor.accountID)
        else { return self.gone }
        return .page(
            self.answers.pages.html(
                ResultPage(
                    outcome: .done, headline: "It has ended",
                    explanation:
                        "It signs you in nowhere any more. If you were signed in here by it, that has ended, too.",
                    link: ("Back to your identity", IdentityPaths.overview))))
    }
}
