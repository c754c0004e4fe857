public import Records
import Sealing
import _Primitives

extension SQLStore: ServiceStore {
    public func serviceProfile(_ client: String) async throws -> ServiceProfile? {
        try await self.read { db in try db.serviceProfile(client) }
    }

    public func services() async throws -> [ServiceRecord] {
        try await self.read { db in
            try db.rows("SELECT id, profile FROM service ORDER BY id") { row in
                ServiceRecord(id: try row.text("id"), profile: try ServiceProfile(kept: row.text("profile")))
            }
        }
    }

    public func setServiceProfile(_ profile: ServiceProfile, client: String, audit: AuditEvent) async throws -> Bool {
        // The client's lock holds while the client is no service yet.
        try await self.step(
            Step(
                "service.set-profile",
                guards: [
                    .exclusive(accountsOfInvites: "service = ?", [client]),
                    .shared(.organisation, id: profile.membershipOrganisation), .exclusive(.client, id: client),
                    .exclusive(.service, id: client), .exclusive(invites: "service = ?", [client]),
                ], isolation: .readCommitted),
            noting: audit, on: "oauth_client", id: client
        ) { [sealing] db in
            try db.require("organisation", id: profile.membershipOrganisation, "the organisation of a service")
            let former = try db.serviceProfile(client)
            try db.run(
                """
                INSERT INTO service (id, profile) VALUES (?, ?)
                ON CONFLICT (id) DO UPDATE SET profile = excluded.profile
                """, [client, JSON.object(profile.json).text])
            try former.map {
                try db.follow(ServiceProfileChange(from: $0, to: profile), of: client, audit, sealing)
            }
        }
    }

    public func removeServiceProfile(client: String, audit: AuditEvent) async throws -> Bool {
        try await self.step(
            Step(
                "service.remove-profile",
                guards: [
                    .exclusive(accountsOfInvites: "service = ?", [client]), .exclusive(.service, id: client),
                    .exclusive(invites: "service = ?", [client]),
                ], isolation: .readCommitted),
            noting: audit, on: "service", id: client
        ) { [sealing] db in
            try db.revokeInvites("service = ?", [client], audit, sealing)
            try db.run("DELETE FROM service WHERE id = ?", [client])
        }
    }

    public func standing(accountID: String, service: String) async throws -> ServiceStanding? {
        try await self.read { [readProfiles] db in
            try db.standing(accountID: accountID, service: service, readProfiles)
        }
    }

    public func assignRole(_ role: String, accountID: String, service: String, audit: AuditEvent) async throws -> Bool {
        try await self.step(
            Step(
                "role.assign", guards: [.exclusive(.account, id: accountID), .shared(.service, id: service)],
                isolation: .readCommitted),
            noting: audit
        ) { db in
            try db.assignRole(role, accountID: accountID, service: service)
        }
    }

    public func revokeRole(_ role: String, accountID: String, service: String, audit: AuditEvent) async throws -> Bool {
        try await self.step(
            Step(
                "role.revoke", guards: [.exclusive(.account, id: accountID), .shared(.service, id: service)],
                isolation: .readCommitted),
            noting: audit
        ) { db in
            try db.heldRoles(accountID: accountID, service: service, naming: role).removing(role).map {
                try db.setRoles($0, accountID: accountID, service: service)
            } != nil
        }
    }

    public func resetRoles(accountID: String, service: String, audit: AuditEvent) async throws -> Bool {
        // A step that assigns a role writes all roles that the step has read.
        try await self.step(
            Step("role.reset", guards: [.exclusive(.account, id: accountID)], isolation: .readCommitted), noting: audit
        ) { db in
            try db.changes("DELETE FROM service_roles WHERE service = ? AND account_id = ?", [service, accountID])
        }
    }

    public func services(ofAccount id: String) async throws -> [String] {
        try await self.read { db in
            try db.texts(
                """
                SELECT service FROM service_roles WHERE account_id = ?1
                UNION SELECT service FROM attribute_selection WHERE account_id = ?1 ORDER BY service
                """, [id])
        }
    }

    public func roleEntries(service: String, after: String?, limit: Int) async throws -> [RoleEntry] {
        try await self.read { db in
            try db.rows(
                """
                SELECT account_id, roles FROM service_roles WHERE service = ? AND account_id > coalesce(?, '')
                ORDER BY account_id LIMIT ?
                """, [service, after, limit]
            ) { row in
                RoleEntry(accountID: try row.text("account_id"), roles: try RoleEntry.roles(kept: row.text("roles")))
            }
        }
    }
}

extension SQLConnection {
    func serviceProfile(_ client: String) throws -> ServiceProfile? {
        try self.text("SELECT profile FROM service WHERE id = ?", [client]).map { try ServiceProfile(kept: $0) }
    }

    /// Returns an account's standing at a service; `nil` if the account does not exist, or the client is no service.
    func standing(
        accountID: String, service: String, _ profiles: RecentValues<ExactText, ServiceProfile>? = nil
    ) throws -> ServiceStanding? {
        try self.row(
            """
            SELECT service.profile AS profile, service_roles.roles AS roles FROM service CROSS JOIN account
            LEFT JOIN service_roles ON service_roles.service = service.id
            AND service_roles.account_id = account.id
            WHERE service.id = ? AND account.id = ?
            """, [service, accountID]
        ).map { row in
            let text = try row.text("profile")
            let profile =
                try profiles?.value(ExactText(text)) { try ServiceProfile(kept: text) } ?? ServiceProfile(kept: text)
            return ServiceStanding(
                profile: profile, entry: try row.optionalText("roles").map { try RoleEntry.roles(kept: $0) },
                isMember: try profile.membershipOrganisation.map { try self.isMember(accountID, ofOrganisation: $0) })
        }
    }

    /// Gives a role as ``ServiceStore/assignRole(_:accountID:service:audit:)`` does, without the event.
    func assignRole(_ role: String, accountID: String, service: String) throws -> Bool {
        try self.heldRoles(accountID: accountID, service: service, naming: role).adding(role).map {
            try self.setRoles($0, accountID: accountID, service: service)
        } != nil
    }

    /// Returns the account's roles. Throws `notFound` if the account, the service or the service's role `role` does not
    /// exist.
    fileprivate func heldRoles(accountID: String, service: String, naming role: String) throws -> HeldRoles {
        let profile = try HeldRoles.profile(try self.serviceProfile(service), naming: role)
        try self.require("account", id: accountID, HeldRoles.missing)
        return HeldRoles(profile: profile, entry: try self.roles(ofAccount: accountID, service: service))
    }

    fileprivate func roles(ofAccount id: String, service: String) throws -> [String]? {
        try self.text("SELECT roles FROM service_roles WHERE service = ? AND account_id = ?", [service, id]).map {
            try RoleEntry.roles(kept: $0)
        }
    }

    fileprivate func setRoles(_ roles: [String], accountID: String, service: String) throws {
        try self.run(
            """
            INSERT INTO service_roles (service, account_id, roles) VALUES (?, ?, ?)
            ON CONFLICT (service, account_id) DO UPDATE SET roles = excluded.roles
            """, [service, accountID, JSON.array(roles.map(JSON.string)).text])
    }

    /// Adjusts roles, invitations and selections to a changed profile.
    fileprivate func follow(
        _ change: ServiceProfileChange, of client: String, _ audit: AuditEvent, _ sealing: Sealing
    ) throws {
        for effect in change.effects {
            switch effect {
            case .endedSelections:
                try self.run("DELETE FROM attribute_selection WHERE service = ?", [client])
            case .removedRoles(let roles):
                let list = JSON.array(roles.map(JSON.string)).text
                try self.revokeInvites(
                    "service = ? AND role IN (SELECT value FROM jsonb_array_elements_text(?))", [client, list], audit,
                    sealing)
                try self.takeRoles(listed: list, of: client)
            }
        }
    }

    /// Takes the roles of a JSON array from every account.
    private func takeRoles(listed list: String, of client: String) throws {
        try self.run(
            """
            UPDATE service_roles SET roles = (
                SELECT coalesce(jsonb_agg(role.value), '[]')
                FROM jsonb_array_elements_text(service_roles.roles) AS role
                WHERE role.value NOT IN (SELECT value FROM jsonb_array_elements_text(?1)))
            WHERE service = ?2 AND EXISTS (
                SELECT 1 FROM jsonb_array_elements_text(service_roles.roles) AS role
                WHERE role.value IN (SELECT value FROM jsonb_array_elements_text(?1)))
            """, [list, client])
    }
}
