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

/// Who has keys deleted.
public enum DeregistrationAsker: Sendable, Equatable {
    /// Somebody who may have any of the account deleted.
    case anybody
    /// The account's person, on this device.
    case person(onDevice: String)
    /// This device alone, without its person: of what is selected its own keys go, those of its other registrations among
    /// them.
    case device(String)

    /// The device that asks.
    public var device: String? {
        switch self {
        case .anybody: nil
        case .person(let device), .device(let device): device
        }
    }
}

/// Takes keys and devices away. What hangs on a device ends in the same step: the sessions that were signed in to with
/// it, what was granted in them, sign-ins with it that no browser has taken up, and its pending enrolment.
public protocol DeregistrationStore: Sendable {
    /// Deletes keys of an account, and the devices that have none left. The event and the notice are written where a key
    /// was deleted. A named key of another account is as one that never was.
    ///
    /// - Parameters:
    ///   - asker: Who asks. A device must be an active one of the account, and the account not locked.
    ///   - ending: What the account's history has of the sessions of identities that end with their devices.
    func deregister(
        _ selection: CredentialSelection, accountID: String, asker: DeregistrationAsker, audit: AuditEvent,
        notice: NoticeRecord?, ending: @escaping SessionEnding
    ) async throws -> DeregistrationOutcome

    /// Deletes a device and its keys; the store adds the account to the event. `false` where there is none. `ending` is as
    /// for a deregistration.
    func deleteDevice(id: String, audit: AuditEvent, ending: @escaping SessionEnding) async throws -> Bool

    /// The account of an active device; `nil` where there is no such device of that account.
    func account(id: String, ofDevice device: String) async throws -> AccountRecord?
}

extension DeregistrationStore {
    /// As ``deregister(_:accountID:asker:audit:notice:ending:)``, asked by the person on a device, or by anybody where there
    /// is none, of devices that have no sessions of identities.
    public func deregister(
        _ selection: CredentialSelection, accountID: String, askedBy device: String?, audit: AuditEvent,
        notice: NoticeRecord?
    ) async throws -> DeregistrationOutcome {
        try await self.deregister(
            selection, accountID: accountID, asker: device.map { .person(onDevice: $0) } ?? .anybody, audit: audit,
            notice: notice, ending: { _ in nil })
    }

    /// As ``deleteDevice(id:audit:ending:)``, of a device that has no sessions of identities.
    public func deleteDevice(id: String, audit: AuditEvent) async throws -> Bool {
        try await self.deleteDevice(id: id, audit: audit, ending: { _ in nil })
    }
}
