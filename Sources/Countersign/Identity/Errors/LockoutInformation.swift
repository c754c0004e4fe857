import Ceremony
import _Primitives

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The time during which the server judges no factors. The lockout was caused by a failed attempt just now, or was
/// already running when the request arrived. The server never reveals the wrong factor.
public struct LockoutInformation: Hashable, Sendable {
    /// `true` if the activation is disabled permanently. Waiting is useless then: depersonalise, and request a new
    /// activation.
    public let isPermanent: Bool
    /// The end of the lockout, by the server's clock. The distant future if the lockout is permanent.
    public let lockedUntil: Date
    /// The time of the server's clock when the server answered, for a device whose own clock is wrong.
    public let serverTime: Date

    /// The remaining duration of the lockout at the time of the server's answer.
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
    /// Creates the Foundation date of a moment.
    init(_ moment: Timestamp) { self.init(timeIntervalSince1970: Double(moment.milliseconds) / 1000) }
}
