public import Records
import Sealing
public import _Primitives

extension SQLStore: SessionStore {
    public func sessionCount(at moment: Timestamp, idleSince: Timestamp) async throws -> Int {
        try await self.read { db in
            try db.number(
                "SELECT count(*) FROM oauth_session WHERE expires_at > ? AND used_at > ?",
                [moment.milliseconds, idleSince.milliseconds]) ?? 0
        }
    }

    private static let cookieQuery = SQLText.once(
        "SELECT \(SessionColumn.selection) FROM oauth_session WHERE cookie_digest = ?")

    public func session(cookieDigest: [UInt8]) async throws -> SessionRecord? {
        try await self.read { [sealing] db in
            let row = try db.row(Self.cookieQuery, [cookieDigest])
            return try row.flatMap { try SessionRows(db).session($0, sealing) }
        }
    }

    public func raise(_ session: SessionRecord, from cookieDigest: [UInt8], audit: AuditEvent) async throws {
        let step = Step(
            "session.raise",
            guards: [
                .shared(.account, id: session.account), .exclusive(.session, id: session.id),
                .shared(.device, id: session.authentication.device),
            ], isolation: .readCommitted)
        try await self.step(step) { [sealing] db in
            _ = try SessionRows(db).admit(session)
            try SessionRows(db).stepUp(
                session, from: cookieDigest, until: session.authenticationsEnd(atLeast: session.authentication.at),
                sealing)
            try AuditRows(db).appendAudit(audit, sealing)
        }
    }

    public func endSession(_ id: String, audit: AuditEvent) async throws -> Bool {
        let step = Step(
            "session.end", guards: [.shared(.account, where: .accountOfSession, [id]), .exclusive(.session, id: id)],
            isolation: .readCommitted)
        return try await self.step(step) { [sealing] db in
            let ended = EndedRows(try SessionRows(db).endSessions(where: "id = ?", [id], at: audit.at), event: audit)
            try AuditRows(db).record(ended.event, sealing)
            return ended.isAny
        }
    }

    public func sessions(
        account: String, at moment: Timestamp, idleSince: Timestamp, limit: Int, services: Int
    ) async throws -> [SessionListing] {
        try await self.read { [sealing] db in
            let sessions = try db.rows(
                .composed(
                    """
                    SELECT \(SessionColumn.selection) FROM oauth_session WHERE account = ? AND expires_at > ? AND used_at > ?
                    ORDER BY used_at DESC, id LIMIT ?
                    """), [account, moment.milliseconds, idleSince.milliseconds, limit]
            ) { try SessionRows(db).session($0, sealing) }
            return try sessions.compactMap(\.self).map { session in
                SessionListing(
                    session: session, services: try SessionRows(db).services(session: session.id, limit: services))
            }
        }
    }

    public func endSession(_ id: String, account: String, audit: AuditEvent) async throws -> Bool {
        let step = Step(
            "session.end-of-account", guards: [.shared(.account, id: account), .exclusive(.session, id: id)],
            isolation: .readCommitted)
        // Another account's session keeps its grants.
        return try await self.step(
            step,
            on: { db in
                try db.row("SELECT 1 FROM oauth_session WHERE id = ? AND account = ?", [id, account]).map { _ in }
            }
        ) { db, _ in
            _ = try SessionRows(db).endSessions(where: "id = ?", [id], at: audit.at)
            _ = try GrantEnds(db).endGrants(where: "session = ? AND is_lasting = 1", [id])
            return audit
        }
    }

    public func endSessions(account: String, audit: AuditEvent) async throws -> Int {
        let step = Step(
            "session.end-all",
            guards: [
                .exclusive(.account, id: account),
                // Another person's sign-in in the same browser ends a session without the account's lock.
                .exclusive(.session, where: "account = ?", [account]),
            ], isolation: .readCommitted)
        return try await self.step(step) { [sealing] db in
            let lasting = try AccountEnds(db).endLasting(account: account)
            try KnownVisitRows(db).forgetKnown(ofAccount: account)
            let sessions = try SessionRows(db).endSessions(where: "account = ?", [account], at: audit.at)
            try AuditRows(db).record(EndedRows(sessions + lasting, event: audit).event, sealing)
            return sessions
        }
    }
}
