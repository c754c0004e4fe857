public import _Primitives

/// The state of a device beside its activity: what the device may do besides authenticating, and if the device may
/// authenticate at all.
public struct DeviceStanding: Sendable, Equatable {
    /// The end of the time in which a device that another device approved approves, removes and recovers nothing; `nil`
    /// for a device that was enrolled in another way.
    public var limitedUntil: Timestamp?
    /// The moment since which the device is reported as lost and authenticates nowhere; `nil` for a device in use.
    public var restedAt: Timestamp?
    /// `true` if the person has said that somebody else had the device approved. Such a device rests, is no device of the
    /// person, and comes back by another word of the person about the approval or by an operator.
    public var isDisowned: Bool

    /// Describes a device's standing. The default is a device in use, without limits.
    public init(limitedUntil: Timestamp? = nil, restedAt: Timestamp? = nil, isDisowned: Bool = false) {
        self.limitedUntil = limitedUntil
        self.restedAt = restedAt
        self.isDisowned = isDisowned
    }

    /// Returns `true` if the device may approve, remove and recover at `now`, and object to a recovery. A device that is
    /// reported as lost may object, but only by a rule of the recovery itself.
    public func mayManage(at now: Timestamp) -> Bool {
        self.mayAuthenticate && (self.limitedUntil.map { $0 <= now } ?? true)
    }

    /// `true` if the device's keys authenticate. `false` for a device that is reported as lost.
    public var mayAuthenticate: Bool { self.restedAt == nil }
}
