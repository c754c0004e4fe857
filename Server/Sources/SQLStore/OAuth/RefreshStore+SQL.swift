public import Records
import Sealing
public import _Primitives

private enum RefreshColumn: Int, TableColumn {
    static let table = "oauth_refresh"
    static let selection = Self.selected()
    static let insertion = Self.inserted()

    case grantID, head, parent, parentUsedAt, expiresAt, usedAt, step, grandparent
}

extension SQLStore: RefreshStore {
    public func beginFamily(_ start: RefreshFamilyStart, at moment: Timestamp) async throws -> Bool {
        let step = Step(
            "token.begin-refresh",
            guards: [
                // The step counts the lasting grants of the person.
                .exclusive(.account, where: .accountOfGrant, [start.grant]), .exclusive(.grant, id: start.grant),
            ], isolation: .readCommitted)
        let isAtHead: Bool
        do {
            isAtHead = try await self.step(step) { [sealing] db in try db.begin(start, at: moment, sealing) }
        } catch let error as StoreError where error.code == .notFound {
            // The grant came of a grant that would end for it: the step has changed nothing.
            return false
        }
        self.handedOutTokens.insert(start.handedOut(isAtHead: isAtHead))
        return isAtHead
    }

    public func refresh(
        _ exchange: RefreshExchange, at moment: Timestamp,
        judge: @escaping @Sendable (StandingGrant) throws -> Void
    ) async throws -> RefreshOutcome {
        // Of two uses of a token at once, one is the first. The lock of an account ends the account's grants, so the
        // grant stands for the account as well. A session or a client that ends meanwhile leaves the new token without
        // effect, because every look at a grant looks at both.
        let step = Step(
            "token.rotate-refresh", guards: [.exclusive(.grant, id: exchange.grant)], isolation: .readCommitted)
        let outcome: RefreshOutcome
        if self.handedOutTokens.remove(exchange.presented) {
            outcome = try await self.step(step) { [sealing] db in try db.refresh(exchange, at: moment, sealing, judge) }
        } else {
            // A client can present a token that ended long ago or was used before. A reader looks the token up, and
            // answers if nothing changes.
            outcome = try await self.step(
                step,
                screenedBy: { [sealing] db -> Screening<Void, RefreshOutcome> in
                    let held = try db.family(ofGrant: exchange.grant, at: moment, sealing)
                    let step = try RefreshStep(exchange, of: held, at: moment, judge: judge)
                    return Screening(answer: step.answerWithoutWriting)
                }
            ) { [sealing] db, _ in try db.refresh(exchange, at: moment, sealing, judge) }
        }
        self.handedOutTokens.insert(outcome.handedOut(by: exchange))
        return outcome
    }

    public func grant(_ id: String, token: String?, at moment: Timestamp) async throws -> StandingGrant? {
        try await self.grant(id, tokens: token.map { [$0] } ?? [], at: moment)
    }

    public func deleteGrant(_ id: String, client: String, audit: AuditEvent) async throws -> Bool {
        let step = Step(
            "grant.end",
            guards: [
                .shared(.account, where: .accountOfGrant, [id]),
                // The session may end with the last of its grants.
                .exclusive(.session, where: .sessionOfGrant, [id]), .exclusive(.grant, id: id),
            ], isolation: .readCommitted)
        return try await self.step(
            step,
            screenedBy: { db -> Screening<Void, Bool> in
                Screening.step(if: try db.isGrant(id, ofClient: client), otherwise: false)
            }
        ) { [sealing] db, _ in
            let session = try db.text(
                .composed("SELECT session FROM oauth_grant WHERE \(SQLConnection.isGrantOfClient)"), [id, client])
            let ended = EndedRows(try db.endGrants(where: SQLConnection.isGrantOfClient, [id, client]), event: audit)
            try db.endSpentSessions([session].compactMap(\.self), at: audit.at)
            try db.record(ended.event, sealing)
            return ended.isAny
        }
    }
}

extension RefreshFamily {
    fileprivate init(_ row: SQLRow) throws {
        self.init(
            head: try row.bytes(RefreshColumn.head), headEndsAt: try row.moment(RefreshColumn.expiresAt),
            parent: try row.optionalBytes(RefreshColumn.parent).flatMap { digest in
                try row.optionalMoment(RefreshColumn.parentUsedAt).map { Used(digest: digest, firstUsedAt: $0) }
            },
            step: try row.optionalBytes(RefreshColumn.step),
            grandparent: try row.optionalBytes(RefreshColumn.grandparent))
    }
}

extension SQLConnection {
    /// A condition on `oauth_grant`: the grant `?1` belongs to the client `?2`.
    fileprivate static let isGrantOfClient = "id = ?1 AND client = ?2"

    private static let familyQuery = SQLText.once(
        "SELECT \(RefreshColumn.selection) FROM oauth_refresh WHERE grant_id = ?1 AND expires_at > ?2")

    /// Returns the family of a grant, with the grant; `nil` if the head of the family has ended at `moment`, or if the
    /// grant is not valid then (``standingGrant(_:at:_:)``). The function does not look at the grant's own end.
    fileprivate func family(ofGrant id: String, at moment: Timestamp, _ sealing: Sealing) throws
        -> (family: RefreshFamily, standing: StandingGrant)?
    {
        try self.row(Self.familyQuery, [id, moment.milliseconds]).flatMap { row in
            try self.standingGrant(id, at: moment, sealing).map { (try RefreshFamily(row), $0) }
        }
    }

    /// Begins a family within the present step. Returns `true` if the grant exists, and its family is at this head.
    func begin(_ start: RefreshFamilyStart, at moment: Timestamp, _ sealing: Sealing) throws -> Bool {
        let grant = try self.row(
            """
            SELECT authentication, client, subject, head FROM oauth_grant
            LEFT JOIN oauth_refresh ON grant_id = id WHERE id = ?
            """, [start.grant]
        ).map { row in
            RefreshFamilyStart.Grant(
                authentication: try row.text("authentication"), client: try row.text("client"),
                subject: try row.text("subject"), head: try row.optionalBytes("head"))
        }
        switch start.verdict(on: grant) {
        case .answered(let isAtHead): return isAtHead
        case .begins(let grant):
            try self.letLast(grant, by: start, at: moment, sealing)
            return true
        }
    }

    /// Keeps a grant together with its beginning family, within the present step. The lifetime is written with the
    /// grant, not by a second update. Ends the oldest lasting grants of the client and the person if too many exist.
    func insert(
        _ grant: GrantRecord, redirectURI: String, beginning start: RefreshFamilyStart, at moment: Timestamp,
        _ sealing: Sealing
    ) throws {
        let numbers = try self.lastingNumbers(client: grant.client, subject: grant.subject).withNext
        try self.insert(
            grant, redirectURI: redirectURI,
            lasting: GrantBeginning(family: start, at: moment, number: numbers.newest), sealing)
        try self.keepAuthentication(grant.authentication, until: start.end)
        try self.endDisplaced(by: start, client: grant.client, subject: grant.subject, numbers, sealing)
        try self.insertFamily(start)
    }

    /// Keeps the rows of a beginning family within the present step.
    func insertFamily(_ start: RefreshFamilyStart) throws {
        try self.insert(
            [
                RefreshColumn.grantID: start.grant, .head: start.head,
                .expiresAt: start.headEndsAt.milliseconds,
            ],
            by: RefreshColumn.insertion)
    }

    fileprivate func refresh(
        _ exchange: RefreshExchange, at moment: Timestamp, _ sealing: Sealing, _ judge: (StandingGrant) throws -> Void
    ) throws -> RefreshOutcome {
        let held = try self.family(ofGrant: exchange.grant, at: moment, sealing)
        switch try RefreshStep(exchange, of: held, at: moment, judge: judge) {
        case .answered(let outcome): return outcome
        case .rotated(let family, let outcome):
            try self.run(
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
            try self.run(
                "UPDATE oauth_refresh SET expires_at = ?, used_at = ? WHERE grant_id = ?",
                [family.headEndsAt.milliseconds, moment.milliseconds, exchange.grant])
            return outcome
        case .reused(let event):
            _ = try self.endGrants(where: "id = ?", [exchange.grant])
            try self.appendAudit(event, sealing)
            return .reused
        }
    }

    fileprivate func isGrant(_ id: String, ofClient client: String) throws -> Bool {
        try self.isTrue(
            .composed("SELECT EXISTS (SELECT 1 FROM oauth_grant WHERE \(Self.isGrantOfClient))"), [id, client])
    }
}
