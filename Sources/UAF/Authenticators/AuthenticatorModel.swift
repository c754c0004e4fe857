/// An authenticator of this product: a factor × the place where its keys are kept. The one table of AAIDs.
///
/// The number behind the vendor `C516` is a nibble for the key store and three for the factor. The vendor is not
/// assigned by the FIDO Alliance.
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

    /// Where the keys are kept.
    public enum KeyStore: UInt16, Hashable, Sendable, CaseIterable {
        /// An encrypted file: software protection.
        case file = 0
    }

    /// What the person does, or has.
    public let factor: Factor
    /// Where the keys are kept.
    public let keyStore: KeyStore

    /// The model of that factor and key store.
    public init(factor: Factor, keyStore: KeyStore) {
        self.factor = factor
        self.keyStore = keyStore
    }

    /// The model of that AAID; `nil` where it is not one of this product.
    public init?(aaid: AAID) {
        guard let model = Self.models[aaid] else { return nil }
        self = model
    }

    public static let allCases = KeyStore.allCases.flatMap { store in
        Factor.allCases.map { AuthenticatorModel(factor: $0, keyStore: store) }
    }

    private static let models = Dictionary(uniqueKeysWithValues: Self.allCases.map { ($0.aaid, $0) })

    /// The vendor of all models.
    public static let vendorID = "C516"

    /// The version that this product's authenticators put into assertions.
    public static let authenticatorVersion: UInt16 = 1

    /// The format of the public keys in registrations.
    public static let publicKeyFormat = PublicKeyFormat.eccX962Raw

    /// The model's AAID.
    public var aaid: AAID {
        let digits = Array("0123456789ABCDEF".utf8)
        let number = self.keyStore.rawValue << 12 | self.factor.rawValue
        let letters = [12, 8, 4, 0].map { digits[Int(number >> UInt16($0) & 0xF)] }
        return AAID(uncheckedText: "\(Self.vendorID)#\(String(decoding: letters, as: UTF8.self))")
    }

    /// What a policy sees of the model.
    public var info: AuthenticatorInfo {
        let userVerification: UserVerification =
            switch self.factor {
            case .pin, .password, .devicePasscode: .passcode
            case .fingerprint: .fingerprint
            case .face: .faceprint
            case .devicePossession: .none
            }
        let keyProtection: KeyProtection =
            switch self.keyStore {
            case .file: .software
            }
        let isSilent = userVerification.isSilent
        return AuthenticatorInfo(
            aaid: self.aaid, authenticatorVersion: Self.authenticatorVersion, authenticationAlgorithm: .p256Raw,
            attestationTypes: [.basicSurrogate], userVerification: userVerification, keyProtection: keyProtection,
            matcherProtection: .software, attachmentHint: .internal, tcDisplay: isSilent ? [] : .any,
            tcDisplayContentType: isSilent ? nil : .textPlain, isSecondFactorOnly: isSilent)
    }
}
