import OAuth
public import Store
import _Primitives

extension OpenIDProvider {
    /// Holds what a client is to the app sign-in service against what it is beside that. Throws `OAuthError`
    /// `invalid_request` with a sentence for the administrator. Of an address that any app can take, the operator's log is
    /// told.
    func checkSignInService(of client: ClientRecord) throws {
        let settings = client.settings
        guard let service = settings.signInService else { return }
        func refuse(_ sentence: String) -> OAuthError { OAuthError(.invalidRequest, sentence) }
        guard ProviderRefusal.isClientName(client.id) else {
            throw refuse(
                "A client id has letters, digits, hyphens and underscores, \(Limits.Fixed.notedClientBytes) at most.")
        }
        guard settings.isPublic else {
            throw refuse("A client of the app sign-in service shows the verifier of its code (--auth-method none).")
        }
        guard settings.party == .first else { throw refuse("The app sign-in service is for your own clients.") }
        guard settings.tokens == TokenSettings(), settings.profile.security == .usual, !settings.profile.signsInDirectly
        else {
            throw refuse("A client has one profile: scopes, resources, groups and fapi2 are the other face's.")
        }
        guard settings.grantTypes == [Self.codeGrant] else {
            throw refuse("A client of the app sign-in service has the grant type authorization_code, and no other.")
        }
        guard client.redirectURIs.count == 1 else {
            throw refuse("A client of the app sign-in service has one redirect address: its requests name none.")
        }
        if service.answers == .cookie {
            guard client.postLogoutRedirectURIs.count <= 1 else {
                throw refuse("A client of the app sign-in service has one address after signing out.")
            }
            guard try settings.redirectURI(client.redirectURIs[0]).kind != .privateScheme else {
                throw refuse("A web site, which is answered by cookies, has no scheme of its own.")
            }
        }
        try Self.check(service)
        let levels = self.configuration.levels
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

    private static func check(_ service: SignInServiceSettings) throws {
        func refuse(_ sentence: String) -> OAuthError { OAuthError(.invalidRequest, sentence) }
        func isWord(_ text: String) -> Bool {
            (1...Limits.Fixed.signInServiceWordBytes).contains(text.utf8.count)
                && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: ",") }
        }
        guard Limits.Fixed.signInServiceAccessLifetimes.contains(service.accessTokenLifetime),
            Limits.Fixed.signInServiceSessionLifetimes.contains(service.refreshTokenLifetime)
        else {
            throw refuse("An access token lives for a minute to half an hour, and a session for 5 minutes to 45 days.")
        }
        guard service.accessTokenLifetime <= service.refreshTokenLifetime else {
            throw refuse("An access token lives no longer than its session: accessTokenSeconds, refreshTokenSeconds.")
        }
        guard isWord(service.audience) else {
            throw refuse("accessTokenAudience is one word: whom the access tokens are for.")
        }
        let known = SignInServiceAttribute.allCases.map(\.rawValue)
        guard service.attributes.allSatisfy(known.containsBytes) else {
            throw refuse("Access tokens say of a person: \(known.joined(separator: ", ")).")
        }
        let most = Limits.Fixed.signInServiceLevels
        guard (1...most).contains(service.levels.count), service.levels.allSatisfy({ isWord($0.word) }),
            Set(service.levels.map { ExactText($0.word) }).count == service.levels.count
        else { throw refuse("serviceLevels are 1 to \(most) words, each once, as loa1 or loa3=NEEDED.") }
    }

    /// What an operator is warned of, of a client as it is.
    public static func warnings(of client: ClientRecord) -> [String] {
        guard client.settings.signInService?.takesAnyScheme == true,
            let address = client.redirectURIs.first, (try? RedirectURI(address, allowing: RedirectURI.everyKind)) == nil
        else { return [] }
        return [
            "Any app can take the scheme of \(address), and with it the codes that are sent there: claim an https address, or use the name of a domain of yours in reverse, as org.example.app:/signed-in."
        ]
    }
}

/// What access tokens can say of a person.
enum SignInServiceAttribute: String, CaseIterable {
    case firstName = "first_name"
    case lastName = "last_name"
    case email
    case allEmails = "all_emails"

    /// Of that person; `nil` where it is not known. Of a name that stands in one text the last word is taken for the last
    /// name, as the clients that ask for two names expect.
    func value(of person: Person) -> JSON? {
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
