import _Primitives

/// Where a person lives.
public struct Address: Hashable, Sendable {
    /// The street, or what stands for one; with the house number where the country writes both as one.
    public var street: String
    /// The house number, if it is apart.
    public var houseNumber: String?
    /// The postal code.
    public var postalCode: String
    /// The town.
    public var city: String
    /// The country's two letters (ISO 3166-1 alpha-2).
    public var country: String

    /// An address of these parts, as they were typed.
    public init(street: String, houseNumber: String? = nil, postalCode: String, city: String, country: String) {
        self.street = street
        self.houseNumber = houseNumber
        self.postalCode = postalCode
        self.city = city
        self.country = country
    }

    /// Reads the one spelling of ``AddressValidator``; `nil` for a text that has not five lines.
    public init?(spelledAs text: String) {
        let lines = text.splitBytes(at: "\n").map { String($0) }
        guard lines.count == 5 else { return nil }
        self.init(
            street: lines[0], houseNumber: lines[1].isEmpty ? nil : lines[1], postalCode: lines[2], city: lines[3],
            country: lines[4])
    }

    /// The parts that there are, and none of what they say.
    public var description: String { "Address" }
}

extension Address: CustomStringConvertible, CustomReflectable {
    /// A mirror without children: an address is no matter of a log.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Judges addresses. The one spelling is five lines: street, house number (which may be empty), postal code, town, country.
public struct AddressValidator: PersonalInformationValidator {
    /// What an address comes to: the first of its parts that is wrong. A part with a character that hides or reorders
    /// others counts as missing.
    public enum ResultCode: String, PersonalInformationResultCode, CaseIterable {
        /// The address was accepted.
        case valid
        /// Nothing was typed.
        case empty
        /// No street, or a house number that cannot be shown.
        case streetMissing
        /// No postal code.
        case postalCodeMissing
        /// No town.
        case cityMissing
        /// Not the two letters of a country.
        case countryInvalid
        /// A part has more characters than ``AddressValidator/maxLength``.
        case tooLong
    }

    /// The most characters (Unicode scalars) of each part.
    public let maxLength: Int

    /// Makes a validator. A bound that makes no sense is brought into 1...1024.
    public init(maxLength: Int = 256) { self.maxLength = lengths(1, maxLength).maximum }

    public func judge(_ value: Address?) -> JudgedInput<ResultCode> {
        guard let value, !Self.isBlank(value) else { return .refused(.empty) }
        let names: [(String, ResultCode)] = [
            (value.street, .streetMissing), (value.houseNumber ?? "", .streetMissing),
            (value.postalCode, .postalCodeMissing), (value.city, .cityMissing),
        ]
        var lines: [String] = []
        for (index, (text, missing)) in names.enumerated() {
            let isHouseNumber = index == 1
            if isHouseNumber, PersonalInformation.isBlank(text) {
                lines.append("")
                continue
            }
            switch PersonText(text, maximum: self.maxLength) {
            case .unreadable: return .refused(missing)
            case .line(let line) where line.unicodeScalars.count <= self.maxLength: lines.append(line)
            case .line, .tooLong: return .refused(.tooLong)
            }
        }
        guard let country = Country.code(value.country) else { return .refused(.countryInvalid) }
        return .accepted(spelling: (lines + [country]).joined(separator: "\n"))
    }

    public func accepts(_ text: String) -> Bool {
        guard let address = Address(spelledAs: text), case .accepted(let spelling) = self.judge(address) else {
            return false
        }
        return spelling.hasSameBytes(as: text)
    }

    private static func isBlank(_ address: Address) -> Bool {
        [address.street, address.houseNumber, address.postalCode, address.city, address.country]
            .allSatisfy(PersonalInformation.isBlank)
    }
}

/// Judges nationalities: the two letters of a country (ISO 3166-1 alpha-2), in either case.
public struct NationalityValidator: PersonalInformationValidator {
    /// What a nationality comes to.
    public enum ResultCode: String, PersonalInformationResultCode, CaseIterable {
        /// The nationality was accepted.
        case valid
        /// Nothing was typed.
        case empty
        /// Not the two letters of a country.
        case unknownCountry
    }

    /// The countries that can be chosen from, by their letters.
    public var countries: [String] { Country.codes }

    /// Makes a validator.
    public init() {}

    public func judge(_ value: String?) -> JudgedInput<ResultCode> {
        guard let value, !isBlank(value) else { return .refused(.empty) }
        return Country.code(value).map { .accepted(spelling: $0) } ?? .refused(.unknownCountry)
    }
}

/// Our own list of countries, because phone and server must judge alike: the one of the system differs from version to
/// version.
enum Country {
    /// ISO 3166-1 alpha-2, the officially assigned codes of 2026.
    static let codes =
        """
        AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ \
        CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO \
        FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE \
        JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO \
        MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW \
        PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM \
        TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW
        """
        .split(separator: " ").map { String($0) }

    private static let known = Set(codes.map(ExactText.init))

    /// The code as the standard writes it; `nil` where there is no such country.
    static func code(_ text: String) -> String? {
        guard case .line(let line) = PersonText(text, maximum: 2, isASCII: true) else { return nil }
        let code = line.asciiUppercased
        return Self.known.contains(ExactText(code)) ? code : nil
    }
}
