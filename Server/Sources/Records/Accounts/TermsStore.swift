/// Remembers the versions of the operator's terms that people have agreed to.
public protocol TermsStore: Sendable {
    /// Returns `true` if the person of an account has agreed to that version.
    func hasAgreed(account: String, version: String) async throws -> Bool

    /// Remembers that the person of an account has agreed to a version at the audit event's moment, with the event. A
    /// second agreement to the same version changes nothing and has no event. Returns `false` if the account does not
    /// exist.
    func agree(account: String, version: String, audit: AuditEvent) async throws -> Bool
}
