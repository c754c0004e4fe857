public import Records
import Sealing
import _Primitives

extension SQLStore: ServiceStore {
    public func serviceProfile(_ client: String) async throws -> ServiceProfile? {
        try await self.read { db in try ServiceRows(db).serviceProfile(client) }
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
            try IdentifiedRows(db).require(
                "organisation", id: profile.membershipOrganisation, "the organisation of a service")
            let former = try ServiceRows(db).serviceProfile(client)
            try db.run(
                """
                INSERT INTO service (id, profile) VALUES (?, ?)
                ON CONFLICT (id) DO UPDATE SET profile = excluded.profile
                """, [client, JSON.object(profile.json).text])
            try former.map {
                try ServiceChanges(db).follow(ServiceProfileChange(from: $0, to: profile), of: client, audit, sealing)
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
            try InviteRows(db).revokeInvites("service = ?", [client], audit, sealing)
            try db.run("DELETE FROM service WHERE id = ?", [client])
        }
    }

    public func standing(accountID: String, service: String) async throws -> ServiceStanding? {
        try await self.read { [readProfiles] db in
            try ServiceRows(db).standing(accountID: accountID, service: service, readProfiles)
        }
    }

    public func assignRole(_ role: String, accountID: String, service: String, audit: AuditEvent) async throws -> Bool {
        try await self.step(
            Step(
                "role.assign", guards: [.exclusive(.account, id: accountID), .shared(.service, id: service)],
                isolation: .readCommitted),
            noting: audit
        ) { db in
            try ServiceRows(db).assignRole(role, accountID: accountID, service: service)
        }
    }

    public func revokeRole(_ role: String, accountID: String, service: String, audit: AuditEvent) async throws -> Bool {
        try await self.step(
            Step(
                "role.revoke", guards: [.exclusive(.account, id: accountID), .shared(.service, id: service)],
                isolation: .readCommitted),
            noting: audit
        ) { db in
            try ServiceRows(db).heldRoles(accountID: accountID, service: service, naming: role).removing(role).map {
                try ServiceRows(db).setRoles($0, accountID: accountID, service: service)
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
