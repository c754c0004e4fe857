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

    /// Returns the validator of an attribute.
    public func validator(for attribute: PersonalAttribute) -> any PersonalInformationValidator {
        switch attribute {
        case .username: self.username
        case .nickname: self.nickname
        case .givenName: self.givenName
        case .familyName: self.familyName
        case .birthdate: self.birthdate
        case .address: self.address
        case .nationality: self.nationality
        case .placeOfBirth: self.placeOfBirth
        case .gender: self.gender
        case .salutation: self.salutation
        case .email: self.email
        case .phoneNumber: self.phoneNumber
        }
    }

    /// Returns `true` if a text is the single spelling of a possible value of the attribute.
    public func accept(_ text: String, for attribute: PersonalAttribute) -> Bool {
        self.validator(for: attribute).accepts(text)
    }

    /// The lengths of values, of the attributes whose values have a length.
    package var lengths: [PersonalAttribute: ClosedRange<Int>] {
        var lengths: [PersonalAttribute: ClosedRange<Int>] = [:]
        for attribute in PersonalAttribute.allCases {
            lengths[attribute] = (self.validator(for: attribute) as? any LengthValidator)?.bounds
        }
        return lengths
    }

    /// Returns the rules with other lengths. An attribute without an entry keeps its lengths.
    package func with(lengths: [PersonalAttribute: ClosedRange<Int>]) -> Self {
        func change<Validator: LengthValidator>(_ validator: inout Validator, _ attribute: PersonalAttribute) {
            if let bounds = lengths[attribute] { validator = Validator(bounds: bounds) }
        }
        var rules = self
        change(&rules.username, .username)
        change(&rules.nickname, .nickname)
        change(&rules.givenName, .givenName)
        change(&rules.familyName, .familyName)
        change(&rules.address, .address)
        change(&rules.placeOfBirth, .placeOfBirth)
        change(&rules.salutation, .salutation)
        change(&rules.email, .email)
        change(&rules.phoneNumber, .phoneNumber)
        return rules
    }
}
