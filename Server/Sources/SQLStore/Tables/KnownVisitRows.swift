import Records
import Sealing
import _Primitives

/// The rows of browsers and networks that an account knows.
struct KnownVisitRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Returns the stored record of a browser, if this account knows the browser. The same statement runs for unknown
    /// names.
    func knownBrowser(_ digest: [UInt8]?, accountID: String) throws -> KnownBrowserRecord? {
        try self.db.row(
            "SELECT wrong, used_at FROM known_browser WHERE digest = ? AND account_id = ?",
            [(digest ?? []), accountID]
        ).map { KnownBrowserRecord(wrong: try $0.integer("wrong"), usedAt: try $0.moment("used_at")) }
    }

    func countWrong(_ number: Int, ofBrowser digest: [UInt8]) throws {
        try self.db.run("UPDATE known_browser SET wrong = greatest(0, wrong + ?) WHERE digest = ?", [number, digest])
    }

    /// Forgets the wrong passwords that a known browser has sent.
    func forgetWrong(ofBrowser digest: [UInt8]) throws {
        try self.db.run("UPDATE known_browser SET wrong = 0 WHERE digest = ?", [digest])
    }

    /// Deletes the browsers and networks that an account knows.
    func forgetKnown(ofAccount accountID: String) throws {
        try self.db.run("DELETE FROM known_browser WHERE account_id = ?", [accountID])
        try self.db.run("DELETE FROM known_network WHERE account_id = ?", [accountID])
    }

    /// Deletes a browser that an account knows.
    func forgetBrowser(_ digest: [UInt8], ofAccount accountID: String) throws {
        try self.db.run("DELETE FROM known_browser WHERE digest = ? AND account_id = ?", [digest, accountID])
    }

    /// Makes an account know a browser.
    func knowBrowser(_ digest: [UInt8], at moment: Timestamp, accountID: String) throws {
        try self.db.run(
            "INSERT INTO known_browser (digest, account_id, wrong, used_at) VALUES (?, ?, 0, ?)",
            [digest, accountID, moment.milliseconds])
    }

    /// Makes an account know a network.
    func knowNetwork(_ network: String, at moment: Timestamp, accountID: String, _ sealing: Sealing) throws {
        try self.db.run(
            """
            INSERT INTO known_network (account_id, network, used_at) VALUES (?1, ?2, ?3)
            ON CONFLICT (account_id, network) DO UPDATE SET used_at = ?3
            """,
            [
                accountID, sealing.networkCode(network, accountID: accountID), moment.milliseconds,
            ])
    }

    /// Deletes the browsers and networks of an account except the most recently used, at most `most` of each.
    func keepRecent(_ most: Int, ofAccount accountID: String) throws {
        try self.keepRecent(most, ofAccount: accountID, in: "known_browser", by: "digest")
        try self.keepRecent(most, ofAccount: accountID, in: "known_network", by: "network")
    }

    func keepRecent(_ most: Int, ofAccount accountID: String, in table: String, by key: String) throws {
        try self.db.run(
            .composed(
                """
                DELETE FROM \(table) WHERE account_id = ?1 AND \(key) NOT IN (
                    SELECT \(key) FROM \(table) WHERE account_id = ?1 ORDER BY used_at DESC, \(key) LIMIT ?2)
                """), [accountID, most])
    }
}
