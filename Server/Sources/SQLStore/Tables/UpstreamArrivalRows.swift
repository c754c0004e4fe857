import Records
import Sealing
import _Primitives

extension SealingPurpose {
    /// The subject of an arrival, bound to the request and the provider.
    static let arrivalSubject = SealingPurpose("upstream arrival subject")
}

enum ArrivalColumn: Int, TableColumn {
    static let table = "upstream_arrival"
    static let selection = Self.selected()
    static let insertion = Self.inserted()

    case place, request, provider, issuer, subject, arrivedAt, isWanted
}

/// The rows of arrivals from other providers: the identities that wait to be connected with an account.
struct UpstreamArrivalRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    func forgetWantedLink(_ request: String, _ provider: String) throws {
        try self.db.run(
            "UPDATE upstream_arrival SET is_wanted = 0 WHERE request = ? AND provider = ?", [request, provider])
    }

    /// Deletes the arrival that came of a trip, and the finished sign-in that came of an arrival.
    func forgetArrival(_ request: String, _ provider: String) throws {
        try self.db.run("DELETE FROM upstream_arrival WHERE request = ? AND provider = ?", [request, provider])
        try FinishedSignInRows(self.db).forget(request: request, method: UpstreamProvider.method(of: provider))
    }

    /// Throws ``StoreError/Code/forbidden`` if an account is locked.
    func requireUnlocked(_ account: String) throws {
        try self.db.require(
            "SELECT is_locked = 0 FROM account WHERE id = ?", [account],
            orThrow: StoreError(.forbidden, "the account is locked"))
    }

    /// Throws ``StoreError/Code/notFound`` if a request, or the provider of a trip for the request, is gone.
    func requirePlaces(request: String, provider: String) throws {
        try self.db.require(
            """
            SELECT EXISTS (SELECT 1 FROM oauth_request WHERE id = ?)
            AND EXISTS (SELECT 1 FROM upstream_provider WHERE id = ?)
            """, [request, provider], orThrow: StoreError(.notFound, "the request or the provider is gone"))
    }

    /// Finishes a sign-in by another provider, and returns its account.
    func finish(
        _ arrival: UpstreamArrival, of account: String, at moment: Timestamp, _ sealing: Sealing,
        _ told: (_ account: String) -> (AuditEvent, NoticeRecord)
    ) throws -> String {
        try self.end(arrival)
        try FinishedSignInRows(self.db).replace(arrival.finished(by: account, at: moment), sealing)
        let (event, notice) = told(account)
        try AuditRows(self.db).record(event, notice: notice, sealing)
        return account
    }

    /// Ends the trip of an arrival, and the former arrival by the same way.
    private func end(_ arrival: UpstreamArrival) throws {
        let (request, provider) = (arrival.request, arrival.identity.provider)
        // The trip of this arrival is over. A trip that was begun since, and waits for its browser, is a different
        // trip.
        try UpstreamTripRows(self.db).forgetTrip(request, provider, isTaken: true)
        try self.forgetArrival(request, provider)
    }

    /// Keeps an identity that waits to be connected, in place of the former arrival by the same way.
    func replace(_ arrival: UpstreamArrival, at moment: Timestamp, _ sealing: Sealing) throws {
        try self.end(arrival)
        let (request, provider) = (arrival.request, arrival.identity.provider)
        let place = "\(request) \(provider)"
        try self.db.insert(
            [
                ArrivalColumn.place: place, .request: request, .provider: provider,
                .issuer: arrival.identity.issuer,
                .subject: try sealing.seal(arrival.identity.subject, purpose: .arrivalSubject, row: place),
                .arrivedAt: moment.milliseconds, .isWanted: false,
            ], by: ArrivalColumn.insertion)
    }
}

extension UpstreamIdentity {
    /// Reads the waiting identity of a row of the table's columns.
    init(ofArrival row: SQLRow, _ sealing: Sealing) throws {
        self.init(
            provider: try row.text(ArrivalColumn.provider), issuer: try row.text(ArrivalColumn.issuer),
            subject: try sealing.openText(
                row.bytes(ArrivalColumn.subject), purpose: .arrivalSubject, row: row.text(ArrivalColumn.place)))
    }
}
