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
                .step(if: try !shares.turns(of: db.clientsToBeTold(at: moment)).isEmpty, otherwise: [])
            }
        ) { db, _ in
            var taken: [ClientDelivery] = []
            for turn in shares.turns(of: try db.clientsToBeTold(at: moment)) {
                guard let limit = shares.limit(of: turn, beside: taken.count) else { break }
                taken += try db.takeDeliveries(of: turn.client, at: moment, lease: lease, limit: limit)
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
            try db.appendAudit(audit, if: db.hasChangedRows, sealing)
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

extension SQLConnection {
    /// Ends the sessions chosen by a condition on `oauth_session`. Leaves a message for each client of these sessions
    /// that wants to be notified. Returns the number of sessions.
    ///
    /// Every end of a session goes through this function, except for two ends that nobody causes: the session has run
    /// out, or its own person has signed in anew in its browser.
    func endSessions(where condition: String, _ arguments: SQLValues, at moment: Timestamp) throws -> Int {
        let ended = try self.texts(
            .composed("SELECT oauth_session.id FROM oauth_session WHERE \(condition)"), arguments)
        for id in ended {
            try self.run(
                """
                INSERT INTO oauth_delivery (client, kind, matter, subject, created_at, due_at, attempts)
                SELECT service.client, ?3, oauth_session.id, oauth_subject.subject, ?2, ?2, 0
                FROM oauth_session_service AS service
                JOIN oauth_session ON oauth_session.id = service.session
                JOIN oauth_client ON oauth_client.id = service.client AND backchannel_logout_uri IS NOT NULL
                JOIN oauth_subject ON oauth_subject.account = oauth_session.account
                    AND oauth_subject.client = service.client
                WHERE service.session = ?1
                """, [id, moment.milliseconds, ClientDelivery.Kind.logout.rawValue])
            try self.run("DELETE FROM oauth_session WHERE id = ?", [id])
        }
        return ended.count
    }

    /// Returns the clients with due deliveries, the client with the longest wait first.
    fileprivate func clientsToBeTold(at moment: Timestamp) throws -> [String] {
        try self.texts(
            """
            SELECT client FROM oauth_delivery WHERE due_at <= ? GROUP BY client
            ORDER BY min(due_at), client
            """, [moment.milliseconds])
    }

    /// Returns the addresses that a client has for deliveries.
    private func deliveryAddresses(ofClient id: String) throws -> [ClientDelivery.Kind: String] {
        let addresses = try self.row(
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
    fileprivate func takeDeliveries(of client: String, at moment: Timestamp, lease: Timestamp, limit: Int) throws
        -> [ClientDelivery]
    {
        let addresses = try self.deliveryAddresses(ofClient: client)
        for kind in ClientDelivery.unwanted(among: addresses) {
            try self.run("DELETE FROM oauth_delivery WHERE client = ? AND kind = ?", [client, kind.rawValue])
        }
        return try self.rows(
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
