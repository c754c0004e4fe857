/// A report that a device is lost, or that a lost device is found again, with the messages about the report.
public struct LostDeviceReport: Sendable, Equatable {
    /// The device that the report names.
    public var deviceID: String
    /// The account of the device.
    public var accountID: String
    /// The audit event, at the time of the report.
    public var audit: AuditEvent
    /// The notice for the person's devices.
    public var notice: NoticeRecord
    /// The letters, one for each confirmed address of the person.
    public var mails: [MailRecord]

    /// `true` if an operator reports; `false` for the person.
    package var isByOperator: Bool { self.audit.actor != nil }

    /// Makes a report of these values.
    public init(
        deviceID: String, accountID: String, audit: AuditEvent, notice: NoticeRecord, mails: [MailRecord] = []
    ) {
        self.deviceID = deviceID
        self.accountID = accountID
        self.audit = audit
        self.notice = notice
        self.mails = mails
    }
}

/// Keeps the reports of lost devices: a reported device rests (``DeviceStanding/restedAt``).
public protocol LostDeviceStore: Sendable {
    /// Lets a device rest, with every other registration of the same phone. Ends the sessions and grants that these
    /// registrations have authenticated, and their open ceremonies. Their keys, names and push addresses stay.
    ///
    /// Must be a single step. Returns `false`, and changes nothing, if the account has no such active device, or the
    /// device rests already.
    func restDevice(_ report: LostDeviceReport) async throws -> Bool

    /// Ends the rest of a device, and of every other registration of the same phone. Ended sessions stay ended.
    ///
    /// Must be a single step. Returns `false`, and changes nothing, if the account has no such device, or the device
    /// does not rest. The same holds for a device whose approval the person has disowned, if the report has no operator.
    func returnDevice(_ report: LostDeviceReport) async throws -> Bool
}

extension AuditEvent.Kind {
    /// A device was reported as lost, and rests. The detail is the device.
    public static let deviceRested = Self(rawValue: "device-rested")
    /// A device that rested is in use again. The detail is the device.
    public static let deviceReturned = Self(rawValue: "device-returned")
}
