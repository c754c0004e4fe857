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
