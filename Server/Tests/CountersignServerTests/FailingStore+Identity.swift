import PersonalInformation
import Records
import _Primitives

/// Services of personalised identities, and what people have there, pass through.
extension FailingStore {
    func serviceProfile(_ client: String) async throws -> ServiceProfile? {
        try await self.store.serviceProfile(client)
    }

    func services() async throws -> [ServiceRecord] {
        try await self.store.services()
    }

    func setServiceProfile(_ profile: ServiceProfile, client: String, audit: AuditEvent) async throws -> Bool {
        try await self.store.setServiceProfile(profile, client: client, audit: audit)
    }

    func removeServiceProfile(client: String, audit: AuditEvent) async throws -> Bool {
        try await self.store.removeServiceProfile(client: client, audit: audit)
    }

    func standing(accountID: String, service: String) async throws -> ServiceStanding? {
        try await self.store.standing(accountID: accountID, service: service)
    }

    func assignRole(_ role: String, accountID: String, service: String, audit: AuditEvent) async throws -> Bool {
        try await self.store.assignRole(role, accountID: accountID, service: service, audit: audit)
    }

    func revokeRole(_ role: String, accountID: String, service: String, audit: AuditEvent) async throws -> Bool {
        try await self.store.revokeRole(role, accountID: accountID, service: service, audit: audit)
    }

    func resetRoles(accountID: String, service: String, audit: AuditEvent) async throws -> Bool {
        try await self.store.resetRoles(accountID: accountID, service: service, audit: audit)
    }

    func services(ofAccount id: String) async throws -> [String] { try await self.store.services(ofAccount: id) }

    func roleEntries(service: String, after: String?, limit: Int) async throws -> [RoleEntry] {
        try await self.store.roleEntries(service: service, after: after, limit: limit)
    }

    func addPersonalValue(_ value: PersonalValueRecord, accountID: String, limit: Int, audit: AuditEvent) async throws
        -> Bool
    {
        try await self.store.addPersonalValue(value, accountID: accountID, limit: limit, audit: audit)
    }

    func changePersonalValue(_ id: String, accountID: String, to change: PersonalValueChange, audit: AuditEvent)
        async throws -> Bool
    {
        if self.losesNextValue() {
            _ = try await self.store.removePersonalValue(id, accountID: accountID, audit: audit)
        }
        return try await self.store.changePersonalValue(id, accountID: accountID, to: change, audit: audit)
    }

    func removePersonalValue(_ id: String, accountID: String, audit: AuditEvent) async throws -> Bool {
        try await self.store.removePersonalValue(id, accountID: accountID, audit: audit)
    }

    func personalValues(accountID: String) async throws -> [PersonalValueRecord] {
        try await self.store.personalValues(accountID: accountID)
    }

    func personalAliases(accountID: String, attributes: Set<PersonalAttribute>) async throws -> [PersonalAlias] {
        try await self.store.personalAliases(accountID: accountID, attributes: attributes)
    }

    func personalValues(_ ids: [PersonalAttribute: String], accountID: String) async throws -> [PersonalAttribute:
        String]
    {
        try await self.store.personalValues(ids, accountID: accountID)
    }

    func attributeSelection(accountID: String, service: String) async throws -> [PersonalAttribute: String] {
        try await self.store.attributeSelection(accountID: accountID, service: service)
    }

    func removeAttributeSelection(accountID: String, service: String, audit: AuditEvent) async throws -> Bool {
        try await self.store.removeAttributeSelection(accountID: accountID, service: service, audit: audit)
    }

    func applyIdentityOutcome(_ change: IdentityOutcomeChange) async throws {
        try await self.store.applyIdentityOutcome(change)
    }

    func identityHistory(accountID: String, before number: Int64?, limit: Int) async throws -> [IdentityHistoryEntry] {
        try await self.store.identityHistory(accountID: accountID, before: number, limit: limit)
    }

    func visitedServices(accountID: String) async throws -> [String] {
        try await self.store.visitedServices(accountID: accountID)
    }

    func addOrganisation(_ organisation: OrganisationRecord, limit: Int, audit: AuditEvent) async throws {
        try await self.store.addOrganisation(organisation, limit: limit, audit: audit)
    }

    func organisation(_ id: String) async throws -> OrganisationRecord? {
        try await self.store.organisation(id)
    }

    func organisation(named name: String) async throws -> OrganisationRecord? {
        try await self.store.organisation(named: name)
    }

    func organisations() async throws -> [OrganisationRecord] {
        try await self.store.organisations()
    }

    func renameOrganisation(_ id: String, to name: String, audit: AuditEvent) async throws -> Bool {
        try await self.store.renameOrganisation(id, to: name, audit: audit)
    }

    func removeOrganisation(_ id: String, audit: AuditEvent) async throws -> Bool {
        try await self.store.removeOrganisation(id, audit: audit)
    }

    func addMember(accountID: String, organisation: String, audit: AuditEvent) async throws -> Bool {
        try await self.store.addMember(accountID: accountID, organisation: organisation, audit: audit)
    }

    func removeMember(accountID: String, organisation: String, audit: AuditEvent) async throws -> Bool {
        try await self.store.removeMember(accountID: accountID, organisation: organisation, audit: audit)
    }

    func members(organisation: String, after: String?, limit: Int) async throws -> [String] {
        try await self.store.members(organisation: organisation, after: after, limit: limit)
    }

    func organisations(accountID: String) async throws -> [OrganisationRecord] {
        try await self.store.organisations(accountID: accountID)
    }

    func addInvite(
        _ invite: InviteRecord, provisional: AccountRecord?, within bounds: InviteBounds,
        leaving mail: (MailRecord, most: Int)?,
        audit: AuditEvent
    ) async throws -> Bool {
        try await self.store.addInvite(invite, provisional: provisional, within: bounds, leaving: mail, audit: audit)
    }

    func invite(_ id: String) async throws -> InviteRecord? {
        try await self.store.invite(id)
    }

    func invite(provisionalAccountID: String) async throws -> InviteRecord? {
        try await self.store.invite(provisionalAccountID: provisionalAccountID)
    }

    func invites(email: String?, before: String?, limit: Int) async throws -> [InviteRecord] {
        try await self.store.invites(email: email, before: before, limit: limit)
    }

    func accounts(verifiedEmail address: String, limit: Int) async throws -> [String] {
        try await self.store.accounts(verifiedEmail: address, limit: limit)
    }

    func acceptInvite(_ id: String, accountID: String, audit: AuditEvent) async throws {
        try await self.store.acceptInvite(id, accountID: accountID, audit: audit)
    }

    func prolongInvite(_ id: String, until: Timestamp, audit: AuditEvent) async throws -> Bool {
        try await self.store.prolongInvite(id, until: until, audit: audit)
    }

    func revokeInvite(_ id: String, audit: AuditEvent) async throws -> Bool {
        try await self.store.revokeInvite(id, audit: audit)
    }

    func deleteStaleInvites(endedBefore: Timestamp, now: Timestamp, limit: Int) async throws -> Int {
        try await self.store.deleteStaleInvites(endedBefore: endedBefore, now: now, limit: limit)
    }

    func additionalEmails(accountID: String) async throws -> [AdditionalEmail] {
        try await self.hidesAddresses() ? [] : self.store.additionalEmails(accountID: accountID)
    }

    func addEmail(_ email: AdditionalEmail, accountID: String, limit: Int, audit: AuditEvent) async throws -> Bool {
        try await self.store.addEmail(email, accountID: accountID, limit: limit, audit: audit)
    }

    func setEmailVerified(_ isVerified: Bool, id: String, accountID: String, audit: AuditEvent) async throws -> Bool {
        try await self.store.setEmailVerified(isVerified, id: id, accountID: accountID, audit: audit)
    }

    func removeEmail(_ id: String, accountID: String, audit: AuditEvent) async throws -> Bool {
        try await self.store.removeEmail(id, accountID: accountID, audit: audit)
    }
}
