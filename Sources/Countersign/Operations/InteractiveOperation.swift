/// An operation that asks a person, and tells a server the answer.
public protocol InteractiveOperation: SingleOperation, ServerOperation {
    /// The screens that were set so far, used by the SDK only.
    var screens: Screens { get set }
}

extension OperationBuilder where Operation: InteractiveOperation {
    /// Sets the screen that chooses the authenticator. Required.
    public func authenticatorSelector(_ selector: any AuthenticatorSelector) -> Self {
        self.changing { $0.screens.authenticatorSelector = selector }
    }
    /// Sets the screen that asks for a finger. Without this screen, the person cannot choose a fingerprint.
    public func fingerprintUserVerifier(_ verifier: any FingerprintUserVerifier) -> Self {
        self.changing { $0.screens.fingerprintUserVerifier = verifier }
    }
    /// Sets the screen that announces the operating system's search for a face. Without this screen, the person cannot
    /// choose a face.
    public func biometricUserVerifier(_ verifier: any BiometricUserVerifier) -> Self {
        self.changing { $0.screens.biometricUserVerifier = verifier }
    }
    /// Sets the screen that announces the operating system's question for the device's passcode. Without this screen,
    /// the person cannot choose the passcode.
    public func devicePasscodeUserVerifier(_ verifier: any DevicePasscodeUserVerifier) -> Self {
        self.changing { $0.screens.devicePasscodeUserVerifier = verifier }
    }
}
