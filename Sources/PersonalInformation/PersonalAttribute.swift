public import _Primitives

/// An attribute that a service can request about a person. Everywhere the attributes are listed in this order.
///
/// The raw values are the names of the properties of ``AuthenticationPersonalInformation`` and the names in messages.
public enum PersonalAttribute: String, Hashable, Sendable, CaseIterable {
    /// The person's user name for signing in.
    case username
    /// The name that the person prefers.
    case nickname
    /// First names.
    case givenName
    /// Last names.
    case familyName
    /// The day of birth.
    case birthdate
    /// The person's postal address.
    case address
    /// The country of the person's citizenship.
    case nationality
    /// The town of birth.
    case placeOfBirth
    /// The gender in the person's papers.
    case gender
    /// The person's form of address in a letter.
    case salutation
    /// The e-mail address.
    case email
    /// The telephone number.
    case phoneNumber

    /// `true` if a value counts only after a verification. By default a person cannot supply such a value during a
    /// sign-in.
    public var needsVerification: Bool { self == .email || self == .phoneNumber }
}

extension PersonalAttribute {
    /// The attribute's name within an English sentence, such as "place of birth". An app in another language has its own
    /// names.
    public var englishName: String {
        switch self {
        case .username: "user name"
        case .nickname: "nickname"
        case .givenName: "given name"
        case .familyName: "family name"
        case .birthdate: "date of birth"
        case .address: "address"
        case .nationality: "nationality"
        case .placeOfBirth: "place of birth"
        case .gender: "gender"
        case .salutation: "salutation"
        case .email: "e-mail address"
        case .phoneNumber: "telephone number"
        }
    }

    /// An example of a value in its single spelling, which the default rules accept: for hints on screens, and for tests.
    public var example: String {
        switch self {
        case .username: "ada"
        case .nickname: "Ada"
        case .givenName: "Augusta Ada"
        case .familyName: "King"
        case .birthdate: "2001-05-31"
        case .address: "St James's Square\n12\nSW1Y 4JH\nLondon\nGB"
        case .nationality: "GB"
        case .placeOfBirth: "London"
        case .gender: "female"
        case .salutation: "Countess"
        case .email: "ada@example.org"
        case .phoneNumber: "+442079460018"
        }
    }

    /// The claim that contains the attribute for a service (OpenID Connect Core 1.0, section 5.1; OpenID Connect for
    /// Identity Assurance 1.0, section 4, for citizenship and place of birth).
    public var claimName: String {
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

    /// Returns the claim's value for a value in its single spelling; `nil` if the text is not such a value.
    public func claim(of spelling: String) -> JSON? {
        switch self {
        case .nationality: return .array([.string(spelling)])
        case .placeOfBirth: return .object(["locality": .string(spelling)])
        case .address:
            guard let address = Address(spelledAs: spelling) else { return nil }
            let street = [address.street, address.houseNumber].compactMap(\.self).joined(separator: " ")
            let lines = [street, "\(address.postalCode) \(address.city)", address.country]
            return .object([
                "formatted": .string(lines.joined(separator: "\n")), "street_address": .string(street),
                "postal_code": .string(address.postalCode), "locality": .string(address.city),
                "country": .string(address.country),
            ])
        case .username, .nickname, .givenName, .familyName, .birthdate, .gender, .salutation, .email, .phoneNumber:
            return .string(spelling)
        }
    }

    /// Returns the text of a claim's value; `nil` if the claims do not have the claim.
    ///
    /// The result is the spelling given to ``claim(of:)``. For an address, the result is the lines of a letter.
    ///
    /// Throws `JSONError` for a value of another form.
    public func text(in claims: JSONObject) throws(JSONError) -> String? {
        switch self {
        case .nationality: try claims.strings(self.claimName)?.first
        case .placeOfBirth: try claims.object(self.claimName)?.string("locality")
        case .address: try claims.object(self.claimName)?.string("formatted")
        case .username, .nickname, .givenName, .familyName, .birthdate, .gender, .salutation, .email, .phoneNumber:
            try claims.string(self.claimName)
        }
    }
}
