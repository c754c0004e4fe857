import OAuth
import Records
import Settings
package import _Primitives

extension ClientRules {
    /// Checks a client's settings for the app sign-in service against its other settings. Throws `OAuthError`
    /// `invalid_request` with a sentence for the administrator. An address that any app can take is permitted if the
    /// operator has chosen so; ``ClientWarning`` warns of the address.
    static func checkSignInService(of client: ClientRecord, levels: [AssuranceWord]) throws {
        let settings = client.settings
        guard let service = settings.signInService else { return }
        func refuse(_ sentence: String) -> OAuthError { OAuthError(.invalidRequest, sentence) }
        guard ProviderRefusal.isClientName(client.id) else {
            throw refuse(
                "A client id has letters, digits, hyphens and underscores, \(Limits.Fixed.notedClientBytes) at most.")
        }
        let hasKey = PrivateKeyJWT.methods.containsBytes(of: settings.authenticationMethod)
        guard settings.isPublic || hasKey else {
            throw refuse(
                "A client of the app sign-in service shows the verifier of its code (--auth-method none), or signs with a key of its own (--auth-method private_key_jwt)."
            )
        }
        guard settings.party == .first else { throw refuse("The app sign-in service is for your own clients.") }
        let own = TokenSettings(
            scopes: settings.tokens.scopes, usedRefreshTokenLifetime: settings.tokens.usedRefreshTokenLifetime,
            refreshesIDToken: settings.tokens.refreshesIDToken)
        guard settings.tokens == own, settings.profile.security == .usual,
            !settings.profile.signsInDirectly, !settings.codeBinding.isLoose,
            settings.tokens.scopes.isEmpty || service.answers == .serviceAccount
        else {
            throw refuse(
                "A client has one profile: scopes but a service account's, resources, groups, nonces and fapi2 are the other face's."
            )
        }
        try Self.check(service)
        if service.answers == .serviceAccount { return try Self.checkServiceAccount(client, service) }
        guard service.usesPKCE || hasKey else {
            throw refuse("Codes without a challenge (pkce=false) are for clients that sign with a key of their own.")
        }
        guard service.userAttributes.isEmpty else {
            throw refuse("accessTokenUserAttributes are a service account's; here it is accessTokenAttributes.")
        }
        guard settings.grantTypes == [GrantType.authorizationCode.rawValue] else {
            throw refuse("A client of the app sign-in service has the grant type authorization_code, and no other.")
        }
        guard client.redirectURIs.count == 1 else {
            throw refuse("A client of the app sign-in service has one redirect address: its requests name none.")
        }
        if hasKey {
            // The key proves the back end, and not the browser that brings a code: no other app may be able to take the
            // code.
            guard try settings.redirectURI(client.redirectURIs[0]).kind == .https else {
                throw refuse("The redirect address of a client that signs with a key of its own is https.")
            }
            guard !service.sharesSessions else {
                throw refuse("A client that signs with a key of its own gets no session without: no sharedSessions.")
            }
        }
        if service.answers == .cookie {
            guard client.postLogoutRedirectURIs.count <= 1 else {
                throw refuse("A client of the app sign-in service has one address after signing out.")
            }
            guard try settings.redirectURI(client.redirectURIs[0]).kind != .privateScheme else {
                throw refuse("A web site, which is answered by cookies, has no scheme of its own.")
            }
        }
        guard
            service.levels.allSatisfy({ level in
                level.needed.map { needed in levels.contains { $0.name.hasSameBytes(as: needed) } } ?? true
            })
        else {
            throw refuse(
                "What a level needs is one of these: \(levels.filter { !$0.levels.isEmpty }.map(\.name).joined(separator: ", "))."
            )
        }
    }

    /// Checks the settings of a service account, to which nobody signs in.
    private static func checkServiceAccount(_ client: ClientRecord, _ service: SignInServiceSettings) throws {
        func refuse(_ sentence: String) -> OAuthError { OAuthError(.invalidRequest, sentence) }
        guard client.redirectURIs.isEmpty, client.postLogoutRedirectURIs.isEmpty, service.levels.isEmpty,
            service.attributes.isEmpty, !service.sharesSessions, !service.usesAntiCSRF, service.usesPKCE
        else {
            throw refuse(
                "Nobody signs in to a service account: it has no redirect address, no serviceLevels, no accessTokenAttributes, no sharedSessions, no antiCsrf."
            )
        }
        guard client.settings.grantTypes == [GrantType.serviceAssertion.rawValue], !client.settings.isPublic else {
            throw refuse(
                "A service account signs with a key of its own (--auth-method private_key_jwt) and has the grant type \(GrantType.serviceAssertion.rawValue), and no other."
            )
        }
        guard service.accessTokenLifetime <= Limits.Fixed.serviceAccountAccessLifetime else {
            throw refuse(
                "A service account's access token lives for \(Limits.Fixed.serviceAccountAccessLifetime.components.seconds) seconds at most: accessTokenSeconds."
            )
        }
        let most = Limits.Fixed.serviceAccountAttributes
        guard service.userAttributes.count <= most, service.userAttributes.allSatisfy(Self.isWord),
            Set(service.userAttributes.map(ExactText.init)).count == service.userAttributes.count
        else { throw refuse("accessTokenUserAttributes are \(most) words at most, each once.") }
    }

    private static func isWord(_ text: String) -> Bool {
        (1...Limits.Fixed.signInServiceWordBytes).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: ",") }
    }

    private static func check(_ service: SignInServiceSettings) throws {
        func refuse(_ sentence: String) -> OAuthError { OAuthError(.invalidRequest, sentence) }
        guard Limits.Fixed.signInServiceAccessLifetimes.contains(service.accessTokenLifetime),
            Limits.Fixed.signInServiceSessionLifetimes.contains(service.refreshTokenLifetime)
        else {
            throw refuse("An access token lives for a minute to half an hour, and a session for 5 minutes to 45 days.")
        }
        guard service.accessTokenLifetime <= service.refreshTokenLifetime else {
            throw refuse("An access token lives no longer than its session: accessTokenSeconds, refreshTokenSeconds.")
        }
        guard Self.isWord(service.audience) else {
            throw refuse("accessTokenAudience is one word: whom the access tokens are for.")
        }
        let known = SignInServiceAttribute.allCases.map(\.rawValue)
        guard service.attributes.allSatisfy(known.containsBytes) else {
            throw refuse("Access tokens say of a person: \(known.joined(separator: ", ")).")
        }
        let most = Limits.Fixed.signInServiceLevels
        let fewest = service.answers == .serviceAccount ? 0 : 1
        guard (fewest...most).contains(service.levels.count), service.levels.allSatisfy({ Self.isWord($0.word) }),
            Set(service.levels.map { ExactText($0.word) }).count == service.levels.count
        else { throw refuse("serviceLevels are 1 to \(most) words, each once, as loa1 or loa3=NEEDED.") }
    }
}

/// The attributes of a person that access tokens can contain.
package enum SignInServiceAttribute: String, Sendable, CaseIterable {
    case firstName = "first_name"
    case lastName = "last_name"
    case email
    case allEmails = "all_emails"

    /// Returns the attribute's value for a person; `nil` if the value is not known. If a name is a single text, the
    /// last word counts as the last name, as clients that request two names expect.
    package func value(of person: Person) -> JSON? {
        switch self {
        case .firstName: Self.names(of: person).first.map(JSON.string)
        case .lastName: Self.names(of: person).last.map(JSON.string)
        case .email: person.email.map { .string($0.address) }
        case .allEmails: person.email.map { .array([.string($0.address)]) }
        }
    }

    private static func names(of person: Person) -> (first: String?, last: String?) {
        guard let name = person.displayName else { return (nil, nil) }
        let words = name.splitBytes(at: " ").filter { !$0.isEmpty }
        guard let last = words.last, words.count > 1 else { return (name, nil) }
        return (words.dropLast().joined(separator: " "), String(last))
    }
}
