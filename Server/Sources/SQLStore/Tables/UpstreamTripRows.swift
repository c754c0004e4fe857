import Records
import Sealing
import _Primitives

extension SealingPurpose {
    // These values are bound to the request and the provider.
    static let tripVerifier = SealingPurpose("upstream trip verifier")
    static let tripNonce = SealingPurpose("upstream trip nonce")
}

enum TripColumn: Int, TableColumn {
    static let table = "upstream_trip"
    static let selection = Self.selected()
    static let insertion = Self.inserted()

    case place, request, provider, stateDigest, verifier, nonce, isSecond, begunAt, expiresAt
}

/// The rows of trips of browsers to other providers.
struct UpstreamTripRows {
    let db: SQLConnection

    init(_ db: SQLConnection) { self.db = db }

    /// Deletes the trip of a request to a provider: any trip, or only a trip from which the browser has come back.
    func forgetTrip(_ request: String, _ provider: String, isTaken: Bool) throws {
        try self.db.run(
            "DELETE FROM upstream_trip WHERE request = ? AND provider = ? AND (state_digest IS NULL OR NOT ?)",
            [request, provider, isTaken])
    }

    func trip(
        _ stateDigest: [UInt8], _ provider: String, of browserDigest: [UInt8], at moment: Timestamp, _ sealing: Sealing
    ) throws -> UpstreamTrip? {
        try self.db.row(
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
}
