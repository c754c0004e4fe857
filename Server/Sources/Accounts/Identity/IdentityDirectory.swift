public import Store
public import _Primitives

/// Services of personalised identities, what people have of attributes, organisations and invitations, as operators manage
/// them. Every change is in the audit trail under the operator's name.
public struct IdentityDirectory: Sendable {
    /// What it is kept in.
    public typealias Stores = AccountStore & AdditionalEmailStore & ClientStore & DeregistrationStore
        & IdentityHistoryStore & InviteStore
        & NoticeStore
        & OrganisationStore & PersonalInformationStore & ServiceStore

    let store: any Stores
    let links: InviteLinks
    /// Whether people can be sent mail.
    public let sendsMail: Bool
    let directory: AccountDirectory
    let time: TimeSource
    let random: RandomSource
    let limits: Limits

    /// Manages what a store has of personalised identities. `accounts` manages its accounts, `sendsMail` says whether
    /// people can be sent mail.
    public init(
        store: any Stores, accounts: AccountDirectory, sealing: Sealing, sendsMail: Bool = false,
        time: TimeSource = .system,
        random: RandomSource = .system, limits: Limits = Limits()
    ) {
        self.store = store
        self.links = InviteLinks(sealing: sealing)
        self.sendsMail = sendsMail
        self.directory = accounts
        self.time = time
        self.random = random
        self.limits = limits
    }

    /// The account that an operator means by a user name, or by `id:` and its identifier. Throws `notFound`.
    public func account(_ written: String) async throws -> AccountRecord {
        try await self.directory.account(written: written)
    }

    func event(
        _ kind: AuditEvent.Kind, _ detail: String, account: String? = nil, by operator: String?
    ) -> AuditEvent {
        AuditEvent(kind, at: self.time.now(), accountID: account, actor: `operator`, detail: detail)
    }

    /// What a store does, with its refusals in words. `conflict` is the sentence for what stands against it.
    func step<Result>(conflict: String, _ body: () async throws -> Result) async throws -> Result {
        do { return try await body() } catch let error as StoreError {
            switch error.code {
            case .notFound: throw AccountError(.notFound)
            case .conflict: throw AccountError(.conflict, conflict)
            default: throw error
            }
        }
    }
}
