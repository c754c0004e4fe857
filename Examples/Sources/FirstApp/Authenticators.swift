import Countersign
import Foundation

/// The screen for a new password, and the rule for the password.
struct NewPasswordScreen: PasswordEnroller {
    let ask: @Sendable (_ advice: String?) async -> String?

    func enrollPassword(context: PasswordEnrollmentContext, handler: PasswordEnrollmentHandler) async {
        var advice: String?
        if case .customValidationError(let error)? = context.lastRecoverableError { advice = error.message }
        guard let password = await self.ask(advice) else { return handler.cancel() }
        handler.password(password)
    }

    func passwordPolicy() -> any PasswordPolicy { PasswordLengthPolicy(minLength: 12) }
}

/// Lets the operating system look for a face, or ask for the device's passcode.
struct SystemDialogs: BiometricUserVerifier, DevicePasscodeUserVerifier {
    let reason: String

    func verifyBiometric(context: BiometricUserVerificationContext, handler: BiometricUserVerificationHandler) {
        handler.listenForOsCredentials(SystemPrompt(reason: self.reason, cancelTitle: "Not now"))
    }

    func verifyDevicePasscode(
        context: DevicePasscodeUserVerificationContext, handler: DevicePasscodeUserVerificationHandler
    ) {
        handler.listenForOsCredentials(SystemPrompt(reason: self.reason))
    }
}

/// Authenticates a person with closures as screens. The person types the PIN, or gives up.
func authenticate(
    _ username: String, with client: MobileAuthenticationClient,
    askForPin: @escaping @Sendable (_ triesLeft: Int?, _ waitUntil: Date?) async -> String?
) async throws {
    _ =
        try await client.operations.authentication
        .username(username)
        .authenticatorSelector { context in
            context.authenticators.first { context.isPolicyCompliant(authenticatorAaid: $0.aaid) }?.aaid
        }
        .pinUserVerifier { context in
            var triesLeft: Int?
            if case .lastAttemptFailed(let tries, _) = context.authenticatorProtectionStatus { triesLeft = tries }
            return await askForPin(triesLeft, context.coolDownDeadline)
        }
        .execute()
}

func enrolWithFallback(_ registration: OutOfBandRegistration, _ dialogs: SystemDialogs) async throws {
    _ =
        try await registration
        .deviceInformation(DeviceInformation(name: "Alice's phone"))
        .authenticatorSelector(Preferred(kind: .face))
        .biometricUserVerifier(dialogs)
        .allowDevicePasscodeAsFallback(true)
        .invalidateOnNewOsBiometrics(false)
        .execute()
}
