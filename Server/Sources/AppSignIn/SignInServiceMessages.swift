public import OAuth
public import OAuthProvider
import Records
public import Settings
public import _Primitives

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

    /// Returns the answer with the tokens, in the form of the client's settings.
    func answer(by settings: SignInServiceSettings) -> SignInServiceAnswer {
        switch settings.answers {
        case .cookie: SignInServiceAnswer(body: [:], cookies: .set(self))
        case .api, .serviceAccount:
            SignInServiceAnswer(body: settings.wrapsData ? ["data": .object(self.json)] : self.json)
        }
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
