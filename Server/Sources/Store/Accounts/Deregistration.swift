/// Which keys of an account are to go.
public enum CredentialSelection: Sendable, Equatable {
    /// The name of a key: its model and its name within that.
    public struct Name: Sendable, Equatable {
        public var aaid: String
        public var keyID: [UInt8]

        /// Names a key.
        public init(aaid: String, keyID: [UInt8]) {
            self.aaid = aaid
            self.keyID = keyID
        }
    }

    /// All, with every device and every session of the account.
    case all
    /// Those of one model, on every device.
    case model(String)
    /// These.
    case keys([Name])
}

/// What a deregistration came to.
public enum DeregistrationOutcome: Sendable, Equatable {
    /// So many keys were there, and are gone.
    case deregistered(credentials: Int)
    /// The account, or the device that asked, is not there (any more). Nothing was changed.
    case unknown
    /// The account of the device that asked is locked. Nothing was changed.
    case locked
}

/// Takes keys and devices away. What hangs on a device ends in the same step: the sessions that were signed in to with
/// it, what was granted in them, sign-ins with it that no browser has taken up, and its pending enrolment.
public protocol DeregistrationStore: Sendable {
    /// Deletes keys of an account, and the devices that have none left. The event and the notice are written where a key
    /// was deleted. A named key of another account is as one that never was.
    ///
    /// - Parameter device: The device that asks: it must be an active one of the account, and the account not locked.
    ///   `nil` where somebody else asks.
    func deregister(
        _ selection: CredentialSelection, accountID: String, askedBy device: String?, audit: AuditEvent,
        notice: NoticeRecord?
    ) async throws -> DeregistrationOutcome

    /// Deletes a device and its keys; the store adds the account to the event. `false` where there is none.
    func deleteDevice(id: String, audit: AuditEvent) async throws -> Bool

    /// The account of an active device; `nil` where there is no such device of that account.
    func account(id: String, ofDevice device: String) async throws -> AccountRecord?
}
