public import UAFClient

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension AuthenticatorProtectionStatus {
    /// Returns the moment at which the waiting time ends, for a screen that counts down; `nil` if no time has to pass.
    ///
    /// The moment is at most a second after the real end, and never before the end. The device measures the waiting
    /// time by a clock that no person can set. If a person sets the clock of the app, the returned moment is wrong, and
    /// the waiting time stays the same.
    ///
    /// - Parameter now: The time of the app's clock when the status was read, for instance from ``LocalData``. The
    ///   context of a screen has the moment already: ``PinUserVerificationContext/coolDownDeadline``.
    public func coolDownDeadline(readAt now: Date) -> Date? {
        guard case .lastAttemptFailed(_, let seconds) = self, seconds > 0 else { return nil }
        return now.addingTimeInterval(TimeInterval(seconds))
    }
}

extension Patience {
    /// Returns the end of a status's waiting time, if the status was read just now.
    func deadline(of status: AuthenticatorProtectionStatus) -> Date? {
        status.coolDownDeadline(readAt: Date(self.clock.now()))
    }
}
