/// A service as an account meets it, in one read.
public struct ServiceStanding: Sendable, Equatable {
    /// The service.
    public var profile: ServiceProfile
    /// The roles that the person has there, in the profile's order.
    public var roles: [ServiceRole]
    /// Whether somebody has said which roles the person has: an operator, or an invitation that was accepted.
    public var isKnown: Bool
    /// Whether the person is a member of the organisation whose members alone may come; `true` where there is none.
    public var isMember: Bool

    /// Describes how somebody stands at a service.
    public init(profile: ServiceProfile, roles: [ServiceRole], isKnown: Bool, isMember: Bool) {
        self.profile = profile
        self.roles = roles
        self.isKnown = isKnown
        self.isMember = isMember
    }

    /// Whether the person may come where only those may who were invited or given a role.
    public var isInvited: Bool { !self.profile.requiresInvitation || self.isKnown }
}

/// A service with whom it belongs to.
public struct ServiceRecord: Sendable, Equatable {
    /// The client's identifier, which is the service's.
    public var id: String
    /// What the operator has decided about it.
    public var profile: ServiceProfile

    /// Joins a profile with its client.
    public init(id: String, profile: ServiceProfile) {
        self.id = id
        self.profile = profile
    }
}

/// Of whom it is said which roles they have at a service.
public struct RoleEntry: Sendable, Equatable {
    /// Whose roles.
    public var accountID: String
    /// The roles, by their identifiers, in the profile's order; empty for somebody who has none.
    public var roles: [String]

    /// Says which roles somebody has.
    public init(accountID: String, roles: [String]) {
        self.accountID = accountID
        self.roles = roles
    }
}

/// Keeps which clients are services of personalised identities, and who has which role there.
///
/// Of somebody of whom nothing is said, the default roles are had. What is said is said in full: whoever is given a role has
/// those that they had and that one, and whoever loses the last has none, and not the default ones again.
public protocol ServiceStore: Sendable {
    /// A client's profile; `nil` for one that is no service.
    func serviceProfile(_ client: String) async throws -> ServiceProfile?

    /// All services, in the order of their clients' identifiers. There are no more than clients.
    func services() async throws -> [ServiceRecord]

    /// Makes a client a service, or changes one, with the audit event. `false` where there is no such client.
    ///
    /// One step with what follows: nobody has a role any more that the service has not, and where it asks for an attribute
    /// that it did not ask for before, nobody's choice of values counts any more.
    ///
    /// Throws ``StoreError/Code/notFound`` where the organisation of the profile is not there.
    func setServiceProfile(_ profile: ServiceProfile, client: String, audit: AuditEvent) async throws -> Bool

    /// Makes a client no service any more, with everything that was said of people there. `false` where it is none.
    func removeServiceProfile(client: String, audit: AuditEvent) async throws -> Bool

    /// How an account stands at a service; `nil` where there is no such account, or the client is no service.
    func standing(accountID: String, service: String) async throws -> ServiceStanding?

    /// Gives an account a role at a service, beside those that it has. Says whether anything has changed: who has the role
    /// as a default one alone is given it.
    ///
    /// Throws ``StoreError/Code/notFound`` where there is no such account, service or role.
    func assignRole(_ role: String, accountID: String, service: String, audit: AuditEvent) async throws -> Bool

    /// Takes a role at a service away from an account. Says whether it had it. Throws as ``assignRole(_:accountID:service:audit:)``.
    func revokeRole(_ role: String, accountID: String, service: String, audit: AuditEvent) async throws -> Bool

    /// Forgets what is said of an account at a service: from now on it has the default roles. `false` where nothing was.
    func resetRoles(accountID: String, service: String, audit: AuditEvent) async throws -> Bool

    /// The services at which something is said of an account: which roles it has, or which values they get.
    func services(ofAccount id: String) async throws -> [String]

    /// Of whom it is said which roles they have at a service, in the order of their identifiers, after the account `after`
    /// (from the start where `nil`), at most `limit`.
    func roleEntries(service: String, after: String?, limit: Int) async throws -> [RoleEntry]
}

extension AuditEvent.Kind {
    /// A client was made a service of personalised identities, or what it is changed; the detail is its identifier.
    public static let serviceChanged = Self(rawValue: "service-changed")
    /// A client is no service of personalised identities any more; the detail is its identifier.
    public static let serviceRemoved = Self(rawValue: "service-removed")
    /// An account was given a role at a service; the detail is the service and the role.
    public static let roleAssigned = Self(rawValue: "role-assigned")
    /// A role at a service was taken from an account; the detail is the service and the role.
    public static let roleRevoked = Self(rawValue: "role-revoked")
    /// An account has the default roles at a service again; the detail is the service.
    public static let rolesReset = Self(rawValue: "roles-reset")
}
