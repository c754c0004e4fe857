import PersonalInformation
import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

@Suite("Identity parity 18, 29: what a screen answers to an attribute")
struct AuthenticationInformationTests {
    private static let one = PersonalInformationAlias(id: "1", alias: "Private", isPrimary: true)
    private static let two = PersonalInformationAlias(id: "2", alias: "Work", isPrimary: false)

    private static func rules() throws -> PersonalInformationRules {
        PersonalInformationRules(
            birthdate: BirthdateValidator(latest: try #require(CalendarDay(year: 2026, month: 11, day: 23))))
    }

    private static func info(_ requests: RequestedAttribute...) throws -> AuthenticationPersonalInformation {
        AuthenticationPersonalInformation(RequestedInformation(requests), rules: try Self.rules())
    }

    @Test("Just what a service asks for is there")
    func requested() throws {
        // The mirror of a property without a value has no children.
        func present(_ info: AuthenticationPersonalInformation) -> [String?] {
            Mirror(reflecting: info).children.filter { !Mirror(reflecting: $0.value).children.isEmpty }.map { $0.label }
        }
        #expect(present(try Self.info()) == [])
        #expect(try Self.info().answers.isEmpty)
        for attribute in PersonalAttribute.allCases {
            #expect(present(try Self.info(RequestedAttribute(attribute))) == [attribute.rawValue])
        }
    }

    /// The screen of the documentation, for one attribute: it asks until the input is valid.
    private func confirm(_ info: AuthenticationPersonalInformation, typing inputs: [String]) -> [String?] {
        var inputs = inputs[...]
        var errors: [String?] = []
        if let infoGivenName: AuthenticationInformation<String, NameValidator> = info.givenName {
            if infoGivenName.isRequired {
                if infoGivenName.isDataMissing {
                    var isInputValid: Bool = false
                    while !isInputValid {
                        let suppliedGivenName: String = inputs.popFirst() ?? "Jo"
                        let validationResult: NameValidator.ResultCode =
                            infoGivenName
                            .setValue(value: suppliedGivenName)
                        switch validationResult {
                        case .valid:
                            isInputValid = true
                            errors.append(nil)
                        case .empty:
                            errors.append("The input must not be empty.")
                        case .tooShort:
                            errors.append(
                                """
                                The input must be at least \
                                \(infoGivenName.validator.minLength) characters long.
                                """)
                        case .tooLong:
                            errors.append(
                                """
                                The input can't be longer than \
                                \(infoGivenName.validator.maxLength) characters.
                                """)
                        }
                    }
                } else if infoGivenName.aliases.count > 1 {
                    let alias: PersonalInformationAlias? = infoGivenName.aliases.first { $0.isPrimary }
                    if infoGivenName.setSelection(alias) == nil { errors.append("not among them") }
                }
            }
        }
        return errors
    }

    @Test("The screen of the documentation asks until the name is valid")
    func screen() throws {
        var rules = try Self.rules()
        rules.givenName = NameValidator(minLength: 2, maxLength: 5)
        let info = AuthenticationPersonalInformation(
            RequestedInformation([RequestedAttribute(.givenName)]), rules: rules)
        let errors = self.confirm(info, typing: ["", "J", "Johanna", "Jo"])
        #expect(
            errors == [
                "The input must not be empty.", "The input must be at least 2 characters long.",
                "The input can't be longer than 5 characters.", nil,
            ])
        #expect(info.answers == [.givenName: .value("Jo")])
        let choice = try Self.info(RequestedAttribute(.givenName, aliases: [Self.one, Self.two]))
        #expect(self.confirm(choice, typing: []).isEmpty)
        #expect(choice.answers == [.givenName: .alias(id: "1")])
    }

    @Test("An input that is not valid clears the one before")
    func clears() throws {
        let name = try #require(try Self.info(RequestedAttribute(.givenName)).givenName)
        #expect(name.setValue(value: " Jo ") == .valid && name.answer == .value("Jo"))
        #expect(name.setValue(value: nil) == .empty && name.answer == nil)
        #expect(name.setValue(value: "Jo") == .valid && name.answer == .value("Jo"))
        #expect(name.setValue(value: String(repeating: "x", count: 129)) == .tooLong && name.answer == nil)
    }

    @Test("Every attribute takes a value of its type, and what it holds is what the server takes")
    func everyAttribute() throws {
        let info = AuthenticationPersonalInformation(
            RequestedInformation(PersonalAttribute.allCases.map { RequestedAttribute($0, isSuppliable: true) }),
            rules: try Self.rules())
        #expect(info.username?.setValue(value: "jo") == .valid)
        #expect(info.nickname?.setValue(value: "Jo") == .valid)
        #expect(info.givenName?.setValue(value: "Johanna") == .valid)
        #expect(info.familyName?.setValue(value: "Doe") == .valid)
        #expect(info.birthdate?.setValue(value: Date(timeIntervalSince1970: 988_718_400)) == .valid)
        let address = Address(street: "Allee", houseNumber: "1", postalCode: "10115", city: "Berlin", country: "DE")
        #expect(info.address?.setValue(value: address) == .valid)
        #expect(info.nationality?.setValue(value: "de") == .valid)
        #expect(info.placeOfBirth?.setValue(value: "Berlin") == .valid)
        #expect(info.gender?.setValue(value: .female) == .valid)
        #expect(info.salutation?.setValue(value: "Frau") == .valid)
        #expect(info.email?.setValue(value: "jo@example.com") == .valid)
        #expect(info.phoneNumber?.setValue(value: "+49 30 901820") == .valid)
        #expect(info.answers.count == 12)
        for (attribute, answer) in info.answers {
            guard case .value(let text) = answer else {
                Issue.record("\(attribute) holds no value")
                continue
            }
            #expect(try Self.rules().accept(text, for: attribute), "\(attribute)")
        }
    }

    @Test("What has to be verified takes no value, and says so; it takes one where the service lets it")
    func verified() throws {
        let info = try Self.info(RequestedAttribute(.email), RequestedAttribute(.phoneNumber))
        let email = try #require(info.email)
        let phoneNumber = try #require(info.phoneNumber)
        #expect(email.isDataMissing && !email.isSuppliable && !phoneNumber.isSuppliable)
        #expect(email.setValue(value: "jo@example.com") == .notSuppliableHere)
        #expect(phoneNumber.setValue(value: "+4930901820") == .notSuppliableHere)
        #expect(info.answers.isEmpty)
        let open = try #require(try Self.info(RequestedAttribute(.email, isSuppliable: true)).email)
        #expect(open.isSuppliable && open.setValue(value: "jo@example.com") == .valid)
        let name = try #require(try Self.info(RequestedAttribute(.givenName)).givenName)
        #expect(name.isSuppliable)
    }

    @Test("What the server lets nobody supply is told as that, whatever the attribute is")
    func forbidden() throws {
        for isSuppliable in [true, false] {
            let info = AuthenticationPersonalInformation(
                RequestedInformation(
                    PersonalAttribute.allCases.map { RequestedAttribute($0, isSuppliable: isSuppliable) }),
                rules: try Self.rules())
            let told = [
                info.username?.isSuppliable, info.nickname?.isSuppliable, info.givenName?.isSuppliable,
                info.familyName?.isSuppliable, info.birthdate?.isSuppliable, info.address?.isSuppliable,
                info.nationality?.isSuppliable, info.placeOfBirth?.isSuppliable, info.gender?.isSuppliable,
                info.salutation?.isSuppliable, info.email?.isSuppliable, info.phoneNumber?.isSuppliable,
            ]
            #expect(told.allSatisfy { $0 == isSuppliable })
        }
    }

    @Test("The only value of a required attribute is chosen; of several, and of an optional one, none is")
    func automatic() throws {
        let info = try Self.info(
            RequestedAttribute(.email, aliases: [Self.one]),
            RequestedAttribute(.address, aliases: [Self.one, Self.two]),
            RequestedAttribute(.nickname, isRequired: false, aliases: [Self.one]))
        #expect(info.answers == [.email: .alias(id: "1")])
        #expect(info.email?.isDataMissing == false && info.nickname?.isRequired == false)
        #expect(info.nickname?.setSelection(Self.one) == Self.one)
        #expect(info.answers == [.email: .alias(id: "1"), .nickname: .alias(id: "1")])
    }

    @Test("A choice is answered by what was adopted; a foreign one, and none, by nil, and the choice before stays")
    func foreignAlias() throws {
        let address = try #require(try Self.info(RequestedAttribute(.address, aliases: [Self.one, Self.two])).address)
        let foreign = PersonalInformationAlias(id: "3", alias: "Private", isPrimary: true)
        #expect(address.setSelection(foreign) == nil && address.answer == nil)
        #expect(address.setSelection(Self.two) == Self.two && address.answer == .alias(id: "2"))
        #expect(address.setSelection(nil) == nil && address.setSelection(foreign) == nil)
        #expect(address.answer == .alias(id: "2"))
        // Canonically equivalent, and another name.
        let likeness = PersonalInformationAlias(id: "\u{212A}", alias: "x", isPrimary: false)
        #expect(likeness != PersonalInformationAlias(id: "K", alias: "x", isPrimary: false))
    }

    @Test("What was said is taken back: an optional value goes nowhere then, and the only one of a required one stays")
    func withdrawn() throws {
        let info = try Self.info(
            RequestedAttribute(.givenName), RequestedAttribute(.familyName, isRequired: false),
            RequestedAttribute(.address, aliases: [Self.one, Self.two]),
            RequestedAttribute(.nickname, isRequired: false, aliases: [Self.one]),
            RequestedAttribute(.email, aliases: [Self.one]))
        #expect(info.givenName?.setValue(value: "Jo") == .valid && info.familyName?.setValue(value: "Doe") == .valid)
        #expect(info.address?.setSelection(Self.two) == Self.two && info.nickname?.setSelection(Self.one) == Self.one)
        #expect(info.answers.count == 5)
        // Choosing nothing is no way to take a choice back.
        #expect(info.nickname?.setSelection(nil) == nil && info.nickname?.answer == .alias(id: "1"))
        info.familyName?.withdrawAnswer()
        info.nickname?.withdrawAnswer()
        #expect(info.answers.keys.sorted { "\($0)" < "\($1)" } == [.address, .email, .givenName])
        info.givenName?.withdrawAnswer()
        info.address?.withdrawAnswer()
        info.email?.withdrawAnswer()
        #expect(info.answers == [.email: .alias(id: "1")])
        // And said again.
        #expect(info.nickname?.setSelection(Self.one) == Self.one)
        #expect(info.answers == [.email: .alias(id: "1"), .nickname: .alias(id: "1")])
    }

    @Test("The server's findings are where the screens look, until the next ones")
    func findings() throws {
        let info = try Self.info(RequestedAttribute(.givenName), RequestedAttribute(.email, aliases: [Self.one]))
        #expect(info.givenName?.error == AuthenticationInformationErrorCode.none)
        info.report([.givenName: .dataMissing, .address: .notAvailable])
        #expect(info.givenName?.error == .dataMissing && info.email?.error == AuthenticationInformationErrorCode.none)
        info.report([.email: .noAliasSelected])
        #expect(
            info.givenName?.error == AuthenticationInformationErrorCode.none && info.email?.error == .noAliasSelected)
    }

    @Test("What was typed is in no description and no reflection")
    func notShown() throws {
        let info = try Self.info(RequestedAttribute(.givenName))
        #expect(info.givenName?.setValue(value: "S3CRET") == .valid)
        var dumped = ""
        dump(info, to: &dumped)
        #expect(dumped.contains("givenName") && !dumped.contains("S3CRET") && !"\(info)".contains("S3CRET"))
    }
}
