import Countersign
import Foundation

/// Asks for each attribute that a service requests; in a correction, only for the wrong attributes.
struct AttributeForm {
    let screen: any TownHallScreen
    var isCorrection = false

    func fill(_ info: AuthenticationPersonalInformation) async throws {
        let text: (String) -> String? = { $0 }
        try await self.fill(info.username, .username, text) {
            "letters, digits and . _ - + @; \($0.minLength) to \($0.maxLength) of them"
        }
        try await self.fill(info.nickname, .nickname, text, self.length)
        try await self.fill(info.givenName, .givenName, text, self.length)
        try await self.fill(info.familyName, .familyName, text, self.length)
        try await self.fill(info.birthdate, .birthdate, self.day) {
            "such as 2001-05-31; from \($0.earliest.text) to \($0.latest.text)"
        }
        try await self.fill(info.address, .address, self.address) {
            "street, number, postal code, town and country in two letters, with ; between them; \($0.maxLength) letters each"
        }
        try await self.fill(info.nationality, .nationality, text) { _ in "a country in two letters, such as DE" }
        try await self.fill(info.placeOfBirth, .placeOfBirth, text, self.length)
        try await self.fill(info.gender, .gender, Gender.init(rawValue:)) { _ in
            Gender.allCases.map(\.rawValue).joined(separator: ", ")
        }
        try await self.fill(info.salutation, .salutation, text) { "at most \($0.maxLength) letters" }
        try await self.fill(info.email, .email, text) { _ in "such as ada@example.org" }
        try await self.fill(info.phoneNumber, .phoneNumber, text) { _ in "with the country's code, such as +49" }
    }

    /// Asks for one attribute of any type.
    private func fill<Value: Sendable, Validator: PersonalInformationValidator>(
        _ information: AuthenticationInformation<Value, Validator>?, _ attribute: PersonalAttribute,
        _ read: (String) -> Value?, _ rule: (Validator) -> String
    ) async throws where Validator.Value == Value {
        // The service does not request the attribute, or the answer is right already.
        guard let information, !self.isCorrection || information.error != .none else { return }
        let called = "your \(words(attribute))"
        let aliases = information.aliases.sorted {
            ($0.isPrimary ? 0 : 1, $0.alias) < ($1.isPrimary ? 0 : 1, $1.alias)
        }
        if !information.isRequired {
            // If the person said yes before and says no now, the service gets nothing.
            information.withdrawAnswer()
            guard await self.screen.agrees(to: "The service can do without \(called). Tell it all the same?") else {
                return
            }
        } else if aliases.count == 1 {
            guard await self.screen.agrees(to: "The service needs \(called) (\(aliases[0].alias)). Tell it?") else {
                throw GivenUp(sentence: "Without \(called) the service takes nobody. Nothing was done.")
            }
        }
        if aliases.count > 1 {
            let index = try await self.screen.choice("Which of them is to be \(called)?", among: aliases.map(\.alias))
            information.setSelection(aliases[index])
        } else if let only = aliases.first {
            information.setSelection(only)
        } else if information.isSuppliable {
            var question = "\(called): \(rule(information.validator))"
            if information.error != .none { question = "The service does not take that. \(question)" }
            while true {
                let typed = try await self.screen.line("\(question); nothing to give up")
                guard !typed.isEmpty else { throw GivenUp() }
                guard information.setValue(value: read(typed)) != .valid else { return }
                question = "That is none. \(called): \(rule(information.validator))"
            }
        } else {
            let sentence = "Add \(called) at your account's page first."
            guard !information.isRequired else { throw GivenUp(sentence: sentence) }
            await self.screen.say(sentence)
        }
    }

    private func length(_ validator: NameValidator) -> String {
        "\(validator.minLength) to \(validator.maxLength) letters"
    }

    /// Reads a day in this device's calendar, in the form for the SDK.
    private func day(_ text: String) -> Date? {
        let numbers = text.split(separator: "-").compactMap { Int($0) }
        guard numbers.count == 3 else { return nil }
        var day = DateComponents(year: numbers[0], month: numbers[1], day: numbers[2], hour: 12)
        day.calendar = Calendar(identifier: .gregorian)
        return day.isValidDate ? day.date : nil
    }

    private func address(_ text: String) -> Address? {
        let parts = text.split(separator: ";", omittingEmptySubsequences: false).map {
            $0.trimmingCharacters(in: .whitespaces)
        }
        guard parts.count == 5 else { return nil }
        return Address(street: parts[0], houseNumber: parts[1], postalCode: parts[2], city: parts[3], country: parts[4])
    }
}

func words(_ attribute: PersonalAttribute) -> String {
    switch attribute {
    case .username: "user name"
    case .nickname: "nickname"
    case .givenName: "given name"
    case .familyName: "family name"
    case .birthdate: "birthday"
    case .address: "address"
    case .nationality: "nationality"
    case .placeOfBirth: "place of birth"
    case .gender: "gender"
    case .salutation: "salutation"
    case .email: "e-mail address"
    case .phoneNumber: "telephone number"
    }
}
