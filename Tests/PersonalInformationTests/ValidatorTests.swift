import PersonalInformation
import Testing
import _Primitives

@Suite("Identity parity 18, 22: what each attribute's validator says")
struct ValidatorTests {
    /// One input and what it comes to; `spelling` where it is accepted.
    private struct Row<Validator: PersonalInformationValidator> {
        let value: Validator.Value?
        let code: Validator.ResultCode
        let spelling: String?

        init(_ value: Validator.Value?, _ code: Validator.ResultCode) {
            self.value = value
            self.code = code
            self.spelling = nil
        }

        init(_ value: Validator.Value?, as spelling: String) {
            self.value = value
            self.code = .valid
            self.spelling = spelling
        }
    }

    /// Holds a validator against its table, in which every code that it has must occur.
    private func check<Validator: PersonalInformationValidator>(
        _ validator: Validator, _ codes: Set<Validator.ResultCode>, _ rows: [Row<Validator>]
    ) {
        for row in rows {
            #expect(validator.validate(row.value) == row.code, "\(row)")
            if let spelling = row.spelling {
                #expect(validator.judge(row.value) == .accepted(spelling: spelling), "\(row)")
                #expect(validator.accepts(spelling), "\(row)")
            } else {
                #expect(validator.judge(row.value) == .refused(row.code), "\(row)")
            }
        }
        #expect(Set(rows.map(\.code)) == codes)
    }

    @Test("A name is empty, too short, too long or valid, by the validator's bounds")
    func givenName() {
        #expect(NameValidator().minLength == 1 && NameValidator().maxLength == 128)
        self.check(
            NameValidator(minLength: 2, maxLength: 5), Set(NameValidator.ResultCode.allCases),
            [
                Row(nil, .empty), Row("", .empty), Row("  \t\n", .empty), Row("\u{FEFF}\u{200B}", .empty),
                Row("J", .tooShort), Row(" J ", .tooShort), Row("Jo", as: "Jo"), Row("Johan", as: "Johan"),
                Row("Johann", .tooLong), Row(String(repeating: "x", count: 100_000), .tooLong),
                // What is pasted brings white space and invisible characters along.
                Row(" \u{200E}Jo\u{A0}\n", as: "Jo"), Row("J\u{A0}\u{2003}o", as: "J o"),
                // Counted in the normal form: five characters, written as six.
                Row("Mu\u{308}ller", .tooLong), Row("Mu\u{308}lle", as: "M\u{FC}lle"),
                Row("\u{1F468}\u{1F3FD}", as: "\u{1F468}\u{1F3FD}"),
                // A run of marks that would take long to compose.
                Row("a" + String(repeating: "\u{301}", count: 31), .tooLong),
            ])
    }

    @Test(
        "A character that hides, reorders or has no agreed picture makes a name none",
        arguments: [
            "J\no", "J\to", "J\u{0}o", "J\u{1B}[31mo", "J\u{202E}o", "J\u{2066}o", "J\u{200B}o", "J\u{200D}o",
            "J\u{FEFF}o", "J\u{2028}o", "J\u{E000}o", "J\u{378}o", "J\u{34F}o", "J\u{115F}o", "\u{301}Jo",
        ])
    func unreadableNames(name: String) {
        #expect(NameValidator().validate(name) == .empty)
        #expect(SalutationValidator().validate(name) == .empty)
        #expect(UsernameValidator().validate(name) == .invalidCharacters)
        #expect(!NameValidator().accepts(name))
        let address = Address(street: name, houseNumber: name, postalCode: name, city: name, country: "DE")
        #expect(AddressValidator().validate(address) == .streetMissing)
    }

    @Test("A user name is letters, marks and digits, and five signs")
    func username() {
        self.check(
            UsernameValidator(minLength: 3, maxLength: 10), Set(UsernameValidator.ResultCode.allCases),
            [
                Row(nil, .empty), Row(" ", .empty), Row("jo", .tooShort), Row("jo.doe_1-+@", .tooLong),
                Row("jo doe", .invalidCharacters), Row("jo/doe", .invalidCharacters),
                Row("jo\u{0}e", .invalidCharacters),
                Row(String(repeating: "x", count: 41), .tooLong),
                Row("<script>", .invalidCharacters), Row("jo.d_1-+@", as: "jo.d_1-+@"),
                Row(" J\u{F6}rg ", as: "J\u{F6}rg"), Row("山田太郎", as: "山田太郎"), Row("Jo\u{308}rg", as: "J\u{F6}rg"),
            ])
    }

    @Test("A salutation is a line")
    func salutation() {
        self.check(
            SalutationValidator(maxLength: 9), Set(SalutationValidator.ResultCode.allCases),
            [
                Row(nil, .empty), Row("", .empty), Row("Frau Dr.", as: "Frau Dr."), Row("Frau  Dr. X", .tooLong),
                Row("Frau\u{3000}Dr.", as: "Frau Dr."), Row(String(repeating: "x", count: 37), .tooLong),
            ])
    }

    @Test("A gender is one of four")
    func gender() {
        self.check(
            GenderValidator(), Set(GenderValidator.ResultCode.allCases),
            [Row(nil, .empty)] + Gender.allCases.map { Row($0, as: $0.rawValue) })
        for text in ["", "Female", "other", "fe\u{6D}ale\u{301}"] { #expect(!GenderValidator().accepts(text)) }
    }

    @Test("A nationality is two letters of ISO 3166-1")
    func nationality() {
        self.check(
            NationalityValidator(), Set(NationalityValidator.ResultCode.allCases),
            [
                Row(nil, .empty), Row(" ", .empty), Row("XX", .unknownCountry), Row("D", .unknownCountry),
                Row("DEU", .unknownCountry), Row("\u{FF24}E", .unknownCountry), Row("\u{212A}E", .unknownCountry),
                Row("D\u{200B}E", .unknownCountry), Row("DE", as: "DE"), Row(" fr ", as: "FR"),
            ])
        let countries = NationalityValidator().countries
        #expect(countries.count == 249 && Set(countries).count == 249 && countries == countries.sorted())
        #expect(countries.allSatisfy { NationalityValidator().accepts($0) })
        #expect(!NationalityValidator().accepts("de"))
    }

    @Test("An address lacks its first part that is wrong")
    func address() {
        func address(
            _ street: String, _ number: String?, _ code: String, _ city: String, _ country: String
        ) -> Address { Address(street: street, houseNumber: number, postalCode: code, city: city, country: country) }
        let long = String(repeating: "x", count: 13)
        self.check(
            AddressValidator(maxLength: 12), Set(AddressValidator.ResultCode.allCases),
            [
                Row(nil, .empty), Row(address("", nil, " ", "", "\n"), .empty),
                Row(address("", "1", "10115", "Berlin", "DE"), .streetMissing),
                Row(address("Allee", "1\n2", "10115", "Berlin", "DE"), .streetMissing),
                Row(address("Allee", "1", "", "Berlin", "DE"), .postalCodeMissing),
                Row(address("Allee", "1", "10115", "\u{202E}x\u{202E}y", "DE"), .cityMissing),
                Row(address("Allee", "1", "10115", "Berlin", "Germany"), .countryInvalid),
                Row(address("Allee", "1", "10115", "Berlin", ""), .countryInvalid),
                Row(address(long, "1", "10115", "Berlin", "DE"), .tooLong),
                Row(address("Allee", long, "10115", "Berlin", "DE"), .tooLong),
                Row(address("Allee", "1", long, "Berlin", "DE"), .tooLong),
                Row(address("Allee", "1", "10115", long, "DE"), .tooLong),
                Row(address(" Allee ", " 1 a", "10115", "Berlin", "de"), as: "Allee\n1 a\n10115\nBerlin\nDE"),
                Row(address("Allee 1", nil, "10115", "Berlin", "DE"), as: "Allee 1\n\n10115\nBerlin\nDE"),
                Row(address("Allee 1", " ", "10115", "Berlin", "DE"), as: "Allee 1\n\n10115\nBerlin\nDE"),
            ])
        for text in [
            "", "Allee\n1\n10115\nBerlin", "Allee\n1\n10115\nBerlin\nDE\n", "Allee\r\n1\n10115\nBerlin\nDE",
            "Allee\n \n10115\nBerlin\nDE", "Allee\n1\n10115\nBerlin\nde", " Allee\n1\n10115\nBerlin\nDE",
            "Alle\u{65}\u{301}\n1\n10115\nBerlin\nDE",
        ] {
            #expect(!AddressValidator().accepts(text), "\(text)")
        }
        let read = Address(spelledAs: "Allee 1\n\n10115\nBerlin\nDE")
        #expect(read == address("Allee 1", nil, "10115", "Berlin", "DE"))
        var dumped = ""
        dump(read, to: &dumped)
        #expect(!dumped.contains("Berlin") && !"\(String(describing: read))".contains("Berlin"))
    }

    @Test("An e-mail address is a dot-atom at a host (RFC 5322, section 3.4.1)")
    func email() {
        let name = String(repeating: "n", count: 64)
        let label = String(repeating: "h", count: 63)
        let longest = "\(name)@\(label).\(label).\(String(repeating: "h", count: 61))"
        #expect(longest.utf8.count == 254 && EmailValidator().maxLength == 254)
        self.check(
            EmailValidator(), Set(EmailValidator.ResultCode.allCases).subtracting([.notSuppliableHere]),
            [
                Row(nil, .empty), Row(" ", .empty), Row(" jo@example.com\n", as: "jo@example.com"),
                Row("Jo+x@EXAMPLE.com", as: "Jo+x@EXAMPLE.com"), Row("jo@localhost", as: "jo@localhost"),
                Row(longest, as: longest), Row(longest + "h", .tooLong), Row("n" + longest.dropLast(), .invalidFormat),
                Row(String(repeating: "x", count: 5000), .tooLong),
            ]
                + [
                    "jo", "@example.com", "jo@", "jo@@example.com", "jo doe@example.com", "jo.@example.com",
                    ".jo@example.com", "jo..d@example.com", "jo@-x.com", "jo@x-.com", "jo@x..com", "jo@x_y.com",
                    "\"jo\"@example.com", "jo@[127.0.0.1]", "j\u{F6}@example.com", "jo@ban\u{212A}.example",
                    "jo@ex\u{200B}ample.com", "jo@example.com,x@example.com", "jo@\(label)h.com",
                ].map { Row($0, .invalidFormat) })
        #expect(EmailValidator(maxLength: 14).validate("jo@example.com") == .valid)
        #expect(EmailValidator(maxLength: 13).validate("jo@example.com") == .tooLong)
        #expect(EmailValidator(maxLength: 9999).maxLength == 254)
    }

    @Test("A telephone number has its country's code (ITU-T E.164)")
    func phoneNumber() {
        self.check(
            PhoneNumberValidator(), Set(PhoneNumberValidator.ResultCode.allCases).subtracting([.notSuppliableHere]),
            [
                Row(nil, .empty), Row("\t", .empty), Row("+123456", .tooShort), Row("+", .tooShort),
                Row("+1234567", as: "+1234567"), Row("+123456789012345", as: "+123456789012345"),
                Row("+1234567890123456", .tooLong), Row("+" + String(repeating: "1 ", count: 500), .tooLong),
                Row(" +49 (30) 901820/12-3.4\u{A0}", as: "+4930901820" + "1234"),
                Row("030 901820", .invalidFormat), Row("+0301234567", .invalidFormat),
                Row("++491234567", .invalidFormat),
                Row("+49 30 abcdefg", .invalidFormat), Row("+49\u{660}1234567", .invalidFormat),
                Row("+49\u{200B}301234567", .invalidFormat), Row("491234567", .invalidFormat),
            ])
        #expect(PhoneNumberValidator().minLength == 7 && PhoneNumberValidator().maxLength == 15)
        #expect(PhoneNumberValidator(minLength: 3, maxLength: 99).maxLength == 15)
    }

    @Test("Bounds that make no sense are brought into ones that do")
    func bounds() {
        let name = NameValidator(minLength: -3, maxLength: -1)
        #expect(name.minLength == 1 && name.maxLength == 1)
        #expect(NameValidator(minLength: 9, maxLength: 4).minLength == 4)
        #expect(NameValidator(maxLength: .max).maxLength == 1024)
        #expect(UsernameValidator(minLength: .min, maxLength: .max) == UsernameValidator(minLength: 1, maxLength: 1024))
        #expect(SalutationValidator(maxLength: 0).maxLength == 1 && AddressValidator(maxLength: 0).maxLength == 1)
    }

    @Test("A server's lengths become a phone's lengths, attribute by attribute")
    func lengths() throws {
        let usual = PersonalInformationRules(
            birthdate: BirthdateValidator(latest: try #require(CalendarDay(year: 2026, month: 11, day: 23))))
        #expect(
            Set(usual.lengths.keys).isSuperset(of: [
                .username, .nickname, .givenName, .familyName, .address, .placeOfBirth, .salutation, .email,
                .phoneNumber,
            ]))
        #expect(usual.lengths.keys.allSatisfy { ![.birthdate, .nationality, .gender].contains($0) })
        #expect(usual.with(lengths: [:]) == usual && usual.with(lengths: usual.lengths) == usual)
        for attribute in usual.lengths.keys {
            let other = usual.with(lengths: [attribute: 1...9])
            #expect(other.lengths == usual.lengths.merging([attribute: 1...9]) { $1 }, "\(attribute)")
        }
        #expect(usual.with(lengths: [.gender: 1...9]) == usual)
    }

    @Test("The names of the first twelve attributes stand in messages and stores, and two of them have to be verified")
    func attributes() {
        let names = [
            "username", "nickname", "givenName", "familyName", "birthdate", "address", "nationality", "placeOfBirth",
            "gender", "salutation", "email", "phoneNumber",
        ]
        let attributes = PersonalAttribute.allCases.filter { names.contains($0.rawValue) }
        #expect(attributes.map(\.rawValue) == names)
        #expect(attributes.filter(\.needsVerification) == [.email, .phoneNumber])
    }

    @Test("The example of each attribute is a value in its single spelling, and no two attributes share a name")
    func examples() throws {
        let rules = PersonalInformationRules(
            birthdate: BirthdateValidator(latest: try #require(CalendarDay(year: 2026, month: 11, day: 23))))
        for attribute in PersonalAttribute.allCases {
            #expect(rules.accept(attribute.example, for: attribute), "\(attribute)")
        }
        #expect(Set(PersonalAttribute.allCases.map(\.englishName)).count == PersonalAttribute.allCases.count)
    }
}
