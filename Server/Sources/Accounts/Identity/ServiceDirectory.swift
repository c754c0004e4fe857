public import Records
import Settings
public import _Primitives

// MARK: Services

extension IdentityDirectory {
    /// Returns all services.
    public func services() async throws -> [ServiceRecord] { try await self.store.services() }

    /// Returns a client's profile. Throws `notFound` for a client that is no service.
    public func service(_ client: String) async throws -> ServiceProfile {
        guard let profile = try await self.store.serviceProfile(client) else { throw AccountError(.notFound) }
        return profile
    }

    /// Makes a client a service by a document, or replaces the document of a service. A role that the new document
    /// lacks is taken from all people, and its open invitations are revoked. If the new document requests another
    /// attribute, all people are asked for their choices again. Throws `notFound` for an unknown client, and
    /// `invalidRequest` with the fault of the document, such as an unknown organisation.
    public func setService(_ client: String, to document: JSONObject, by operator: String) async throws
        -> ServiceProfile
    {
        let profile: ServiceProfile
        do { profile = try ServiceProfile(document) } catch {
            throw AccountError(.invalidRequest, error.reason)
        }
        if let organisation = profile.membershipOrganisation,
            try await self.store.organisation(organisation) == nil
        {
            throw AccountError(
                .invalidRequest,
                "there is no organisation of that id; `countersign admin organisation list` shows those that there are")
        }
        let audit = self.event(.serviceChanged, client, by: `operator`)
        let isThere = try await self.step(conflict: "") {
            try await self.store.setServiceProfile(profile, client: client, audit: audit)
        }
        guard isThere else { throw AccountError(.notFound) }
        return profile
    }

    /// Changes the named members of a service's document. An empty `organisation` removes the member. Throws as
    /// ``setService(_:to:by:)``, and `notFound` for a client that is no service yet.
    public func changeService(
        _ client: String, by changes: JSONObject, by operator: String
    ) async throws -> ServiceProfile {
        var document = try await self.service(client).json
        for (name, value) in changes.members {
            document[name] = value == .string("") && name.hasSameBytes(as: "organisation") ? nil : value
        }
        return try await self.setService(client, to: document, by: `operator`)
    }

    /// Deletes the service of a client, with all entries about people at the service, and revokes the service's open
    /// invitations. The client stays. Throws `notFound`.
    public func removeService(_ client: String, by operator: String) async throws {
        let audit = self.event(.serviceRemoved, client, by: `operator`)
        guard try await self.store.removeServiceProfile(client: client, audit: audit) else {
            throw AccountError(.notFound)
        }
    }
}

// MARK: Roles

extension IdentityDirectory {
    /// Returns the standing of a person at a service, such as the person's roles. Throws `notFound` for an unknown
    /// account or service.
    public func standing(_ account: String, service: String) async throws -> ServiceStanding {
        let id = try await self.account(account).id
        guard let standing = try await self.store.standing(accountID: id, service: service) else {
            throw AccountError(.notFound)
        }
        return standing
    }

    /// Adds a role to a person's roles. Throws `notFound` for an unknown account, service or role.
    public func assign(_ role: String, to account: String, service: String, by operator: String) async throws
        -> ServiceStanding
    {
        let id = try await self.holder(account, of: role, at: service)
        let audit = self.event(.roleAssigned, "\(service) \(role)", account: id, by: `operator`)
        _ = try await self.step(conflict: "") {
            try await self.store.assignRole(role, accountID: id, service: service, audit: audit)
        }
        return try await self.standing(account, service: service)
    }

    /// Returns the account for a role at a service. Throws `notFound`, with a sentence for the missing object.
    private func holder(_ account: String, of role: String, at service: String) async throws -> String {
        guard let profile = try await self.store.serviceProfile(service) else {
            throw AccountError(
                .notFound, "There is no such client, or it is no service: `countersign admin service set` makes it one."
            )
        }
        guard profile.roles.contains(where: { $0.id.hasSameBytes(as: role) }) else {
            let roles = profile.roles.map(\.id).joined(separator: ", ")
            throw AccountError(.notFound, "The service has no such role: it has \(roles).")
        }
        do { return try await self.account(account).id } catch let error as AccountError where error.code == .notFound {
            throw AccountError(.notFound, "There is no such account.")
        }
    }

    /// Removes a role from a person. A person who loses the last role has no role. Throws as
    /// ``assign(_:to:service:by:)``.
    public func revoke(_ role: String, from account: String, service: String, by operator: String) async throws
        -> ServiceStanding
    {
        let id = try await self.holder(account, of: role, at: service)
        let audit = self.event(.roleRevoked, "\(service) \(role)", account: id, by: `operator`)
        _ = try await self.step(conflict: "") {
            try await self.store.revokeRole(role, accountID: id, service: service, audit: audit)
        }
        return try await self.standing(account, service: service)
    }

    /// Gives a person the default roles again, and no others. Throws `notFound` for an unknown account or service.
    public func resetRoles(of account: String, service: String, by operator: String) async throws -> ServiceStanding {
        let id = try await self.account(account).id
        let audit = self.event(.rolesReset, service, account: id, by: `operator`)
        _ = try await self.store.resetRoles(accountID: id, service: service, audit: audit)
        return try await self.standing(account, service: service)
    }

    /// Returns a page of the people with their own entry of roles, with their accounts; `after` is an account's
    /// identifier. Throws `notFound` for a client that is no service.
    public func roleEntries(
        service: String, after: String?
    ) async throws -> [(account: AccountRecord, roles: [String])] {
        _ = try await self.service(service)
        var entries: [(AccountRecord, [String])] = []
        for entry in try await self.store.roleEntries(
            service: service, after: after, limit: self.limits.pageSize)
        {
            guard let account = try await self.store.account(id: entry.accountID) else { continue }
            entries.append((account, entry.roles))
        }
        return entries
    }
}
