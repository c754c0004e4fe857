import Ceremony
import Countersign
import Foundation

/// The answers on the command line, and the PINs or passwords on the standard input.
struct ScriptedAnswers: Sendable {
    enum Decision: Sendable {
        case approve, deny
    }

    private(set) var decision: Decision?
    /// The statement of a denial.
    let denial: DenialStatement
    /// `true` if a browser that is new to the account belongs to the person.
    let approvesNewBrowser: Bool
    let account: String?
    let authenticator: AuthenticatorName?
    let opensContinuation: Bool
    /// The number that is shown where the person began; `nil` if the keyboard is asked.
    let number: String?
    /// The kind of the secrets, `pin` or `password`; `nil` if the keyboard is asked.
    let secret: AuthenticatorName?
    private var secrets: [String]

    /// - Parameter lines: The source of the lines of secrets, until `nil`: the standard input.
    init(_ options: AnswerOptions, lines: () -> String? = { readLine(strippingNewline: true) }) {
        self.decision = options.approve ? .approve : options.deny || options.notMe ? .deny : nil
        self.denial = options.notMe ? .notMe : .unwanted
        self.approvesNewBrowser = options.newBrowser
        self.account = options.account?.precomposedStringWithCanonicalMapping
        self.authenticator = options.authenticator
        self.opensContinuation = options.open
        self.number = options.number
        self.secret = options.passwordStdin ? .password : options.pin != nil || options.pinStdin ? .pin : nil
        self.secrets = options.pin.map { [$0] } ?? []
        if options.takesStandardInput {
            while let line = lines() { self.secrets.append(line) }
        }
    }

    /// Makes the answers of a command that asks only for secrets.
    ///
    /// - Parameter secret: The kind of the secrets in `lines`, `pin` or `password`; `nil` to ask the keyboard.
    init(secret: AuthenticatorName?, lines: () -> String? = { readLine(strippingNewline: true) }) {
        self.denial = .unwanted
        self.approvesNewBrowser = false
        self.account = nil
        self.authenticator = nil
        self.opensContinuation = false
        self.number = nil
        self.secret = secret
        self.secrets = []
        guard secret != nil else { return }
        while let line = lines() { self.secrets.append(line) }
    }

    /// Approves an enrolment, unless the options deny it. A script that enrols a phone has agreed by its command.
    mutating func approveEnrolment() { self.decision = self.decision ?? .approve }

    /// Approves an authentication that the phone's own user starts, unless the options deny it: no other party asks for
    /// it.
    mutating func approveOwnRequest() { self.decision = self.decision ?? .approve }

    /// Agrees to the phone's own request, whatever the answer to the following request is. Returns the answers to the
    /// following request, without the first secret if another secret is left.
    mutating func dividedAfterOwnRequest() -> Self {
        var following = self
        if following.secrets.count > 1 { following.secrets.removeFirst() }
        self.decision = .approve
        return following
    }

    /// `true` if a secret is left.
    var hasSecret: Bool { !self.secrets.isEmpty }

    /// Returns the next PIN or password. Each line is used once. `nil` if no secret is left, or if the secrets are of
    /// the other kind.
    mutating func next(_ kind: AuthenticatorName) -> String? {
        self.secret != kind || self.secrets.isEmpty ? nil : self.secrets.removeFirst()
    }
}
