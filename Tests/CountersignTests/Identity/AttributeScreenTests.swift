import Countersign
import CountersignTestKit
import Foundation
import PersonalInformation
import Testing
import UAF
import _Primitives

@Suite("What a service asks to know, as a screen has it (decision 57)") struct AttributeScreenTests {
    /// The properties that a screen finds, by the attributes that they are named after.
    private func asked(_ info: AuthenticationPersonalInformation) -> Set<PersonalAttribute> {
        Set(
            Mirror(reflecting: info).children.compactMap { property in
                // The mirror of a property without a value has no children.
                let isThere = !Mirror(reflecting: property.value).children.isEmpty
                return isThere ? property.label.flatMap { PersonalAttribute(exactly: $0) } : nil
            })
    }

    @Test("each attribute can be asked for: exactly those that are asked for are there")
    func exactlyTheRequested() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let all = PersonalAttribute.allCases
        let random = RandomSource.repeatable("requested attributes")
        let some = (0..<20).map { _ in all.filter { _ in random.number(below: 2) == 0 } }
        for requested in all.map({ [$0] }) + [[], all] + some {
            await phone.server.ask { $0.attributes = requested.map { RequestedAttribute($0) } }
            #expect(self.asked(try await phone.start().info) == Set(requested))
        }
    }

    @Test("the bounds that a screen reads are the server's") func bounds() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let rules = try Self.rules()
        await phone.server.ask {
            $0.rules = rules
            $0.attributes = PersonalAttribute.allCases.map { RequestedAttribute($0) }
        }
        let info = try await phone.start().info
        let username = try #require(info.username).validator
        #expect(username.minLength == 3 && username.maxLength == 11)
        let nickname = try #require(info.nickname).validator
        #expect(nickname.minLength == 2 && nickname.maxLength == 12)
        let givenName = try #require(info.givenName).validator
        #expect(givenName.minLength == 4 && givenName.maxLength == 13)
        let familyName = try #require(info.familyName).validator
        #expect(familyName.minLength == 5 && familyName.maxLength == 14)
        let placeOfBirth = try #require(info.placeOfBirth).validator
        #expect(placeOfBirth.minLength == 6 && placeOfBirth.maxLength == 15)
        #expect(try #require(info.salutation).validator.maxLength == 8)
        #expect(try #require(info.address).validator.maxLength == 16)
        #expect(try #require(info.email).validator.maxLength == 31)
        let phoneNumber = try #require(info.phoneNumber).validator
        #expect(phoneNumber.minLength == 8 && phoneNumber.maxLength == 13)
        let birthdate = try #require(info.birthdate).validator
        #expect(birthdate.earliest == rules.birthdate.earliest && birthdate.latest == rules.birthdate.latest)
        #expect(try #require(info.nationality).validator == rules.nationality)
        #expect(try #require(info.gender).validator == rules.gender)
    }

    /// Bounds that no other attribute has. The last day is the one that the server's clock shows.
    private static func rules() throws -> PersonalInformationRules {
        let today = try #require(CalendarDay(Date(timeIntervalSince1970: 1_800_000_000), in: .current))
        var rules = PersonalInformationRules(birthdate: BirthdateValidator(latest: today))
        rules.username = UsernameValidator(minLength: 3, maxLength: 11)
        rules.nickname = NameValidator(minLength: 2, maxLength: 12)
        rules.givenName = NameValidator(minLength: 4, maxLength: 13)
        rules.familyName = NameValidator(minLength: 5, maxLength: 14)
        rules.placeOfBirth = NameValidator(minLength: 6, maxLength: 15)
        rules.salutation = SalutationValidator(maxLength: 8)
        rules.address = AddressValidator(maxLength: 16)
        rules.email = EmailValidator(maxLength: 31)
        rules.phoneNumber = PhoneNumberValidator(minLength: 8, maxLength: 13)
        return rules
    }

    private static let pieces = [
        "a", "Jo", "Müller", "Zoe\u{308}", "山田", "O’Neill", "-", ".", "@", "a@b.example", "+49", "301234", "1", " ",
        "\u{A0}", "\t", "\n", "\u{0}", "\u{200B}", "\u{202E}", "\u{301}", "\u{212A}", "\u{1F468}\u{200D}\u{1F469}",
        "DE",
        "de", "female", "2001-05-01", "",
    ]

    private static func text(_ random: RandomSource) -> String {
        (0..<random.number(below: 6)).map { _ in
            guard random.number(below: 8) == 0 else { return Self.pieces[Int(random.number(below: 28))] }
            return Unicode.Scalar(UInt32(random.number(below: 0x11_0000))).map { String($0) } ?? "x"
        }.joined()
    }

    /// Whether the phone's screen says of a value what the server says: of what the phone sends, and of what somebody with
    /// another phone would send instead.
    private func agree<Value, Validator>(
        _ information: AuthenticationInformation<Value, Validator>?, _ value: Value, typed: String,
        _ server: (String) -> AuthenticationInformationErrorCode
    ) throws -> Bool {
        let information = try #require(information)
        let code = information.setValue(value: value)
        switch information.validator.judge(value) {
        case .accepted(let spelling):
            return code == .valid && server(spelling) == AuthenticationInformationErrorCode.none
                && (typed.hasSameBytes(as: spelling) || server(typed) == .invalid)
        case .refused(let refusal): return code == refusal && code != .valid && server(typed) == .invalid
        }
    }

    @Test("of random texts the phone's screen and the server say the same") func sameVerdict() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let rules = try Self.rules()
        let attributes = PersonalAttribute.allCases.map { RequestedAttribute($0, isSuppliable: true) }
        await phone.server.ask {
            $0.rules = rules
            $0.attributes = attributes
        }
        let info = try await phone.start().info
        let random = RandomSource.repeatable("random texts")
        var valid = 0
        for _ in 0..<1500 {
            let text = Self.text(random)
            func server(_ attribute: PersonalAttribute) -> (String) -> AuthenticationInformationErrorCode {
                { typed in
                    let request = RequestedAttribute(attribute, isSuppliable: true)
                    return RequestedInformation([request]).judge([attribute: .value(typed)], by: rules)
                        .errors[attribute] ?? .none
                }
            }
            let date = Date(timeIntervalSince1970: Double(random.number(below: 8_000_000_000)) - 5_000_000_000)
            let day = CalendarDay(date, in: try #require(info.birthdate).validator.timeZone)?.text ?? ""
            let isOften = random.number(below: 3) > 0
            let address = Address(
                street: isOften ? "Allee" : Self.text(random), postalCode: isOften ? "10115" : Self.text(random),
                city: Self.text(random), country: isOften ? "DE" : Self.text(random))
            let lines = [address.street, "", address.postalCode, address.city, address.country]
                .joined(separator: "\n")
            let agreements: [(PersonalAttribute, Bool)] = [
                (.username, try self.agree(info.username, text, typed: text, server(.username))),
                (.nickname, try self.agree(info.nickname, text, typed: text, server(.nickname))),
                (.givenName, try self.agree(info.givenName, text, typed: text, server(.givenName))),
                (.familyName, try self.agree(info.familyName, text, typed: text, server(.familyName))),
                (.placeOfBirth, try self.agree(info.placeOfBirth, text, typed: text, server(.placeOfBirth))),
                (.nationality, try self.agree(info.nationality, text, typed: text, server(.nationality))),
                (.salutation, try self.agree(info.salutation, text, typed: text, server(.salutation))),
                (.email, try self.agree(info.email, text, typed: text, server(.email))),
                (.phoneNumber, try self.agree(info.phoneNumber, text, typed: text, server(.phoneNumber))),
                (.birthdate, try self.agree(info.birthdate, date, typed: day, server(.birthdate))),
                (.address, try self.agree(info.address, address, typed: lines, server(.address))),
            ]
            // Not an expectation each: there are sixteen thousand.
            for (attribute, agrees) in agreements where !agrees {
                Issue.record("\(attribute): \(text.unicodeScalars.map { String($0.value, radix: 16) })")
            }
            if info.nickname?.setValue(value: text) == .valid { valid += 1 }
        }
        #expect((200...1300).contains(valid), "\(valid)")
    }

    @Test("what has to be verified cannot be supplied on the way: it is refused by its own code, and stays missing")
    func verifiedOnly() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        await phone.server.ask {
            $0.attributes = [
                RequestedAttribute(.email), RequestedAttribute(.phoneNumber), RequestedAttribute(.nickname),
            ]
        }
        let request = try await phone.start()
        let email = try #require(request.info.email)
        let phoneNumber = try #require(request.info.phoneNumber)
        let nickname = try #require(request.info.nickname)
        #expect(email.isDataMissing && !email.isSuppliable)
        #expect(phoneNumber.isDataMissing && !phoneNumber.isSuppliable)
        #expect(nickname.isDataMissing && nickname.isSuppliable)
        #expect(email.setValue(value: "ada@example.org") == .notSuppliableHere)
        #expect(phoneNumber.setValue(value: "+49301234567") == .notSuppliableHere)
        #expect(nickname.setValue(value: "Ada") == .valid)
        guard
            case .failure = try await phone.sdk.authenticator.prepareAuthenticationUserInformation(request: request)
        else {
            Issue.record("prepared without an e-mail address")
            return
        }
        // Nothing was sent of it, so that nothing else is wrong with it.
        #expect(email.error == .dataMissing && phoneNumber.error == .dataMissing)
        #expect(nickname.error == AuthenticationInformationErrorCode.none)
    }
}
