public import UAFClient
import _Primitives

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A screen that asks for the present password and for a new password, during a ``PasswordChange``.
///
/// The answer comes through the handler, from any thread, within the configured time. The call may wait for the answer
/// or return earlier. A class of the main actor can conform to this protocol.
public protocol PasswordChanger: PasswordPolicyProvider {
    /// Asks for the present and the new password. The SDK calls the function again with `context.lastRecoverableError` until
    /// the password is changed, the person gives up, or the tries are used up.
    func changePassword(context: PasswordChangeContext, handler: PasswordChangeHandler) async
}

/// The information for a password changer.
public struct PasswordChangeContext: Sendable {
    /// The name of the person whose password is changed.
    public let username: Username
    /// The number of remaining tries for the present password, and the time to wait for the next try.
    public let authenticatorProtectionStatus: AuthenticatorProtectionStatus
    /// The moment at which the waiting time ends, by the clock of the device that the app sees too; `nil` if no time has
    /// to pass. See `coolDownDeadline(readAt:)` of ``AuthenticatorProtectionStatus``.
    public let coolDownDeadline: Date?
    /// The reason why the previous answer was not accepted.
    public let lastRecoverableError: PasswordChangeRecoverableError?

    /// Creates a context. Public also for an app's own tests.
    public init(
        username: Username, authenticatorProtectionStatus: AuthenticatorProtectionStatus = .unlocked,
        coolDownDeadline: Date? = nil,
        lastRecoverableError: PasswordChangeRecoverableError? = nil
    ) {
        self.username = username
        self.authenticatorProtectionStatus = authenticatorProtectionStatus
        self.coolDownDeadline = coolDownDeadline
        self.lastRecoverableError = lastRecoverableError
    }
}

/// The reason why a password was not changed. The person answers again.
public enum PasswordChangeRecoverableError: Hashable, Sendable {
    /// The present password is wrong; the try is counted.
    case invalidPassword
    /// The app's policy refused the new password, or the SDK refused a new password that is too long or has too many
    /// marks, with a message in English. The present password was not checked, and nothing was counted.
    case customValidationError(PasswordValidationError)
    /// The new password is the present password. Nothing was checked and nothing was counted.
    case oldPasswordEqualsNewPassword
    /// The present password was given before the waiting time was over: the password was neither checked nor counted.
    case coolingDown
}

/// The receiver of the answer of a password changer. The first call counts.
public struct PasswordChangeHandler: Sendable {
    let reply: Reply<(old: String, new: String)>

    init(answer: Answer<(old: String, new: String)>) { self.reply = Reply(to: answer) }
    /// Creates a handler for an app's own tests. One of the two closures is called, once.
    public init(
        passwords: @escaping @Sendable (_ old: String, _ new: String) -> Void,
        cancel: @escaping @Sendable () -> Void = {}
    ) {
        self.reply = Reply({ passwords($0.old, $0.new) }, cancel: cancel)
    }

    /// Passes the present password and the new password, as the person typed them.
    public func passwords(old: String, new: String) { self.reply.give((old, new)) }
    /// Gives up: the operation ends with `userCanceled`, and the password stays. No server is told.
    public func cancel() { self.reply.cancel() }
}

/// The questions of a ``PasswordChange``.
struct PasswordChangeQuestions: SecretChangeQuestions {
    let changer: any PasswordChanger
    let policy: any PasswordPolicy
    let patience: Patience

    static func error(for refusal: SecretRefusal) -> PasswordChangeRecoverableError {
        switch refusal {
        case .wrong: .invalidPassword
        case .coolingDown: .coolingDown
        }
    }

    func ask(
        _ username: Username, _ status: AuthenticatorProtectionStatus, _ lastError: PasswordChangeRecoverableError?
    ) async throws -> SecretChangeAnswer<PasswordChangeRecoverableError> {
        let context = PasswordChangeContext(
            username: username, authenticatorProtectionStatus: status,
            coolDownDeadline: self.patience.deadline(of: status), lastRecoverableError: lastError)
        let typed = try await self.patience.ask { answer in
            await self.changer.changePassword(context: context, handler: PasswordChangeHandler(answer: answer))
        }
        // The check precedes any work on the text, including the app's work.
        guard let new = SecretBytes.password(typed.new) else { return .refused(.customValidationError(.unbounded)) }
        // A password that could not be enrolled is wrong, and counts as a wrong try.
        let old = SecretBytes.password(typed.old) ?? .noPassword
        guard old != new else { return .refused(.oldPasswordEqualsNewPassword) }
        do {
            try await self.patience.compute { try await self.policy.validatePasswordForPasswordChange(typed.new) }
        } catch let error as PasswordValidationError {
            return .refused(.customValidationError(error))
        }
        return .change(SecretChange(old: old, new: new))
    }
}
