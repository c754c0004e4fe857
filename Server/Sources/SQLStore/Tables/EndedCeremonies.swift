import Records
import _Primitives

/// The ends of ceremonies, with the messages to the clients that wait for the ends.
struct EndedCeremonies {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Ends ceremonies that a condition selects. Clients are told of the requests without a browser that end unanswered.
    func endCeremonies(
        as outcome: CeremonyRecord.Outcome, where condition: String, _ values: SQLValues, at moment: Timestamp
    ) throws {
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
