public import UAFClient

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A screen that asks for a new PIN during a registration.
///
/// The answer comes through the handler, from any thread, within the configured time. The call may wait for the answer
/// or return earlier. A class of the main actor can conform to this protocol.
public protocol PinEnroller: PinPolicyProvider {
    /// Asks for a new PIN. If the PIN does not meet the policy, the SDK calls the function again with
    /// `context.lastRecoverableError`.
    func enrollPin(context: PinEnrollmentContext, handler: PinEnrollmentHandler) async
}

/// A screen that knows the app's policy for new PINs. ``PinEnroller`` and ``PinChanger`` share the policy, so that a
/// class that is both screens has a single policy.
public protocol PinPolicyProvider: Sendable {
    /// Returns the length that a PIN must have, and the rules that a PIN must obey. The default is six digits and no
    /// rules.
    func pinPolicy() async -> PinPolicy
}

extension PinPolicyProvider {
    /// Returns the default policy: six digits.
    public func pinPolicy() -> PinPolicy { PinPolicy() }
}

/// A policy for the PINs that people choose, at an enrolment and at a change: the length in decimal digits, and rules
/// against PINs that are easy to guess.
public struct PinPolicy: Hashable, Sendable {
    /// The minimum number of digits.
    public var minLength: Int
    /// The maximum number of digits.
    public var maxLength: Int
    /// The rules, in the order in which they judge a PIN. `PinRule.simple` has the rules for the PINs of personalised
    /// identities. If no PIN of the right length obeys all rules, the person can only give up.
    public var rules: [PinRule]

    /// Creates a policy. The default is six digits and no rules.
    public init(minLength: Int = 6, maxLength: Int = 6, rules: [PinRule] = []) {
        self.minLength = minLength
        self.maxLength = maxLength
        self.rules = rules
    }

    /// Returns `true` if a PIN consists of ASCII digits only, has the right length and obeys all rules.
    public func accepts(_ pin: String) -> Bool { self.refusal(of: pin) == nil }

    /// Returns the reason to refuse a PIN; `nil` if the policy accepts the PIN. The rules judge a PIN of the right
    /// length and characters only. The first rule that refuses the PIN is the reason.
    public func refusal(of pin: String) -> PinEnrollmentError? {
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        guard pin.utf8.count >= max(1, self.minLength), pin.utf8.count <= self.maxLength,
            pin.utf8.allSatisfy(digits.contains)
        else { return .invalidPinFormat }
        return self.rules.first(refusing: pin.utf8).map { .unsafePin($0) }
    }
}

/// The information for a PIN enroller.
public struct PinEnrollmentContext: Sendable {
    /// The name of the person who chooses the PIN.
    public let username: Username
    /// The reason why the previous PIN was not accepted.
    public let lastRecoverableError: PinEnrollmentError?

    /// Creates a context. Public also for an app's own tests.
    public init(username: Username, lastRecoverableError: PinEnrollmentError? = nil) {
        self.username = username
        self.lastRecoverableError = lastRecoverableError
    }
}

/// The reason why a new PIN was not accepted. The person chooses another PIN.
public enum PinEnrollmentError: Hashable, Sendable {
    /// The PIN does not have the policy's length, or contains other characters than the digits 0 to 9.
    case invalidPinFormat
    /// The PIN is easy to guess: this rule of the policy refuses the PIN.
    case unsafePin(PinRule)
}

/// The receiver of the answer of a PIN enroller. The first call counts.
public struct PinEnrollmentHandler: Sendable {
    let reply: Reply<String>

    init(answer: Answer<String>) { self.reply = Reply(to: answer) }
    /// Creates a handler for an app's own tests. One of the two closures is called, once.
    public init(pin: @escaping @Sendable (String) -> Void, cancel: @escaping @Sendable () -> Void = {}) {
        self.reply = Reply(pin, cancel: cancel)
    }

    /// Passes the new PIN.
    public func pin(_ pin: String) { self.reply.give(pin) }
    /// Gives up: the operation ends with `userCanceled`, and the server is told.
    public func cancel() { self.reply.cancel() }
}

/// A screen that asks for the PIN during an authentication.
///
/// The answer comes through the handler, from any thread, within the configured time. The call may wait for the answer
/// or return earlier. A class of the main actor can conform to this protocol.
public protocol PinUserVerifier: UserVerifier {
    /// Asks for the PIN. The SDK calls the function again with `context.lastRecoverableError` until the PIN is right,
    /// the person gives up, or the tries are used up.
    func verifyPin(context: PinUserVerificationContext, handler: PinUserVerificationHandler) async
}

/// The information for a PIN verifier.
public struct PinUserVerificationContext: Sendable {
    /// The authenticator that asks for the PIN.
    public let authenticator: AuthenticatorDescriptor
    /// The name of the person whose PIN is requested.
    public let username: Username
    /// The number of remaining tries, and the time to wait for the next try.
    public let authenticatorProtectionStatus: AuthenticatorProtectionStatus
    /// The moment at which the waiting time ends, by the clock of the device that the app sees too; `nil` if no time has
    /// to pass. See `coolDownDeadline(readAt:)` of ``AuthenticatorProtectionStatus``.
    public let coolDownDeadline: Date?
    /// The reason why the previous PIN was not accepted.
    public let lastRecoverableError: PinUserVerificationError?

    /// Creates a context. Public also for an app's own tests.
    public init(
        authenticator: AuthenticatorDescriptor, username: Username,
        authenticatorProtectionStatus: AuthenticatorProtectionStatus = .unlocked,
        coolDownDeadline: Date? = nil,
        lastRecoverableError: PinUserVerificationError? = nil
    ) {
        self.authenticator = authenticator
        self.username = username
        self.authenticatorProtectionStatus = authenticatorProtectionStatus
        self.coolDownDeadline = coolDownDeadline
        self.lastRecoverableError = lastRecoverableError
    }
}

/// The reason why a PIN was not accepted. The person tries again.
public enum PinUserVerificationError: Hashable, Sendable {
    /// The PIN is wrong; the try is counted.
    case invalidPin
    /// The PIN was given before the waiting time was over: it was neither checked nor counted.
    case coolingDown
}

/// The receiver of the answer of a PIN verifier. The first call counts.
public struct PinUserVerificationHandler: Sendable {
    let reply: Reply<String>

    init(answer: Answer<String>) { self.reply = Reply(to: answer) }
    /// Creates a handler for an app's own tests. One of the two closures is called, once.
    public init(verifyPin: @escaping @Sendable (String) -> Void, cancel: @escaping @Sendable () -> Void = {}) {
        self.reply = Reply(verifyPin, cancel: cancel)
    }

    /// Passes the PIN that the person typed.
    public func verifyPin(_ pin: String) { self.reply.give(pin) }
    /// Gives up: the operation ends with `userCanceled`, and the server is told.
    public func cancel() { self.reply.cancel() }
}
