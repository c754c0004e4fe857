import OAuth
import Records
import Sealing
import Settings
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

extension OpenIDProvider {
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
    /// Cost: one query, one store step, three hashes; with `id_token_hint` one verification, with a signed request
    /// another, and with a proof one signature, two HMACs and one store step more.
    public func push(
        header: String?, body: String, source: String, proofs: [String] = [],
        over connection: ClientConnection = .usual
    ) async throws -> ProviderAnswer {
        try await self.endpoint.answer(
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
            // Anybody can push in the name of a client that proves nothing. A budget for each source keeps one caller
            // from using up the budget of all.
            let spender = client.settings.isPublic ? source : client.id
            // A stranger's request was counted before the client was judged (``authenticate(_:from:)``).
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
