import _Primitives

/// The effect of another profile of a service on the rows about the service's people.
package struct ServiceProfileChange: Sendable, Equatable {
    /// `true` if all people's choices of values for the service end: the service requests a further attribute, and
    /// nobody has agreed to give the attribute.
    package let endsSelections: Bool
    /// The identifiers of the roles that the service no longer has. The roles are taken from every account, and open
    /// invitations to the roles are revoked.
    package let removedRoles: [String]

    /// An effect of the change.
    package enum Effect: Sendable, Equatable {
        /// All people's choices of values for the service end.
        case endedSelections
        /// These roles are taken from every account, and open invitations to the roles are revoked.
        case removedRoles([String])
    }

    /// The effects of the change, in their order.
    package var effects: [Effect] {
        var effects: [Effect] = []
        if self.endsSelections { effects.append(.endedSelections) }
        if !self.removedRoles.isEmpty { effects.append(.removedRoles(self.removedRoles)) }
        return effects
    }

    /// Compares a profile with the former profile of the same service.
    package init(from former: ServiceProfile, to profile: ServiceProfile) {
        self.endsSelections = profile.attributes.keys.contains { former.attributes[$0] == nil }
        self.removedRoles = former.roles.map(\.id).filter { profile.role($0) == nil }
    }
}
