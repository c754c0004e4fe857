import Foundation
import GRDB
import Records
import SQLStore
import Sealing
import _Primitives

/// Compares activations, and the root of the server's keys for activations, with the database before the restore.
///
/// The cost of failed attempts stays: otherwise a person who can have a backup restored would get all attempts anew.
enum ReplacedActivations {
    static let steps: [ReplacedStep] = [
        ReplacedStep(
            .activationDisabled, of: .table("activation"),
            """
            SELECT device.id AS id, device.name AS name, device.id AS device_id, account.username AS username,
                account.id AS account_id
            FROM main.activation AS item JOIN main.device AS device ON device.id = item.device_id
            JOIN main.account AS account ON account.id = device.account_id
            WHERE item.is_permanent = 0
            AND item.device_id IN (SELECT device_id FROM replaced.activation WHERE is_permanent = 1)
            ORDER BY device.number
            """,
            { _ in
                [
                    """
                    UPDATE main.activation SET is_permanent = 1
                    WHERE device_id IN (SELECT device_id FROM replaced.activation WHERE is_permanent = 1)
                    """
                ]
            })
    ]

    /// The stricter state of each activation, whether or not revocations are undone: the higher numbers of failed
    /// attempts of the two databases, and the later end of a lock.
    static let attempts = ReplacedRemainder(treatment: .kept, need: .table("activation")) { _ in
        func later(_ column: String) -> String {
            "\(column) = nullif(max(coalesce(ours.\(column), 0), coalesce(theirs.\(column), 0)), 0)"
        }
        return [
            """
            UPDATE main.activation AS ours SET
                failures_in_row = max(ours.failures_in_row, theirs.failures_in_row),
                failures = CASE WHEN length(theirs.failures) > length(ours.failures) THEN theirs.failures
                    ELSE ours.failures END,
                \(later("locked_until")), \(later("last_used_at"))
            FROM replaced.activation AS theirs WHERE theirs.device_id = ours.device_id
            """
        ]
    }

    /// Keeps a root that was made since the backup: apps are configured with this root, and accept no other.
    static func keepRoot(_ db: Database, _ shared: SharedColumns, _ sealing: Sealing) throws {
        guard shared.meets(.table("identity_root")),
            let sealed = try Data.fetchOne(db, sql: "SELECT sealed FROM replaced.identity_root WHERE id = 1"),
            // A root that somebody has written into the database does not count.
            (try? sealing.open(sealed, purpose: .identityRoot, row: "1")) != nil
        else { return }
        try db.execute(
            sql: "INSERT OR IGNORE INTO main.identity_root (id, sealed) VALUES (1, ?)", arguments: [sealed])
    }
}
