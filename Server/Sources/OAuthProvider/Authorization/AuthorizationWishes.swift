import OAuth
package import Records
import Settings
import _Primitives

/// The way in which a client wants to receive its answer (OAuth 2.0 Multiple Response Type Encoding Practices 1.0,
/// section 2.1; OAuth 2.0 Form Post Response Mode 1.0).
enum ResponseMode: String, CaseIterable {
    case query
    case formPost = "form_post"
}

/// The wishes of a request about the sign-in itself: how to ask the person, and how surely to authenticate the person
/// (OpenID Connect Core 1.0, sections 3.1.2.1 and 5.5.1.1; Initiating User Registration via OpenID Connect 1.0).
///
/// The wishes are kept with the request in the parameters' own spelling. The server reads them again when the person
/// has answered.
struct AuthorizationWishes {
    /// A word of `prompt`.
    enum Prompt: String, CaseIterable {
        /// The server must not ask the person anything. Stands alone.
        case none
        /// The person has to authenticate anew.
        case login
        /// The person has to agree again.
        case consent
        /// The person has to choose an account, on the sign-in page, which takes every account.
        case selectAccount = "select_account"
        /// The person has no account yet. Stands alone.
        case create
    }

    /// The names of the parameters that are kept with the request.
    private static let names = [
        "prompt", "response_mode", "login_hint", "acr_values", "claims", "authorization_details", "max_age",
        "ui_locales",
    ]

    let prompts: Set<Prompt>
    let responseMode: ResponseMode
    /// The person whom the client expects. Only authentication decides who the person is.
    let loginHint: String?
    /// The levels of assurance that the client requests.
    let levels: RequestedLevels
    /// The claims about the person that the client has named, for a grant; `nil` if the client named none.
    let personClaims: String?
    /// The time that may have passed since the person was authenticated; `nil` for any time.
    let maximumAge: Duration?
    /// The subject, as the client knows it, of the only person whose sign-in may be answered.
    let expectedSubject: String?
    /// The languages of the person, by the client's knowledge. Any text: a wrong text is no wish.
    let uiLocales: String?
    /// The details for the person's agreement (RFC 9396), as JSON.
    let details: String?
    /// The additional wishes of a request of the app sign-in service; `nil` for a request of OpenID Connect.
    let service: SignInServiceWishes?
    /// The parameters that were read, encoded; `nil` if the request had none of them.
    let text: String?

    /// Reads the wishes from a request's parameters. Throws `OAuthError` `invalid_request`.
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
        self.uiLocales = parameters["ui_locales"]
        self.details = parameters["authorization_details"]
        self.maximumAge = try Self.maximumAge(parameters["max_age"])
        var kept: Parameters = [:]
        for name in Self.names {
            if let value = parameters[name] { kept.append(name, value) }
        }
        self.text = kept.members.isEmpty ? nil : kept.encoded
    }

    /// Reads the wishes of a waiting request, whose parameters were checked before.
    init(of request: AuthorizationRequestRecord) throws(OAuthError) {
        let kept = try Parameters(parsing: request.wishes ?? "", limits: Parameters.Limits(bytes: .max))
        try self.init(kept, service: SignInServiceWishes(kept))
    }

    /// `true` if the server must not ask the person anything.
    var isSilent: Bool { self.prompts.contains(.none) }

    /// `true` if no browser session is enough, and the person has to sign in. A wish for new consent alone does not
    /// need a new sign-in.
    var isFresh: Bool { !self.prompts.isSubset(of: [.none, .consent]) }

    private static func maximumAge(_ text: String?) throws(OAuthError) -> Duration? {
        guard let text else { return nil }
        guard text.utf8.count <= Limits.Fixed.maximumAgeDigits,
            text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
            let seconds = Int64(text)
        else { throw OAuthError(.invalidRequest, "The max_age is not a number of seconds.") }
        return .seconds(seconds)
    }

    /// Reads `prompt`: `none` and `create` stand alone, the others in any combination.
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

/// The wishes of a request of the app sign-in service, in addition to those of every request. The service's own
/// endpoint writes them, and no parameter of OpenID Connect's endpoint is read as one of them.
package struct SignInServiceWishes: Sendable, Equatable {
    private enum Name {
        static let type = "sign_in_type"
        static let answers = "sign_in_answers"
        static let level = "sign_in_acr"
        static let levels = "acr_values"
    }

    /// The sign-in method or provider of the person, in the client's word (`type`).
    package let type: String
    /// The way in which the client learns of a failure.
    let answers: SignInServiceSettings.Answers
    /// The level of assurance that the person needs, in the client's word (`acr`).
    let level: String
    /// The required level, in this server's own word; `nil` for any level.
    let needed: String?

    /// Creates the wishes of a request.
    package init(type: String, answers: SignInServiceSettings.Answers, level: String, needed: String?) {
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

    /// The sign-in type, the way of answers and the levels as form parameters: the text that the waiting request keeps,
    /// and from which ``init(_:)`` reads them again.
    package var text: String {
        var kept: Parameters = [
            Name.type: self.type, Name.answers: self.answers.rawValue, Name.level: self.level,
        ]
        if let needed { kept.append(Name.levels, needed) }
        return kept.encoded
    }

    /// Returns the sign-in method of a type. A type is the word of a method, or the name of another provider.
    package static func method(ofType type: String, among methods: [String]) -> String? {
        methods.first { $0.hasSameBytes(as: type) || $0.hasSameBytes(as: UpstreamProvider.method(of: type)) }
    }
}

/// The levels of assurance that a request requires, in the client's own words.
///
/// A client that requests levels never gets less, neither by `acr_values` (RFC 9470, section 5) nor by an essential
/// `acr` in `claims` (OpenID Connect Core 1.0, section 5.5.1.1). A client that accepts less would have to look at the
/// level in the answer, and the clients that request levels are the very clients that do not look. The server ignores
/// words of `acr_values` that match no level here: libraries send words of other servers.
struct RequestedLevels {
    /// Words of which the authentication has to meet at least one, known here or not; `nil` if no `acr` is essential,
    /// or the essential `acr` names no words.
    private let essential: [String]?
    /// Words of `acr_values`. The authentication has to meet at least one of the words that are known here.
    private let words: [String]
    /// The words that the client would like to read in the ID token, the best first.
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

    /// The error for a request whose levels the sign-in does not meet, or no sign-in can meet.
    static let unmet = OAuthError(
        .unmetAuthenticationRequirements, "The person cannot be authenticated as surely as the request asks.")

    /// `true` if some authentication could satisfy the request.
    func canBeMet(in table: [AssuranceWord]) -> Bool {
        self.required(in: table).isEmpty || Set(table.flatMap(\.levels)).contains { self.areMet(by: $0, in: table) }
    }

    /// Returns lists of words. An authentication has to meet at least one word of each list.
    private func required(in table: [AssuranceWord]) -> [[String]] {
        let known = self.words.filter { word in
            table.contains { $0.name.hasSameBytes(as: word) || $0.levels.containsBytes(of: word) }
        }
        return [self.essential, known.isEmpty ? nil : known].compactMap(\.self)
    }

    /// `true` if an authentication of that level satisfies the request.
    func areMet(by level: String, in table: [AssuranceWord]) -> Bool {
        self.required(in: table).allSatisfy { words in words.contains { Self.isMet($0, by: level, in: table) } }
    }

    /// Returns the `acr` of the ID token: the first of the client's words that the authentication meets.
    ///
    /// Returns `nil` if the authentication meets none of the words, or the client requested none. The ID token then has
    /// the authentication's own level.
    func told(of level: String, in table: [AssuranceWord]) -> String? {
        self.preferred.first { Self.isMet($0, by: level, in: table) }
    }

    /// Returns `true` if an authentication of a level meets a word: the level itself, or a word of the table.
    static func isMet(_ word: String, by level: String, in table: [AssuranceWord]) -> Bool {
        // An authentication meets its own level, in the table or not.
        word.hasSameBytes(as: level)
            || table.contains { $0.name.hasSameBytes(as: word) && $0.levels.containsBytes(of: level) }
    }
}
