public import Countersign
public import Foundation

/// A PIN pad: the typed digits, and the moment at which the person may type.
///
/// The waiting time is a deadline and not a counter, so that a screen that slept shows the right remainder.
public struct PinPad: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// `true` if the person chooses a new PIN.
    public let isNew: Bool
    /// The name of the account.
    public let username: Username
    /// The minimum number of digits.
    public let minLength: Int
    /// The maximum number of digits.
    public let maxLength: Int
    /// The number of tries that remain; `nil` without a wrong try.
    public let remainingTries: Int?
    /// The moment until which no PIN is checked; `nil` if no time has to pass.
    public let deadline: Date?
    /// The reason for asking again; `nil` for the first question.
    public let error: ScreenError?
    private(set) var digits: String = ""

    /// The lengths of PINs that a pad offers at least for a PIN of unknown length.
    private static let lengths = 4...16

    /// Creates a pad for the PIN of an account.
    ///
    /// The device does not tell the length of a PIN, and the PIN can be older than the policy. So the pad accepts 4 to 16
    /// digits, and each length of the policy for new PINs.
    public init(_ context: PinUserVerificationContext, policy: PinPolicy) {
        self.isNew = false
        self.username = context.username
        self.minLength = min(Self.lengths.lowerBound, max(1, policy.minLength))
        self.maxLength = max(Self.lengths.upperBound, policy.maxLength)
        if case .lastAttemptFailed(let tries, _) = context.authenticatorProtectionStatus {
            self.remainingTries = tries
        } else {
            self.remainingTries = nil
        }
        self.deadline = context.coolDownDeadline
        self.error = context.lastRecoverableError.map { ScreenError($0) }
    }

    /// Creates a pad for a new PIN.
    public init(_ context: PinEnrollmentContext, policy: PinPolicy) {
        self.isNew = true
        self.username = context.username
        self.minLength = max(1, policy.minLength)
        self.maxLength = max(1, policy.minLength, policy.maxLength)
        self.remainingTries = nil
        self.deadline = nil
        self.error = context.lastRecoverableError.map { ScreenError($0) }
    }

    /// The number of typed digits, for the screen's dots.
    public var count: Int { self.digits.utf8.count }

    /// `true` if the digits can be a PIN by their number.
    public var isComplete: Bool { self.count >= self.minLength }

    /// Returns the remaining waiting time in seconds, rounded up; 0 if the person may type.
    ///
    /// `now` is the clock of the app. A clock that was set back shows a longer time at most: the device itself waits by
    /// a clock that nobody can set.
    public func remainingSeconds(at now: Date) -> Int {
        guard let deadline = self.deadline else { return 0 }
        let seconds = deadline.timeIntervalSince(now).rounded(.up)
        return seconds > 0 ? Int(min(seconds, 86_400)) : 0
    }

    /// Types a digit from 0 to 9. Other numbers, and digits past the maximum, change nothing.
    public mutating func press(_ digit: Int) {
        guard (0...9).contains(digit), self.count < self.maxLength else { return }
        self.digits += "\(digit)"
    }

    /// Erases the last digit.
    public mutating func erase() { self.digits = String(self.digits.dropLast()) }

    /// Returns the PIN if the person may give the PIN now; `nil` before the deadline and for too few digits.
    public func pin(at now: Date) -> String? {
        self.isComplete && self.remainingSeconds(at: now) == 0 ? self.digits : nil
    }

    /// The number of digits only.
    public var description: String { "PinPad(\(self.count) digits)" }
    public var customMirror: Mirror { Mirror(self, children: ["count": self.count]) }
}
