/// A service from the view of an account, in a single read.
public struct ServiceStanding: Sendable, Equatable {
    /// The service.
    public var profile: ServiceProfile
    /// The roles that the person has at the service, in the profile's order.
    public var roles: [ServiceRole]
    /// `true` if the person's roles were set: by an operator, or by an accepted invitation.
    public var isKnown: Bool
    /// `true` if the person is a member of the organisation whose members alone may use the service, or if the service
    /// has no such organisation.
    public var isMember: Bool

    /// Describes a person's standing at a service.
    public init(profile: ServiceProfile, roles: [ServiceRole], isKnown: Bool, isMember: Bool) {
        self.profile = profile
        self.roles = roles
        self.isKnown = isKnown
        self.isMember = isMember
    }

    /// `true` if the person may use the service as far as invitations go: the service requires no invitation, or the
    /// person was invited or given a role.
    public var isInvited: Bool { !self.profile.requiresInvitation || self.isKnown }
}

/// A service: the profile of a client, with the client's identifier.
public struct ServiceRecord: Sendable, Equatable {
    /// The client's identifier, which is the service's.
    public var id: String
    /// The operator's decisions about the service.
    public var profile: ServiceProfile

    /// Joins a profile with its client.
    public init(id: String, profile: ServiceProfile) {
        self.id = id
        self.profile = profile
    }
}

/// The roles set for a person at a service.
public struct RoleEntry: Sendable, Equatable {
    /// The person's account.
    public var accountID: String
    /// The roles, by their identifiers, in the profile's order; empty for a person without a role.
    public var roles: [String]

    /// Makes an entry of a person's roles.
    public init(accountID: String, roles: [String]) {
        self.accountID = accountID
        self.roles = roles
    }
}

/// Keeps which clients are services of personalised identities, and the roles of people at these services.
///
/// A person without an entry has the service's default roles. An entry is complete: adding a role to a person keeps the
/// earlier roles, the default roles included. Removing the last role leaves the person without roles, and the default
/// roles do not come back.
public protocol ServiceStore: Sendable {
    /// Returns a client's profile; `nil` for a client that is no service.
    func serviceProfile(_ client: String) async throws -> ServiceProfile?

    /// Returns all services, in the order of their clients' identifiers. There are no more services than clients.
    func services() async throws -> [ServiceRecord]

    /// Makes a client a service, or changes a service, with the audit event. Returns `false` if the client does not
    /// exist.
    ///
    /// The same step removes roles of people that the service no longer has, and revokes open invitations to these
    /// roles. If the service requests an attribute that it did not request before, the step also ends all people's
    /// choices of values for the service.
    ///
    /// Throws ``StoreError/Code/notFound`` if the organisation of the profile does not exist.
    func setServiceProfile(_ profile: ServiceProfile, client: String, audit: AuditEvent) async throws -> Bool

    /// Makes a service an ordinary client again. Deletes its invitations, with the provisional accounts of open
    /// invitations, and all entries about people at the service. Returns `false` if the client is no service.
    func removeServiceProfile(client: String, audit: AuditEvent) async throws -> Bool

    /// Returns an account's standing at a service; `nil` if the account does not exist, or the client is no service.
    func standing(accountID: String, service: String) async throws -> ServiceStanding?

    /// Gives an account a role at a service, beside its other roles. Returns `true` if anything has changed. A person
    /// who has the role only as a default role is given the role.
    ///
    /// Throws ``StoreError/Code/notFound`` if the account, the service or the role does not exist.
    func assignRole(_ role: String, accountID: String, service: String, audit: AuditEvent) async throws -> Bool

    /// Removes a role at a service from an account. Returns `true` if the account had the role. Throws as
    /// ``assignRole(_:accountID:service:audit:)``.
    func revokeRole(_ role: String, accountID: String, service: String, audit: AuditEvent) async throws -> Bool

    /// Forgets an account's entry at a service: from now on the account has the default roles. Returns `false` if there
    /// was no entry.
    func resetRoles(accountID: String, service: String, audit: AuditEvent) async throws -> Bool

    /// Returns the services that keep something about an account: the roles of the account, or the values that the
    /// services get.
    func services(ofAccount id: String) async throws -> [String]

    /// Returns the role entries at a service, in the order of the accounts' identifiers, after the account `after`
    /// (`nil` for the start), at most `limit`.
    func roleEntries(service: String, after: String?, limit: Int) async throws -> [RoleEntry]
}

extension AuditEvent.Kind {
    /// A client was made a service of personalised identities, or the service was changed; the detail is its
    /// identifier.
    public static let serviceChanged = Self(rawValue: "service-changed")
    /// A client is no service of personalised identities any more; the detail is its identifier.
    public static let serviceRemoved = Self(rawValue: "service-removed")
    /// An account was given a role at a service; the detail is the service and the role.
    public static let roleAssigned = Self(rawValue: "role-assigned")
    /// A role at a service was removed from an account; the detail is the service and the role.
    public static let roleRevoked = Self(rawValue: "role-revoked")
    /// An account has the default roles at a service again; the detail is the service.
    public static let rolesReset = Self(rawValue: "roles-reset")
}
