public import Countersign
public import Foundation
public import Observation

/// A question of the SDK to the person, as a screen shows the question.
public enum ScreenQuestion: Hashable, Sendable {
    /// The PIN, or a new PIN.
    case pin(PinPad)
    /// A content to approve.
    case approval(Approval)
    /// The number that the place of the request shows.
    case number(NumberEntry)
    /// An account or an authenticator.
    case choice(ScreenChoice)
}

/// The screens of the kit as the SDK's screens: each question of the SDK becomes ``question``, and each act of the person
/// an answer.
///
/// Give one object to the operations, as `pinUserVerifier`, `transactionConfirmer`, `numberMatcher`, `accountSelector`,
/// `authenticatorSelector`, `pinEnroller`, `fingerprintUserVerifier`, `biometricUserVerifier` and
/// `devicePasscodeUserVerifier`, and show ``question`` until it is `nil`. The selectors of the kit show no content: give a
/// confirmer too. For finger, face and passcode the operating system's own dialog shows at once.
@MainActor @Observable
public final class ScreenQuestions {
    private struct Replies {
        let give: @Sendable (String) -> Void
        let cancel: @Sendable () -> Void
        var deny: (@Sendable (DenialStatement) -> Void)?
    }

    /// The question that waits for an answer; `nil` if none waits.
    public private(set) var question: ScreenQuestion?
    @ObservationIgnored private var replies: Replies?
    @ObservationIgnored private let policy: PinPolicy
    @ObservationIgnored private let prompt: SystemPrompt
    @ObservationIgnored private let now: @Sendable () -> Date

    /// Creates the screens. `policy` judges new PINs. `prompt` has the app's texts in a dialog of the operating system.
    /// `now` is the clock of the app.
    public init(
        pinPolicy policy: PinPolicy = PinPolicy(), prompt: SystemPrompt = SystemPrompt(),
        now: @escaping @Sendable () -> Date
    ) {
        self.policy = policy
        self.prompt = prompt
        self.now = now
    }

    /// `true` if the person can deny the request as a request of somebody else.
    public var canDeny: Bool { self.replies?.deny != nil }

    /// Types a digit of the PIN or of the number.
    public func press(_ digit: Int) {
        self.edit({ $0.press(digit) }, { $0.press(digit) })
    }

    /// Erases the last digit.
    public func erase() {
        self.edit({ $0.erase() }, { $0.erase() })
    }

    /// Goes on with the typed PIN or number. Does nothing for too few digits, and before the deadline of a PIN.
    public func goOn() {
        switch self.question {
        case .pin(let pad): if let pin = pad.pin(at: self.now()) { self.end { $0.give(pin) } }
        case .number(let entry): if let number = entry.number { self.end { $0.give(number) } }
        case .approval, .choice, nil: break
        }
    }

    /// Approves a content. Does nothing unless the content is the shown content: another question can come between the
    /// drawing of a button and its press.
    public func approve(_ approval: Approval) {
        guard self.question == .approval(approval) else { return }
        self.end { $0.give("") }
    }

    /// Chooses an entry of the shown choice.
    public func choose(_ option: ScreenChoice.Option) {
        guard case .choice(let choice) = self.question, choice.options.contains(option) else { return }
        self.end { $0.give(option.id) }
    }

    /// Denies the request: the person did not begin it. Does nothing for a question without a denial.
    public func denyAsNotMe() {
        guard self.canDeny else { return }
        self.end { $0.deny?(.notMe) }
    }

    /// Gives up.
    public func cancel() { self.end { $0.cancel() } }

    /// Shows a question. A question that still waits is given up: its operation is over.
    private func ask(_ question: ScreenQuestion, _ replies: Replies) {
        self.cancel()
        self.question = question
        self.replies = replies
    }

    private func end(_ answer: (Replies) -> Void) {
        guard let replies = self.replies else { return }
        self.question = nil
        self.replies = nil
        answer(replies)
    }

    private func edit(_ pin: (inout PinPad) -> Void, _ number: (inout NumberEntry) -> Void) {
        switch self.question {
        case .pin(var pad):
            pin(&pad)
            self.question = .pin(pad)
        case .number(var entry):
            number(&entry)
            self.question = .number(entry)
        case .approval, .choice, nil: break
        }
    }
}

extension ScreenQuestions: PinUserVerifier, PinEnroller {
    /// The policy for new PINs.
    public func pinPolicy() async -> PinPolicy { self.policy }

    /// Asks for the PIN; see `PinUserVerifier`.
    public func verifyPin(context: PinUserVerificationContext, handler: PinUserVerificationHandler) async {
        self.ask(
            .pin(PinPad(context, policy: self.policy)),
            Replies(give: { handler.verifyPin($0) }, cancel: { handler.cancel() }))
    }

    /// Asks for a new PIN; see `PinEnroller`.
    public func enrollPin(context: PinEnrollmentContext, handler: PinEnrollmentHandler) async {
        self.ask(
            .pin(PinPad(context, policy: self.policy)),
            Replies(give: { handler.pin($0) }, cancel: { handler.cancel() }))
    }
}

extension ScreenQuestions: TransactionConfirmer, NumberMatcher {
    /// Asks for an approval; see `TransactionConfirmer`.
    public func confirmTransaction(context: TransactionConfirmationContext, handler: TransactionConfirmationHandler)
        async
    {
        self.ask(
            .approval(Approval(context)),
            Replies(give: { _ in handler.approve() }, cancel: { handler.cancel() }, deny: { handler.deny($0) }))
    }

    /// Asks for a number; see `NumberMatcher`.
    public func matchNumber(context: NumberMatchContext, handler: NumberMatchHandler) async {
        self.ask(
            .number(NumberEntry(context)),
            Replies(give: { handler.number($0) }, cancel: { handler.cancel() }, deny: { handler.deny($0) }))
    }
}

extension ScreenQuestions: AccountSelector, AuthenticatorSelector {
    /// Asks for an account; a single account needs no question. See `AccountSelector`.
    public func selectAccount(context: AccountSelectionContext, handler: AccountSelectionHandler) async {
        let choice = ScreenChoice(context)
        if choice.options.count == 1, !context.hasContent { return handler.username(choice.options[0].id) }
        self.ask(
            .choice(choice),
            Replies(give: { handler.username($0) }, cancel: { handler.cancel() }, deny: { handler.deny($0) }))
    }

    /// Asks for an authenticator; a single authenticator needs no question. See `AuthenticatorSelector`.
    public func selectAuthenticator(context: AuthenticatorSelectionContext, handler: AuthenticatorSelectionHandler)
        async
    {
        let choice = ScreenChoice(context)
        if choice.options.count == 1, !context.hasContent { return handler.aaid(choice.options[0].id) }
        self.ask(
            .choice(choice),
            Replies(give: { handler.aaid($0) }, cancel: { handler.cancel() }, deny: { handler.deny($0) }))
    }
}

extension ScreenQuestions: FingerprintUserVerifier, BiometricUserVerifier, DevicePasscodeUserVerifier {
    /// Lets the operating system ask for a finger; see `FingerprintUserVerifier`. A finger that did not match is asked
    /// for again in the system's dialog.
    public func verifyFingerprint(
        context: FingerprintUserVerificationContext, handler: FingerprintUserVerificationHandler
    ) async {
        handler.listenForOsCredentials()
    }

    /// Lets the operating system ask for a face, with the app's texts; see `BiometricUserVerifier`.
    public func verifyBiometric(
        context: BiometricUserVerificationContext, handler: BiometricUserVerificationHandler
    ) async {
        handler.listenForOsCredentials(self.prompt)
    }

    /// Lets the operating system ask for the passcode, with the app's texts; see `DevicePasscodeUserVerifier`.
    public func verifyDevicePasscode(
        context: DevicePasscodeUserVerificationContext, handler: DevicePasscodeUserVerificationHandler
    ) async {
        handler.listenForOsCredentials(self.prompt)
    }
}
