import Countersign
import CountersignNames
import Foundation

/// What the listing does with `givenName`, for every attribute: each has its own type, its own validator, and its own words
/// for what is wrong.
struct SeedAttributes {
    let info: AuthenticationPersonalInformation
    /// The attributes of this app. The server knows these and may know more, which this app is never asked for.
    static let known: [PersonalAttribute] = [
        .username, .nickname, .givenName, .familyName, .birthdate, .address, .nationality, .placeOfBirth, .gender,
        .salutation, .email, .phoneNumber,
    ]
    /// Whether the server has found something wrong: what it has not stays as it is then.
    let isCorrection: Bool

    func confirm() throws {
        typealias Person = YourImplementation
        try self.confirm(self.info.username, .username, Person.askForUsername, self.text)
        try self.confirm(self.info.nickname, .nickname, Person.askForNickname, self.text)
        try self.confirm(self.info.givenName, .givenName, Person.askForGivenName, self.text)
        try self.confirm(self.info.familyName, .familyName, Person.askForFamilyName, self.text)
        try self.confirm(self.info.birthdate, .birthdate, Person.askForBirthdate, self.text)
        try self.confirm(self.info.address, .address, Person.askForAddress, self.text)
        try self.confirm(self.info.nationality, .nationality, Person.askForNationality, self.text)
        try self.confirm(self.info.placeOfBirth, .placeOfBirth, Person.askForPlaceOfBirth, self.text)
        try self.confirm(self.info.gender, .gender, Person.askForGender, self.text)
        try self.confirm(self.info.salutation, .salutation, Person.askForSalutation, self.text)
        try self.confirm(self.info.email, .email, Person.askForEmail, self.text)
        try self.confirm(self.info.phoneNumber, .phoneNumber, Person.askForPhoneNumber, self.text)
    }

    private func confirm<Value: Sendable, Validator: PersonalInformationValidator>(
        _ information: AuthenticationInformation<Value, Validator>?, _ attribute: PersonalAttribute,
        _ ask: (String?) -> Value?, _ text: (Validator.ResultCode, Validator) -> String?
    ) throws where Validator.Value == Value {
        guard let information, !self.isCorrection || information.error != .none else { return }
        guard information.isRequired else { return self.offer(information, attribute) }
        if information.isDataMissing {
            // What somebody has to verify is given at the account's page, and not here.
            guard information.isSuppliable else { throw YourError.yourErrorCase }
            var errorText = self.text(information.error)
            while let wrong = text(information.setValue(value: ask(errorText)), information.validator) {
                errorText = wrong
            }
        } else if information.aliases.count > 1 {
            let alias = YourImplementation.displayAliasSelection(information.aliases)
            guard information.setSelection(alias) != nil else { throw YourError.yourErrorCase }
        } else {
            YourImplementation.tell(attribute)
        }
    }

    /// What the service can do without goes there where the person wants it, and not where they think better of it.
    private func offer<Value: Sendable, Validator: PersonalInformationValidator>(
        _ information: AuthenticationInformation<Value, Validator>, _ attribute: PersonalAttribute
    ) where Validator.Value == Value {
        guard let first = information.aliases.first else { return }
        if YourImplementation.askWhetherToGive(attribute) {
            _ = information.setSelection(first)
        } else {
            information.withdrawAnswer()
        }
    }

    // MARK: What is wrong, in the words of a screen; nil where nothing is

    private func text(_ error: AuthenticationInformationErrorCode) -> String? {
        switch error {
        case .none: nil
        case .invalid: "The service does not take that."
        case .notAvailable: "The service has not asked for that."
        case .dataMissing: "The service needs that."
        case .noAliasSelected: "One of these has to be chosen."
        }
    }

    private func text(_ code: NameValidator.ResultCode, _ validator: NameValidator) -> String? {
        switch code {
        case .valid: nil
        case .empty: "The input must not be empty."
        case .tooShort: "The input must be at least \(validator.minLength) characters long."
        case .tooLong: "The input can't be longer than \(validator.maxLength) characters."
        }
    }

    private func text(_ code: UsernameValidator.ResultCode, _ validator: UsernameValidator) -> String? {
        switch code {
        case .valid: nil
        case .empty: "The input must not be empty."
        case .tooShort: "The input must be at least \(validator.minLength) characters long."
        case .tooLong: "The input can't be longer than \(validator.maxLength) characters."
        case .invalidCharacters: "No user name has such characters."
        }
    }

    private func text(_ code: BirthdateValidator.ResultCode, _ validator: BirthdateValidator) -> String? {
        switch code {
        case .valid: nil
        case .empty: "The input must not be empty."
        case .tooEarly: "Nobody was born before \(validator.earliest.text)."
        case .inFuture: "Nobody was born after \(validator.latest.text)."
        }
    }

    private func text(_ code: AddressValidator.ResultCode, _ validator: AddressValidator) -> String? {
        switch code {
        case .valid: nil
        case .empty: "The input must not be empty."
        case .streetMissing: "The street is missing."
        case .postalCodeMissing: "The postal code is missing."
        case .cityMissing: "The town is missing."
        case .countryInvalid: "There is no such country."
        case .tooLong: "No part can be longer than \(validator.maxLength) characters."
        }
    }

    private func text(_ code: NationalityValidator.ResultCode, _ validator: NationalityValidator) -> String? {
        switch code {
        case .valid: nil
        case .empty: "The input must not be empty."
        case .unknownCountry: "There is no such country."
        }
    }

    private func text(_ code: GenderValidator.ResultCode, _ validator: GenderValidator) -> String? {
        switch code {
        case .valid: nil
        case .empty: "The input must not be empty."
        }
    }

    private func text(_ code: SalutationValidator.ResultCode, _ validator: SalutationValidator) -> String? {
        switch code {
        case .valid: nil
        case .empty: "The input must not be empty."
        case .tooLong: "The input can't be longer than \(validator.maxLength) characters."
        }
    }

    private func text(_ code: EmailValidator.ResultCode, _ validator: EmailValidator) -> String? {
        switch code {
        case .valid: nil
        case .empty: "The input must not be empty."
        case .tooLong: "The input can't be longer than \(validator.maxLength) characters."
        case .invalidFormat: "That is no e-mail address."
        case .notSuppliableHere: "The address has to be verified first."
        }
    }

    private func text(_ code: PhoneNumberValidator.ResultCode, _ validator: PhoneNumberValidator) -> String? {
        switch code {
        case .valid: nil
        case .empty: "The input must not be empty."
        case .tooShort: "The number must have at least \(validator.minLength) digits."
        case .tooLong: "The number can't have more than \(validator.maxLength) digits."
        case .invalidFormat: "That is no number with its country's code."
        case .notSuppliableHere: "The number has to be verified first."
        }
    }
}
