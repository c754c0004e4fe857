public import _Primitives

/// A person's telephone number, as an operator entered it.
public struct AccountPhone: Sendable, Equatable {
    /// The number as E.164 has it: a plus sign and digits. Sealed at rest.
    public var number: String
    /// Whether the operator vouches that the number is the person's.
    public var isVerified: Bool

    /// A number, and whether somebody has seen to it.
    public init(number: String, isVerified: Bool) {
        self.number = number
        self.isVerified = isVerified
    }
}

/// What else services are told of a person for the scope `profile` (OpenID Connect Core 1.0, section 5.1). Sealed at rest.
public struct PersonProfile: Sendable, Equatable {
    /// The claims that there are, by the names of the standard; each is a text.
    public let claims: JSONObject

    /// The names that claims can have.
    public static let names = ["given_name", "family_name", "middle_name", "picture", "locale", "zoneinfo"]

    /// A profile of these claims, of which none is empty. `nil` where there is none, or one of another name.
    public init?(_ claims: JSONObject) {
        guard !claims.members.isEmpty else { return nil }
        for (name, value) in claims.members {
            guard Self.names.containsBytes(of: name), case .string(let text) = value, !text.isEmpty else { return nil }
        }
        self.claims = claims
    }
}

/// Where a person gets post, in the parts that services are told of (OpenID Connect Core 1.0, section 5.1.1). Sealed at
/// rest.
public struct PostalAddress: Sendable, Equatable {
    /// The parts that there are, by the names of the standard.
    public let parts: JSONObject

    /// The names that parts can have.
    public static let names = ["formatted", "street_address", "locality", "region", "postal_code", "country"]

    /// An address of these parts, of which none is empty. `nil` where there is none, or one of another name.
    public init?(_ parts: JSONObject) {
        guard !parts.members.isEmpty else { return nil }
        for (name, value) in parts.members {
            guard Self.names.containsBytes(of: name), case .string(let text) = value, !text.isEmpty else { return nil }
        }
        self.parts = parts
    }
}
