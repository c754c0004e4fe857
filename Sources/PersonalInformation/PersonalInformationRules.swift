/// The validators of all attributes: what one server takes. It tells its phones the bounds, so that both judge alike.
public struct PersonalInformationRules: Hashable, Sendable {
    /// Of ``PersonalAttribute/username``.
    public var username = UsernameValidator()
    /// Of ``PersonalAttribute/nickname``.
    public var nickname = NameValidator()
    /// Of ``PersonalAttribute/givenName``.
    public var givenName = NameValidator()
    /// Of ``PersonalAttribute/familyName``.
    public var familyName = NameValidator()
    /// Of ``PersonalAttribute/birthdate``.
    public var birthdate: BirthdateValidator
    /// Of ``PersonalAttribute/address``.
    public var address = AddressValidator()
    /// Of ``PersonalAttribute/nationality``.
    public var nationality = NationalityValidator()
    /// Of ``PersonalAttribute/placeOfBirth``.
    public var placeOfBirth = NameValidator()
    /// Of ``PersonalAttribute/gender``.
    public var gender = GenderValidator()
    /// Of ``PersonalAttribute/salutation``.
    public var salutation = SalutationValidator()
    /// Of ``PersonalAttribute/email``.
    public var email = EmailValidator()
    /// Of ``PersonalAttribute/phoneNumber``.
    public var phoneNumber = PhoneNumberValidator()

    /// The defaults. They know no clock: `birthdate` has the day that it is.
    public init(birthdate: BirthdateValidator) { self.birthdate = birthdate }

    /// Whether a text is the one spelling of a value that this attribute can have.
    public func accept(_ text: String, for attribute: PersonalAttribute) -> Bool {
        switch attribute {
        case .username: self.username.accepts(text)
        case .nickname: self.nickname.accepts(text)
        case .givenName: self.givenName.accepts(text)
        case .familyName: self.familyName.accepts(text)
        case .birthdate: self.birthdate.accepts(text)
        case .address: self.address.accepts(text)
        case .nationality: self.nationality.accepts(text)
        case .placeOfBirth: self.placeOfBirth.accepts(text)
        case .gender: self.gender.accepts(text)
        case .salutation: self.salutation.accepts(text)
        case .email: self.email.accepts(text)
        case .phoneNumber: self.phoneNumber.accepts(text)
        }
    }
}
