import GRDB
public import Records
import Sealing
public import _Primitives

extension SQLiteDatabase: CeremonyStore {
    public func createCeremony(_ ceremony: CeremonyRecord, tokens: [DispatchTokenRecord], audit: AuditEvent?)
        async throws
    {
        try await self.step { [sealing] db in
            try db.begin(ceremony, tokens: tokens, sealing)
            if let audit { try db.appendAudit(audit, sealing) }
        }
        self.handedOutTokens.insert(tokens.map(\.digest))
    }

    public func ceremony(ofToken digest: [UInt8]) async throws -> OfferedCeremony? {
        try await self.read { [sealing] db in try db.offeredCeremony(ofToken: digest, sealing) }
    }

    public func redeem(
        tokenDigest: [UInt8], screen: @escaping @Sendable (OfferedCeremony) throws -> RedeemedCeremony?,
        judge: @escaping @Sendable (inout CeremonyRecord, DispatchTokenRecord) throws -> CeremonyChange
    ) async throws -> RedeemedCeremony? {
        let redeem: @Sendable (Database, CeremonyRecord, DispatchTokenRecord) throws -> RedeemedCeremony = {
            [sealing] db, found, token in
            var ceremony = found
            let change = try judge(&ceremony, token)
            try db.update(ceremony, from: found, sealing)
            try db.apply(change, to: ceremony, at: ceremony.changedAt, sealing)
            return try db.redeemed(ceremony, sealing)
        }
        guard !self.handedOutTokens.remove(tokenDigest) else {
            return try await self.step { [sealing] db in
                guard let offered = try db.offeredCeremony(ofToken: tokenDigest, sealing) else { return nil }
                return try screen(offered) ?? redeem(db, offered.ceremony, offered.token)
            }
        }
        return try await self.step(screenedBy: { [sealing] db -> Screening<CeremonyDetail, RedeemedCeremony?> in
            guard let offered = try db.offeredCeremony(ofToken: tokenDigest, sealing) else { return .answered(nil) }
            return try screen(offered).map { .answered($0) } ?? .step(offered.ceremony.detail)
        }) { [sealing] db, detail in
            // Sealed details never change, and the reader has opened them already.
            try db.ceremony(ofToken: tokenDigest, sealing, detail: detail).map { try redeem(db, $0, $1) }
        }
    }

    public func change(_ key: CeremonyKey, judge: @escaping CeremonyJudge) async throws -> CeremonyRecord? {
        let change: @Sendable (Database) throws -> CeremonyRecord? = { [sealing] db in
            guard let before = try db.ceremony(key, sealing) else { return nil }
            var ceremony = before
            let change = try judge(&ceremony)
            try db.update(ceremony, from: before, sealing)
            try db.apply(change, to: ceremony, at: ceremony.changedAt, sealing)
            return ceremony
        }
        guard case .continuation = key else { return try await self.step(change) }
        // Anybody can send an invented key, so a reader looks the key up first.
        return try await self.step(screenedBy: { [sealing] db -> Screening<Void, CeremonyRecord?> in
            try db.ceremony(key, sealing) == nil ? .answered(nil) : .step(())
        }) { db, _ in try change(db) }
    }

    public func answer<Result: Sendable>(
        _ challenge: AnsweredChallenge, keys: [(aaid: String, keyID: [UInt8])], at now: Timestamp,
        judge: @escaping @Sendable ([StoredCredential?]) throws -> (CeremonyChange, Result)
    ) async throws -> Result? {
        try await self.step { [sealing] db in
            try db.cachedStatement(
                sql: "INSERT INTO answered_challenge (digest, expires_at) VALUES (?, ?) ON CONFLICT DO NOTHING"
            )
            .execute(arguments: [challenge.digest.blob, challenge.expiresAt.milliseconds])
            guard db.changesCount == 1 else { return nil }
            let (change, result) = try judge(
                keys.map { try db.storedCredential(aaid: $0.aaid, keyID: $0.keyID, sealing) })
            try db.apply(change, to: nil, at: now, sealing)
            return result
        }
    }

    public func waitingQuestions(accountID: String, at now: Timestamp, limit: Int) async throws -> [String] {
        try await self.read { db in
            try String.fetchAll(
                db.cachedStatement(
                    sql: """
                        SELECT id FROM ceremony WHERE account_id = ? AND reference IS NOT NULL AND client_id IS NOT NULL
                        AND phase = ? AND expires_at > ? ORDER BY number DESC LIMIT ?
                        """),
                arguments: [accountID, CeremonyRecord.Phase.created.rawValue, now.milliseconds, limit])
        }
    }

    public func delayedChanges(accountID: String, at now: Timestamp, limit: Int) async throws -> [CeremonyRecord] {
        try await self.read { [sealing] db in
            try db.rows(
                """
                SELECT \(CeremonyColumn.selection) FROM ceremony WHERE account_id = ? AND reference IS NOT NULL
                AND client_id IS NULL AND progress IS NOT NULL AND kind = ? AND phase = ? AND expires_at > ?
                ORDER BY number DESC LIMIT ?
                """,
                [
                    accountID, CeremonyRecord.Kind.authentication.rawValue, CeremonyRecord.Phase.created.rawValue,
                    now.milliseconds, limit,
                ]
            ) { try CeremonyRecord($0, sealing) }
        }
    }

    public func ceremony(_ key: CeremonyKey) async throws -> CeremonyRecord? {
        try await self.read { [sealing] db in try db.ceremony(key, sealing) }
    }

    public func verificationMaterial(ceremonyID: String, keys: [(aaid: String, keyID: [UInt8])]) async throws
        -> (ceremony: CeremonyRecord?, credentials: [StoredCredential?])
    {
        try await self.read { [sealing] db in
            (
                try db.ceremony(.id(ceremonyID), sealing),
                try keys.map { try db.storedCredential(aaid: $0.aaid, keyID: $0.keyID, sealing) }
            )
        }
    }

    public func verificationMaterial(challengeDigest: [UInt8], keys: [(aaid: String, keyID: [UInt8])]) async throws
        -> [StoredCredential?]?
    {
        try await self.read { [sealing] db in
            let answered = try db.row("SELECT 1 FROM answered_challenge WHERE digest = ?", [challengeDigest.blob])
            guard answered == nil else { return nil }
            return try keys.map { try db.storedCredential(aaid: $0.aaid, keyID: $0.keyID, sealing) }
        }
    }

    public func overdueCeremonies(at now: Timestamp, limit: Int) async throws -> [String] {
        try await self.read { db in
            try String.fetchAll(
                db.cachedStatement(
                    sql: """
                        SELECT id FROM ceremony WHERE \(CeremonyRecord.isOpen) AND expires_at <= ?
                        ORDER BY expires_at LIMIT ?
                        """),
                arguments: [now.milliseconds, limit])
        }
    }

    public func deleteStale(
        endedBefore: Timestamp, deregisteredBefore: Timestamp, now: Timestamp, limit: Int
    ) async throws -> Int {
        try await self.step { db in
            // Each deletion uses a separate index, so a sweep does not walk over rows that are kept for a month.
            var ceremonies = 0
            for (condition, moment) in [
                (CeremonyRecord.hasEnded, endedBefore),
                (CeremonyRecord.isCarriedOutDeregistration, min(endedBefore, deregisteredBefore)),
            ] {
                try db.cachedStatement(
                    sql: """
                        DELETE FROM ceremony WHERE number IN
                        (SELECT number FROM ceremony WHERE \(condition) AND changed_at < ? ORDER BY changed_at LIMIT ?)
                        """
                ).execute(arguments: [moment.milliseconds, limit])
                ceremonies += db.changesCount
            }
            try db.cachedStatement(
                sql: """
                    DELETE FROM answered_challenge WHERE digest IN
                    (SELECT digest FROM answered_challenge WHERE expires_at < ? ORDER BY expires_at LIMIT ?)
                    """
            ).execute(arguments: [now.milliseconds, limit])
            return try ceremonies + db.changesCount
                + db.deleteEndedIdentities(before: deregisteredBefore, limit: limit)
        }
    }
}

extension Database {
    /// Adds a ceremony and its tokens, and ends the earlier ceremony of the same reference. Throws `conflict` if
    /// another browser began the earlier ceremony.
    func begin(_ ceremony: CeremonyRecord, tokens: [DispatchTokenRecord], _ sealing: Sealing) throws {
        if let reference = ceremony.reference, let earlier = try self.ceremony(.reference(reference), sealing) {
            guard constantTimeEqual(earlier.browserDigest ?? [], ceremony.browserDigest ?? []) else {
                throw StoreError(.conflict, "another browser began this")
            }
            var ended = earlier
            ended.reference = nil
            if ended.phase != .ended {
                ended.phase = .ended
                ended.outcome = .cancelled
                ended.changedAt = ceremony.createdAt
                // The person's input belongs to no account yet and is deleted, as with every end.
                ended.progress = nil
            }
            try self.update(ended, from: earlier, sealing)
            try self.expireTokens(ceremonyID: earlier.id, at: ceremony.createdAt)
        }
        try self.insert(ceremony, sealing)
        try self.insert(tokens, ceremonyID: ceremony.id)
    }

    fileprivate func offeredCeremony(ofToken digest: [UInt8], _ sealing: Sealing) throws -> OfferedCeremony? {
        guard let (ceremony, token) = try self.ceremony(ofToken: digest, sealing) else { return nil }
        return OfferedCeremony(
            ceremony: ceremony, token: token,
            deregistered: ceremony.kind == .deregistration ? try self.deregistered(ceremonyID: ceremony.id) : [])
    }

    /// Returns the data for the answer to a token that was just redeemed.
    fileprivate func redeemed(_ ceremony: CeremonyRecord, _ sealing: Sealing) throws -> RedeemedCeremony {
        guard let accountID = ceremony.accountID else {
            return RedeemedCeremony(ceremony: ceremony, account: nil, credentials: [])
        }
        guard ceremony.kind != .deregistration else {
            return RedeemedCeremony(
                ceremony: ceremony, account: nil, credentials: [],
                deregistered: try self.deregistered(ceremonyID: ceremony.id))
        }
        return RedeemedCeremony(
            ceremony: ceremony,
            account: ceremony.kind == .registration ? try self.account(id: accountID, sealing) : nil,
            credentials: try self.credentials(accountID: accountID, sealing).filter(\.isActive))
    }

    /// Lets an enrolment's device authenticate, and removes the keys that the device replaces.
    private func activateDevice(
        of ceremony: CeremonyRecord, _ change: CeremonyChange, at now: Timestamp, _ sealing: Sealing
    ) throws {
        guard let id = ceremony.deviceID else { return }
        try self.activateDevice(id: id)
        guard let accountID = ceremony.accountID else { return }
        for replaced in try self.replaceKeys(by: id, accountID: accountID, at: now, sealing, change.endOfSessions) {
            guard var event = change.replacementAudit else { continue }
            event.detail = replaced
            try self.appendAudit(event, sealing)
        }
    }

    /// Writes the further changes of a step.
    func apply(
        _ change: CeremonyChange, to ceremony: CeremonyRecord?, at now: Timestamp, _ sealing: Sealing
    )
        throws
    {
        for advance in change.advances { try self.advance(advance, at: now) }
        if let registration = change.registration { try self.insert(registration, sealing) }
        if !change.newCredentials.isEmpty { try self.join(change.newCredentials, sealing) }
        if let addition = change.identityAddition { try self.add(addition, sealing) }
        if let ceremony {
            switch change.deviceFate {
            case .keep: break
            case .activate: try self.activateDevice(of: ceremony, change, at: now, sealing)
            case .discard:
                if let id = ceremony.deviceID, try self.deleteDevice(id: id) { try self.deleteIdentity(ofDevice: id) }
            }
            if let selection = change.deregistration, let accountID = ceremony.accountID {
                let gone = try self.deregister(
                    selection, accountID: accountID, at: now, sealing, change.endOfSessions)
                try self.note(deregistered: gone, ceremonyID: ceremony.id)
                if !gone.isEmpty {
                    if let event = change.deregistrationAudit { try self.appendAudit(event, sealing) }
                    if let notice = change.deregistrationNotice { try self.insertNotice(notice, sealing) }
                }
            }
            if let tokens = change.newTokens {
                if let moment = change.tokensKeptSince {
                    try self.deleteTokens(ceremonyID: ceremony.id, expiredBefore: moment)
                }
                try self.expireTokens(ceremonyID: ceremony.id, at: now)
                try self.insert(tokens, ceremonyID: ceremony.id)
            }
        }
        if let outcome = change.identityOutcome { try self.apply(outcome, sealing) }
        if let (record, mail) = change.accountChange {
            try self.insert(record, sealing)
            _ = try self.leaveMail(mail)
        }
        if let letter = change.letter { _ = try self.leaveMail(letter) }
        for event in change.audit { try self.appendAudit(event, sealing) }
        for notice in change.notices { try self.insertNotice(notice, sealing) }
    }
}
