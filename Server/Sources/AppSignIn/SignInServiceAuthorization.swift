import OAuth
public import OAuthProvider
import Records
import Sealing
public import Settings
import _Primitives

/// The next step for a browser that came to begin a sign-in.
public enum SignInServiceStart: Sendable {
    /// The person signs in at that provider or, if the provider is `nil`, on the page for the request.
    case signIn(request: String, client: String, provider: String?)
    /// The source has begun too many sign-ins.
    case tooMany(Shortage)
    /// The browser gets an answer, or is sent back.
    case answered(SignInServiceAnswer)
}

/// Begins sign-ins to clients of the app sign-in service.
public struct SignInServiceAuthorizations: Sendable {
    /// The purposes for which a browser can come (`operation`).
    private static let operations = [
        "sign_up", "authorize", "authorize_sso", "interstitial_verify", "interstitial_signup",
        "verify_cta_authenticated", "verify_page_authenticated", "verify_page_unauthenticated",
    ]

    let store: any AuthorizationStore
    let providers: any UpstreamProviderStore
    let endpoint: SignInServiceEndpoint
    /// The budget of sign-ins that each source may begin.
    let signIns: Budget

    private var clients: Clients { self.endpoint.clients }

    /// Begins a sign-in (`GET /v0/sign_in/authorize`). Each client is answered at only one address, which no request
    /// names.
    ///
    /// A person always authenticates: a session of the browser does not count.
    ///
    /// Cost: two queries, one store step.
    public func authorize(_ request: SignInServiceRequest, browser: BrowserSecret) async throws -> SignInServiceStart {
        let parameters = request.parameters
        guard let id = parameters["client_id"], let (client, settings) = try await self.endpoint.client(id) else {
            return .answered(
                try await self.endpoint.answer(request) { _ in
                    throw SignInServiceError.malformed("The client_id is not known.")
                })
        }
        do {
            let checked = try self.checked(
                parameters, of: client, settings, upstream: try await self.providers.upstreamProviders())
            let now = self.clients.time.now()
            if let shortage = self.signIns.spend(request.source, at: now) {
                return .tooMany(shortage)
            }
            let scope = checked.isForDevice ? [Scope.offlineAccess, Scope.deviceSSO] : [Scope.offlineAccess]
            let waiting = AuthorizationRequestRecord(
                id: self.clients.random.identifier(), browserDigest: browser.digest, client: client.id,
                redirectURI: client.redirectURIs[0], scope: scope.joined(separator: " "), state: parameters["state"],
                nonce: nil, codeChallenge: checked.challenge?.digest, wishes: checked.wishes.text,
                expiresAt: now + self.clients.limits.authorizationRequestLifetime)
            try await self.store.addRequest(waiting)
            let provider = UpstreamProvider.method(of: checked.wishes.type)
            let isProvider =
                client.settings.signInMethods.containsBytes(of: provider)
                && !client.settings.signInMethods.containsBytes(of: checked.wishes.type)
            return .signIn(
                request: waiting.id, client: client.id, provider: isProvider ? checked.wishes.type : nil)
        } catch let error as SignInServiceError {
            return .answered(try await self.failed(error, of: client, settings, request))
        } catch let error as OAuthError {
            return .answered(try await self.failed(SignInServiceError(error), of: client, settings, request))
        }
    }

    /// Returns the answer of a failure. A web site gets a code, for which it shows a page of its own. For an app the
    /// browser shows the error.
    private func failed(
        _ error: SignInServiceError, of client: ClientRecord, _ settings: SignInServiceSettings,
        _ request: SignInServiceRequest
    ) async throws -> SignInServiceAnswer {
        var answer = try await self.endpoint.answer(request) { _ in throw error }
        guard settings.answers == .cookie, let address = try? client.settings.redirectURI(client.redirectURIs[0]) else {
            return answer
        }
        (answer.status, answer.body) = (302, nil)
        answer.location = address.adding(
            [
                "auth": "fail", "code": SignInServiceFailure.invalid.rawValue,
                "request_id": self.clients.random.identifier(),
            ])
        return answer
    }

    /// Checks the request, in the order in which a client receives errors: type, operation, level; then challenge,
    /// scope, state.
    func checked(
        _ parameters: Parameters, of client: ClientRecord, _ settings: SignInServiceSettings,
        upstream: [UpstreamProvider]
    ) throws -> (wishes: SignInServiceWishes, challenge: CodeChallenge?, isForDevice: Bool) {
        guard let type = parameters["type"],
            let method = SignInServiceWishes.method(ofType: type, among: client.settings.signInMethods)
        else { throw SignInServiceError.malformed("The type is not valid.", setting: "--sign-in-method") }
        guard Self.operations.containsBytes(of: parameters["operation"] ?? "authorize") else {
            throw SignInServiceError.malformed("The operation is not valid.")
        }
        guard let word = parameters["acr"],
            let level = settings.levels.first(where: { $0.word.hasSameBytes(as: word) })
        else {
            throw SignInServiceError.malformed("The acr is not valid.", setting: "--sign-in-service serviceLevels")
        }
        guard Self.takes(level.word, method, among: upstream) else {
            throw SignInServiceError.malformed(
                "The acr is not valid.", "the provider is asked for no such level", setting: "--level-request")
        }
        let challenge = try Self.challenge(parameters, settings)
        if let scope = parameters["scope"] {
            guard scope.hasSameBytes(as: Scope.deviceSSO), settings.opensSessions else {
                throw SignInServiceError.malformed(
                    "The scope is not valid for this client.", setting: "--sign-in-service sharedSessions")
            }
        }
        try Self.checkState(parameters["state"], limits: self.clients.limits.oauth)
        return (
            SignInServiceWishes(
                type: type, answers: settings.answers, level: level.word, needed: level.needed), challenge,
            parameters["scope"] != nil
        )
    }

    /// `true` if a client may request that level, in the client's word, with the sign-in method. Only a provider with
    /// level requests limits the words.
    static func takes(_ level: String, _ method: String, among upstream: [UpstreamProvider]) -> Bool {
        upstream.first { UpstreamProvider.method(of: $0.name).hasSameBytes(as: method) }?.takes(level) ?? true
    }

    /// Returns the challenge of a client that needs a challenge, or has sent one. A client that needs no challenge
    /// tells its own sign-ins apart by their state, so the state must be present.
    private static func challenge(_ parameters: Parameters, _ settings: SignInServiceSettings) throws -> CodeChallenge?
    {
        let isSent = parameters["code_challenge"] != nil || parameters["code_challenge_method"] != nil
        guard !settings.usesPKCE, !isSent else { return try Self.challenge(parameters) }
        guard parameters["state"] != nil else {
            throw SignInServiceError.malformed("The state is missing.", "there is no code_challenge either")
        }
        return nil
    }

    /// Returns the challenge of a request that needs a challenge.
    static func challenge(_ parameters: Parameters) throws -> CodeChallenge {
        guard parameters["code_challenge_method"]?.hasSameBytes(as: CodeChallenge.method) ?? false else {
            throw SignInServiceError.malformed("The code_challenge_method is not valid.")
        }
        // Padding is tolerated: some encoders cannot leave it out.
        let text = (parameters["code_challenge"] ?? "").prefix { $0 != "=" }
        guard let challenge = try? CodeChallenge(String(text)) else {
            throw SignInServiceError.malformed("The code_challenge is malformed.")
        }
        return challenge
    }

    /// Checks the length of a request's state, if the request has a state.
    static func checkState(_ state: String?, limits: Limits.OAuth) throws {
        guard let state else { return }
        let range = Limits.Fixed.signInServiceStateCharacters...limits.stateCharacters
        guard range.contains(state.utf8.count) else {
            throw SignInServiceError.malformed(
                "The state is not valid.", "it has \(range.lowerBound) to \(range.upperBound) characters")
        }
    }

    /// Returns the client's word for a sign-in method.
    static func type(ofMethod method: String) -> String {
        method.hasBytes(atStart: UpstreamProvider.methodPrefix)
            ? String(method.dropFirst(UpstreamProvider.methodPrefix.count)) : method
    }
}

extension SignInServiceSettings {
    /// `true` if the client is an app whose sessions are passed on to the web.
    var opensSessions: Bool { self.answers == .api && self.sharesSessions }
}
