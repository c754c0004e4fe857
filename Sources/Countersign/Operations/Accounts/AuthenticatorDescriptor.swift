import UAF
import UAFClient
import _Primitives

/// An authenticator of this device, for the app to show. Titles and pictures are the app's.
public struct AuthenticatorDescriptor: Hashable, Sendable {
    /// What the authenticator wants of the person.
    public struct Kind: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String { case pin, password, fingerprint, face, devicePasscode, devicePossession }
        private let base: Base
        /// A PIN that the device verifies.
        public static let pin = Self(base: .pin)
        /// A password that the device verifies.
        public static let password = Self(base: .password)
        /// A finger on the device's sensor.
        public static let fingerprint = Self(base: .fingerprint)
        /// A face in front of the device's camera.
        public static let face = Self(base: .face)
        /// The device's own passcode, which the operating system judges.
        public static let devicePasscode = Self(base: .devicePasscode)
        /// Nothing: the device itself.
        public static let devicePossession = Self(base: .devicePossession)
        public var description: String { self.base.rawValue }

        private init(base: Base) { self.base = base }

        init(_ factor: AuthenticatorModel.Factor) {
            switch factor {
            case .pin: self = .pin
            case .password: self = .password
            case .fingerprint: self = .fingerprint
            case .face: self = .face
            case .devicePasscode: self = .devicePasscode
            case .devicePossession: self = .devicePossession
            }
        }
    }

    /// For which accounts an authenticator is registered.
    public struct RegistrationInfo: Hashable, Sendable {
        /// The accounts.
        public let registeredAccounts: [RegisteredAccount]

        /// A registration for those accounts.
        public init(registeredAccounts: [RegisteredAccount] = []) { self.registeredAccounts = registeredAccounts }
        /// Whether that account is among them.
        public func isRegistered(username: Username) -> Bool {
            guard let name = username.normalizedUsername else { return false }
            return self.registeredAccounts.contains { $0.username.hasSameBytes(as: name) }
        }
    }

    /// The model's name.
    public let aaid: Aaid
    /// What the authenticator wants of the person.
    public let kind: Kind
    /// For which accounts it is registered.
    public let registration: RegistrationInfo
    /// Whether a finger, a face or a passcode is enrolled with the operating system; for the others always true.
    public let isUserEnrolled: Bool
    /// Whether the device has what the authenticator needs.
    public let isSupportedByHardware: Bool

    /// An authenticator, for an app's own tests too.
    public init(
        aaid: Aaid, kind: Kind, registration: RegistrationInfo = RegistrationInfo(), isUserEnrolled: Bool = true,
        isSupportedByHardware: Bool = true
    ) {
        self.aaid = aaid
        self.kind = kind
        self.registration = registration
        self.isUserEnrolled = isUserEnrolled
        self.isSupportedByHardware = isSupportedByHardware
    }
}
