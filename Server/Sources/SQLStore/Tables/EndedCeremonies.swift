import Records
import Sealing
import _Primitives

/// The ends of ceremonies, with the messages to the clients that wait for the ends.
struct EndedCeremonies {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Ends ceremonies that a condition selects. Clients are told of the requests without a browser that end unanswered,
    /// and of the ends of sessions that they dispatched.
    func endCeremonies(
        as outcome: CeremonyRecord.Outcome, where condition: String, _ values: SQLValues, at moment: Timestamp,
        _ sealing: Sealing
    ) throws {
        try self.deliverEnds(as: outcome, where: condition, values, at: moment, sealing)
        try self.db.run(
            .composed(
                """
                \(Self.answersOfRequests) AND id IN (
                    SELECT reference FROM ceremony WHERE \(CeremonyRecord.isOpen) AND (\(condition)))
                """), Self.delivery(at: moment) + values)
        try self.db.run(
            .composed(
                "UPDATE ceremony SET phase = ?, outcome = ?, changed_at = ?, progress = NULL WHERE \(condition)"),
            [CeremonyRecord.Phase.ended.rawValue, outcome.rawValue, moment.milliseconds] + values)
    }

    /// Has the client of a request without a browser told that the request has its answer. Other references, and
    /// requests whose client asks by itself, have no delivery.
    func deliverAnswer(ofRequest id: String, at moment: Timestamp) throws {
        try self.db.run(Self.answerOfRequest, Self.delivery(at: moment) + [id])
    }

    /// Has the back end of a session told that the session has ended, if the client has an address for such messages.
    func deliverEnd(of ceremony: CeremonyRecord, to client: String, _ sealing: Sealing) throws {
        try self.db.row("SELECT 1 FROM oauth_client WHERE id = ? AND status_uri IS NOT NULL", [client]).map { _ in
            try MessageRows(self.db).leave(statement: OutboxDraft(endOf: ceremony, to: client), sealing)
        }
    }

    /// Has the back ends of the open sessions that a condition selects told that the sessions end as `outcome`.
    func deliverEnds(
        as outcome: CeremonyRecord.Outcome, where condition: String, _ values: SQLValues, at moment: Timestamp,
        _ sealing: Sealing
    ) throws {
        let open = try self.db.rows(
            .composed(
                """
                SELECT \(CeremonyColumn.selection) FROM ceremony
                WHERE \(CeremonyRecord.isOpen) AND reference IS NULL AND client_id IN (
                    SELECT oauth_client.id FROM oauth_client WHERE status_uri IS NOT NULL) AND (\(condition))
                """), values
        ) { try CeremonyRecord($0, sealing) }
        for before in open {
            let ceremony = before.ended(as: outcome, at: moment)
            try ceremony.clientOfEnd(before: before).map { try self.deliverEnd(of: ceremony, to: $0, sealing) }
        }
    }

    private static let answersOfRequests = """
        INSERT INTO message (channel, lane, turn, subject, matter, created_at, due_at, attempts)
        SELECT ?, client, 0, ?, id, ?, ?, 0 FROM oauth_backchannel_request WHERE notification IS NOT NULL
        """

    private static let answerOfRequest = SQLText.once("\(EndedCeremonies.answersOfRequests) AND id = ?")

    /// The values of a delivery that is due at once.
    private static func delivery(at moment: Timestamp) -> SQLValues {
        [
            OutboxChannel.client.rawValue, ClientDelivery.Kind.answer.rawValue, moment.milliseconds,
            moment.milliseconds,
        ]
    }
}
