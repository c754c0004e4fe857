import Countersign
import Foundation

/// Asks for each attribute that a service requests; in a correction, only for the wrong attributes.
struct AttributeForm {
    let screen: any TownHallScreen
    var isCorrection = false

    func fill(_ info: AuthenticationPersonalInformation) async throws {
        let text: (String) -> String? = { $0 }
        for attribute in info.requested {
            switch attribute {
            case .username(let information):
                try await self.fill(information, text) {
                    "letters, digits and . _ - + @; \($0.minLength) to \($0.maxLength) of them"
                }
            case .name(let information):
                try await self.fill(information, text) { "\($0.minLength) to \($0.maxLength) letters" }
            case .birthdate(let information):
                try await self.fill(information, self.day) {
                    "such as 2001-05-31; from \($0.earliest.text) to \($0.latest.text)"
                }
            case .address(let information):
                try await self.fill(information, self.address) {
                    "street, number, postal code, town and country in two letters, with ; between them; \($0.maxLength) letters each"
                }
            case .nationality(let information):
                try await self.fill(information, text) { _ in "a country in two letters, such as DE" }
            case .gender(let information):
                try await self.fill(information, Gender.init(rawValue:)) { _ in
                    Gender.allCases.map(\.rawValue).joined(separator: ", ")
                }
            case .salutation(let information):
                try await self.fill(information, text) { "at most \($0.maxLength) letters" }
            case .email(let information): try await self.fill(information, text) { _ in "such as ada@example.org" }
            case .phoneNumber(let information):
                try await self.fill(information, text) { _ in "with the country's code, such as +49" }
            }
        }
    }

    /// Asks for one attribute of any type.
    private func fill<Value: Sendable, Validator: PersonalInformationValidator>(
        _ information: AuthenticationInformation<Value, Validator>,
        _ read: (String) -> Value?, _ rule: (Validator) -> String
    ) async throws where Validator.Value == Value {
        // In a correction, the other answers are right already.
        guard !self.isCorrection || information.error != .none else { return }
        let called = "your \(information.attribute.englishName)"
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
