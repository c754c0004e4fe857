import OAuth
import Store
import _Primitives

/// How a client wants to be answered (OAuth 2.0 Multiple Response Type Encoding Practices 1.0, section 2.1; OAuth 2.0 Form
/// Post Response Mode 1.0).
enum ResponseMode: String, CaseIterable {
    case query
    case formPost = "form_post"
}

/// What a request asks of the sign-in itself: how the person is asked, and how surely they have to be authenticated
/// (OpenID Connect Core 1.0, sections 3.1.2.1 and 5.5.1.1; Initiating User Registration via OpenID Connect 1.0).
///
/// It is kept with the request in the parameters' own spelling, and read again when the person has answered.
struct AuthorizationWishes {
    /// A word of `prompt`.
    enum Prompt: String, CaseIterable {
        /// Nobody may be asked anything. Alone.
        case none
        /// The person is to authenticate anew.
        case login
        /// The person is to agree again.
        case consent
        /// The person is to choose who they are: on the sign-in page, where anybody can sign in.
        case selectAccount = "select_account"
        /// The person has no account yet. Alone.
        case create
    }

    /// The parameters that are kept.
    private static let names = [
        "prompt", "response_mode", "login_hint", "acr_values", "claims", "authorization_details", "max_age",
    ]

    let prompts: Set<Prompt>
    let responseMode: ResponseMode
    /// Who the client believes comes. Whoever authenticates decides who it is.
    let loginHint: String?
    /// How surely the person has to be authenticated.
    let levels: RequestedLevels
    /// What the client has named of the person, for a grant; `nil` for nothing.
    let personClaims: String?
    /// How long ago the person may have been authenticated; `nil` for however long.
    let maximumAge: Duration?
    /// Whose sign-in alone is to be answered, by the subject that the client knows.
    let expectedSubject: String?
    /// What the person is asked in detail (RFC 9396), as JSON.
    let details: String?
    /// What a request of the app sign-in service is beside it; `nil` for one of OpenID Connect.
    let service: SignInServiceWishes?
    /// The parameters that were read, encoded; `nil` where there was none.
    let text: String?

    /// Reads them. Throws `OAuthError` `invalid_request`.
    init(_ parameters: Parameters) throws(OAuthError) { try self.init(parameters, service: nil) }

    private init(_ parameters: Parameters, service: SignInServiceWishes?) throws(OAuthError) {
        self.service = service
        self.prompts = try Self.prompts(parameters["prompt"])
        let mode = parameters["response_mode"] ?? ResponseMode.query.rawValue
        guard let mode = ResponseMode.allCases.first(where: { $0.rawValue.hasSameBytes(as: mode) }) else {
            throw OAuthError(.invalidRequest, "The response_mode is neither query nor form_post.")
        }
        self.responseMode = mode
        self.loginHint = parameters["login_hint"]
        guard (self.loginHint?.utf8.count ?? 0) <= Limits.Fixed.loginHintBytes else {
            throw OAuthError(.invalidRequest, "The login_hint is too long.")
        }
        let claims: ClaimsRequest? = if let text = parameters["claims"] { try ClaimsRequest(text) } else { nil }
        self.levels = try RequestedLevels(acrValues: parameters["acr_values"], claims: claims)
        self.personClaims = claims.flatMap { $0.isAboutPerson ? $0.text : nil }
        self.expectedSubject = try claims?.expectedSubject()
        self.details = parameters["authorization_details"]
        self.maximumAge = try Self.maximumAge(parameters["max_age"])
        var kept: Parameters = [:]
        for name in Self.names {
            if let value = parameters[name] { kept.append(name, value) }
        }
        self.text = kept.members.isEmpty ? nil : kept.encoded
    }

    /// The wishes of a request that waits. It was read before.
    init(of request: AuthorizationRequestRecord) throws(OAuthError) {
        let kept = try Parameters(parsing: request.wishes ?? "", limits: Parameters.Limits(bytes: .max))
        try self.init(kept, service: SignInServiceWishes(kept))
    }

    /// Whether nobody may be asked anything.
    var isSilent: Bool { self.prompts.contains(.none) }

    /// Whether the browser's session is not enough, whoever's it is. To agree again it is.
    var isFresh: Bool { !self.prompts.isSubset(of: [.none, .consent]) }

    private static func maximumAge(_ text: String?) throws(OAuthError) -> Duration? {
        guard let text else { return nil }
        guard text.utf8.count <= Limits.Fixed.maximumAgeDigits,
            text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let seconds = Int64(text)
        else { throw OAuthError(.invalidRequest, "The max_age is not a number of seconds.") }
        return .seconds(seconds)
    }

    /// `none` and `create` alone; the others in any combination.
    private static func prompts(_ text: String?) throws(OAuthError) -> Set<Prompt> {
        var prompts: Set<Prompt> = []
        for word in text?.splitBytes(at: " ") ?? [] {
            guard let prompt = Prompt.allCases.first(where: { $0.rawValue.hasSameBytes(as: word) }) else {
                throw OAuthError(.invalidRequest, "The prompt is not known.")
            }
            prompts.insert(prompt)
        }
        guard prompts.count < 2 || prompts.isDisjoint(with: [.none, .create]) else {
            throw OAuthError(.invalidRequest, "In prompt, none and create stand alone.")
        }
        return prompts
    }
}

/// What a request of the app sign-in service is, beside what every request asks for. No parameter of OpenID Connect's
/// endpoint is read as one of these: they are written by the service's own.
struct SignInServiceWishes: Sendable, Equatable {
    private enum Name {
        static let type = "sign_in_type"
        static let answers = "sign_in_answers"
        static let level = "sign_in_acr"
        static let levels = "acr_values"
    }

    /// By whom the person signs in, in the client's word (`type`).
    let type: String
    /// How the client is told of a failure.
    let answers: SignInServiceSettings.Answers
    /// How surely the person is to be authenticated, in the client's word (`acr`).
    let level: String
    /// The level that is needed, in this server's own word; `nil` for any.
    let needed: String?

    init(type: String, answers: SignInServiceSettings.Answers, level: String, needed: String?) {
        self.type = type
        self.answers = answers
        self.level = level
        self.needed = needed
    }

    fileprivate init?(_ kept: Parameters) {
        guard let type = kept[Name.type],
            let answers = kept[Name.answers].flatMap(SignInServiceSettings.Answers.init(rawValue:))
        else { return nil }
        self.init(type: type, answers: answers, level: kept[Name.level] ?? "", needed: kept[Name.levels])
    }

    /// How it is kept with the request.
    var text: String {
        var kept: Parameters = [
            Name.type: self.type, Name.answers: self.answers.rawValue, Name.level: self.level,
        ]
        if let needed { kept.append(Name.levels, needed) }
        return kept.encoded
    }

    /// The sign-in method of a type: the word of the method, or the name of another provider.
    static func method(ofType type: String, among methods: [String]) -> String? {
        methods.first { $0.hasSameBytes(as: type) || $0.hasSameBytes(as: UpstreamProvider.method(of: type)) }
    }
}

/// A word for a level of assurance that clients may ask for (`acr_values`), and what is as sure as it says.
public struct AssuranceWord: Sendable, Equatable {
    /// The word, a URN or an address.
    public let name: String
    /// The levels of authentications (`acr`) that are enough for it; none where this server cannot vouch for it.
    public let levels: [String]

    /// A word and the levels that are enough for it.
    public init(_ name: String, levels: [String]) {
        self.name = name
        self.levels = levels
    }
}

/// How surely a person has to be authenticated for a request, in the client's own words.
///
/// Whoever asks for levels does not get less, neither by `acr_values` (RFC 9470, section 5) nor by an essential `acr` in
/// `claims` (OpenID Connect Core 1.0, section 5.5.1.1): a client that could do with less would have to look at what it got,
/// and those that do not are the ones that ask. Words of `acr_values` that no level here has are passed over: libraries send
/// words of other servers.
struct RequestedLevels {
    /// One of these has to be met, known here or not; `nil` where no `acr` is essential.
    private let essential: [String]?
    /// One of these that are known here has to be met (`acr_values`).
    private let words: [String]
    /// What the client would like to be told, the best first.
    private let preferred: [String]

    init(acrValues: String?, claims: ClaimsRequest?) throws(OAuthError) {
        let words = acrValues?.splitBytes(at: " ").filter { !$0.isEmpty }.map(String.init) ?? []
        guard words.count <= Limits.Fixed.requestedLevels else {
            throw OAuthError(.invalidRequest, "There are too many acr_values.")
        }
        let claim = claims?.idToken.first { $0.name.hasSameBytes(as: "acr") }
        let values: [String] =
            claim?.values.compactMap {
                guard case .string(let text) = $0 else { return nil }
                return text
            } ?? []
        self.essential = (claim?.isEssential ?? false) && !(claim?.values.isEmpty ?? true) ? values : nil
        self.words = words
        self.preferred = values + words
    }

    /// What cannot be met, whoever signs in.
    static let unmet = OAuthError(
        .unmetAuthenticationRequirements, "The person cannot be authenticated as surely as the request asks.")

    /// Whether some authentication could be enough.
    func canBeMet(in table: [AssuranceWord]) -> Bool {
        self.required(in: table).isEmpty || Set(table.flatMap(\.levels)).contains { self.areMet(by: $0, in: table) }
    }

    /// The lists of which one word each has to be met.
    private func required(in table: [AssuranceWord]) -> [[String]] {
        let known = self.words.filter { word in
            table.contains { $0.name.hasSameBytes(as: word) || $0.levels.containsBytes(of: word) }
        }
        return [self.essential, known.isEmpty ? nil : known].compactMap(\.self)
    }

    /// Whether an authentication of that level is enough.
    func areMet(by level: String, in table: [AssuranceWord]) -> Bool {
        self.required(in: table).allSatisfy { words in words.contains { Self.isMet($0, by: level, in: table) } }
    }

    /// What the ID token says (`acr`): the first of the client's words that the authentication meets, and where it meets
    /// none, or was asked for none, `nil`: the authentication's own level.
    func told(of level: String, in table: [AssuranceWord]) -> String? {
        self.preferred.first { Self.isMet($0, by: level, in: table) }
    }

    private static func isMet(_ word: String, by level: String, in table: [AssuranceWord]) -> Bool {
        // What an authentication says of itself it is, in the table or not.
        word.hasSameBytes(as: level)
            || table.contains { $0.name.hasSameBytes(as: word) && $0.levels.containsBytes(of: level) }
    }
}
