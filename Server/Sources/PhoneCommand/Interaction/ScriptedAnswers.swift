/// The answers that were given on the command line, and the PINs on the standard input.
struct ScriptedAnswers: Sendable {
    enum Decision: Sendable {
        case approve, deny
    }

    private(set) var decision: Decision?
    let account: String?
    let authenticator: AuthenticatorName?
    let opensContinuation: Bool
    /// Whether a PIN is asked of the keyboard where none is left here.
    let hasPIN: Bool
    private var pins: [String]

    init(_ options: AnswerOptions) {
        self.decision = options.approve ? .approve : options.deny ? .deny : nil
        self.account = options.account
        self.authenticator = options.authenticator
        self.opensContinuation = options.open
        self.hasPIN = options.pin != nil || options.pinStdin
        self.pins = options.pin.map { [$0] } ?? []
        if options.pinStdin {
            while let line = readLine(strippingNewline: true) { self.pins.append(line) }
        }
    }

    /// A script that enrols a phone has said with that command that it wants to.
    mutating func approveEnrolment() { self.decision = self.decision ?? .approve }

    /// Nobody else asks for an authentication that the phone's own user starts.
    mutating func approveOwnRequest() { self.decision = self.decision ?? .approve }

    /// The next PIN; each line is used once.
    mutating func nextPIN() -> String? { self.pins.isEmpty ? nil : self.pins.removeFirst() }
}
