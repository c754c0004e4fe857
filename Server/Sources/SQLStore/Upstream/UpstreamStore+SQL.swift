public import Records
import Sealing
public import _Primitives

extension SQLStore: UpstreamStore {
    public func begin(_ trip: UpstreamTrip) async throws {
        let step = Step(
            "upstream.begin-trip",
            guards: [.shared(.provider, id: trip.provider), .exclusive(.request, id: trip.request)],
            isolation: .readCommitted)
        try await self.step(step) { [sealing] db in
            try UpstreamArrivalRows(db).requirePlaces(request: trip.request, provider: trip.provider)
            try UpstreamTripRows(db).forgetTrip(trip.request, trip.provider, isTaken: false)
            try UpstreamArrivalRows(db).forgetArrival(trip.request, trip.provider)
            let place = "\(trip.request) \(trip.provider)"
            try db.insert(
                [
                    TripColumn.place: place, .request: trip.request, .provider: trip.provider,
                    .stateDigest: trip.stateDigest,
                    .verifier: try trip.verifier.withBytes {
                        try sealing.seal($0, purpose: .tripVerifier, row: place)
                    },
                    .nonce: try trip.nonce.withBytes { try sealing.seal($0, purpose: .tripNonce, row: place) },
                    .isSecond: trip.isSecond, .begunAt: trip.begunAt.milliseconds,
                    .expiresAt: trip.expiresAt.milliseconds,
                ], by: TripColumn.insertion)
        }
    }

    public func requestOfTrip(
        stateDigest: [UInt8], provider: String, browserDigest: [UInt8], at moment: Timestamp
    ) async throws -> String? {
        try await self.read { [sealing] db in
            try UpstreamTripRows(db).trip(stateDigest, provider, of: browserDigest, at: moment, sealing)?.request
        }
    }

    public func takeTrip(
        stateDigest: [UInt8], provider: String, browserDigest: [UInt8], at moment: Timestamp
    ) async throws -> UpstreamTrip? {
        let step = Step(
            "upstream.take-trip",
            guards: [
                // Of two browsers with one state, the later finds the state spent.
                .exclusive(
                    .request,
                    where: "id = (SELECT request FROM upstream_trip WHERE state_digest = ? AND provider = ?)",
                    [stateDigest, provider])
            ], isolation: .readCommitted)
        // Anybody can send an invented state. A reader looks the state up, and answers if nothing has to be written.
        return try await self.step(
            step,
            screenedBy: { [sealing] db -> Screening<Void, UpstreamTrip?> in
                let trip = try UpstreamTripRows(db).trip(stateDigest, provider, of: browserDigest, at: moment, sealing)
                return .step(if: trip != nil, otherwise: nil)
            }
        ) { [sealing] db, _ in
            // Without a trip the statement finds no row, as NULL equals nothing.
            let trip = try UpstreamTripRows(db).trip(stateDigest, provider, of: browserDigest, at: moment, sealing)
            try db.run(
                "UPDATE upstream_trip SET state_digest = NULL WHERE state_digest = ? AND request = ?",
                [stateDigest, trip?.request])
            return trip
        }
    }

    public func account(linkedTo identity: UpstreamIdentity) async throws -> String? {
        try await self.read { [sealing] db in try UpstreamLinkRows(db).account(linkedTo: identity, sealing) }
    }

    public func arrive(
        _ arrival: UpstreamArrival, at moment: Timestamp, newcomer: UpstreamNewcomer?,
        told: @escaping @Sendable (_ account: String) -> (AuditEvent, NoticeRecord)
    ) async throws -> String? {
        // Constraints of the tables keep a newcomer's name and link from being another account's.
        let step = Step(
            "upstream.arrive",
            guards: [
                .shared(
                    .account,
                    where: """
                        id = (
                            SELECT account_id FROM upstream_link
                            WHERE provider = ? AND issuer = ? AND subject_code = ?)
                        """, arrival.identity.linkKey(self.sealing)),
                .shared(.provider, id: arrival.identity.provider), .exclusive(.request, id: arrival.request),
            ], isolation: .readCommitted)
        return try await self.step(step) { [sealing] db in
            try UpstreamArrivalRows(db).requirePlaces(request: arrival.request, provider: arrival.identity.provider)
            let linked = try UpstreamLinkRows(db).account(linkedTo: arrival.identity, sealing)
            switch ArrivedPerson(linkedTo: linked, newcomer: newcomer) {
            case .stranger:
                try UpstreamArrivalRows(db).replace(arrival, at: moment, sealing)
                return nil
            case .newcomer(let newcomer):
                try AccountRows(db).insert(newcomer.account, sealing)
                try UpstreamLinkRows(db).insert(newcomer.link, sealing)
                try AuditRows(db).record(newcomer.audit, sealing)
                return try UpstreamArrivalRows(db).finish(arrival, of: newcomer.account.id, at: moment, sealing, told)
            case .known(let account):
                try UpstreamArrivalRows(db).requireUnlocked(account)
                return try UpstreamArrivalRows(db).finish(arrival, of: account, at: moment, sealing, told)
            }
        }
    }

    public func wantLink(request: String, provider: String) async throws -> Bool {
        try await self.step(Step("upstream.want-link", guards: [], isolation: .readCommitted)) { db in
            try db.run(
                """
                UPDATE upstream_arrival SET is_wanted = 1 WHERE request = ? AND provider = ?
                """, [request, provider])
            return db.changesCount > 0
        }
    }

    public func wantedLink(request: String) async throws -> WantedLink? {
        try await self.read { db in
            try db.row(
                """
                SELECT provider, title, arrived_at FROM upstream_arrival
                JOIN upstream_provider ON upstream_provider.id = provider
                WHERE request = ? AND is_wanted = 1 ORDER BY arrived_at DESC, provider LIMIT 1
                """, [request]
            ).map { row in
                WantedLink(
                    provider: try row.text("provider"), title: try row.text("title"),
                    arrivedAt: try row.moment("arrived_at"))
            }
        }
    }

    public func forgetWantedLink(request: String, provider: String) async throws {
        try await self.step(Step("upstream.forget-wanted-link", guards: [], isolation: .readCommitted)) { db in
            try UpstreamArrivalRows(db).forgetWantedLink(request, provider)
        }
    }

    public func connect(
        request: String, provider: String, account: String, limit: Int,
        link: @escaping @Sendable (UpstreamIdentity) -> (UpstreamLink, AuditEvent, NoticeRecord)
    ) async throws -> LinkRefusal? {
        let step = Step(
            "upstream.connect",
            guards: [
                // The step counts the account's links.
                .exclusive(.account, id: account), .shared(.provider, id: provider), .exclusive(.request, id: request),
            ], isolation: .readCommitted)
        return try await self.step(step) { [sealing] db in
            let row = try db.row(
                .composed(
                    """
                    SELECT \(ArrivalColumn.selection) FROM upstream_arrival
                    WHERE request = ? AND provider = ? AND is_wanted = 1
                    """), [request, provider])
            let identity = try row.map { try UpstreamIdentity(ofArrival: $0, sealing) }
            try UpstreamArrivalRows(db).forgetWantedLink(request, provider)
            let count = try db.number("SELECT count(*) FROM upstream_link WHERE account_id = ?", [account])
            let connection = UpstreamConnection(
                of: identity, to: account, isLocked: try AccountRows(db).account(id: account, sealing)?.isLocked,
                holder: try identity.flatMap { try UpstreamLinkRows(db).account(linkedTo: $0, sealing) },
                links: count ?? 0, limit: limit)
            switch connection {
            case .connect(let identity):
                let (link, event, notice) = link(identity)
                try UpstreamLinkRows(db).insert(link, sealing)
                try AuditRows(db).record(event, notice: notice, sealing)
                return nil
            case .standing: return nil
            case .refused(let reason): return reason
            }
        }
    }

    public func links(ofAccount id: String) async throws -> [UpstreamLink] {
        try await self.read { [sealing] db in
            try db.rows(
                .composed(
                    "SELECT \(LinkColumn.selection) FROM upstream_link WHERE account_id = ? ORDER BY created_at, id"),
                [id]
            ) { row in
                let id = try row.text(LinkColumn.id)
                return UpstreamLink(
                    id: id,
                    identity: UpstreamIdentity(
                        provider: try row.text(LinkColumn.provider), issuer: try row.text(LinkColumn.issuer),
                        subject: try sealing.openText(try row.bytes(LinkColumn.subject), purpose: .linkSubject, row: id)
                    ),
                    accountID: try row.text(LinkColumn.accountID), createdAt: try row.moment(LinkColumn.createdAt))
            }
        }
    }

    public func removeLink(_ id: String, ofAccount account: String, audit: AuditEvent) async throws -> Bool {
        let step = Step("upstream.remove-link", guards: [.exclusive(.account, id: account)], isolation: .readCommitted)
        return try await self.step(
            step,
            on: { db in
                try db.text("SELECT provider FROM upstream_link WHERE id = ? AND account_id = ?", [id, account])
            }
        ) { db, provider in
            try db.run("DELETE FROM upstream_link WHERE id = ?", [id])
            try AuthenticationEnds(db).deleteAuthentications(
                of: .accountByMethod(account, UpstreamProvider.method(of: provider)), at: audit.at)
            return audit
        }
    }
}
