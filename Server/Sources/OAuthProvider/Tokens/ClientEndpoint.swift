import OAuth
import Records
import Settings
import _Primitives

/// The requests of clients that authenticate, at every endpoint of OpenID Connect.
struct ClientEndpoint: Sendable {
    /// The parameters that may occur more than once (RFC 8707, section 2; RFC 8693, section 2.1).
    static let repeatable = [ResourceIndicator.parameter, "audience"]

    let clients: Clients
    let proofs: KeyProofs
    let wrongFace: WrongFace

    private var issuer: String { self.clients.issuer }

    /// Answers a request to an endpoint at which clients authenticate.
    ///
    /// - Parameters:
    ///   - header: The value of `Authorization`, or `nil`.
    ///   - body: The form as received, not decoded.
    ///   - source: The client's source. All requests of strangers' clients from a network have a budget.
    ///   - connection: The connection of the request.
    ///   - answer: Receives the client and the form, and returns the answer.
    ///
    /// Cost: one query, two hashes, and the cost of the answer.
    func answer(
        header: String?, body: String, from source: String, over connection: ClientConnection,
        _ answer: (ClientRecord, Parameters) async throws -> ProviderAnswer
    ) async throws -> ProviderAnswer {
        try await self.answer(
            header: header, body: body, from: source, proofs: [], over: connection, for: { _ in self.issuer }
        ) { client, parameters, _ in
            try await answer(client, parameters)
        }
    }

    /// Answers as ``answer(header:body:from:over:_:)``, for a request that may prove the possession of a key (RFC
    /// 9449, section 5).
    ///
    /// The proof is judged before the client: a client that has to repeat the request with a nonce has then not used up
    /// its authentication statement. The answer itself takes the proof.
    ///
    /// - Parameters:
    ///   - header: The value of `Authorization`, or `nil`.
    ///   - body: The form as received, not decoded.
    ///   - source: The client's source.
    ///   - canBeFirst: `true` if the request can be the client's first.
    ///   - proofs: The values of all header fields `DPoP`.
    ///   - connection: The connection of the request.
    ///   - endpoint: Returns the address that proofs have to name, from the origin of the request's address.
    ///   - answer: Receives the client, the form, and the proof, if any, and returns the answer.
    ///
    /// Cost: one query, two hashes, and the cost of the answer; with a proof one signature and two HMACs.
    func answer(
        header: String?, body: String, from source: String, canBeFirst: Bool = false, proofs: [String],
        over connection: ClientConnection, for endpoint: (String) -> String,
        _ answer: (ClientRecord, Parameters, DPoPProof?) async throws -> ProviderAnswer
    ) async throws -> ProviderAnswer {
        var given = try await self.answerProvenClient(
            header: header, body: body, from: source, canBeFirst: canBeFirst, proofs: proofs, over: connection,
            for: endpoint, answer)
        if !proofs.isEmpty { given.headers.append(self.proofs.nonceField) }
        return given
    }

    private func answerProvenClient(
        header: String?, body: String, from source: String, canBeFirst: Bool, proofs: [String],
        over connection: ClientConnection, for endpoint: (String) -> String,
        _ answer: (ClientRecord, Parameters, DPoPProof?) async throws -> ProviderAnswer
    ) async throws -> ProviderAnswer {
        // Only the operator reads the identifier, so the log names unknown identifiers as well.
        var clientID: String?
        do {
            let limits = Parameters.Limits(bytes: self.clients.limits.oauth.parameterBytes)
            let parameters = try Parameters(parsing: body, limits: limits, repeating: Self.repeatable)
            let asksForTokens = endpoint(self.issuer).hasSameBytes(as: ProviderMetadata.tokenEndpoint(of: self.issuer))
            let credential = try Clients.credential(
                of: ClientRequest(
                    header: header, parameters: parameters, asksForTokens: asksForTokens, connection: connection))
            clientID = credential.clientID
            try self.clients.checkTime(of: connection, else: .invalidClient, "The client did not authenticate.")
            let purpose = KeyProofPurpose(method: "POST", endpoint: endpoint(self.clients.origin(of: connection)))
            let proof = proofs.isEmpty ? nil : try self.proofs.proof(proofs, purpose)
            let client = try await self.clients.authenticate(credential, from: source, canBeFirst: canBeFirst)
            if let proof { try self.proofs.checkClock(of: proof, by: client) }
            try await self.wrongFace.burnToken(parameters, shownBy: client)
            guard client.settings.signInService == nil else {
                try await self.wrongFace.burn(parameters, of: client)
                throw Clients.isOfSignInService
            }
            return try await answer(client, parameters, proof)
        } catch let error as OAuthError {
            let challenge = [(name: "WWW-Authenticate", value: error.challenge(scheme: "Basic", realm: self.issuer))]
            return ProviderAnswer(
                status: error.status, body: error.json, headers: error.status == 401 ? challenge : [],
                refusal: ProviderRefusal(error, client: clientID))
        } catch let shortage as Shortage {
            return ProviderAnswer(shortage)
        }
    }
}
