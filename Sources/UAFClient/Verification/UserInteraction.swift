public import UAF
public import _Primitives

/// The authenticator's way to the person: the app's screens, behind the SDK.
///
/// Each call ends with the person's answer. An implementation throws ``UserVerificationError`` if the person gives no
/// answer.
public protocol UserInteraction: Sendable {
    /// Asks for a new PIN or password, by the model's factor. The implementation is responsible for the quality of the
    /// secret; the returned secret is enrolled.
    func enrollSecret(_ model: AuthenticatorModel) async throws -> SecretBytes

    /// Asks for the PIN or the password.
    ///
    /// `status` has the number of remaining attempts. `lastError` is present if the secret before was refused.
    func verifySecret(_ model: AuthenticatorModel, status: AuthenticatorProtectionStatus, lastError: SecretRefusal?)
        async throws -> SecretBytes

    /// Asks for a finger or a face, and calls `read` with the app's texts as soon as the person is ready.
    ///
    /// Returns the result of `read`. `hint` is the sensor's advice if the finger or face before did not match.
    func verifyBiometric(
        _ model: AuthenticatorModel, hint: String?,
        read: @escaping @Sendable (SystemPrompt) async throws -> BiometricReading
    ) async throws -> BiometricReading

    /// Announces that the operating system asks for the device's passcode, and calls `ask` with the app's texts as soon
    /// as the person is ready. Returns the result of `ask`.
    func verifyDevicePasscode(
        _ model: AuthenticatorModel, ask: @escaping @Sendable (SystemPrompt) async throws -> DevicePasscodeReading
    ) async throws -> DevicePasscodeReading

    /// Announces that the PIN, the password, the finger, the face or the passcode was right. The key has signed, and the
    /// authenticator continues after the function has returned. The default implementation does nothing.
    func credentialsWereValid(_ model: AuthenticatorModel) async

    /// Shows the picture of a transaction until the person goes on to the verification.
    ///
    /// The picture is a complete PNG file of a kind that the app has declared. The default implementation throws
    /// `unavailable`.
    func show(picture: [UInt8], _ model: AuthenticatorModel) async throws
}

extension UserInteraction {
    /// Does nothing, for an app whose screens close otherwise.
    public func credentialsWereValid(_ model: AuthenticatorModel) async {}

    /// Throws `unavailable`, for an app without a screen for pictures.
    public func show(picture: [UInt8], _ model: AuthenticatorModel) async throws {
        throw UserVerificationError.unavailable
    }
}

/// The reason why a PIN or a password was refused, if another attempt is possible.
public enum SecretRefusal: Hashable, Sendable {
    /// The secret is wrong. The attempt counts.
    case wrong
    /// The secret came during a cool-down. The secret was neither checked nor counted.
    case coolingDown
}

/// The person's answer to the question for a new PIN or password.
package struct SecretChange: Sendable {
    /// The old secret, which costs an attempt.
    package var old: SecretBytes
    /// The new secret. The app is responsible for its quality.
    package var new: SecretBytes

    /// Creates an answer from the two secrets.
    package init(old: SecretBytes, new: SecretBytes) {
        self.old = old
        self.new = new
    }
}

/// The reason why the person gave no answer. Two errors are equal if their kinds are equal.
public struct UserVerificationError: Error, Hashable, Sendable, CustomStringConvertible {
    private enum Base: String { case cancelled, notResponsive, unavailable }
    private let base: Base
    /// The person, the app or the operating system gave up.
    public static let cancelled = Self(base: .cancelled)
    /// The person did not answer in time.
    public static let notResponsive = Self(base: .notResponsive)
    /// The app has no screen for this authenticator.
    public static let unavailable = Self(base: .unavailable)
    public var description: String { self.base.rawValue }
}
