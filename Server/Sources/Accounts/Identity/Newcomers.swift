import PersonalInformation
import Records
import Settings
import _Primitives

/// People who come to a service without an identity. A newcomer can have an invitation to the service mailed to their
/// address, if the service accepts newcomers.
///
/// Every address gets the same answer on the page. Only the letter, in the owner's mailbox, tells if the address is in
/// use.
public struct Newcomers: Sendable {
    /// A way to an identity for a service.
    public enum Way: Sendable, Equatable {
        /// The person has an invitation mailed.
        case mail
        /// The person asks the operators of the server.
        case operators
    }

    private let identities: IdentityDirectory
    /// The budget of letters at the request of a network, of any kind.
    private let mails: Budget

    /// Creates the newcomers to the services of `identities`. Their letters count like the letters of `accounts`.
    public init(_ identities: IdentityDirectory, _ accounts: PasswordAccounts) {
        self.identities = identities
        self.mails = accounts.mails
    }

    /// Returns the way to an identity for a service; `nil` for a client that is no service. The way is the mail if the
    /// server sends mail, and the service is active and accepts newcomers.
    ///
    /// Cost: one query.
    public func way(to client: String) async throws -> Way? {
        guard let profile = try await self.identities.store.serviceProfile(client) else { return nil }
        return self.identities.sendsMail && profile.isActive && profile.takesNewcomers ? .mail : .operators
    }

    /// Invites the owner of an address to a service, in the service's first default role.
    ///
    /// An address gets no further invitation after several invitations within an hour. Nor is an invitation sent if
    /// newcomers have the maximum number of open invitations.
    ///
    /// Throws ``AccountError``: `invalidRequest` for an invalid address, `tooManyRequests` if the source has asked too
    /// often, `notFound` if ``way(to:)`` is not the mail or the service has no default role.
    ///
    /// - Returns: `true` if the letter is on its way; `false` at a bound of invitations, and if too many letters wait.
    ///   The result is for the log, and never for the caller's page.
    ///
    /// Cost: three queries, one store step.
    public func ask(email: String, service: String, source: String, language: String? = nil) async throws -> Bool {
        let (limits, now) = (self.identities.limits, self.identities.time.now())
        guard EmailValidator().accepts(email) else { throw AccountError(.invalidRequest, "no e-mail address") }
        try AccountError.throwShortage(self.mails.spend(source, at: now))
        guard try await self.way(to: service) == .mail,
            let role = try await self.identities.store.serviceProfile(service)?.defaultRoles.first
        else { throw AccountError(.notFound) }
        do {
            return try await self.identities.invite(
                .init(
                    email: email, service: service, role: role.id,
                    lifetime: min(Limits.Fixed.newcomerLifetime, limits.inviteLifetime), isMailed: true,
                    language: language),
                within: InviteBounds(
                    open: limits.openInvites / Limits.Fixed.newcomersShare,
                    // The step that adds the invitation also counts. So many simultaneous requests send no more
                    // letters.
                    ofAddress: (most: limits.mail.mailsInARow, since: now - Limits.Fixed.newcomerLifetime)), by: nil
            ).isMailed
        } catch let error as AccountError where error.code == .conflict {
            return false
        }
    }
}
