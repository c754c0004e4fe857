import Records
import Sealing
import _Primitives

/// The rows of identity sessions, which are ceremonies of a device.
struct IdentitySessionRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    private static let sceneQuery = SQLText.once(
        """
        SELECT \(CeremonyColumn.selection), \(ActivationRecord.selection),
            account.is_locked AS account_is_locked, dispatch_token.channel AS token_channel,
            dispatch_token.expires_at AS token_expires_at
        FROM ceremony CROSS JOIN \(ActivationRecord.tables) JOIN account ON account.id = device.account_id
        LEFT JOIN dispatch_token ON dispatch_token.digest = ?3 AND dispatch_token.ceremony_id = ceremony.id
        WHERE ceremony.id = ?1 AND activation.device_id = ?2
        """)

    /// Returns the complete state of a session for an activation; `nil` if the session or the activation does not
    /// exist. The session can be another activation's.
    func identityScene(
        session: String, activation: String, tokenDigest: [UInt8]?, _ sealing: Sealing
    ) throws -> IdentityScene? {
        try self.db.row(Self.sceneQuery, [session, activation, tokenDigest]).map { row in
            let token = try tokenDigest.flatMap { digest in
                try row.optionalInteger("token_channel", as: Int.self).map { channel in
                    DispatchTokenRecord(
                        digest: digest, channel: try .init(stored: channel),
                        expiresAt: try row.moment("token_expires_at"))
                }
            }
            return IdentityScene(
                ceremony: try CeremonyRecord(row, sealing),
                activation: try ActivationRecord(row, start: CeremonyColumn.count, sealing),
                credentials: try CredentialRows(self.db).credentials(deviceID: activation, sealing),
                isAccountLocked: try row.flag("account_is_locked"), token: token)
        }
    }

    /// Adds the open sessions of a device to the history of its account, before the sessions are ended together.
    func noteEnds(
        of device: String, accountID: String, but session: String = "", _ sealing: Sealing, _ ending: SessionEnding
    ) throws {
        let open = try self.db.rows(
            .composed(
                """
                SELECT \(CeremonyColumn.selection) FROM ceremony WHERE account_id = ? AND device_id = ? AND id <> ?
                AND kind = ? AND \(CeremonyRecord.isOpen)
                """), [accountID, device, session, CeremonyRecord.Kind.identity.rawValue]
        ) { try CeremonyRecord($0, sealing) }
        let history = IdentityHistoryRows(self.db)
        for outcome in try open.compactMap(ending) { try history.keep(history.admit(outcome), sealing) }
    }

    /// Ends the device's open ceremonies of every kind as failed, except for `session`.
    func failSessions(
        ofDevice device: String, accountID: String, but session: String = "", at now: Timestamp, _ sealing: Sealing
    ) throws {
        try EndedCeremonies(self.db).endCeremonies(
            as: .failed, where: "account_id = ? AND device_id = ? AND id <> ? AND \(CeremonyRecord.isOpen)",
            [accountID, device, session], at: now, sealing)
    }
}
