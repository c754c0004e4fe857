import OAuth
import Store
import _Primitives

/// An authorization request, as a browser came with it or as its client had pushed it before.
struct AskedAuthorization {
    /// What is asked for.
    let parameters: Parameters
    /// The digest of the pushed request, where it was one that no answer has ended yet.
    var pushed: [UInt8]?
    /// Whether the client has pushed it.
    var isPushed = false
    /// Whether the client has signed it. What it has pushed was held against that when it came.
    var isSigned = false
}

extension OpenIDProvider {
    /// What the names of pushed requests begin with (RFC 9126, section 2.2).
    private static let requestURIPrefix = "urn:ietf:params:oauth:request_uri:"
    /// What the client authenticated with, which is none of the request's (RFC 9126, section 2).
    private static let proofs = ["client_id", "client_secret", "client_assertion", "client_assertion_type"]

    static func pushedRequestBudget(_ limits: Limits) -> Budget {
        Budget(
            "pushedRequestsPerMinute", burst: limits.oauth.pushedRequestBurst,
            perMinute: limits.oauth.pushedRequestsPerMinute, sources: limits.countedSources,
            clients: limits.oauth.clients,
            remedy:
                "This client has pushed too many requests. Wait, or have the operator raise pushedRequestsPerMinute.")
    }

    /// The endpoint for pushed authorization requests (RFC 9126): a client sends what it asks for itself, and its browsers
    /// come with a name for it.
    ///
    /// The request is checked as at the authorization endpoint, and again when a browser comes with it, as the client's
    /// registration can have changed by then.
    ///
    /// - Parameters:
    ///   - header: The value of `Authorization`, or `nil`.
    ///   - body: The form as it came, not decoded.
    ///   - source: Where the client is. One that proves nothing has a budget for each source.
    ///   - proofs: The values of all header fields `DPoP`: the tokens will be bound to the key of such a proof (RFC 9449,
    ///     section 10.1).
    ///   - connection: What it came over.
    ///
    /// Cost: one query, one store step, three hashes; with `id_token_hint` one verification, with a signed request another,
    /// and with a proof one signature, two HMACs and one store step more.
    public func push(
        header: String?, body: String, source: String, proofs: [String] = [],
        over connection: ClientConnection = .usual
    ) async throws -> ProviderAnswer {
        try await self.answerClient(
            header: header, body: body, proofs: proofs, over: connection,
            for: { ProviderMetadata.pushedRequestEndpoint(of: $0) }, from: source
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
            // Anybody can push in the name of a client that proves nothing: nobody is to use its budget up for all.
            let spender = client.settings.isPublic ? source : client.id
            // A stranger's was counted before the client was judged (``authenticate(_:from:)``).
            if !client.isStranger, let shortage = self.pushedRequests.spend(spender, of: client.id, at: now) {
                return ProviderAnswer(shortage)
            }
            if let proof { try await self.take(proof) }
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

    /// What a client asks for by itself, without a browser: what its form says or, where that has one, the signed request.
    ///
    /// - Parameters:
    ///   - isPushed: Whether it pushes the request.
    ///   - others: The fields of the form that are none of the request's.
    ///   - key: The key that the client has proved. It is the one that `dpop_jkt` names, or would name.
    ///   - setting: Is set to the setting of the client that the request does not fit.
    func ownParameters(
        _ form: Parameters, of client: ClientRecord, isPushed: Bool, without others: [String] = [], key: KeyThumbprint?,
        setting: inout String?
    ) async throws -> Parameters {
        let signed = try await self.signedParameters(form, of: client)
        guard signed != nil || form["request"] == nil else {
            setting = "--jwks"
            throw AuthorizationParameters.unsigned
        }
        try Self.checkKind(ofRequestBy: client, isSigned: signed != nil, isPushed: isPushed, setting: &setting)
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

    /// What a browser asks for: what its parameters say, or the pushed request that they name.
    ///
    /// Throws `OAuthError` `invalid_request_uri` where they name one that is not there, not theirs or not this browser's; and as
    /// ``client(_:for:)``.
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
        // It was bounded when it came; written anew it can be longer, and has the client's name.
        let limits = Parameters.Limits(bytes: .max, count: .max)
        return AskedAuthorization(
            parameters: try Parameters(parsing: record.parameters, limits: limits, repeating: Self.repeatable),
            pushed: digest, isPushed: true, isSigned: true)
    }

    /// Has a request wait for its person, and answers with its identifier. One that was pushed is this browser's from then
    /// on.
    ///
    /// Throws `OAuthError` `invalid_request_uri` where another browser was faster.
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

    /// Ends a pushed request, as its browser is answered at once: whoever comes with it again is told that there is none.
    ///
    /// Throws `OAuthError` `invalid_request_uri` where it has been answered meanwhile.
    func end(_ asked: AskedAuthorization, browser: BrowserSecret) async throws {
        guard let pushed = asked.pushed else { return }
        guard try await self.store.endPushedRequest(digest: pushed, browserDigest: browser.digest) else {
            throw Self.noPushedRequest("answered meanwhile, or another browser's")
        }
    }

    /// One sentence for all: whoever has a name that is not theirs learns nothing about it.
    private static func noPushedRequest(_ detail: String) -> OAuthError {
        OAuthError(
            .invalidRequestURI, "This request has ended, or was begun in another browser. Begin again at the service.",
            detail: detail)
    }
}

extension ProviderAnswer {
    /// What a client is told that has used a budget up (RFC 9126, section 2.3).
    init(_ shortage: Shortage) {
        let error = OAuthError(.temporarilyUnavailable, shortage.remedy)
        self.init(
            status: 429, body: error.json, headers: [("Retry-After", String(shortage.retryAfterSeconds))],
            refusal: ProviderRefusal(error, client: shortage.clientID, setting: shortage.setting), shortage: shortage)
    }
}
