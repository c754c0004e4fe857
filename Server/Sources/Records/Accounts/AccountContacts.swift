public import _Primitives

/// A person's telephone number, as an operator entered it.
public struct AccountPhone: Sendable, Equatable {
    /// The number as E.164 has it: a plus sign and digits. Sealed at rest.
    public var number: String
    /// `true` if the operator vouches that the number is the person's.
    public var isVerified: Bool

    /// Makes a phone from a number and the operator's word for it.
    public init(number: String, isVerified: Bool) {
        self.number = number
        self.isVerified = isVerified
    }
}

/// Further facts about a person that services are told for the scope `profile` (OpenID Connect Core 1.0, section 5.1).
/// Sealed at rest.
public struct PersonProfile: Sendable, Equatable {
    /// The claims of the profile, by the names of the standard. Each claim is a text.
    public let claims: JSONObject

    /// The names that claims can have.
    public static let names = ["given_name", "family_name", "middle_name", "picture", "locale", "zoneinfo"]

    /// Makes a profile of these claims. `nil` if there are no claims, a claim is empty or no text, or a claim has
    /// another name.
    public init?(_ claims: JSONObject) {
        guard !claims.members.isEmpty else { return nil }
        for (name, value) in claims.members {
            guard Self.names.containsBytes(of: name), case .string(let text) = value, !text.isEmpty else { return nil }
        }
        self.claims = claims
    }

    /// Reads the text of a stored profile. Throws ``StoreError`` `corrupt`.
    package init(stored text: String) throws {
        guard case .object(let claims)? = try? JSON(parsing: Array(text.utf8)), let profile = Self(claims) else {
            throw StoreError(.corrupt, "a profile")
        }
        self = profile
    }
}

/// A person's postal address, in the parts that services are told of (OpenID Connect Core 1.0, section 5.1.1). Sealed
/// at rest.
public struct PostalAddress: Sendable, Equatable {
    /// The parts of the address, by the names of the standard.
    public let parts: JSONObject

    /// The names that parts can have.
    public static let names = ["formatted", "street_address", "locality", "region", "postal_code", "country"]

    /// Makes an address of these parts. `nil` if there are no parts, a part is empty or no text, or a part has another
    /// name.
    public init?(_ parts: JSONObject) {
        guard !parts.members.isEmpty else { return nil }
        for (name, value) in parts.members {
            guard Self.names.containsBytes(of: name), case .string(let text) = value, !text.isEmpty else { return nil }
        }
        self.parts = parts
    }

    /// Reads the text of a stored address. Throws ``StoreError`` `corrupt`.
    package init(stored text: String) throws {
        guard case .object(let parts)? = try? JSON(parsing: Array(text.utf8)), let address = Self(parts) else {
            throw StoreError(.corrupt, "an address")
        }
        self = address
    }
}
