import JOSE
import OAuth
import Records
import Sealing
package import Settings
import _Primitives

/// An authorization request, either from a browser directly or pushed by its client before.
struct AskedAuthorization {
    /// The request's parameters.
    let parameters: Parameters
    /// The digest of the pushed request, if the request was pushed and no answer has ended it yet.
    var pushed: [UInt8]?
    /// `true` if the client has pushed the request.
    var isPushed = false
    /// `true` if the client has signed the request. A pushed request counts as signed: the client's rules were checked
    /// when the request was pushed.
    var isSigned = false
}

/// The authorization requests of clients, from the request to the code.
public final class Authorizations: Sendable {
    let store: any AuthorizationStore & ClientStore & ConsentStore & DeviceCodeStore & PushedRequestStore & TermsStore
    let clients: Clients
    let sessions: Sessions
    let tokens: Tokens
    let endpoint: ClientEndpoint
    /// The details that people can be asked about.
    let details: RequestedDetails
    let methods: [any SignInMethod]
    /// The words for levels of assurance.
    let levels: [AssuranceWord]
    /// A simulated register of people; `nil` for no register.
    let simulatedPeople: SimulatedPeople?
    /// The budget of sign-ins that each browser's source may begin.
    package let signIns: Budget
    /// The budget of an app's questions about a phone's answer, for apps that sign their person in. Each sign-in counts
    /// as a source.
    let phoneQuestions: SourceBudget

    var keys: Keys { self.tokens.keys }
    var proofs: KeyProofs { self.tokens.proofs }
    var standing: Standing { self.tokens.standing }
    /// Codes and tokens at the wrong face of the server.
    package var wrongFace: WrongFace { self.endpoint.wrongFace }
    var issuer: String { self.clients.issuer }
    var limits: Limits { self.clients.limits }
    var time: TimeSource { self.clients.time }
    var random: RandomSource { self.clients.random }

    /// Creates the part over the stores of requests, codes and consents.
    init(
        store: any AuthorizationStore & ClientStore & ConsentStore & DeviceCodeStore & PushedRequestStore & TermsStore,
        clients: Clients, sessions: Sessions, tokens: Tokens, endpoint: ClientEndpoint, details: RequestedDetails,
        methods: [any SignInMethod], levels: [AssuranceWord], simulatedPeople: SimulatedPeople?
    ) {
        let limits = clients.limits
        self.store = store
        self.clients = clients
        self.sessions = sessions
        self.tokens = tokens
        self.endpoint = endpoint
        self.details = details
        self.methods = methods
        self.levels = levels
        self.simulatedPeople = simulatedPeople
        self.signIns = Budget(limits.signIns)
        self.phoneQuestions = SourceBudget(
            oneIn: Limits.Fixed.pollingInterval - Limits.Fixed.pollingTolerance, sources: limits.countedSources,
            protecting: .person)
    }

    /// Answers a request to the authorization endpoint (RFC 6749, section 3.1; OpenID Connect Core 1.0, section 3.1.2).
    ///
    /// - Parameters:
    ///   - text: The query, or the form of a POST, as received.
    ///   - browser: The browser. Only this browser can complete the request.
    ///   - session: The session of the browser's cookie, if any.
    ///   - source: The browser's source. Each source has a budget of new sign-ins, and sign-ins by a session count too.
    ///   - address: The browser's network address, for the audit trail.
    ///   - explain: Receives the reason of a refusal, for the operator's log.
    ///
    /// Cost: one query (client), one store step, three hashes. With a session three more queries, a fourth for a code
    /// without a page, and one each for a third party's client and for the operator's terms. A pushed request and each
    /// resource cost one query more; a signed request one query and one signature; `id_token_hint` one verification.
    public func authorize(
        _ text: String, browser: BrowserSecret, session: SessionSecret?, source: String, address: String?,
        explain: (ProviderRefusal) -> Void = { _ in }
    ) async throws -> AuthorizationAnswer {
        var (clientID, setting): (String?, String?)
        var asked: AskedAuthorization
        let client: ClientRecord
        let reply: AuthorizationReply
        do {
            let parameters = try Parameters(
                parsing: text, limits: Parameters.Limits(bytes: self.limits.oauth.parameterBytes),
                repeating: ClientEndpoint.repeatable)
            clientID = parameters["client_id"]
            asked = try await self.asked(by: parameters, browser: browser, from: source)
            (client, reply) = try await self.recipient(of: asked.parameters, from: source, setting: &setting)
        } catch let error as OAuthError {
            explain(ProviderRefusal(error, client: clientID, setting: setting))
            return .page(error)
        } catch let shortage as Shortage {
            return .tooMany(shortage)
        }
        do {
            return try await self.answer(
                &asked, of: client, reply, browser: browser, session: session, source: source, address: address,
                setting: &setting)
        } catch let error as OAuthError {
            explain(ProviderRefusal(error, client: client.id, setting: setting))
            // The request has nothing to answer, or no longer has.
            guard error != OAuthError(.invalidRequestURI) else { return .page(error) }
            do { try await self.end(asked, browser: browser) } catch let error as OAuthError { return .page(error) }
            return .client(reply.answer(error: error))
        }
    }

    /// Returns the next step for a browser whose client can be answered. Throws `OAuthError`, for the client's answer.
    private func answer(
        _ asked: inout AskedAuthorization, of client: ClientRecord, _ reply: AuthorizationReply, browser: BrowserSecret,
        session: SessionSecret?, source: String, address: String?, setting: inout String?
    ) async throws -> AuthorizationAnswer {
        try ClientRules.checkKind(
            ofRequestBy: client, isSigned: asked.isSigned, isPushed: asked.isPushed, setting: &setting)
        let (checked, expected) = try await self.check(asked.parameters, of: client, setting: &setting)
        guard checked.wishes.levels.canBeMet(in: self.levels) else { throw RequestedLevels.unmet }
        let hasDetails = checked.wishes.details != nil
        guard !hasDetails || !checked.isSilent else {
            throw OAuthError(.consentRequired, "The person has to be asked about the authorization_details.")
        }
        let now = self.time.now()
        var request = AuthorizationRequestRecord(
            id: self.random.identifier(), browserDigest: browser.digest, client: client.id,
            redirectURI: reply.redirectURI.text, scope: checked.scope.description,
            resources: checked.resources.map(\.text), state: reply.state,
            nonce: checked.nonce, codeChallenge: checked.challenge?.digest, expectedSubject: expected,
            keyThumbprint: checked.keyThumbprint?.text, wishes: checked.wishes.text,
            expiresAt: now + self.limits.authorizationRequestLifetime)
        let worth = try await self.worth(of: session, for: request, checked.wishes, client: client)
        if checked.isSilent, let obstacle = worth.obstacle { throw obstacle }
        // Counted before anything is written. A sign-in by session counts like a sign-in that begins at the page.
        if let shortage = self.signIns.spend(source, at: now) { return .tooMany(shortage) }
        if let fitting = worth.fitting {
            // The pushed request ends before a code exists: a pushed request never gives two codes.
            try await self.end(asked, browser: browser)
            // The request now belongs to this browser, whatever becomes of the session.
            asked.pushed = nil
            if let code = try await self.code(
                of: fitting, for: request, checked.wishes, consent: worth.consent, address: address, at: now)
            {
                return .client(reply.answer(code: code))
            }
        }
        guard !checked.isSilent else { throw SessionWorth.nobodySignedIn }
        request.session = worth.asking?.id
        let waiting = try await self.begin(request, asked)
        return worth.asking == nil
            ? .signIn(request: waiting, client: client.id) : .consent(request: waiting, client: client.id)
    }

    /// Checks everything that needs no browser, and finds the subject if the request expects a particular person.
    ///
    /// Throws `OAuthError`, for the client's answer. Sets `setting` to the client's setting that the request does not
    /// fit.
    func check(_ parameters: Parameters, of client: ClientRecord, setting: inout String?) async throws -> (
        AuthorizationParameters, expected: String?
    ) {
        setting = self.noteMissingBinding(parameters, client: client)
        let checked = try AuthorizationParameters(parameters, of: client, limits: self.limits)
        // The address is a registered address of the client.
        if checked.wishes.responseMode == .formPost,
            let address = parameters["redirect_uri"].flatMap({ client.address(answering: $0) }), !address.takesForms
        {
            throw OAuthError(.invalidRequest, "To an app's own scheme no form can be posted: use the query.")
        }
        try await TokenAudiences(clients: self.clients).check(checked.resources, of: client)
        try self.details.check(checked.wishes.details, of: client, setting: &setting)
        let (hinted, named) = (
            try await self.expectedSubject(checked.idTokenHint, client: client), checked.wishes.expectedSubject
        )
        if let hinted, let named, !hinted.hasSameBytes(as: named) { throw Self.anotherPerson }
        return (checked, hinted ?? named)
    }

    /// Finds the recipient of the answer. Until the recipient is known, the browser is sent nowhere (RFC 6749, section
    /// 4.1.2.1).
    ///
    /// - Parameter setting: Is set to the client's setting that the request does not fit.
    private func recipient(of parameters: Parameters, from source: String, setting: inout String?) async throws -> (
        ClientRecord, AuthorizationReply
    ) {
        guard let client = try await self.clients.client(parameters.required("client_id"), for: .network(source)) else {
            throw OAuthError(.invalidRequest, "The client is not known here.")
        }
        guard !client.settings.isDisabled else {
            setting = "--disabled"
            throw Clients.disabled(.unauthorizedClient)
        }
        guard client.settings.signInService == nil else { throw Clients.isOfSignInService }
        return (client, try self.reply(to: parameters, of: client, setting: &setting))
    }

    /// Returns the address and the form of the answer to a request of this client. Throws `OAuthError` if the answer
    /// must not go to the address.
    ///
    /// - Parameter setting: Is set to the client's setting that the request does not fit.
    func reply(to parameters: Parameters, of client: ClientRecord, setting: inout String?) throws -> AuthorizationReply
    {
        let address = try parameters.required("redirect_uri")
        guard let redirectURI = client.address(answering: address) else {
            setting = "--redirect-uri"
            self.clients.note(
                client, "--redirect-uri",
                "A sign-in was asked for with an address that is not registered. Addresses are compared letter by letter."
            )
            throw OAuthError(.invalidRequest, "The redirect address is not registered for this client.")
        }
        let state = parameters["state"]
        guard (state?.utf8.count ?? 0) <= self.limits.oauth.stateCharacters else {
            // A state that is too long cannot be given back, so the client could not tell the answer from a forged
            // answer.
            throw OAuthError(.invalidRequest, "The state is too long.")
        }
        return AuthorizationReply(
            redirectURI: redirectURI, state: state, issuer: self.issuer, mode: parameters["response_mode"])
    }

    /// Reports a request without a binding for its code to the operator. The client's developer reads the same text.
    /// Returns the setting.
    private func noteMissingBinding(_ parameters: Parameters, client: ClientRecord) -> String? {
        guard let missing = AuthorizationParameters.missingBinding(parameters, of: client) else { return nil }
        self.clients.note(client, "--pkce", missing)
        return "--pkce"
    }

    /// The error for a request whose hint names another person than the browser's person. The message does not say that
    /// another person is signed in.
    static let anotherPerson = OAuthError(
        .loginRequired, "Another person has to sign in than the one who has.", detail: "somebody else is signed in")

    /// Returns the subject of an `id_token_hint`: only this subject may be signed in for the request (OpenID Connect
    /// Core 1.0, section 3.1.2.1). Returns `nil` without a hint.
    ///
    /// Throws `login_required` for an ID token of another client, which names no person whom this client may know, and
    /// `invalid_request` for a hint that is not of this server or is too old.
    private func expectedSubject(_ idTokenHint: String?, client: ClientRecord) async throws -> String? {
        guard let hint = try await self.tokens.hint(idTokenHint) else { return nil }
        guard hint.client.hasSameBytes(as: client.id) else { throw Self.anotherPerson }
        return hint.subject
    }

    // MARK: Signed requests

    /// Returns the parameters that a client has signed (`request`, RFC 9101). The signed parameters are the request,
    /// and parameters beside them count for nothing (section 6.3). `nil` if the request has no such object, or the
    /// client has no keys for a signature.
    ///
    /// Throws `OAuthError` `invalid_request_object`, `invalid_request` for a request that also has `request_uri`, and
    /// `temporarily_unavailable` if the client's keys cannot be fetched. Cost: one signature; if the keys are at an
    /// address of the client's, a call, at most one in each ``Limits/OAuth/keySetPause``.
    func signedParameters(_ parameters: Parameters, of client: ClientRecord) async throws -> Parameters? {
        guard let compact = parameters["request"] else { return nil }
        guard client.settings.keySet != nil || client.settings.keySetAddress != nil else { return nil }
        guard parameters["request_uri"] == nil else {
            throw OAuthError(.invalidRequest, "A request has request or request_uri, and not both.")
        }
        let limits = self.limits.oauth
        let object = try UnverifiedRequestObject(compact)
        let keys: JWKSet
        do { keys = try await self.clients.keys(of: client, naming: object.keyID) } catch let error as OutgoingCallError
        {
            throw OAuthError(
                .temporarilyUnavailable, "The keys of this client cannot be fetched now: ask again.",
                detail: error.reason)
        }
        return try object.verified(
            by: keys, clientID: client.id, issuer: self.issuer, allowing: client.settings.signingAlgorithms,
            requiringNotBefore: client.settings.isFAPI2,
            within: ValidityWindow(
                now: self.time.now(), skew: limits.clientClockSkew, longest: limits.requestObjectLifetime)
        ).parameters
    }

    /// Returns the request of a browser's own parameters, signed or not.
    ///
    /// Throws `OAuthError` `invalid_request_object`: the address in the object is then not to be trusted, and the
    /// browser is not sent to it. Also throws as ``client(_:for:)``. Cost: for a signed request, one query and one
    /// signature.
    func asked(unpushed parameters: Parameters, from source: String) async throws -> AskedAuthorization {
        // The client's identifier also has to stand beside the object (section 5).
        guard parameters["request"] != nil, let id = parameters["client_id"],
            let client = try await self.clients.client(id, for: .network(source)),
            let signed = try await self.signedParameters(parameters, of: client)
        else { return AskedAuthorization(parameters: parameters, pushed: nil) }
        return AskedAuthorization(parameters: signed, pushed: nil, isSigned: true)
    }

    // MARK: Pushed requests

    /// The start of the names of pushed requests (RFC 9126, section 2.2).
    private static let requestURIPrefix = "urn:ietf:params:oauth:request_uri:"
    /// The fields of client authentication, which are no part of the request (RFC 9126, section 2).
    private static let proofs = ["client_id", "client_secret", "client_assertion", "client_assertion_type"]

    /// Answers a request to the endpoint for pushed authorization requests (RFC 9126): the client itself sends the
    /// parameters, and its browsers come with a name for the request.
    ///
    /// The request is checked as at the authorization endpoint. The check is repeated when a browser comes with the
    /// request, as the client's registration can have changed by then.
    ///
    /// - Parameters:
    ///   - header: The value of `Authorization`, or `nil`.
    ///   - body: The form as received, not decoded.
    ///   - source: The client's source. A client that proves nothing has a budget for each source.
    ///   - proofs: The values of all header fields `DPoP`: the tokens will be bound to the key of such a proof (RFC
    ///     9449, section 10.1).
    ///   - connection: The connection of the request.
    ///
    /// Cost: one query, one store step and three hashes. An `id_token_hint` and a signed request cost one verification
    /// each. A proof costs one signature, two HMACs and one store step.
    public func push(
        header: String?, body: String, source: String, proofs: [String] = [],
        over connection: ClientConnection = .usual
    ) async throws -> ProviderAnswer {
        try await self.endpoint.answer(
            header: header, body: body, from: source, canBeFirst: true, proofs: proofs, over: connection,
            for: { ProviderMetadata.pushedRequestEndpoint(of: $0) }
        ) { client, form, proof in
            var setting: String?
            guard form["request_uri"] == nil else {
                throw OAuthError(.invalidRequest, "A pushed request cannot have a request_uri.")
            }
            let parameters = try await self.ownParameters(
                form, of: client, isPushed: true, key: proof?.thumbprint, setting: &setting)
            _ = try self.reply(to: parameters, of: client, setting: &setting)
            _ = try await self.check(parameters, of: client, setting: &setting)
            let now = self.time.now()
            // Anybody can push in the name of a client that proves nothing. A budget for each source keeps one caller
            // from using up the budget of all.
            let spender = client.settings.isPublic ? source : client.id
            // A stranger's request was counted before the client was judged.
            if !client.isStranger, let shortage = self.clients.pushedRequests.spend(spender, of: client.id, at: now) {
                return ProviderAnswer(shortage)
            }
            if let proof { try await self.proofs.take(proof) }
            let name = self.random.token(byteCount: 32)
            let set = self.limits.oauth.pushedRequestLifetime
            let lifetime = client.settings.isFAPI2 ? min(set, Limits.Fixed.fapiPushedRequestLifetime) : set
            try await self.store.addPushedRequest(
                PushedRequestRecord(
                    digest: Sealing.digest(ofSecret: name), client: client.id, parameters: parameters.encoded,
                    expiresAt: now + lifetime))
            return ProviderAnswer(
                status: 201,
                body: [
                    "request_uri": .string(Self.requestURIPrefix + name),
                    "expires_in": .integer(lifetime.components.seconds),
                ])
        }
    }

    /// Returns the parameters of a request that a client sends without a browser: the signed request of the form, or
    /// else the form's own fields.
    ///
    /// - Parameters:
    ///   - isPushed: `true` if the client pushes the request.
    ///   - others: The fields of the form that are no part of the request.
    ///   - key: The key that the client has proved. `dpop_jkt` must name this key, or is set to this key.
    ///   - setting: Is set to the client's setting that the request does not fit.
    func ownParameters(
        _ form: Parameters, of client: ClientRecord, isPushed: Bool, without others: [String] = [], key: KeyThumbprint?,
        setting: inout String?
    ) async throws -> Parameters {
        let signed = try await self.signedParameters(form, of: client)
        guard signed != nil || form["request"] == nil else {
            setting = "--jwks"
            throw AuthorizationParameters.unsigned
        }
        try ClientRules.checkKind(ofRequestBy: client, isSigned: signed != nil, isPushed: isPushed, setting: &setting)
        var parameters: Parameters = ["client_id": client.id]
        for (name, value) in (signed ?? form).members where !(Self.proofs + others).containsBytes(of: name) {
            parameters.append(name, value)
        }
        if let key {
            if let named = parameters["dpop_jkt"] {
                guard named.hasSameBytes(as: key.text) else {
                    throw OAuthError(.invalidDPoPProof, "The DPoP proof is of another key than dpop_jkt names.")
                }
            } else {
                parameters.append("dpop_jkt", key.text)
            }
        }
        return parameters
    }

    /// Returns the request of a browser: the browser's own parameters, or the pushed request that the parameters name.
    ///
    /// Throws `OAuthError` `invalid_request_uri` if the named request does not exist, has expired, or belongs to
    /// another client or browser. Also throws as ``client(_:for:)``.
    func asked(by parameters: Parameters, browser: BrowserSecret, from source: String) async throws
        -> AskedAuthorization
    {
        guard let address = parameters["request_uri"], address.hasBytes(atStart: Self.requestURIPrefix) else {
            return try await self.asked(unpushed: parameters, from: source)
        }
        guard parameters["request"] == nil else {
            throw OAuthError(.invalidRequest, "A request has request or request_uri, and not both.")
        }
        let clientID = try parameters.required("client_id")
        let digest = Sealing.digest(ofSecret: address.utf8.dropFirst(Self.requestURIPrefix.utf8.count))
        guard let record = try await self.store.pushedRequest(digest: digest) else {
            throw Self.noPushedRequest("unknown, or answered")
        }
        guard record.client.hasSameBytes(as: clientID) else { throw Self.noPushedRequest("another client's") }
        guard self.time.now() < record.expiresAt else { throw Self.noPushedRequest("expired") }
        if let before = record.browserDigest, !constantTimeEqual(before, browser.digest) {
            throw Self.noPushedRequest("another browser came with it before")
        }
        // The request was bounded when it came. The stored text can be longer, as it has the client's name.
        let limits = Parameters.Limits(bytes: .max, count: .max)
        return AskedAuthorization(
            parameters: try Parameters(
                parsing: record.parameters, limits: limits, repeating: ClientEndpoint.repeatable),
            pushed: digest, isPushed: true, isSigned: true)
    }

    /// Adds a request that waits for its person, and returns its identifier. A pushed request belongs to this browser
    /// from then on: the same browser gets the identifier of the first waiting request each time.
    ///
    /// Throws `OAuthError` `invalid_request_uri` if another browser was faster, or the pushed request was answered
    /// meanwhile.
    func begin(_ request: AuthorizationRequestRecord, _ asked: AskedAuthorization) async throws -> String {
        guard let pushed = asked.pushed else {
            try await self.store.addRequest(request)
            return request.id
        }
        guard let waiting = try await self.store.begin(request, pushed: pushed) else {
            throw Self.noPushedRequest("answered meanwhile, or another browser's")
        }
        return waiting
    }

    /// Ends a pushed request whose browser is answered at once: a later use of the same name finds no request. Does
    /// nothing if the request was not pushed.
    ///
    /// Throws `OAuthError` `invalid_request_uri` if the request was answered meanwhile, or is another browser's.
    func end(_ asked: AskedAuthorization, browser: BrowserSecret) async throws {
        guard let pushed = asked.pushed else { return }
        guard try await self.store.endPushedRequest(digest: pushed, browserDigest: browser.digest) else {
            throw Self.noPushedRequest("answered meanwhile, or another browser's")
        }
    }

    /// Returns the same message for all cases: a browser with the name of another's request learns nothing about the
    /// request.
    private static func noPushedRequest(_ detail: String) -> OAuthError {
        OAuthError(
            .invalidRequestURI, "This request has ended, or was begun in another browser. Begin again at the service.",
            detail: detail)
    }
}
