public import _Primitives

/// What an operator decides about a client of the app sign-in service. A client that has this is served by that face and by
/// no other: one client, one profile.
public struct SignInServiceSettings: Sendable, Equatable {
    /// How the client is answered.
    public enum Answers: String, Sendable, CaseIterable {
        /// By cookies, with an empty body: a web site.
        case cookie
        /// By JSON: an app, or a back end.
        case api
        /// By JSON, with access tokens of its own alone: a service, to which nobody signs in.
        case serviceAccount = "service_account"
    }

    /// A word by which the client asks how surely a person has to be authenticated (`acr`).
    public struct Level: Sendable, Equatable {
        /// The client's word.
        public let word: String
        /// The word of this server's own table that it needs; `nil` where anything is enough.
        public let needed: String?

        /// A word and what it needs.
        public init(_ word: String, needed: String? = nil) {
            self.word = word
            self.needed = needed
        }

        /// Reads `WORD` or `WORD=NEEDED`.
        public init(text: String) {
            let parts = text.splitBytes(at: "=", maxSplits: 1).map(String.init)
            self.init(parts[0], needed: parts.count > 1 ? parts[1] : nil)
        }

        /// As ``init(text:)`` reads it.
        public var text: String { self.needed.map { "\(self.word)=\($0)" } ?? self.word }
    }

    /// How it is answered.
    public var answers: Answers
    /// Whether its codes are bound to a challenge (RFC 7636). One that proves who it is by a key can do without.
    public var usesPKCE: Bool
    /// Whether it shows a token against forged requests wherever it shows a refresh token.
    public var usesAntiCSRF: Bool
    /// How long its access tokens are valid.
    public var accessTokenLifetime: Duration
    /// How long its session goes on without being renewed.
    public var refreshTokenLifetime: Duration
    /// Whom its access tokens are for (`aud`).
    public var audience: String
    /// What its access tokens say of the person.
    public var attributes: [String]
    /// What a service account may have its access tokens say of the person for whom it acts, in words of its own.
    public var userAttributes: [String]
    /// Whether its sessions are passed on: of an app to the web, of the web to an app.
    public var sharesSessions: Bool
    /// Whether its people have to agree to the operator's terms.
    public var enforcesTerms: Bool
    /// The words for levels that it may ask for.
    public var levels: [Level]
    /// Whether its JSON stands in a member `data`.
    public var wrapsData: Bool
    /// Whether it may send parameters in the address of a POST.
    public var takesQuery: Bool
    /// Whether it may be answered at a scheme that no domain stands behind, which any app can take.
    public var takesAnyScheme: Bool
    /// `true` if requests with the client's cookies count also if they say nothing of a page (no `Origin`, `Referer` or
    /// `Sec-Fetch-Site`), because they come from the client's back end.
    public var takesBackEndCookies: Bool
    /// `true` if a code verifier of 32 hexadecimal digits is taken, which RFC 7636, section 4.1, does not allow.
    public var takesShortVerifiers: Bool

    /// Settings; by default those of an app that keeps to itself.
    public init(
        answers: Answers = .api, usesPKCE: Bool = true, usesAntiCSRF: Bool = false,
        accessTokenLifetime: Duration = Limits.Fixed.usualAppAccessLifetime,
        refreshTokenLifetime: Duration = Limits.Fixed.usualAppSessionLifetime, audience: String = "",
        attributes: [String] = [], userAttributes: [String] = [],
        sharesSessions: Bool = false, enforcesTerms: Bool = true, levels: [Level] = [], wrapsData: Bool = true,
        takesQuery: Bool = false, takesAnyScheme: Bool = false, takesBackEndCookies: Bool = false,
        takesShortVerifiers: Bool = false
    ) {
        self.takesBackEndCookies = takesBackEndCookies
        self.takesShortVerifiers = takesShortVerifiers
        self.answers = answers
        self.usesPKCE = usesPKCE
        self.usesAntiCSRF = usesAntiCSRF
        self.accessTokenLifetime = accessTokenLifetime
        self.refreshTokenLifetime = refreshTokenLifetime
        self.audience = audience
        self.attributes = attributes
        self.userAttributes = userAttributes
        self.sharesSessions = sharesSessions
        self.enforcesTerms = enforcesTerms
        self.levels = levels
        self.wrapsData = wrapsData
        self.takesQuery = takesQuery
        self.takesAnyScheme = takesAnyScheme
    }
}

extension SignInServiceSettings {
    /// The settings as a document: what the store keeps, and what the administration shows and takes.
    public var json: JSONObject {
        [
            "authentication": .string(self.answers.rawValue), "pkce": .bool(self.usesPKCE),
            "antiCsrf": .bool(self.usesAntiCSRF),
            "accessTokenSeconds": .integer(self.accessTokenLifetime.components.seconds),
            "refreshTokenSeconds": .integer(self.refreshTokenLifetime.components.seconds),
            "accessTokenAudience": .string(self.audience),
            "accessTokenAttributes": .array(self.attributes.map(JSON.string)),
            "accessTokenUserAttributes": .array(self.userAttributes.map(JSON.string)),
            "sharedSessions": .bool(self.sharesSessions), "enforcedTerms": .bool(self.enforcesTerms),
            "serviceLevels": .array(self.levels.map { .string($0.text) }),
            "jsonApiCompatibility": .bool(self.wrapsData),
            "queryParameters": .bool(self.takesQuery), "anyScheme": .bool(self.takesAnyScheme),
            "backEndCookies": .bool(self.takesBackEndCookies), "shortVerifiers": .bool(self.takesShortVerifiers),
        ]
    }

    /// The settings that a document changes of these; what it does not name stays. Throws `JSONError`.
    public func changed(by json: JSONObject) throws -> SignInServiceSettings {
        var changed = self
        if let word = try json.string("authentication") {
            guard let answers = Answers(rawValue: word) else {
                throw JSONError(.wrongType, "authentication is cookie, api or service_account")
            }
            changed.answers = answers
        }
        changed.usesPKCE = try json.bool("pkce") ?? self.usesPKCE
        changed.usesAntiCSRF = try json.bool("antiCsrf") ?? self.usesAntiCSRF
        changed.accessTokenLifetime = try Self.seconds("accessTokenSeconds", of: json) ?? self.accessTokenLifetime
        changed.refreshTokenLifetime = try Self.seconds("refreshTokenSeconds", of: json) ?? self.refreshTokenLifetime
        changed.audience = try json.string("accessTokenAudience") ?? self.audience
        changed.attributes = try json.strings("accessTokenAttributes") ?? self.attributes
        changed.userAttributes = try json.strings("accessTokenUserAttributes") ?? self.userAttributes
        changed.sharesSessions = try json.bool("sharedSessions") ?? self.sharesSessions
        changed.enforcesTerms = try json.bool("enforcedTerms") ?? self.enforcesTerms
        changed.levels = try json.strings("serviceLevels")?.map(Level.init(text:)) ?? self.levels
        changed.wrapsData = try json.bool("jsonApiCompatibility") ?? self.wrapsData
        changed.takesQuery = try json.bool("queryParameters") ?? self.takesQuery
        changed.takesAnyScheme = try json.bool("anyScheme") ?? self.takesAnyScheme
        changed.takesBackEndCookies = try json.bool("backEndCookies") ?? self.takesBackEndCookies
        changed.takesShortVerifiers = try json.bool("shortVerifiers") ?? self.takesShortVerifiers
        return changed
    }

    private static func seconds(_ name: String, of json: JSONObject) throws -> Duration? {
        try json.integer(name, as: Int32.self).map { .seconds(Int64($0)) }
    }
}
