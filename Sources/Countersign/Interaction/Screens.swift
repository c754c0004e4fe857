import UAF
import UAFClient

/// What an app gives to an operation that asks a person.
public struct Screens: Sendable {
    var deviceInformation: DeviceInformation?
    var biometricOptions = BiometricOptions()
    var accountSelector: (any AccountSelector)?
    var authenticatorSelector: (any AuthenticatorSelector)?
    var requesterVerifier: (any RequesterVerifier)?
    var transactionConfirmer: (any TransactionConfirmer)?
    var pinEnroller: (any PinEnroller)?
    var pinUserVerifier: (any PinUserVerifier)?
    var passwordEnroller: (any PasswordEnroller)?
    var passwordUserVerifier: (any PasswordUserVerifier)?
    var fingerprintUserVerifier: (any FingerprintUserVerifier)?
    var biometricUserVerifier: (any BiometricUserVerifier)?
    var devicePasscodeUserVerifier: (any DevicePasscodeUserVerifier)?

    init() {}

    /// Whether the app can ask for what a new key of that factor needs.
    func canEnroll(_ factor: AuthenticatorModel.Factor) -> Bool {
        switch factor {
        case .pin: self.pinEnroller != nil
        case .password: self.passwordEnroller != nil
        case .fingerprint, .face, .devicePasscode, .devicePossession: self.canVerify(factor)
        }
    }

    /// Whether the app can ask for what a signature of that factor needs.
    func canVerify(_ factor: AuthenticatorModel.Factor) -> Bool {
        switch factor {
        case .pin: self.pinUserVerifier != nil
        case .password: self.passwordUserVerifier != nil
        case .fingerprint: self.fingerprintUserVerifier != nil
        case .face: self.biometricUserVerifier != nil
        case .devicePasscode: self.devicePasscodeUserVerifier != nil
        case .devicePossession: true
        }
    }
}

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
