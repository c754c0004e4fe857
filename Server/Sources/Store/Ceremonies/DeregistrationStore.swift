/// What the history of an account has of a session, as it is before something else ends it; `nil` for one that leaves
/// nothing there.
public typealias SessionEnding = @Sendable (CeremonyRecord) throws -> IdentityOutcomeChange?

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
