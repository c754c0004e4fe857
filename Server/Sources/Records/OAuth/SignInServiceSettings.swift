public import Settings
public import _Primitives

/// An operator's decisions about a client of the app sign-in service. A client with these settings is served by the app
/// sign-in service and by no other face of the server: one client, one profile.
public struct SignInServiceSettings: Sendable, Equatable {
    /// The form of the answers to the client.
    public enum Answers: String, Sendable, CaseIterable {
        /// Cookies, with an empty body: for a web site.
        case cookie
        /// JSON: for an app, or a back end.
        case api
        /// JSON, with access tokens of the service's own alone: for a service that no person signs in to.
        case serviceAccount = "service_account"
    }

    /// A word by which the client requests a level of authentication (`acr`).
    public struct Level: Sendable, Equatable {
        /// The client's word.
        public let word: String
        /// The word of this server's own table for the required level; `nil` if any level is enough.
        public let needed: String?

        /// Makes a level of a word and its required level.
        public init(_ word: String, needed: String? = nil) {
            self.word = word
            self.needed = needed
        }

        /// Reads `WORD` or `WORD=NEEDED`.
        public init(text: String) {
            let parts = text.splitBytes(at: "=", maxSplits: 1).map(String.init)
            self.init(parts[0], needed: parts.count > 1 ? parts[1] : nil)
        }

        /// The level as ``init(text:)`` reads it.
        public var text: String { self.needed.map { "\(self.word)=\($0)" } ?? self.word }
    }

    /// The form of the answers to the client.
    public var answers: Answers
    /// `true` if the client's codes are bound to a challenge (RFC 7636). A client that proves its identity by a key can
    /// do without.
    public var usesPKCE: Bool
    /// `true` if the client shows a token against forged requests whenever it shows a refresh token.
    public var usesAntiCSRF: Bool
    /// The life of the client's access tokens.
    public var accessTokenLifetime: Duration
    /// The time for which the client's session goes on without being renewed.
    public var refreshTokenLifetime: Duration
    /// The audience of the client's access tokens (`aud`).
    public var audience: String
    /// The facts about the person that the client's access tokens state.
    public var attributes: [String]
    /// The facts about the person for whom a service account acts that its access tokens may state, by the service
    /// account's names for the facts.
    public var userAttributes: [String]
    /// `true` if the client's sessions are passed on: from an app to the web, from the web to an app.
    public var sharesSessions: Bool
    /// `true` if the client's people have to agree to the operator's terms.
    public var enforcesTerms: Bool
    /// The words for levels that the client may request.
    public var levels: [Level]
    /// `true` if the client's JSON stands in a member `data`.
    public var wrapsData: Bool
    /// `true` if the client may send parameters in the address of a POST.
    public var takesQuery: Bool
    /// `true` if the client may be answered at a scheme without a domain behind it. Any app can take such a scheme.
    public var takesAnyScheme: Bool
    /// `true` if requests with the client's cookies count also if they name no page (no `Origin`, `Referer` or
    /// `Sec-Fetch-Site`), because they come from the client's back end.
    public var takesBackEndCookies: Bool
    /// `true` if a code verifier of 32 hexadecimal digits is taken, which RFC 7636, section 4.1, does not allow.
    public var takesShortVerifiers: Bool

    /// Makes settings; by default the settings of an app that shares nothing.
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
    /// The settings as a document. The store keeps the document, and the administration shows and takes it.
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

    /// Returns these settings with the changes of a document. A setting that the document does not name stays. Throws
    /// `JSONError`.
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

extension SignInServiceSettings {
    /// Reads the stored settings. Throws ``StoreError/Code/corrupt``.
    package init(kept text: String) throws {
        do {
            guard case .object(let json) = try JSON(parsing: text) else {
                throw StoreError(.corrupt, "a client of the app sign-in service")
            }
            self = try SignInServiceSettings().changed(by: json)
        } catch is JSONError {
            throw StoreError(.corrupt, "a client of the app sign-in service")
        }
    }
}
