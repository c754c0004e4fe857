public import Records
public import _Primitives

extension SQLStore: ReplayStore {
    public func takeOnce(digest: [UInt8], until end: Timestamp) async throws -> Bool {
        let step = Step("statement.take-once", guards: [], isolation: .readCommitted)
        // A party that has seen a statement can send the statement again without end. A reader answers without the
        // writer.
        return try await self.step(
            step,
            screenedBy: { db -> Screening<Void, Bool> in
                let isNew = try db.isTrue("SELECT NOT EXISTS (SELECT 1 FROM oauth_shown WHERE digest = ?)", [digest])
                return .step(if: isNew, otherwise: false)
            }
        ) { db, _ in
            try db.run(
                "INSERT INTO oauth_shown (digest, expires_at) VALUES (?, ?) ON CONFLICT DO NOTHING",
                [digest, end.milliseconds])
            return db.changesCount > 0
        }
    }
}
