public import Records
import Sealing
public import _Primitives

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
            isAtHead = try await self.step(step) { [sealing] db in try RefreshRows(db).begin(start, at: moment, sealing)
            }
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
            outcome = try await self.step(step) { [sealing] db in
                try RefreshRows(db).refresh(exchange, at: moment, sealing, judge)
            }
        } else {
            // A client can present a token that ended long ago or was used before. A reader looks the token up, and
            // answers if nothing changes.
            outcome = try await self.step(
                step,
                screenedBy: { [sealing] db -> Screening<Void, RefreshOutcome> in
                    let held = try RefreshRows(db).family(ofGrant: exchange.grant, at: moment, sealing)
                    let step = try RefreshStep(exchange, of: held, at: moment, judge: judge)
                    return Screening(answer: step.answerWithoutWriting)
                }
            ) { [sealing] db, _ in try RefreshRows(db).refresh(exchange, at: moment, sealing, judge) }
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
                Screening.step(if: try GrantRows(db).isGrant(id, ofClient: client), otherwise: false)
            }
        ) { [sealing] db, _ in
            let session = try db.text(
                .composed("SELECT session FROM oauth_grant WHERE \(GrantRows.isGrantOfClient)"), [id, client])
            let ended = EndedRows(
                try GrantEnds(db).endGrants(where: GrantRows.isGrantOfClient, [id, client]), event: audit)
            try SessionRows(db).endSpentSessions([session].compactMap(\.self), at: audit.at)
            try AuditRows(db).record(ended.event, sealing)
            return ended.isAny
        }
    }
}
