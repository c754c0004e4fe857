public import Records
public import Settings
public import _Primitives

/// The names by which services know people, for an operator who must find the person of a service's name, or the name
/// of a person. Every successful look-up is in the audit trail, because a look-up joins names that services cannot
/// join.
public struct MappingIDs: Sendable {
    /// The result of a look-up.
    public struct Entry: Sendable, Equatable {
        /// The account of the person.
        public let account: AccountRecord
        /// The client's identifier.
        public let client: String
        /// The client's name for the person.
        public let subject: String
        /// `true` if the client was ever told the name.
        public let isTold: Bool
    }

    private let store: any AuditStore & AuthorizationStore & ClientStore
    private let directory: AccountDirectory
    private let pageSize: Int
    private let time: TimeSource
    private let subject: @Sendable (_ accountID: String, _ clientID: String) async throws -> String
    private let accountID: @Sendable (_ subject: String, _ clientID: String) async throws -> String?

    /// Creates the look-up of names.
    ///
    /// - Parameters:
    ///   - accounts: Manages the accounts.
    ///   - pageSize: The maximum number of names in a list.
    ///   - subject: Returns an account's name for a client.
    ///   - accountID: Returns the account of a name; `nil` for a name that the client was never told.
    public init(
        store: any AuditStore & AuthorizationStore & ClientStore, accounts: AccountDirectory,
        pageSize: Int = Limits().pageSize, time: TimeSource = .system,
        subject: @escaping @Sendable (_ accountID: String, _ clientID: String) async throws -> String,
        accountID: @escaping @Sendable (_ subject: String, _ clientID: String) async throws -> String?
    ) {
        self.store = store
        self.directory = accounts
        self.pageSize = pageSize
        self.time = time
        self.subject = subject
        self.accountID = accountID
    }

    /// Returns a client's name for a person. Throws `notFound` for an unknown account or client.
    public func entry(of account: String, at client: String, by operator: String) async throws -> Entry {
        let account = try await self.directory.account(written: account)
        guard try await self.store.client(client) != nil else { throw AccountError(.notFound) }
        let subject = try await self.subject(account.id, client)
        let told = try await self.accountID(subject, client)
        try await self.note(account, client, by: `operator`)
        return Entry(account: account, client: client, subject: subject, isTold: told != nil)
    }

    /// Returns the names of a person that clients were told, ordered by the clients' identifiers: a page, after a
    /// client. The trail has one entry for the page. Throws `notFound`.
    ///
    /// Cost: two queries, one store step, and one query for each name.
    public func entries(of account: String, after client: String?, by operator: String) async throws -> [Entry] {
        let account = try await self.directory.account(written: account)
        let clients = try await self.store.clients(knowingAccount: account.id, after: client, limit: self.pageSize)
        try await self.store.appendAudit(
            AuditEvent(.subjectsListed, at: self.time.now(), accountID: account.id, actor: `operator`))
        var entries: [Entry] = []
        for client in clients {
            let subject = try await self.subject(account.id, client)
            entries.append(Entry(account: account, client: client, subject: subject, isTold: true))
        }
        return entries
    }

    /// Returns the person behind a client's name. Throws `notFound` for a name that the client was never told, or whose
    /// account is gone.
    public func entry(ofSubject subject: String, at client: String, by operator: String) async throws -> Entry {
        guard let id = try await self.accountID(subject, client),
            let account = try await self.directory.account(id: id)
        else { throw AccountError(.notFound) }
        try await self.note(account, client, by: `operator`)
        return Entry(account: account, client: client, subject: subject, isTold: true)
    }

    /// Writes the look-up to the trail before the operator learns the result.
    private func note(_ account: AccountRecord, _ client: String, by operator: String) async throws {
        try await self.store.appendAudit(
            AuditEvent(
                .subjectLookedUp, at: self.time.now(), accountID: account.id, actor: `operator`, detail: client))
    }
}

extension AuditEvent.Kind {
    /// An operator has looked up a client's name for a person, or the person of a name. The detail is the client's
    /// identifier.
    static let subjectLookedUp = Self(rawValue: "subject-looked-up")
    /// An operator has listed the clients' names for a person.
    static let subjectsListed = Self(rawValue: "subjects-listed")
}
