public import Records
import Sealing
import Settings
public import _Primitives

extension SQLStore: CeremonyStore {
    public func createCeremony(
        _ ceremony: CeremonyRecord, tokens: [DispatchTokenRecord], message: DeviceMessageRecord?, audit: AuditEvent?
    ) async throws {
        // The reference of a sign-in is its request. Of two ceremonies at once, the later ends the earlier.
        let step = Step(
            "ceremony.create",
            guards: [
                .shared(.account, id: message.flatMap { _ in ceremony.accountID }),
                .exclusive(.request, id: ceremony.reference),
                .exclusive(.ceremony, where: "reference = ?", [ceremony.reference]),
            ], isolation: .readCommitted)
        try await self.step(step) { [sealing] db in
            let draft = try message.map { try MessageRows(db).draft($0, of: ceremony) }
            try CeremonyRows(db).begin(ceremony, tokens: tokens, sealing)
            try draft.map { try MessageRows(db).insert($0, sealing) }
            try AuditRows(db).record(audit, sealing)
        }
        self.handedOutTokens.insert(tokens.map(\.digest))
    }

    public func ceremony(ofToken digest: [UInt8]) async throws -> OfferedCeremony? {
        try await self.read { [sealing] db in try CeremonyRows(db).offeredCeremony(ofToken: digest, sealing) }
    }

    public func redeem(
        tokenDigest: [UInt8], screen: @escaping @Sendable (OfferedCeremony) throws -> RedeemedCeremony?,
        judge: @escaping @Sendable (inout CeremonyRecord, DispatchTokenRecord) throws -> CeremonyChange
    ) async throws -> RedeemedCeremony? {
        let redeem: @Sendable (SQLConnection, CeremonyRecord, DispatchTokenRecord) throws -> RedeemedCeremony = {
            [sealing] db, found, token in
            try CeremonyRows(db).redeemed(
                try CeremonyChanges(db).change(found, sealing) { try judge(&$0, token) }, sealing)
        }
        // A redemption can delete keys of the account, and the devices that have no key left.
        let step = Step(
            "ceremony.redeem",
            guards: [
                .exclusive(
                    .account,
                    where: """
                        id = (
                            SELECT account_id FROM ceremony JOIN dispatch_token ON ceremony_id = ceremony.id
                            WHERE digest = ?)
                        """, [tokenDigest]),
                .exclusive(
                    .ceremony, where: "id = (SELECT ceremony_id FROM dispatch_token WHERE digest = ?)", [tokenDigest]),
            ], isolation: .readCommitted)
        guard !self.handedOutTokens.remove(tokenDigest) else {
            return try await self.step(step) { [sealing] db in
                try CeremonyRows(db).offeredCeremony(ofToken: tokenDigest, sealing).map { offered in
                    try screen(offered) ?? redeem(db, offered.ceremony, offered.token)
                }
            }
        }
        return try await self.step(
            step,
            screenedBy: { [sealing] db -> Screening<CeremonyDetail, RedeemedCeremony?> in
                guard let offered = try CeremonyRows(db).offeredCeremony(ofToken: tokenDigest, sealing) else {
                    return .answered(nil)
                }
                return try screen(offered).map { .answered($0) } ?? .step(offered.ceremony.detail)
            }
        ) { [sealing] db, detail in
            // Sealed details never change, and the reader has opened them already.
            try CeremonyRows(db).ceremony(ofToken: tokenDigest, sealing, detail: detail).map { try redeem(db, $0, $1) }
        }
    }

    public func change(_ key: CeremonyKey, judge: @escaping CeremonyJudge) async throws -> CeremonyRecord? {
        let change: @Sendable (SQLConnection) throws -> CeremonyRecord? = { [sealing] db in
            try CeremonyRows(db).ceremony(key, sealing).map { try CeremonyChanges(db).change($0, sealing, by: judge) }
        }
        // Of two answers at once the second sees the first. The account's lock also holds the devices and keys that an
        // answer adds, replaces or deletes.
        let step = Step(
            "ceremony.change", guards: [.exclusive(accountOf: key), .exclusive(key)], isolation: .readCommitted)
        guard case .continuation = key else { return try await self.step(step, change) }
        // Anybody can send an invented key, so a reader looks the key up first.
        return try await self.step(
            step,
            screenedBy: { [sealing] db -> Screening<Void, CeremonyRecord?> in
                .step(if: try CeremonyRows(db).ceremony(key, sealing) != nil, otherwise: nil)
            }
        ) { db, _ in try change(db) }
    }

    public func answer<Result: Sendable>(
        _ challenge: AnsweredChallenge, keys: [(aaid: String, keyID: [UInt8])], at now: Timestamp,
        judge: @escaping @Sendable ([StoredCredential?]) throws -> (CeremonyChange, Result)
    ) async throws -> Result? {
        // The row of the challenge lets one of two answers through. The statement that advances a counter has its own
        // conditions on the key.
        try await self.step(
            Step(
                "ceremony.answer-challenge",
                guards: keys.map { key in
                    StepGuard.shared(
                        .account, where: "id = (SELECT account_id FROM credential WHERE aaid = ? AND key_id = ?)",
                        [key.aaid, key.keyID])
                }, isolation: .readCommitted)
        ) { [sealing] db in
            // An answer that the judgement refuses has written nothing.
            try CeremonyRows(db).unansweredKeys(keys, challenge: challenge.digest, sealing).flatMap {
                stored -> Result? in
                let (change, result) = try judge(stored)
                let admitted = try CeremonyChanges(db).admit(change, to: nil, sealing)
                try CeremonyChanges(db).requireAdvances(change.advances)
                guard try CeremonyRows(db).keep(challenge) else { return nil }
                try CeremonyChanges(db).apply(admitted, to: nil, at: now, sealing)
                return result
            }
        }
    }

    public func waitingOperations(accountID: String, deviceID: String, at now: Timestamp, limit: Int) async throws
        -> [CeremonyRecord]
    {
        try await self.read { [sealing] db in
            try db.rows(
                .composed(
                    """
                    SELECT \(CeremonyColumn.selection) FROM ceremony WHERE number IN (
                        SELECT number FROM (
                            SELECT number, row_number() OVER (
                                PARTITION BY CASE WHEN browser_digest IS NULL THEN client_id ELSE '' END
                                ORDER BY number DESC) AS turn
                            FROM ceremony WHERE account_id = ? AND client_id IS NOT NULL
                            AND (reference IS NOT NULL OR target_device = ?)
                            AND phase = ? AND expires_at > ? AND NOT EXISTS (
                                SELECT 1 FROM asking_rest WHERE asking_rest.account_id = ceremony.account_id
                                AND requester = client_id AND until > ?)
                            AND (SELECT count(*) FROM number_attempt
                                WHERE number_attempt.account_id = ceremony.account_id AND at > ?) < ?
                        ) AS waiting ORDER BY turn, number DESC LIMIT ?)
                    ORDER BY number DESC
                    """),
                [
                    accountID, deviceID, CeremonyRecord.Phase.created.rawValue, now.milliseconds, now.milliseconds,
                    AskingRestRows.memory(at: now), Limits.Fixed.wrongNumbers, limit,
                ]
            ) { try CeremonyRecord($0, sealing) }
        }
    }

    public func delayedChanges(accountID: String, at now: Timestamp, limit: Int) async throws -> [CeremonyRecord] {
        try await self.read { [sealing] db in
            try db.rows(
                .composed(
                    """
                    SELECT \(CeremonyColumn.selection) FROM ceremony WHERE account_id = ? AND reference IS NOT NULL
                    AND client_id IS NULL AND progress IS NOT NULL AND kind = ? AND phase = ? AND expires_at > ?
                    ORDER BY number DESC LIMIT ?
                    """),
                [
                    accountID, CeremonyRecord.Kind.authentication.rawValue, CeremonyRecord.Phase.created.rawValue,
                    now.milliseconds, limit,
                ]
            ) { try CeremonyRecord($0, sealing) }
        }
    }

    public func ceremony(_ key: CeremonyKey) async throws -> CeremonyRecord? {
        try await self.read { [sealing] db in try CeremonyRows(db).ceremony(key, sealing) }
    }

    public func verificationMaterial(ceremonyID: String, keys: [(aaid: String, keyID: [UInt8])]) async throws
        -> (ceremony: CeremonyRecord?, credentials: [StoredCredential?])
    {
        try await self.read { [sealing] db in
            (
                try CeremonyRows(db).ceremony(.id(ceremonyID), sealing),
                try keys.map { try CredentialRows(db).storedCredential(aaid: $0.aaid, keyID: $0.keyID, sealing) }
            )
        }
    }

    public func verificationMaterial(challengeDigest: [UInt8], keys: [(aaid: String, keyID: [UInt8])]) async throws
        -> [StoredCredential?]?
    {
        try await self.read { [sealing] db in
            try CeremonyRows(db).unansweredKeys(keys, challenge: challengeDigest, sealing)
        }
    }

    public func judgedAnswer(challengeDigest: [UInt8], keys: [(aaid: String, keyID: [UInt8])]) async throws
        -> (answer: JudgedAnswer, credentials: [StoredCredential?])?
    {
        try await self.read { [sealing] db in
            try CeremonyRows(db).judgedAnswer(challenge: challengeDigest).map { answer in
                (
                    answer,
                    try keys.map { try CredentialRows(db).storedCredential(aaid: $0.aaid, keyID: $0.keyID, sealing) }
                )
            }
        }
    }

    public func overdueCeremonies(at now: Timestamp, limit: Int) async throws -> [String] {
        try await self.read { db in
            try db.texts(
                .composed(
                    """
                    SELECT id FROM ceremony WHERE \(CeremonyRecord.isOpen) AND expires_at <= ?
                    ORDER BY expires_at LIMIT ?
                    """), [now.milliseconds, limit])
        }
    }

    public func deleteStale(
        endedBefore: Timestamp, deregisteredBefore: Timestamp, now: Timestamp, limit: Int
    ) async throws -> Int {
        try await self.step(Step("ceremony.sweep", guards: [], isolation: .readCommitted)) { db in
            // Each deletion uses a separate index, so a sweep does not walk over rows that are kept for a month.
            let ended = try CeremonyRows(db).deleteCeremonies(
                where: CeremonyRecord.hasEnded, changedBefore: endedBefore, limit: limit)
            let deregistered = try CeremonyRows(db).deleteCeremonies(
                where: CeremonyRecord.isCarriedOutDeregistration,
                changedBefore: min(endedBefore, deregisteredBefore), limit: limit)
            try db.run(
                """
                DELETE FROM answered_challenge WHERE digest IN
                (SELECT digest FROM answered_challenge WHERE expires_at < ? ORDER BY expires_at LIMIT ?)
                """, [now.milliseconds, limit])
            let challenges = db.changesCount
            return try ended + deregistered + challenges
                + ReceiptRows(db).deleteStale(at: now, limit: limit)
                + MessageRows(db).deleteDeviceMessages(expiredBefore: endedBefore, limit: limit)
                + DeviceIdentityRows(db).deleteEndedIdentities(before: deregisteredBefore, limit: limit)
        }
    }
}

extension StepGuard {
    /// Locks the ceremony of a key.
    fileprivate static func exclusive(_ key: CeremonyKey) -> Self {
        let (column, value) = key.place
        return .exclusive(.ceremony, where: .composed("\(column) = ?"), [value])
    }

    /// Locks the account of a ceremony, if the account is known before the step.
    fileprivate static func exclusive(accountOf key: CeremonyKey) -> Self {
        let (column, value) = key.place
        return .exclusive(
            .account, where: .composed("id = (SELECT account_id FROM ceremony WHERE \(column) = ?)"), [value])
    }
}
