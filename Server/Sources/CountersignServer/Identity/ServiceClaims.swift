import PersonalInformation
import Store
import _Primitives

/// What a service of personalised identities is told of a person: the values that the person has confirmed for it, and
/// nothing beside.
struct ServiceClaims: Sendable {
    let store: any ServiceStore & PersonalInformationStore

    /// As `PersonDirectory` has it. Cost: one query.
    func takes(_ account: String, in role: RoleAtService?, at client: String) async throws -> Bool {
        guard let role, role.service.hasSameBytes(as: client) else {
            return try await self.store.serviceProfile(client) == nil
        }
        guard let standing = try await self.store.standing(accountID: account, service: client) else { return false }
        return standing.profile.isActive && standing.isMember && standing.isInvited
            && standing.roles.contains { $0.id.hasSameBytes(as: role.role) }
    }

    /// The claims of an account at a service; `nil` for a client that is none.
    ///
    /// Cost: one query for a client that is none, else four.
    func claims(account: String, client: String) async throws -> JSONObject? {
        guard let profile = try await self.store.serviceProfile(client) else { return nil }
        let selection = try await self.store.attributeSelection(accountID: account, service: client)
            .filter { profile.attributes[$0.key] != nil }
        guard !selection.isEmpty else { return [:] }
        let values = try await self.store.personalValues(selection, accountID: account)
        let verified = try await self.store.personalAliases(accountID: account, attributes: Set(values.keys))
            .filter(\.isVerified)
        var claims: JSONObject = [:]
        for attribute in PersonalAttribute.allCases {
            guard let value = values[attribute], let id = selection[attribute] else { continue }
            claims[attribute.claimName] = attribute.claim(of: value)
            guard attribute.needsVerification else { continue }
            claims["\(attribute.claimName)_verified"] = .bool(verified.contains { $0.id.hasSameBytes(as: id) })
        }
        return claims
    }
}
