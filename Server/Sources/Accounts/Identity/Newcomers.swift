import PersonalInformation
import Store
import _Primitives

/// People who have come to a service without having an identity, and have an invitation to it mailed to their address, where
/// it takes them.
///
/// Whoever asks is told the same whatever the address is: whether somebody has it, says the letter, in their mailbox.
public struct Newcomers: Sendable {
    /// How somebody comes by an identity for a service.
    public enum Way: Sendable, Equatable {
        /// They have an invitation mailed.
        case mail
        /// They ask the people who run the server.
        case operators
    }

    private let identities: IdentityDirectory
    /// Letters that a network has asked for, of whatever kind.
    private let mails: Budget

    /// Newcomers to the services of `identities`. What they have mailed counts as the letters of `accounts` do.
    public init(_ identities: IdentityDirectory, _ accounts: PasswordAccounts) {
        self.identities = identities
        self.mails = accounts.mails
    }

    /// How somebody comes by an identity for a service; `nil` for a client that is none.
    ///
    /// Cost: one query.
    public func way(to client: String) async throws -> Way? {
        guard let profile = try await self.identities.store.serviceProfile(client) else { return nil }
        return self.identities.sendsMail && profile.isActive && profile.takesNewcomers ? .mail : .operators
    }

    /// Invites whoever has an address to a service, in its first default role. An address that was sent several invitations
    /// within an hour is sent no further one, nor is any where newcomers have as many open as they can have.
    ///
    /// Throws ``AccountError``: `invalidRequest` for what is no address, `tooManyRequests` where the source has asked too
    /// often, `notFound` where the service takes no newcomers.
    ///
    /// - Returns: Whether the letter is on its way: for the log, and never for whoever asked.
    ///
    /// Cost: two queries, one store step.
    public func ask(email: String, service: String, source: String) async throws -> Bool {
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
                    lifetime: min(Limits.Fixed.newcomerLifetime, limits.inviteLifetime), isMailed: true),
                within: InviteBounds(
                    open: limits.openInvites / Limits.Fixed.newcomersShare,
                    // Counted in the step that adds it: whoever asks many times at once is sent no more.
                    ofAddress: (most: limits.mail.mailsInARow, since: now - Limits.Fixed.newcomerLifetime)), by: nil
            ).isMailed
        } catch let error as AccountError where error.code == .conflict {
            return false
        }
    }
}
