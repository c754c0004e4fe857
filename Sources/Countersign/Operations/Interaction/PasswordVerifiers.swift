public import UAFClient

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A screen that asks for a new password during a registration.
///
/// The answer comes through the handler, from any thread, within the configured time. The call may wait for the answer
/// or return earlier. A class of the main actor can conform to this protocol.
public protocol PasswordEnroller: PasswordPolicyProvider {
    /// Asks for a new password. If the policy refuses a password, the SDK calls the function again with
    /// `context.lastRecoverableError`.
    func enrollPassword(context: PasswordEnrollmentContext, handler: PasswordEnrollmentHandler) async
}

/// The information for a password enroller.
public struct PasswordEnrollmentContext: Sendable {
    /// The name of the person who chooses the password.
    public let username: Username
    /// The reason why the previous password was not accepted.
    public let lastRecoverableError: PasswordEnrollmentError?

    /// Creates a context. Public also for an app's own tests.
    public init(username: Username, lastRecoverableError: PasswordEnrollmentError? = nil) {
        self.username = username
        self.lastRecoverableError = lastRecoverableError
    }
}

/// The reason why a new password was not accepted. The person chooses another password.
public enum PasswordEnrollmentError: Hashable, Sendable {
    /// The app's policy refused the password, or the SDK refused a password that is too long or has too many marks,
    /// with a message in English.
    case customValidationError(PasswordValidationError)
}

/// The receiver of the answer of a password enroller. The first call counts.
public struct PasswordEnrollmentHandler: Sendable {
    let reply: Reply<String>

    init(answer: Answer<String>) { self.reply = Reply(to: answer) }
    /// Creates a handler for an app's own tests. One of the two closures is called, once.
    public init(password: @escaping @Sendable (String) -> Void, cancel: @escaping @Sendable () -> Void = {}) {
        self.reply = Reply(password, cancel: cancel)
    }

    /// Passes the new password. Letters that keyboards write in different ways count as the same (RFC 8265, section
    /// 4.2).
    public func password(_ password: String) { self.reply.give(password) }
    /// Gives up: the operation ends with `userCanceled`, and the server is told.
    public func cancel() { self.reply.cancel() }
}

/// A screen that asks for the password during an authentication.
///
/// The answer comes through the handler, from any thread, within the configured time. The call may wait for the answer
/// or return earlier. A class of the main actor can conform to this protocol.
public protocol PasswordUserVerifier: UserVerifier {
    /// Asks for the password. The SDK calls the function again with `context.lastRecoverableError` until the password
    /// is right, the person gives up, or the tries are used up.
    func verifyPassword(context: PasswordUserVerificationContext, handler: PasswordUserVerificationHandler) async
}

/// The information for a password verifier.
public struct PasswordUserVerificationContext: Sendable {
    /// The authenticator that asks for the password.
    public let authenticator: AuthenticatorDescriptor
    /// The name of the person whose password is requested.
    public let username: Username
    /// The number of remaining tries, and the time to wait for the next try.
    public let authenticatorProtectionStatus: AuthenticatorProtectionStatus
    /// The moment at which the waiting time ends, by the clock of the device that the app sees too; `nil` if no time has
    /// to pass. See `coolDownDeadline(readAt:)` of ``AuthenticatorProtectionStatus``.
    public let coolDownDeadline: Date?
    /// The reason why the previous password was not accepted.
    public let lastRecoverableError: PasswordUserVerificationError?

    /// Creates a context. Public also for an app's own tests.
    public init(
        authenticator: AuthenticatorDescriptor, username: Username,
        authenticatorProtectionStatus: AuthenticatorProtectionStatus = .unlocked,
        coolDownDeadline: Date? = nil,
        lastRecoverableError: PasswordUserVerificationError? = nil
    ) {
        self.authenticator = authenticator
        self.username = username
        self.authenticatorProtectionStatus = authenticatorProtectionStatus
        self.coolDownDeadline = coolDownDeadline
        self.lastRecoverableError = lastRecoverableError
    }
}

/// The reason why a password was not accepted. The person tries again.
public enum PasswordUserVerificationError: Hashable, Sendable {
    /// The password is wrong; the try is counted.
    case invalidPassword
    /// The password was given before the waiting time was over: it was neither checked nor counted.
    case coolingDown
}

/// The receiver of the answer of a password verifier. The first call counts.
public struct PasswordUserVerificationHandler: Sendable {
    let reply: Reply<String>

    init(answer: Answer<String>) { self.reply = Reply(to: answer) }
    /// Creates a handler for an app's own tests. One of the two closures is called, once.
    public init(verifyPassword: @escaping @Sendable (String) -> Void, cancel: @escaping @Sendable () -> Void = {}) {
        self.reply = Reply(verifyPassword, cancel: cancel)
    }

    /// Passes the password that the person typed.
    public func verifyPassword(_ password: String) { self.reply.give(password) }
    /// Gives up: the operation ends with `userCanceled`, and the server is told.
    public func cancel() { self.reply.cancel() }
}
