public import Records
import Sealing
public import _Primitives

/// Reads and changes identity sessions.
///
/// A step of a session has three reading statements: one for an earlier answer to the request, one for the session,
/// activation, account and token, and one for the activation's keys. A step has at most one statement for each change:
/// the session, the activation, the kept answer, a counter, an entry of the trail. A step that changes only the
/// session's progress, and keeps an answer, writes two rows. The size of a session, an activation or the table of
/// answers adds no statement.
extension SQLStore: IdentityStore {
    public func answer(to request: RequestName) async throws -> IdentityStep<Never>? {
        try await self.read { [sealing] db in try db.answer(to: request, sealing)?.step() }
    }

    public func scene(session: String, activation: String, tokenDigest: [UInt8]?) async throws -> IdentityScene? {
        try await self.read { [sealing] db in
            try db.identityScene(session: session, activation: activation, tokenDigest: tokenDigest, sealing)
        }
    }

    public func terms(session: String, activation: String) async throws -> IdentityTerms? {
        try await self.read { [sealing, readProfiles] db in
            try db.activation(id: activation, sealing).map { record in
                let account = record.device.accountID
                var terms = IdentityTerms(activation: record)
                terms.ceremony = try db.ceremony(.id(session), sealing)
                terms.standing = try terms.service.flatMap {
                    try db.standing(accountID: account, service: $0, readProfiles)
                }
                try terms.requested.map { service, attributes in
                    terms.aliases = try db.personalAliases(accountID: account, attributes: attributes, sealing)
                    terms.selection = try db.attributeSelection(accountID: account, service: service)
                }
                return terms
            }
        }
    }

    public func step<Result: Sendable>(
        session: String, activation: String, tokenDigest: [UInt8]?, request: RequestName?,
        judge: @escaping @Sendable (inout IdentityScene) throws -> (IdentityChange, Result)
    ) async throws -> IdentityStep<Result> {
        _ = tokenDigest.map(self.handedOutTokens.remove)
        // The account's lock holds the activation, whose wrong attempts are counted, and everything that the session
        // leaves with the account.
        let step = Step(
            "identity-session.step",
            guards: [.exclusive(accountOfDevice: activation), .exclusive(.ceremony, id: session)],
            isolation: .readCommitted)
        return try await self.step(step) { [sealing] db in
            try db.unlessAnswered(request, sealing) {
                try db.identityScene(
                    session: session, activation: activation, tokenDigest: tokenDigest, sealing
                ).map { before -> IdentityStep<Result> in
                    var scene = before
                    let (change, result) = try judge(&scene)
                    try db.apply(change, scene, from: before, sealing)
                    return .decided(result)
                } ?? .missing
            }
        }
    }

    public func openIdentitySessions(accountID: String, at now: Timestamp, limit: Int) async throws -> [CeremonyRecord]
    {
        try await self.read { [sealing] db in
            try db.rows(
                .composed(
                    """
                    SELECT \(CeremonyColumn.selection) FROM ceremony
                    WHERE account_id = ? AND device_id IS NOT NULL AND kind = ? AND \(CeremonyRecord.isOpen)
                    AND expires_at > ? ORDER BY created_at DESC, id LIMIT ?
                    """), [accountID, CeremonyRecord.Kind.identity.rawValue, now.milliseconds, limit]
            ) { try CeremonyRecord($0, sealing) }
        }
    }

    public func begin(
        _ session: CeremonyRecord, token: DispatchTokenRecord, request: RequestName, answer: GivenAnswer,
        audit: AuditEvent?
    ) async throws -> IdentityStep<Void> {
        // The device is the caller. Of two equal requests at once, one begins a session.
        try await self.step(
            Step(
                "identity-session.begin", guards: [.exclusive(.device, id: request.caller)],
                isolation: .readCommitted)
        ) { [sealing] db in
            try db.unlessAnswered(request, sealing) {
                try db.begin(session, tokens: [token], sealing)
                // The answer is kept even if the session is gone: the same request would begin another session.
                try db.carryOut(IdentityWrite.beginning(answer, audit), sealing)
                return .decided(())
            }
        }
    }

    public func disableForsaken(
        countedBy moment: Timestamp, limit: Int, audit: AuditEvent, ending: @escaping SessionEnding
    ) async throws -> Int {
        // An attempt that is settled at the same moment is not forsaken.
        let step = Step(
            "activation.disable-forsaken",
            guards: [
                .exclusive(
                    .account,
                    where: """
                        id IN (
                            SELECT account_id FROM device JOIN activation ON device_id = device.id
                            WHERE is_permanent = 1 AND reserved_at <= ? ORDER BY reserved_at LIMIT ?)
                        """, [moment.milliseconds, limit])
            ], isolation: .readCommitted)
        return try await self.step(step) { [sealing] db in
            let forsaken = try db.activations(forsakenSince: moment, limit: limit, sealing)
            for device in forsaken.map(\.device) {
                let id = device.id
                try db.noteEnds(of: id, accountID: device.accountID, sealing, ending)
                try db.failSessions(ofDevice: device.id, accountID: device.accountID, at: audit.at)
                try db.deleteAuthentications(of: .device(id), at: audit.at)
                try db.run("DELETE FROM credential WHERE device_id = ?", [id])
                try db.run(
                    "UPDATE activation SET reserved_request = NULL, reserved_at = NULL WHERE device_id = ?", [id])
                var audit = audit
                (audit.accountID, audit.detail) = (device.accountID, id)
                try db.appendAudit(audit, sealing)
            }
            return forsaken.count
        }
    }
}

extension SQLConnection {
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
    fileprivate func identityScene(
        session: String, activation: String, tokenDigest: [UInt8]?, _ sealing: Sealing
    ) throws -> IdentityScene? {
        try self.row(Self.sceneQuery, [session, activation, tokenDigest]).map { row in
            let token = try tokenDigest.flatMap { digest in
                try row.optionalInteger("token_channel", as: Int.self).map { channel in
                    DispatchTokenRecord(
                        digest: digest, channel: try .init(stored: channel, "a token of an unknown channel"),
                        expiresAt: try row.moment("token_expires_at"))
                }
            }
            return IdentityScene(
                ceremony: try CeremonyRecord(row, sealing),
                activation: try ActivationRecord(row, start: CeremonyColumn.count, sealing),
                credentials: try self.credentials(deviceID: activation, sealing),
                isAccountLocked: try row.flag("account_is_locked"), token: token)
        }
    }

    /// Writes the changes of a session's step.
    fileprivate func apply(
        _ change: IdentityChange, _ scene: IdentityScene, from before: IdentityScene, _ sealing: Sealing
    ) throws {
        let (ceremony, device) = (scene.ceremony, before.activation.device)
        try self.update(ceremony, from: before.ceremony, sealing)
        try self.update(scene.activation, from: before.activation, sealing)
        try self.deleteCredentials(change.withdrawnCredentials, ofActivation: device.id)
        try self.apply(change.ceremony, to: ceremony, at: ceremony.changedAt, sealing)
        try self.carryOut(change.writes(of: device, before: before.ceremony, after: ceremony), sealing)
    }

    /// Adds the open sessions of a device to the history of its account, before the sessions are ended together.
    func noteEnds(
        of device: String, accountID: String, but session: String = "", _ sealing: Sealing, _ ending: SessionEnding
    ) throws {
        let open = try self.rows(
            .composed(
                """
                SELECT \(CeremonyColumn.selection) FROM ceremony WHERE account_id = ? AND device_id = ? AND id <> ?
                AND kind = ? AND \(CeremonyRecord.isOpen)
                """), [accountID, device, session, CeremonyRecord.Kind.identity.rawValue]
        ) { try CeremonyRecord($0, sealing) }
        for outcome in try open.compactMap(ending) { try self.apply(outcome, sealing) }
    }

    /// Ends the device's open ceremonies of every kind as failed, except for `session`.
    func failSessions(ofDevice device: String, accountID: String, but session: String = "", at now: Timestamp) throws {
        try self.endCeremonies(
            as: .failed, where: "account_id = ? AND device_id = ? AND id <> ? AND \(CeremonyRecord.isOpen)",
            [accountID, device, session], at: now)
    }
}
