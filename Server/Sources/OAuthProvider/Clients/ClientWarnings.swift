import OAuth
public import Records
import Settings

/// A warning to an operator about a client's present settings.
public struct ClientWarning: Sendable, Equatable {
    /// The option of `admin client change` that the warning is about.
    public let setting: String
    /// A sentence about the danger and the remedy.
    public let sentence: String

    /// Returns the warnings of a client, in a fixed order.
    public static func all(of client: ClientRecord) -> [Self] {
        [
            Self.ofScheme(client), Self.ofRefreshTokens(client), Self.ofCodes(client), Self.ofAssertions(client),
            Self.ofLocalhost(client), Self.ofBackEndCookies(client), Self.ofShortVerifiers(client),
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

    private static func ofCodes(_ client: ClientRecord) -> Self? {
        guard client.codeBinding == .nothing else { return nil }
        return Self(
            setting: "--pkce none",
            sentence:
                "Its codes are bound to nothing but the client: whoever gets hold of one can have it exchanged in a session of their own at the service. Have the service send a code_challenge or a nonce, and set --pkce usual."
        )
    }

    private static func ofAssertions(_ client: ClientRecord) -> Self? {
        guard client.settings.assertionAudience == .tokenEndpoint else { return nil }
        return Self(
            setting: "--assertion-audience token-endpoint",
            sentence:
                "Its assertions may name the token endpoint: another server that says that this is its token endpoint, too, gets assertions that are good here. Have the service name the issuer, and set --assertion-audience issuer."
        )
    }

    private static func ofLocalhost(_ client: ClientRecord) -> Self? {
        let address = client.redirectURIs.first {
            (try? RedirectURI($0, allowing: RedirectURI.everyKind))?.kind == .localhost
        }
        guard let address else { return nil }
        return Self(
            setting: "--redirect-uri",
            sentence:
                "In \(address) localhost is a name, which a machine can resolve to another address, or another program can listen at: register \(address.replacingLocalhost) instead, and have the service name that."
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

extension String {
    /// The address with the machine's number in place of `localhost`.
    fileprivate var replacingLocalhost: String {
        "http://127.0.0.1" + self.dropFirst("http://localhost".count)
    }
}
