public import _Primitives

/// Keeps the other providers by which people can sign in.
public protocol UpstreamProviderStore: Sendable {
    /// Keeps a new provider, with the audit event. Throws ``StoreError/Code/conflict`` if a provider has the same name
    /// or `limit` providers exist already.
    func addProvider(_ provider: UpstreamProvider, limit: Int, audit: AuditEvent) async throws

    /// Returns the provider with the name; `nil` if none exists.
    func upstreamProvider(_ name: String) async throws -> UpstreamProvider?

    /// Returns all providers, in the order of their addition.
    func upstreamProviders() async throws -> [UpstreamProvider]

    /// Changes a provider in a single step, with the audit events that `change` returns. Its name, kind and issuer
    /// stay. Returns `nil` if the provider does not exist.
    func changeProvider(
        _ name: String, change: @escaping @Sendable (inout UpstreamProvider) throws -> [AuditEvent]
    ) async throws -> UpstreamProvider?

    /// Deletes a provider with its links, and ends all authentications by the provider. Returns `true` if the provider
    /// existed.
    func removeProvider(_ name: String, audit: AuditEvent) async throws -> Bool
}

/// Keeps the identities of people at other providers, and the trips of browsers there and back.
public protocol UpstreamStore: UpstreamProviderStore {
    /// Begins a trip, in place of any other trip of the same request to the same provider. The state of the earlier
    /// trip is worth nothing from then on, and the earlier arrival from this provider for the request is forgotten.
    /// Throws ``StoreError/Code/notFound`` if the request or the provider is gone.
    func begin(_ trip: UpstreamTrip) async throws

    /// Returns the request of a trip that ``takeTrip(stateDigest:provider:browserDigest:at:)`` would take; `nil` if the
    /// trip cannot be taken. Takes nothing.
    func requestOfTrip(
        stateDigest: [UInt8], provider: String, browserDigest: [UInt8], at moment: Timestamp
    ) async throws -> String?

    /// Takes a trip to a provider by the digest of its state, for the browser that started its request, if the trip has
    /// not ended at `moment`.
    ///
    /// Must be atomic: of any number of calls for the same state one gets the trip. Another browser, or a browser that
    /// claims to come from another provider, gets nothing, and uses up nothing.
    func takeTrip(
        stateDigest: [UInt8], provider: String, browserDigest: [UInt8], at moment: Timestamp
    ) async throws -> UpstreamTrip?

    /// Returns the account linked to an identity; `nil` without a link.
    func account(linkedTo identity: UpstreamIdentity) async throws -> String?

    /// Ends the trip of an arrival. If the person is known here, or `newcomer` gives an account to add, the sign-in is
    /// finished (``FinishedSignInStore``), with the audit events and the notice of a sign-in. Returns the account; `nil`
    /// if the identity waits to be connected with an account.
    ///
    /// Must be a single step: of two arrivals of one identity at once one adds an account. Throws
    /// ``StoreError/Code/notFound`` if the request or the provider is gone, and ``StoreError/Code/forbidden`` if the
    /// account is locked.
    ///
    /// - Parameters:
    ///   - newcomer: The account and the link for a person who comes for the first time, with the audit events about
    ///     the person.
    ///   - told: Makes the audit event and the notice for the person's devices about a sign-in of that account.
    func arrive(
        _ arrival: UpstreamArrival, at moment: Timestamp, newcomer: UpstreamNewcomer?,
        told: @escaping @Sendable (_ account: String) -> (AuditEvent, NoticeRecord)
    ) async throws -> String?

    /// Notes the person's wish to connect the waiting identity of a request. Returns `true` if an identity waits.
    func wantLink(request: String, provider: String) async throws -> Bool

    /// Returns the waiting identity of a request, if its person wants to connect it; `nil` for none.
    func wantedLink(request: String) async throws -> WantedLink?

    /// Forgets the wish to connect an identity.
    func forgetWantedLink(request: String, provider: String) async throws

    /// Connects the waiting identity of a request with an account, if its person has requested the connection. An
    /// identity with a link stays as it is; if the link is this account's, the result is `nil`. An account that is
    /// locked, or has `limit` links, gets no link. Returns the reason without a link, and `nil` with a link. The wish
    /// is over either way.
    ///
    /// - Parameter link: Makes the link of an identity, the audit event, and the notice for the person's devices.
    func connect(
        request: String, provider: String, account: String, limit: Int,
        link: @escaping @Sendable (UpstreamIdentity) -> (UpstreamLink, AuditEvent, NoticeRecord)
    ) async throws -> LinkRefusal?

    /// Returns the links of an account, the oldest first.
    func links(ofAccount id: String) async throws -> [UpstreamLink]

    /// Deletes a link, and ends the account's authentications by the link's provider. Returns `true` if the link
    /// existed.
    func removeLink(_ id: String, ofAccount account: String, audit: AuditEvent) async throws -> Bool
}

/// The reason why a person of another provider was not connected with an account.
public enum LinkRefusal: String, Sendable, Equatable, CaseIterable {
    /// The identity belongs to another account.
    case taken
    /// The account has the largest number of links.
    case full
    /// No identity waits any more, or the account is gone or locked.
    case over
}

/// An identity that waits to be connected with an account.
public struct WantedLink: Sendable, Equatable {
    /// The provider.
    public let provider: String
    /// The name of the provider that people see.
    public let title: String
    /// The moment when the person came back from the provider.
    public let arrivedAt: Timestamp

    /// Makes a wish of these values.
    public init(provider: String, title: String, arrivedAt: Timestamp) {
        self.provider = provider
        self.title = title
        self.arrivedAt = arrivedAt
    }
}

/// The account that is added when a person comes from another provider for the first time.
public struct UpstreamNewcomer: Sendable, Equatable {
    /// The account.
    public let account: AccountRecord
    /// The account's link.
    public let link: UpstreamLink
    /// The audit events.
    public let audit: [AuditEvent]

    /// Makes a newcomer of these values.
    public init(account: AccountRecord, link: UpstreamLink, audit: [AuditEvent]) {
        self.account = account
        self.link = link
        self.audit = audit
    }
}

extension AuditEvent.Kind {
    // The kinds that a restore looks for in the trail.

    /// Another provider was set up; the detail is its name.
    public static let providerAdded = Self(rawValue: "provider-added")
    /// The settings of another provider were changed; the detail is its name and the changed setting.
    public static let providerChanged = Self(rawValue: "provider-changed")
    /// Another provider was removed, with its links; the detail is its name.
    public static let providerRemoved = Self(rawValue: "provider-removed")
    /// An account was connected with an identity at another provider; the detail is the provider and the link.
    public static let identityLinked = Self(rawValue: "identity-linked")
    /// The connection of an account with an identity was ended; the detail is the link.
    public static let identityUnlinked = Self(rawValue: "identity-unlinked")
}
