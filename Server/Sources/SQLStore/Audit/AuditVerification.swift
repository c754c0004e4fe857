public import Records
package import Sealing

extension SQLStore {
    /// Checks the whole trail, page by page. A reader is free between two pages, because a trail can be long.
    public func verifyAudit() async throws -> AuditVerdict {
        var check = AuditTrailCheck(code: self.sealing.auditCode)
        while !check.isDone {
            let start = check.number
            check.take(try await self.read { [sealing] db in try db.auditRows(after: start, sealing) })
        }
        return check.verdict
    }
}

extension SQLConnection {
    /// Checks the whole trail of an attached database, or of this database, on this connection.
    package func verifyAudit(_ sealing: Sealing, of schema: String = "main") throws -> AuditVerdict {
        var check = AuditTrailCheck(code: sealing.auditCode)
        while !check.isDone { check.take(try self.auditRows(after: check.number, sealing, of: schema)) }
        return check.verdict
    }
}
