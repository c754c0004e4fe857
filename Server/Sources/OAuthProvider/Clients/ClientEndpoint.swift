import OAuth
import Store
import _Primitives

extension OpenIDProvider {
    /// Answers a request to an endpoint that clients authenticate at.
    ///
    /// - Parameters:
    ///   - header: The value of `Authorization`, or `nil`.
    ///   - body: The form as it came, not decoded.
    ///   - connection: What it came over.
    ///   - answer: Is given the client, and what the form has.
    ///
    /// Cost: one query, two hashes, and what the answer costs.
    func answerClient(
        header: String?, body: String, over connection: ClientConnection,
        _ answer: (ClientRecord, Parameters) async throws -> ProviderAnswer
    ) async throws -> ProviderAnswer {
        try await self.answerClient(
            header: header, body: body, proofs: [], over: connection, for: { _ in self.issuer }
        ) { client, parameters, _ in
            try await answer(client, parameters)
        }
    }

    /// As ``answerClient(header:body:over:_:)``, where the request may prove that its sender holds a key (RFC 9449, section 5).
    ///
    /// The proof is judged before the client, so that whoever has to come again with a nonce has not used up the statement
    /// by which it authenticates. It is not taken yet: that is for the answer.
    ///
    /// - Parameters:
    ///   - header: The value of `Authorization`, or `nil`.
    ///   - body: The form as it came, not decoded.
    ///   - proofs: The values of all header fields `DPoP`.
    ///   - connection: What it came over.
    ///   - endpoint: The address that proofs have to name, of what its origin is.
    ///   - source: Where the client is, if the request can be the client's first.
    ///   - answer: Is given the client, what the form has, and the proof, where there is one.
    ///
    /// Cost: one query, two hashes, and what the answer costs; with a proof one signature and two HMACs.
    func answerClient(
        header: String?, body: String, proofs: [String], over connection: ClientConnection,
        for endpoint: (String) -> String, from source: String? = nil,
        _ answer: (ClientRecord, Parameters, DPoPProof?) async throws -> ProviderAnswer
    ) async throws -> ProviderAnswer {
        var given = try await self.answerProvenClient(
            header: header, body: body, proofs: proofs, over: connection, for: endpoint, from: source, answer)
        if !proofs.isEmpty { given.headers.append(self.keyProofNonceField) }
        return given
    }

    private func answerProvenClient(
        header: String?, body: String, proofs: [String], over connection: ClientConnection,
        for endpoint: (String) -> String, from source: String? = nil,
        _ answer: (ClientRecord, Parameters, DPoPProof?) async throws -> ProviderAnswer
    ) async throws -> ProviderAnswer {
        // Said to the operator alone, so that an identifier that nobody has is told as well.
        var clientID: String?
        do {
            let limits = Parameters.Limits(bytes: self.limits.oauth.parameterBytes)
            let parameters = try Parameters(parsing: body, limits: limits, repeating: Self.repeatable)
            let asksForTokens = endpoint(self.issuer).hasSameBytes(as: ProviderMetadata.tokenEndpoint(of: self.issuer))
            let credential = try Self.credential(
                of: ClientRequest(
                    header: header, parameters: parameters, asksForTokens: asksForTokens, connection: connection))
            clientID = credential.clientID
            try self.checkTime(of: connection, else: .invalidClient, "The client did not authenticate.")
            let purpose = KeyProofPurpose(method: "POST", endpoint: endpoint(self.origin(of: connection)))
            let proof = proofs.isEmpty ? nil : try self.keyProof(proofs, purpose)
            let client = try await self.authenticate(credential, from: source)
            if let proof { try self.checkClock(of: proof, by: client) }
            try await self.burnToken(parameters, shownBy: client)
            guard client.settings.signInService == nil else {
                try await self.burn(parameters, of: client)
                throw Self.isOfSignInService
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
