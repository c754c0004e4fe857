import Foundation

/// The answers that were given on the command line, and the PINs or passwords on the standard input.
struct ScriptedAnswers: Sendable {
    enum Decision: Sendable {
        case approve, deny
    }

    private(set) var decision: Decision?
    /// Whether a browser that is new to the account is the person's own.
    let approvesNewBrowser: Bool
    let account: String?
    let authenticator: AuthenticatorName?
    let opensContinuation: Bool
    /// What the secrets here are, `pin` or `password`; `nil` where the keyboard is asked.
    let secret: AuthenticatorName?
    private var secrets: [String]

    /// - Parameter lines: Where the lines of secrets come from, until there is none: the standard input.
    init(_ options: AnswerOptions, lines: () -> String? = { readLine(strippingNewline: true) }) {
        self.decision = options.approve ? .approve : options.deny ? .deny : nil
        self.approvesNewBrowser = options.newBrowser
        self.account = options.account?.precomposedStringWithCanonicalMapping
        self.authenticator = options.authenticator
        self.opensContinuation = options.open
        self.secret = options.passwordStdin ? .password : options.pin != nil || options.pinStdin ? .pin : nil
        self.secrets = options.pin.map { [$0] } ?? []
        if options.takesStandardInput {
            while let line = lines() { self.secrets.append(line) }
        }
    }

    /// A script that enrols a phone has said with that command that it wants to.
    mutating func approveEnrolment() { self.decision = self.decision ?? .approve }

    /// Nobody else asks for an authentication that the phone's own user starts.
    mutating func approveOwnRequest() { self.decision = self.decision ?? .approve }

    /// Agrees to the phone's own request, whatever is said to the one that follows, and gives the answers to that: without
    /// the first secret, where there is another.
    mutating func dividedAfterOwnRequest() -> Self {
        var following = self
        if following.secrets.count > 1 { following.secrets.removeFirst() }
        self.decision = .approve
        return following
    }

    /// Whether a secret is left.
    var hasSecret: Bool { !self.secrets.isEmpty }

    /// The next PIN or password; each line is used once.
    mutating func next(_ kind: AuthenticatorName) -> String? {
        self.secret != kind || self.secrets.isEmpty ? nil : self.secrets.removeFirst()
    }
}
