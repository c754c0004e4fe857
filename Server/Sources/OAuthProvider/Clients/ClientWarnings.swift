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
        [Self.ofScheme(client), Self.ofRefreshTokens(client)].compactMap(\.self)
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
