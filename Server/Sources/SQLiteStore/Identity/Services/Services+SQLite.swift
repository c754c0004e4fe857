import GRDB
public import Records
import Sealing
import _Primitives

extension SQLiteDatabase: ServiceStore {
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
        try await self.step { [sealing] db in
            guard try db.exists("oauth_client", id: client) else { return false }
            if let organisation = profile.membershipOrganisation, try !db.exists("organisation", id: organisation) {
                throw StoreError(.notFound, "the organisation of a service")
            }
            let former = try db.serviceProfile(client)
            try db.cachedStatement(
                sql: """
                    INSERT INTO service (id, profile) VALUES (?, ?)
                    ON CONFLICT (id) DO UPDATE SET profile = excluded.profile
                    """
            ).execute(arguments: [client, JSON.object(profile.json).text])
            if let former { try db.follow(profile, of: client, former: former, audit, sealing) }
            try db.appendAudit(audit, sealing)
            return true
        }
    }

    public func removeServiceProfile(client: String, audit: AuditEvent) async throws -> Bool {
        try await self.step { [sealing] db in
            guard try db.exists("service", id: client) else { return false }
            try db.revokeInvites("service = ?", [client], audit, sealing)
            try db.cachedStatement(sql: "DELETE FROM service WHERE id = ?").execute(arguments: [client])
            try db.appendAudit(audit, sealing)
            return true
        }
    }

    public func standing(accountID: String, service: String) async throws -> ServiceStanding? {
        try await self.read { [readProfiles] db in
            try db.standing(accountID: accountID, service: service, readProfiles)
        }
    }

    public func assignRole(_ role: String, accountID: String, service: String, audit: AuditEvent) async throws -> Bool {
        try await self.step { [sealing] db in
            guard try db.assignRole(role, accountID: accountID, service: service) else { return false }
            try db.appendAudit(audit, sealing)
            return true
        }
    }

    public func revokeRole(_ role: String, accountID: String, service: String, audit: AuditEvent) async throws -> Bool {
        try await self.step { [sealing] db in
            let (profile, held, _) = try db.heldRoles(accountID: accountID, service: service, naming: role)
            guard held.containsBytes(of: role) else { return false }
            try db.setRoles(
                held.filter { !$0.hasSameBytes(as: role) }, accountID: accountID, service: service, profile)
            try db.appendAudit(audit, sealing)
            return true
        }
    }

    public func resetRoles(accountID: String, service: String, audit: AuditEvent) async throws -> Bool {
        try await self.step { [sealing] db in
            try db.cachedStatement(sql: "DELETE FROM service_roles WHERE service = ? AND account_id = ?")
                .execute(arguments: [service, accountID])
            guard db.changesCount == 1 else { return false }
            try db.appendAudit(audit, sealing)
            return true
        }
    }

    public func services(ofAccount id: String) async throws -> [String] {
        try await self.read { db in
            try String.fetchAll(
                db.cachedStatement(
                    sql: """
                        SELECT service FROM service_roles WHERE account_id = ?1
                        UNION SELECT service FROM attribute_selection WHERE account_id = ?1 ORDER BY service
                        """), arguments: [id])
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
                RoleEntry(accountID: try row.text("account_id"), roles: try Database.roles(row.text("roles")))
            }
        }
    }
}

extension Database {
    /// Returns `true` if a table has a row of that identifier.
    func exists(_ table: String, id: String) throws -> Bool {
        try self.row("SELECT 1 FROM \(table) WHERE id = ?", [id]) != nil
    }

    func serviceProfile(_ client: String) throws -> ServiceProfile? {
        try String.fetchOne(
            self.cachedStatement(sql: "SELECT profile FROM service WHERE id = ?"), arguments: [client]
        ).map { try ServiceProfile(kept: $0) }
    }

    /// Returns an account's standing at a service; `nil` if the account does not exist, or the client is no service.
    func standing(
        accountID: String, service: String, _ profiles: RecentValues<ExactText, ServiceProfile>? = nil
    ) throws -> ServiceStanding? {
        let row = try self.row(
            """
            SELECT service.profile AS profile, service_roles.roles AS roles FROM service CROSS JOIN account
            LEFT JOIN service_roles ON service_roles.service = service.id
            AND service_roles.account_id = account.id
            WHERE service.id = ? AND account.id = ?
            """, [service, accountID])
        guard let row else { return nil }
        let text = try row.text("profile")
        let profile =
            try profiles?.value(ExactText(text)) { try ServiceProfile(kept: text) } ?? ServiceProfile(kept: text)
        let entry = try row.optionalText("roles").map { try Self.roles($0) }
        let isMember = try profile.membershipOrganisation.map {
            try self.isMember(accountID, ofOrganisation: $0)
        }
        return ServiceStanding(
            profile: profile,
            roles: entry.map { ids in profile.roles.filter { ids.containsBytes(of: $0.id) } } ?? profile.defaultRoles,
            isKnown: entry != nil, isMember: isMember ?? true)
    }

    /// Gives a role as ``ServiceStore/assignRole(_:accountID:service:audit:)`` does, without the event.
    func assignRole(_ role: String, accountID: String, service: String) throws -> Bool {
        let (profile, held, isKnown) = try self.heldRoles(accountID: accountID, service: service, naming: role)
        guard !isKnown || !held.containsBytes(of: role) else { return false }
        try self.setRoles(held + [role], accountID: accountID, service: service, profile)
        return true
    }

    /// Returns the identifiers of the account's roles, and `true` if the account has a separate entry. Throws
    /// `notFound` if the account, the service or the service's role `role` does not exist.
    fileprivate func heldRoles(
        accountID: String, service: String, naming role: String
    ) throws -> (profile: ServiceProfile, roles: [String], isKnown: Bool) {
        guard let profile = try self.serviceProfile(service), profile.role(role) != nil,
            try self.exists("account", id: accountID)
        else { throw StoreError(.notFound, "an account, a service or its role") }
        let entry = try self.roles(ofAccount: accountID, service: service)
        return (profile, entry ?? profile.defaultRoles.map(\.id), entry != nil)
    }

    fileprivate func roles(ofAccount id: String, service: String) throws -> [String]? {
        try String.fetchOne(
            self.cachedStatement(sql: "SELECT roles FROM service_roles WHERE service = ? AND account_id = ?"),
            arguments: [service, id]
        ).map { try Self.roles($0) }
    }

    fileprivate func setRoles(
        _ roles: [String], accountID: String, service: String, _ profile: ServiceProfile
    ) throws {
        let ordered = profile.roles.map(\.id).filter(roles.containsBytes)
        try self.cachedStatement(
            sql: """
                INSERT INTO service_roles (service, account_id, roles) VALUES (?, ?, ?)
                ON CONFLICT (service, account_id) DO UPDATE SET roles = excluded.roles
                """
        ).execute(arguments: [service, accountID, JSON.array(ordered.map(JSON.string)).text])
    }

    fileprivate static func roles(_ text: String) throws -> [String] {
        guard let roles = try? JSONObject([("a", JSON(parsing: text))]).strings("a") else {
            throw StoreError(.corrupt, "the roles of an account")
        }
        return roles
    }

    /// Adjusts roles, invitations and selections to a changed profile. A new attribute deletes all selections at the
    /// service. A removed role is taken from every account, and its open invitations are revoked.
    fileprivate func follow(
        _ profile: ServiceProfile, of client: String, former: ServiceProfile, _ audit: AuditEvent, _ sealing: Sealing
    ) throws {
        if profile.attributes.keys.contains(where: { former.attributes[$0] == nil }) {
            try self.cachedStatement(sql: "DELETE FROM attribute_selection WHERE service = ?")
                .execute(arguments: [client])
        }
        let gone = former.roles.map(\.id).filter { profile.role($0) == nil }
        guard !gone.isEmpty else { return }
        let list = JSON.array(gone.map(JSON.string)).text
        try self.revokeInvites(
            "service = ? AND role IN (SELECT value FROM json_each(?))", [client, list], audit, sealing)
        try self.cachedStatement(
            sql: """
                UPDATE service_roles SET roles = (
                    SELECT json_group_array(role.value) FROM json_each(service_roles.roles) AS role
                    WHERE role.value NOT IN (SELECT value FROM json_each(?1)))
                WHERE service = ?2 AND EXISTS (
                    SELECT 1 FROM json_each(service_roles.roles) AS role
                    WHERE role.value IN (SELECT value FROM json_each(?1)))
                """
        ).execute(arguments: [list, client])
    }
}
