public import Records
public import _Primitives

/// The facts about a person that the provider gives to clients.
public struct Person: Sendable, Equatable {
    /// The name that the person signs in with (`preferred_username`). A person from another provider may have none.
    public let username: String?
    /// The name that people read (`name`).
    public let displayName: String?
    /// The person's e-mail address (`email`, `email_verified`).
    public let email: AccountEmail?
    /// The person's phone number (`phone_number`, `phone_number_verified`).
    public let phone: AccountPhone?
    /// The person's postal address (`address`).
    public let address: PostalAddress?
    /// The person's other claims of the scope `profile`, by the names of the claims.
    public let profile: PersonProfile?
    /// The time of the last change to these facts (`updated_at`); `nil` if the time is not known.
    public let updatedAt: Timestamp?

    /// Creates a person.
    public init(
        username: String?, displayName: String?, email: AccountEmail? = nil, phone: AccountPhone? = nil,
        address: PostalAddress? = nil, profile: PersonProfile? = nil, updatedAt: Timestamp? = nil
    ) {
        self.profile = profile
        self.updatedAt = updatedAt
        self.phone = phone
        self.address = address
        self.username = username
        self.displayName = displayName
        self.email = email
    }
}

extension Person {
    /// The name by which the person recognises their own account on a page.
    var shownName: String {
        self.username ?? self.displayName ?? self.email?.address ?? "somebody without a name"
    }
}

/// The directory of the people behind the accounts.
public protocol PersonDirectory: Sendable {
    /// Returns the person of an account that may sign in; `nil` if the account is unknown, locked or deleted.
    func person(account: String) async throws -> Person?

    /// Returns the claims about a person that the person has confirmed for a client, by the names of the claims; `nil`
    /// for a client that does not itself ask people for confirmation.
    func confirmedClaims(account: String, client: String) async throws -> JSONObject?

    /// `true` if a client takes an account that has authenticated in that role, or in none.
    ///
    /// A client that is no service of personalised identities takes every account. A service takes an account that has
    /// come in a role which the account still has at the service, and that may still use the service.
    func takes(_ account: String, in role: RoleAtService?, at client: String) async throws -> Bool
}

extension PersonDirectory {
    /// Returns `nil`: most directories know nothing but names.
    public func confirmedClaims(account: String, client: String) async throws -> JSONObject? { nil }
    /// Returns `true`: most directories know no services.
    public func takes(_ account: String, in role: RoleAtService?, at client: String) async throws -> Bool { true }
}
