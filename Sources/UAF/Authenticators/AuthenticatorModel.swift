/// An authenticator of this product: a factor × the place where its keys are kept × whether the device's passcode may take
/// the place of a finger or a face. The one table of AAIDs.
///
/// The number behind the vendor `C516` is a nibble for the key store, one that is 1 where the passcode may stand in, and two
/// for the factor. The vendor is not assigned by the FIDO Alliance.
public struct AuthenticatorModel: Hashable, Sendable, CaseIterable {
    /// What the person does, or has.
    public enum Factor: UInt16, Hashable, Sendable, CaseIterable {
        /// A PIN that the device verifies.
        case pin = 1
        /// A password that the device verifies.
        case password = 2
        /// A finger on the device's sensor.
        case fingerprint = 3
        /// A face in front of the device's camera.
        case face = 4
        /// The passcode of the device, which the operating system asks for and judges.
        case devicePasscode = 5
        /// The device itself: a silent authenticator.
        case devicePossession = 6
    }

    /// Where the keys are kept, and what that protects them by.
    public enum KeyStore: UInt16, Hashable, Sendable, CaseIterable {
        /// An encrypted file: software protection.
        case file = 0
        /// The Secret Service of a session, such as a keyring: software protection, which opens with the session.
        case secretService = 1
        /// A TPM 2.0: hardware that gives no key away.
        case tpm = 2
        /// The Secure Enclave: hardware that gives no key away and matches fingers and faces itself.
        case secureEnclave = 3
    }

    /// What the person does, or has.
    public let factor: Factor
    /// Where the keys are kept.
    public let keyStore: KeyStore
    /// Whether the operating system may ask for the device's passcode in place of the finger or the face: then it is as good
    /// as the passcode, and no policy that wants a finger or a face takes it.
    public let allowsPasscode: Bool

    /// The model of that factor and key store. `allowsPasscode` counts for finger and face alone.
    public init(factor: Factor, keyStore: KeyStore, allowsPasscode: Bool = false) {
        self.factor = factor
        self.keyStore = keyStore
        self.allowsPasscode = allowsPasscode && [.fingerprint, .face].contains(factor)
    }

    /// The model of that AAID; `nil` where it is not one of this product.
    public init?(aaid: AAID) {
        guard let model = Self.models[aaid] else { return nil }
        self = model
    }

    /// The models that this product has a metadata statement of, so that servers take them: those with keys in a file.
    public static let allCases = Factor.allCases.map { AuthenticatorModel(factor: $0, keyStore: .file) }

    /// The whole table: also models of which a server needs a statement from elsewhere.
    public static let table = KeyStore.allCases.flatMap { store in
        Factor.allCases.map { AuthenticatorModel(factor: $0, keyStore: store) }
            + [.fingerprint, .face].map { AuthenticatorModel(factor: $0, keyStore: store, allowsPasscode: true) }
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

    /// What a policy sees of the model.
    public var info: AuthenticatorInfo {
        let userVerification: UserVerification =
            switch self.factor {
            case .pin, .password, .devicePasscode: .passcode
            // The weaker of the two ways in is what it is worth.
            case .fingerprint: self.allowsPasscode ? .passcode : .fingerprint
            case .face: self.allowsPasscode ? .passcode : .faceprint
            case .devicePossession: .none
            }
        let (keyProtection, matcherProtection): (KeyProtection, MatcherProtection) =
            switch self.keyStore {
            case .file, .secretService: (.software, .software)
            // The chip judges a typed secret; a finger is matched by the system's own service.
            case .tpm: (.hardware, [.fingerprint, .face].contains(self.factor) ? .software : .onChip)
            case .secureEnclave: ([.hardware, .tee], .tee)
            }
        let isSilent = userVerification.isSilent
        return AuthenticatorInfo(
            aaid: self.aaid, authenticatorVersion: Self.authenticatorVersion, authenticationAlgorithm: .p256Raw,
            attestationTypes: [.basicSurrogate], userVerification: userVerification, keyProtection: keyProtection,
            matcherProtection: matcherProtection, attachmentHint: .internal, tcDisplay: isSilent ? [] : .any,
            tcDisplayContentType: isSilent ? nil : .textPlain, isSecondFactorOnly: isSilent)
    }
}
