import JOSE
public import OAuth
import Records
public import Settings
public import _Primitives

/// The app sign-in service: the second face of the provider, for apps that keep people signed in and for the web sites
/// that the apps open (rows F010 to F056 of the parity table).
///
/// Only its serialisers, names and errors are its own. It issues grants, codes and refresh tokens like those of any
/// client, and its sessions are lasting grants. Each face refuses the tokens of the other.
public struct SignInService: Sendable {
    /// The names that a deployment chooses.
    public struct Names: Sendable, Equatable {
        /// The issuer in the access tokens (`iss`): any text. `nil` for the server's address.
        public var issuer: String?
        /// The start of the names of cookies.
        public var cookiePrefix: String
        /// The site whose hosts all get the cookies for more than this host; `nil` for this host alone.
        public var cookieDomain: String?

        /// Creates names; by default this product's own, and cookies for this host alone.
        public init(issuer: String? = nil, cookiePrefix: String = "countersign", cookieDomain: String? = nil) {
            self.issuer = issuer
            self.cookiePrefix = cookiePrefix
            self.cookieDomain = cookieDomain
        }
    }

    let provider: OpenIDProvider
    let grants: AccountGrants
    /// Sign-ins by other providers.
    let upstream: UpstreamSignIns
    /// The deployment's names.
    public let names: Names

    /// Creates the service beside a provider.
    public init(
        _ provider: OpenIDProvider, grants: AccountGrants, upstream: UpstreamSignIns, names: Names = Names()
    ) {
        self.upstream = upstream
        self.provider = provider
        self.grants = grants
        self.names = names
    }

    var issuer: String { self.names.issuer ?? self.provider.issuer }
    var store: any OpenIDStore { self.provider.store }

    /// Returns `true` if the service has a client. Without a client the service offers nothing.
    ///
    /// Cost: one query.
    public func isOffered() async throws -> Bool { try await self.store.hasSignInServiceClient() }

    /// The public keys that verify the service's access tokens.
    public var keySet: JSONObject {
        self.provider.keys.signing.publicKeys(of: .signInService, at: self.provider.time.now()).publicJSON
    }

    /// Returns a client of the service that people sign in to, with its settings; `nil` for other clients and a
    /// switched-off client.
    func client(_ id: String) async throws -> (ClientRecord, SignInServiceSettings)? {
        guard let client = try await self.provider.clients.servedClient(id),
            let settings = client.settings.signInService,
            settings.answers != .serviceAccount
        else { return nil }
        return (client, settings)
    }
}

/// A request of a program or a browser to the service.
public struct SignInServiceRequest: Sendable {
    /// The parameters: the form, the members of the JSON, or the query.
    public var parameters: Parameters
    /// `true` if the parameters came in the query of a request that has a body for them.
    public var isInAddress: Bool
    /// The cookies of the service, by their names without the prefix.
    public var cookies: [SignInServiceCookie: String]
    /// The value of `Authorization`, or `nil`.
    public var authorization: String?
    /// The values of all header fields `DPoP`.
    public var proofs: [String]
    /// The request's method.
    public var method: String
    /// The path of the request's address, below the issuer's.
    public var path: String
    /// The origin of the page that caused the request, as its browser says: scheme, host and port.
    public var origin: String?
    /// The relation of the page that caused the request to this server, as the browser says (`Sec-Fetch-Site`).
    public var site: String?
    /// `true` if the request says anything about a page (`Origin`, `Referer` or `Sec-Fetch-Site`), even an unreadable
    /// value.
    public var saysPage: Bool
    /// The caller's source, which has a budget of new sign-ins.
    public var source: String
    /// The caller's network address, for the audit trail.
    public var address: String?

    /// Creates a request.
    public init(
        parameters: Parameters = [:], isInAddress: Bool = false, cookies: [SignInServiceCookie: String] = [:],
        authorization: String? = nil, proofs: [String] = [], method: String, path: String, origin: String? = nil,
        site: String? = nil, saysPage: Bool = true, source: String, address: String? = nil
    ) {
        self.saysPage = saysPage
        self.parameters = parameters
        self.isInAddress = isInAddress
        self.cookies = cookies
        self.authorization = authorization
        self.proofs = proofs
        self.method = method
        self.path = path
        self.origin = origin
        self.site = site
        self.source = source
        self.address = address
    }
}

/// The cookies of a web site's session.
public enum SignInServiceCookie: String, Sendable, CaseIterable {
    case accessToken = "access_token"
    case refreshToken = "refresh_token"
    case antiCSRFToken = "anti_csrf_token"
    /// The ends of the two tokens, for the site's scripts.
    case info = "info_token"
}

/// The change of a browser's cookies by an answer.
public enum SignInServiceCookies: Sendable, Equatable {
    case keep
    /// The cookies become the cookies of this session.
    case set(SignInServiceTokens)
    /// The cookies are deleted.
    case delete
}

/// The tokens for a client.
public struct SignInServiceTokens: Sendable, Equatable {
    /// The access token, for each request.
    public var accessToken: String
    /// The refresh token, for the next tokens; `nil` for a session without renewal.
    public var refreshToken: String?
    /// The proof that a request does not come from another site; `nil` if the client has none.
    public var antiCSRFToken: String?
    /// The secret with which an app opens sessions of the web; `nil` if the app opens none.
    public var deviceSecret: String?
    /// The end of the access token.
    public var accessEndsAt: Timestamp
    /// The end of the session without a renewal.
    public var sessionEndsAt: Timestamp

    /// The tokens as JSON.
    var json: JSONObject {
        var json: JSONObject = ["access_token": .string(self.accessToken)]
        json["refresh_token"] = self.refreshToken.map(JSON.string)
        json["anti_csrf_token"] = self.antiCSRFToken.map(JSON.string)
        json["device_secret"] = self.deviceSecret.map(JSON.string)
        return json
    }
}

/// A complete answer of the service.
public struct SignInServiceAnswer: Sendable {
    /// The HTTP status.
    public var status: Int
    /// The body; `nil` for no body.
    public var body: JSONObject?
    /// The address to which the browser goes on, with 302.
    public var location: String?
    /// The change of the browser's cookies.
    public var cookies = SignInServiceCookies.keep
    /// Further header fields.
    public var headers: [(name: String, value: String)] = []
    /// The reason of a refusal, for the operator's log.
    public var refusal: ProviderRefusal?
    /// The exhausted budget, if any.
    public var shortage: Shortage?

    init(status: Int = 200, body: JSONObject? = nil, location: String? = nil, cookies: SignInServiceCookies = .keep) {
        self.status = status
        self.body = body
        self.location = location
        self.cookies = cookies
    }

    /// Creates the answer to a caller that has used up a budget.
    init(_ shortage: Shortage) {
        self.init(status: 429, body: ["errors": .string(shortage.remedy)])
        self.headers = [("Retry-After", String(shortage.retryAfterSeconds))]
        self.shortage = shortage
    }
}

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

extension SignInService {
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
            answer.headers.append(self.provider.proofs.nonceField)
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
}

extension AuditEvent.Kind {
    /// A session of the app sign-in service was passed on; the actor is the client that got a session, the detail the
    /// original session.
    static let sessionPassedOn = Self(rawValue: "session-passed-on")
    /// All sessions of a device ended, at its app's wish; the actor is the client.
    static let deviceSessionsEnded = Self(rawValue: "device-sessions-ended")
}
