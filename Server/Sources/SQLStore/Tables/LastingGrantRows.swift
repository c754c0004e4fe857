import Records
import Sealing
import _Primitives

/// The rows of grants that outlast a session, in the order of their beginnings.
struct LastingGrantRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Lets the grant of a beginning family last within the present step, as the family says. Ends the oldest grants if
    /// too many exist. Throws ``StoreError/Code/notFound`` before the first write if the grant would end with them.
    func letLast(
        _ grant: RefreshFamilyStart.Grant, by start: RefreshFamilyStart, at moment: Timestamp, _ sealing: Sealing
    ) throws {
        let place = try self.place(for: start, of: grant)
        try self.db.run(
            """
            UPDATE oauth_grant SET expires_at = ?, key_thumbprint = ?, lasting_since = ?, lasting_number = ?
            WHERE id = ?
            """,
            [start.end.milliseconds, start.keyThumbprint, moment.milliseconds, place.number, start.grant])
        try AuthenticationRows(self.db).keepAuthentication(grant.authentication, until: start.end)
        try self.end(place.displaced, by: start, sealing)
    }

    /// Returns the place of a grant whose family begins among the lasting grants of its client and its person. Throws
    /// ``StoreError/Code/notFound`` if the grant would end at once: no grant may last, or the grant came of a displaced
    /// grant.
    ///
    /// The first and the last number show that the grants are few enough: the limit of the query is 0 then, and the
    /// query looks at no grant. Only if too many could exist, the grants are counted, in the index alone and up to the
    /// number of grants that may stay.
    func place(for start: RefreshFamilyStart, of grant: RefreshFamilyStart.Grant) throws -> LastingGrantPlace {
        let numbers = try self.lastingNumbers(client: grant.client, subject: grant.subject).withNext
        let displaced = try self.db.rows(
            """
            SELECT oauth_grant.id AS id, authentication, session, device_secret, origin, account FROM oauth_grant
            JOIN oauth_authentication ON oauth_authentication.id = authentication
            WHERE oauth_grant.id IN (
                SELECT own.id FROM oauth_grant AS own
                WHERE own.client = ? AND own.subject = ? AND own.lasting_number IS NOT NULL
                ORDER BY own.lasting_number DESC LIMIT ? OFFSET ?)
            ORDER BY lasting_number DESC
            """, [grant.client, grant.subject, numbers.surplus(over: start.most), start.mostOthers]
        ) { row in LastingGrantPlace.Displaced(grant: try EndedGrant(row), account: try row.text("account")) }
        let place = LastingGrantPlace(number: numbers.newest, displaced: displaced)
        try GrantRequirement.room.check(!place.ends(grant, most: start.most))
        return place
    }

    /// Returns the first and the last number of a client's and a person's lasting grants. Cost: two look-ups in the
    /// index.
    func lastingNumbers(client: String, subject: String) throws -> LastingGrantNumbers {
        // Each subquery alone is a look-up. A single SELECT of both values would read all rows between them.
        try self.db.row(
            """
            SELECT coalesce((SELECT min(lasting_number) FROM oauth_grant
                    WHERE client = ?1 AND subject = ?2 AND lasting_number IS NOT NULL), 0) AS oldest,
                coalesce((SELECT max(lasting_number) FROM oauth_grant
                    WHERE client = ?1 AND subject = ?2 AND lasting_number IS NOT NULL), 0) AS newest
            """, [client, subject]
        ).map { LastingGrantNumbers(oldest: try $0.integer("oldest"), newest: try $0.integer("newest")) }
            ?? LastingGrantNumbers.none
    }

    /// Ends the lasting grants that a beginning family displaces, with an event for each.
    func end(_ displaced: [LastingGrantPlace.Displaced], by start: RefreshFamilyStart, _ sealing: Sealing) throws {
        for ended in displaced {
            _ = try GrantEnds(self.db).endGrants(where: "id = ?", [ended.grant.id])
            var event = start.displaced
            (event.accountID, event.detail) = (ended.account, ended.grant.id)
            try AuditRows(self.db).appendAudit(event, sealing)
        }
    }
}
