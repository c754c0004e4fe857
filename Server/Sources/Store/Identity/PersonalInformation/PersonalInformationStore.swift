public import PersonalInformation
public import _Primitives

/// Keeps what accounts have of the attributes that services ask for, and which value each service gets.
///
/// Of an attribute's values exactly one is primary: the first that comes, until another is made it; where it goes, the
/// oldest that is left.
public protocol PersonalInformationStore: Sendable {
    /// Adds a value to an account, with the audit event. `false` where there is no such account.
    ///
    /// Throws ``StoreError/Code/conflict`` where the attribute has `limit` values.
    func addPersonalValue(_ value: PersonalValueRecord, accountID: String, limit: Int, audit: AuditEvent) async throws
        -> Bool

    /// Changes a value of an account, with the audit event. `false` where it has no such value.
    func changePersonalValue(_ id: String, accountID: String, to change: PersonalValueChange, audit: AuditEvent)
        async throws -> Bool

    /// Deletes a value of an account, with the audit event. `false` where it has no such value. No service that got it gets
    /// another: the person is asked again.
    func removePersonalValue(_ id: String, accountID: String, audit: AuditEvent) async throws -> Bool

    /// What the account has, values and all: by attribute in their order, the primary value first, then the oldest.
    func personalValues(accountID: String) async throws -> [PersonalValueRecord]

    /// What the account has of these attributes, without opening a value, in the order of ``personalValues(accountID:)``.
    func personalAliases(accountID: String, attributes: Set<PersonalAttribute>) async throws -> [PersonalAlias]

    /// The values of an account that these identifiers stand for, one of each attribute. What the account has not, or has
    /// of another attribute, is left out.
    func personalValues(_ ids: [PersonalAttribute: String], accountID: String) async throws -> [PersonalAttribute:
        String]

    /// Which value of each attribute a service gets of an account, by the values' identifiers: what was chosen when the
    /// person last authenticated there. An attribute whose value is gone is left out.
    func attributeSelection(accountID: String, service: String) async throws -> [PersonalAttribute: String]

    /// Forgets which values a service gets of an account, with the audit event: the person is asked again. `false` where
    /// nothing was remembered.
    func removeAttributeSelection(accountID: String, service: String, audit: AuditEvent) async throws -> Bool

    /// Makes durable what a session has come to where no other step does it.
    ///
    /// Throws ``StoreError/Code/notFound`` where the account or the service is gone, ``StoreError/Code/outdated`` where an
    /// attribute has as many values as it can have, or a value is gone that is required. A change of the history alone is nothing where the account is gone.
    func applyIdentityOutcome(_ change: IdentityOutcomeChange) async throws
}

/// What becomes durable together with an identity session that has come to its end, in the same step.
public struct IdentityOutcomeChange: Sendable, Equatable {
    /// Whose session it was.
    public var accountID: String
    /// Where to; `nil` for what the account has done with itself, which no choice is remembered of.
    public var service: String?
    /// When.
    public var at: Timestamp
    /// What the person typed on the way, and the account has from now on. The first value of an attribute is its primary
    /// one, whatever stands here.
    public var supplied: [PersonalValueRecord] = []
    /// The most values of an attribute.
    public var valuesPerAttribute: Int
    /// Which value of each attribute the service got, by the identifiers of values, those of ``supplied`` among them. They
    /// take the place of what was chosen before; `nil` leaves that. A value that is gone by now is passed over.
    public var selection: [PersonalAttribute: String]?
    /// The attributes whose chosen value must not be gone.
    public var required: Set<PersonalAttribute> = []
    /// What the account's history says of it.
    public var history: IdentityHistoryRecord?
    /// The entries of a history that stay; older ones go, a few with each new one.
    public var historyRows: Int

    /// A change of nothing but what is named.
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

/// An identity session in the account's history. It says nothing of factors.
public struct IdentityHistoryRecord: Sendable, Equatable {
    /// What a session came to.
    public enum Outcome: String, Sendable, CaseIterable {
        /// What it was for.
        case finished
        /// It failed, or its time was over.
        case failed
        /// Somebody gave it up.
        case aborted
    }

    /// What it was for, in the words of `SessionDocument.Purpose`.
    public var purpose: String
    /// Which service it was at, by its client's identifier; `nil` for what the account has done with itself.
    public var service: String?
    /// In which role, by its identifier; `nil` where none was chosen.
    public var role: String?
    /// What it came to.
    public var outcome: Outcome
    /// When.
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
    /// Its place in this account's history: later ones have higher numbers. It says nothing of other accounts.
    public var number: Int64
    /// What it came to.
    public var record: IdentityHistoryRecord

    /// Describes an entry.
    public init(number: Int64, record: IdentityHistoryRecord) {
        self.number = number
        self.record = record
    }
}

/// What an account's sessions came to. Entries are kept for their time, and no more of an account than the limit when the
/// newest came.
public protocol IdentityHistoryStore: Sendable {
    /// The newest sessions of an account before a number, the newest first, at most `limit`; `nil` begins with the newest.
    func identityHistory(accountID: String, before number: Int64?, limit: Int) async throws -> [IdentityHistoryEntry]

    /// The services that are in an account's history, each once.
    func visitedServices(accountID: String) async throws -> [String]
}

extension IdentityHistoryStore {
    /// The newest sessions of an account, the newest first, at most `limit`.
    public func identityHistory(accountID: String, limit: Int) async throws -> [IdentityHistoryRecord] {
        try await self.identityHistory(accountID: accountID, before: nil, limit: limit).map(\.record)
    }
}

extension AuditEvent.Kind {
    /// An account has a further value of an attribute; the detail is the attribute and the value's identifier.
    public static let personalValueAdded = Self(rawValue: "personal-value-added")
    /// A value of an account is called otherwise, is the primary one, or has another word on whether it is true; the detail
    /// is its identifier.
    public static let personalValueChanged = Self(rawValue: "personal-value-changed")
    /// An account has lost a value; the detail is its identifier.
    public static let personalValueRemoved = Self(rawValue: "personal-value-removed")
    /// What an account has chosen for a service is forgotten; the detail is the service's client.
    public static let attributeChoiceRemoved = Self(rawValue: "attribute-choice-removed")
}
