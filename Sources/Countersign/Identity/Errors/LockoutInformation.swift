import Ceremony
import _Primitives

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// How long nothing is judged: because a failed attempt has just cost that, or because such a rest was running when something
/// was asked. Which of the factors was wrong is never said.
public struct LockoutInformation: Hashable, Sendable {
    /// Whether the activation is disabled for good. Then there is nothing to wait for: depersonalise, and get a new one.
    public let isPermanent: Bool
    /// Until when nothing is judged, by the server's clock. The distant future where it is for good.
    public let lockedUntil: Date
    /// What the server's clock said when it answered, for a device whose own is wrong.
    public let serverTime: Date

    /// How long it was, when the server answered.
    public var duration: Duration {
        .milliseconds(Int64((max(0, self.lockedUntil.timeIntervalSince(self.serverTime)) * 1000).rounded()))
    }

    init(_ notice: LockoutNotice, at now: Timestamp) {
        self.isPermanent = notice.isPermanent
        self.lockedUntil = notice.lockedUntil.map { Date($0) } ?? .distantFuture
        self.serverTime = Date(now)
    }
}

extension Date {
    /// A moment as Foundation has it.
    init(_ moment: Timestamp) { self.init(timeIntervalSince1970: Double(moment.milliseconds) / 1000) }
}
