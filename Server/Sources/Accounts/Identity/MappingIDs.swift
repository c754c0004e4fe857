public import Store
public import _Primitives

/// The names by which services know people, for an operator who has to find out which person a service means, or what it
/// calls one. Every look-up is in the audit trail: it joins what services are kept from joining.
public struct MappingIDs: Sendable {
    /// What was found.
    public struct Entry: Sendable, Equatable {
        /// Whose name it is.
        public let account: AccountRecord
        /// Where, by the client's identifier.
        public let client: String
        /// The name.
        public let subject: String
        /// Whether the client was ever told it.
        public let isTold: Bool
    }

    private let store: any AuditStore & AuthorizationStore & ClientStore
    private let directory: AccountDirectory
    private let pageSize: Int
    private let time: TimeSource
    private let subject: @Sendable (_ accountID: String, _ clientID: String) async throws -> String
    private let accountID: @Sendable (_ subject: String, _ clientID: String) async throws -> String?

    /// Looks names up.
    ///
    /// - Parameters:
    ///   - accounts: Manages the accounts.
    ///   - pageSize: The most names that are listed at a time.
    ///   - subject: Names an account to a client.
    ///   - accountID: The way back; `nil` for a name that the client was never told.
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

    /// What a client calls somebody. Throws `notFound` for no such account or client.
    public func entry(of account: String, at client: String, by operator: String) async throws -> Entry {
        let account = try await self.directory.account(written: account)
        guard try await self.store.client(client) != nil else { throw AccountError(.notFound) }
        let subject = try await self.subject(account.id, client)
        let told = try await self.accountID(subject, client)
        try await self.note(account, client, by: `operator`)
        return Entry(account: account, client: client, subject: subject, isTold: told != nil)
    }

    /// What clients were told to call somebody, by the clients' identifiers: a page of them, after a client's. The trail has one
    /// entry for the page. Throws `notFound`.
    ///
    /// Cost: two queries, one store step.
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

    /// Whom a client means. Throws `notFound` for a name that the client was never told, or whose account is gone.
    public func entry(ofSubject subject: String, at client: String, by operator: String) async throws -> Entry {
        guard let id = try await self.accountID(subject, client),
            let account = try await self.directory.account(id: id)
        else { throw AccountError(.notFound) }
        try await self.note(account, client, by: `operator`)
        return Entry(account: account, client: client, subject: subject, isTold: true)
    }

    /// Whoever looked is in the trail before they are told anything.
    private func note(_ account: AccountRecord, _ client: String, by operator: String) async throws {
        try await self.store.appendAudit(
            AuditEvent(
                .subjectLookedUp, at: self.time.now(), accountID: account.id, actor: `operator`, detail: client))
    }
}

extension AuditEvent.Kind {
    /// An operator has looked up what a client calls somebody, or whom it means; the detail is the client's identifier.
    static let subjectLookedUp = Self(rawValue: "subject-looked-up")
    /// An operator has listed what clients call somebody.
    static let subjectsListed = Self(rawValue: "subjects-listed")
}
