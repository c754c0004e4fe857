#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The attributes that a service requests in an authentication. A property is `nil` if the service does not request the
/// attribute.
public struct AuthenticationPersonalInformation: Sendable {
    /// The person's user name for signing in.
    public let username: AuthenticationInformation<String, UsernameValidator>?
    /// The name that the person prefers.
    public let nickname: AuthenticationInformation<String, NameValidator>?
    /// First names.
    public let givenName: AuthenticationInformation<String, NameValidator>?
    /// Last names.
    public let familyName: AuthenticationInformation<String, NameValidator>?
    /// The day of birth; see ``BirthdateValidator/timeZone`` for the day of a `Date`.
    public let birthdate: AuthenticationInformation<Date, BirthdateValidator>?
    /// The person's postal address.
    public let address: AuthenticationInformation<Address, AddressValidator>?
    /// The country of the person's citizenship: two letters.
    public let nationality: AuthenticationInformation<String, NationalityValidator>?
    /// The town of birth.
    public let placeOfBirth: AuthenticationInformation<String, NameValidator>?
    /// The gender in the person's papers.
    public let gender: AuthenticationInformation<Gender, GenderValidator>?
    /// The person's form of address in a letter.
    public let salutation: AuthenticationInformation<String, SalutationValidator>?
    /// The e-mail address.
    public let email: AuthenticationInformation<String, EmailValidator>?
    /// The telephone number with its country's code.
    public let phoneNumber: AuthenticationInformation<String, PhoneNumberValidator>?

    package init(_ requested: RequestedInformation, rules: PersonalInformationRules) {
        func made<Value, Validator>(_ attribute: PersonalAttribute, _ validator: Validator)
            -> AuthenticationInformation<Value, Validator>?
        {
            requested.attributes.first { $0.attribute == attribute }
                .map { AuthenticationInformation($0, validator: validator) }
        }
        self.username = made(.username, rules.username)
        self.nickname = made(.nickname, rules.nickname)
        self.givenName = made(.givenName, rules.givenName)
        self.familyName = made(.familyName, rules.familyName)
        self.birthdate = made(.birthdate, rules.birthdate)
        self.address = made(.address, rules.address)
        self.nationality = made(.nationality, rules.nationality)
        self.placeOfBirth = made(.placeOfBirth, rules.placeOfBirth)
        self.gender = made(.gender, rules.gender)
        self.salutation = made(.salutation, rules.salutation)
        self.email = made(.email, rules.email)
        self.phoneNumber = made(.phoneNumber, rules.phoneNumber)
    }

    /// A requested attribute with the type of its values. A screen for all attributes needs a branch for each type, and
    /// none for an attribute.
    public enum Attribute: Sendable {
        /// A user name.
        case username(AuthenticationInformation<String, UsernameValidator>)
        /// A name of a person or a place.
        case name(AuthenticationInformation<String, NameValidator>)
        /// A day of birth.
        case birthdate(AuthenticationInformation<Date, BirthdateValidator>)
        /// A postal address.
        case address(AuthenticationInformation<Address, AddressValidator>)
        /// A country.
        case nationality(AuthenticationInformation<String, NationalityValidator>)
        /// A gender.
        case gender(AuthenticationInformation<Gender, GenderValidator>)
        /// A form of address in a letter.
        case salutation(AuthenticationInformation<String, SalutationValidator>)
        /// An e-mail address.
        case email(AuthenticationInformation<String, EmailValidator>)
        /// A telephone number.
        case phoneNumber(AuthenticationInformation<String, PhoneNumberValidator>)

        fileprivate var confirmable: any ConfirmableAttribute {
            switch self {
            case .username(let information): information
            case .name(let information): information
            case .birthdate(let information): information
            case .address(let information): information
            case .nationality(let information): information
            case .gender(let information): information
            case .salutation(let information): information
            case .email(let information): information
            case .phoneNumber(let information): information
            }
        }
    }

    /// The requested attributes in the order of ``PersonalAttribute``.
    public var requested: [Attribute] {
        PersonalAttribute.allCases.compactMap { attribute in
            switch attribute {
            case .username: self.username.map(Attribute.username)
            case .nickname: self.nickname.map(Attribute.name)
            case .givenName: self.givenName.map(Attribute.name)
            case .familyName: self.familyName.map(Attribute.name)
            case .birthdate: self.birthdate.map(Attribute.birthdate)
            case .address: self.address.map(Attribute.address)
            case .nationality: self.nationality.map(Attribute.nationality)
            case .placeOfBirth: self.placeOfBirth.map(Attribute.name)
            case .gender: self.gender.map(Attribute.gender)
            case .salutation: self.salutation.map(Attribute.salutation)
            case .email: self.email.map(Attribute.email)
            case .phoneNumber: self.phoneNumber.map(Attribute.phoneNumber)
            }
        }
    }

    /// The person's answers so far, for the server.
    package var answers: [PersonalAttribute: AttributeAnswer] {
        var answers: [PersonalAttribute: AttributeAnswer] = [:]
        for information in self.requested.map(\.confirmable) { answers[information.attribute] = information.answer }
        return answers
    }

    /// Stores the server's results for the screens. An attribute without a result has no error.
    package func report(_ errors: [PersonalAttribute: AuthenticationInformationErrorCode]) {
        for information in self.requested.map(\.confirmable) {
            information.report(errors[information.attribute] ?? .none)
        }
    }
}
