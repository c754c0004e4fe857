/// A kind of authenticator, as a service of personalised identities can require it in the configuration of its roles.
///
/// The last two kinds are reserved. No device of this version has a reserved kind, so a requirement for a reserved kind
/// cannot be met.
public enum AuthenticatorType: String, Hashable, Sendable, CaseIterable {
    /// The device itself, without an action of a person.
    case device
    /// The PIN that only the server can judge.
    case pin
    /// A finger or a face.
    case biometric
    /// Reserved for one-time passwords.
    case otp
    /// Reserved for a key of another maker.
    case yubikey

    /// `true` if authenticators of this type only prove their presence.
    public var isSilent: Bool { self == .device }
    /// `true` if no device of this version can have this type.
    public var isReserved: Bool { self == .otp || self == .yubikey }
}

/// The table that assigns models to types: the only link between the configuration of roles and the policies of UAF.
public struct AuthenticatorTypeTable: Hashable, Sendable {
    private let models: [AuthenticatorType: [AAID]]
    private let types: [AAID: AuthenticatorType]

    /// Creates a table of the models. Throws ``UAFError/Code/invalidValue`` for a model of two types.
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

    /// The models of this product, with any key store.
    ///
    /// The table has no type for a finger or a face that the device's passcode can replace, nor for a PIN that the
    /// device verifies (``AuthenticatorModel/type``).
    public static let product: Self = {
        var models: [AuthenticatorType: [AAID]] = [.pin: [ServerPinModel.aaid]]
        for model in AuthenticatorModel.table {
            if let type = model.type { models[type, default: []].append(model.aaid) }
        }
        // A model has a single factor, and therefore at most a single type.
        return Self(unchecked: models)
    }()

    /// Returns the table restricted to the named models, for example the models for which a server has statements.
    public func restricted(to aaids: Set<AAID>) -> Self {
        Self(unchecked: self.models.mapValues { $0.filter(aaids.contains) })
    }

    /// Returns the models of a type; empty if the type has no model, as for a reserved type.
    public func models(of type: AuthenticatorType) -> [AAID] { self.models[type] ?? [] }

    /// Returns the type of a model; `nil` if the model has none.
    public func type(of aaid: AAID) -> AuthenticatorType? { self.types[aaid] }
}

extension AuthenticatorModel {
    /// The model's type in the configuration of roles; `nil` if no role can require the model.
    ///
    /// A PIN or a password that the device verifies has no type. Nobody is supposed to have a verifier of the PIN that
    /// only the server can judge, and a PIN on the device would be such a verifier beside the server's PIN. A finger or
    /// a face that the device's passcode can replace proves no more than the passcode, which has no type either.
    public var type: AuthenticatorType? {
        switch self.factor {
        case .devicePossession: .device
        case .fingerprint, .face: self.allowsPasscode ? nil : .biometric
        case .pin, .password, .devicePasscode: nil
        }
    }
}
