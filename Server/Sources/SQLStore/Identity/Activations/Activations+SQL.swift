public import Records
import Sealing
public import _Primitives

extension SQLStore {
    public func activation(id: String) async throws -> ActivationRecord? {
        try await self.read { [sealing] db in try ActivationRows(db).activation(id: id, sealing) }
    }

    public func activations(accountID: String) async throws -> [ActivationRecord] {
        try await self.read { [sealing] db in try ActivationRows(db).activations(accountID: accountID, sealing) }
    }

    public func offer(_ offer: OfferRecord, replacing: Bool, limit: Int?, audit: AuditEvent)
        async throws
    {
        try await self.step(
            Step(
                "activation-offer.add", guards: [.exclusive(.account, id: offer.accountID)],
                isolation: .readCommitted)
        ) { [sealing] db in
            let count = try OfferRows(db).offerCount(accountID: offer.accountID, at: offer.createdAt)
            try IdentityBound.offers.requireRoom(count, most: limit)
            try OfferRows(db).insert(offer, replacing: replacing, sealing)
            try AuditRows(db).appendAudit(audit, sealing)
        }
    }

    public func withdrawOffer(id: String, accountID: String, audit: AuditEvent) async throws -> Bool {
        try await self.step(
            Step("activation-offer.withdraw", guards: [], isolation: .readCommitted), noting: audit
        ) { db in
            try db.changes(
                """
                UPDATE pending_activation SET state = ?, pin_key = NULL, letter = NULL, token_digest = NULL,
                token_until = NULL WHERE id = ? AND account_id = ? AND state = ?
                AND (is_permanent = 0 OR reserved_request IS NOT NULL) AND expires_at > ?
                """,
                [
                    OfferRecord.State.revoked.rawValue, id, accountID,
                    OfferRecord.State.offered.rawValue, audit.at.milliseconds,
                ])
        }
    }

    public func offer(id: String) async throws -> OfferRecord? {
        try await self.read { [sealing] db in try OfferRows(db).offer(id: id, sealing) }
    }

    public func offers(accountID: String, at now: Timestamp) async throws -> [OfferRecord] {
        try await self.read { [sealing] db in try OfferRows(db).offers(accountID: accountID, at: now, sealing) }
    }

    public func step<Result: Sendable>(
        offer id: String, request: RequestName?,
        judge: @escaping @Sendable (inout OfferRecord) throws -> (OfferChange, Result)
    ) async throws -> IdentityStep<Result> {
        // A client without a code can still name an offer, and a client with a code can repeat a request. A reader
        // answers both without the writer.
        // The account can be an account for an invitation, which goes when another account accepts the invitation.
        try await self.step(
            Step(
                "activation-offer.step",
                guards: [
                    .exclusive(.account, where: "id = (SELECT account_id FROM pending_activation WHERE id = ?)", [id]),
                    .exclusive(.offer, id: id),
                ], isolation: .readCommitted),
            screenedBy: { [sealing] db -> Screening<Void, IdentityStep<Result>> in
                let earlier: IdentityStep<Result>? = try IdentityAnswerRows(db).outcome(answeredTo: request, sealing)
                return .step(if: try earlier == nil && OfferRows(db).hasOffer(id: id), otherwise: earlier ?? .missing)
            }
        ) { [sealing] db, _ in
            try IdentityAnswerRows(db).unlessAnswered(request, sealing) {
                try OfferRows(db).offer(id: id, sealing).map { before -> IdentityStep<Result> in
                    var offer = before
                    let (change, result) = try judge(&offer)
                    try change.enrolled.map {
                        try IdentityChanges(db).requireEnrolment(of: $0.activation, $0.credentials, sealing)
                    }
                    try OfferRows(db).update(offer, from: before, sealing)
                    try IdentityChanges(db).carryOut(change.writes, sealing)
                    return .decided(result)
                } ?? .missing
            }
        }
    }

    public func revokeActivation(
        id: String, audit: AuditEvent, notice: NoticeRecord?, ending: @escaping SessionEnding
    ) async throws -> Bool {
        try await self.step(
            Step("activation.revoke", guards: [.exclusive(accountOfDevice: id)], isolation: .readCommitted)
        ) { [sealing] db in
            try ActivationRows(db).accountOfActivation(id: id).map { account -> Void in
                try DeviceEnds(db).revokeDevice(id: id, accountID: account, at: audit.at, sealing, ending)
                try IdentityChanges(db).carryOut(
                    ActivationChange(audit: audit, notice: notice).writes(accountID: account), sealing)
            } != nil
        }
    }

    public func renameActivation(id: String, name: String, audit: AuditEvent) async throws -> Bool {
        try await self.step(
            Step("activation.rename", guards: [.exclusive(.device, id: id)], isolation: .readCommitted),
            on: { db in try ActivationRows(db).accountOfActivation(id: id) }
        ) { [sealing] db, account in
            try db.run(
                "UPDATE device SET name = ? WHERE id = ?", [try sealing.seal(name, purpose: .deviceName, row: id), id])
            var audit = audit
            audit.accountID = account
            return audit
        }
    }

    public func step<Result: Sendable>(
        onActivation id: String,
        judge: @escaping @Sendable (inout ActivationRecord, [CredentialRecord]) throws -> (ActivationChange, Result)
    ) async throws -> Result? {
        // Of two wrong attempts at once, each counts.
        try await self.step(
            Step("activation.step", guards: [.exclusive(accountOfDevice: id)], isolation: .readCommitted)
        ) { [sealing] db in
            try ActivationRows(db).activation(id: id, sealing).map { before in
                var activation = before
                let (change, result) = try judge(&activation, try CredentialRows(db).credentials(deviceID: id, sealing))
                try ActivationRows(db).update(activation, from: before, sealing)
                try CredentialRows(db).deleteCredentials(change.withdrawnCredentials, ofActivation: id)
                try IdentityChanges(db).carryOut(change.writes(accountID: before.device.accountID), sealing)
                return result
            }
        }
    }

    public func deleteStaleIdentities(now: Timestamp, historyBefore: Timestamp, limit: Int) async throws -> Int {
        try await self.step(Step("identity.sweep", guards: [], isolation: .readCommitted)) { db in
            try ["identity_answer": ("number", "kept_until"), "pending_activation": ("id", "expires_at")].reduce(
                try IdentityConsentRows(db).deleteStaleConsents(now: now, limit: limit)
                    + IdentityHistoryRows(db).deleteStaleHistory(before: historyBefore, limit: limit)
            ) { count, stale in
                let (table, (key, end)) = stale
                try db.run(
                    .composed(
                        """
                        DELETE FROM \(table) WHERE \(key) IN
                        (SELECT \(key) FROM \(table) WHERE \(end) < ? ORDER BY \(end) LIMIT ?)
                        """), [now.milliseconds, limit])
                return count + db.changesCount
            }
        }
    }
}
