#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// What a service asks of a person in an authentication. A property is `nil` where the service does not ask.
public struct AuthenticationPersonalInformation: Sendable {
    /// The name that the person signs in by.
    public let username: AuthenticationInformation<String, UsernameValidator>?
    /// What the person likes to be called.
    public let nickname: AuthenticationInformation<String, NameValidator>?
    /// First names.
    public let givenName: AuthenticationInformation<String, NameValidator>?
    /// Last names.
    public let familyName: AuthenticationInformation<String, NameValidator>?
    /// The day of birth; see ``BirthdateValidator/timeZone`` for which day a `Date` is.
    public let birthdate: AuthenticationInformation<Date, BirthdateValidator>?
    /// Where the person lives.
    public let address: AuthenticationInformation<Address, AddressValidator>?
    /// The country whose citizen the person is: two letters.
    public let nationality: AuthenticationInformation<String, NationalityValidator>?
    /// The town of birth.
    public let placeOfBirth: AuthenticationInformation<String, NameValidator>?
    /// As the person's papers have it.
    public let gender: AuthenticationInformation<Gender, GenderValidator>?
    /// How the person is addressed in a letter.
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

    /// What the person has said so far, for the server.
    package var answers: [PersonalAttribute: AttributeAnswer] {
        var answers: [PersonalAttribute: AttributeAnswer] = [:]
        for attribute in PersonalAttribute.allCases { answers[attribute] = self.attribute(attribute)?.answer }
        return answers
    }

    /// Puts the server's findings where the screens look; what is not among them is without an error.
    package func report(_ errors: [PersonalAttribute: AuthenticationInformationErrorCode]) {
        for attribute in PersonalAttribute.allCases { self.attribute(attribute)?.report(errors[attribute] ?? .none) }
    }
}
