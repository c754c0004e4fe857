import GRDB
import Records
import Sealing

extension Database {
    /// Appends the audit event of a change within the present step, if the change has been made. Returns `true` if the
    /// change has been made. A request without an effect leaves no trace in the trail, which is kept for ever.
    func append(_ event: AuditEvent?, ofChangeMade isMade: Bool, _ sealing: Sealing) throws -> Bool {
        guard isMade, let event else { return isMade }
        try self.appendAudit(event, sealing)
        return true
    }
}
