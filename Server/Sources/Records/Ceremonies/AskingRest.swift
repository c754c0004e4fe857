public import _Primitives

/// The time in which a requester does not reach a person by asking alone, because the person has disowned a request.
///
/// A resting requester reaches the person by QR codes, links and typed codes.
public struct AskingRest: Sendable, Equatable {
    /// The person's account.
    public var accountID: String
    /// The requester: a client's identifier, or a client and the network of a browser (decision 126).
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

/// A person's attempt at the number that is shown where the person began a request.
public struct NumberAttempt: Sendable, Equatable {
    /// Random, 16 bytes as base64url.
    public var id: String
    /// The person's account.
    public var accountID: String
    /// The moment of the attempt.
    public var at: Timestamp

    /// Describes an attempt.
    public init(id: String, accountID: String, at: Timestamp) {
        self.id = id
        self.accountID = accountID
        self.at = at
    }
}

/// Keeps the rests of requesters and the wrong numbers of people. ``CeremonyChange/rest`` begins a rest.
public protocol AskingRestStore: Sendable {
    /// Returns `true` if the requester does not reach the person by asking alone at `now`: the requester rests, or the
    /// person has ``Limits/Fixed/wrongNumbers`` attempts within ``Limits/Fixed/wrongNumberMemory``.
    func isAskingRested(accountID: String, requester: String, at now: Timestamp) async throws -> Bool

    /// Counts an attempt at a number before the number is judged. Returns the number of attempts that count now, this
    /// attempt included; `nil` if no attempt is left, and then nothing is written. A right number gives the attempt back
    /// (``CeremonyChange/returnedNumberAttempt``).
    ///
    /// Must be atomic: of any number of calls at once no more than the bound are counted.
    func countNumberAttempt(_ attempt: NumberAttempt) async throws -> Int?

    /// Deletes the rests that ended before `moment` and the attempts before `attemptsBefore`, the oldest first, at most
    /// `limit` of each. Returns the number of deleted rows. A rest that begins later is as short as the first.
    func deleteRests(endedBefore moment: Timestamp, attemptsBefore: Timestamp, limit: Int) async throws -> Int
}
