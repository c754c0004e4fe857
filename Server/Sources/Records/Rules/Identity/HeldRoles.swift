package import PersonalInformation
import _Primitives

/// The roles of an account at a service, as a change of a single role finds the roles.
package struct HeldRoles: Sendable, Equatable {
    /// The reason of the error for a change of a role that nobody can have.
    package static let missing = "an account, a service or its role"

    private let profile: ServiceProfile
    private let roles: [String]
    private let isKnown: Bool

    /// Makes the roles of an account.
    ///
    /// - Parameter entry: The identifiers of the roles that were set for the account; `nil` for an account with the
    ///   default roles.
    package init(profile: ServiceProfile, entry: [String]?) {
        self.profile = profile
        self.roles = entry ?? profile.defaultRoles.map(\.id)
        self.isKnown = entry != nil
    }

    /// Returns the profile of a service that has a role. Throws `notFound` if the client is no service, or the service
    /// does not have the role.
    package static func profile(
        _ found: ServiceProfile?, naming role: String
    ) throws(StoreError) -> ServiceProfile {
        guard let found, found.role(role) != nil else { throw StoreError(.notFound, Self.missing) }
        return found
    }

    /// Returns the account's entry with one role more, in the profile's order. Returns `nil` if the role was set
    /// before. A default role becomes a role of the entry.
    package func adding(_ role: String) -> [String]? {
        guard !self.isKnown || !self.roles.containsBytes(of: role) else { return nil }
        return self.ordered(self.roles + [role])
    }

    /// Returns the account's entry with one role less, in the profile's order. Returns `nil` if the account does not
    /// have the role.
    package func removing(_ role: String) -> [String]? {
        guard self.roles.containsBytes(of: role) else { return nil }
        return self.ordered(self.roles.filter { !$0.hasSameBytes(as: role) })
    }

    private func ordered(_ roles: [String]) -> [String] { self.profile.roles.map(\.id).filter(roles.containsBytes) }
}

extension ServiceStanding {
    /// Describes a person's standing by the stored rows.
    ///
    /// - Parameters:
    ///   - entry: The identifiers of the roles that were set for the person; `nil` for a person with the default roles.
    ///   - isMember: `true` for a member of the profile's organisation; `nil` for a profile without an organisation.
    package init(profile: ServiceProfile, entry: [String]?, isMember: Bool?) {
        self.init(
            profile: profile,
            roles: entry.map { ids in profile.roles.filter { ids.containsBytes(of: $0.id) } } ?? profile.defaultRoles,
            isKnown: entry != nil, isMember: isMember ?? true)
    }
}

/// The data beside the activation and the session that the terms of the session need.
extension IdentityTerms {
    /// The session's service; `nil` without a session, and for a session without a service.
    package var service: String? { self.ceremony?.detail.client }

    /// The session's service, and the attributes that the service requests. `nil` if nothing is requested: then the
    /// terms have neither values nor a choice of values.
    package var requested: (service: String, attributes: Set<PersonalAttribute>)? {
        guard let service, let profile = self.standing?.profile, !profile.attributes.isEmpty else { return nil }
        return (service, Set(profile.attributes.keys))
    }
}

extension RoleEntry {
    /// Reads the identifiers of roles from their stored text, a JSON array. Throws `corrupt` for any other text.
    package static func roles(kept text: String) throws(StoreError) -> [String] {
        guard let roles = try? JSONObject([("a", JSON(parsing: text))]).strings("a") else {
            throw StoreError(.corrupt, "the roles of an account")
        }
        return roles
    }
}
