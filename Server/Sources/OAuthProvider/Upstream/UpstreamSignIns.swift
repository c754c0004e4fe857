import OAuth
public import Records
import Sealing
public import Settings
public import _Primitives

/// Signs people in through another provider: leads the browser to the provider and back, and finds the person.
///
/// Only issuer and subject identify a person. State, nonce and challenge belong to one trip of one browser. Each
/// provider has its own address for the way back, so that no other provider's answer can be taken for its answer.
public final class UpstreamSignIns: Sendable {
    /// The next step of a sign-in.
    public enum Step: Sendable, Equatable {
        /// The browser is sent to the other provider.
        case away(String)
        /// The sign-in can be completed.
        case finished
        /// The person was not authenticated surely enough. The client receives an error, and nobody was signed in or
        /// added.
        case unmet(ClientAnswer)
        /// The sign-in failed, and a client of the app sign-in service receives an error. The code and the sentence are
        /// for the operator's log.
        case told(ClientAnswer, code: String, reason: String)
        /// The person is not known here. The request waits on, for a sign-in to an existing account
        /// (``Answer/canConnect``).
        case unknownPerson
        /// The sign-in failed, and can begin anew.
        case refused(UpstreamRefusal)
        /// The source has begun too many sign-ins.
        case tooMany(Shortage)
        /// More people have come back at once than can wait. Nothing is spent: the browser can come back the same way.
        case crowded
    }

    /// The answer to a step of a browser's sign-in.
    public struct Answer: Sendable, Equatable {
        /// The authorization request.
        public let request: String
        /// The service that the person signs in to.
        public let client: PendingAuthorization
        /// The other provider's name, as people know it.
        public let title: String
        /// The next step.
        public let step: Step
        /// `true` if the person can connect an existing account: the service has another way to sign in, and a later
        /// page asks the person. A waiting device has no such page.
        public let canConnect: Bool
    }

    /// The place of a browser in the network.
    public struct Place: Sendable {
        /// The counted source (a network).
        public let source: String
        /// The browser and its system in words.
        public let browser: String?
        /// The browser's network address.
        public let address: String?

        /// Creates a place.
        public init(source: String, browser: String?, address: String?) {
            self.source = source
            self.browser = browser
            self.address = address
        }
    }

    /// Creates the account of a person who comes for the first time. Names and addresses that an account cannot have
    /// are left out.
    public typealias Newcomer = @Sendable (_ displayName: String?, _ email: AccountEmail?) -> AccountRecord

    let authorizations: Authorizations
    /// The store of other providers and of people's identities there.
    package let store: any UpstreamStore
    /// The requests that wait for a sign-in.
    private let requests: any AuthorizationStore & DeviceCodeStore
    private let newcomer: Newcomer
    let calls: UpstreamCalls
    private let turns: ArrivalTurns

    private var issuer: String { self.authorizations.issuer }
    private var limits: Limits.OAuth { self.authorizations.limits.oauth }
    private var time: TimeSource { self.authorizations.time }
    private var random: RandomSource { self.authorizations.random }

    /// Creates the sign-ins for authorization requests.
    public init(_ authorizations: Authorizations, store: any UpstreamStore, newcomer: @escaping Newcomer) {
        self.authorizations = authorizations
        self.store = store
        self.requests = authorizations.store
        self.newcomer = newcomer
        self.calls = UpstreamCalls(authorizations.clients)
        self.turns = ArrivalTurns(limits: authorizations.limits.oauth, time: authorizations.time)
    }

    /// The number of people who have come back from other providers and wait for their turn.
    public var waitingArrivals: Int { self.turns.waiting }

    /// Sends a browser to another provider. Returns `nil` if this browser has no such request, its service does not
    /// accept the provider, or the request has just ended.
    ///
    /// Cost: four queries, one store step; a call if the provider's discovery document is not there.
    public func begin(
        _ name: String, request id: String, browser: BrowserSecret, source: String
    ) async throws -> Answer? {
        guard let (request, upstream, client) = try await self.waiting(id, name, browser) else { return nil }
        func answer(_ step: Step) -> Answer {
            Answer(request: id, client: client, title: upstream.title, step: step, canConnect: false)
        }
        // Each trip is a call to another provider.
        if let shortage = self.authorizations.signIns.spend(source, at: self.time.now()) {
            return answer(.tooMany(shortage))
        }
        do {
            let wishes = try AuthorizationWishes(of: request)
            let metadata = try await self.calls.metadata(of: upstream)
            return answer(.away(try await self.away(to: upstream, metadata, for: request, wishes)))
        } catch let refusal as UpstreamRefusal {
            return try await self.step(of: refusal, request).map(answer)
        }
    }

    /// Completes the trip of a browser that comes back from another provider, when its turn has come. Returns `nil` if
    /// no trip of the browser waits: the state is unknown, used or too old, or belongs to another browser or provider.
    /// Also returns `nil` if the request has ended.
    ///
    /// The trip is taken only when its turn has come: after a wait in vain, the person can come back by the same trip.
    ///
    /// Cost: eight queries, two store steps, and the calls of the exchange.
    public func arrive(
        _ name: String, query: String, browser: BrowserSecret, place: Place
    ) async throws -> Answer? {
        let parameters = try Parameters(
            parsing: query, limits: Parameters.Limits(bytes: self.limits.parameterBytes))
        guard let state = parameters["state"] else { return nil }
        let digest = Sealing.digest(ofSecret: state)
        // Only a browser with a trip waits: nobody else can fill the queue.
        let found = try await self.store.requestOfTrip(
            stateDigest: digest, provider: name, browserDigest: browser.digest, at: self.time.now())
        guard let found else { return nil }
        let turn = try await self.turns.take(digest, from: name, source: place.source) {
            try await self.arrive(name, parameters, stateDigest: digest, browser: browser, place: place)
        }
        if let turn { return turn }
        return try await self.waiting(found, name, browser).map { _, upstream, client in
            Answer(request: found, client: client, title: upstream.title, step: .crowded, canConnect: false)
        }
    }

    private func arrive(
        _ name: String, _ parameters: Parameters, stateDigest: [UInt8], browser: BrowserSecret, place: Place
    ) async throws -> Answer? {
        guard
            let trip = try await self.store.takeTrip(
                stateDigest: stateDigest, provider: name, browserDigest: browser.digest, at: self.time.now()),
            let (request, upstream, client) = try await self.waiting(trip.request, name, browser)
        else { return nil }
        let step: Step?
        do {
            step = try await self.arrive(parameters, trip, request, upstream, client, place)
        } catch let refusal as UpstreamRefusal {
            step = try await self.step(of: refusal, request)
        } catch let error as StoreError where error.code == .forbidden {
            step = try await self.step(of: UpstreamRefusal(.keptOut, Self.lockedAdvice), request)
        } catch let error as StoreError where error.code == .notFound {
            // The request or the provider was removed while the provider was asked.
            return nil
        }
        guard let step else { return nil }
        let isOfDevice = try await self.requests.deviceCode(request: trip.request) != nil
        return Answer(
            request: trip.request, client: client, title: upstream.title, step: step,
            canConnect: client.methods.count > 1 && !isOfDevice)
    }

    private static let lockedAdvice = "The account is locked: countersign admin account unlock."

    /// Notes the person's wish to connect the identity at the provider with the account of the next sign-in, for the
    /// same request. Returns `true` if the request has an identity to connect.
    public func connect(_ name: String, request id: String, browser: BrowserSecret) async throws -> Bool {
        guard try await self.waiting(id, name, browser) != nil else { return false }
        return try await self.store.wantLink(request: id, provider: name)
    }

    /// Returns the address at which another provider signs a browser out, and from which the browser comes back with
    /// that state (OpenID Connect RP-Initiated Logout 1.0, sections 2 and 3). Throws ``UpstreamRefusal``.
    ///
    /// Cost: nothing if the provider has named the address within the last day; else a call.
    package func signOutAddress(of upstream: UpstreamProvider, state: String) async throws -> String {
        let metadata = try await self.calls.metadata(of: upstream, isStaleEnough: true) { $0.endSession != nil }
        guard let endpoint = metadata.endSession else {
            throw UpstreamRefusal.failed(
                "its discovery document has no end_session_endpoint that is https, or http to a literal loopback address"
            )
        }
        return endpoint.adding([
            "client_id": upstream.clientID,
            "post_logout_redirect_uri": UpstreamProviders.signedOutURI(issuer: self.issuer), "state": state,
        ])
    }

    // MARK: -

    private func waiting(_ id: String, _ name: String, _ browser: BrowserSecret) async throws -> (
        AuthorizationRequestRecord, UpstreamProvider, PendingAuthorization
    )? {
        guard let request = try await self.authorizations.openRequest(id, browser),
            let client = try await self.authorizations.pending(request: id, browser: browser),
            client.methods.containsBytes(of: UpstreamProvider.method(of: name)),
            let upstream = try await self.store.upstreamProvider(name)
        else { return nil }
        return (request, upstream, client)
    }

    /// Begins a trip and returns its address.
    ///
    /// - Parameter levels: The provider's own words for the required levels on a second trip; empty on the first trip.
    private func away(
        to upstream: UpstreamProvider, _ metadata: UpstreamMetadata, for request: AuthorizationRequestRecord,
        _ wishes: AuthorizationWishes, levels: [String] = []
    ) async throws -> String {
        let (random, now) = (self.random, self.time.now())
        let state = random.token(byteCount: 32)
        let nonce = random.token(byteCount: 32)
        let verifier = CodeVerifier(random: random)
        try await self.store.begin(
            UpstreamTrip(
                request: request.id, provider: upstream.name, stateDigest: Sealing.digest(ofSecret: state),
                verifier: SecretBytes(utf8: verifier.text), nonce: SecretBytes(utf8: nonce),
                isSecond: !levels.isEmpty, begunAt: now,
                expiresAt: min(request.expiresAt, now + self.limits.upstreamTripLifetime)))
        var parameters: Parameters = [
            "response_type": "code", "client_id": upstream.clientID,
            "redirect_uri": self.redirectURI(of: upstream.name), "state": state,
            "code_challenge": verifier.challenge.text, "code_challenge_method": CodeChallenge.method,
        ]
        if !upstream.scopes.isEmpty { parameters.append("scope", upstream.scopes.joined(separator: " ")) }
        if upstream.kind == .openID {
            parameters.append("nonce", nonce)
            let prompts = AuthorizationWishes.Prompt.allCases.filter {
                [.login, .selectAccount].contains($0) && wishes.prompts.contains($0)
            }
            if !prompts.isEmpty { parameters.append("prompt", prompts.map(\.rawValue).joined(separator: " ")) }
            if let age = wishes.upstreamAge { parameters.append("max_age", String(age.components.seconds)) }
            let words = levels.isEmpty ? upstream.levelRequest(of: wishes)?.sent ?? [] : levels
            if !words.isEmpty { parameters.append("acr_values", words.joined(separator: " ")) }
        }
        return metadata.authorization.adding(parameters)
    }

    /// Returns the address for a provider's answers: each provider has an address of its own (RFC 9700, section
    /// 4.4.2.2).
    private func redirectURI(of name: String) -> String {
        UpstreamProviders.redirectURI(of: name, issuer: self.issuer)
    }

    private func arrive(
        _ parameters: Parameters, _ trip: UpstreamTrip, _ request: AuthorizationRequestRecord,
        _ upstream: UpstreamProvider, _ client: PendingAuthorization, _ place: Place
    ) async throws -> Step? {
        let metadata = try await self.calls.metadata(of: upstream)
        let code = try metadata.code(of: parameters, from: upstream)
        let (person, accessToken) = try await self.calls.person(
            code: code, of: upstream, metadata, for: trip, redirectURI: self.redirectURI(of: upstream.name))
        let wishes = try AuthorizationWishes(of: request)
        try self.checkAge(of: person, trip, wishes)
        let level = person.acr.flatMap { word in upstream.levels.first { $0.theirs.hasSameBytes(as: word) }?.ours }
        let acr = level ?? upstream.usualLevel
        if !trip.isSecond, upstream.kind == .openID {
            let words = self.secondWords(for: person, of: upstream, isEnough: self.isEnough(acr, wishes), wishes)
            if !words.isEmpty {
                return .away(try await self.away(to: upstream, metadata, for: request, wishes, levels: words))
            }
        }
        let identity = UpstreamIdentity(provider: upstream.name, issuer: upstream.issuer, subject: person.subject)
        let now = self.time.now()
        let arrival = UpstreamArrival(
            request: request.id, identity: identity, at: person.authenticatedAt ?? now, acr: acr, amr: person.amr,
            browser: place.browser, address: place.address)
        var newcomer: UpstreamNewcomer?
        let linked = try await self.store.account(linkedTo: identity)
        if let linked {
            guard try await self.authorizations.standing.person(ofAccount: linked) != nil else {
                throw UpstreamRefusal(.keptOut, Self.lockedAdvice)
            }
        }
        // A person who is to connect an account authenticates once more, in another way, which can be sure enough.
        if !self.isEnough(acr, wishes), linked != nil || upstream.newcomers == .created {
            return try await self.unmet(request)
        }
        if wishes.service != nil,
            let failure = try await self.conflict(of: person, upstream, metadata, accessToken: accessToken)
        {
            return try await self.told(failure, request, code: "person-register", reason: failure.sentence)
        }
        if linked == nil, upstream.newcomers == .created {
            let completed = try await self.calls.completed(
                person, metadata, accessToken: accessToken, isComplete: person.email != nil)
            newcomer = self.newcomer(completed, identity, upstream, at: now)
        }
        let notice = self.random.identifier()
        let detail =
            AuditEvent.signInDetail(service: client.client, methods: person.amr) + " provider=\(upstream.name)"
        let account = try await self.store.arrive(arrival, at: now, newcomer: newcomer) { account in
            (
                AuditEvent(.signedIn, at: now, accountID: account, detail: detail, address: place.address),
                NoticeRecord(id: notice, accountID: account, kind: .signedIn, at: now, subject: client.clientName)
            )
        }
        guard account == nil else { return .finished }
        // The app sign-in service has no other way beside, by which the person could connect an account.
        guard wishes.service == nil else {
            return try await self.told(
                .ofProvider, request, code: "unknown-person",
                reason: "nobody here is connected with them: countersign admin provider change --newcomers")
        }
        return .unknownPerson
    }

    /// Returns the step after a failure; `nil` if the request has ended already. A client of the app sign-in service
    /// receives an error. For any other client, the person sees a page to begin anew.
    private func step(of refusal: UpstreamRefusal, _ request: AuthorizationRequestRecord) async throws -> Step? {
        guard let wishes = try AuthorizationWishes(of: request).service else { return .refused(refusal) }
        let failure: SignInServiceFailure =
            switch refusal.code {
            case .declined: wishes.failure(of: OAuthError(.accessDenied))
            case .failed, .stale: .ofProvider
            case .keptOut: .locked
            }
        return try await self.told(failure, request, code: refusal.code.rawValue, reason: refusal.reason)
    }

    private func told(
        _ failure: SignInServiceFailure, _ request: AuthorizationRequestRecord, code: String, reason: String
    ) async throws -> Step? {
        guard try await self.requests.removeRequest(request.id) else { return nil }
        return .told(try self.authorizations.reply(to: request).answer(failure), code: code, reason: reason)
    }

    /// Returns the reason why the register of people refuses a person from a provider; `nil` for no reason.
    private func conflict(
        of person: UpstreamPerson, _ upstream: UpstreamProvider, _ metadata: UpstreamMetadata, accessToken: String?
    ) async throws -> SignInServiceFailure? {
        guard let register = self.authorizations.simulatedPeople else { return nil }
        var person = person
        if register.hasNumber(of: person.subject, at: upstream.name) {
            person = try await self.calls.completed(
                person, metadata, accessToken: accessToken, isComplete: person.ssn != nil)
        }
        return register.failure(of: person.subject, at: upstream.name, ssn: person.ssn)
    }

    /// Returns the levels to request on a second trip, in the provider's words; empty for no second trip. A person who
    /// is not authenticated surely enough makes a second trip if words are left that satisfy the request and were not
    /// requested before.
    ///
    /// A person who is authenticated surely enough makes a second trip if the provider can authenticate the person more
    /// surely, and a client of the app sign-in service has requested a level with such a second trip.
    private func secondWords(
        for person: UpstreamPerson, of upstream: UpstreamProvider, isEnough: Bool, _ wishes: AuthorizationWishes
    ) -> [String] {
        let request = upstream.levelRequest(of: wishes)
        if let raised = request?.raised, !raised.isEmpty {
            let isThere = person.acr.map(raised.containsBytes) ?? false
            return !isThere && (!isEnough || person.canBeRaised) ? raised : []
        }
        // If another claim contains the level, the level is no word that can be requested.
        guard !isEnough, upstream.levelClaim.hasSameBytes(as: UpstreamProvider.usualLevelClaim) else { return [] }
        let words = upstream.levels.filter { self.isEnough($0.ours, wishes) }.map(\.theirs)
        // Words that were already requested without success would not succeed the next time.
        return words.allSatisfy { (request?.sent ?? []).containsBytes(of: $0) } ? [] : words
    }

    /// Ends a request without a sign-in; `nil` if the request has ended already.
    private func unmet(_ request: AuthorizationRequestRecord) async throws -> Step? {
        guard try await self.requests.removeRequest(request.id) else { return nil }
        return .unmet(try self.authorizations.reply(to: request).answer(error: RequestedLevels.unmet))
    }

    private func isEnough(_ acr: String, _ wishes: AuthorizationWishes) -> Bool {
        wishes.levels.areMet(by: acr, in: self.authorizations.levels)
    }

    /// Checks the age of the authentication. If the service has limited the age, or requested a new sign-in, the other
    /// provider has to state the time. Throws ``UpstreamRefusal``.
    private func checkAge(of person: UpstreamPerson, _ trip: UpstreamTrip, _ wishes: AuthorizationWishes) throws {
        guard let age = wishes.upstreamAge else { return }
        let skew = self.limits.clientClockSkew
        // The age counts from the beginning of the trip: an authentication during the trip always counts.
        guard let at = person.authenticatedAt, at >= trip.begunAt - age - skew else {
            throw UpstreamRefusal.stale
        }
    }

    private func newcomer(
        _ person: UpstreamPerson, _ identity: UpstreamIdentity, _ upstream: UpstreamProvider, at now: Timestamp
    ) -> UpstreamNewcomer {
        let email = person.email.map { email in
            // A provider's word counts only for the domains that the operator has listed as the provider's own.
            let domain = email.address.splitBytes(at: "@").last?.asciiLowercased ?? ""
            return AccountEmail(
                address: email.address,
                isVerified: email.isVerified && upstream.emailDomains.containsBytes(of: domain))
        }
        let account = self.newcomer(person.name, email)
        let link = UpstreamLink(
            id: self.random.identifier(), identity: identity, accountID: account.id, createdAt: now)
        let actor = UpstreamProvider.method(of: upstream.name)
        return UpstreamNewcomer(
            account: account, link: link,
            audit: [
                AuditEvent(.accountCreated, at: now, accountID: account.id, actor: actor),
                AuditEvent(.identityLinked, at: now, accountID: account.id, actor: actor, detail: link.auditDetail),
            ])
    }
}

extension AuthorizationWishes {
    /// The time that may have passed since another provider authenticated the person; `nil` for any time.
    fileprivate var upstreamAge: Duration? { self.prompts.contains(.login) ? .zero : self.maximumAge }
}

extension UpstreamProvider {
    /// Returns the provider's words for the level that a request of the app sign-in service requires.
    func levelRequest(of wishes: AuthorizationWishes) -> LevelRequest? {
        wishes.service.flatMap { self.levelRequest(for: $0.level) }
    }

    /// Returns the provider's words for a client's word; `nil` if the operator has set none.
    func levelRequest(for word: String) -> LevelRequest? {
        self.levelRequests.first { $0.asked.hasSameBytes(as: word) }
    }

    /// `true` if a client of the app sign-in service may request the word from the provider: any word, if the operator
    /// has set no level requests.
    package func takes(_ word: String) -> Bool { self.levelRequests.isEmpty || self.levelRequest(for: word) != nil }
}

extension UpstreamLink {
    /// The text about a link in the audit trail.
    var auditDetail: String { "\(self.identity.provider) \(self.id)" }
}

extension AuditEvent.Kind {
    /// A person was signed in; the detail says to which service, how, and by which provider.
    fileprivate static let signedIn = Self(rawValue: "signed-in")
    /// An account was created; the actor is the provider that the person came from.
    fileprivate static let accountCreated = Self(rawValue: "account-created")
}

/// Other providers as a way to sign in: each provider is a way of its own, `provider:NAME`.
public struct UpstreamSignInMethod: SignInMethod {
    /// The method's name in metrics.
    public let name = "provider"
    /// The form of clients' words for providers.
    public static let word = UpstreamProvider.methodPrefix + "NAME"

    /// The form of clients' words for providers.
    public var ways: String { Self.word }
    private let store: any UpstreamStore
    private let finished: FinishedSignIns
    private let time: TimeSource
    private let random: RandomSource

    /// Creates the method over the store of providers and links, and the finished sign-ins.
    public init(store: any UpstreamStore, finished: FinishedSignIns, time: TimeSource, random: RandomSource) {
        self.store = store
        self.finished = finished
        self.time = time
        self.random = random
    }

    /// `true` if the word has the form of a provider's word. The sign-in checks if the provider exists.
    public func isWay(_ word: String) -> Bool {
        word.hasBytes(atStart: UpstreamProvider.methodPrefix)
            && UpstreamProviders.isName(word.dropFirst(UpstreamProvider.methodPrefix.count))
    }

    /// Returns the providers that a service accepts, with names and titles, in the order of the service's sign-in
    /// methods.
    public func offered(to methods: [String]) async throws -> [(name: String, title: String)] {
        guard methods.contains(where: { $0.hasBytes(atStart: UpstreamProvider.methodPrefix) }) else { return [] }
        let known = try await self.store.upstreamProviders()
        return methods.compactMap { word in
            known.first { UpstreamProvider.method(of: $0.name).hasSameBytes(as: word) }.map { ($0.name, $0.title) }
        }
    }

    /// Returns the outcome of the last finished sign-in by a provider that a request has.
    public func outcome(request: String, browser: BrowserSecret, client: String) async throws -> AuthenticationOutcome?
    {
        try await self.finished.outcome(request: request, by: self)
    }

    /// Returns the person's identity at another provider that the person has asked to connect.
    public func wantedConnection(request: String) async throws -> WantedConnection? {
        try await self.store.wantedLink(request: request).map {
            WantedConnection(name: $0.provider, title: $0.title, since: $0.arrivedAt)
        }
    }

    /// Creates the link and notifies the person's devices, or forgets the wish. Returns the reason if the link was not
    /// created.
    public func decide(
        _ connection: WantedConnection, request: String, account: String, isGranted: Bool
    ) async throws -> LinkRefusal? {
        guard isGranted else {
            try await self.store.forgetWantedLink(request: request, provider: connection.name)
            return nil
        }
        let now = self.time.now()
        let ids = (link: self.random.identifier(), notice: self.random.identifier())
        return try await self.store.connect(
            request: request, provider: connection.name, account: account, limit: Limits.Fixed.linksPerAccount
        ) { identity in
            let link = UpstreamLink(id: ids.link, identity: identity, accountID: account, createdAt: now)
            return (
                link, AuditEvent(.identityLinked, at: now, accountID: account, detail: link.auditDetail),
                NoticeRecord(
                    id: ids.notice, accountID: account, kind: .identityLinked, at: now, subject: connection.title)
            )
        }
    }
}
