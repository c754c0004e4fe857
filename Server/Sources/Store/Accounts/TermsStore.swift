/// Remembers which people have agreed to which version of the operator's terms.
public protocol TermsStore: Sendable {
    /// Whether the person of an account has agreed to that version.
    func hasAgreed(account: String, version: String) async throws -> Bool

    /// Remembers that the person of an account has agreed to a version at the audit event's moment, with the event. Once:
    /// whoever agrees again has agreed before, and there is no event. `false` where there is no such account.
    func agree(account: String, version: String, audit: AuditEvent) async throws -> Bool
}
