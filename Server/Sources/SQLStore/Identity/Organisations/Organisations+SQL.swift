public import Records
import _Primitives

extension SQLStore: OrganisationStore {
    public func addOrganisation(_ organisation: OrganisationRecord, limit: Int, audit: AuditEvent) async throws {
        try await self.step(Step("organisation.add", guards: [], isolation: .serializable)) { [sealing] db in
            let count = try db.number("SELECT count(*) FROM organisation") ?? 0
            try IdentityBound.organisations.requireRoom(count, most: limit)
            // A second organisation of the same name is a conflict.
            try db.run(
                "INSERT INTO organisation (id, name, created_at) VALUES (?, ?, ?)",
                [organisation.id, organisation.name, organisation.createdAt.milliseconds])
            try AuditRows(db).appendAudit(audit, sealing)
        }
    }

    public func organisation(_ id: String) async throws -> OrganisationRecord? {
        try await self.read { db in try OrganisationRows(db).organisations("WHERE id = ?", [id]).first }
    }

    public func organisation(named name: String) async throws -> OrganisationRecord? {
        try await self.read { db in try OrganisationRows(db).organisations("WHERE name = ?", [name]).first }
    }

    public func organisations() async throws -> [OrganisationRecord] {
        try await self.read { db in try OrganisationRows(db).organisations("ORDER BY name", []) }
    }

    public func organisations(accountID: String) async throws -> [OrganisationRecord] {
        try await self.read { db in
            try OrganisationRows(db).organisations(
                "WHERE id IN (SELECT organisation FROM organisation_member WHERE account_id = ?) ORDER BY name",
                [accountID])
        }
    }

    public func renameOrganisation(_ id: String, to name: String, audit: AuditEvent) async throws -> Bool {
        try await self.step(
            Step("organisation.rename", guards: [], isolation: .readCommitted), noting: audit
        ) { db in
            try db.changes("UPDATE organisation SET name = ? WHERE id = ?", [name, id])
        }
    }

    public func removeOrganisation(_ id: String, audit: AuditEvent) async throws -> Bool {
        // A service that keeps itself to the organisation shares the organisation's lock when its profile is set.
        try await self.step(
            Step(
                "organisation.remove",
                guards: [
                    .exclusive(accountsOfInvites: "organisation = ?", [id]), .exclusive(.organisation, id: id),
                    .exclusive(invites: "organisation = ?", [id]),
                ], isolation: .readCommitted),
            noting: audit, on: "organisation", id: id
        ) { [sealing] db in
            try db.refuse(
                "SELECT 1 FROM service WHERE profile ->> 'organisation' = ?", [id],
                "a service keeps itself to the organisation")
            try InviteRows(db).revokeInvites("organisation = ?", [id], audit, sealing)
            try db.run("DELETE FROM organisation WHERE id = ?", [id])
        }
    }

    public func addMember(accountID: String, organisation: String, audit: AuditEvent) async throws -> Bool {
        try await self.step(
            Step(
                "organisation.add-member",
                guards: [.shared(.account, id: accountID), .shared(.organisation, id: organisation)],
                isolation: .readCommitted),
            noting: audit
        ) { db in
            try IdentifiedRows(db).require("account", id: accountID, "an account or an organisation")
            try IdentifiedRows(db).require("organisation", id: organisation, "an account or an organisation")
            return try OrganisationRows(db).addMember(accountID, organisation: organisation)
        }
    }

    public func removeMember(accountID: String, organisation: String, audit: AuditEvent) async throws -> Bool {
        try await self.step(
            Step("organisation.remove-member", guards: [], isolation: .readCommitted), noting: audit
        ) { db in
            try db.changes(
                "DELETE FROM organisation_member WHERE organisation = ? AND account_id = ?", [organisation, accountID])
        }
    }

    public func members(organisation: String, after: String?, limit: Int) async throws -> [String] {
        try await self.read { db in
            try db.texts(
                """
                SELECT account_id FROM organisation_member
                WHERE organisation = ? AND account_id > coalesce(?, '') ORDER BY account_id LIMIT ?
                """, [organisation, after, limit])
        }
    }
}
