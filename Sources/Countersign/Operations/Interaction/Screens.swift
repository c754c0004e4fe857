import UAF
import UAFClient

/// The app's screens for an operation that asks a person.
public struct Screens: Sendable {
    var deviceInformation: DeviceInformation?
    var biometricOptions = BiometricOptions()
    var accountSelector: (any AccountSelector)?
    var authenticatorSelector: (any AuthenticatorSelector)?
    var requesterVerifier: (any RequesterVerifier)?
    var transactionConfirmer: (any TransactionConfirmer)?
    var numberMatcher: (any NumberMatcher)?
    var pinEnroller: (any PinEnroller)?
    var pinUserVerifier: (any PinUserVerifier)?
    var passwordEnroller: (any PasswordEnroller)?
    var passwordUserVerifier: (any PasswordUserVerifier)?
    var fingerprintUserVerifier: (any FingerprintUserVerifier)?
    var biometricUserVerifier: (any BiometricUserVerifier)?
    var devicePasscodeUserVerifier: (any DevicePasscodeUserVerifier)?

    init() {}

    /// Returns `true` if the app has the screen that a new key of the factor needs.
    func canEnroll(_ factor: AuthenticatorModel.Factor) -> Bool {
        switch factor {
        case .pin: self.pinEnroller != nil
        case .password: self.passwordEnroller != nil
        case .fingerprint, .face, .devicePasscode, .devicePossession: self.canVerify(factor)
        }
    }

    /// Returns `true` if the app has the screen that a signature of the factor needs.
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
