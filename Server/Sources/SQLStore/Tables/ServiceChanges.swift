import Records
import Sealing
import _Primitives

/// The writes that follow a changed profile of a service, in the tables of roles, invitations and selections.
struct ServiceChanges {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Adjusts roles, invitations and selections to a changed profile.
    func follow(
        _ change: ServiceProfileChange, of client: String, _ audit: AuditEvent, _ sealing: Sealing
    ) throws {
        for effect in change.effects {
            switch effect {
            case .endedSelections:
                try self.db.run("DELETE FROM attribute_selection WHERE service = ?", [client])
            case .removedRoles(let roles):
                let list = JSON.array(roles.map(JSON.string)).text
                try InviteRows(self.db).revokeInvites(
                    "service = ? AND role IN (SELECT value FROM jsonb_array_elements_text(?))", [client, list], audit,
                    sealing)
                try ServiceRows(self.db).takeRoles(listed: list, of: client)
            }
        }
    }
}
