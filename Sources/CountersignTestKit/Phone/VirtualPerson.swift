public import Countersign
public import Foundation
public import UAF
public import UAFClient

/// A person in front of a phone: answers the SDK's questions by a script and remembers what was asked.
// Safe to share: every access to `state` is within `lock`.
public final class VirtualPerson: @unchecked Sendable {
    /// What the SDK can ask.
    public enum Question: Hashable, Sendable, CaseIterable {
        case account, authenticator, requester, transaction, newPin, pin, newPassword, password, finger, face, passcode
    }

    /// How the person answers a question.
    public enum Reaction: Hashable, Sendable {
        /// As the script says.
        case answers
        /// Gives up.
        case cancels
        /// Says nothing.
        case ignores
    }

    /// What the person does.
    public struct Script: Sendable {
        /// The account that the person chooses; the first one where it is `nil`.
        public var username: Username?
        /// The authenticator that the person chooses; the first that meets the policy where it is `nil`.
        public var kind: AuthenticatorDescriptor.Kind?
        /// The authenticator that the person chooses, whatever it is.
        public var aaid: Aaid?
        /// The PINs that the person enrols with, one for each question; the last one stays.
        public var newPins = ["135790"]
        /// The PINs that the person types, one for each question; the last one stays.
        public var pins = ["135790"]
        /// The passwords that the person enrols with, one for each question; the last one stays.
        public var newPasswords = ["lantern street 9"]
        /// The passwords that the person types, one for each question; the last one stays.
        public var passwords = ["lantern street 9"]
        /// What the operating system's dialogs for face and passcode show.
        public var prompt = SystemPrompt()
        /// How the person reacts; whatever is not here is answered.
        public var reactions: [Question: Reaction] = [:]

        /// Answers everything.
        public init() {}
    }

    /// A question that was asked, with what the person saw.
    public struct Asked: Sendable {
        /// Which question.
        public let question: Question
        /// What was to be confirmed, where the question shows it.
        public var transaction: Data?
        /// What kind of content that was.
        public var contentType: TransactionContentType?
        /// The fields of what was to be confirmed, where it was a payment.
        public var payment: PaymentDetails?
        /// Who asked, where the question shows it.
        public var requester: Countersign.Requester?
        /// The accounts to choose from.
        public var accounts: [RegisteredAccount] = []
        /// The authenticators to choose from, and those among them that meet the policy.
        public var authenticators: [AuthenticatorDescriptor] = []
        /// Those of ``authenticators`` that meet the policy.
        public var compliant: [AuthenticatorDescriptor.Kind] = []
        /// How the PIN or the password stands.
        public var status: AuthenticatorProtectionStatus?
        /// Whether the question is a repetition, and why.
        public var lastError: String?
    }

    private struct State {
        var script: Script
        var asked: [Asked] = []
        /// How the PIN or the password stood when it was asked for last, and was to wait.
        var wait: AuthenticatorProtectionStatus?
    }

    private let lock = NSLock()
    private var state: State

    /// A person of that script.
    public init(_ script: Script = Script()) { self.state = State(script: script) }

    /// What the person does from now on.
    public var script: Script {
        get { self.lock.withLock { self.state.script } }
        set { self.lock.withLock { self.state.script = newValue } }
    }

    /// Everything that was asked, oldest first.
    public var asked: [Asked] { self.lock.withLock { self.state.asked } }

    /// Forgets what was asked.
    public func forget() { self.lock.withLock { self.state.asked = [] } }

    /// Notes the question; answers as the script says.
    private func react(_ asked: Asked, cancel: () -> Void, answer: (Script) -> Void) {
        let (script, reaction) = self.lock.withLock {
            self.state.asked.append(asked)
            return (self.state.script, self.state.script.reactions[asked.question] ?? .answers)
        }
        switch reaction {
        case .answers: answer(script)
        case .cancels: cancel()
        case .ignores: break
        }
    }

    /// Whether the person was told to wait, has typed again, and the same time is left: the test's clock stands still, and the
    /// person gives up.
    private func waitsInVain(_ isToldToWait: Bool, _ status: AuthenticatorProtectionStatus?) -> Bool {
        self.lock.withLock {
            defer { self.state.wait = isToldToWait ? status : nil }
            return isToldToWait && self.state.wait == status
        }
    }

    private func next(_ list: WritableKeyPath<Script, [String]>) -> String {
        self.lock.withLock {
            let first = self.state.script[keyPath: list].first ?? ""
            if self.state.script[keyPath: list].count > 1 { self.state.script[keyPath: list].removeFirst() }
            return first
        }
    }
}

extension VirtualPerson: AccountSelector, AuthenticatorSelector, RequesterVerifier, TransactionConfirmer {
    /// Chooses by the script.
    public func selectAccount(context: AccountSelectionContext, handler: AccountSelectionHandler) {
        var asked = Asked(question: .account)
        asked.transaction = context.transactionConfirmationData
        asked.contentType = context.transactionConfirmationContentType
        asked.payment = context.payment
        asked.requester = context.requester
        asked.accounts = context.accounts
        asked.authenticators = context.authenticators
        self.react(asked, cancel: handler.cancel) { script in
            handler.username(script.username ?? context.accounts.first?.username ?? "")
        }
    }

    /// Chooses by the script.
    public func selectAuthenticator(context: AuthenticatorSelectionContext, handler: AuthenticatorSelectionHandler) {
        let compliant = context.authenticators.filter { context.isPolicyCompliant(authenticatorAaid: $0.aaid) }
        var asked = Asked(question: .authenticator)
        asked.transaction = context.transactionConfirmationData
        asked.contentType = context.transactionConfirmationContentType
        asked.payment = context.payment
        asked.requester = context.requester
        asked.accounts = [context.account]
        asked.authenticators = context.authenticators
        asked.compliant = compliant.map(\.kind)
        self.react(asked, cancel: handler.cancel) { script in
            let chosen = script.kind.map { kind in context.authenticators.first { $0.kind == kind } } ?? compliant.first
            handler.aaid(script.aaid ?? chosen?.aaid ?? "")
        }
    }

    /// Approves, unless the script says otherwise.
    public func verifyRequester(context: RequesterVerificationContext, handler: RequesterVerificationHandler) {
        var asked = Asked(question: .requester)
        asked.requester = context.requester
        asked.accounts = [context.account]
        self.react(asked, cancel: handler.cancel) { _ in handler.approve() }
    }

    /// Approves, unless the script says otherwise.
    public func confirmTransaction(context: TransactionConfirmationContext, handler: TransactionConfirmationHandler) {
        var asked = Asked(question: .transaction)
        asked.transaction = context.transactionConfirmationData
        asked.contentType = context.transactionConfirmationContentType
        asked.payment = context.payment
        asked.requester = context.requester
        asked.accounts = [context.account]
        self.react(asked, cancel: handler.cancel) { _ in handler.approve() }
    }
}

extension VirtualPerson: PinEnroller, PinUserVerifier, FingerprintUserVerifier {
    /// Gives the script's next new PIN.
    public func enrollPin(context: PinEnrollmentContext, handler: PinEnrollmentHandler) {
        var asked = Asked(question: .newPin)
        asked.lastError = context.lastRecoverableError.map { "\($0)" }
        self.react(asked, cancel: handler.cancel) { _ in handler.pin(self.next(\.newPins)) }
    }

    /// Types the script's next PIN.
    public func verifyPin(context: PinUserVerificationContext, handler: PinUserVerificationHandler) {
        var asked = Asked(question: .pin)
        asked.status = context.authenticatorProtectionStatus
        asked.lastError = context.lastRecoverableError.map { "\($0)" }
        let waits = self.waitsInVain(context.lastRecoverableError == .coolingDown, asked.status)
        self.react(asked, cancel: handler.cancel) { _ in
            waits ? handler.cancel() : handler.verifyPin(self.next(\.pins))
        }
    }

    /// Puts a finger on the sensor, unless the script says otherwise.
    public func verifyFingerprint(
        context: FingerprintUserVerificationContext, handler: FingerprintUserVerificationHandler
    ) {
        var asked = Asked(question: .finger)
        asked.lastError = context.lastRecoverableError?.hint
        self.react(asked, cancel: handler.cancel) { _ in handler.listenForOsCredentials() }
    }
}

extension VirtualPerson: PasswordEnroller, PasswordUserVerifier {
    /// Gives the script's next new password.
    public func enrollPassword(context: PasswordEnrollmentContext, handler: PasswordEnrollmentHandler) {
        var asked = Asked(question: .newPassword)
        asked.lastError = context.lastRecoverableError.map { "\($0)" }
        self.react(asked, cancel: handler.cancel) { _ in handler.password(self.next(\.newPasswords)) }
    }

    /// Types the script's next password.
    public func verifyPassword(context: PasswordUserVerificationContext, handler: PasswordUserVerificationHandler) {
        var asked = Asked(question: .password)
        asked.status = context.authenticatorProtectionStatus
        asked.lastError = context.lastRecoverableError.map { "\($0)" }
        let waits = self.waitsInVain(context.lastRecoverableError == .coolingDown, asked.status)
        self.react(asked, cancel: handler.cancel) { _ in
            waits ? handler.cancel() : handler.verifyPassword(self.next(\.passwords))
        }
    }
}

extension VirtualPerson: BiometricUserVerifier, DevicePasscodeUserVerifier {
    /// Looks at the phone, unless the script says otherwise.
    public func verifyBiometric(context: BiometricUserVerificationContext, handler: BiometricUserVerificationHandler) {
        self.react(Asked(question: .face), cancel: handler.cancel) { handler.listenForOsCredentials($0.prompt) }
    }

    /// Lets the operating system ask for the passcode, unless the script says otherwise.
    public func verifyDevicePasscode(
        context: DevicePasscodeUserVerificationContext, handler: DevicePasscodeUserVerificationHandler
    ) {
        self.react(Asked(question: .passcode), cancel: handler.cancel) { handler.listenForOsCredentials($0.prompt) }
    }
}
