public import Records
public import Sealing
public import Settings
public import _Primitives

/// Services of personalised identities, the attributes of people, organisations and invitations, as operators manage
/// them. Every change is in the audit trail under the operator's name.
public struct IdentityDirectory: Sendable {
    /// The stores of the directory.
    public typealias Stores = AccountStore & AdditionalEmailStore & ClientStore & DeregistrationStore
        & IdentityHistoryStore & InviteStore
        & NoticeStore
        & OrganisationStore & PersonalInformationStore & ServiceStore

    let store: any Stores
    let links: InviteLinks
    /// `true` if the server can send mail to people.
    public let sendsMail: Bool
    let directory: AccountDirectory
    let time: TimeSource
    let random: RandomSource
    let limits: Limits

    /// Creates a directory of the personalised identities in a store. `accounts` manages the store's accounts,
    /// `sendsMail` is `true` if the server can send mail to people.
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

    /// Returns the account for an operator's text: a user name, or `id:` and an identifier. Throws `notFound`.
    public func account(_ written: String) async throws -> AccountRecord {
        try await self.directory.account(written: written)
    }

    func event(
        _ kind: AuditEvent.Kind, _ detail: String, account: String? = nil, by operator: String?
    ) -> AuditEvent {
        AuditEvent(kind, at: self.time.now(), accountID: account, actor: `operator`, detail: detail)
    }

    /// Runs a step of the store, and translates its refusals. `conflict` is the sentence for a conflict.
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
