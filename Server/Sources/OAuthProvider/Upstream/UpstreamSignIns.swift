import OAuth
public import Store
public import _Primitives

/// Signing in through another provider: the browser's way there and back, and who it is then.
///
/// Issuer and subject alone say who somebody is. State, nonce and challenge are of one trip of one browser, whose way back
/// ends at an address that is that one provider's, so that no other's answer is taken for its.
public struct UpstreamSignIns: Sendable {
    /// What comes next.
    public enum Step: Sendable, Equatable {
        /// The browser is sent to the other provider.
        case away(String)
        /// The sign-in can be completed.
        case finished
        /// The person was not authenticated surely enough: the client is told, and nobody was signed in or added.
        case unmet(ClientAnswer)
        /// It has come to nothing, and a client of the app sign-in service is told; with why, for the operator's log: a code,
        /// and a sentence.
        case told(ClientAnswer, code: String, reason: String)
        /// The person is not known here: they can connect an account that they have.
        case unknownPerson
        /// It has come to nothing, and can begin anew.
        case refused(UpstreamRefusal)
        /// The source has begun too many sign-ins.
        case tooMany(Shortage)
        /// More have come back at once than can wait. Nothing is spent: the browser can come back the same way.
        case crowded
    }

    /// A step of a browser's sign-in.
    public struct Answer: Sendable, Equatable {
        /// The authorization request.
        public let request: String
        /// The service that is signed in to.
        public let client: PendingAuthorization
        /// What people call the other provider.
        public let title: String
        /// What comes next.
        public let step: Step
        /// Whether an account that the person has can be connected: there is another way to sign in to it, and a page after
        /// that on which they are asked. A device that waits for its person has none.
        public let canConnect: Bool
    }

    /// Where a browser is.
    public struct Place: Sendable {
        /// Who is counted (a network).
        public let source: String
        /// The browser and its system in words.
        public let browser: String?
        /// The browser's network address.
        public let address: String?

        /// A place of these values.
        public init(source: String, browser: String?, address: String?) {
            self.source = source
            self.browser = browser
            self.address = address
        }
    }

    /// Makes the account of somebody who comes for the first time: no name and no address enters it that an account cannot
    /// have.
    public typealias Newcomer = @Sendable (_ displayName: String?, _ email: AccountEmail?) -> AccountRecord

    let provider: OpenIDProvider
    let store: any UpstreamStore
    private let newcomer: Newcomer
    let calls: UpstreamCalls
    private let turns: ArrivalTurns

    /// Sign-ins to the services of a provider.
    public init(_ provider: OpenIDProvider, store: any UpstreamStore, newcomer: @escaping Newcomer) {
        self.provider = provider
        self.store = store
        self.newcomer = newcomer
        self.calls = UpstreamCalls(provider)
        self.turns = ArrivalTurns(limits: provider.limits.oauth, time: provider.time)
    }

    /// How many people have come back from other providers and wait for their turn.
    public var waitingArrivals: Int { self.turns.waiting }

    /// The providers that a service takes, by the words of its sign-in methods, in their order: names and titles.
    public func offered(to methods: [String]) async throws -> [(name: String, title: String)] {
        guard methods.contains(where: { $0.hasBytes(atStart: UpstreamProvider.methodPrefix) }) else { return [] }
        let known = try await self.store.upstreamProviders()
        return methods.compactMap { word in
            known.first { UpstreamProvider.method(of: $0.name).hasSameBytes(as: word) }.map { ($0.name, $0.title) }
        }
    }

    /// Sends a browser to another provider. `nil` where there is no such request in this browser, or its service does not
    /// take the provider.
    ///
    /// Cost: four queries, one store step; a call where the provider's discovery document is not there.
    public func begin(
        _ name: String, request id: String, browser: BrowserSecret, source: String
    ) async throws -> Answer? {
        guard let (request, upstream, client) = try await self.waiting(id, name, browser) else { return nil }
        func answer(_ step: Step) -> Answer {
            Answer(request: id, client: client, title: upstream.title, step: step, canConnect: false)
        }
        // Each time is a call to somebody else.
        if let shortage = self.provider.signIns.spend(source, at: self.provider.time.now()) {
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

    /// Takes a browser that comes back from another provider, when its turn has come. `nil` where no trip of it waits: its
    /// state is unknown, used or too old, or of another browser or provider.
    ///
    /// The trip is taken once its turn has come, and not before: who has waited in vain can come back by it.
    ///
    /// Cost: six queries, two store steps, and the calls of the exchange.
    public func arrive(
        _ name: String, query: String, browser: BrowserSecret, place: Place
    ) async throws -> Answer? {
        let limits = self.provider.limits
        let parameters = try Parameters(
            parsing: query, limits: Parameters.Limits(bytes: limits.oauth.parameterBytes))
        guard let state = parameters["state"] else { return nil }
        let digest = Sealing.digest(ofSecret: state)
        // Only who has a trip waits: nobody else can fill the queue.
        let found = try await self.store.requestOfTrip(
            stateDigest: digest, provider: name, browserDigest: browser.digest, at: self.provider.time.now())
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
                stateDigest: stateDigest, provider: name, browserDigest: browser.digest, at: self.provider.time.now()),
            let (request, upstream, client) = try await self.waiting(trip.request, name, browser)
        else { return nil }
        let step: Step?
        do {
            step = try await self.arrive(parameters, trip, request, upstream, client, place)
        } catch let refusal as UpstreamRefusal {
            step = try await self.step(of: refusal, request)
        } catch let error as StoreError where error.code == .forbidden {
            step = try await self.step(of: UpstreamRefusal(.keptOut, Self.lockedAdvice), request)
        }
        guard let step else { return nil }
        let isOfDevice = try await self.provider.store.deviceCode(request: trip.request) != nil
        return Answer(
            request: trip.request, client: client, title: upstream.title, step: step,
            canConnect: client.methods.count > 1 && !isOfDevice)
    }

    private static let lockedAdvice = "The account is locked: countersign admin account unlock."

    /// Notes that the person wants what they are at that provider connected with the account that they sign in to next, for
    /// the same request. Says whether there is anybody to connect.
    public func connect(_ name: String, request id: String, browser: BrowserSecret) async throws -> Bool {
        guard try await self.waiting(id, name, browser) != nil else { return false }
        return try await self.store.wantLink(request: id, provider: name)
    }

    /// Where a browser is signed out at another provider, and comes back from with that state (OpenID Connect RP-Initiated
    /// Logout 1.0, sections 2 and 3). Throws ``UpstreamRefusal``.
    ///
    /// Cost: nothing where the provider has said within the last day where that is; else a call.
    func signOutAddress(of upstream: UpstreamProvider, state: String) async throws -> String {
        let metadata = try await self.calls.metadata(of: upstream, isStaleEnough: true) { $0.endSession != nil }
        guard let endpoint = metadata.endSession else {
            throw UpstreamRefusal.failed(
                "its discovery document has no end_session_endpoint that is https, or http to a literal loopback address"
            )
        }
        return endpoint.adding([
            "client_id": upstream.clientID,
            "post_logout_redirect_uri": UpstreamProviders.signedOutURI(issuer: self.provider.issuer), "state": state,
        ])
    }

    // MARK: -

    private func waiting(_ id: String, _ name: String, _ browser: BrowserSecret) async throws -> (
        AuthorizationRequestRecord, UpstreamProvider, PendingAuthorization
    )? {
        guard let request = try await self.provider.openRequest(id, browser),
            let client = try await self.provider.pending(request: id, browser: browser),
            client.methods.containsBytes(of: UpstreamProvider.method(of: name)),
            let upstream = try await self.store.upstreamProvider(name)
        else { return nil }
        return (request, upstream, client)
    }

    /// Begins a trip and gives the address.
    ///
    /// - Parameter levels: The provider's own words for how surely the person has to be authenticated; then it is the second
    ///   trip.
    private func away(
        to upstream: UpstreamProvider, _ metadata: UpstreamMetadata, for request: AuthorizationRequestRecord,
        _ wishes: AuthorizationWishes, levels: [String] = []
    ) async throws -> String {
        let (random, now) = (self.provider.random, self.provider.time.now())
        let state = random.token(byteCount: 32)
        let nonce = random.token(byteCount: 32)
        let verifier = CodeVerifier(random: random)
        try await self.store.begin(
            UpstreamTrip(
                request: request.id, provider: upstream.name, stateDigest: Sealing.digest(ofSecret: state),
                verifier: SecretBytes(utf8: verifier.text), nonce: SecretBytes(utf8: nonce),
                isSecond: !levels.isEmpty, begunAt: now,
                expiresAt: min(request.expiresAt, now + self.provider.limits.oauth.upstreamTripLifetime)))
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

    /// Where a provider's answers go: each has an address of its own (RFC 9700, section 4.4.2.2).
    private func redirectURI(of name: String) -> String {
        UpstreamProviders.redirectURI(of: name, issuer: self.provider.issuer)
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
        let now = self.provider.time.now()
        let arrival = UpstreamArrival(
            request: request.id, identity: identity, at: person.authenticatedAt ?? now, acr: acr, amr: person.amr,
            browser: place.browser, address: place.address)
        var newcomer: UpstreamNewcomer?
        let linked = try await self.store.account(linkedTo: identity)
        if let linked {
            guard try await self.provider.people.person(account: linked) != nil else {
                throw UpstreamRefusal(.keptOut, Self.lockedAdvice)
            }
        }
        // Whoever is to connect an account authenticates once more, in another way, which can be sure enough.
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
        let (random, detail) = (
            self.provider.random,
            AuditEvent.signInDetail(service: client.client, methods: person.amr) + " provider=\(upstream.name)"
        )
        let account = try await self.store.arrive(arrival, at: now, newcomer: newcomer) { account in
            (
                AuditEvent(.signedIn, at: now, accountID: account, detail: detail, address: place.address),
                NoticeRecord(
                    id: random.identifier(), accountID: account, kind: .signedIn, at: now, subject: client.clientName)
            )
        }
        guard account == nil else { return .finished }
        // At the app sign-in service there is no other way beside, by which they could connect an account.
        guard wishes.service == nil else {
            return try await self.told(
                .ofProvider, request, code: "unknown-person",
                reason: "nobody here is connected with them: countersign admin provider change --newcomers")
        }
        return .unknownPerson
    }

    /// What comes of a failure: a client of the app sign-in service is told, and every other one's person is shown a page on
    /// which they can begin anew. `nil` where the request has ended already.
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
        guard try await self.provider.store.removeRequest(request.id) else { return nil }
        return .told(try self.provider.reply(to: request).answer(failure), code: code, reason: reason)
    }

    /// What the register of people has against somebody who comes from a provider; `nil` for nothing.
    private func conflict(
        of person: UpstreamPerson, _ upstream: UpstreamProvider, _ metadata: UpstreamMetadata, accessToken: String?
    ) async throws -> SignInServiceFailure? {
        guard let register = self.provider.configuration.simulatedPeople else { return nil }
        var person = person
        if register.hasNumber(of: person.subject, at: upstream.name) {
            person = try await self.calls.completed(
                person, metadata, accessToken: accessToken, isComplete: person.ssn != nil)
        }
        return register.failure(of: person.subject, at: upstream.name, ssn: person.ssn)
    }

    /// What the provider is asked for by a second trip; nothing where there is to be none.
    ///
    /// Whoever is authenticated surely enough makes one where the provider says that they can be more surely, and a client of
    /// the app sign-in service has asked for as much as there is.
    private func secondWords(
        for person: UpstreamPerson, of upstream: UpstreamProvider, isEnough: Bool, _ wishes: AuthorizationWishes
    ) -> [String] {
        let request = upstream.levelRequest(of: wishes)
        if let raised = request?.raised, !raised.isEmpty {
            let isThere = person.acr.map(raised.containsBytes) ?? false
            return !isThere && (!isEnough || person.canBeRaised) ? raised : []
        }
        // A level that another claim says is no word that can be asked for.
        guard !isEnough, upstream.levelClaim.hasSameBytes(as: UpstreamProvider.usualLevelClaim) else { return [] }
        let words = upstream.levels.filter { self.isEnough($0.ours, wishes) }.map(\.theirs)
        // What was sent already and was not met is not met the next time.
        return words.allSatisfy { (request?.sent ?? []).containsBytes(of: $0) } ? [] : words
    }

    /// Ends a request that nobody is signed in for; `nil` where it has ended already.
    private func unmet(_ request: AuthorizationRequestRecord) async throws -> Step? {
        guard try await self.provider.store.removeRequest(request.id) else { return nil }
        return .unmet(try self.provider.reply(to: request).answer(error: RequestedLevels.unmet))
    }

    private func isEnough(_ acr: String, _ wishes: AuthorizationWishes) -> Bool {
        wishes.levels.areMet(by: acr, in: self.provider.configuration.levels)
    }

    /// Where the service has asked how long ago the person was authenticated, the other provider has to say it.
    private func checkAge(of person: UpstreamPerson, _ trip: UpstreamTrip, _ wishes: AuthorizationWishes) throws {
        guard let age = wishes.upstreamAge else { return }
        let skew = self.provider.limits.oauth.clientClockSkew
        // What happened while the browser was there was asked for.
        guard let at = person.authenticatedAt, at >= trip.begunAt - age - skew else {
            throw UpstreamRefusal.stale
        }
    }

    private func newcomer(
        _ person: UpstreamPerson, _ identity: UpstreamIdentity, _ upstream: UpstreamProvider, at now: Timestamp
    ) -> UpstreamNewcomer {
        let email = person.email.map { email in
            // A provider's word counts for the domains that the operator says are its own, and for no other.
            let domain = email.address.splitBytes(at: "@").last?.asciiLowercased ?? ""
            return AccountEmail(
                address: email.address,
                isVerified: email.isVerified && upstream.emailDomains.containsBytes(of: domain))
        }
        let account = self.newcomer(person.name, email)
        let link = UpstreamLink(
            id: self.provider.random.identifier(), identity: identity, accountID: account.id, createdAt: now)
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
    /// How long ago another provider may have authenticated the person; `nil` for however long.
    fileprivate var upstreamAge: Duration? { self.prompts.contains(.login) ? .zero : self.maximumAge }
}

extension UpstreamProvider {
    /// What is sent for the level that a request of the app sign-in service asks for.
    func levelRequest(of wishes: AuthorizationWishes) -> LevelRequest? {
        wishes.service.flatMap { self.levelRequest(for: $0.level) }
    }

    /// What is sent for a word; `nil` where the operator says nothing of it.
    func levelRequest(for word: String) -> LevelRequest? {
        self.levelRequests.first { $0.asked.hasSameBytes(as: word) }
    }

    /// Whether a client of the app sign-in service may ask it for a word.
    func takes(_ word: String) -> Bool { self.levelRequests.isEmpty || self.levelRequest(for: word) != nil }
}

extension UpstreamLink {
    /// What the trail says of a link.
    var auditDetail: String { "\(self.identity.provider) \(self.id)" }
}

extension AuditEvent.Kind {
    /// A person was signed in; the detail says to which service, how, and by which provider.
    fileprivate static let signedIn = Self(rawValue: "signed-in")
    /// There is a new account; the actor is the provider that it came from.
    fileprivate static let accountCreated = Self(rawValue: "account-created")
}

/// Other providers as a way to sign in: each is a way of its own, `provider:NAME`.
public struct UpstreamSignInMethod: SignInMethod {
    /// What it is called in metrics.
    public let name = "provider"
    /// How clients name them.
    public let ways = UpstreamProvider.methodPrefix + "NAME"
    private let store: any UpstreamStore
    private let limits: Limits
    private let time: TimeSource
    private let random: RandomSource

    /// The way, over what is kept of sign-ins.
    public init(store: any UpstreamStore, limits: Limits, time: TimeSource, random: RandomSource) {
        self.store = store
        self.limits = limits
        self.time = time
        self.random = random
    }

    /// Whether it is such a word. Whether there is such a provider is asked when somebody signs in.
    public func isWay(_ word: String) -> Bool {
        word.hasBytes(atStart: UpstreamProvider.methodPrefix)
            && UpstreamProviders.isName(word.dropFirst(UpstreamProvider.methodPrefix.count))
    }

    /// The provider has found the request by the browser's secret, and the sign-in hangs on the request.
    public func outcome(request: String, browser: BrowserSecret, client: String) async throws -> AuthenticationOutcome?
    {
        guard let signIn = try await self.store.upstreamSignIn(request: request),
            self.time.now() < signIn.finishedAt + self.limits.outcomeLifetime
        else { return nil }
        let arrival = signIn.arrival
        return AuthenticationOutcome(
            account: signIn.accountID, authenticatedAt: arrival.at, acr: arrival.acr, amr: arrival.amr,
            browser: arrival.browser, address: arrival.address,
            way: UpstreamProvider.method(of: arrival.identity.provider))
    }

    /// What the person is at another provider, and has asked to have connected.
    public func wantedConnection(request: String) async throws -> WantedConnection? {
        try await self.store.wantedLink(request: request).map {
            WantedConnection(name: $0.provider, title: $0.title, since: $0.arrivedAt)
        }
    }

    /// Makes the link, and has the person's devices told, or forgets that it was wanted.
    public func decide(
        _ connection: WantedConnection, request: String, account: String, isGranted: Bool
    ) async throws -> LinkRefusal? {
        guard isGranted else {
            try await self.store.forgetWantedLink(request: request, provider: connection.name)
            return nil
        }
        let (now, random) = (self.time.now(), self.random)
        return try await self.store.connect(
            request: request, provider: connection.name, account: account, limit: Limits.Fixed.linksPerAccount
        ) { identity in
            let link = UpstreamLink(
                id: random.identifier(), identity: identity, accountID: account, createdAt: now)
            return (
                link, AuditEvent(.identityLinked, at: now, accountID: account, detail: link.auditDetail),
                NoticeRecord(
                    id: random.identifier(), accountID: account, kind: .identityLinked, at: now,
                    subject: connection.title)
            )
        }
    }
}
