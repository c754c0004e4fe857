import JOSE
public import Records
import _Primitives

/// The rules for every ``ReceiptStore``, and for the keys that sign receipts (decision 121).
public enum ReceiptConformance {
    /// The store protocols that the rules use.
    public typealias Subject = any AccountStore & AuditStore & CeremonyStore & ReceiptStore & SigningKeyStore

    /// The rules, each over an empty store.
    public static let checks: [ConformanceCheck<Subject>] = Self.receipts + Self.keys

    private static let start = Timestamp.start
    private static let event = AuditEvent(AuditEvent.Kind(rawValue: "test"), at: start)

    private static func receipt(_ session: String, account: String = "account-alice", until seconds: Int = 100)
        -> ReceiptRecord
    {
        ReceiptRecord(
            session: session, clientID: "bank", accountID: account, receipt: "receipt of \(session)",
            evidence: [
                ReceiptRecord.Evidence(
                    aaid: "C516#0001", assertion: [1, 2], assertionSalt: [3], key: [4, 5], keySalt: [6], keyFormat: 256,
                    algorithm: 1)
            ], keptUntil: Self.start + .seconds(seconds))
    }

    /// Ends a session with a receipt.
    private static func keep(_ receipt: ReceiptRecord, rows: Int = 9, _ store: Subject) async throws {
        let ceremony = CeremonyRecord(
            id: receipt.session, kind: .transaction, clientID: "bank", accountID: receipt.accountID,
            createdAt: Self.start, expiresAt: Self.start + .seconds(60), detail: CeremonyDetail())
        try await store.createCeremony(ceremony, tokens: [], audit: nil)
        _ = try await store.change(.id(receipt.session)) { record in
            (record.phase, record.outcome) = (.ended, .succeeded)
            var change = CeremonyChange()
            change.receipt = (receipt, rows)
            return change
        }
    }

    private static let receipts: [ConformanceCheck<Subject>] = [
        ConformanceCheck("a receipt is read as it was written, by its client and its account alone, until its end") {
            store in
            try await enrol(store)
            try await enrol(store, "bob")
            let (first, second) = (Self.receipt("s1"), Self.receipt("s2", until: 200))
            for receipt in [first, second, Self.receipt("s3", account: "account-bob")] {
                try await Self.keep(receipt, store)
            }
            func found(_ session: String, _ client: String = "bank", _ seconds: Int = 99) async throws -> ReceiptRecord?
            {
                try await store.receipt(session: session, clientID: client, at: Self.start + .seconds(seconds))
            }
            try expect(try await found("s1") == first, "the receipt with its evidence")
            try expect(try await found("s1", "shop") == nil, "of another client's session")
            try expect(try await found("none") == nil, "of no session")
            try expect(try await found("s1", "bank", 100) == nil, "after its end")
            func own(_ account: String, _ seconds: Int = 0, limit: Int = 9) async throws -> [String] {
                try await store.receipts(accountID: account, at: Self.start + .seconds(seconds), limit: limit)
                    .map(\.session)
            }
            try expect(try await own("account-alice") == ["s2", "s1"], "the newest first")
            try expect(try await own("account-alice", limit: 1) == ["s2"], "at most as many")
            try expect(try await own("account-alice", 100) == ["s2"], "those that are kept")
            try expect(try await own("account-bob") == ["s3"], "each account's own")
            _ = try await store.deleteStale(
                endedBefore: Self.start, deregisteredBefore: Self.start, now: Self.start + .seconds(100), limit: 9)
            try expect(try await found("s1", "bank", 0) == nil, "swept")
            try expect(try await found("s2", "bank", 0) == second, "not yet over")
            try expect(try await store.deleteAccount(id: "account-alice", audit: Self.event), "deleted")
            try expect(try await found("s2", "bank", 0) == nil, "gone with the account")
            try expect(try await own("account-bob") == [], "swept, too")
        },
        ConformanceCheck("of more receipts than an account keeps the oldest go, and no other account's") { store in
            try await enrol(store)
            try await enrol(store, "bob")
            try await Self.keep(Self.receipt("b1", account: "account-bob"), rows: 2, store)
            for session in ["s1", "s2", "s3"] { try await Self.keep(Self.receipt(session), rows: 2, store) }
            let own = try await store.receipts(accountID: "account-alice", at: Self.start, limit: 9).map(\.session)
            try expect(own == ["s3", "s2"], "the two newest")
            let others = try await store.receipts(accountID: "account-bob", at: Self.start, limit: 9)
            try expect(others.map(\.session) == ["b1"], "the other's")
        },
        ConformanceCheck("a step that fails leaves no receipt") { store in
            try await enrol(store)
            try await Self.keep(Self.receipt("s1"), store)
            let ceremony = CeremonyRecord(
                id: "s2", kind: .transaction, clientID: "bank", accountID: "account-alice", createdAt: Self.start,
                expiresAt: Self.start + .seconds(60), detail: CeremonyDetail())
            try await store.createCeremony(ceremony, tokens: [], audit: nil)
            try await expectError(StoreError(.notFound, "")) {
                _ = try await store.change(.id("s2")) { _ in throw StoreError(.notFound, "the judge's own") }
            }
            try expect(try await store.receipt(session: "s2", clientID: "bank", at: Self.start) == nil, "none")
        },
    ]

    private static func key(_ face: SigningKeyRecord.Face, seconds: Int = 0) throws -> SigningKeyRecord {
        let kept = try SigningKey.make(.es256, random: .system)
        let name = try SigningKey(kept: kept, algorithm: .es256, keyID: nil).keyID
        return SigningKeyRecord(
            id: name ?? "", algorithm: .es256, privateKey: kept, face: face,
            createdAt: Self.start + .seconds(seconds), retiredAt: nil)
    }

    private static let keys: [ConformanceCheck<Subject>] = [
        ConformanceCheck("the public keys of receipts stay with their times, after the private keys are forgotten") {
            store in
            let signIn = try Self.key(.openID)
            _ = try await store.providerKeys(
                orFirst: ProviderKeys(subjectSecret: SecretBytes([1]), signingKeys: [signIn]))
            try expect(try await store.receiptKeys().isEmpty, "a key of another face is none")
            let (first, second) = (try Self.key(.receipt, seconds: 1), try Self.key(.receipt, seconds: 50))
            for _ in 0..<2 { _ = try await store.addSigningKey(first, audit: Self.event) }
            _ = try await store.rotateSigningKeys(
                to: [second, try Self.key(.openID, seconds: 50)], replacing: nil, from: Self.start + .seconds(60),
                forgettingRetiredBefore: Self.start, audit: Self.event)
            let third = try Self.key(.receipt, seconds: 70)
            let keys = try await store.rotateSigningKeys(
                to: [third], replacing: nil, from: Self.start + .seconds(80),
                forgettingRetiredBefore: Self.start + .seconds(90), audit: Self.event)
            try expect(!keys.signingKeys.contains { [first.id, second.id].contains($0.id) }, "forgotten")
            let kept = try await store.receiptKeys()
            try expect(kept.map(\.id) == [third.id, second.id, first.id], "the newest first: \(kept)")
            try expect(
                kept.map(\.signsFrom) == [80, 60, 1].map { Self.start + .seconds($0) }
                    && kept.map(\.signsUntil) == [nil, Self.start + .seconds(80), Self.start + .seconds(60)],
                "each until the next: \(kept)")
            try expect(kept.allSatisfy { $0.seenSince == nil }, "seen by nobody")
            guard case .object(let json) = try JSON(parsing: Array(kept[2].publicKey.utf8)) else {
                throw ConformanceFailure(description: "no key")
            }
            try expect(try json.string("kid") == first.id && json["d"] == nil, "public, by its name")
        },
        ConformanceCheck("keys that others may have seen are marked, with the earliest moment, and new keys are not") {
            store in
            let first = try Self.key(.receipt)
            _ = try await store.providerKeys(
                orFirst: ProviderKeys(subjectSecret: SecretBytes([1]), signingKeys: [try Self.key(.openID), first]))
            let second = try Self.key(.receipt, seconds: 50)
            _ = try await store.rotateSigningKeys(
                to: [second], replacing: nil, from: Self.start + .seconds(60),
                forgettingRetiredBefore: Self.start, seenSince: Self.start + .seconds(40), audit: Self.event)
            var seen = try await store.receiptKeys()
            try expect(seen.map(\.seenSince) == [nil, Self.start + .seconds(40)], "\(seen)")
            let third = try Self.key(.receipt, seconds: 70)
            _ = try await store.rotateSigningKeys(
                to: [third], replacing: nil, from: Self.start + .seconds(80),
                forgettingRetiredBefore: Self.start, seenSince: Self.start + .seconds(70), audit: Self.event)
            seen = try await store.receiptKeys()
            try expect(
                seen.map(\.seenSince) == [nil, Self.start + .seconds(70), Self.start + .seconds(40)], "\(seen)")
        },
    ]
}
