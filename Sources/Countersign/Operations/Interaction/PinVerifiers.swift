public import UAFClient

/// Asks for a new PIN during a registration.
///
/// The answer comes through the handler, from any thread, within the configured time; the call may wait for it or return
/// before. A class of the main actor can be one.
public protocol PinEnroller: Sendable {
    /// Asks for a new PIN. Called again with `context.lastRecoverableError` where the PIN does not meet the policy.
    func enrollPin(context: PinEnrollmentContext, handler: PinEnrollmentHandler) async

    /// How long a PIN must be: by default six digits.
    func pinPolicy() async -> PinPolicy
}

extension PinEnroller {
    /// Six digits.
    public func pinPolicy() -> PinPolicy { PinPolicy() }
}

/// How long a PIN must be, in decimal digits.
public struct PinPolicy: Hashable, Sendable {
    /// The fewest digits.
    public var minLength: Int
    /// The most digits.
    public var maxLength: Int

    /// Six digits unless it is given.
    public init(minLength: Int = 6, maxLength: Int = 6) {
        self.minLength = minLength
        self.maxLength = maxLength
    }

    /// Whether a PIN is of ASCII digits alone and of the right length.
    public func accepts(_ pin: String) -> Bool {
        pin.utf8.count >= max(1, self.minLength) && pin.utf8.count <= self.maxLength
            && pin.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}

/// What a PIN enroller needs to know.
public struct PinEnrollmentContext: Sendable {
    /// For whom the PIN is.
    public let username: Username
    /// Why the PIN before was not taken.
    public let lastRecoverableError: PinEnrollmentError?

    /// A context, for an app's own tests too.
    public init(username: Username, lastRecoverableError: PinEnrollmentError? = nil) {
        self.username = username
        self.lastRecoverableError = lastRecoverableError
    }
}

/// Why a new PIN was not taken. The person chooses another.
public enum PinEnrollmentError: Hashable, Sendable {
    /// Not of the policy's length, or not of digits.
    case invalidPinFormat
}

/// Takes the answer of a PIN enroller. The first call counts.
public struct PinEnrollmentHandler: Sendable {
    let reply: Reply<String>

    init(answer: Answer<String>) { self.reply = Reply(to: answer) }
    /// A handler for an app's own tests: one of the two is called, once.
    public init(pin: @escaping @Sendable (String) -> Void, cancel: @escaping @Sendable () -> Void = {}) {
        self.reply = Reply(pin, cancel: cancel)
    }

    /// The new PIN.
    public func pin(_ pin: String) { self.reply.give(pin) }
    /// Gives up: the operation ends with `userCanceled`.
    public func cancel() { self.reply.cancel() }
}

/// Asks for the PIN during an authentication.
///
/// The answer comes through the handler, from any thread, within the configured time; the call may wait for it or return
/// before. A class of the main actor can be one.
public protocol PinUserVerifier: Sendable {
    /// Asks for the PIN. Called again with `context.lastRecoverableError` until the PIN is right, the person gives up,
    /// or the tries are used up.
    func verifyPin(context: PinUserVerificationContext, handler: PinUserVerificationHandler) async
}

/// What a PIN verifier needs to know.
public struct PinUserVerificationContext: Sendable {
    /// Which authenticator asks.
    public let authenticator: AuthenticatorDescriptor
    /// Whose PIN it is.
    public let username: Username
    /// How many tries are left and how long to wait for the next.
    public let authenticatorProtectionStatus: AuthenticatorProtectionStatus
    /// Why the PIN before did not help.
    public let lastRecoverableError: PinUserVerificationError?

    /// A context, for an app's own tests too.
    public init(
        authenticator: AuthenticatorDescriptor, username: Username,
        authenticatorProtectionStatus: AuthenticatorProtectionStatus = .unlocked,
        lastRecoverableError: PinUserVerificationError? = nil
    ) {
        self.authenticator = authenticator
        self.username = username
        self.authenticatorProtectionStatus = authenticatorProtectionStatus
        self.lastRecoverableError = lastRecoverableError
    }
}

/// Why a PIN did not help. The person tries again.
public enum PinUserVerificationError: Hashable, Sendable {
    /// Not the PIN; the try is counted.
    case invalidPin
    /// Given before the waiting time was over: neither checked nor counted.
    case coolingDown
}

/// Takes the answer of a PIN verifier. The first call counts.
public struct PinUserVerificationHandler: Sendable {
    let reply: Reply<String>

    init(answer: Answer<String>) { self.reply = Reply(to: answer) }
    /// A handler for an app's own tests: one of the two is called, once.
    public init(verifyPin: @escaping @Sendable (String) -> Void, cancel: @escaping @Sendable () -> Void = {}) {
        self.reply = Reply(verifyPin, cancel: cancel)
    }

    /// The PIN that the person typed.
    public func verifyPin(_ pin: String) { self.reply.give(pin) }
    /// Gives up: the operation ends with `userCanceled`, and the server hears of it.
    public func cancel() { self.reply.cancel() }
}
