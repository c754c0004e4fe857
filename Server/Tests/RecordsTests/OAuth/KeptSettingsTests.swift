import JOSE
import Records
import Testing
import _Primitives

@Suite("OpenID Connect Dynamic Client Registration 1.0, section 2: the kept form of a client's settings and records")
struct KeptSettingsTests {
    /// Returns the text of an error of corrupt data; `nil` without an error.
    private static func corruption(_ read: () throws -> Void) throws -> String? {
        do {
            try read()
            return nil
        } catch let error as StoreError {
            #expect(error.code == .corrupt)
            return error.reason
        }
    }

    private static func settings(_ change: (inout TokenSettings) -> Void) -> TokenSettings {
        var settings = TokenSettings()
        change(&settings)
        return settings
    }

    @Test(
        "Each setting is kept under its name, and a usual value is left out.",
        arguments: [
            (Self.settings { _ in }, "{}"),
            (Self.settings { $0.scopes = ["a", "b"] }, #"{"scopes":["a","b"]}"#),
            (Self.settings { $0.resources = ["a"] }, #"{"resources":["a"]}"#),
            (Self.settings { $0.audiences = ["a"] }, #"{"audiences":["a"]}"#),
            (Self.settings { $0.subjects = ["a"] }, #"{"subjects":["a"]}"#),
            (Self.settings { $0.format = .opaque }, #"{"format":"opaque"}"#),
            (Self.settings { $0.actor = "a" }, #"{"actor":"a"}"#),
            (Self.settings { $0.group = "a" }, #"{"group":"a"}"#),
            (Self.settings { $0.certificateBound = true }, #"{"certificateBound":true}"#),
            (Self.settings { $0.usedRefreshTokenLifetime = .seconds(5) }, #"{"usedRefreshTokenSeconds":5}"#),
            (Self.settings { $0.refreshesIDToken = false }, #"{"refreshesIDToken":false}"#),
            (Self.settings { $0.keyBound = true }, #"{"keyBound":true}"#),
            (Self.settings { $0.linksChannels = true }, #"{"channelLinking":true}"#),
            (Self.settings { $0.userinfoAlgorithm = .es256 }, #"{"userinfoAlgorithm":"ES256"}"#),
        ])
    func tokens(settings: TokenSettings, text: String) throws {
        #expect(settings.text == text)
        #expect(try TokenSettings(kept: text) == settings)
    }

    @Test("The encryption of ID tokens is kept as two names.")
    func encryption() throws {
        for algorithm in KeyManagementAlgorithm.all {
            for content in ContentEncryption.all {
                let settings = TokenSettings(idTokenEncryption: IDTokenEncryption(algorithm, content: content))
                #expect(
                    settings.text
                        == #"{"idTokenEncryption":["\#(algorithm.rawValue)","\#(content.rawValue)"]}"#)
                #expect(try TokenSettings(kept: settings.text) == settings)
            }
        }
    }

    @Test(
        "Settings of another form are corrupt.",
        arguments: [
            ("[]", "a client's tokens"), ("", "a client's tokens"), (#"{"scopes":1}"#, "a client's tokens"),
            (#"{"format":"sealed"}"#, "what a client's tokens look like"),
            (#"{"idTokenEncryption":["A"]}"#, "how a client's ID tokens are encrypted"),
            (#"{"idTokenEncryption":["RSA-OAEP-256","A"]}"#, "how a client's ID tokens are encrypted"),
            (#"{"idTokenEncryption":["A","A256GCM"]}"#, "how a client's ID tokens are encrypted"),
            (#"{"userinfoAlgorithm":"none"}"#, "the algorithm of a client's userinfo"),
        ])
    func corruptTokens(text: String, reason: String) throws {
        #expect(try Self.corruption { _ = try TokenSettings(kept: text) } == reason)
    }

    @Test("The settings of the app sign-in service are read from their document.")
    func signInService() throws {
        var settings = SignInServiceSettings(answers: .cookie)
        settings.audience = "https://api.example"
        #expect(try SignInServiceSettings(kept: JSON.object(settings.json).text) == settings)
        #expect(try SignInServiceSettings(kept: "{}") == SignInServiceSettings())
        for text in ["[]", "", #"{"pkce":1}"#, #"{"authentication":"paper"}"#] {
            #expect(
                try Self.corruption { _ = try SignInServiceSettings(kept: text) }
                    == "a client of the app sign-in service")
        }
    }

    private static let authentication = AuthenticationRecord(
        id: "authentication", account: "account", method: "phone", at: Timestamp(seconds: 1_800_000_000), acr: "acr",
        amr: ["hwk"])

    @Test("A session is nobody's without an authentication.")
    func session() {
        let end = Timestamp(seconds: 1_900_000_000)
        func session(_ authentications: [AuthenticationRecord]) -> SessionRecord? {
            SessionRecord(
                id: "session", cookieDigest: [1], remaining: authentications, usedAt: end - .seconds(1),
                expiresAt: end, hasBrowser: false)
        }
        #expect(session([]) == nil)
        #expect(
            session([Self.authentication])
                == SessionRecord(
                    id: "session", cookieDigest: [1], authentications: [Self.authentication],
                    usedAt: end - .seconds(1), expiresAt: end, hasBrowser: false))
    }

    @Test("A grant without its authentication is corrupt.")
    func standingGrant() throws {
        let grant = GrantRecord(
            id: "grant", client: "client", subject: "subject", authentication: "authentication", session: nil,
            scope: "openid", expiresAt: Timestamp(seconds: 1_900_000_000))
        #expect(
            try StandingGrant(grant: grant, found: (Self.authentication, isAccountLocked: true))
                == StandingGrant(grant: grant, authentication: Self.authentication, isAccountLocked: true))
        #expect(
            try Self.corruption { _ = try StandingGrant(grant: grant, found: nil) }
                == "a grant without its authentication")
    }

    @Test("A listed row is a grant or a device secret.")
    func listing() throws {
        #expect(try GrantListing.Kind(kept: "grant") == .grant)
        #expect(try GrantListing.Kind(kept: "device-secret") == .deviceSecret)
        #expect(try Self.corruption { _ = try GrantListing.Kind(kept: "consent") } == "a kind of a listing")
    }
}
