public import Foundation
import UAF
import UAFClient
import _Primitives

/// A person's name at a server.
///
/// Whoever gives one to the SDK may write it as their keyboard does: the SDK composes it (Unicode's NFC), as the server
/// does, and goes by its bytes from there on. What has more than 128 characters (UAF Protocol 1.1, `username`), or more
/// than 30 combining marks in a row, is nobody's name.
public typealias Username = String

extension Username {
    /// The one spelling of a name that comes from outside; `nil` for what is nobody's name.
    var normalizedUsername: Username? {
        // Composing a text takes time that grows with the square of a run of marks: it is looked at first.
        guard self.utf8.count <= 4 * 128, (1...128).contains(self.unicodeScalars.count), self.isStreamSafe else {
            return nil
        }
        return self.precomposedStringWithCanonicalMapping
    }
}

/// What names a model of authenticators, such as `C516#0001`.
public typealias Aaid = String

/// An account that this device is enrolled for.
public struct Account: Hashable, Sendable {
    /// The person's name at the server; it occurs once on a device.
    public let username: Username
    /// The server that knows it.
    public let server: Server

    /// A server, by its address.
    public struct Server: Hashable, Sendable {
        /// Scheme, host and port.
        public let baseUrl: URL

        /// A server at that address.
        public init(baseUrl: URL) { self.baseUrl = baseUrl }
    }

    /// An account, for an app's own tests too.
    public init(username: Username, server: Server) {
        self.username = username
        self.server = server
    }

    public static func == (left: Self, right: Self) -> Bool {
        left.username.hasSameBytes(as: right.username) && left.server == right.server
    }

    public func hash(into hasher: inout Hasher) {
        self.username.hashBytes(into: &hasher)
        hasher.combine(self.server)
    }
}

/// What the app calls this device towards the server.
public struct DeviceInformation: Hashable, Sendable {
    /// A name that the person knows the device by: 1 to 100 characters, not white space alone, and nowhere more than 30
    /// combining marks in a row. A registration with another name ends with ``OperationError/Code/missingInteraction``,
    /// and with the reason.
    public let name: String

    /// A device of that name.
    public init(name: String) { self.name = name }

    /// Why this is no name for a device; `nil` where it is one.
    var flaw: String? {
        if !(1...100).contains(self.name.unicodeScalars.count) { return "it does not have 1 to 100 characters" }
        // With such a name in it, neither this device's own list nor an answer of the server could be read again.
        if !self.name.isStreamSafe { return "it has more than 30 combining marks in a row" }
        return self.name.allSatisfy(\.isWhitespace) ? "it is white space" : nil
    }
}

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
        public let registeredAccounts: [Account]

        /// A registration for those accounts.
        public init(registeredAccounts: [Account] = []) { self.registeredAccounts = registeredAccounts }
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
