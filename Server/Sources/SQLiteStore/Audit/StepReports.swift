import GRDB
import Records
import Sealing

extension Database {
    /// Keeps the audit event and the notice of a step, if the step has them.
    func record(_ event: AuditEvent?, notice: NoticeRecord? = nil, _ sealing: Sealing) throws {
        if let event { try self.appendAudit(event, sealing) }
        if let notice { try self.insertNotice(notice, sealing) }
    }

    /// Keeps the audit events of a step, in their order.
    func record(_ events: [AuditEvent], _ sealing: Sealing) throws {
        for event in events { try self.appendAudit(event, sealing) }
    }
}
