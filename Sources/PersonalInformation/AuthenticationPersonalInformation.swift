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

    private func attribute(_ attribute: PersonalAttribute) -> (any ConfirmableAttribute)? {
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

    /// The person's answers so far, for the server.
    package var answers: [PersonalAttribute: AttributeAnswer] {
        var answers: [PersonalAttribute: AttributeAnswer] = [:]
        for attribute in PersonalAttribute.allCases { answers[attribute] = self.attribute(attribute)?.answer }
        return answers
    }

    /// Stores the server's results for the screens. An attribute without a result has no error.
    package func report(_ errors: [PersonalAttribute: AuthenticationInformationErrorCode]) {
        for attribute in PersonalAttribute.allCases { self.attribute(attribute)?.report(errors[attribute] ?? .none) }
    }
}
