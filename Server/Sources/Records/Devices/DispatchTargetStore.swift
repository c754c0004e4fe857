public import _Primitives

/// A device as a target of dispatches: the part of a device's record that push and pending operations need.
///
/// Every device that may authenticate is a target. A device without a dispatcher is reached by no push.
public struct DispatchTargetRecord: Sendable, Equatable {
    /// The device.
    public var deviceID: String
    /// The account of the device.
    public var accountID: String
    /// The device's own name for itself. Two phones of a person have different names if each phone has named itself as a
    /// target.
    public var name: String
    /// The name of the dispatcher that reaches the device; `nil` if the device named none, or if the target has ended.
    public var dispatcher: String?
    /// The push address: a text of the dispatcher's provider, from 1 to 4,096 bytes. Sealed at rest. `nil` if the device
    /// named none, or if the target has ended.
    public var address: String?
    /// `false` if the device asked not to be pushed to: a dispatcher of a push service does not take the device as a
    /// target. Operations of other dispatchers wait for the device all the same.
    public var isPushWanted: Bool
    /// The key to which messages for the device are sealed: an uncompressed point on P-256. `nil` if the device has told
    /// no keys.
    public var encryptionKey: DeviceIdentityRecord.Key?
    /// The time at which the device last stated its dispatcher or its address. Before the first statement, the time of
    /// the registration.
    public var changedAt: Timestamp
    /// The time of a proof of the device, at most ``Limits/Fixed/deviceSeenInterval`` before the latest proof. `nil` if
    /// the device has proved no request since devices are targets.
    public var seenAt: Timestamp?

    /// Makes the record of a target.
    public init(
        deviceID: String, accountID: String, name: String, dispatcher: String? = nil, address: String? = nil,
        isPushWanted: Bool = true, encryptionKey: DeviceIdentityRecord.Key? = nil, changedAt: Timestamp,
        seenAt: Timestamp? = nil
    ) {
        self.deviceID = deviceID
        self.accountID = accountID
        self.name = name
        self.dispatcher = dispatcher
        self.address = address
        self.isPushWanted = isPushWanted
        self.encryptionKey = encryptionKey
        self.changedAt = changedAt
        self.seenAt = seenAt
    }
}

/// A change of a target by its device.
public struct DispatchTargetChange: Sendable, Equatable {
    /// A member that a change states or leaves.
    public enum Member: Sendable, Equatable {
        /// The value stays.
        case kept
        /// The value becomes another; `nil` removes the value.
        case changed(to: String?)
    }

    /// The device.
    public var deviceID: String
    /// The account of the device.
    public var accountID: String
    /// The new name; `nil` keeps the name.
    public var name: String?
    /// The dispatcher's name.
    public var dispatcher: Member
    /// The push address. A change to another dispatcher without an address removes the former address, so that no
    /// provider gets an address of another provider.
    public var address: Member
    /// The wish to be pushed to; `nil` keeps the wish.
    public var isPushWanted: Bool?
    /// The event for the audit trail, at the time of the change.
    public var audit: AuditEvent

    /// Describes a change.
    public init(
        deviceID: String, accountID: String, name: String? = nil, dispatcher: Member = .kept, address: Member = .kept,
        isPushWanted: Bool? = nil, audit: AuditEvent
    ) {
        self.deviceID = deviceID
        self.accountID = accountID
        self.name = name
        self.dispatcher = dispatcher
        self.address = address
        self.isPushWanted = isPushWanted
        self.audit = audit
    }
}

/// The devices as targets of dispatches.
///
/// A target ends with its device. The keys of a device are not changed here (``DeviceIdentityStore``).
public protocol DispatchTargetStore: Sendable {
    /// Returns the target of a device that may authenticate; `nil` for every other device. The account can be locked.
    func dispatchTarget(deviceID: String) async throws -> DispatchTargetRecord?

    /// Returns the targets of an account's devices that may authenticate, the oldest first.
    func dispatchTargets(accountID: String) async throws -> [DispatchTargetRecord]

    /// Returns the identifiers of an account's devices that may not authenticate any more: devices whose activation is
    /// disabled, and removed devices whose keys are still known.
    func formerDevices(accountID: String) async throws -> [String]

    /// Changes a target, with the event.
    ///
    /// Throws `notFound` if the account has no such device that may authenticate, and `conflict` if another phone of the
    /// account has the name. Registrations of one phone may share a name.
    func changeDispatchTarget(_ change: DispatchTargetChange) async throws

    /// Ends a target whose provider knows the address no longer: removes dispatcher and address, and notes the event.
    /// Returns `false` and changes nothing if the device is gone, has another address, or has stated the address after
    /// `moment`.
    func endDispatchTarget(
        deviceID: String, address: String, unlessChangedAfter moment: Timestamp?, audit: AuditEvent?
    ) async throws -> Bool

    /// Notes that a device has proved a request at `moment`. An earlier moment than the kept one changes nothing.
    func noteSeen(deviceID: String, at moment: Timestamp) async throws
}
