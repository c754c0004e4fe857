/// What a service of personalised identities can ask for, as its roles are configured: a kind of authenticator.
///
/// The last two are reserved: no device of this version has them, and what asks for them cannot be met.
public enum AuthenticatorType: String, Hashable, Sendable, CaseIterable {
    /// The device itself, without anybody's doing.
    case device
    /// The PIN that only the server can judge.
    case pin
    /// A finger or a face.
    case biometric
    /// Reserved for one-time passwords.
    case otp
    /// Reserved for a key of another maker.
    case yubikey

    /// Whether authenticators of this type say only that they are there.
    public var isSilent: Bool { self == .device }
    /// Whether no device of this version can have it.
    public var isReserved: Bool { self == .otp || self == .yubikey }
}

/// Which models are of which type: the one table between what roles are configured by and the policies of UAF.
public struct AuthenticatorTypeTable: Hashable, Sendable {
    private let models: [AuthenticatorType: [AAID]]
    private let types: [AAID: AuthenticatorType]

    /// A table of these models. Throws ``UAFError/Code/invalidValue`` for a model of two types.
    public init(_ models: [AuthenticatorType: [AAID]]) throws(UAFError) {
        var types: [AAID: AuthenticatorType] = [:]
        for type in AuthenticatorType.allCases {
            for aaid in models[type] ?? [] where types.updateValue(type, forKey: aaid) != nil {
                throw UAFError(.invalidValue, "\(aaid) twice")
            }
        }
        self.models = models
        self.types = types
    }

    private init(unchecked models: [AuthenticatorType: [AAID]]) {
        self.models = models
        self.types = models.reduce(into: [:]) { types, entry in
            for aaid in entry.value { types[aaid] = entry.key }
        }
    }

    /// The models of this product, wherever their keys are kept.
    ///
    /// A finger or a face that the device's passcode can stand in for is of no type, and neither is a PIN that the device
    /// verifies (``AuthenticatorModel/type``).
    public static let product: Self = {
        var models: [AuthenticatorType: [AAID]] = [.pin: [ServerPinModel.aaid]]
        for model in AuthenticatorModel.table {
            if let type = model.type { models[type, default: []].append(model.aaid) }
        }
        // A model has one type, as it has one factor.
        return Self(unchecked: models)
    }()

    /// Only those of the models that are named, such as those that a server has statements of.
    public func restricted(to aaids: Set<AAID>) -> Self {
        Self(unchecked: self.models.mapValues { $0.filter(aaids.contains) })
    }

    /// The models of a type; empty where there are none, as for what is reserved.
    public func models(of type: AuthenticatorType) -> [AAID] { self.models[type] ?? [] }

    /// The type of a model; `nil` where it has none.
    public func type(of aaid: AAID) -> AuthenticatorType? { self.types[aaid] }
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
