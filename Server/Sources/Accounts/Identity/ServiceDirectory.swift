public import Store
public import _Primitives

// MARK: Services

extension IdentityDirectory {
    /// All services.
    public func services() async throws -> [ServiceRecord] { try await self.store.services() }

    /// A client's profile. Throws `notFound` for a client that is no service.
    public func service(_ client: String) async throws -> ServiceProfile {
        guard let profile = try await self.store.serviceProfile(client) else { throw AccountError(.notFound) }
        return profile
    }

    /// Makes a client a service by a document, or gives one another. Throws `notFound` for no client, `invalidRequest` with
    /// what is wrong with the document.
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

    /// Changes those members of a service's document that are named; an empty `organisation` is none. Throws as
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

    /// Makes a client no service any more, with everything that was said of people there. Throws `notFound`.
    public func removeService(_ client: String, by operator: String) async throws {
        let audit = self.event(.serviceRemoved, client, by: `operator`)
        guard try await self.store.removeServiceProfile(client: client, audit: audit) else {
            throw AccountError(.notFound)
        }
    }
}

// MARK: Roles

extension IdentityDirectory {
    /// How somebody stands at a service. Throws `notFound` for no such account or service.
    public func standing(_ account: String, service: String) async throws -> ServiceStanding {
        let id = try await self.account(account).id
        guard let standing = try await self.store.standing(accountID: id, service: service) else {
            throw AccountError(.notFound)
        }
        return standing
    }

    /// Gives somebody a role beside those that they have. Throws `notFound` for no such account, service or role.
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

    /// Who is to have a role, or had it. Throws `notFound`, with what of the three is not there.
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

    /// Takes a role from somebody. Whoever loses the last has none. Throws as ``assign(_:to:service:by:)``.
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

    /// Gives somebody the default roles again, and nothing else. Throws `notFound` for no such account or service.
    public func resetRoles(of account: String, service: String, by operator: String) async throws -> ServiceStanding {
        let id = try await self.account(account).id
        let audit = self.event(.rolesReset, service, account: id, by: `operator`)
        _ = try await self.store.resetRoles(accountID: id, service: service, audit: audit)
        return try await self.standing(account, service: service)
    }

    /// A page of those of whom it is said which roles they have, with their accounts; `after` is an account's identifier.
    /// Throws `notFound` for a client that is no service.
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
