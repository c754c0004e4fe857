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
