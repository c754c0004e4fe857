import Records
import Sealing
import _Primitives

/// The rows of grants that outlast a session, in the order of their beginnings.
struct LastingGrantRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Begins a family within the present step: makes its grant last as the family says, and ends the oldest grants if
    /// too many exist. Throws ``StoreError/Code/notFound`` if the grant would end with them.
    func letLast(
        _ grant: RefreshFamilyStart.Grant, by start: RefreshFamilyStart, at moment: Timestamp, _ sealing: Sealing
    ) throws {
        try self.db.run(
            """
            UPDATE oauth_grant SET expires_at = ?1, key_thumbprint = ?2, lasting_since = ?3, lasting_number = (
                SELECT coalesce(max(other.lasting_number), 0) + 1 FROM oauth_grant AS other
                WHERE other.client = oauth_grant.client AND other.subject = oauth_grant.subject
                    AND other.lasting_number IS NOT NULL)
            WHERE id = ?4
            """, [start.end.milliseconds, start.keyThumbprint, moment.milliseconds, start.grant])
        try AuthenticationRows(self.db).keepAuthentication(grant.authentication, until: start.end)
        let numbers = try self.lastingNumbers(client: grant.client, subject: grant.subject)
        try self.endDisplaced(by: start, client: grant.client, subject: grant.subject, numbers, sealing)
        try RefreshRows(self.db).insertFamily(start)
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

    /// Ends the oldest lasting grants of a client and a person, if too many exist. Throws
    /// ``StoreError/Code/notFound`` if the grant of the beginning family came of an oldest grant, and so ends as well.
    ///
    /// The first and the last number show that the grants are few enough: the limit of the query is 0 then, and the
    /// query looks at no grant. Only if too many could exist, the grants are counted, in the index alone and up to the
    /// number of grants that may stay.
    func endDisplaced(
        by start: RefreshFamilyStart, client: String, subject: String, _ numbers: LastingGrantNumbers,
        _ sealing: Sealing
    ) throws {
        let displaced = try self.db.rows(
            """
            SELECT oauth_grant.id AS id, account FROM oauth_grant
            JOIN oauth_authentication ON oauth_authentication.id = authentication
            WHERE oauth_grant.id IN (
                SELECT own.id FROM oauth_grant AS own
                WHERE own.client = ? AND own.subject = ? AND own.lasting_number IS NOT NULL
                ORDER BY own.lasting_number DESC LIMIT ? OFFSET ?)
            ORDER BY lasting_number DESC
            """, [client, subject, numbers.surplus(over: start.most), start.most]
        ) { (id: try $0.text("id"), account: try $0.text("account")) }
        for (id, account) in displaced {
            _ = try GrantEnds(self.db).endGrants(where: "id = ?", [id])
            var event = start.displaced
            (event.accountID, event.detail) = (account, id)
            try AuditRows(self.db).appendAudit(event, sealing)
            try GrantRequirement.room.check(IdentifiedRows(self.db).exists("oauth_grant", id: start.grant))
        }
    }
}
