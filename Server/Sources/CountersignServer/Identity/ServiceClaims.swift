import PersonalInformation
import Store
import _Primitives

/// What a service of personalised identities is told of a person: the values that the person has confirmed for it, and
/// nothing beside.
struct ServiceClaims: Sendable {
    let store: any ServiceStore & PersonalInformationStore

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
            claims[attribute.claim] = attribute.claimed(value)
            guard attribute.needsVerification else { continue }
            claims["\(attribute.claim)_verified"] = .bool(verified.contains { $0.id.hasSameBytes(as: id) })
        }
        return claims
    }
}

extension PersonalAttribute {
    /// The claim that says it (OpenID Connect Core 1.0, section 5.1; OpenID Connect for Identity Assurance 1.0, section 4).
    fileprivate var claim: String {
        switch self {
        case .username: "preferred_username"
        case .nickname: "nickname"
        case .givenName: "given_name"
        case .familyName: "family_name"
        case .birthdate: "birthdate"
        case .address: "address"
        case .nationality: "nationalities"
        case .placeOfBirth: "place_of_birth"
        case .gender: "gender"
        case .salutation: "salutation"
        case .email: "email"
        case .phoneNumber: "phone_number"
        }
    }

    /// A value in its one spelling, as the claim has it.
    fileprivate func claimed(_ value: String) -> JSON? {
        switch self {
        case .nationality: return .array([.string(value)])
        case .placeOfBirth: return .object(["locality": .string(value)])
        case .address:
            guard let address = Address(spelledAs: value) else { return nil }
            let street = [address.street, address.houseNumber].compactMap(\.self).joined(separator: " ")
            return .object([
                "street_address": .string(street), "postal_code": .string(address.postalCode),
                "locality": .string(address.city), "country": .string(address.country),
            ])
        default: return .string(value)
        }
    }
}
