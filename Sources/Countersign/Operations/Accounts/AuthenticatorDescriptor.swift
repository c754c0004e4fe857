import UAF
import UAFClient
import _Primitives

/// An authenticator of this device, for the app to show. The app provides titles and pictures.
public struct AuthenticatorDescriptor: Hashable, Sendable {
    /// The kind of an authenticator: the action that the authenticator requires from the person.
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
        /// The device's own passcode, which the operating system checks.
        public static let devicePasscode = Self(base: .devicePasscode)
        /// No action: the device itself.
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

    /// The accounts for which an authenticator is registered.
    public struct RegistrationInfo: Hashable, Sendable {
        /// The accounts.
        public let registeredAccounts: [RegisteredAccount]

        /// Creates a registration for the accounts.
        public init(registeredAccounts: [RegisteredAccount] = []) { self.registeredAccounts = registeredAccounts }
        /// Returns `true` if the account is among the registered accounts.
        public func isRegistered(username: Username) -> Bool {
            guard let name = username.normalizedUsername else { return false }
            return self.registeredAccounts.contains { $0.username.hasSameBytes(as: name) }
        }
    }

    /// The identifier of the authenticator's model.
    public let aaid: Aaid
    /// The action that the authenticator requires from the person.
    public let kind: Kind
    /// The accounts for which the authenticator is registered.
    public let registration: RegistrationInfo
    /// `true` if a finger, face or passcode is enrolled in the operating system. Always `true` for the other kinds.
    public let isUserEnrolled: Bool
    /// `true` if the device has the hardware that the authenticator needs.
    public let isSupportedByHardware: Bool
    /// `true` if the device's passcode can replace the finger or the face. The server knows such keys by their model.
    public let allowsDevicePasscode: Bool

    /// Creates an authenticator. Public also for an app's own tests.
    public init(
        aaid: Aaid, kind: Kind, registration: RegistrationInfo = RegistrationInfo(), isUserEnrolled: Bool = true,
        isSupportedByHardware: Bool = true, allowsDevicePasscode: Bool = false
    ) {
        self.aaid = aaid
        self.kind = kind
        self.registration = registration
        self.isUserEnrolled = isUserEnrolled
        self.isSupportedByHardware = isSupportedByHardware
        self.allowsDevicePasscode = allowsDevicePasscode
    }
}
