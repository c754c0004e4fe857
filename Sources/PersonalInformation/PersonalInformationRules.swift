/// The validators of all attributes for one server. The server sends the bounds to its phones, so both judge alike.
public struct PersonalInformationRules: Hashable, Sendable {
    /// The validator of ``PersonalAttribute/username``.
    public var username = UsernameValidator()
    /// The validator of ``PersonalAttribute/nickname``.
    public var nickname = NameValidator()
    /// The validator of ``PersonalAttribute/givenName``.
    public var givenName = NameValidator()
    /// The validator of ``PersonalAttribute/familyName``.
    public var familyName = NameValidator()
    /// The validator of ``PersonalAttribute/birthdate``.
    public var birthdate: BirthdateValidator
    /// The validator of ``PersonalAttribute/address``.
    public var address = AddressValidator()
    /// The validator of ``PersonalAttribute/nationality``.
    public var nationality = NationalityValidator()
    /// The validator of ``PersonalAttribute/placeOfBirth``.
    public var placeOfBirth = NameValidator()
    /// The validator of ``PersonalAttribute/gender``.
    public var gender = GenderValidator()
    /// The validator of ``PersonalAttribute/salutation``.
    public var salutation = SalutationValidator()
    /// The validator of ``PersonalAttribute/email``.
    public var email = EmailValidator()
    /// The validator of ``PersonalAttribute/phoneNumber``.
    public var phoneNumber = PhoneNumberValidator()

    /// Creates the default rules. The rules have no clock; `birthdate` knows the present day.
    public init(birthdate: BirthdateValidator) { self.birthdate = birthdate }

    /// Returns `true` if a text is the single spelling of a possible value of the attribute.
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
