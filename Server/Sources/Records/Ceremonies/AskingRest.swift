public import _Primitives

/// The time in which a requester does not reach a person by asking alone, because the person has disowned a request.
///
/// A resting requester reaches the person by QR codes, links and typed codes.
public struct AskingRest: Sendable, Equatable {
    /// The person's account.
    public var accountID: String
    /// The requester: a client's identifier.
    public var requester: String
    /// The length of the rest.
    public var length: Duration
    /// The end of the rest.
    public var until: Timestamp

    /// Describes a rest.
    public init(accountID: String, requester: String, length: Duration, until: Timestamp) {
        self.accountID = accountID
        self.requester = requester
        self.length = length
        self.until = until
    }
}

/// Keeps the rests of requesters. ``CeremonyChange/rest`` begins a rest.
public protocol AskingRestStore: Sendable {
    /// Returns `true` if the requester does not reach the person by asking alone at `now`.
    func isAskingRested(accountID: String, requester: String, at now: Timestamp) async throws -> Bool

    /// Deletes the rests that ended before `moment`, the oldest first, at most `limit`. Returns the number of deleted
    /// rests. A rest that begins later is as short as the first.
    func deleteRests(endedBefore moment: Timestamp, limit: Int) async throws -> Int
}
