public import PersonalInformation
import UAF
import _Primitives

/// What makes a client of OpenID Connect a service of personalised identities: as what people can come, what it wants to
/// know of them, and who may come at all.
///
/// Whoever has one has kept its rules: there is a role, no two have the same identifier, and each can be met.
public struct ServiceProfile: Sendable, Equatable {
    /// How much a service needs an attribute.
    public enum Requirement: String, Sendable, CaseIterable {
        /// Without it nobody gets in.
        case required
        /// It does without.
        case optional
    }

    /// The roles, in the order in which people are offered them. At least one.
    public let roles: [ServiceRole]
    /// What it wants to know of people.
    public let attributes: [PersonalAttribute: Requirement]
    /// Where its pages may be that people sign in from; empty for everywhere its addresses are.
    public let loginDomains: [LoginDomain]
    /// Whether anybody can sign in to it by a personalised identity.
    public var isActive = true
    /// The organisation, by its identifier, whose members alone may come.
    public var membershipOrganisation: String?
    /// Whether only those may come whom an operator has invited or given a role.
    public var requiresInvitation = false
    /// Whether whoever has no identity yet can have an invitation to it mailed to their address. Where not, operators alone
    /// invite.
    public var takesNewcomers = false
    /// Whether its app may sign its own person in, without a code on another screen.
    public var allowsInApp = false
    /// Whether it may have people's devices asked.
    public var allowsPush = false
    /// Whether people of whom nobody has said otherwise have the default roles. Where not, they have none.
    public var usesDefaultRoles = true

    /// A profile of an active service. Throws ``ServiceProfileError``: `noRole`, `tooMany`, `repeatedRole`,
    /// `invalidDomain` for a domain that is there twice.
    public init(
        roles: [ServiceRole], attributes: [PersonalAttribute: Requirement] = [:], loginDomains: [LoginDomain] = []
    ) throws(ServiceProfileError) {
        guard !roles.isEmpty else { throw ServiceProfileError(.noRole, "a service has at least one role") }
        guard roles.count <= Limits.Fixed.rolesPerService else {
            throw ServiceProfileError(.tooMany, "a service has at most \(Limits.Fixed.rolesPerService) roles")
        }
        var ids: Set<ExactText> = []
        for role in roles where !ids.insert(ExactText(role.id)).inserted {
            throw ServiceProfileError(.repeatedRole, "there are two roles \(role.id)")
        }
        guard loginDomains.count <= Limits.Fixed.loginDomains else {
            throw ServiceProfileError(.tooMany, "a service has at most \(Limits.Fixed.loginDomains) login domains")
        }
        guard Set(loginDomains).count == loginDomains.count else {
            throw ServiceProfileError(.invalidDomain, "a login domain is there twice")
        }
        self.roles = roles
        self.attributes = attributes
        self.loginDomains = loginDomains
    }

    /// The role of that identifier.
    public func role(_ id: String) -> ServiceRole? { self.roles.first { $0.id.hasSameBytes(as: id) } }

    /// The roles that somebody has of whom nobody has said otherwise.
    public var defaultRoles: [ServiceRole] { self.usesDefaultRoles ? self.roles.filter(\.isDefault) : [] }

    /// Whether somebody whom no operator has invited can come in that role now.
    public func takesNewcomer(inRole id: String) -> Bool {
        self.takesNewcomers && self.obstacleOfNewcomers == nil
            && self.defaultRoles.contains { $0.id.hasSameBytes(as: id) }
    }

    /// What stands between a newcomer and the service, in words for its operator; `nil` where nothing does.
    var obstacleOfNewcomers: String? {
        if self.requiresInvitation { return "it takes only those who were invited" }
        if self.membershipOrganisation != nil { return "it takes only members of an organisation" }
        if self.defaultRoles.isEmpty { return "they would have no role: make one the default" }
        // Whoever is new has nothing that somebody has verified, and cannot say it on the way.
        let needed = self.requestedAttributes.first { $0.requirement == .required && $0.attribute.needsVerification }
        return needed.map { "nobody has verified their \($0.attribute.rawValue) yet: make it optional" }
    }

    /// What it wants to know, in the order in which attributes are listed everywhere.
    public var requestedAttributes: [(attribute: PersonalAttribute, requirement: Requirement)] {
        PersonalAttribute.allCases.compactMap { attribute in self.attributes[attribute].map { (attribute, $0) } }
    }

    /// Whether people may sign in from a page of that host; without any login domains, from every one.
    public func takes(host: String) -> Bool {
        self.loginDomains.isEmpty || self.loginDomains.contains { $0.includes(host: host) }
    }
}
