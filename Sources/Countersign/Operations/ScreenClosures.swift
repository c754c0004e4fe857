public import UAFClient

// Each screen of an app can be an `async` closure. The closure gets the screen's context, and returns the person's
// answer. `nil`, or `false` for a question without a value, means that the person gives up. If the time for the answer
// is over, the closure's task is cancelled, and a later answer of the closure does nothing.

extension OperationBuilder where Operation: InteractiveOperation {
    /// Sets the closure that chooses the authenticator, in place of an ``AuthenticatorSelector``. The closure returns
    /// the AAID of an authenticator, or `nil` to give up.
    public func authenticatorSelector(
        _ choose: @escaping @Sendable (AuthenticatorSelectionContext) async -> Aaid?
    ) -> Self { self.authenticatorSelector(QuestionClosure(choose)) }

    /// Sets the closure that asks for a finger, in place of a ``FingerprintUserVerifier``. The closure returns `true`
    /// to start the sensor, or `false` to give up. To let the person give up while the sensor reads, use the protocol,
    /// or cancel the operation.
    public func fingerprintUserVerifier(
        _ announce: @escaping @Sendable (FingerprintUserVerificationContext) async -> Bool
    ) -> Self { self.fingerprintUserVerifier(QuestionClosure(agreement: announce)) }

    /// Sets the closure that announces the search for a face, in place of a ``BiometricUserVerifier``. The closure
    /// returns the texts for the operating system's dialog, or `nil` to give up.
    public func biometricUserVerifier(
        _ announce: @escaping @Sendable (BiometricUserVerificationContext) async -> SystemPrompt?
    ) -> Self { self.biometricUserVerifier(QuestionClosure(announce)) }

    /// Sets the closure that announces the question for the device's passcode, in place of a
    /// ``DevicePasscodeUserVerifier``. The closure returns the texts for the operating system's dialog, or `nil` to
    /// give up.
    public func devicePasscodeUserVerifier(
        _ announce: @escaping @Sendable (DevicePasscodeUserVerificationContext) async -> SystemPrompt?
    ) -> Self { self.devicePasscodeUserVerifier(QuestionClosure(announce)) }
}

extension OperationBuilder where Operation == OutOfBandAuthentication {
    /// Sets the closure that chooses the account, in place of an ``AccountSelector``. The closure returns the name of
    /// an account, or `nil` to give up.
    public func accountSelector(_ choose: @escaping @Sendable (AccountSelectionContext) async -> Username?) -> Self {
        self.accountSelector(QuestionClosure(choose))
    }
}

extension OperationBuilder where Operation: AuthenticationOperation {
    /// Sets the closure that confirms a new browser, in place of a ``RequesterVerifier``. The closure returns `true` to
    /// approve the browser, or `false` to refuse.
    public func requesterVerifier(_ approve: @escaping @Sendable (RequesterVerificationContext) async -> Bool) -> Self {
        self.requesterVerifier(QuestionClosure(agreement: approve))
    }

    /// Sets the closure that shows the content and asks for confirmation, in place of a ``TransactionConfirmer``. The
    /// closure returns `true` if the person has seen the content and agrees, or `false` to refuse.
    public func transactionConfirmer(
        _ confirm: @escaping @Sendable (TransactionConfirmationContext) async -> Bool
    ) -> Self { self.transactionConfirmer(QuestionClosure(agreement: confirm)) }

    /// Sets the closure that asks for the number that is shown where the person began, in place of a ``NumberMatcher``.
    /// The closure returns the typed digits, or `nil` to give up.
    public func numberMatcher(_ ask: @escaping @Sendable (NumberMatchContext) async -> String?) -> Self {
        self.numberMatcher(QuestionClosure(ask))
    }

    /// Sets the closure that asks for the PIN, in place of a ``PinUserVerifier``. The closure returns the PIN, or `nil`
    /// to give up.
    public func pinUserVerifier(_ ask: @escaping @Sendable (PinUserVerificationContext) async -> String?) -> Self {
        self.pinUserVerifier(QuestionClosure(ask))
    }

    /// Sets the closure that asks for the password, in place of a ``PasswordUserVerifier``. The closure returns the
    /// password, or `nil` to give up.
    public func passwordUserVerifier(
        _ ask: @escaping @Sendable (PasswordUserVerificationContext) async -> String?
    ) -> Self { self.passwordUserVerifier(QuestionClosure(ask)) }
}

extension OperationBuilder where Operation: RegistrationOperation {
    /// Sets the closure that asks for a new PIN, in place of a ``PinEnroller``, and the policy for the PIN. The closure
    /// returns the PIN, or `nil` to give up.
    public func pinEnroller(
        policy: PinPolicy = PinPolicy(), _ ask: @escaping @Sendable (PinEnrollmentContext) async -> String?
    ) -> Self { self.pinEnroller(QuestionClosure(policy: policy, ask: ask)) }

    /// Sets the closure that asks for a new password, in place of a ``PasswordEnroller``, and the policy for the
    /// password. The closure returns the password, or `nil` to give up.
    public func passwordEnroller(
        policy: any PasswordPolicy = PasswordLengthPolicy(),
        _ ask: @escaping @Sendable (PasswordEnrollmentContext) async -> String?
    ) -> Self { self.passwordEnroller(QuestionClosure(policy: policy, ask: ask)) }
}

extension OperationBuilder where Operation == PinChange {
    /// Sets the closure that asks for the present and the new PIN, in place of a ``PinChanger``, and the policy for the
    /// new PIN. The closure returns both PINs, or `nil` to give up.
    public func pinChanger(
        policy: PinPolicy = PinPolicy(),
        _ ask: @escaping @Sendable (PinChangeContext) async -> (old: String, new: String)?
    ) -> Self { self.pinChanger(QuestionClosure(policy: policy, ask: ask)) }
}

extension OperationBuilder where Operation == PasswordChange {
    /// Sets the closure that asks for the present and the new password, in place of a ``PasswordChanger``, and the
    /// policy for the new password. The closure returns both passwords, or `nil` to give up.
    public func passwordChanger(
        policy: any PasswordPolicy = PasswordLengthPolicy(),
        _ ask: @escaping @Sendable (PasswordChangeContext) async -> (old: String, new: String)?
    ) -> Self { self.passwordChanger(QuestionClosure(policy: policy, ask: ask)) }
}
