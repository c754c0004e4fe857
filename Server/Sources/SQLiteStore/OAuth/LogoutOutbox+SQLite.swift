import GRDB
public import Store
public import _Primitives

extension Migration {
    /// What clients have to be told of sessions that have ended, and where. Nobody has said yet where.
    static let logoutOutbox = Migration(name: "logout outbox") { db, _ in
        try db.execute(
            sql: """
                ALTER TABLE oauth_client ADD COLUMN backchannel_logout_uri TEXT;
                ALTER TABLE oauth_client ADD COLUMN backchannel_logout_session_required INTEGER NOT NULL DEFAULT 0;
                CREATE TABLE oauth_logout (
                    number INTEGER PRIMARY KEY, client TEXT NOT NULL, session TEXT NOT NULL,
                    subject TEXT NOT NULL, created_at INTEGER NOT NULL, due_at INTEGER NOT NULL,
                    attempts INTEGER NOT NULL
                ) STRICT;
                CREATE INDEX oauth_logout_client ON oauth_logout (client, due_at);
                CREATE INDEX oauth_logout_due ON oauth_logout (due_at);
                """)
    }
}

extension SQLiteDatabase: LogoutOutbox {
    public func takeLogouts(
        at moment: Timestamp, lease: Timestamp, limit: Int, exceptOf busy: Set<ExactText>
    ) async throws -> [LogoutDelivery] {
        // Nearly always nothing is due: readers say so.
        try await self.step(screenedBy: { db -> Screening<Void, [LogoutDelivery]> in
            try db.clientsToBeTold(at: moment, exceptOf: busy).isEmpty ? .answered([]) : .step(())
        }) { db, _ in
            try db.clientsToBeTold(at: moment, exceptOf: busy).flatMap { client in
                try db.takeLogouts(of: client, at: moment, lease: lease, limit: limit)
            }
        }
    }

    public func removeLogout(_ delivery: LogoutDelivery, audit: AuditEvent?) async throws {
        try await self.step { [sealing] db in
            // A number is given anew when the newest delivery has gone.
            try db.cachedStatement(sql: "DELETE FROM oauth_logout WHERE number = ? AND client = ? AND session = ?")
                .execute(arguments: [delivery.number, delivery.client, delivery.session])
            guard db.changesCount > 0, let audit else { return }
            try db.appendAudit(audit, sealing)
        }
    }

    public func postponeLogout(_ delivery: LogoutDelivery, until moment: Timestamp) async throws {
        try await self.step { db in
            try db.cachedStatement(
                sql: """
                    UPDATE oauth_logout SET due_at = ?
                    WHERE number = ? AND client = ? AND session = ? AND attempts = ?
                    """
            ).execute(arguments: [
                moment.milliseconds, delivery.number, delivery.client, delivery.session, delivery.attempt,
            ])
        }
    }

    public func waitingLogouts() async throws -> WaitingLogouts {
        try await self.read { db in
            let row = try Row.fetchOne(
                db.cachedStatement(sql: "SELECT count(*) AS count, min(created_at) AS oldest FROM oauth_logout"))
            guard let row else { return WaitingLogouts(count: 0, oldest: nil) }
            return WaitingLogouts(count: try row.integer("count"), oldest: try row.optionalMoment("oldest"))
        }
    }
}

extension Database {
    /// Ends the sessions that a condition on `oauth_session` chooses, and leaves for each client that they have signed in to
    /// and that wants to be told what it is to be told. Says how many there were.
    ///
    /// Every end of a session goes through here, but for those that are nobody's doing: it has run out, or its own person
    /// has signed in anew in its browser.
    func endSessions(where condition: String, _ arguments: StatementArguments, at moment: Timestamp) throws -> Int {
        let ended = try String.fetchAll(
            self.cachedStatement(sql: "SELECT oauth_session.id FROM oauth_session WHERE \(condition)"),
            arguments: arguments)
        for id in ended {
            try self.cachedStatement(
                sql: """
                    INSERT INTO oauth_logout (client, session, subject, created_at, due_at, attempts)
                    SELECT service.client, oauth_session.id, oauth_subject.subject, ?2, ?2, 0
                    FROM oauth_session_service AS service
                    JOIN oauth_session ON oauth_session.id = service.session
                    JOIN oauth_client ON oauth_client.id = service.client AND backchannel_logout_uri IS NOT NULL
                    JOIN oauth_subject ON oauth_subject.account = oauth_session.account
                        AND oauth_subject.client = service.client
                    WHERE service.session = ?1
                    """
            ).execute(arguments: [id, moment.milliseconds])
            try self.cachedStatement(sql: "DELETE FROM oauth_session WHERE id = ?").execute(arguments: [id])
        }
        return ended.count
    }

    fileprivate func clientsToBeTold(at moment: Timestamp, exceptOf busy: Set<ExactText>) throws -> [String] {
        try String.fetchAll(
            self.cachedStatement(sql: "SELECT DISTINCT client FROM oauth_logout WHERE due_at <= ? ORDER BY client"),
            arguments: [moment.milliseconds]
        ).filter { !busy.contains(ExactText($0)) }
    }

    fileprivate func takeLogouts(of client: String, at moment: Timestamp, lease: Timestamp, limit: Int) throws
        -> [LogoutDelivery]
    {
        let address = try String.fetchOne(
            self.cachedStatement(sql: "SELECT backchannel_logout_uri FROM oauth_client WHERE id = ?"),
            arguments: [client])
        guard let address else {
            // It does not want to be told any more.
            try self.cachedStatement(sql: "DELETE FROM oauth_logout WHERE client = ?").execute(arguments: [client])
            return []
        }
        return try Row.fetchAll(
            self.cachedStatement(
                sql: """
                    UPDATE oauth_logout SET due_at = ?3, attempts = attempts + 1 WHERE number IN (
                        SELECT number FROM oauth_logout WHERE client = ?1 AND due_at <= ?2 ORDER BY due_at, number LIMIT ?4)
                    RETURNING number, session, subject, attempts, created_at
                    """), arguments: [client, moment.milliseconds, lease.milliseconds, limit]
        ).map { row in
            LogoutDelivery(
                number: try row.integer("number"), client: client, address: address, session: try row.text("session"),
                subject: try row.text("subject"), attempt: try row.integer("attempts"),
                createdAt: try row.moment("created_at"))
        }.sorted { $0.number < $1.number }
    }
}
