import Countersign

/// The SDK's screens. Each screen asks the ``PhoneHolder`` and waits for the answer.
struct PersonInteraction: Sendable {
    let person: PhoneHolder
    let isRegistration: Bool
}

extension PersonInteraction: AccountSelector {
    func selectAccount(context: AccountSelectionContext, handler: AccountSelectionHandler) async {
        await self.person.selectAccount(context, handler)
    }
}

extension PersonInteraction: AuthenticatorSelector {
    func selectAuthenticator(context: AuthenticatorSelectionContext, handler: AuthenticatorSelectionHandler) async {
        await self.person.selectAuthenticator(context, isRegistration: self.isRegistration, handler)
    }
}

extension PersonInteraction: RequesterVerifier {
    func verifyRequester(context: RequesterVerificationContext, handler: RequesterVerificationHandler) async {
        await self.person.verifyRequester(context, handler)
    }
}

extension PersonInteraction: TransactionConfirmer {
    func confirmTransaction(context: TransactionConfirmationContext, handler: TransactionConfirmationHandler) async {
        await self.person.confirmTransaction(context, handler)
    }
}

extension PersonInteraction: NumberMatcher {
    func matchNumber(context: NumberMatchContext, handler: NumberMatchHandler) async {
        await self.person.matchNumber(context, handler)
    }
}

extension PersonInteraction: PinEnroller {
    func enrollPin(context: PinEnrollmentContext, handler: PinEnrollmentHandler) async {
        await self.person.enrollPIN(context, self.pinPolicy(), handler)
    }
}

extension PersonInteraction: PinUserVerifier {
    func verifyPin(context: PinUserVerificationContext, handler: PinUserVerificationHandler) async {
        await self.person.verifyPIN(context, handler)
    }
}

extension PersonInteraction: FingerprintUserVerifier {
    func verifyFingerprint(context: FingerprintUserVerificationContext, handler: FingerprintUserVerificationHandler)
        async
    {
        await self.person.verifyFingerprint(context, handler)
    }
}

extension PersonInteraction: PasswordEnroller {
    func enrollPassword(context: PasswordEnrollmentContext, handler: PasswordEnrollmentHandler) async {
        await self.person.enrollPassword(context, handler)
    }
}

extension PersonInteraction: PasswordUserVerifier {
    func verifyPassword(context: PasswordUserVerificationContext, handler: PasswordUserVerificationHandler) async {
        await self.person.verifyPassword(context, handler)
    }
}

extension PersonInteraction: PinChanger {
    func changePin(context: PinChangeContext, handler: PinChangeHandler) async {
        await self.person.changePIN(context, self.pinPolicy(), handler)
    }
}

extension PersonInteraction: PasswordChanger {
    func changePassword(context: PasswordChangeContext, handler: PasswordChangeHandler) async {
        await self.person.changePassword(context, handler)
    }
}

extension PersonInteraction: BiometricUserVerifier {
    func verifyBiometric(context: BiometricUserVerificationContext, handler: BiometricUserVerificationHandler) async {
        await self.person.verifyFace(handler)
    }
}

extension PersonInteraction: DevicePasscodeUserVerifier {
    func verifyDevicePasscode(
        context: DevicePasscodeUserVerificationContext, handler: DevicePasscodeUserVerificationHandler
    ) async {
        await self.person.verifyPasscode(handler)
    }
}

extension RegistrationOperation {
    /// Returns the operation with every screen of this phone.
    func answered(by interaction: PersonInteraction) -> Self {
        self.authenticatorSelector(interaction).pinEnroller(interaction).passwordEnroller(interaction)
            .fingerprintUserVerifier(interaction).biometricUserVerifier(interaction)
            .devicePasscodeUserVerifier(interaction)
    }
}

extension AuthenticationOperation {
    /// Returns the operation with every screen of this phone.
    func answered(by interaction: PersonInteraction) -> Self {
        self.authenticatorSelector(interaction).requesterVerifier(interaction).transactionConfirmer(interaction)
            .numberMatcher(interaction).pinUserVerifier(interaction).passwordUserVerifier(interaction)
            .fingerprintUserVerifier(interaction)
            .biometricUserVerifier(interaction)
            .devicePasscodeUserVerifier(interaction)
    }
}
