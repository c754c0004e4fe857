public import Ceremony
public import Countersign
public import Foundation
public import UAF
public import UAFClient

/// A person with a phone who answers the SDK's questions by a script. The type records the questions.
// Safe to share: every access to `state` is within `lock`.
public final class VirtualPerson: @unchecked Sendable {
    /// A question of the SDK.
    public enum Question: Hashable, Sendable, CaseIterable {
        case account, authenticator, requester, transaction, newPin, pin, newPassword, password, finger, face, passcode
        case pinChange, passwordChange, number
    }

    /// The person's reaction to a question.
    public enum Reaction: Hashable, Sendable {
        /// The person answers by the script.
        case answers
        /// The person cancels.
        case cancels
        /// The person denies the request with the script's statement. A question without a denial is cancelled.
        case denies
        /// The person does nothing.
        case ignores
    }

    /// The person's script.
    public struct Script: Sendable {
        /// The account that the person chooses; `nil` for the first account.
        public var username: Username?
        /// The kind of authenticator that the person chooses; `nil` for the first authenticator that meets the policy.
        public var kind: AuthenticatorDescriptor.Kind?
        /// The authenticator that the person chooses, whatever its kind.
        public var aaid: Aaid?
        /// The new PINs for enrolment, one for each question; the last PIN repeats.
        public var newPins = ["135790"]
        /// The PINs that the person types, one for each question; the last PIN repeats.
        public var pins = ["135790"]
        /// The new passwords for enrolment, one for each question; the last password repeats.
        public var newPasswords = ["lantern street 9"]
        /// The passwords that the person types, one for each question; the last password repeats.
        public var passwords = ["lantern street 9"]
        /// The new PINs for a change, one for each question; the last PIN repeats. The old PINs are ``pins``.
        public var changedPins = ["864209"]
        /// The new passwords for a change, one for each question; the last password repeats. The old passwords are
        /// ``passwords``.
        public var changedPasswords = ["harbour bridge 4"]
        /// The numbers that the person types where the request is shown, one for each question; the last number repeats.
        public var numbers = ["123456"]
        /// The texts in the operating system's dialogs for face and passcode.
        public var prompt = SystemPrompt()
        /// The statement with which the person denies a request.
        public var denial = DenialStatement.unwanted
        /// The reactions to questions. The person answers every question without an entry.
        public var reactions: [Question: Reaction] = [:]

        /// Creates a script that answers everything.
        public init() {}
    }

    /// A question of the SDK, with the data that the person saw.
    public struct Asked: Sendable {
        /// The kind of question.
        public let question: Question
        /// The content to confirm, if the question shows content.
        public var transaction: Data?
        /// The type of the content.
        public var contentType: TransactionContentType?
        /// The fields of the content, if the content is a payment.
        public var payment: PaymentDetails?
        /// The requester, if the question shows a requester.
        public var requester: Countersign.Requester?
        /// The accounts to choose from.
        public var accounts: [RegisteredAccount] = []
        /// The authenticators to choose from.
        public var authenticators: [AuthenticatorDescriptor] = []
        /// The kinds among ``authenticators`` that meet the policy.
        public var compliant: [AuthenticatorDescriptor.Kind] = []
        /// The state of the PIN or the password.
        public var status: AuthenticatorProtectionStatus?
        /// The reason for asking again; `nil` for a first question.
        public var lastError: String?
    }

    private struct State {
        var script: Script
        var asked: [Asked] = []
        /// The state of the PIN or the password at the last question that told the person to wait.
        var wait: AuthenticatorProtectionStatus?
    }

    private let lock = NSLock()
    private var state: State

    /// Creates a person with the script.
    public init(_ script: Script = Script()) { self.state = State(script: script) }

    /// The person's script from now on.
    public var script: Script {
        get { self.lock.withLock { self.state.script } }
        set { self.lock.withLock { self.state.script = newValue } }
    }

    /// All questions, oldest first.
    public var asked: [Asked] { self.lock.withLock { self.state.asked } }

    /// Forgets the earlier questions.
    public func forget() { self.lock.withLock { self.state.asked = [] } }

    /// Records the question, and reacts by the script.
    private func react(
        _ asked: Asked, cancel: () -> Void, deny: ((DenialStatement) -> Void)? = nil, answer: (Script) -> Void
    ) {
        let (script, reaction) = self.lock.withLock {
            self.state.asked.append(asked)
            return (self.state.script, self.state.script.reactions[asked.question] ?? .answers)
        }
        switch reaction {
        case .answers: answer(script)
        case .cancels: cancel()
        case .denies: deny.map { $0(script.denial) } ?? cancel()
        case .ignores: break
        }
    }

    /// Returns `true` if the person was told to wait and typed again, but the remaining time is the same: the test's
    /// clock stands still, so the person gives up.
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
        self.react(asked, cancel: handler.cancel, deny: handler.deny) { script in
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
        self.react(asked, cancel: handler.cancel, deny: handler.deny) { script in
            let chosen = script.kind.map { kind in context.authenticators.first { $0.kind == kind } } ?? compliant.first
            handler.aaid(script.aaid ?? chosen?.aaid ?? "")
        }
    }

    /// Approves, unless the script says otherwise.
    public func verifyRequester(context: RequesterVerificationContext, handler: RequesterVerificationHandler) {
        var asked = Asked(question: .requester)
        asked.requester = context.requester
        asked.accounts = [context.account]
        self.react(asked, cancel: handler.cancel, deny: handler.deny) { _ in handler.approve() }
    }

    /// Approves, unless the script says otherwise.
    public func confirmTransaction(context: TransactionConfirmationContext, handler: TransactionConfirmationHandler) {
        var asked = Asked(question: .transaction)
        asked.transaction = context.transactionConfirmationData
        asked.contentType = context.transactionConfirmationContentType
        asked.payment = context.payment
        asked.requester = context.requester
        asked.accounts = [context.account]
        self.react(asked, cancel: handler.cancel, deny: handler.deny) { _ in handler.approve() }
    }
}

extension VirtualPerson: NumberMatcher {
    /// Types the script's next number.
    public func matchNumber(context: NumberMatchContext, handler: NumberMatchHandler) {
        var asked = Asked(question: .number)
        asked.requester = context.requester
        asked.accounts = [context.account]
        asked.lastError = context.lastRecoverableError.map { "\($0)" }
        self.react(asked, cancel: handler.cancel, deny: handler.deny) { _ in handler.number(self.next(\.numbers)) }
    }
}

extension VirtualPerson: PinEnroller, PinUserVerifier, FingerprintUserVerifier {
    /// Gives the script's next new PIN.
    public func enrollPin(context: PinEnrollmentContext, handler: PinEnrollmentHandler) {
        var asked = Asked(question: .newPin)
        asked.lastError = context.lastRecoverableError.map { "\($0)" }
        self.react(asked, cancel: handler.cancel) { _ in handler.pin(self.next(\.newPins)) }
    }

    /// Types the script's next PIN. Cancels if the person was told to wait and the test's clock stands still.
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

    /// Types the script's next password. Cancels if the person was told to wait and the test's clock stands still.
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

extension VirtualPerson: PinChanger, PasswordChanger {
    /// Types the script's next PIN, and the next PIN for a change. Cancels if the person was told to wait and the test's
    /// clock stands still.
    public func changePin(context: PinChangeContext, handler: PinChangeHandler) {
        var asked = Asked(question: .pinChange)
        asked.status = context.authenticatorProtectionStatus
        asked.lastError = context.lastRecoverableError.map { "\($0)" }
        let waits = self.waitsInVain(context.lastRecoverableError == .coolingDown, asked.status)
        self.react(asked, cancel: handler.cancel) { _ in
            waits ? handler.cancel() : handler.pins(old: self.next(\.pins), new: self.next(\.changedPins))
        }
    }

    /// Types the script's next password, and the next password for a change. Cancels if the person was told to wait and
    /// the test's clock stands still.
    public func changePassword(context: PasswordChangeContext, handler: PasswordChangeHandler) {
        var asked = Asked(question: .passwordChange)
        asked.status = context.authenticatorProtectionStatus
        asked.lastError = context.lastRecoverableError.map { "\($0)" }
        let waits = self.waitsInVain(context.lastRecoverableError == .coolingDown, asked.status)
        self.react(asked, cancel: handler.cancel) { _ in
            waits
                ? handler.cancel()
                : handler.passwords(old: self.next(\.passwords), new: self.next(\.changedPasswords))
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
