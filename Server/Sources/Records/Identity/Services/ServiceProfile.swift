public import PersonalInformation
import Settings
import UAF
import _Primitives

/// The settings that make a client of OpenID Connect a service of personalised identities: the roles of its people, the
/// attributes that it requests, and the conditions for access.
///
/// An existing profile keeps its rules: it has a role, no two roles have the same identifier, and each role can be met.
public struct ServiceProfile: Sendable, Equatable {
    /// The importance of an attribute for a service.
    public enum Requirement: String, Sendable, CaseIterable {
        /// Without the attribute a person gets no access.
        case required
        /// The service does without the attribute.
        case optional
    }

    /// The roles, in the order in which people are offered them. At least one.
    public let roles: [ServiceRole]
    /// The attributes that the service requests of people.
    public let attributes: [PersonalAttribute: Requirement]
    /// The domains of the pages from which people sign in; empty to allow pages of every host.
    public let loginDomains: [LoginDomain]
    /// `true` if people can sign in to the service by a personalised identity.
    public var isActive = true
    /// The organisation, by its identifier, whose members alone may use the service.
    public var membershipOrganisation: String?
    /// `true` if the service is only for people whom an operator has invited or given a role.
    public var requiresInvitation = false
    /// `true` if a person without an identity can have an invitation to the service mailed to their address. Otherwise
    /// only operators invite.
    public var takesNewcomers = false
    /// `true` if the service's app may sign its own person in, without a code on another screen.
    public var allowsInApp = false
    /// `true` if the service may have people's devices asked.
    public var allowsPush = false
    /// `true` if people without a role entry have the default roles. Otherwise they have no role.
    public var usesDefaultRoles = true

    /// Makes a profile of an active service. Throws ``ServiceProfileError``: `noRole`, `tooMany`, `repeatedRole`,
    /// `invalidDomain` for a domain that is listed twice.
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

    /// Returns the role with the identifier; `nil` if the profile has no such role.
    public func role(_ id: String) -> ServiceRole? { self.roles.first { $0.id.hasSameBytes(as: id) } }

    /// The roles of a person without a role entry.
    public var defaultRoles: [ServiceRole] { self.usesDefaultRoles ? self.roles.filter(\.isDefault) : [] }

    /// Returns `true` if a person without an operator's invitation can sign in with that role now.
    public func takesNewcomer(inRole id: String) -> Bool {
        self.takesNewcomers && self.obstacleOfNewcomers == nil
            && self.defaultRoles.contains { $0.id.hasSameBytes(as: id) }
    }

    /// The obstacle between a newcomer and the service, in words for its operator; `nil` for no obstacle.
    var obstacleOfNewcomers: String? {
        if self.requiresInvitation { return "it takes only those who were invited" }
        if self.membershipOrganisation != nil { return "it takes only members of an organisation" }
        if self.defaultRoles.isEmpty { return "they would have no role: make one the default" }
        // A newcomer has no verified values, and cannot verify a value on the way.
        let needed = self.requestedAttributes.first { $0.requirement == .required && $0.attribute.needsVerification }
        return needed.map { "nobody has verified their \($0.attribute.rawValue) yet: make it optional" }
    }

    /// The requested attributes, in the order in which attributes are listed everywhere.
    public var requestedAttributes: [(attribute: PersonalAttribute, requirement: Requirement)] {
        PersonalAttribute.allCases.compactMap { attribute in self.attributes[attribute].map { (attribute, $0) } }
    }

    /// Returns `true` if people may sign in from a page of that host. Without any login domains, every host is allowed.
    public func takes(host: String) -> Bool {
        self.loginDomains.isEmpty || self.loginDomains.contains { $0.includes(host: host) }
    }
}
