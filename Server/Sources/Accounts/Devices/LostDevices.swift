public import Records
public import _Primitives

/// Lost devices: the reports by people and operators, and the return of a device that was found again.
///
/// A reported device authenticates nowhere, and keeps its keys: a report takes nothing away for good. The device comes
/// back by another way of its account or by an operator, and never by its own keys.
public struct LostDevices: Sendable {
    private let accounts: PasswordAccounts

    /// Creates the reports about the devices of these accounts.
    public init(_ accounts: PasswordAccounts) { self.accounts = accounts }

    /// Returns the confirmed devices of an account, the oldest first.
    ///
    /// Cost: one query.
    public func devices(accountID: String) async throws -> [DeviceRecord] {
        try await self.accounts.store.devices(accountID: accountID).filter(\.isActive)
    }

    /// Returns the moment from which a person may report a device of an account; `nil` if the person may do so now.
    ///
    /// A person who has signed in by a device that another device approved a short time ago reports this device alone:
    /// otherwise the new device could take the other devices, by which its addition is disowned, out of use
    /// (decision 127).
    ///
    /// - Parameter signedIn: The device by which the person has signed in; `nil` for another way.
    ///
    /// Cost: at most one query.
    public func reportableFrom(
        _ deviceID: String, accountID: String, by signedIn: String?
    ) async throws -> Timestamp? {
        guard let signedIn, !signedIn.hasSameBytes(as: deviceID),
            let standing = try await self.devices(accountID: accountID)
                .first(where: { $0.id.hasSameBytes(as: signedIn) })?.standing,
            !standing.mayManage(at: self.accounts.time.now())
        else { return nil }
        return standing.limitedUntil
    }

    /// Lets a device rest. Sessions that the device has authenticated end, the person's devices get a notice, and each
    /// confirmed address gets a letter. `false` if the account has no such device, or the device rests already.
    ///
    /// - Parameter operator: The operator who reports; `nil` for the person.
    ///
    /// Cost: two queries, one more if the server sends mail, one store step.
    public func report(_ deviceID: String, accountID: String, by operator: String? = nil) async throws -> Bool {
        guard
            let report = try await self.report(
                deviceID, accountID, .deviceRested, .deviceRested, .deviceRested, `operator`)
        else { return false }
        return try await self.accounts.store.restDevice(report)
    }

    /// Ends the rest of a device. The person is told as of the report. `false` if the account has no such device, or
    /// the device does not rest. The person does not take back a device whose approval the person has disowned
    /// (``DeviceStanding/isDisowned``).
    ///
    /// - Parameter operator: The operator who gives the device back; `nil` for the person, whose other way has confirmed
    ///   the return.
    ///
    /// Cost: as ``report(_:accountID:by:)``.
    public func bringBack(_ deviceID: String, accountID: String, by operator: String? = nil) async throws -> Bool {
        guard
            let report = try await self.report(
                deviceID, accountID, .deviceReturned, .deviceReturned, .deviceReturned, `operator`)
        else { return false }
        return try await self.accounts.store.returnDevice(report)
    }

    /// Returns the report about a device with its messages; `nil` if the account has no such device.
    private func report(
        _ deviceID: String, _ accountID: String, _ event: AuditEvent.Kind, _ kind: NoticeRecord.Kind,
        _ letter: MailRecord.Subject, _ operator: String?
    ) async throws -> LostDeviceReport? {
        let accounts = self.accounts
        guard let account = try await accounts.store.account(id: accountID),
            let device = try await self.devices(accountID: accountID).first(where: {
                $0.id.hasSameBytes(as: deviceID)
            })
        else { return nil }
        let now = accounts.time.now()
        var notice = accounts.notice(kind, of: account, at: now)
        notice.subject = device.name
        return LostDeviceReport(
            deviceID: device.id, accountID: accountID,
            audit: AuditEvent(event, at: now, accountID: accountID, actor: `operator`, detail: device.id),
            notice: notice, mails: try await accounts.letters(letter, toAllAddressesOf: account, at: now))
    }
}
