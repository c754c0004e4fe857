import OAuth
import Records
import Sealing
import Settings
import _Primitives

/// Signs people in to an operator's own apps without a browser (OAuth 2.0 for First-Party Applications, the
/// authorization challenge endpoint).
///
/// The waiting request is an authorization request like any other, and ends in the same records. The request has no
/// browser. In place of the browser stands `auth_session`, with a new value at each step. The value is worth nothing
/// without the client and, if the first step proved a key, without that key. The operator decides for each client if
/// the client may use this endpoint: a person who types a password into an app trusts the app with the password.
public struct Challenges: Sendable {
    private let authorizations: Authorizations
    private let method: any DirectSignIn

    /// Creates the endpoint beside the authorizations of browsers.
    public init(_ authorizations: Authorizations, by method: any DirectSignIn) {
        self.authorizations = authorizations
        self.method = method
    }

    /// The name of the value for continuing a sign-in.
    private static let session = "auth_session"

    /// Answers a request to the endpoint.
    ///
    /// Throws ``InterruptedStep`` if a step could not be judged now. The sign-in then continues.
    ///
    /// - Parameters:
    ///   - header: The value of `Authorization`, or `nil`.
    ///   - body: The form as received, not decoded.
    ///   - proofs: The values of all header fields `DPoP`: the code will be bound to the key of such a proof.
    ///   - connection: The connection of the request.
    ///   - place: The app's place in the network.
    ///
    /// Cost: two queries, one store step, two hashes, and the cost of the step itself; at the last step three queries
    /// and another store step; with a proof one signature, two HMACs and one store step more.
    public func answer(
        header: String?, body: String, proofs: [String], over connection: ClientConnection = .usual, place: AppPlace
    ) async throws -> ProviderAnswer {
        try await self.authorizations.endpoint.answer(
            header: header, body: body, from: place.source, proofs: proofs, over: connection,
            for: { ProviderMetadata.challengeEndpoint(of: $0) }
        ) { client, form, proof in
            guard client.settings.mayChallenge else {
                throw OAuthError(
                    .unauthorizedClient, "The client may not sign people in without a browser.",
                    detail: "the operator can let an app of their own: --party first-party --direct-sign-in")
            }
            let shown = try ShownProof(form)
            guard let session = form[Self.session] else {
                return try await self.begin(form, shown, of: client, proof: proof, place: place)
            }
            return try await self.goOn(session, form, shown, of: client, proof: proof, place: place)
        }
    }

    // MARK: The session of a sign-in

    /// Adds a new request, which waits for its person.
    private func begin(
        _ form: Parameters, _ shown: ShownProof?, of client: ClientRecord, proof: DPoPProof?, place: AppPlace
    ) async throws -> ProviderAnswer {
        let authorizations = self.authorizations
        switch shown {
        case nil, .password, .phone: break
        case .code, .phonesAnswer:
            throw OAuthError(.invalidRequest, "There is no auth_session that this could go on with.")
        }
        var setting: String?
        var parameters = try await authorizations.ownParameters(
            form, of: client, isPushed: false, without: [Self.session] + ShownProof.names, key: proof?.thumbprint,
            setting: &setting)
        if parameters["response_type"] == nil { parameters.append("response_type", "code") }
        let (checked, expected) = try await authorizations.check(parameters, of: client, setting: &setting)
        guard let challenge = checked.challenge else {
            throw OAuthError(
                .invalidRequest,
                "A code_challenge with the code_challenge_method S256 is needed here (PKCE), whatever the client's codes are bound to elsewhere."
            )
        }
        guard Self.isSame(checked.keyThumbprint?.text, proof?.thumbprint.text) else {
            throw OAuthError(.invalidDPoPProof, "Each step has to prove the key that dpop_jkt names.")
        }
        guard checked.wishes.levels.canBeMet(in: authorizations.levels) else { throw RequestedLevels.unmet }
        guard !checked.isSilent else { throw OAuthError(.loginRequired, "The person has to sign in.") }
        // A person agrees on a page, or on their phone beside a page, and new accounts are not made here.
        guard checked.wishes.details == nil, checked.wishes.prompts.isDisjoint(with: [.consent, .create]) else {
            throw Self.web("the request wants the person asked: prompt, or authorization_details")
        }
        let now = authorizations.time.now()
        if let shortage = authorizations.signIns.spend(place.source, at: now) { return ProviderAnswer(shortage) }
        if let proof { try await authorizations.proofs.take(proof) }
        let id = authorizations.random.identifier()
        let secret = authorizations.random.token(byteCount: 32)
        let request = AuthorizationRequestRecord(
            id: id, browserDigest: Self.digest(of: secret), client: client.id, redirectURI: "",
            scope: checked.scope.description, resources: checked.resources.map(\.text), state: nil,
            nonce: checked.nonce, codeChallenge: challenge.digest, expectedSubject: expected,
            keyThumbprint: proof?.thumbprint.text, wishes: checked.wishes.text,
            expiresAt: now + authorizations.limits.authorizationRequestLifetime)
        try await authorizations.store.addRequest(request)
        return try await self.step(shown, of: request, session: "\(id).\(secret)", client: client, place: place)
    }

    /// Takes the next step of a running sign-in. After a mistake in the form, the client or the key, the app can repeat
    /// the step with the same `auth_session`.
    private func goOn(
        _ text: String, _ form: Parameters, _ shown: ShownProof?, of client: ClientRecord, proof: DPoPProof?,
        place: AppPlace
    ) async throws -> ProviderAnswer {
        let authorizations = self.authorizations
        guard let shown else {
            throw OAuthError(.invalidRequest, "An auth_session comes with one of the things that next has named.")
        }
        guard let waiting = try await self.waiting(text, client: client) else { throw Self.noSession }
        guard Self.isSame(waiting.keyThumbprint, proof?.thumbprint.text) else {
            throw OAuthError(.invalidDPoPProof, "The DPoP proof is not of the key that this sign-in began with.")
        }
        if let challenge = try form["code_challenge"].map({ try CodeChallenge($0) }) {
            guard constantTimeEqual(waiting.codeChallenge ?? [], challenge.digest) else { throw Self.noSession }
        }
        if shown == .phonesAnswer, authorizations.phoneQuestions.spend(waiting.id, at: authorizations.time.now()) != nil
        {
            let pause = Limits.Fixed.pollingInterval.components.seconds
            let error = OAuthError(.slowDown, "Wait \(pause) seconds from one question to the next.")
            return Self.answer(
                error, session: text, ["interval": .integer(pause)],
                refusal: ProviderRefusal(error, client: client.id))
        }
        var session = text
        do {
            if let proof { try await authorizations.proofs.take(proof) }
            // The session moves on before anything is judged: a second request with the same session gets nothing.
            guard let next = try await self.next(of: waiting) else { throw Self.noSession }
            session = next
        } catch let error as OAuthError { throw error } catch {
            throw InterruptedStep(reason: error, session: session)
        }
        return try await self.step(shown, of: waiting, session: session, client: client, place: place)
    }

    /// Returns the request of an `auth_session`; `nil` if this client has no such request.
    private func waiting(_ text: String, client: ClientRecord) async throws -> AuthorizationRequestRecord? {
        let parts = text.splitBytes(at: ".")
        guard parts.count == 2, let request = try await self.authorizations.store.request(String(parts[0])),
            self.authorizations.time.now() < request.expiresAt, request.client.hasSameBytes(as: client.id),
            constantTimeEqual(request.browserDigest, Self.digest(of: String(parts[1])))
        else { return nil }
        return request
    }

    /// Replaces the received `auth_session` by the next and returns the new value; `nil` if another call was first.
    private func next(of request: AuthorizationRequestRecord) async throws -> String? {
        let secret = self.authorizations.random.token(byteCount: 32)
        let isTaken = try await self.authorizations.store.moveRequest(
            request.id, from: request.browserDigest, to: Self.digest(of: secret))
        return isTaken ? "\(request.id).\(secret)" : nil
    }

    /// Returns the digest of an `auth_session`. No browser's cookie has this digest, so no browser can continue an
    /// app's sign-in.
    private static func digest(of secret: String) -> [UInt8] { Sealing.digest(ofSecret: "auth_session \(secret)") }

    private static func isSame(_ known: String?, _ shown: String?) -> Bool {
        guard let known, let shown else { return known == nil && shown == nil }
        return known.hasSameBytes(as: shown)
    }

    private static let noSession = OAuthError(
        .invalidSession, "This sign-in has ended, or went on with another auth_session. Begin anew.")

    /// Returns a refusal after which the sign-in continues.
    private static func answer(
        _ error: OAuthError, session: String, _ members: JSONObject, refusal: ProviderRefusal?
    ) -> ProviderAnswer {
        var body = error.json
        body[Self.session] = .string(session)
        for (name, value) in members.members { body[name] = value }
        return ProviderAnswer(status: error.status, body: body, refusal: refusal)
    }

    // MARK: Steps

    /// Takes a step, and ends the sign-in if the sign-in cannot continue.
    private func step(
        _ shown: ShownProof?, of request: AuthorizationRequestRecord, session: String, client: ClientRecord,
        place: AppPlace
    ) async throws -> ProviderAnswer {
        do {
            return try await self.judge(shown, of: request, session: session, client: client, place: place)
        } catch let error as OAuthError {
            _ = try await self.authorizations.store.removeRequest(request.id)
            throw error
        } catch {
            throw InterruptedStep(reason: error, session: session)
        }
    }

    private func judge(
        _ shown: ShownProof?, of request: AuthorizationRequestRecord, session: String, client: ClientRecord,
        place: AppPlace
    ) async throws -> ProviderAnswer {
        let asking = AuthenticatedClient(
            id: client.id, name: client.name, origin: try Clients.origin(of: client), mayDeregister: false,
            matchesNumbers: false)
        guard
            // Known to this server alone, and the same at each step.
            let browser = BrowserSecret(
                cookie: self.authorizations.keys.signing.pairwise("direct sign-in", client: client.id, of: request.id))
        else { throw OAuthError(.serverError) }
        var refusal: ProviderRefusal?
        let step = try await self.method.step(
            shown,
            of: DirectRequest(
                id: request.id, client: asking, methods: client.settings.signInMethods, browser: browser, place: place)
        ) { refusal = $0 }
        switch step {
        case .needs(let steps, var members):
            members["next"] = .array(steps.map(JSON.string))
            return Self.answer(
                OAuthError(.insufficientAuthorization, "More has to be shown."), session: session, members,
                refusal: refusal)
        case .done: return try await self.finish(request, browser: browser)
        case .denied: throw OAuthError(.accessDenied, "The person did not sign in.")
        case .web(let reason): throw Self.web(reason)
        }
    }

    private static func web(_ reason: String) -> OAuthError {
        OAuthError(.redirectToWeb, "The sign-in goes on in a browser alone.", detail: reason)
    }

    /// Returns the code, and begins a session that belongs to no browser. The person finds the session among their
    /// sessions.
    private func finish(_ request: AuthorizationRequestRecord, browser: BrowserSecret) async throws -> ProviderAnswer {
        let authorizations = self.authorizations
        guard let (outcome, method) = try await authorizations.outcome(of: request, browser: browser) else {
            throw Self.noSession
        }
        let wishes = try AuthorizationWishes(of: request)
        if let refusal = try await authorizations.refusal(of: outcome, for: request, wishes) {
            // In a browser the person may have a way that is sure enough.
            throw refusal == RequestedLevels.unmet ? Self.web("less sure than the request asks") : refusal
        }
        // The terms stand on a page.
        if let terms = try await authorizations.standing.missingTerms(ofAccount: outcome.account) {
            throw Self.web("nobody has agreed to --terms-version \(terms.version) for the account")
        }
        let now = authorizations.time.now()
        let session = SessionRecord(
            of: AuthenticationRecord(of: outcome, by: method, random: authorizations.random), cookie: nil,
            lifetime: authorizations.limits.sessionLifetime, random: authorizations.random, at: now)
        let issue = try await authorizations.issue(
            session, client: request.client, redirectURI: request.redirectURI, scope: try Scope(request.scope),
            nonce: request.nonce, challenge: request.codeChallenge, keyThumbprint: request.keyThumbprint,
            wishes: wishes, consent: nil, resources: request.resources, at: now)
        do {
            try await authorizations.store.complete(
                CompletedAuthorization(request: request.id, session: session, grant: issue.grant, code: issue.code),
                replacing: nil)
        } catch let error as StoreError where error.code == .notFound {
            // The account was locked this moment, or the phone was removed.
            throw Authorizations.denied
        }
        self.method.signedIn(by: method)
        return ProviderAnswer(status: 200, body: ["authorization_code": .string(issue.secret)])
    }
}
