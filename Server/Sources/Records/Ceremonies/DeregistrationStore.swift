/// Returns the entry for the account's history about a session in its state before another event ends the session;
/// `nil` for a session without an entry.
public typealias SessionEnding = @Sendable (CeremonyRecord) throws -> IdentityOutcomeChange?

/// Deletes keys and devices. The same step ends everything that depends on a device: the sessions with an
/// authentication by the device, the grants from these authentications (lasting grants too), the device's open
/// ceremonies, and sign-ins with the device that no browser has taken up.
public protocol DeregistrationStore: Sendable {
    /// Deletes keys of an account, and the devices that have no keys left. The event and the notice are written if a
    /// key was deleted. A named key of another account counts as unknown.
    ///
    /// - Parameters:
    ///   - asker: The asking party. A device must be an active device of the account, and the account must not be
    ///     locked.
    ///   - ending: Returns the history entries for the sessions of identities that end with their devices.
    func deregister(
        _ selection: CredentialSelection, accountID: String, asker: DeregistrationAsker, audit: AuditEvent,
        notice: NoticeRecord?, ending: @escaping SessionEnding
    ) async throws -> DeregistrationOutcome

    /// Deletes a device and its keys; the store adds the account to the event. Returns `false` if the device does not
    /// exist. `ending` is as for a deregistration.
    func deleteDevice(id: String, audit: AuditEvent, ending: @escaping SessionEnding) async throws -> Bool

    /// Returns the account with that identifier, locked or not, if the device is an active device of the account, and
    /// its activation is not disabled; otherwise `nil`.
    func account(id: String, ofDevice device: String) async throws -> AccountRecord?
}
