/// The model of authenticators for the PIN that only the server can judge (`PinScheme`).
///
/// The model is separate from ``AuthenticatorModel``. A device does not verify this PIN, no store of the device has its
/// key, and no operation of UAF asks for the PIN. The PIN signs only in the ceremonies of personalised identities.
public enum ServerPinModel {
    /// The model's AAID: the number 7 among the factors of this product.
    public static let aaid = AAID(uncheckedText: "\(AuthenticatorModel.vendorID)#0007")

    /// The authenticator version in assertions.
    public static let authenticatorVersion = AuthenticatorModel.authenticatorVersion

    /// The format of the public keys in registrations.
    public static let publicKeyFormat = AuthenticatorModel.publicKeyFormat

    /// The model's properties for a policy. The secret is judged outside the device (`passcode_external`), so a policy
    /// for secrets that the device verifies does not match.
    public static let info = AuthenticatorInfo(
        aaid: Self.aaid, authenticatorVersion: Self.authenticatorVersion, authenticationAlgorithm: .p256Raw,
        attestationTypes: [.basicSurrogate], userVerification: .passcodeExternal, keyProtection: .software,
        matcherProtection: .software, attachmentHint: .internal, tcDisplay: [], tcDisplayContentType: nil,
        isSecondFactorOnly: false)
}
