import PersonalInformation
import Records
import _Primitives

/// The claims about a person for a service of personalised identities: the values that the person has confirmed for the
/// service, and no other value.
struct ConfirmedClaims: Sendable {
    let store: any ServiceStore & PersonalInformationStore

    /// Returns the answer for `PersonDirectory`: `true` if the client takes the person in the role. Without a role at
    /// this client: `true` if the client is no service of personalised identities. Cost: one query.
    func takes(_ account: String, in role: RoleAtService?, at client: String) async throws -> Bool {
        guard let role, role.service.hasSameBytes(as: client) else {
            return try await self.store.serviceProfile(client) == nil
        }
        guard let standing = try await self.store.standing(accountID: account, service: client) else { return false }
        return standing.profile.isActive && standing.isMember && standing.isInvited
            && standing.roles.contains { $0.id.hasSameBytes(as: role.role) }
    }

    /// Returns the claims of an account at a service, empty if the person has chosen no values; `nil` for a client that
    /// is no service.
    ///
    /// Cost: one query for a client that is no service, otherwise up to four.
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
