public import UAFClient
import _Primitives

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A screen that asks for the present PIN and for a new PIN, during a ``PinChange``.
///
/// The answer comes through the handler, from any thread, within the configured time. The call may wait for the answer
/// or return earlier. A class of the main actor can conform to this protocol.
public protocol PinChanger: PinPolicyProvider {
    /// Asks for the present and the new PIN. The SDK calls the function again with `context.lastRecoverableError` until
    /// the PIN is changed, the person gives up, or the tries are used up.
    func changePin(context: PinChangeContext, handler: PinChangeHandler) async
}

/// The information for a PIN changer.
public struct PinChangeContext: Sendable {
    /// The name of the person whose PIN is changed.
    public let username: Username
    /// The number of remaining tries for the present PIN, and the time to wait for the next try.
    public let authenticatorProtectionStatus: AuthenticatorProtectionStatus
    /// The moment at which the waiting time ends, by the clock of the device that the app sees too; `nil` if no time has
    /// to pass. See `coolDownDeadline(readAt:)` of ``AuthenticatorProtectionStatus``.
    public let coolDownDeadline: Date?
    /// The reason why the previous answer was not accepted.
    public let lastRecoverableError: PinChangeRecoverableError?

    /// Creates a context. Public also for an app's own tests.
    public init(
        username: Username, authenticatorProtectionStatus: AuthenticatorProtectionStatus = .unlocked,
        coolDownDeadline: Date? = nil,
        lastRecoverableError: PinChangeRecoverableError? = nil
    ) {
        self.username = username
        self.authenticatorProtectionStatus = authenticatorProtectionStatus
        self.coolDownDeadline = coolDownDeadline
        self.lastRecoverableError = lastRecoverableError
    }
}

/// The reason why a PIN was not changed. The person answers again.
public enum PinChangeRecoverableError: Hashable, Sendable {
    /// The present PIN is wrong; the try is counted.
    case invalidPin
    /// The new PIN does not have the policy's length, or contains other characters than the digits 0 to 9. Nothing was
    /// checked and nothing was counted.
    case invalidPinFormat
    /// The new PIN is easy to guess: this rule of the policy refuses the new PIN. Nothing was checked and nothing was
    /// counted.
    case unsafePin(PinRule)
    /// The new PIN is the present PIN. Nothing was checked and nothing was counted.
    case oldPinEqualsNewPin
    /// The present PIN was given before the waiting time was over: the PIN was neither checked nor counted.
    case coolingDown
}

extension PinChangeRecoverableError {
    /// Creates the reason why a policy refused the new PIN.
    init(_ refusal: PinEnrollmentError) {
        switch refusal {
        case .invalidPinFormat: self = .invalidPinFormat
        case .unsafePin(let rule): self = .unsafePin(rule)
        }
    }
}

/// The receiver of the answer of a PIN changer. The first call counts.
public struct PinChangeHandler: Sendable {
    let reply: Reply<(old: String, new: String)>

    init(answer: Answer<(old: String, new: String)>) { self.reply = Reply(to: answer) }
    /// Creates a handler for an app's own tests. One of the two closures is called, once.
    public init(
        pins: @escaping @Sendable (_ old: String, _ new: String) -> Void,
        cancel: @escaping @Sendable () -> Void = {}
    ) {
        self.reply = Reply({ pins($0.old, $0.new) }, cancel: cancel)
    }

    /// Passes the present PIN and the new PIN, as the person typed them.
    public func pins(old: String, new: String) { self.reply.give((old, new)) }
    /// Gives up: the operation ends with `userCanceled`, and the PIN stays. No server is told.
    public func cancel() { self.reply.cancel() }
}

/// The questions of a ``PinChange``.
struct PinChangeQuestions: SecretChangeQuestions {
    let changer: any PinChanger
    let policy: PinPolicy
    let patience: Patience

    static func error(for refusal: SecretRefusal) -> PinChangeRecoverableError {
        switch refusal {
        case .wrong: .invalidPin
        case .coolingDown: .coolingDown
        }
    }

    func ask(
        _ username: Username, _ status: AuthenticatorProtectionStatus, _ lastError: PinChangeRecoverableError?
    ) async throws -> SecretChangeAnswer<PinChangeRecoverableError> {
        let context = PinChangeContext(
            username: username, authenticatorProtectionStatus: status,
            coolDownDeadline: self.patience.deadline(of: status), lastRecoverableError: lastError)
        let typed = try await self.patience.ask { answer in
            await self.changer.changePin(context: context, handler: PinChangeHandler(answer: answer))
        }
        if let refusal = self.policy.refusal(of: typed.new) { return .refused(PinChangeRecoverableError(refusal)) }
        let change = SecretChange(old: SecretBytes(utf8: typed.old), new: SecretBytes(utf8: typed.new))
        return change.old == change.new ? .refused(.oldPinEqualsNewPin) : .change(change)
    }
}
