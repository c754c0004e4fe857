import JOSE
public import OAuth
public import Store
public import _Primitives

/// The app sign-in service: the second face of the provider, for apps that keep people signed in and for the web sites that
/// they open (rows F010 to F056 of the parity table).
///
/// It has serialisers, names and errors of its own, and nothing else: what it gives are grants, codes and refresh tokens as
/// any client has them, and its sessions are lasting grants. What belongs to one face is refused at the other.
public struct SignInService: Sendable {
    /// What a deployment calls things.
    public struct Names: Sendable, Equatable {
        /// Who says to have issued the access tokens (`iss`): any text. `nil` for the server's address.
        public var issuer: String?
        /// What the names of cookies begin with.
        public var cookiePrefix: String
        /// The site whose hosts all get the cookies that are for more than this host; `nil` for this host alone.
        public var cookieDomain: String?

        /// Names; by default this product's own, and cookies for this host alone.
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
    /// What the deployment calls things.
    public let names: Names

    /// The service beside a provider.
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

    /// Whether there is a client of the service: until then nothing of it is there.
    ///
    /// Cost: one query.
    public func isOffered() async throws -> Bool { try await self.store.hasSignInServiceClient() }

    /// The public keys that its access tokens are signed with.
    public var keySet: JSONObject {
        self.provider.keys.publicKeys(of: .signInService, at: self.provider.time.now()).publicJSON
    }

    /// A client of the service that people sign in to, and that is served; `nil` for every other.
    func client(_ id: String) async throws -> (ClientRecord, SignInServiceSettings)? {
        guard let client = try await self.provider.servedClient(id), let settings = client.settings.signInService,
            settings.answers != .serviceAccount
        else { return nil }
        return (client, settings)
    }
}

/// What a program or a browser asks of the service.
public struct SignInServiceRequest: Sendable {
    /// What it says: the form, the members of the JSON, or the query.
    public var parameters: Parameters
    /// Whether that was the query of a request that has a body for it.
    public var isInAddress: Bool
    /// The cookies of the service, by their names without the prefix.
    public var cookies: [SignInServiceCookie: String]
    /// The value of `Authorization`, or `nil`.
    public var authorization: String?
    /// The values of all header fields `DPoP`.
    public var proofs: [String]
    /// The request's method.
    public var method: String
    /// The address that it came to, below the issuer's.
    public var path: String
    /// Where a page is that has caused it, as its browser says: scheme, host and port.
    public var origin: String?
    /// How a page is related to this server that has caused it, as its browser says (`Sec-Fetch-Site`).
    public var site: String?
    /// `true` if the request says anything of a page (`Origin`, `Referer` or `Sec-Fetch-Site`), also what cannot be read.
    public var saysPage: Bool
    /// Where the caller is: it has a budget of sign-ins that begin.
    public var source: String
    /// The caller's network address, for the audit trail.
    public var address: String?

    /// A request of these values.
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
    /// When the two tokens end, for the site's scripts.
    case info = "info_token"
}

/// What an answer does to a browser's cookies.
public enum SignInServiceCookies: Sendable, Equatable {
    case keep
    /// They are those of this session.
    case set(SignInServiceTokens)
    /// There are none any more.
    case delete
}

/// What a client is given.
public struct SignInServiceTokens: Sendable, Equatable {
    /// For each request.
    public var accessToken: String
    /// For the next ones; `nil` for a session that is not renewed.
    public var refreshToken: String?
    /// What shows that a request is no other site's; `nil` where the client has none.
    public var antiCSRFToken: String?
    /// By what an app opens sessions of the web; `nil` where it does not.
    public var deviceSecret: String?
    /// When the access token ends.
    public var accessEndsAt: Timestamp
    /// When the session ends, if it is not renewed.
    public var sessionEndsAt: Timestamp

    /// As JSON.
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
    /// `nil` for no body.
    public var body: JSONObject?
    /// Where the browser goes on, with 302.
    public var location: String?
    /// What becomes of the browser's cookies.
    public var cookies = SignInServiceCookies.keep
    /// Further header fields.
    public var headers: [(name: String, value: String)] = []
    /// Why, for the operator's log, where it is a refusal.
    public var refusal: ProviderRefusal?
    /// The budget that ran out, where one did.
    public var shortage: Shortage?

    init(status: Int = 200, body: JSONObject? = nil, location: String? = nil, cookies: SignInServiceCookies = .keep) {
        self.status = status
        self.body = body
        self.location = location
        self.cookies = cookies
    }

    /// What a caller is told who has used up a budget.
    init(_ shortage: Shortage) {
        self.init(status: 429, body: ["errors": .string(shortage.remedy)])
        self.headers = [("Retry-After", String(shortage.retryAfterSeconds))]
        self.shortage = shortage
    }
}

/// Why the service refuses: a status, a sentence for the caller, and more for the operator.
struct SignInServiceError: Error {
    let status: Int
    let message: String
    /// For the log alone.
    let detail: String?
    /// The setting of the client that the request does not fit.
    var setting: String?
    /// What clients that prove a key read, beside the sentence.
    var code: OAuthError.Code?

    /// A request that is not what is asked for.
    static func malformed(_ message: String, _ detail: String? = nil, setting: String? = nil) -> Self {
        Self(status: 400, message: message, detail: detail, setting: setting)
    }

    /// What was shown opens nothing.
    static func refused(_ message: String, _ detail: String? = nil) -> Self {
        Self(status: 401, message: message, detail: detail)
    }

    /// As ``malformed(_:_:setting:)`` where it was found out for the other face.
    init(_ error: OAuthError, status: Int = 400) {
        self.init(
            status: status, message: error.message ?? "The request is not valid.",
            detail: [error.code.rawValue, error.detail].compactMap(\.self).joined(separator: ": "))
        if [.useDPoPNonce, .invalidDPoPProof].contains(error.code) { self.code = error.code }
    }

    private init(status: Int, message: String, detail: String?, setting: String? = nil) {
        self.status = status
        self.message = message
        self.detail = detail
        self.setting = setting
    }
}

extension SignInService {
    /// Answers, or says why not: `{"errors": TEXT}`.
    ///
    /// - Parameters:
    ///   - status: Of refusals that the other face's code has found.
    ///   - client: Is told the client when it is known, for the log.
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
            answer.headers.append(self.provider.keyProofNonceField)
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
    /// A session of the app sign-in service was passed on; the actor is the client that got one, the detail the one that it
    /// came of.
    static let sessionPassedOn = Self(rawValue: "session-passed-on")
    /// All sessions of a device ended, as its app wanted; the actor is the client.
    static let deviceSessionsEnded = Self(rawValue: "device-sessions-ended")
}
