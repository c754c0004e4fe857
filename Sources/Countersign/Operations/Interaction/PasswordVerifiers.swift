public import UAFClient

/// Asks for a new password during a registration.
///
/// The answer comes through the handler, from any thread, within the configured time; the call may wait for it or return
/// before. A class of the main actor can be one.
public protocol PasswordEnroller: Sendable {
    /// Asks for a new password. Called again with `context.lastRecoverableError` where the policy refuses one.
    func enrollPassword(context: PasswordEnrollmentContext, handler: PasswordEnrollmentHandler) async

    /// Which passwords are taken: by default those of a ``PasswordLengthPolicy``.
    func passwordPolicy() async -> any PasswordPolicy
}

extension PasswordEnroller {
    /// Eight characters or more.
    public func passwordPolicy() -> any PasswordPolicy { PasswordLengthPolicy() }
}

/// Decides which passwords are taken. It may ask a server, as long as it answers within the configured time.
public protocol PasswordPolicy: Sendable {
    /// Judges a password that a person wants to enrol. Throws ``PasswordValidationError`` where it is refused. One with
    /// more than 1024 bytes, or with more than 30 combining marks in a row, never gets here: the SDK refuses it.
    func validatePasswordForEnrollment(_ password: String) async throws(PasswordValidationError)

    /// Judges a password that is to replace another. Throws ``PasswordValidationError`` where it is refused.
    func validatePasswordForPasswordChange(_ password: String) async throws(PasswordValidationError)
}

/// Why a policy refuses a password: for the app to show, never with the password in it.
public struct PasswordValidationError: Error, Hashable, Sendable {
    /// What the person should do, in their language.
    public let message: String

    /// A refusal with that advice.
    public init(_ message: String) { self.message = message }
}

/// Takes every password that is long enough and not too long.
public struct PasswordLengthPolicy: PasswordPolicy, Hashable {
    /// The fewest characters, as a person counts them.
    public var minLength: Int
    /// The most characters, as Unicode counts them: a letter with marks on it, or a picture made of several, is more than
    /// one. Beyond 1024 bytes the SDK takes no password, whatever a policy says.
    public var maxLength: Int

    /// Eight to 128 characters unless it is given.
    public init(minLength: Int = 8, maxLength: Int = 128) {
        self.minLength = minLength
        self.maxLength = maxLength
    }

    /// Counts the characters.
    public func validatePasswordForEnrollment(_ password: String) async throws(PasswordValidationError) {
        guard password.unicodeScalars.count <= self.maxLength, password.count >= max(1, self.minLength) else {
            throw PasswordValidationError("A password has \(self.minLength) to \(self.maxLength) characters.")
        }
    }

    /// Counts the characters.
    public func validatePasswordForPasswordChange(_ password: String) async throws(PasswordValidationError) {
        try await self.validatePasswordForEnrollment(password)
    }
}

/// What a password enroller needs to know.
public struct PasswordEnrollmentContext: Sendable {
    /// For whom the password is.
    public let username: Username
    /// Why the password before was not taken.
    public let lastRecoverableError: PasswordEnrollmentError?

    /// A context, for an app's own tests too.
    public init(username: Username, lastRecoverableError: PasswordEnrollmentError? = nil) {
        self.username = username
        self.lastRecoverableError = lastRecoverableError
    }
}

/// Why a new password was not taken. The person chooses another.
public enum PasswordEnrollmentError: Hashable, Sendable {
    /// The app's policy refused it.
    case customValidationError(PasswordValidationError)
}

/// Takes the answer of a password enroller. The first call counts.
public struct PasswordEnrollmentHandler: Sendable {
    let reply: Reply<String>

    init(answer: Answer<String>) { self.reply = Reply(to: answer) }
    /// A handler for an app's own tests: one of the two is called, once.
    public init(password: @escaping @Sendable (String) -> Void, cancel: @escaping @Sendable () -> Void = {}) {
        self.reply = Reply(password, cancel: cancel)
    }

    /// The new password. Letters that keyboards write in different ways count as the same (RFC 8265, section 4.2).
    public func password(_ password: String) { self.reply.give(password) }
    /// Gives up: the operation ends with `userCanceled`.
    public func cancel() { self.reply.cancel() }
}

/// Asks for the password during an authentication.
///
/// The answer comes through the handler, from any thread, within the configured time; the call may wait for it or return
/// before. A class of the main actor can be one.
public protocol PasswordUserVerifier: Sendable {
    /// Asks for the password. Called again with `context.lastRecoverableError` until the password is right, the person
    /// gives up, or the tries are used up.
    func verifyPassword(context: PasswordUserVerificationContext, handler: PasswordUserVerificationHandler) async
}

/// What a password verifier needs to know.
public struct PasswordUserVerificationContext: Sendable {
    /// Which authenticator asks.
    public let authenticator: AuthenticatorDescriptor
    /// Whose password it is.
    public let username: Username
    /// How many tries are left and how long to wait for the next.
    public let authenticatorProtectionStatus: AuthenticatorProtectionStatus
    /// Why the password before did not help.
    public let lastRecoverableError: PasswordUserVerificationError?

    /// A context, for an app's own tests too.
    public init(
        authenticator: AuthenticatorDescriptor, username: Username,
        authenticatorProtectionStatus: AuthenticatorProtectionStatus = .unlocked,
        lastRecoverableError: PasswordUserVerificationError? = nil
    ) {
        self.authenticator = authenticator
        self.username = username
        self.authenticatorProtectionStatus = authenticatorProtectionStatus
        self.lastRecoverableError = lastRecoverableError
    }
}

/// Why a password did not help. The person tries again.
public enum PasswordUserVerificationError: Hashable, Sendable {
    /// Not the password; the try is counted.
    case invalidPassword
    /// Given before the waiting time was over: neither checked nor counted.
    case coolingDown
}

/// Takes the answer of a password verifier. The first call counts.
public struct PasswordUserVerificationHandler: Sendable {
    let reply: Reply<String>

    init(answer: Answer<String>) { self.reply = Reply(to: answer) }
    /// A handler for an app's own tests: one of the two is called, once.
    public init(verifyPassword: @escaping @Sendable (String) -> Void, cancel: @escaping @Sendable () -> Void = {}) {
        self.reply = Reply(verifyPassword, cancel: cancel)
    }

    /// The password that the person typed.
    public func verifyPassword(_ password: String) { self.reply.give(password) }
    /// Gives up: the operation ends with `userCanceled`, and the server hears of it.
    public func cancel() { self.reply.cancel() }
}
