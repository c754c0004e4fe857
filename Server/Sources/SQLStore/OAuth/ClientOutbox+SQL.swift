public import Records
public import _Primitives

extension SQLStore: ClientOutbox {
    public func takeDeliveries(
        at moment: Timestamp, lease: Timestamp, share: Int, most: Int, underWay: [ExactText: Int]
    ) async throws -> [ClientDelivery] {
        let shares = DeliveryShares(share: share, most: most, underWay: underWay)
        // Two takers at once would find the same deliveries due. The later change of a delivery fails, and that taker
        // looks again.
        let step = Step("delivery.take", guards: [], isolation: .serializable)
        // Nearly always nothing is due, and a reader answers without the writer.
        return try await self.step(
            step,
            screenedBy: { db -> Screening<Void, [ClientDelivery]> in
                .step(if: try !shares.turns(of: DeliveryRows(db).clientsToBeTold(at: moment)).isEmpty, otherwise: [])
            }
        ) { db, _ in
            var taken: [ClientDelivery] = []
            for turn in shares.turns(of: try DeliveryRows(db).clientsToBeTold(at: moment)) {
                guard let limit = shares.limit(of: turn, beside: taken.count) else { break }
                taken += try DeliveryRows(db).takeDeliveries(of: turn.client, at: moment, lease: lease, limit: limit)
            }
            return taken
        }
    }

    public func removeDelivery(_ delivery: ClientDelivery, audit: AuditEvent?) async throws {
        try await self.step(Step("delivery.remove", guards: [], isolation: .readCommitted)) { [sealing] db in
            // SQLite gives a number again after the newest delivery was deleted.
            try db.run(
                "DELETE FROM oauth_delivery WHERE number = ? AND client = ? AND matter = ?",
                [delivery.number, delivery.client, delivery.content.matter])
            try AuditRows(db).appendAudit(audit, if: db.hasChangedRows, sealing)
        }
    }

    public func postponeDelivery(_ delivery: ClientDelivery, until moment: Timestamp) async throws {
        try await self.step(Step("delivery.postpone", guards: [], isolation: .readCommitted)) { db in
            try db.run(
                """
                UPDATE oauth_delivery SET due_at = ?
                WHERE number = ? AND client = ? AND matter = ? AND attempts = ?
                """,
                [
                    moment.milliseconds, delivery.number, delivery.client, delivery.content.matter, delivery.attempt,
                ])
        }
    }

    public func waitingDeliveries() async throws -> WaitingDeliveries {
        try await self.read { db in
            try db.row("SELECT count(*) AS count, min(created_at) AS oldest FROM oauth_delivery").map { row in
                WaitingDeliveries(count: try row.integer("count"), oldest: try row.optionalMoment("oldest"))
            } ?? WaitingDeliveries(count: 0, oldest: nil)
        }
    }
}
