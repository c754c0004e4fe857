public import PersonalInformation
public import _Primitives

/// The bounds that a server's validators have, as it tells them to phones: lengths in characters, for the attributes that
/// have lengths. What it does not name has this version's own.
public struct ValidatorBounds: IdentityMessage, Hashable {
    /// Lengths by attributes.
    public var lengths: [PersonalAttribute: ClosedRange<Int>]

    /// The bounds of a server's rules.
    public init(_ rules: PersonalInformationRules) {
        self.lengths = [
            .username: rules.username.minLength...rules.username.maxLength,
            .nickname: rules.nickname.minLength...rules.nickname.maxLength,
            .givenName: rules.givenName.minLength...rules.givenName.maxLength,
            .familyName: rules.familyName.minLength...rules.familyName.maxLength,
            .placeOfBirth: rules.placeOfBirth.minLength...rules.placeOfBirth.maxLength,
            .address: 1...rules.address.maxLength, .salutation: 1...rules.salutation.maxLength,
            .email: 1...rules.email.maxLength,
            .phoneNumber: rules.phoneNumber.minLength...rules.phoneNumber.maxLength,
        ]
    }

    /// The bounds of a server's rules for what a session asks for: a screen shows no other attribute.
    public init(_ rules: PersonalInformationRules, of attributes: Set<PersonalAttribute>) {
        self.init(rules)
        self.lengths = self.lengths.filter { attributes.contains($0.key) }
    }

    /// The rules of a phone: the server's lengths, and what this version knows beside.
    public func rules(birthdate: BirthdateValidator) -> PersonalInformationRules {
        var rules = PersonalInformationRules(birthdate: birthdate)
        func name(_ attribute: PersonalAttribute, _ validator: inout NameValidator) {
            guard let length = self.lengths[attribute] else { return }
            validator = NameValidator(minLength: length.lowerBound, maxLength: length.upperBound)
        }
        name(.nickname, &rules.nickname)
        name(.givenName, &rules.givenName)
        name(.familyName, &rules.familyName)
        name(.placeOfBirth, &rules.placeOfBirth)
        if let length = self.lengths[.username] {
            rules.username = UsernameValidator(minLength: length.lowerBound, maxLength: length.upperBound)
        }
        if let length = self.lengths[.address] { rules.address = AddressValidator(maxLength: length.upperBound) }
        if let length = self.lengths[.salutation] {
            rules.salutation = SalutationValidator(maxLength: length.upperBound)
        }
        if let length = self.lengths[.email] { rules.email = EmailValidator(maxLength: length.upperBound) }
        if let length = self.lengths[.phoneNumber] {
            rules.phoneNumber = PhoneNumberValidator(minLength: length.lowerBound, maxLength: length.upperBound)
        }
        return rules
    }

    public init(json object: JSONObject) throws(IdentityMessageError) {
        var lengths: [PersonalAttribute: ClosedRange<Int>] = [:]
        for (name, value) in object.members {
            guard let attribute = PersonalAttribute(exactly: name) else { continue }
            guard case .array(let bounds) = value, bounds.count == 2, case .integer(let lower) = bounds[0],
                case .integer(let upper) = bounds[1], (0...4096).contains(lower), (lower...4096).contains(upper)
            else { throw IdentityMessageError(.malformed, "bounds") }
            lengths[attribute] = Int(lower)...Int(upper)
        }
        self.lengths = lengths
    }

    public var json: JSONObject {
        var object: JSONObject = [:]
        for attribute in PersonalAttribute.allCases {
            object[attribute.rawValue] = self.lengths[attribute].map {
                .array([.integer(Int64($0.lowerBound)), .integer(Int64($0.upperBound))])
            }
        }
        return object
    }
}
