import Records
import Sealing
import _Primitives

/// The rows of services, and of the roles of accounts at services.
struct ServiceRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    func serviceProfile(_ client: String) throws -> ServiceProfile? {
        try self.db.text("SELECT profile FROM service WHERE id = ?", [client]).map { try ServiceProfile(kept: $0) }
    }

    /// Returns an account's standing at a service; `nil` if the account does not exist, or the client is no service.
    func standing(
        accountID: String, service: String, _ profiles: RecentValues<ExactText, ServiceProfile>? = nil
    ) throws -> ServiceStanding? {
        try self.db.row(
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
                isMember: try profile.membershipOrganisation.map {
                    try OrganisationRows(self.db).isMember(accountID, ofOrganisation: $0)
                })
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
    func heldRoles(accountID: String, service: String, naming role: String) throws -> HeldRoles {
        let profile = try HeldRoles.profile(try self.serviceProfile(service), naming: role)
        try IdentifiedRows(self.db).require("account", id: accountID, HeldRoles.missing)
        return HeldRoles(profile: profile, entry: try self.roles(ofAccount: accountID, service: service))
    }

    private func roles(ofAccount id: String, service: String) throws -> [String]? {
        try self.db.text("SELECT roles FROM service_roles WHERE service = ? AND account_id = ?", [service, id]).map {
            try RoleEntry.roles(kept: $0)
        }
    }

    func setRoles(_ roles: [String], accountID: String, service: String) throws {
        try self.db.run(
            """
            INSERT INTO service_roles (service, account_id, roles) VALUES (?, ?, ?)
            ON CONFLICT (service, account_id) DO UPDATE SET roles = excluded.roles
            """, [service, accountID, JSON.array(roles.map(JSON.string)).text])
    }

    /// Takes the roles of a JSON array from every account.
    func takeRoles(listed list: String, of client: String) throws {
        try self.db.run(
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
