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
        try await self.read { [sealing] db in try IdentityAnswerRows(db).answer(to: request, sealing)?.step() }
    }

    public func scene(session: String, activation: String, tokenDigest: [UInt8]?) async throws -> IdentityScene? {
        try await self.read { [sealing] db in
            try IdentitySessionRows(db).identityScene(
                session: session, activation: activation, tokenDigest: tokenDigest, sealing)
        }
    }

    public func terms(session: String, activation: String) async throws -> IdentityTerms? {
        try await self.read { [sealing, readProfiles] db in
            try ActivationRows(db).activation(id: activation, sealing).map { record in
                let account = record.device.accountID
                var terms = IdentityTerms(activation: record)
                terms.ceremony = try CeremonyRows(db).ceremony(.id(session), sealing)
                terms.standing = try terms.service.flatMap {
                    try ServiceRows(db).standing(accountID: account, service: $0, readProfiles)
                }
                try terms.requested.map { service, attributes in
                    terms.aliases = try PersonalValueRows(db).personalAliases(
                        accountID: account, attributes: attributes, sealing)
                    terms.selection = try PersonalValueRows(db).attributeSelection(accountID: account, service: service)
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
            try IdentityAnswerRows(db).unlessAnswered(request, sealing) {
                try IdentitySessionRows(db).identityScene(
                    session: session, activation: activation, tokenDigest: tokenDigest, sealing
                ).map { before -> IdentityStep<Result> in
                    var scene = before
                    let (change, result) = try judge(&scene)
                    try IdentityChanges(db).apply(change, scene, from: before, sealing)
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
        // The device is the caller. If two equal requests come at once, one request begins a session.
        try await self.step(
            Step(
                "identity-session.begin", guards: [.exclusive(.device, id: request.caller)],
                isolation: .readCommitted)
        ) { [sealing] db in
            try IdentityAnswerRows(db).unlessAnswered(request, sealing) {
                try CeremonyRows(db).begin(session, tokens: [token], sealing)
                // The answer is kept even if the session is gone: the same request would begin another session.
                try IdentityChanges(db).carryOut(IdentityWrite.beginning(answer, audit), sealing)
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
            let forsaken = try ActivationRows(db).activations(forsakenSince: moment, limit: limit, sealing)
            for device in forsaken.map(\.device) {
                let id = device.id
                try IdentitySessionRows(db).noteEnds(of: id, accountID: device.accountID, sealing, ending)
                try IdentitySessionRows(db).failSessions(
                    ofDevice: device.id, accountID: device.accountID, at: audit.at, sealing)
                try AuthenticationEnds(db).deleteAuthentications(of: .device(id), at: audit.at)
                try db.run("DELETE FROM credential WHERE device_id = ?", [id])
                try db.run(
                    "UPDATE activation SET reserved_request = NULL, reserved_at = NULL WHERE device_id = ?", [id])
                var audit = audit
                (audit.accountID, audit.detail) = (device.accountID, id)
                try AuditRows(db).appendAudit(audit, sealing)
            }
            return forsaken.count
        }
    }
}
