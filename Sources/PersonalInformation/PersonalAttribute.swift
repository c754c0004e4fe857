/// What a service can ask of a person: the twelve attributes, in the order in which they are listed everywhere.
///
/// The raw values are the names of the properties of ``AuthenticationPersonalInformation`` and the names in messages.
public enum PersonalAttribute: String, Hashable, Sendable, CaseIterable {
    /// The name that the person signs in by.
    case username
    /// What the person likes to be called.
    case nickname
    /// First names.
    case givenName
    /// Last names.
    case familyName
    /// The day of birth.
    case birthdate
    /// Where the person lives.
    case address
    /// The country whose citizen the person is.
    case nationality
    /// The town of birth.
    case placeOfBirth
    /// As the person's papers have it.
    case gender
    /// How the person is addressed in a letter.
    case salutation
    /// The e-mail address.
    case email
    /// The telephone number.
    case phoneNumber

    /// Whether a value counts only once somebody has verified it, so that none can be supplied on the way by default.
    public var needsVerification: Bool { self == .email || self == .phoneNumber }
}
