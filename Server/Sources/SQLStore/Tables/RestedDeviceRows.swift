import Records
import Sealing
import _Primitives

/// The rows of devices that are reported as lost.
struct RestedDeviceRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Returns the phone of a device: the device, and the account's devices with the same signing key. `nil` if the
    /// account has no such confirmed device.
    func phone(of id: String, accountID: String) throws -> LostPhone? {
        let registrations = try self.db.rows(
            """
            SELECT id, is_active, rested_at, is_disowned FROM device WHERE account_id = ?2 AND (id = ?1 OR id IN (
                SELECT other.device_id FROM device_identity AS own JOIN device_identity AS other
                ON other.signing_code = own.signing_code WHERE own.device_id = ?1))
            ORDER BY number
            """, [id, accountID]
        ) { row in
            LostPhone.Registration(
                id: try row.text("id"), isActive: try row.flag("is_active"),
                restedAt: try row.optionalMoment("rested_at"), isDisowned: try row.flag("is_disowned"))
        }
        return LostPhone(named: id, among: registrations)
    }

    /// Lets devices rest. Ends what they have authenticated, and their open ceremonies: an unfinished sign-in, or a
    /// sign-in before the browser has taken up the result.
    func rest(_ devices: [String], accountID: String, at now: Timestamp, _ sealing: Sealing) throws {
        for id in devices {
            try self.db.run("UPDATE device SET rested_at = ? WHERE id = ?", [now.milliseconds, id])
            try AuthenticationEnds(self.db).deleteAuthentications(of: .device(id), at: now)
            try EndedCeremonies(self.db).endCeremonies(
                as: .cancelled,
                where: """
                    account_id = ? AND device_id = ?
                    AND (\(CeremonyRecord.isOpen) OR (outcome = ? AND reference IS NOT NULL AND is_consumed = 0))
                    """,
                [accountID, id, CeremonyRecord.Outcome.succeeded.rawValue], at: now, sealing)
        }
    }

    /// Ends the rest of devices.
    func wake(_ devices: [String]) throws {
        for id in devices {
            try self.db.run("UPDATE device SET rested_at = NULL, is_disowned = 0 WHERE id = ?", [id])
        }
    }

    /// Keeps the notice and the letters of a report.
    func tell(_ report: LostDeviceReport, _ sealing: Sealing) throws {
        try NoticeRows(self.db).insertNotice(report.notice, sealing)
        for letter in report.mails { try MailRows(self.db).leaveMail(letter, sealing) }
    }
}
