import Countersign
import Foundation

/// Asks for each attribute that the service requests; in a correction, only for the wrong attributes.
func confirm(_ info: AuthenticationPersonalInformation, isCorrection: Bool, on screens: any IdentityScreens)
    async throws
{
    let form = AttributeForm(screens: screens, isCorrection: isCorrection)
    for attribute in info.requested {
        switch attribute {
        case .username(let information): try await form.fill(information, screens.text, words)
        case .name(let information): try await form.fill(information, screens.text, words)
        case .birthdate(let information): try await form.fill(information, screens.day, words)
        case .address(let information): try await form.fill(information, screens.address, words)
        case .nationality(let information): try await form.fill(information, screens.text, words)
        case .gender(let information): try await form.fill(information, screens.gender, words)
        case .salutation(let information): try await form.fill(information, screens.text, words)
        case .email(let information): try await form.fill(information, screens.text, words)
        case .phoneNumber(let information): try await form.fill(information, screens.text, words)
        }
    }
}

/// The form for one attribute of any type.
struct AttributeForm {
    let screens: any IdentityScreens
    let isCorrection: Bool

    func fill<Value: Sendable, Validator: PersonalInformationValidator>(
        _ information: AuthenticationInformation<Value, Validator>,
        _ ask: (_ name: String, _ error: String?) async throws -> Value,
        _ words: (Validator.ResultCode, Validator) -> String
    ) async throws where Validator.Value == Value {
        // In a correction, the other answers are right already.
        guard !self.isCorrection || information.error != .none else { return }
        let called = information.attribute.englishName
        if !information.isRequired {
            // If the person said yes before and says no now, the service gets nothing.
            information.withdrawAnswer()
            guard await self.screens.agrees(to: "The service can do without your \(called). Tell it all the same?")
            else { return }
        }
        if information.isDataMissing {
            guard information.isSuppliable else {
                await self.screens.show("Add your \(called) at your account's page first.")
                throw GivenUp()
            }
            var error: String? = information.error == .none ? nil : "The service does not take this."
            while true {
                let code = information.setValue(value: try await ask(called, error))
                guard code != .valid else { return }
                error = words(code, information.validator)
            }
        } else if information.aliases.count > 1 {
            information.setSelection(try await self.screens.choice(of: called, among: information.aliases))
        } else {
            // The account has a single value. For a required attribute, the value is selected already.
            information.setSelection(information.aliases.first)
        }
    }
}

/// Returns the fault of a value in words, by the validator's code. No caller passes `valid`.
func words(_ code: NameValidator.ResultCode, _ validator: NameValidator) -> String {
    switch code {
    case .valid: ""
    case .empty: "Something has to stand here."
    case .tooShort: "At least \(validator.minLength) letters."
    case .tooLong: "At most \(validator.maxLength) letters."
    }
}

func words(_ code: UsernameValidator.ResultCode, _ validator: UsernameValidator) -> String {
    switch code {
    case .valid: ""
    case .empty: "Something has to stand here."
    case .tooShort: "At least \(validator.minLength) letters."
    case .tooLong: "At most \(validator.maxLength) letters."
    case .invalidCharacters: "Letters, digits and . _ - + @ alone."
    }
}

func words(_ code: BirthdateValidator.ResultCode, _ validator: BirthdateValidator) -> String {
    switch code {
    case .valid: ""
    case .empty: "Choose a day."
    case .tooEarly: "Not before \(validator.earliest.text)."
    case .inFuture: "Not after \(validator.latest.text)."
    }
}

func words(_ code: AddressValidator.ResultCode, _ validator: AddressValidator) -> String {
    switch code {
    case .valid: ""
    case .empty: "Something has to stand here."
    case .streetMissing: "The street is missing."
    case .postalCodeMissing: "The postal code is missing."
    case .cityMissing: "The town is missing."
    case .countryInvalid: "The country has two letters, such as DE."
    case .tooLong: "At most \(validator.maxLength) letters each."
    }
}

func words(_ code: NationalityValidator.ResultCode, _ validator: NationalityValidator) -> String {
    switch code {
    case .valid: ""
    case .empty: "Something has to stand here."
    case .unknownCountry: "One of \(validator.countries.count) countries, in two letters."
    }
}

func words(_ code: GenderValidator.ResultCode, _ validator: GenderValidator) -> String {
    code == .empty ? "Choose one." : ""
}

func words(_ code: SalutationValidator.ResultCode, _ validator: SalutationValidator) -> String {
    switch code {
    case .valid: ""
    case .empty: "Something has to stand here."
    case .tooLong: "At most \(validator.maxLength) letters."
    }
}

func words(_ code: EmailValidator.ResultCode, _ validator: EmailValidator) -> String {
    switch code {
    case .valid: ""
    case .empty: "Something has to stand here."
    case .tooLong: "At most \(validator.maxLength) letters."
    case .invalidFormat: "An address such as ada@example.org."
    case .notSuppliableHere: "It has to be verified first."
    }
}

func words(_ code: PhoneNumberValidator.ResultCode, _ validator: PhoneNumberValidator) -> String {
    switch code {
    case .valid: ""
    case .empty: "Something has to stand here."
    case .tooShort: "At least \(validator.minLength) digits."
    case .tooLong: "At most \(validator.maxLength) digits."
    case .invalidFormat: "With the country's code, such as +49."
    case .notSuppliableHere: "It has to be verified first."
    }
}
