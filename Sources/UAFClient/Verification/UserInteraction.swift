public import UAF
public import _Primitives

/// How an authenticator reaches the person: the app's screens, behind the SDK.
///
/// Each call ends with the person's answer. An implementation throws ``UserVerificationError`` when there is none.
public protocol UserInteraction: Sendable {
    /// Asks for a new PIN. Its quality is the implementation's business; what it returns is enrolled.
    func enrollPin(_ aaid: AAID) async throws -> SecretBytes

    /// Asks for the PIN. `status` says how many tries are left; `lastError` is there when the PIN before did not help.
    func verifyPin(_ aaid: AAID, status: PinAuthenticatorProtectionStatus, lastError: PinRefusal?) async throws
        -> SecretBytes

    /// Asks for a finger and calls `read` once the person is ready; returns what it gave. `hint` is the sensor's advice
    /// when the finger before did not match.
    func verifyFingerprint(_ aaid: AAID, hint: String?, read: @escaping @Sendable () async throws -> FingerprintReading)
        async throws -> FingerprintReading
}

/// Why a PIN did not help, where another can be tried.
public enum PinRefusal: Hashable, Sendable {
    /// It is not the PIN. The try is counted.
    case invalidPin
    /// It came during a cool-down: it was neither checked nor counted.
    case coolingDown
}

/// Why there is no answer of the person. Two are equal when their codes are.
public struct UserVerificationError: Error, Hashable, Sendable, CustomStringConvertible {
    private enum Base: String { case cancelled, notResponsive, unavailable }
    private let base: Base
    /// The person, the app or the operating system gave up.
    public static let cancelled = Self(base: .cancelled)
    /// No answer in time.
    public static let notResponsive = Self(base: .notResponsive)
    /// The app has no screen for this authenticator.
    public static let unavailable = Self(base: .unavailable)
    public var description: String { self.base.rawValue }

    /// The authenticator's status for it.
    var status: CommandStatus {
        switch self.base {
        case .cancelled: .userCancelled
        case .notResponsive: .userNotResponsive
        case .unavailable: .accessDenied
        }
    }
}
