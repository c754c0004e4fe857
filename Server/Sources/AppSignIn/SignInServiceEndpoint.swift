import OAuth
import OAuthProvider
import Records
import _Primitives

/// The refusal of a request: a status, a sentence for the caller, and more for the operator.
struct SignInServiceError: Error {
    let status: Int
    let message: String
    /// The detail, for the log alone.
    let detail: String?
    /// The setting of the client that the request does not fit.
    var setting: String?
    /// The code that clients with a key proof read, beside the sentence.
    var code: OAuthError.Code?

    /// Returns the refusal of a malformed request.
    static func malformed(_ message: String, _ detail: String? = nil, setting: String? = nil) -> Self {
        Self(status: 400, message: message, detail: detail, setting: setting)
    }

    /// Returns the refusal of a token or secret that gives no access.
    static func refused(_ message: String, _ detail: String? = nil) -> Self {
        Self(status: 401, message: message, detail: detail)
    }

    /// The refusal of an access token whose session has ended, or whose person may not have access any more.
    static let endedSession = Self.refused(
        "The session has ended.", "revoked, its client is gone, its account is locked, or has lost its role")

    /// Creates a refusal as ``malformed(_:_:setting:)``, from an error of the other face's code.
    init(_ error: OAuthError, status: Int = 400) {
        self.init(
            status: status, message: error.message ?? "The request is not valid.",
            detail: [error.code.rawValue, error.detail].compactMap(\.self).joined(separator: ": "))
        if [.useDPoPNonce, .invalidDPoPProof].contains(error.code) { self.code = error.code }
    }

    /// Creates the refusal of a person who may not get tokens.
    init(_ refusal: StandingRefusal, status: Int) {
        switch refusal {
        case .locked, .notTaken:
            self.init(
                OAuthError(
                    .accessDenied, "The account cannot sign in.",
                    detail: "it is locked or gone, or the service does not take the person any more"), status: status)
        case .notAgreed, .key, .terms: self.init(refusal.error, status: status)
        }
    }

    private init(status: Int, message: String, detail: String?, setting: String? = nil) {
        self.status = status
        self.message = message
        self.detail = detail
        self.setting = setting
    }
}

/// Finds the clients of the app sign-in service, answers their requests, and reads their key proofs.
struct SignInServiceEndpoint: Sendable {
    let clients: Clients
    let proofs: KeyProofs

    /// Returns a client of the service that people sign in to, with its settings; `nil` for other clients and a
    /// switched-off client.
    func client(_ id: String) async throws -> (ClientRecord, SignInServiceSettings)? {
        guard let client = try await self.clients.servedClient(id),
            let settings = client.settings.signInService,
            settings.answers != .serviceAccount
        else { return nil }
        return (client, settings)
    }

    /// Answers the request. A refusal has the form `{"errors": TEXT}`; a refusal about a key proof also has `error`,
    /// with the code.
    ///
    /// - Parameters:
    ///   - status: The status of refusals from the other face's code.
    ///   - client: Is set to the client when the client is known, for the log.
    func answer(
        _ request: SignInServiceRequest, status: Int = 400,
        _ body: (inout String?) async throws -> SignInServiceAnswer
    ) async throws -> SignInServiceAnswer {
        var client = request.parameters["client_id"]
        var answer: SignInServiceAnswer
        do {
            answer = try await body(&client)
        } catch let error as SignInServiceError {
            answer = Self.refusal(error, client)
        } catch let error as OAuthError {
            answer = Self.refusal(SignInServiceError(error, status: status), client)
        }
        if !request.proofs.isEmpty || answer.refusal?.code == OAuthError.Code.useDPoPNonce.rawValue {
            answer.headers.append(self.proofs.nonceField)
        }
        return answer
    }

    private static func refusal(_ error: SignInServiceError, _ client: String?) -> SignInServiceAnswer {
        var body: JSONObject = ["errors": .string(error.message)]
        body["error"] = error.code.map { .string($0.rawValue) }
        var answer = SignInServiceAnswer(status: error.status, body: body)
        let code = error.code ?? OAuthError.Code(rawValue: error.status == 400 ? "invalid_request" : "invalid_token")
        answer.refusal = ProviderRefusal(
            OAuthError(code, error.message, detail: error.detail), client: client, setting: error.setting)
        return answer
    }

    /// Returns the key proof of a request to the token endpoint and similar addresses; `nil` if the request has none.
    /// The caller takes the proof (``KeyProofs/take(_:)``), which then counts once.
    func proof(of request: SignInServiceRequest) throws -> DPoPProof? {
        guard !request.proofs.isEmpty else { return nil }
        return try self.proofs.proof(
            request.proofs,
            KeyProofPurpose(method: request.method, endpoint: self.clients.issuer + request.path))
    }

    /// Refuses parameters in the address of a request, unless the operator has permitted them for the client. Throws
    /// ``SignInServiceError``.
    func checkPlace(of request: SignInServiceRequest, _ settings: SignInServiceSettings) throws {
        guard !request.isInAddress || settings.takesQuery else {
            throw SignInServiceError.malformed(
                "The parameters belong into the body.", "they came in the address, which is in logs",
                setting: "--sign-in-service queryParameters=true")
        }
    }
}
