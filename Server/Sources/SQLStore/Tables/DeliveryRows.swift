import Records
import _Primitives

/// The rows of messages that wait for clients.
struct DeliveryRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Returns the clients with due deliveries, the client with the longest wait first.
    func clientsToBeTold(at moment: Timestamp) throws -> [String] {
        try self.db.texts(
            """
            SELECT client FROM oauth_delivery WHERE due_at <= ? GROUP BY client
            ORDER BY min(due_at), client
            """, [moment.milliseconds])
    }

    /// Returns the addresses that a client has for deliveries.
    private func deliveryAddresses(ofClient id: String) throws -> [ClientDelivery.Kind: String] {
        let addresses = try self.db.row(
            "SELECT backchannel_logout_uri, backchannel_address FROM oauth_client WHERE id = ?", [id]
        ).map { row in
            [
                ClientDelivery.Kind.logout: try row.optionalText("backchannel_logout_uri"),
                .answer: try row.optionalText("backchannel_address"),
            ]
        }
        return (addresses ?? [:]).compactMapValues(\.self)
    }

    /// Takes the due deliveries to a client until the lease ends, and deletes the deliveries that the client does not
    /// want any more.
    func takeDeliveries(of client: String, at moment: Timestamp, lease: Timestamp, limit: Int) throws
        -> [ClientDelivery]
    {
        let addresses = try self.deliveryAddresses(ofClient: client)
        for kind in ClientDelivery.unwanted(among: addresses) {
            try self.db.run("DELETE FROM oauth_delivery WHERE client = ? AND kind = ?", [client, kind.rawValue])
        }
        return try self.db.rows(
            """
            UPDATE oauth_delivery SET due_at = ?3, attempts = attempts + 1 WHERE number IN (
                SELECT number FROM oauth_delivery WHERE client = ?1 AND due_at <= ?2
                ORDER BY due_at, number LIMIT ?4)
            RETURNING number, kind, matter, subject, attempts, created_at
            """, [client, moment.milliseconds, lease.milliseconds, limit]
        ) { row in
            let (kind, address) = try ClientDelivery.kind(kept: row.integer("kind"), among: addresses)
            return ClientDelivery(
                number: try row.integer("number"), client: client, address: address,
                content: try ClientDelivery.Content(
                    kind, matter: row.text("matter"), subject: row.optionalText("subject")),
                attempt: try row.integer("attempts"), createdAt: try row.moment("created_at"))
        }.sorted { $0.number < $1.number }
    }
}
