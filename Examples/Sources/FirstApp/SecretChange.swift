import Countersign

/// The screen for another PIN.
struct AnotherPinScreen: PinChanger {
    let ask: @Sendable (_ advice: String?) async -> (present: String, new: String)?

    func changePin(context: PinChangeContext, handler: PinChangeHandler) async {
        let advice: String? =
            switch context.lastRecoverableError {
            case .invalidPin: "That is not your PIN."
            case .invalidPinFormat: "A PIN has six digits."
            case .unsafePin(.differentDigits(let least)): "Choose a PIN with \(least) different digits."
            case .unsafePin(.blockList): "Too many people have this PIN. Choose another PIN."
            case .unsafePin: "A date, digits in a row and what repeats are tried first by whoever finds the phone."
            case .oldPinEqualsNewPin: "Choose another PIN than the present one."
            case .coolingDown: "Wait a little before you try again."
            case nil: nil
            }
        guard let pins = await self.ask(advice) else { return handler.cancel() }
        handler.pins(old: pins.present, new: pins.new)
    }

    /// Six digits, by the rules for identities, and two rules of the app's own.
    func pinPolicy() -> PinPolicy {
        PinPolicy(rules: PinRule.simple + [.differentDigits(atLeast: 4), .blockList(["246810", "147258"])])
    }
}

/// Changes the PIN of an account. Returns a sentence for the person, or `nil` if the person gave up.
func changePin(
    of username: String, with client: MobileAuthenticationClient, on screen: AnotherPinScreen
) async throws -> String? {
    do {
        try await client.operations.pinChange
            .username(username)
            .pinChanger(screen)
            .execute()
        return "Your PIN is changed."
    } catch let error as OperationError where error == .fido(.userCanceled) {
        return nil
    } catch let error as OperationError where error.code == .pinLocked {
        return "Your PIN is locked. Ask for a new link, and enrol this phone again."
    } catch let error as OperationError where error.code == .pinNotEnrolled {
        return "You have no PIN on this phone."
    }
}

/// The screen for another password. The app's own server knows which passwords were leaked, and answers in a callback.
struct AnotherPasswordScreen: PasswordChanger {
    let ask: @Sendable (_ advice: String?) async -> (present: String, new: String)?
    let checkForLeak: @Sendable (_ password: String, _ answer: @escaping @Sendable (Bool) -> Void) -> Void

    func changePassword(context: PasswordChangeContext, handler: PasswordChangeHandler) async {
        let advice: String? =
            switch context.lastRecoverableError {
            case .invalidPassword: "That is not your password."
            case .customValidationError(let error): error.message
            case .oldPasswordEqualsNewPassword: "Choose another password than the present one."
            case .coolingDown: "Wait a little before you try again."
            case nil: nil
            }
        guard let passwords = await self.ask(advice) else { return handler.cancel() }
        handler.passwords(old: passwords.present, new: passwords.new)
    }

    func passwordPolicy() -> any PasswordPolicy {
        let judge: PasswordPolicyWithCallbacks.Validator = { [checkForLeak] password, handler in
            checkForLeak(password) { isLeaked in
                do {
                    if isLeaked {
                        try handler.refuse(PasswordValidationError("This password was leaked. Choose another one."))
                    } else {
                        try handler.accept()
                    }
                } catch {
                    print("The server has answered twice: \(error)")
                }
            }
        }
        return PasswordPolicyWithCallbacks(forEnrollment: judge, forPasswordChange: judge)
    }
}
