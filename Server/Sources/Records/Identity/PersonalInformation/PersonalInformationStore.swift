public import PersonalInformation
public import Settings
public import _Primitives

/// Keeps the values that accounts have of the attributes that services request, and the value that each service gets.
///
/// Exactly one of an attribute's values is primary: the first value, until another value is made primary. If the
/// primary value is deleted, the oldest remaining value becomes primary.
public protocol PersonalInformationStore: Sendable {
    /// Adds a value to an account, with the audit event. The store decides whether the value is primary, whatever the
    /// record says. Returns `false` if the account does not exist.
    ///
    /// Throws ``StoreError/Code/conflict`` if the attribute has `limit` values.
    func addPersonalValue(_ value: PersonalValueRecord, accountID: String, limit: Int, audit: AuditEvent) async throws
        -> Bool

    /// Changes a value of an account, with the audit event. Returns `false` if the account has no such value.
    func changePersonalValue(_ id: String, accountID: String, to change: PersonalValueChange, audit: AuditEvent)
        async throws -> Bool

    /// Deletes a value of an account, with the audit event. Returns `false` if the account has no such value. A service
    /// that got the value gets no other value: the person is asked again.
    func removePersonalValue(_ id: String, accountID: String, audit: AuditEvent) async throws -> Bool

    /// Returns all values of the account: by attribute in their order, the primary value first, then the oldest.
    func personalValues(accountID: String) async throws -> [PersonalValueRecord]

    /// Returns the account's values of these attributes, without opening a value, in the order of
    /// ``personalValues(accountID:)``.
    func personalAliases(accountID: String, attributes: Set<PersonalAttribute>) async throws -> [PersonalAlias]

    /// Returns the values of an account with these identifiers, one for each attribute. A value that the account does
    /// not have, or has for another attribute, is left out.
    func personalValues(_ ids: [PersonalAttribute: String], accountID: String) async throws -> [PersonalAttribute:
        String]

    /// Returns the values that a service gets of an account, for each attribute the value's identifier: the choice of
    /// the person's last authentication at the service. An attribute whose value is gone is left out.
    func attributeSelection(accountID: String, service: String) async throws -> [PersonalAttribute: String]

    /// Forgets the values that a service gets of an account, with the audit event. The person is asked again. Returns
    /// `false` if no choice was remembered.
    func removeAttributeSelection(accountID: String, service: String, audit: AuditEvent) async throws -> Bool

    /// Makes the outcome of a session durable when no other step does so.
    ///
    /// Throws ``StoreError/Code/notFound`` if the account or the service is gone, ``StoreError/Code/outdated`` if an
    /// attribute has the largest number of values, or a required value is gone. A change of the history alone does
    /// nothing if the account is gone.
    func applyIdentityOutcome(_ change: IdentityOutcomeChange) async throws
}

/// The data that becomes durable together with a finished identity session, in the same step.
public struct IdentityOutcomeChange: Sendable, Equatable {
    /// The account of the session.
    public var accountID: String
    /// The service of the session; `nil` for an action of the account on itself. No choice is remembered for such an
    /// action.
    public var service: String?
    /// The moment of the session's end.
    public var at: Timestamp
    /// The values that the person typed during the session, and that the account has from now on. The first value of an
    /// attribute is always its primary value.
    public var supplied: [PersonalValueRecord] = []
    /// The largest number of values of an attribute.
    public var valuesPerAttribute: Int
    /// The value of each attribute that the service got, by the identifiers of values, also of values in ``supplied``.
    /// The selection replaces the earlier choice; `nil` leaves the earlier choice. A value that is gone by now is
    /// passed over.
    public var selection: [PersonalAttribute: String]?
    /// The attributes whose chosen value must still exist.
    public var required: Set<PersonalAttribute> = []
    /// The entry for the account's history.
    public var history: IdentityHistoryRecord?
    /// The number of history entries that stay. Older entries go, a few with each new entry.
    public var historyRows: Int

    /// Makes a change with these values and no others.
    public init(
        accountID: String, service: String?, at: Timestamp, supplied: [PersonalValueRecord] = [],
        selection: [PersonalAttribute: String]? = nil, history: IdentityHistoryRecord? = nil, limits: Limits
    ) {
        self.accountID = accountID
        self.service = service
        self.at = at
        self.supplied = supplied
        self.selection = selection
        self.history = history
        self.valuesPerAttribute = limits.valuesPerAttribute
        self.historyRows = limits.identityHistoryRows
    }
}

/// An identity session in the account's history. The entry does not mention factors.
public struct IdentityHistoryRecord: Sendable, Equatable {
    /// The outcome of a session.
    public enum Outcome: String, Sendable, CaseIterable {
        /// The session has reached its purpose.
        case finished
        /// The session failed, or its time was over.
        case failed
        /// The session was given up.
        case aborted
    }

    /// The purpose of the session, in the words of `SessionDocument.Purpose`.
    public var purpose: String
    /// The service of the session, by its client's identifier; `nil` for an action of the account on itself.
    public var service: String?
    /// The role in the session, by its identifier; `nil` if no role was chosen.
    public var role: String?
    /// The outcome of the session.
    public var outcome: Outcome
    /// The moment of the session's end.
    public var at: Timestamp

    /// Describes a session.
    public init(purpose: String, service: String?, role: String?, outcome: Outcome, at: Timestamp) {
        self.purpose = purpose
        self.service = service
        self.role = role
        self.outcome = outcome
        self.at = at
    }
}

/// A session in the account's history, with its place there.
public struct IdentityHistoryEntry: Sendable, Equatable {
    /// The place in this account's history: later entries have higher numbers. The number reveals nothing of other
    /// accounts.
    public var number: Int64
    /// The session.
    public var record: IdentityHistoryRecord

    /// Describes an entry.
    public init(number: Int64, record: IdentityHistoryRecord) {
        self.number = number
        self.record = record
    }
}

/// The history of an account's sessions. Entries are kept for their time, and at most as many for an account as the
/// limit allows. After the limit was lowered, each new entry removes a few old entries until the limit holds.
public protocol IdentityHistoryStore: Sendable {
    /// Returns the newest sessions of an account before a number, the newest first, at most `limit`; `nil` begins with
    /// the newest.
    func identityHistory(accountID: String, before number: Int64?, limit: Int) async throws -> [IdentityHistoryEntry]

    /// Returns the services in an account's history, each once.
    func visitedServices(accountID: String) async throws -> [String]
}

extension IdentityHistoryStore {
    /// Returns the newest sessions of an account, the newest first, at most `limit`.
    public func identityHistory(accountID: String, limit: Int) async throws -> [IdentityHistoryRecord] {
        try await self.identityHistory(accountID: accountID, before: nil, limit: limit).map(\.record)
    }
}

extension AuditEvent.Kind {
    /// An account has a further value of an attribute; the detail is the attribute and the value's identifier.
    public static let personalValueAdded = Self(rawValue: "personal-value-added")
    /// A value of an account has another label, became the primary value, or was verified or unverified; the detail is
    /// its identifier.
    public static let personalValueChanged = Self(rawValue: "personal-value-changed")
    /// An account has lost a value; the detail is its identifier.
    public static let personalValueRemoved = Self(rawValue: "personal-value-removed")
    /// An account's choice of values for a service is forgotten; the detail is the service's client.
    public static let attributeChoiceRemoved = Self(rawValue: "attribute-choice-removed")
}
