/// A model of this product's authenticators: a factor × a key store × the permission to use the device's passcode in
/// place of a finger or a face. This type is the only table of AAIDs.
///
/// The number after the vendor `C516` has a nibble for the key store, a nibble that is 1 if the passcode may replace
/// the finger or the face, and two nibbles for the factor. The FIDO Alliance has not assigned this vendor.
public struct AuthenticatorModel: Hashable, Sendable, CaseIterable {
    /// The factor: an action of the person, or a possession.
    public enum Factor: UInt16, Hashable, Sendable, CaseIterable {
        /// A PIN that the device verifies.
        case pin = 1
        /// A password that the device verifies.
        case password = 2
        /// A finger on the device's sensor.
        case fingerprint = 3
        /// A face in front of the device's camera.
        case face = 4
        /// The passcode of the device. The operating system asks for the passcode and judges the input.
        case devicePasscode = 5
        /// The device itself: a silent authenticator.
        case devicePossession = 6
    }

    /// The store of the keys, and the protection that the store gives.
    public enum KeyStore: UInt16, Hashable, Sendable, CaseIterable {
        /// An encrypted file: software protection.
        case file = 0
        /// The Secret Service of a session, such as a keyring: software protection. The store opens with the session.
        case secretService = 1
        /// A TPM 2.0: hardware that never releases a key.
        case tpm = 2
        /// The Secure Enclave: hardware that never releases a key and judges finger, face and passcode itself.
        case secureEnclave = 3
    }

    /// The factor: an action of the person, or a possession.
    public let factor: Factor
    /// The store of the keys.
    public let keyStore: KeyStore
    /// `true` if the operating system may ask for the device's passcode in place of the finger or the face. Such a
    /// model is only as good as the passcode. A policy that requires the method of a finger or a face does not accept
    /// the model, and neither does a role that requires ``AuthenticatorType/biometric``.
    public let allowsPasscode: Bool

    /// Creates the model of a factor and a key store. `allowsPasscode` counts for finger and face only.
    public init(factor: Factor, keyStore: KeyStore, allowsPasscode: Bool = false) {
        self.factor = factor
        self.keyStore = keyStore
        self.allowsPasscode = allowsPasscode && [.fingerprint, .face].contains(factor)
    }

    /// Creates the model with the AAID; `nil` if the AAID is not a model of this product.
    public init?(aaid: AAID) {
        guard let model = Self.models[aaid] else { return nil }
        self = model
    }

    /// The models with a metadata statement in this product: the models with keys in a file, in a TPM or in the Secure
    /// Enclave. Servers accept these models.
    public static let allCases = Self.all(in: .file) + Self.all(in: .tpm) + Self.all(in: .secureEnclave)

    /// The whole table. The table also has models for which a server needs a statement from elsewhere.
    public static let table = KeyStore.allCases.flatMap(Self.all)

    private static func all(in keyStore: KeyStore) -> [AuthenticatorModel] {
        Factor.allCases.map { AuthenticatorModel(factor: $0, keyStore: keyStore) }
            + [.fingerprint, .face].map { AuthenticatorModel(factor: $0, keyStore: keyStore, allowsPasscode: true) }
    }

    private static let models = Dictionary(uniqueKeysWithValues: Self.table.map { ($0.aaid, $0) })

    /// The vendor of all models.
    public static let vendorID = "C516"

    /// The version that this product's authenticators put into assertions.
    public static let authenticatorVersion: UInt16 = 1

    /// The format of the public keys in registrations.
    public static let publicKeyFormat = PublicKeyFormat.eccX962Raw

    /// The model's AAID.
    public var aaid: AAID {
        let digits = Array("0123456789ABCDEF".utf8)
        let number = self.keyStore.rawValue << 12 | (self.allowsPasscode ? 1 << 8 : 0) | self.factor.rawValue
        let letters = [12, 8, 4, 0].map { digits[Int(number >> UInt16($0) & 0xF)] }
        return AAID(uncheckedText: "\(Self.vendorID)#\(String(decoding: letters, as: UTF8.self))")
    }

    /// The model's properties for a policy.
    public var info: AuthenticatorInfo {
        let userVerification: UserVerification =
            switch self.factor {
            case .pin, .password, .devicePasscode: .passcode
            // The weaker way of the two decides the value.
            case .fingerprint: self.allowsPasscode ? .passcode : .fingerprint
            case .face: self.allowsPasscode ? .passcode : .faceprint
            case .devicePossession: .none
            }
        let (keyProtection, matcherProtection): (KeyProtection, MatcherProtection) =
            switch self.keyStore {
            case .file, .secretService: (.software, .software)
            // The chip judges a PIN or a password. The operating system judges a finger, a face or its own passcode.
            case .tpm: (.hardware, [.fingerprint, .face, .devicePasscode].contains(self.factor) ? .software : .onChip)
            // A PIN or a password seals the handle of a key, so software judges a wrong secret (decision 132).
            case .secureEnclave: ([.hardware, .tee], [.pin, .password].contains(self.factor) ? .software : .tee)
            }
        let isSilent = userVerification.isSilent
        return AuthenticatorInfo(
            aaid: self.aaid, authenticatorVersion: Self.authenticatorVersion, authenticationAlgorithm: .p256Raw,
            attestationTypes: [.basicSurrogate], userVerification: userVerification, keyProtection: keyProtection,
            matcherProtection: matcherProtection, attachmentHint: .internal, tcDisplay: isSilent ? [] : .any,
            tcDisplayContentType: isSilent ? nil : .textPlain, isSecondFactorOnly: isSilent)
    }
}
