/// An operation that asks a person.
public protocol InteractiveOperation: SingleOperation {
    /// The screens so far. The SDK's alone.
    var screens: Screens { get set }
}

extension OperationBuilder where Operation: InteractiveOperation {
    /// Chooses the authenticator. Needed.
    public func authenticatorSelector(_ selector: any AuthenticatorSelector) -> Self {
        self.changing { $0.screens.authenticatorSelector = selector }
    }
    /// Asks for a finger. Without it a fingerprint cannot be chosen.
    public func fingerprintUserVerifier(_ verifier: any FingerprintUserVerifier) -> Self {
        self.changing { $0.screens.fingerprintUserVerifier = verifier }
    }
    /// Announces that the operating system looks for a face. Without it a face cannot be chosen.
    public func biometricUserVerifier(_ verifier: any BiometricUserVerifier) -> Self {
        self.changing { $0.screens.biometricUserVerifier = verifier }
    }
    /// Announces that the operating system asks for the device's passcode. Without it that passcode cannot be chosen.
    public func devicePasscodeUserVerifier(_ verifier: any DevicePasscodeUserVerifier) -> Self {
        self.changing { $0.screens.devicePasscodeUserVerifier = verifier }
    }
}
