public import UAF
public import _Primitives

/// How an authenticator reaches the person: the app's screens, behind the SDK.
///
/// Each call ends with the person's answer. An implementation throws ``UserVerificationError`` when there is none.
public protocol UserInteraction: Sendable {
    /// Asks for a new PIN or password, as the model's factor says. Its quality is the implementation's business; what
    /// it returns is enrolled.
    func enrollSecret(_ model: AuthenticatorModel) async throws -> SecretBytes

    /// Asks for the PIN or the password. `status` says how many tries are left; `lastError` is there when the one before
    /// did not help.
    func verifySecret(_ model: AuthenticatorModel, status: AuthenticatorProtectionStatus, lastError: SecretRefusal?)
        async throws -> SecretBytes

    /// Asks for a finger or a face and calls `read` once the person is ready, with the app's texts; returns what it
    /// gave. `hint` is the sensor's advice when the one before did not match.
    func verifyBiometric(
        _ model: AuthenticatorModel, hint: String?,
        read: @escaping @Sendable (SystemPrompt) async throws -> BiometricReading
    ) async throws -> BiometricReading

    /// Announces that the operating system asks for the device's passcode and calls `ask` once the person is ready,
    /// with the app's texts; returns what it gave.
    func verifyDevicePasscode(
        _ model: AuthenticatorModel, ask: @escaping @Sendable (SystemPrompt) async throws -> DevicePasscodeReading
    ) async throws -> DevicePasscodeReading

    /// Shows the picture of a transaction, a whole PNG file of a kind that the app has said it shows, until the person
    /// goes on to verification. Without an implementation of its own it is `unavailable`.
    func show(picture: [UInt8], _ model: AuthenticatorModel) async throws
}

extension UserInteraction {
    /// There is no screen for pictures.
    public func show(picture: [UInt8], _ model: AuthenticatorModel) async throws {
        throw UserVerificationError.unavailable
    }
}

/// Why a PIN or a password did not help, where another can be tried.
public enum SecretRefusal: Hashable, Sendable {
    /// It is another. The try is counted.
    case wrong
    /// It came during a cool-down: it was neither checked nor counted.
    case coolingDown
}

/// The person's answer to the question for another PIN or password.
package struct SecretChange: Sendable {
    /// The one so far, a try of which is spent.
    package var old: SecretBytes
    /// The one from now on. Its quality is the app's business.
    package var new: SecretBytes

    /// An answer of the two.
    package init(old: SecretBytes, new: SecretBytes) {
        self.old = old
        self.new = new
    }
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
}
