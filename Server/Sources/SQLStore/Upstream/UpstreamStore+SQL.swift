public import Records
import Sealing
public import _Primitives

extension SealingPurpose {
    /// The code by which a subject of another provider is found.
    fileprivate static let subjectCode = SealingPurpose("upstream subject code")
    /// A subject of another provider, bound to the link.
    static let linkSubject = SealingPurpose("upstream link subject")
    // The following values are bound to the request and the provider.
    static let tripVerifier = SealingPurpose("upstream trip verifier")
    static let tripNonce = SealingPurpose("upstream trip nonce")
    static let arrivalSubject = SealingPurpose("upstream arrival subject")
    static let arrivalBrowser = SealingPurpose("upstream arrival browser")
    static let arrivalAddress = SealingPurpose("upstream arrival address")
}

private enum LinkColumn: Int, TableColumn {
    static let table = "upstream_link"
    static let selection = Self.selected()
    static let insertion = Self.inserted()

    case id, provider, issuer, subjectCode, subject, accountID, createdAt
}

private enum TripColumn: Int, TableColumn {
    static let table = "upstream_trip"
    static let selection = Self.selected()
    static let insertion = Self.inserted()

    case place, request, provider, stateDigest, verifier, nonce, isSecond, begunAt, expiresAt
}

private enum ArrivalColumn: Int, TableColumn {
    static let table = "upstream_arrival"
    static let selection = Self.selected()
    static let insertion = Self.inserted()

    case place, request, provider, issuer, subject, at, acr, amr, browser, address, accountID, finishedAt, isWanted
}

extension SQLStore: UpstreamStore {
    public func begin(_ trip: UpstreamTrip) async throws {
        let step = Step(
            "upstream.begin-trip",
            guards: [.shared(.provider, id: trip.provider), .exclusive(.request, id: trip.request)],
            isolation: .readCommitted)
        try await self.step(step) { [sealing] db in
            try db.require(
                """
                SELECT EXISTS (SELECT 1 FROM oauth_request WHERE id = ?)
                AND EXISTS (SELECT 1 FROM upstream_provider WHERE id = ?)
                """, [trip.request, trip.provider],
                orThrow: StoreError(.notFound, "the request or the provider is gone"))
            try db.forgetTrip(trip.request, trip.provider, isTaken: false)
            try db.forgetArrival(trip.request, trip.provider)
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
            try db.trip(stateDigest, provider, of: browserDigest, at: moment, sealing)?.request
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
                let trip = try db.trip(stateDigest, provider, of: browserDigest, at: moment, sealing)
                return .step(if: trip != nil, otherwise: nil)
            }
        ) { [sealing] db, _ in
            // Without a trip the statement finds no row, as NULL equals nothing.
            let trip = try db.trip(stateDigest, provider, of: browserDigest, at: moment, sealing)
            try db.run(
                "UPDATE upstream_trip SET state_digest = NULL WHERE state_digest = ? AND request = ?",
                [stateDigest, trip?.request])
            return trip
        }
    }

    public func account(linkedTo identity: UpstreamIdentity) async throws -> String? {
        try await self.read { [sealing] db in try db.account(linkedTo: identity, sealing) }
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
            let linked = try db.account(linkedTo: arrival.identity, sealing)
            switch ArrivedPerson(linkedTo: linked, newcomer: newcomer) {
            case .stranger:
                try db.replace(arrival, account: nil, at: moment, sealing)
                return nil
            case .newcomer(let newcomer):
                try db.insert(newcomer.account, sealing)
                try db.insert(newcomer.link, sealing)
                try db.record(newcomer.audit, sealing)
                return try db.finish(arrival, of: newcomer.account.id, at: moment, sealing, told)
            case .known(let account): return try db.finish(arrival, of: account, at: moment, sealing, told)
            }
        }
    }

    public func upstreamSignIn(request: String) async throws -> UpstreamSignIn? {
        try await self.read { [sealing] db in
            try db.row(
                .composed(
                    """
                    SELECT \(ArrivalColumn.selection) FROM upstream_arrival
                    WHERE request = ? AND account_id IS NOT NULL ORDER BY finished_at DESC, provider LIMIT 1
                    """), [request]
            ).map { row in
                UpstreamSignIn(
                    arrival: try UpstreamArrival(row, sealing), accountID: try row.text(ArrivalColumn.accountID),
                    finishedAt: try row.moment(ArrivalColumn.finishedAt))
            }
        }
    }

    public func wantLink(request: String, provider: String) async throws -> Bool {
        try await self.step(Step("upstream.want-link", guards: [], isolation: .readCommitted)) { db in
            try db.run(
                """
                UPDATE upstream_arrival SET is_wanted = 1
                WHERE request = ? AND provider = ? AND account_id IS NULL
                """, [request, provider])
            return db.changesCount > 0
        }
    }

    public func wantedLink(request: String) async throws -> WantedLink? {
        try await self.read { db in
            try db.row(
                """
                SELECT provider, title, finished_at FROM upstream_arrival
                JOIN upstream_provider ON upstream_provider.id = provider
                WHERE request = ? AND is_wanted = 1 ORDER BY finished_at DESC, provider LIMIT 1
                """, [request]
            ).map { row in
                WantedLink(
                    provider: try row.text("provider"), title: try row.text("title"),
                    arrivedAt: try row.moment("finished_at"))
            }
        }
    }

    public func forgetWantedLink(request: String, provider: String) async throws {
        try await self.step(Step("upstream.forget-wanted-link", guards: [], isolation: .readCommitted)) { db in
            try db.forgetWantedLink(request, provider)
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
            let identity = try row.map { try UpstreamArrival($0, sealing).identity }
            try db.forgetWantedLink(request, provider)
            let count = try db.number("SELECT count(*) FROM upstream_link WHERE account_id = ?", [account])
            let connection = UpstreamConnection(
                of: identity, to: account, isLocked: try db.account(id: account, sealing)?.isLocked,
                holder: try identity.flatMap { try db.account(linkedTo: $0, sealing) }, links: count ?? 0, limit: limit)
            switch connection {
            case .connect(let identity):
                let (link, event, notice) = link(identity)
                try db.insert(link, sealing)
                try db.record(event, notice: notice, sealing)
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
            try db.run("DELETE FROM upstream_arrival WHERE account_id = ? AND provider = ?", [account, provider])
            try db.deleteAuthentications(
                of: .accountByMethod(account, UpstreamProvider.method(of: provider)), at: audit.at)
            return audit
        }
    }
}

extension SQLConnection {
    fileprivate func forgetWantedLink(_ request: String, _ provider: String) throws {
        try self.run(
            "UPDATE upstream_arrival SET is_wanted = 0 WHERE request = ? AND provider = ?", [request, provider])
    }

    /// Ends every link of an account, within the present step.
    func removeLinks(ofAccount id: String, at moment: Timestamp, _ sealing: Sealing) throws {
        let links = try self.texts("SELECT id FROM upstream_link WHERE account_id = ?", [id])
        try self.run("DELETE FROM upstream_link WHERE account_id = ?", [id])
        try self.record(
            links.map { AuditEvent(.identityUnlinked, at: moment, accountID: id, detail: $0) }, sealing)
    }

    /// Deletes the trip of a request to a provider: any trip, or only a trip from which the browser has come back.
    fileprivate func forgetTrip(_ request: String, _ provider: String, isTaken: Bool) throws {
        try self.run(
            "DELETE FROM upstream_trip WHERE request = ? AND provider = ? AND (state_digest IS NULL OR NOT ?)",
            [request, provider, isTaken])
    }

    /// Deletes the arrival that came of a trip.
    fileprivate func forgetArrival(_ request: String, _ provider: String) throws {
        try self.run("DELETE FROM upstream_arrival WHERE request = ? AND provider = ?", [request, provider])
    }

    /// Checks the link of a sign-in through another provider. Throws ``StoreError/Code/notFound`` if the person is not
    /// linked with the account any more: ending the link has ended this sign-in.
    func checkLinkStands(to provider: String, of session: SessionRecord, request: String) throws {
        try self.require(
            """
            SELECT EXISTS (
                SELECT 1 FROM upstream_arrival JOIN upstream_link USING (provider, issuer, account_id)
                WHERE request = ? AND provider = ? AND account_id = ?)
            """, [request, provider, session.account],
            orThrow: StoreError(.notFound, "the connection with the other provider was ended"))
    }

    fileprivate func trip(
        _ stateDigest: [UInt8], _ provider: String, of browserDigest: [UInt8], at moment: Timestamp, _ sealing: Sealing
    ) throws -> UpstreamTrip? {
        try self.row(
            .composed(
                """
                SELECT \(TripColumn.selection) FROM upstream_trip
                JOIN oauth_request ON oauth_request.id = upstream_trip.request
                WHERE state_digest = ? AND provider = ? AND browser_digest = ? AND upstream_trip.expires_at > ?
                """), [stateDigest, provider, browserDigest, moment.milliseconds]
        ).map { row in
            let request = try row.text(TripColumn.request)
            let place = "\(request) \(provider)"
            return UpstreamTrip(
                request: request, provider: provider, stateDigest: stateDigest,
                verifier: SecretBytes(
                    try sealing.open(row.bytes(TripColumn.verifier), purpose: .tripVerifier, row: place)),
                nonce: SecretBytes(try sealing.open(row.bytes(TripColumn.nonce), purpose: .tripNonce, row: place)),
                isSecond: try row.flag(TripColumn.isSecond), begunAt: try row.moment(TripColumn.begunAt),
                expiresAt: try row.moment(TripColumn.expiresAt))
        }
    }

    fileprivate func account(linkedTo identity: UpstreamIdentity, _ sealing: Sealing) throws -> String? {
        try self.text(
            "SELECT account_id FROM upstream_link WHERE provider = ? AND issuer = ? AND subject_code = ?",
            identity.linkKey(sealing))
    }

    fileprivate func insert(_ link: UpstreamLink, _ sealing: Sealing) throws {
        let identity = link.identity
        try self.insert(
            [
                LinkColumn.id: link.id, .provider: identity.provider, .issuer: identity.issuer,
                .subjectCode: sealing.code(identity.subject, purpose: .subjectCode),
                .subject: try sealing.seal(identity.subject, purpose: .linkSubject, row: link.id),
                .accountID: link.accountID, .createdAt: link.createdAt.milliseconds,
            ], by: LinkColumn.insertion)
    }

    /// Finishes a sign-in by another provider, and returns its account. Throws ``StoreError/Code/forbidden`` if the
    /// account is locked.
    fileprivate func finish(
        _ arrival: UpstreamArrival, of account: String, at moment: Timestamp, _ sealing: Sealing,
        _ told: (_ account: String) -> (AuditEvent, NoticeRecord)
    ) throws -> String {
        try self.replace(arrival, account: account, at: moment, sealing)
        try self.require(
            "SELECT is_locked = 0 FROM account WHERE id = ?", [account],
            orThrow: StoreError(.forbidden, "the account is locked"))
        let (event, notice) = told(account)
        try self.record(event, notice: notice, sealing)
        return account
    }

    fileprivate func replace(
        _ arrival: UpstreamArrival, account: String?, at moment: Timestamp, _ sealing: Sealing
    ) throws {
        let (request, provider) = (arrival.request, arrival.identity.provider)
        try self.require(
            "SELECT EXISTS (SELECT 1 FROM oauth_request WHERE id = ?)", [request],
            orThrow: StoreError(.notFound, "the request is gone"))
        // The trip of this arrival is over. A trip that was begun since, and waits for its browser, is a different
        // trip.
        try self.forgetTrip(request, provider, isTaken: true)
        try self.forgetArrival(request, provider)
        let place = "\(request) \(provider)"
        try self.insert(
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

extension UpstreamIdentity {
    /// Returns the values by which a link with the identity is found: provider, issuer and code of the subject.
    fileprivate func linkKey(_ sealing: Sealing) -> SQLValues {
        [self.provider, self.issuer, sealing.code(self.subject, purpose: .subjectCode)]
    }
}

extension UpstreamArrival {
    fileprivate init(_ row: SQLRow, _ sealing: Sealing) throws {
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
