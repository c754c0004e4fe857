/// A screen that knows the app's policy for new passwords. ``PasswordEnroller`` and ``PasswordChanger`` share the
/// policy, so that a class that is both screens has a single policy.
public protocol PasswordPolicyProvider: Sendable {
    /// Returns the policy for new passwords. The default is a ``PasswordLengthPolicy``.
    func passwordPolicy() async -> any PasswordPolicy
}

extension PasswordPolicyProvider {
    /// Returns the default policy: eight characters or more.
    public func passwordPolicy() -> any PasswordPolicy { PasswordLengthPolicy() }
}

/// A policy that decides which passwords are accepted. The policy may ask a server, if it answers within the configured
/// time.
///
/// Each function judges once, by returning or by throwing. A policy that learns its judgement in a callback is a
/// ``PasswordPolicyWithCallbacks``.
public protocol PasswordPolicy: Sendable {
    /// Checks a password that a person wants to enrol. Throws ``PasswordValidationError`` to refuse the password.
    ///
    /// The SDK itself refuses passwords with more than 1024 bytes, or with more than 30 combining marks in a row; such
    /// passwords never reach this function.
    func validatePasswordForEnrollment(_ password: String) async throws(PasswordValidationError)

    /// Checks a password that replaces another password (``PasswordChange``). Throws ``PasswordValidationError`` to
    /// refuse the password.
    ///
    /// The function gets no password that the SDK itself refuses, and no password that equals the present password.
    func validatePasswordForPasswordChange(_ password: String) async throws(PasswordValidationError)
}

/// A policy's reason for refusing a password, for the app to show. The reason never contains the password.
public struct PasswordValidationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The reason: a text of the policy in the person's language, or an event for which each language has a sentence.
    public let event: ErrorEvent
    /// The reason as a text: the text of the policy, or the sentence of the event in English.
    public var message: String { EnglishMessages().words(self.event).text }
    /// The reason as a text.
    public var description: String { self.message }

    /// Creates a refusal with a text of the policy.
    public init(_ message: String) { self.event = .supplied(message) }

    /// Creates a refusal with an event. The screen shows the event in the person's language
    /// (``ExplainedError/message(in:)``).
    public init(_ event: ErrorEvent) { self.event = event }

    /// The refusal of a password without a bound, which no policy sees.
    static let unbounded = Self(.passwordUnbounded)
}

/// A policy that accepts every password within a minimum and a maximum length.
public struct PasswordLengthPolicy: PasswordPolicy, Hashable {
    /// The minimum number of characters, as a person counts them.
    public var minLength: Int
    /// The maximum number of characters, as Unicode counts them: a letter with marks, or a picture of several parts,
    /// counts as more than one character. The SDK accepts no password beyond 1024 bytes, whatever a policy says.
    public var maxLength: Int

    /// Creates a policy. The default is eight to 128 characters.
    public init(minLength: Int = 8, maxLength: Int = 128) {
        self.minLength = minLength
        self.maxLength = maxLength
    }

    /// Checks the number of characters.
    public func validatePasswordForEnrollment(_ password: String) async throws(PasswordValidationError) {
        guard password.unicodeScalars.count <= self.maxLength, password.count >= max(1, self.minLength) else {
            throw PasswordValidationError(.passwordLength(minimum: self.minLength, maximum: self.maxLength))
        }
    }

    /// Checks the number of characters.
    public func validatePasswordForPasswordChange(_ password: String) async throws(PasswordValidationError) {
        try await self.validatePasswordForEnrollment(password)
    }
}

/// A policy of an app that learns its judgements in callbacks, for instance from a server.
///
/// A validator calls exactly one function of its handler, once, from any thread, within the configured time. A second
/// call throws ``OperationError`` (`operationReused`), and the first judgement stands. Without a call, the operation
/// ends with `userNotResponsive`.
public struct PasswordPolicyWithCallbacks: PasswordPolicy {
    /// A function that judges a password and reports the judgement to the handler.
    public typealias Validator = @Sendable (_ password: String, _ handler: PasswordValidationHandler) -> Void

    private let enrollment: Validator
    private let change: Validator

    /// Creates a policy from the validator of passwords that are enrolled, and the validator of passwords that replace
    /// another password.
    public init(forEnrollment enrollment: @escaping Validator, forPasswordChange change: @escaping Validator) {
        self.enrollment = enrollment
        self.change = change
    }

    /// Waits for the judgement of the first validator.
    public func validatePasswordForEnrollment(_ password: String) async throws(PasswordValidationError) {
        try await Self.judge(password, by: self.enrollment)
    }

    /// Waits for the judgement of the second validator.
    public func validatePasswordForPasswordChange(_ password: String) async throws(PasswordValidationError) {
        try await Self.judge(password, by: self.change)
    }

    private static func judge(_ password: String, by validator: Validator) async throws(PasswordValidationError) {
        let answer = Answer<PasswordValidationError?>()
        validator(password, PasswordValidationHandler(answer: answer))
        let refusal: PasswordValidationError?
        do {
            refusal = try await answer.value
        } catch {
            // The task was cancelled. A password without a judgement is not accepted.
            throw PasswordValidationError(.passwordNotJudged)
        }
        if let refusal { throw refusal }
    }
}

/// The receiver of a judgement about a password. The first call counts, and a second call throws.
public struct PasswordValidationHandler: Sendable {
    private let answer: Answer<PasswordValidationError?>
    private let once = OneShot()

    init(answer: Answer<PasswordValidationError?>) { self.answer = answer }

    /// Accepts the password. Throws ``OperationError`` (`operationReused`) if the password was already judged.
    public func accept() throws(OperationError) { try self.judge(nil) }

    /// Refuses the password with advice for the person. Throws ``OperationError`` (`operationReused`) if the password
    /// was already judged.
    public func refuse(_ error: PasswordValidationError) throws(OperationError) { try self.judge(error) }

    private func judge(_ refusal: PasswordValidationError?) throws(OperationError) {
        guard self.once.take() else { throw OperationError(.operationReused, "a second judgement of a password") }
        self.answer.give(.success(refusal))
    }
}
