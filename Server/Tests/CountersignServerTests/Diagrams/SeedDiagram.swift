import Ceremony
import Foundation
import Testing

/// A sequence diagram of the health app's documentation, as data: who sends to whom, in which order, and by which event a
/// recorded run tells of that step.
struct SeedDiagram: Sendable, CustomTestStringConvertible {
    /// What the documentation calls the service that signs people in: it has the same diagrams in two wordings.
    enum Wording: String, CaseIterable, Sendable {
        case signInService = "SIS"
        case identityAndAccessManagement = "IAM"
    }

    /// One arrow.
    struct Arrow: Sendable, Equatable {
        /// `D4.3` is the third of the fourth diagram.
        let id: String
        let from: String
        let to: String
        let event: String
    }

    let id: String
    let title: String
    let participants: [String]
    let arrows: [Arrow]

    var testDescription: String { "\(self.id) \(self.title)" }

    /// The five diagrams, and the steps of device SSO in the same form.
    static func all(_ wording: Wording) throws -> [SeedDiagram] {
        try Self.text.replacing("SIS", with: wording.rawValue).components(separatedBy: "\n\n").map {
            try SeedDiagram(text: $0)
        }
    }

    /// The diagram of that number.
    static func named(_ id: String, _ wording: Wording = .signInService) throws -> SeedDiagram {
        try #require(try Self.all(wording).first { $0.id == id })
    }

    private init(text: String) throws {
        let lines = text.split(separator: "\n").map(String.init)
        let id = String(try #require(lines[0].split(separator: " ").first))
        self.id = id
        self.title = String(lines[0].dropFirst(id.count + 1))
        self.participants = lines[1].components(separatedBy: ", ")
        self.arrows = try lines.dropFirst(2).enumerated().map { index, line in
            let match = try #require(line.firstMatch(of: /^(.+?) -> (.+): ([a-z-]+)$/), "\(line)")
            return Arrow(
                id: "\(id).\(index + 1)", from: String(match.1), to: String(match.2), event: String(match.3))
        }
    }

    /// Without what person and other provider say to each other, which nobody else hears.
    var arrowsBesideProvider: [Arrow] {
        self.arrows.filter { Set([$0.from, $0.to]) != ["User", "Identity Provider"] }
    }

    /// The events of the diagram's arrows.
    var events: Set<TraceEvent> {
        get throws { Set(try self.arrows.map { try #require(TraceEvent(rawValue: $0.event), "\($0.event)") }) }
    }

    /// What the documentation calls the parts of a recorded run.
    var labels: [String: String] {
        let names = [
            "User": "user", "Keychain": "storage", "Secure App Storage": "storage", "App": "app", "WebView": "webView",
            "Server": "server", "SIS": "server", "IAM": "server", "Identity Provider": "identityProvider",
        ]
        var labels: [String: String] = [:]
        for participant in self.participants { labels[names[participant] ?? participant] = participant }
        return labels
    }

    /// Title, participants, arrows.
    private static let text = """
        D1 Username and Password Authorization Flow
        User, App, Server
        User -> App: credentials-entered
        App -> Server: password-sent
        Server -> App: password-judged
        App -> User: result-shown

        D2 Biometrics Flow for Username and Password Initial Login
        User, Keychain, App, Server
        User -> App: credentials-entered
        App -> User: biometrics-offered
        User -> App: biometrics-accepted
        App -> Keychain: credentials-saved
        App -> Server: password-sent
        Server -> App: password-judged
        App -> User: result-shown

        D3 Biometrics Flow for Username and Password Subsequent Login
        User, Keychain, App, Server
        App -> Keychain: credentials-sought
        Keychain -> App: credentials-found
        App -> User: biometrics-asked
        User -> App: biometrics-given
        App -> Keychain: credentials-unlocked
        Keychain -> App: credentials-released
        App -> Server: password-sent
        Server -> App: password-judged
        App -> User: result-shown

        D4 VA: Health and Benefits Biometrics Initial Login
        User, Secure App Storage, App, SIS, Identity Provider
        User -> App: sign-in-tapped
        App -> SIS: sign-in-started
        SIS -> User: providers-shown
        User -> SIS: provider-chosen
        SIS -> Identity Provider: provider-asked
        Identity Provider -> User: provider-asked-person
        User -> Identity Provider: person-answered-provider
        Identity Provider -> SIS: person-confirmed
        SIS -> App: code-handed-over
        App -> SIS: session-wanted
        SIS -> App: session-given
        App -> User: biometrics-offered
        User -> App: biometrics-accepted
        App -> Secure App Storage: token-saved
        Secure App Storage -> App: token-kept
        App -> User: result-shown

        D5 VA: Health and Benefits Biometrics Subsequent Login
        User, Secure App Storage, App, SIS
        App -> Secure App Storage: token-sought
        Secure App Storage -> App: token-found
        App -> User: biometrics-asked
        User -> App: biometrics-given
        App -> Secure App Storage: token-unlocked
        Secure App Storage -> App: token-released
        App -> SIS: renewal-wanted
        SIS -> App: renewal-given
        App -> User: result-shown

        D6 Single Sign-On
        Keychain, App, WebView, SIS
        App -> SIS: sign-in-started
        SIS -> App: session-given
        App -> Keychain: device-secret-saved
        App -> SIS: web-session-wanted
        SIS -> App: web-session-given
        App -> WebView: cookies-placed
        App -> WebView: session-hinted
        WebView -> SIS: page-requested
        App -> SIS: web-session-wanted
        SIS -> App: web-session-given
        App -> WebView: cookies-placed
        App -> WebView: session-hinted
        WebView -> SIS: page-requested
        App -> SIS: revocation-wanted
        SIS -> App: revocation-done
        """
}
