import UAF
import UAFClient

/// A closure of an app in the place of a screen. `Policy` is the policy of a screen for new PINs or passwords, and
/// `Void` for other screens.
struct QuestionClosure<Context: Sendable, Value: Sendable, Policy: Sendable>: Sendable {
    let policy: Policy
    let ask: @Sendable (Context) async -> Value?

    /// Asks the person, and passes the answer to a handler.
    fileprivate func answer(_ context: Context, _ give: (Value) -> Void, _ cancel: () -> Void) async {
        guard let value = await self.ask(context) else { return cancel() }
        give(value)
    }
}

extension QuestionClosure where Policy == Void {
    init(_ ask: @escaping @Sendable (Context) async -> Value?) { self.init(policy: (), ask: ask) }
}

extension QuestionClosure where Policy == Void, Value == Void {
    /// Creates a question without a value: `false` means that the person gives up.
    init(agreement ask: @escaping @Sendable (Context) async -> Bool) {
        self.init(policy: ()) { context in await ask(context) ? () : nil }
    }
}

// MARK: - Choices and agreements

extension QuestionClosure: AuthenticatorSelector where Context == AuthenticatorSelectionContext, Value == Aaid {
    func selectAuthenticator(context: AuthenticatorSelectionContext, handler: AuthenticatorSelectionHandler) async {
        await self.answer(context, handler.aaid, handler.cancel)
    }
}

extension QuestionClosure: AccountSelector where Context == AccountSelectionContext, Value == Username {
    func selectAccount(context: AccountSelectionContext, handler: AccountSelectionHandler) async {
        await self.answer(context, handler.username, handler.cancel)
    }
}

extension QuestionClosure: RequesterVerifier where Context == RequesterVerificationContext, Value == Void {
    func verifyRequester(context: RequesterVerificationContext, handler: RequesterVerificationHandler) async {
        await self.answer(context, handler.approve, handler.cancel)
    }
}

extension QuestionClosure: TransactionConfirmer where Context == TransactionConfirmationContext, Value == Void {
    func confirmTransaction(context: TransactionConfirmationContext, handler: TransactionConfirmationHandler) async {
        await self.answer(context, handler.approve, handler.cancel)
    }
}

extension QuestionClosure: NumberMatcher where Context == NumberMatchContext, Value == String, Policy == Void {
    func matchNumber(context: NumberMatchContext, handler: NumberMatchHandler) async {
        await self.answer(context, handler.number, handler.cancel)
    }
}

// MARK: - Verifiers

extension QuestionClosure: UserVerifier where Policy == Void {}

extension QuestionClosure: PinUserVerifier
where Context == PinUserVerificationContext, Value == String, Policy == Void {
    func verifyPin(context: PinUserVerificationContext, handler: PinUserVerificationHandler) async {
        await self.answer(context, handler.verifyPin, handler.cancel)
    }
}

extension QuestionClosure: PasswordUserVerifier
where Context == PasswordUserVerificationContext, Value == String, Policy == Void {
    func verifyPassword(context: PasswordUserVerificationContext, handler: PasswordUserVerificationHandler) async {
        await self.answer(context, handler.verifyPassword, handler.cancel)
    }
}

extension QuestionClosure: FingerprintUserVerifier
where Context == FingerprintUserVerificationContext, Value == Void, Policy == Void {
    func verifyFingerprint(
        context: FingerprintUserVerificationContext, handler: FingerprintUserVerificationHandler
    ) async { await self.answer(context, handler.listenForOsCredentials, handler.cancel) }
}

extension QuestionClosure: BiometricUserVerifier
where Context == BiometricUserVerificationContext, Value == SystemPrompt, Policy == Void {
    func verifyBiometric(context: BiometricUserVerificationContext, handler: BiometricUserVerificationHandler) async {
        await self.answer(context, handler.listenForOsCredentials, handler.cancel)
    }
}

extension QuestionClosure: DevicePasscodeUserVerifier
where Context == DevicePasscodeUserVerificationContext, Value == SystemPrompt, Policy == Void {
    func verifyDevicePasscode(
        context: DevicePasscodeUserVerificationContext, handler: DevicePasscodeUserVerificationHandler
    ) async { await self.answer(context, handler.listenForOsCredentials, handler.cancel) }
}

// MARK: - New PINs and passwords

extension QuestionClosure: PinPolicyProvider where Policy == PinPolicy {
    func pinPolicy() -> PinPolicy { self.policy }
}

extension QuestionClosure: PinEnroller
where Context == PinEnrollmentContext, Value == String, Policy == PinPolicy {
    func enrollPin(context: PinEnrollmentContext, handler: PinEnrollmentHandler) async {
        await self.answer(context, handler.pin, handler.cancel)
    }
}

extension QuestionClosure: PinChanger
where Context == PinChangeContext, Value == (old: String, new: String), Policy == PinPolicy {
    func changePin(context: PinChangeContext, handler: PinChangeHandler) async {
        await self.answer(context, { handler.pins(old: $0.old, new: $0.new) }, handler.cancel)
    }
}

extension QuestionClosure: PasswordPolicyProvider where Policy == any PasswordPolicy {
    func passwordPolicy() -> any PasswordPolicy { self.policy }
}

extension QuestionClosure: PasswordEnroller
where Context == PasswordEnrollmentContext, Value == String, Policy == any PasswordPolicy {
    func enrollPassword(context: PasswordEnrollmentContext, handler: PasswordEnrollmentHandler) async {
        await self.answer(context, handler.password, handler.cancel)
    }
}

extension QuestionClosure: PasswordChanger
where Context == PasswordChangeContext, Value == (old: String, new: String), Policy == any PasswordPolicy {
    func changePassword(context: PasswordChangeContext, handler: PasswordChangeHandler) async {
        await self.answer(context, { handler.passwords(old: $0.old, new: $0.new) }, handler.cancel)
    }
}
