import Records
import Sealing
import _Primitives

extension SealingPurpose {
    // These values are bound to the request and the provider.
    static let arrivalSubject = SealingPurpose("upstream arrival subject")
    static let arrivalBrowser = SealingPurpose("upstream arrival browser")
    static let arrivalAddress = SealingPurpose("upstream arrival address")
}

enum ArrivalColumn: Int, TableColumn {
    static let table = "upstream_arrival"
    static let selection = Self.selected()
    static let insertion = Self.inserted()

    case place, request, provider, issuer, subject, at, acr, amr, browser, address, accountID, finishedAt, isWanted
}

/// The rows of arrivals from other providers.
struct UpstreamArrivalRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    func forgetWantedLink(_ request: String, _ provider: String) throws {
        try self.db.run(
            "UPDATE upstream_arrival SET is_wanted = 0 WHERE request = ? AND provider = ?", [request, provider])
    }

    /// Deletes the arrival that came of a trip.
    func forgetArrival(_ request: String, _ provider: String) throws {
        try self.db.run("DELETE FROM upstream_arrival WHERE request = ? AND provider = ?", [request, provider])
    }

    /// Throws ``StoreError/Code/forbidden`` if an account is locked.
    func requireUnlocked(_ account: String) throws {
        try self.db.require(
            "SELECT is_locked = 0 FROM account WHERE id = ?", [account],
            orThrow: StoreError(.forbidden, "the account is locked"))
    }

    /// Throws ``StoreError/Code/notFound`` if the request of an arrival is gone.
    func requireRequest(of arrival: UpstreamArrival) throws {
        try self.db.require(
            "SELECT EXISTS (SELECT 1 FROM oauth_request WHERE id = ?)", [arrival.request],
            orThrow: StoreError(.notFound, "the request is gone"))
    }

    /// Finishes a sign-in by another provider, and returns its account.
    func finish(
        _ arrival: UpstreamArrival, of account: String, at moment: Timestamp, _ sealing: Sealing,
        _ told: (_ account: String) -> (AuditEvent, NoticeRecord)
    ) throws -> String {
        try self.replace(arrival, account: account, at: moment, sealing)
        let (event, notice) = told(account)
        try AuditRows(self.db).record(event, notice: notice, sealing)
        return account
    }

    func replace(
        _ arrival: UpstreamArrival, account: String?, at moment: Timestamp, _ sealing: Sealing
    ) throws {
        let (request, provider) = (arrival.request, arrival.identity.provider)
        // The trip of this arrival is over. A trip that was begun since, and waits for its browser, is a different
        // trip.
        try UpstreamTripRows(self.db).forgetTrip(request, provider, isTaken: true)
        try self.forgetArrival(request, provider)
        let place = "\(request) \(provider)"
        try self.db.insert(
            [
                ArrivalColumn.place: place, .request: request, .provider: provider,
                .issuer: arrival.identity.issuer,
                .subject: try sealing.seal(arrival.identity.subject, purpose: .arrivalSubject, row: place),
                .at: arrival.at.milliseconds, .acr: arrival.acr, .amr: arrival.amr.joined(separator: " "),
                .browser: try arrival.browser.map { try sealing.seal($0, purpose: .arrivalBrowser, row: place) },
                .address: try arrival.address.map { try sealing.seal($0, purpose: .arrivalAddress, row: place) },
                .accountID: account, .finishedAt: moment.milliseconds, .isWanted: false,
            ], by: ArrivalColumn.insertion)
    }
}

extension UpstreamArrival {
    init(_ row: SQLRow, _ sealing: Sealing) throws {
        let (request, provider) = (try row.text(ArrivalColumn.request), try row.text(ArrivalColumn.provider))
        let place = "\(request) \(provider)"
        self.init(
            request: request,
            identity: UpstreamIdentity(
                provider: provider, issuer: try row.text(ArrivalColumn.issuer),
                subject: try sealing.openText(row.bytes(ArrivalColumn.subject), purpose: .arrivalSubject, row: place)),
            at: try row.moment(ArrivalColumn.at), acr: try row.text(ArrivalColumn.acr),
            amr: try row.text(ArrivalColumn.amr).split(separator: " ").map(String.init),
            browser: try row.optionalBytes(ArrivalColumn.browser).map {
                try sealing.openText($0, purpose: .arrivalBrowser, row: place)
            },
            address: try row.optionalBytes(ArrivalColumn.address).map {
                try sealing.openText($0, purpose: .arrivalAddress, row: place)
            })
    }
}
