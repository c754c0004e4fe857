public import Settings
public import _Primitives

/// A message to a device of a person, as budgets count it.
public struct PushCount: Sendable, Equatable {
    /// Random, 16 bytes as base64url.
    public var id: String
    /// The person's account.
    public var accountID: String
    /// The requester: a client's identifier, or a client and the network of a browser (decision 126).
    public var requester: String
    /// The ceremony of the message.
    public var ceremonyID: String
    /// The moment of the message.
    public var at: Timestamp

    /// Describes a message.
    public init(id: String, accountID: String, requester: String, ceremonyID: String, at: Timestamp) {
        self.id = id
        self.accountID = accountID
        self.requester = requester
        self.ceremonyID = ceremonyID
        self.at = at
    }
}

/// A budget of messages to the devices of one person since the person's last success.
public enum PushBudget: String, Sendable, CaseIterable {
    /// The messages of one requester within ``Limits/Fixed/pushPeriod``.
    case requester
    /// The messages of one requester within ``Limits/Fixed/pushDay``.
    case requesterDay = "requester-day"
    /// The messages of all requesters within ``Limits/Fixed/pushPeriod``.
    case person
    /// The messages of all requesters within ``Limits/Fixed/pushDay``.
    case personDay = "person-day"
}

/// Counts the messages to people's devices. ``CeremonyChange/forgivenPushes`` forgets the messages to a person.
public protocol PushCountStore: Sendable {
    /// Counts a message before the message is written. Returns the first budget of ``PushBudget/allCases`` that is used
    /// up, and then the message is not counted; `nil` if the message is counted and may be sent.
    ///
    /// The first refused message of a budget within the time of the budget leaves an event in the audit trail
    /// (``AuditEvent/Kind/pushBudgetUsedUp``). Throws `notFound` if the account does not exist.
    ///
    /// Must be atomic: of any number of calls at once no more than the bound are counted.
    func countPush(_ push: PushCount, bounds: Limits.Push) async throws -> PushBudget?

    /// Deletes counted messages, and notes of budgets used up, before a moment, the oldest first, at most `limit` of
    /// each. Returns the number of deleted rows.
    func deletePushCounts(before moment: Timestamp, limit: Int) async throws -> Int
}

extension AuditEvent.Kind {
    /// A budget of messages to a person's devices was used up, and a message was not sent. The actor is the client, and
    /// the detail is the budget. A budget leaves at most one such event within its time.
    public static let pushBudgetUsedUp = Self(rawValue: "push-budget-used-up")
}
