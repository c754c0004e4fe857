/// The PIN that only the server can judge, as a model of authenticators (`PinScheme`).
///
/// It stands beside ``AuthenticatorModel``: a device does not verify this PIN, nothing of the device has its key, and no
/// operation of UAF asks for it. It signs in the ceremonies of personalised identities alone.
public enum ServerPinModel {
    /// The model's AAID: the number 7 among the factors of this product.
    public static let aaid = AAID(uncheckedText: "\(AuthenticatorModel.vendorID)#0007")

    /// The version that it puts into assertions.
    public static let authenticatorVersion = AuthenticatorModel.authenticatorVersion

    /// The format of the public keys in its registrations.
    public static let publicKeyFormat = AuthenticatorModel.publicKeyFormat

    /// What a policy sees of the model. The secret is judged outside of the device (`passcode_external`); a policy that
    /// wants what a device verifies does not mean it.
    public static let info = AuthenticatorInfo(
        aaid: Self.aaid, authenticatorVersion: Self.authenticatorVersion, authenticationAlgorithm: .p256Raw,
        attestationTypes: [.basicSurrogate], userVerification: .passcodeExternal, keyProtection: .software,
        matcherProtection: .software, attachmentHint: .internal, tcDisplay: [], tcDisplayContentType: nil,
        isSecondFactorOnly: false)
}

extension AuthenticatorModel {
    /// What roles are configured by; `nil` where no role can ask for the model.
    ///
    /// A PIN or a password that the device verifies is none of them: beside the PIN that only the server can judge, whose
    /// verifier nobody is to have, it would be one. A finger or a face that the device's passcode can stand in for says no
    /// more than the passcode, which is none of them either.
    public var type: AuthenticatorType? {
        switch self.factor {
        case .devicePossession: .device
        case .fingerprint, .face: self.allowsPasscode ? nil : .biometric
        case .pin, .password, .devicePasscode: nil
        }
    }
}
