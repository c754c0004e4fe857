public import _Primitives

/// Keeps the other providers by which people can sign in.
public protocol UpstreamProviderStore: Sendable {
    /// Keeps a new provider, with the audit event. Throws ``StoreError/Code/conflict`` where there is one of its name or
    /// there are `limit` already.
    func addProvider(_ provider: UpstreamProvider, limit: Int, audit: AuditEvent) async throws

    /// The provider of that name.
    func upstreamProvider(_ name: String) async throws -> UpstreamProvider?

    /// All of them, as they were added.
    func upstreamProviders() async throws -> [UpstreamProvider]

    /// Changes a provider in one step, with the audit events that `change` gives. Its name, kind and issuer stay. `nil`
    /// where there is none.
    func changeProvider(
        _ name: String, change: @escaping @Sendable (inout UpstreamProvider) throws -> [AuditEvent]
    ) async throws -> UpstreamProvider?

    /// Deletes a provider with its links, and ends all that people have authenticated by it. Says whether there was one.
    func removeProvider(_ name: String, audit: AuditEvent) async throws -> Bool
}

/// Keeps who is who at other providers, and the ways of browsers there and back.
public protocol UpstreamStore: UpstreamProviderStore {
    /// Begins a trip, in place of any other of the same request to the same provider, whose state is worth nothing from
    /// then on. Throws ``StoreError/Code/notFound`` where the request or the provider is gone.
    func begin(_ trip: UpstreamTrip) async throws

    /// Whether a trip can be taken as ``takeTrip(stateDigest:provider:browserDigest:at:)`` takes it, and of which request it
    /// is; `nil` where it cannot. Takes nothing.
    func requestOfTrip(
        stateDigest: [UInt8], provider: String, browserDigest: [UInt8], at moment: Timestamp
    ) async throws -> String?

    /// Takes a trip to a provider by the digest of its state, for the browser that started its request, where it has not
    /// ended at `moment`.
    ///
    /// Must be atomic: of any number of calls for one state one gets it. Another browser, or one that comes as from another
    /// provider, gets nothing, and uses up nothing.
    func takeTrip(
        stateDigest: [UInt8], provider: String, browserDigest: [UInt8], at moment: Timestamp
    ) async throws -> UpstreamTrip?

    /// The account that is linked to an identity.
    func account(linkedTo identity: UpstreamIdentity) async throws -> String?

    /// Keeps an arrival, and finishes the sign-in where its person is known here, with the audit events and the notice of a
    /// sign-in; or where `newcomer` says who is to be added for it. Gives the account; `nil` where the identity waits to be
    /// connected with one.
    ///
    /// Must be one step: of two arrivals of one identity at once one adds an account. Throws
    /// ``StoreError/Code/notFound`` where the request is gone.
    ///
    /// - Parameters:
    ///   - newcomer: The account and the link for somebody who comes for the first time, with what the trail says of them.
    ///   - told: What the trail and the person's devices are told of a sign-in of that account.
    func arrive(
        _ arrival: UpstreamArrival, at moment: Timestamp, newcomer: UpstreamNewcomer?,
        told: @escaping @Sendable (_ account: String) -> (AuditEvent, NoticeRecord)
    ) async throws -> String?

    /// The sign-in that has finished for an authorization request, the one that finished last.
    func upstreamSignIn(request: String) async throws -> UpstreamSignIn?

    /// Notes that the person wants the identity connected that waits for that request. Says whether there is one.
    func wantLink(request: String, provider: String) async throws -> Bool

    /// What waits to be connected for that request because its person has asked for it; `nil` for nothing.
    func wantedLink(request: String) async throws -> WantedLink?

    /// Forgets that it was asked for.
    func forgetWantedLink(request: String, provider: String) async throws

    /// Connects the identity that waits for that request, and whose connection its person has asked for, with an account. An
    /// identity that is linked already stays as it is; an account that is locked, or has `limit` links, gets none. Says why
    /// there is no link, `nil` where there is one; what was asked for is over either way.
    ///
    /// - Parameter link: Makes the link of an identity, what the trail says of it, and what the person's devices are told.
    func connect(
        request: String, provider: String, account: String, limit: Int,
        link: @escaping @Sendable (UpstreamIdentity) -> (UpstreamLink, AuditEvent, NoticeRecord)
    ) async throws -> LinkRefusal?

    /// The links of an account, the oldest first.
    func links(ofAccount id: String) async throws -> [UpstreamLink]

    /// Deletes a link, and ends what the account has authenticated by its provider. Says whether there was one.
    func removeLink(_ id: String, ofAccount account: String, audit: AuditEvent) async throws -> Bool
}

/// Why somebody of another provider was not connected with an account.
public enum LinkRefusal: String, Sendable, Equatable, CaseIterable {
    /// The identity is another account's.
    case taken
    /// The account has as many links as it may.
    case full
    /// Nothing waits any more, or the account is locked.
    case over
}

/// What waits to be connected with an account.
public struct WantedLink: Sendable, Equatable {
    /// The provider.
    public let provider: String
    /// What people call it.
    public let title: String
    /// When its person came back from there.
    public let arrivedAt: Timestamp

    /// A wish.
    public init(provider: String, title: String, arrivedAt: Timestamp) {
        self.provider = provider
        self.title = title
        self.arrivedAt = arrivedAt
    }
}

/// Who is added when somebody comes from another provider for the first time.
public struct UpstreamNewcomer: Sendable, Equatable {
    /// The account.
    public let account: AccountRecord
    /// Its link.
    public let link: UpstreamLink
    /// What the trail says.
    public let audit: [AuditEvent]

    /// A newcomer.
    public init(account: AccountRecord, link: UpstreamLink, audit: [AuditEvent]) {
        self.account = account
        self.link = link
        self.audit = audit
    }
}

extension AuditEvent.Kind {
    // What a restore looks for in the trail.

    /// Another provider was set up; the detail is its name.
    public static let providerAdded = Self(rawValue: "provider-added")
    /// What is kept of another provider was changed; the detail is its name and what it was.
    public static let providerChanged = Self(rawValue: "provider-changed")
    /// Another provider was taken away, with its links; the detail is its name.
    public static let providerRemoved = Self(rawValue: "provider-removed")
    /// An account was connected with an identity at another provider; the detail is the provider and the link.
    public static let identityLinked = Self(rawValue: "identity-linked")
    /// Such a connection was ended; the detail is the link.
    public static let identityUnlinked = Self(rawValue: "identity-unlinked")
}
