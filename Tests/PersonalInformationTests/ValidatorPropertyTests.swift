import Foundation
import PersonalInformation
import Testing
import _Primitives

@Suite("Decision 57: phone and server judge alike, whatever is typed")
struct ValidatorPropertyTests {
    private static let latest = CalendarDay(year: 2026, month: 11, day: 23)

    private static func rules() throws -> PersonalInformationRules {
        var rules = PersonalInformationRules(birthdate: BirthdateValidator(latest: try #require(Self.latest)))
        rules.username = UsernameValidator(minLength: 2, maxLength: 12)
        rules.nickname = NameValidator(minLength: 2, maxLength: 12)
        rules.salutation = SalutationValidator(maxLength: 8)
        rules.address = AddressValidator(maxLength: 12)
        rules.email = EmailValidator(maxLength: 30)
        return rules
    }

    /// What the phone accepts the server takes, and what the server takes the phone would have sent.
    private func agree(
        _ validator: some PersonalInformationValidator<String>, _ rules: PersonalInformationRules,
        _ attribute: PersonalAttribute, _ text: String
    ) -> Bool {
        switch validator.judge(text) {
        case .accepted(let spelling):
            let isFit =
                !spelling.unicodeScalars.contains(where: \.isUnfitToShow)
                && spelling.hasSameBytes(as: spelling.precomposedStringWithCanonicalMapping)
                && spelling.hasSameBytes(as: spelling.trimmingCharacters(in: .whitespacesAndNewlines))
            return isFit && rules.accept(spelling, for: attribute)
                && validator.judge(spelling) == .accepted(spelling: spelling)
                && validator.validate(text) == .valid
                && rules.validator(for: attribute).spelling(of: text)?.hasSameBytes(as: spelling) == true
                && rules.accept(text, for: attribute) == text.hasSameBytes(as: spelling)
        case .refused(let code):
            return code != .valid && validator.validate(text) == code && !rules.accept(text, for: attribute)
                && rules.validator(for: attribute).spelling(of: text) == nil
        }
    }

    @Test("Of ten thousand texts both say the same, and what is accepted has one spelling that is fit to be shown")
    func randomTexts() throws {
        let rules = try Self.rules()
        var random = SeededGenerator(seed: 11)
        var accepted = 0
        for _ in 0..<10_000 {
            let text = RandomTexts.text(&random)
            let verdicts: [(PersonalAttribute, Bool)] = [
                (.username, self.agree(rules.username, rules, .username, text)),
                (.nickname, self.agree(rules.nickname, rules, .nickname, text)),
                (.givenName, self.agree(rules.givenName, rules, .givenName, text)),
                (.familyName, self.agree(rules.familyName, rules, .familyName, text)),
                (.placeOfBirth, self.agree(rules.placeOfBirth, rules, .placeOfBirth, text)),
                (.nationality, self.agree(rules.nationality, rules, .nationality, text)),
                (.salutation, self.agree(rules.salutation, rules, .salutation, text)),
                (.email, self.agree(rules.email, rules, .email, text)),
                (.phoneNumber, self.agree(rules.phoneNumber, rules, .phoneNumber, text)),
            ]
            // Not an expectation each: there are a hundred thousand.
            for (attribute, agrees) in verdicts where !agrees {
                Issue.record("\(attribute): \(text.unicodeScalars.map { String($0.value, radix: 16) })")
            }
            if rules.nickname.validate(text) == .valid { accepted += 1 }
            #expect(rules.accept(text, for: .gender) == (text == "female"))
            #expect(rules.accept(text, for: .birthdate) == (text == "2001-05-01"))
        }
        #expect(accepted > 500)
    }

    @Test("Of ten thousand addresses both say the same, and no part of one can pass for another")
    func randomAddresses() throws {
        let rules = try Self.rules()
        var random = SeededGenerator(seed: 12)
        var accepted = 0
        for _ in 0..<10_000 {
            let isOften = Int.random(in: 0..<3, using: &random) > 0
            let address = Address(
                street: isOften ? "Allee" : RandomTexts.text(&random),
                houseNumber: Bool.random(using: &random) ? RandomTexts.text(&random) : nil,
                postalCode: isOften ? "10115" : RandomTexts.text(&random), city: RandomTexts.text(&random),
                country: isOften ? "DE" : RandomTexts.text(&random))
            guard case .accepted(let spelling) = rules.address.judge(address) else {
                #expect(rules.address.validate(address) != .valid)
                continue
            }
            accepted += 1
            let read = try #require(Address(spelledAs: spelling))
            #expect(rules.accept(spelling, for: .address) && rules.address.judge(read) == .accepted(spelling: spelling))
            #expect(spelling.splitBytes(at: "\n").count == 5)
        }
        #expect(accepted > 300)
    }
}
