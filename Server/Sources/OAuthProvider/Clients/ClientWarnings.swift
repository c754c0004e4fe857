import OAuth
public import Store

/// What an operator is warned of, of a client as it is.
public struct ClientWarning: Sendable, Equatable {
    /// The option of `admin client change` that the warning is about.
    public let setting: String
    /// A sentence that says what can happen, and what to do instead.
    public let sentence: String

    /// The warnings of a client, in a fixed order.
    public static func all(of client: ClientRecord) -> [Self] {
        [
            Self.ofScheme(client), Self.ofRefreshTokens(client), Self.ofBackEndCookies(client),
            Self.ofShortVerifiers(client),
        ].compactMap(\.self)
    }

    private static func ofBackEndCookies(_ client: ClientRecord) -> Self? {
        guard let service = client.settings.signInService, service.takesBackEndCookies, service.answers == .cookie
        else {
            return nil
        }
        return Self(
            setting: "--sign-in-service backEndCookies",
            sentence:
                "A link of somebody else's signs people out whose browser does not send Sec-Fetch-Site (made before 2023): have the back end send anti_csrf_token as a parameter, and an Origin of the client's."
        )
    }

    private static func ofShortVerifiers(_ client: ClientRecord) -> Self? {
        guard client.settings.signInService?.takesShortVerifiers == true else { return nil }
        return Self(
            setting: "--sign-in-service shortVerifiers",
            sentence:
                "A code_verifier of 32 hexadecimal digits has 128 random bits at most, where RFC 7636 wants 256: use one of 43 characters or more."
        )
    }

    private static func ofScheme(_ client: ClientRecord) -> Self? {
        guard client.settings.signInService?.takesAnyScheme == true,
            let address = client.redirectURIs.first, (try? RedirectURI(address, allowing: RedirectURI.everyKind)) == nil
        else { return nil }
        return Self(
            setting: "--sign-in-service anyScheme",
            sentence:
                "Any app can take the scheme of \(address), and with it the codes that are sent there: claim an https address, or use the name of a domain of yours in reverse, as org.example.app:/signed-in."
        )
    }

    private static func ofRefreshTokens(_ client: ClientRecord) -> Self? {
        guard let time = client.settings.tokens.usedRefreshTokenLifetime,
            time > Limits().oauth.usedRefreshTokenLifetime,
            client.settings.isPublic || client.settings.signInService != nil
        else { return nil }
        return Self(
            setting: "--used-refresh-token-seconds",
            sentence:
                "A refresh token that nothing binds gives the same next token for \(time.components.seconds) seconds after its use: for so long a thief with a copy is not told from its owner."
        )
    }
}
