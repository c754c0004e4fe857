public import Records
public import _Primitives

extension SQLStore: OutboxStore {
    public func takeMessages(
        to channel: OutboxChannel, at moment: Timestamp, lease: Timestamp, shares: OutboxShares
    ) async throws -> [OutboxMessage] {
        // Two takers at once would find the same messages due. The later change of a message fails, and that taker
        // looks again.
        let step = Step("outbox.take", guards: [], isolation: .serializable)
        // Nearly always nothing is due, and a reader answers without the writer.
        return try await self.step(
            step,
            screenedBy: { db -> Screening<Void, [OutboxMessage]> in
                .step(
                    if: try !shares.turns(of: MessageRows(db).lanes(to: channel, at: moment)).isEmpty, otherwise: [])
            }
        ) { [sealing] db, _ in
            var taken: [OutboxMessage] = []
            for turn in shares.turns(of: try MessageRows(db).lanes(to: channel, at: moment)) {
                guard let limit = shares.limit(of: turn, beside: taken.count) else { break }
                taken += try MessageRows(db).take(
                    from: turn.lane, to: channel, at: moment, lease: lease, limit: limit, sealing)
            }
            return taken
        }
    }

    public func removeMessage(_ message: OutboxMessage, audit: AuditEvent?) async throws {
        // A step that changes an offer writes the whole row, and would put back a code that is removed meanwhile.
        let step = Step(
            "outbox.remove", guards: [.exclusive(.offer, id: message.offerID)], isolation: .readCommitted)
        try await self.step(step) { [sealing] db in
            try MessageRows(db).remove(message, takenOnly: audit.map { _ in message.attempt })
            try AuditRows(db).appendAudit(audit, if: db.hasChangedRows, sealing)
        }
    }

    public func postponeMessage(_ message: OutboxMessage, until moment: Timestamp) async throws {
        try await self.step(Step("outbox.postpone", guards: [], isolation: .readCommitted)) { db in
            try MessageRows(db).postpone(message, until: moment)
        }
    }

    public func waitingMessages(to channel: OutboxChannel) async throws -> WaitingMessages {
        try await self.read { db in try MessageRows(db).waiting(to: channel) }
    }
}
