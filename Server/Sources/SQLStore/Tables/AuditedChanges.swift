package import Records
package import Sealing

/// The events of steps, and the check of the whole trail.
extension AuditRows {
    /// Checks the whole trail of an attached database, or of this database, on this connection.
    package func verifyAudit(_ sealing: Sealing, of schema: String = "main") throws -> AuditVerdict {
        var check = AuditTrailCheck(code: sealing.auditCode)
        let address = try self.addressColumn(of: schema)
        while !check.isDone {
            check.take(try self.auditRows(after: check.number, sealing, of: schema, address: address))
        }
        return check.verdict
    }

    /// Appends the event of a change, if the change has an event, within the present step if the change was made.
    /// Returns `isMade`. A request without an effect leaves no trace in the trail, which is kept for ever.
    @discardableResult
    func appendAudit(_ event: AuditEvent?, if isMade: Bool, _ sealing: Sealing) throws -> Bool {
        guard isMade, let event else { return isMade }
        try self.appendAudit(event, sealing)
        return true
    }

    /// Keeps the audit event and the notice of a step, if the step has them.
    func record(_ event: AuditEvent?, notice: NoticeRecord? = nil, _ sealing: Sealing) throws {
        if let event { try self.appendAudit(event, sealing) }
        try NoticeRows(self.db).insertNotice(notice, sealing)
    }

    /// Keeps the audit events of a step, in their order.
    func record(_ events: [AuditEvent], _ sealing: Sealing) throws {
        for event in events { try self.appendAudit(event, sealing) }
    }
}

extension NoticeRows {
    /// Keeps the notice of a step, if the step has a notice.
    func insertNotice(_ notice: NoticeRecord?, _ sealing: Sealing) throws {
        if let notice { try self.insert(notice, sealing) }
    }
}
