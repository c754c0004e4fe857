import PersonalInformation
public import Records
import Settings
import _Primitives

// MARK: Organisations

extension IdentityDirectory {
    /// Returns all organisations, ordered by name.
    public func organisations() async throws -> [OrganisationRecord] { try await self.store.organisations() }

    /// Returns the organisation of an identifier. Throws `notFound`.
    public func organisation(_ id: String) async throws -> OrganisationRecord {
        guard let organisation = try await self.store.organisation(id) else { throw AccountError(.notFound) }
        return organisation
    }

    /// Adds an organisation. Throws `invalidRequest` for a name that cannot be shown, and `conflict` if the name is
    /// taken or the maximum number of organisations is reached.
    public func addOrganisation(_ name: String, by operator: String) async throws -> OrganisationRecord {
        let organisation = OrganisationRecord(
            id: self.random.identifier(), name: try Self.checked(name: name), createdAt: self.time.now())
        try await self.step(conflict: "The name is taken, or there are as many organisations as there can be.") {
            try await self.store.addOrganisation(
                organisation, limit: self.limits.organisations,
                audit: self.event(.organisationAdded, organisation.id, by: `operator`))
        }
        return organisation
    }

    /// Renames an organisation. Throws `notFound`, and as ``addOrganisation(_:by:)``.
    public func renameOrganisation(_ id: String, to name: String, by operator: String) async throws
        -> OrganisationRecord
    {
        let name = try Self.checked(name: name)
        let isThere = try await self.step(conflict: "The name is taken.") {
            try await self.store.renameOrganisation(
                id, to: name, audit: self.event(.organisationRenamed, id, by: `operator`))
        }
        guard isThere else { throw AccountError(.notFound) }
        return try await self.organisation(id)
    }

    /// Deletes an organisation with its memberships, and revokes its open invitations. Throws `notFound`, and
    /// `conflict` if a service is restricted to the organisation.
    public func removeOrganisation(_ id: String, by operator: String) async throws {
        let isThere = try await self.step(
            conflict: "A service keeps itself to the organisation: change the service first."
        ) {
            try await self.store.removeOrganisation(id, audit: self.event(.organisationRemoved, id, by: `operator`))
        }
        guard isThere else { throw AccountError(.notFound) }
    }

    /// Returns a page of an organisation's members; `after` is an account's identifier. Throws `notFound`.
    public func members(_ organisation: String, after: String?) async throws -> [AccountRecord] {
        _ = try await self.organisation(organisation)
        var members: [AccountRecord] = []
        for id in try await self.store.members(
            organisation: organisation, after: after, limit: self.limits.pageSize)
        {
            if let account = try await self.store.account(id: id) { members.append(account) }
        }
        return members
    }

    /// Makes a person a member. Throws `notFound` for an unknown account or organisation.
    public func addMember(_ account: String, to organisation: String, by operator: String) async throws {
        let id = try await self.account(account).id
        let audit = self.event(.memberAdded, organisation, account: id, by: `operator`)
        _ = try await self.step(conflict: "") {
            try await self.store.addMember(accountID: id, organisation: organisation, audit: audit)
        }
    }

    /// Ends a person's membership. Throws `notFound` for an unknown account or membership.
    public func removeMember(_ account: String, of organisation: String, by operator: String) async throws {
        let id = try await self.account(account).id
        let audit = self.event(.memberRemoved, organisation, account: id, by: `operator`)
        guard try await self.store.removeMember(accountID: id, organisation: organisation, audit: audit) else {
            throw AccountError(.notFound)
        }
    }

    private static func checked(name: String) throws -> String {
        guard ShownName.isAccepted(name) else {
            throw AccountError(
                .invalidRequest,
                "a name is one line of 1 to \(Limits.Fixed.shownNameCharacters) characters that can be shown")
        }
        return name
    }
}

// MARK: Invitations

extension IdentityDirectory {
    /// An operator's invitation: the address, and the organisation or role that the person is invited to.
    public struct Invitation: Sendable, Equatable {
        /// The address.
        public var email: String
        /// The organisation, by its identifier.
        public var organisation: String?
        /// The service, by its client's identifier.
        public var service: String?
        /// The role at the service, by its identifier.
        public var role: String?
        /// The time during which the invitation can be accepted; `nil` for the server's default.
        public var lifetime: Duration?
        /// `true` if the invitation's link is mailed to the address; `nil` to mail the link if the server sends mail.
        public var isMailed: Bool?
        /// The language of a letter to a person without an account (``AccountRecord/language``); `nil` if unknown.
        public var language: String?

        /// Creates an invitation.
        public init(
            email: String, organisation: String? = nil, service: String? = nil, role: String? = nil,
            lifetime: Duration? = nil, isMailed: Bool? = nil, language: String? = nil
        ) {
            self.language = language
            self.email = email
            self.organisation = organisation
            self.service = service
            self.role = role
            self.lifetime = lifetime
            self.isMailed = isMailed
        }
    }

    /// An invitation that was just made.
    public struct MadeInvite: Sendable, Equatable {
        /// The invitation.
        public let record: InviteRecord
        /// The text that the invitation's link carries. The text is a secret.
        public let link: String
        /// `true` if a letter with the link is on its way.
        public let isMailed: Bool
    }

    /// Invites a person. If no account has the address as a verified address, the invitation gets a provisional
    /// account.
    ///
    /// Throws `invalidRequest` for an invalid address, for an invitation to nothing or with only one of service and
    /// role, for an invalid lifetime, and for mail if the server sends none. Throws `notFound` for an unknown
    /// organisation, service or role, and `conflict` at the maximum number of open invitations.
    public func invite(_ invitation: Invitation, by operator: String) async throws -> MadeInvite {
        try await self.invite(invitation, within: InviteBounds(open: self.limits.openInvites), by: `operator`)
    }

    /// Invites a person as ``invite(_:by:)`` does, within other bounds; `operator` is `nil` if the person has asked for
    /// the invitation.
    func invite(_ invitation: Invitation, within bounds: InviteBounds, by operator: String?) async throws -> MadeInvite
    {
        guard EmailValidator().accepts(invitation.email) else {
            throw AccountError(.invalidRequest, "an e-mail address that is none: NAME@HOST in ASCII")
        }
        guard (invitation.service == nil) == (invitation.role == nil),
            invitation.organisation != nil || invitation.service != nil
        else {
            throw AccountError(
                .invalidRequest, "an invitation names an organisation, or a service and a role there, or both")
        }
        let lifetime = invitation.lifetime ?? self.limits.inviteLifetime
        try self.check(inviteLifetime: lifetime)
        guard invitation.isMailed != true || self.sendsMail else {
            throw AccountError(.invalidRequest, "the server sends no mail: hand the link over yourself")
        }
        let now = self.time.now()
        let known = try await self.store.accounts(verifiedEmail: invitation.email, limit: 1).first
        let provisional =
            known != nil
            ? nil
            : AccountRecord(
                id: self.random.identifier(), username: nil, displayName: nil,
                email: AccountEmail(address: invitation.email, isVerified: false), language: invitation.language,
                createdAt: now)
        var place: InviteRecord.Place?
        if let service = invitation.service, let role = invitation.role {
            place = InviteRecord.Place(service: service, role: role)
        }
        let invite = InviteRecord(
            id: self.random.identifier(), organisation: invitation.organisation, place: place,
            email: invitation.email, provisionalAccountID: provisional?.id, createdAt: now, expiresAt: now + lifetime,
            isAskedFor: `operator` == nil)
        let audit = self.event(.inviteAdded, invite.id, account: provisional?.id, by: `operator`)
        var mail: (MailRecord, most: Int)?
        if let addressee = known ?? provisional?.id, invitation.isMailed ?? self.sendsMail {
            let limits = self.limits.mail
            mail = (
                MailRecord(
                    accountID: addressee, subject: .invitation, turn: invite.isAskedFor ? .stranger : nil,
                    about: invite.id, createdAt: now, expiresAt: min(now + limits.mailLifetime, invite.expiresAt)),
                invite.isAskedFor ? limits.waitingAnonymousMails : limits.waitingMails
            )
        }
        let letter = mail
        let isMailed = try await self.step(conflict: "As many invitations are open as can be: revoke some first.") {
            try await self.store.addInvite(
                invite, provisional: provisional, within: bounds, leaving: letter, audit: audit)
        }
        return MadeInvite(record: invite, link: self.links.secret(of: invite.id), isMailed: isMailed)
    }

    /// Returns a page of invitations before the invitation of an identifier, the newest first; with `email` only the
    /// invitations of that address.
    public func invites(email: String? = nil, before: String? = nil) async throws -> [InviteRecord] {
        try await self.store.invites(email: email, before: before, limit: self.limits.pageSize)
    }

    /// Returns the invitation of an identifier. Throws `notFound`.
    public func invite(_ id: String) async throws -> InviteRecord {
        guard let invite = try await self.store.invite(id) else { throw AccountError(.notFound) }
        return invite
    }

    /// Returns the invitation of a link in any state; `nil` for a link that this server has not made, and for a deleted
    /// invitation.
    public func invite(link: String) async throws -> InviteRecord? {
        guard let id = self.links.invite(link: link) else { return nil }
        return try await self.store.invite(id)
    }

    /// Returns the service and the role that an invitation offers, in any state of the invitation. `nil` for an
    /// invitation to an organisation alone, and for an unknown or deleted invitation.
    public func placeOfInvite(_ id: String) async throws -> InviteRecord.Place? {
        try await self.store.invite(id)?.place
    }

    /// Returns the organisation and the role of an invitation, in the names that people know.
    ///
    /// Cost: three queries.
    public func names(of invite: InviteRecord) async throws -> (
        organisation: String?, place: (service: String, role: String)?
    ) {
        let organisation: String? =
            if let id = invite.organisation { try await self.store.organisation(id)?.name } else { nil }
        guard let place = invite.place else { return (organisation, nil) }
        let service = try await self.store.client(place.service)?.name ?? place.service
        let role = try await self.store.serviceProfile(place.service)?.role(place.role)?.name ?? place.role
        return (organisation, (service, role))
    }

    /// Returns the name of an account; `nil` if there is none, or the account is locked.
    public func name(accountID: String) async throws -> String? {
        try await self.store.account(id: accountID).flatMap { $0.isLocked ? nil : $0.shownName }
    }

    /// Returns `true` if an account has the invited address, as a verified address.
    public func isAddressed(_ invite: InviteRecord, accountID: String) async throws -> Bool {
        // Two accounts hardly ever have the same address, because operators prevent duplicates.
        try await self.store.accounts(verifiedEmail: invite.email, limit: self.limits.pageSize)
            .contains { $0.hasSameBytes(as: accountID) }
    }

    /// Accepts an invitation for an account at its person's request. Throws ``InviteRefusal``.
    public func accept(_ invite: InviteRecord, accountID: String) async throws {
        try await self.store.acceptInvite(
            invite.id, accountID: accountID,
            audit: AuditEvent(.inviteAccepted, at: self.time.now(), accountID: accountID, detail: invite.id))
    }

    /// Extends an open invitation to `lifetime` from now on. The invitation's link and code stay as they are. The
    /// invitation's page makes a new code in place of an expired code.
    ///
    /// Throws `notFound`, `invalidRequest` for an invalid lifetime, and `conflict` if the invitation is expired or no
    /// longer open, or if the new end is earlier than the present end.
    public func prolongInvite(_ id: String, for lifetime: Duration, by operator: String) async throws -> InviteRecord {
        try self.check(inviteLifetime: lifetime)
        let invite = try await self.invite(id)
        let now = self.time.now()
        let audit = AuditEvent(
            .inviteProlonged, at: now, accountID: invite.provisionalAccountID, actor: `operator`, detail: id)
        guard try await self.store.prolongInvite(id, until: now + lifetime, audit: audit) else {
            let found = try await self.invite(id)
            throw AccountError(
                .conflict,
                self.isOpen(found)
                    ? "The invitation can be accepted for longer already: to end it earlier, take it back."
                    : "The invitation was accepted or taken back, or its time is over: make another one.")
        }
        return try await self.invite(id)
    }

    private func check(inviteLifetime lifetime: Duration) throws {
        let longest = self.limits.inviteLifetime * Limits.Fixed.lifetimeFactor
        guard lifetime >= Limits.Fixed.shortestLifetime, lifetime <= longest else {
            throw AccountError(
                .invalidRequest, "an invitation lasts a second or longer, and at most twice as long as inviteLifetime")
        }
    }

    /// Revokes an open invitation, and deletes its provisional account. Throws `notFound`, and `conflict` if the
    /// invitation was accepted or revoked.
    public func revokeInvite(_ id: String, by operator: String) async throws {
        let invite = try await self.invite(id)
        let audit = self.event(.inviteRevoked, id, account: invite.provisionalAccountID, by: `operator`)
        guard try await self.store.revokeInvite(id, audit: audit) else {
            throw AccountError(.conflict, "The invitation was accepted or taken back already.")
        }
    }

    /// Deletes the provisional accounts of expired invitations, and later the invitations. Returns the number of
    /// deletions. All steps ask for the moment of the call, so the call ends.
    ///
    /// Cost: one store step for each batch of ``Limits/sweepBatch`` deletions, and one more.
    @discardableResult
    public func sweep() async throws -> Int {
        let now = self.time.now()
        var count = 0
        while true {
            let deleted = try await self.store.deleteStaleInvites(
                endedBefore: now - self.limits.inviteRetention, now: now, limit: self.limits.sweepBatch)
            guard deleted > 0 else { return count }
            count += deleted
        }
    }

    /// Returns `true` if an invitation can be accepted now.
    public func isOpen(_ invite: InviteRecord) -> Bool { invite.state == .open && invite.expiresAt > self.time.now() }
}

// MARK: Further addresses

extension IdentityDirectory {
    /// Returns the additional addresses of an account. Throws `notFound`.
    public func emails(_ account: String) async throws -> [AdditionalEmail] {
        try await self.store.additionalEmails(accountID: try await self.account(account).id)
    }

    /// Returns an additional address of an account. Throws `notFound`.
    public func email(_ email: String, of account: String) async throws -> AdditionalEmail {
        guard let found = try await self.emails(account).first(where: { $0.id.hasSameBytes(as: email) }) else {
            throw AccountError(.notFound)
        }
        return found
    }

    /// Adds an additional address. Throws `notFound`, `invalidRequest` for an invalid address, and `conflict` if the
    /// account has the address or the maximum number of addresses.
    public func addEmail(_ address: String, isVerified: Bool, to account: String, by operator: String) async throws
        -> AdditionalEmail
    {
        guard EmailValidator().accepts(address) else {
            throw AccountError(.invalidRequest, "an e-mail address that is none: NAME@HOST in ASCII")
        }
        let id = try await self.account(account).id
        let email = AdditionalEmail(
            id: self.random.identifier(), address: address, isVerified: isVerified, createdAt: self.time.now())
        let audit = self.event(.additionalEmailAdded, email.id, account: id, by: `operator`)
        let isThere = try await self.step(
            conflict: "The account has the address, or as many as an account can have."
        ) {
            try await self.store.addEmail(
                email, accountID: id, limit: self.limits.emailsPerAccount, audit: audit)
        }
        guard isThere else { throw AccountError(.notFound) }
        return email
    }

    /// Marks an address as verified or not verified. Values of `email` with an address that is no longer verified lose
    /// their verification, unless the address is also the verified first address. Throws `notFound`.
    public func setEmailVerified(
        _ isVerified: Bool, _ email: String, of account: String, by operator: String
    ) async throws {
        let id = try await self.account(account).id
        let audit = self.event(.additionalEmailChanged, email, account: id, by: `operator`)
        guard try await self.store.setEmailVerified(isVerified, id: email, accountID: id, audit: audit) else {
            throw AccountError(.notFound)
        }
    }

    /// Deletes an address. Values of `email` with the address stay, but are no longer verified unless the address is
    /// also the verified first address. Throws `notFound`.
    public func removeEmail(_ email: String, of account: String, by operator: String) async throws {
        let id = try await self.account(account).id
        let audit = self.event(.additionalEmailRemoved, email, account: id, by: `operator`)
        guard try await self.store.removeEmail(email, accountID: id, audit: audit) else {
            throw AccountError(.notFound)
        }
    }
}
