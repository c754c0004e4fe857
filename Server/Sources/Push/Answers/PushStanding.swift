public import Settings
public import _Primitives

/// The things that a dispatcher remembers of a push service, as a pure value.
///
/// A refused target means two things: the device has told a wrong target, or the server's settings are wrong, and then
/// every target is refused. A success of the last hour shows that the settings are right. Without such a success, and
/// after many refusals in a row, no target is ended: one wrong setting must not delete the targets of all devices.
///
/// A person chooses the targets of the person's own devices, so the refused targets of one account say nothing about
/// the settings. The dispatcher stops when the targets of several accounts were refused since the last success.
public struct PushStanding: Sendable, Equatable {
    /// The decision about a message after an answer.
    public enum Decision: Sendable, Equatable {
        /// The device gets the message.
        case delivered
        /// The target ends, unless the device has changed the target after the moment. The message is dropped.
        case endTarget(unlessChangedAfter: Timestamp?)
        /// The message is tried again, not before the moment.
        case wait(until: Timestamp?)
        /// The dispatcher stops, and the message is tried again until it is over. `isNew` is `true` if the dispatcher
        /// did not stand still before.
        case stop(String, isNew: Bool)
        /// The message is dropped.
        case drop(String)
    }

    private struct Stop: Equatable, Sendable {
        let reason: String
        var nextTry: Timestamp
    }

    /// `nil` while the dispatcher runs.
    private var stop: Stop?
    private var lastSuccess: Timestamp?
    private var refusedTargets = 0
    /// The accounts whose targets were refused since the last success: at most the number that stops the dispatcher.
    private var refusedAccounts: Set<ExactText> = []

    /// Begins without any success.
    public init() {}

    /// The reason for which the dispatcher stands still; `nil` while the dispatcher runs.
    public var stopReason: String? { self.stop?.reason }

    /// Returns `true` if a message may be sent at `now`. A stopped dispatcher tries one message after each pause, so the
    /// stop ends when the operator has mended the cause at the service.
    public func isOpen(at now: Timestamp) -> Bool { self.stop.map { now >= $0.nextTry } ?? true }

    /// Takes the turn of a message at `now`. Returns `false` if the dispatcher stands still.
    public mutating func takeTurn(at now: Timestamp, limits: Limits.Push) -> Bool {
        guard self.isOpen(at: now) else { return false }
        self.stop?.nextTry = now + limits.stoppedPause
        return true
    }

    /// Decides about a message, and remembers the answer.
    ///
    /// - Parameter account: The account of the device, by its identifier.
    public mutating func decide(
        _ answer: PushAnswer, to account: String, at now: Timestamp, limits: Limits.Push
    ) -> Decision {
        switch answer {
        case .delivered:
            self = PushStanding()
            self.lastSuccess = now
            return .delivered
        case .targetEnded(let moment): return .endTarget(unlessChangedAfter: moment)
        case .targetRefused(let word): return self.refuse(word, to: account, at: now, limits)
        case .wait(let moment): return .wait(until: moment)
        case .dispatcherStopped(let word): return self.stop(word, at: now, limits)
        case .messageRefused(let word): return .drop(word)
        }
    }

    /// Decides about a message to a target that the service refuses.
    private mutating func refuse(
        _ word: String, to account: String, at now: Timestamp, _ limits: Limits.Push
    ) -> Decision {
        self.refusedTargets += 1
        if self.refusedAccounts.count < limits.refusedAccounts { self.refusedAccounts.insert(ExactText(account)) }
        let isOfMany = self.refusedAccounts.count >= limits.refusedAccounts
        let isRecent = self.lastSuccess.map { now - $0 <= limits.successAge } ?? false
        if self.stop != nil || isOfMany && (!isRecent || self.refusedTargets >= limits.refusedTargetsInARow) {
            return self.stop(word, at: now, limits)
        }
        return isRecent ? .endTarget(unlessChangedAfter: nil) : .drop(word)
    }

    private mutating func stop(_ reason: String, at now: Timestamp, _ limits: Limits.Push) -> Decision {
        let isNew = self.stop == nil
        self.stop = Stop(reason: reason, nextTry: now + limits.stoppedPause)
        return .stop(reason, isNew: isNew)
    }
}
