import _Primitives

/// A person's postal address.
public struct Address: Hashable, Sendable {
    /// The street, or its substitute; with the house number if the country writes street and number as one.
    public var street: String
    /// The house number, if separate.
    public var houseNumber: String?
    /// The postal code.
    public var postalCode: String
    /// The town.
    public var city: String
    /// The country's two letters (ISO 3166-1 alpha-2).
    public var country: String

    /// Creates an address from its parts, as typed.
    public init(street: String, houseNumber: String? = nil, postalCode: String, city: String, country: String) {
        self.street = street
        self.houseNumber = houseNumber
        self.postalCode = postalCode
        self.city = city
        self.country = country
    }

    /// Reads an address from the single spelling of ``AddressValidator``; `nil` if the text does not have five lines.
    public init?(spelledAs text: String) {
        let lines = text.splitBytes(at: "\n").map { String($0) }
        guard lines.count == 5 else { return nil }
        self.init(
            street: lines[0], houseNumber: lines[1].isEmpty ? nil : lines[1], postalCode: lines[2], city: lines[3],
            country: lines[4])
    }

    /// The name of the type alone.
    public var description: String { "Address" }
}

extension Address: CustomStringConvertible, CustomReflectable {
    /// A mirror without children, because an address does not belong in a log.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// Checks addresses. The single spelling has five lines: street, house number (possibly empty), postal code, town,
/// country.
public struct AddressValidator: PersonalInformationValidator {
    /// The result for an address: the first wrong part. A part with a character that hides or reorders others counts as
    /// missing.
    public enum ResultCode: String, PersonalInformationResultCode, CaseIterable {
        /// The address was accepted.
        case valid
        /// Nothing was typed.
        case empty
        /// The street is missing, or the house number cannot be shown.
        case streetMissing
        /// The postal code is missing.
        case postalCodeMissing
        /// The town is missing.
        case cityMissing
        /// The country is not the two letters of a country.
        case countryInvalid
        /// A part has more characters than ``AddressValidator/maxLength``.
        case tooLong
    }

    /// The most characters (Unicode scalars) of each part.
    public let maxLength: Int

    /// Creates a validator. A bound outside 1...1024 is moved into this range.
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

extension AddressValidator: LengthValidator {
    package var bounds: ClosedRange<Int> { 1...self.maxLength }

    package init(bounds: ClosedRange<Int>) {
        self.init(maxLength: bounds.upperBound)
    }
}

/// Checks nationalities: the two letters of a country (ISO 3166-1 alpha-2), in either case.
public struct NationalityValidator: PersonalInformationValidator {
    /// The result for a nationality.
    public enum ResultCode: String, PersonalInformationResultCode, CaseIterable {
        /// The nationality was accepted.
        case valid
        /// Nothing was typed.
        case empty
        /// The text is not the two letters of a country.
        case unknownCountry
    }

    /// The letters of the countries to choose from.
    public var countries: [String] { Country.codes }

    /// Creates a validator.
    public init() {}

    public func judge(_ value: String?) -> JudgedInput<ResultCode> {
        guard let value, !isBlank(value) else { return .refused(.empty) }
        return Country.code(value).map { .accepted(spelling: $0) } ?? .refused(.unknownCountry)
    }
}

/// The product's own list of countries, because phone and server must judge alike. The system's list differs from
/// version to version.
enum Country {
    /// The officially assigned codes of ISO 3166-1 alpha-2 in 2026.
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

    /// Returns the code in the standard's spelling; `nil` if no such country exists.
    static func code(_ text: String) -> String? {
        guard case .line(let line) = PersonText(text, maximum: 2, isASCII: true) else { return nil }
        let code = line.asciiUppercased
        return Self.known.contains(ExactText(code)) ? code : nil
    }
}
