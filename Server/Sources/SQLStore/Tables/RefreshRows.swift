import Records
import Sealing
import _Primitives

private enum RefreshColumn: Int, TableColumn {
    static let table = "oauth_refresh"
    static let selection = Self.selected()
    static let insertion = Self.inserted()

    case grantID, head, parent, parentUsedAt, expiresAt, usedAt, step, grandparent
}

/// The rows of families of refresh tokens.
struct RefreshRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    private static let familyQuery = SQLText.once(
        "SELECT \(RefreshColumn.selection) FROM oauth_refresh WHERE grant_id = ?1 AND expires_at > ?2")

    /// Returns the family of a grant, with the grant; `nil` if the head of the family has ended at `moment`, or if the
    /// grant is not valid then (``GrantRows/standingGrant(_:at:_:)``). The function does not look at the grant's own
    /// end.
    func family(ofGrant id: String, at moment: Timestamp, _ sealing: Sealing) throws
        -> (family: RefreshFamily, standing: StandingGrant)?
    {
        try self.db.row(Self.familyQuery, [id, moment.milliseconds]).flatMap { row in
            try GrantRows(self.db).standingGrant(id, at: moment, sealing).map { (try RefreshFamily(row), $0) }
        }
    }

    /// Begins a family within the present step. Returns `true` if the grant exists, and its family is at this head.
    func begin(_ start: RefreshFamilyStart, at moment: Timestamp, _ sealing: Sealing) throws -> Bool {
        let grant = try self.db.row(
            """
            SELECT authentication, client, subject, device_secret, origin, head FROM oauth_grant
            LEFT JOIN oauth_refresh ON grant_id = id WHERE id = ?
            """, [start.grant]
        ).map { row in
            RefreshFamilyStart.Grant(
                authentication: try row.text("authentication"), client: try row.text("client"),
                subject: try row.text("subject"), deviceSecret: try row.optionalBytes("device_secret"),
                origin: try row.optionalText("origin"), head: try row.optionalBytes("head"))
        }
        switch start.verdict(on: grant) {
        case .answered(let isAtHead): return isAtHead
        case .begins(let grant):
            try LastingGrantRows(self.db).letLast(grant, by: start, at: moment, sealing)
            try self.insertFamily(start)
            return true
        }
    }

    /// Keeps a grant together with its beginning family, within the present step. The lifetime is written with the
    /// grant, not by a second update. Ends the oldest lasting grants of the client and the person if too many exist.
    /// Throws ``StoreError/Code/notFound`` before the first write if the grant would end with them.
    func insert(
        _ admitted: AdmittedGrant, _ grant: RefreshFamilyStart.Grant, redirectURI: String,
        beginning start: RefreshFamilyStart, at moment: Timestamp, _ sealing: Sealing
    ) throws {
        let place = try LastingGrantRows(self.db).place(for: start, of: grant)
        try GrantRows(self.db).insert(
            admitted, redirectURI: redirectURI,
            lasting: GrantBeginning(family: start, at: moment, number: place.number), sealing)
        try AuthenticationRows(self.db).keepAuthentication(grant.authentication, until: start.end)
        try LastingGrantRows(self.db).end(place.displaced, by: start, sealing)
        try self.insertFamily(start)
    }

    /// Keeps the rows of a beginning family within the present step.
    private func insertFamily(_ start: RefreshFamilyStart) throws {
        try self.db.insert(
            [
                RefreshColumn.grantID: start.grant, .head: start.head,
                .expiresAt: start.headEndsAt.milliseconds,
            ],
            by: RefreshColumn.insertion)
    }

    func refresh(
        _ exchange: RefreshExchange, at moment: Timestamp, _ sealing: Sealing, _ judge: (StandingGrant) throws -> Void
    ) throws -> RefreshOutcome {
        let held = try self.family(ofGrant: exchange.grant, at: moment, sealing)
        switch try RefreshStep(exchange, of: held, at: moment, judge: judge) {
        case .answered(let outcome): return outcome
        case .rotated(let family, let outcome):
            try self.db.run(
                """
                UPDATE oauth_refresh SET head = ?, parent = ?, parent_used_at = ?, expires_at = ?, used_at = ?, step = ?,
                    grandparent = ?
                WHERE grant_id = ?
                """,
                [
                    family.head, family.parent?.digest, family.parent?.firstUsedAt.milliseconds,
                    family.headEndsAt.milliseconds, moment.milliseconds, family.step, family.grandparent,
                    exchange.grant,
                ])
            return outcome
        case .prolonged(let family, let outcome):
            try self.db.run(
                "UPDATE oauth_refresh SET expires_at = ?, used_at = ? WHERE grant_id = ?",
                [family.headEndsAt.milliseconds, moment.milliseconds, exchange.grant])
            return outcome
        case .reused(let event):
            _ = try GrantEnds(self.db).endGrants(where: "id = ?", [exchange.grant])
            try AuditRows(self.db).appendAudit(event, sealing)
            return .reused
        }
    }
}

extension RefreshFamily {
    init(_ row: SQLRow) throws {
        self.init(
            head: try row.bytes(RefreshColumn.head), headEndsAt: try row.moment(RefreshColumn.expiresAt),
            parent: try row.optionalBytes(RefreshColumn.parent).flatMap { digest in
                try row.optionalMoment(RefreshColumn.parentUsedAt).map { Used(digest: digest, firstUsedAt: $0) }
            },
            step: try row.optionalBytes(RefreshColumn.step),
            grandparent: try row.optionalBytes(RefreshColumn.grandparent))
    }
}
