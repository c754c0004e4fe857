import Foundation
import PersonalInformation
import _Primitives

/// One attribute that a service requests, independent of the type of its values: the display in a terminal, and the
/// functions that take answers.
struct AskedAttribute {
    let attribute: PersonalAttribute
    let isRequired: Bool
    let isDataMissing: Bool
    let isSuppliable: Bool
    /// The account's values, with the value to be offered first in front.
    let aliases: [PersonalInformationAlias]
    private let taking: (JSON?) -> String
    private let choosing: (PersonalInformationAlias) -> Bool
    private let finding: () -> AuthenticationInformationErrorCode

    private init<Value, Validator: PersonalInformationValidator>(
        _ information: AuthenticationInformation<Value, Validator>, reading: @escaping (JSON) -> Value?
    ) where Validator.ResultCode: RawRepresentable<String> {
        self.attribute = information.attribute
        self.isRequired = information.isRequired
        self.isDataMissing = information.isDataMissing
        self.isSuppliable = information.isSuppliable
        self.aliases = information.aliases.sorted { left, right in
            left.isPrimary == right.isPrimary ? left.alias < right.alias : left.isPrimary
        }
        self.taking = { information.setValue(value: $0.flatMap(reading)).rawValue }
        self.choosing = { information.setSelection($0) != nil }
        self.finding = { information.error }
    }

    /// Returns the attributes that the service requests, in the usual order of attributes.
    static func all(of info: AuthenticationPersonalInformation) -> [Self] {
        func text(_ value: JSON) -> String? { if case .string(let text) = value { text } else { nil } }
        func gender(_ value: JSON) -> Gender? { text(value).flatMap { Gender(rawValue: $0) } }
        return info.requested.map { attribute in
            switch attribute {
            case .username(let information): Self(information, reading: text)
            case .name(let information): Self(information, reading: text)
            case .birthdate(let information):
                Self(information) { value in
                    text(value).flatMap { CalendarDay($0) }.map { $0.date(in: information.validator.timeZone) }
                }
            case .address(let information): Self(information, reading: Self.address)
            case .nationality(let information): Self(information, reading: text)
            case .gender(let information): Self(information, reading: gender)
            case .salutation(let information): Self(information, reading: text)
            case .email(let information): Self(information, reading: text)
            case .phoneNumber(let information): Self(information, reading: text)
            }
        }
    }

    private static func address(_ value: JSON) -> Address? {
        guard case .object(let parts) = value else { return nil }
        func part(_ name: String) -> String { (try? parts.string(name)) ?? "" }
        return Address(
            street: part("street"), houseNumber: try? parts.string("houseNumber"), postalCode: part("postalCode"),
            city: part("city"), country: part("country"))
    }

    /// Takes a value in the form of scripts: a text, a day as `2001-05-01`, an object with the parts of an address.
    /// Returns `valid`, or the fault of the value.
    func take(_ value: JSON?) -> String { self.taking(value) }

    /// Takes one of ``aliases``. Returns `false`, without a change, for any other alias.
    func choose(_ alias: PersonalInformationAlias) -> Bool { self.choosing(alias) }

    /// The fault that the server found.
    var error: AuthenticationInformationErrorCode { self.finding() }

    /// The name of the attribute at the beginning of a line.
    var title: String {
        let name = self.attribute.englishName
        return name.prefix(1).uppercased() + name.dropFirst()
    }

    /// The expected input; `nil` if the name makes the input clear.
    var form: String? {
        switch self.attribute {
        case .birthdate: "year-month-day, such as 2001-05-01"
        case .nationality: "two letters of a country"
        case .gender: Gender.allCases.map(\.rawValue).joined(separator: ", ")
        case .phoneNumber: "with + and the country's code"
        default: nil
        }
    }
}

extension AuthenticationInformationErrorCode {
    /// The fault in words.
    var sentence: String {
        switch self {
        case .none: "Nothing is wrong with it."
        case .invalid: "The server does not take that value."
        case .notAvailable: "The service did not ask for a value."
        case .dataMissing: "The service needs a value, and the account has none."
        case .noAliasSelected: "The account has several values, and none was chosen."
        }
    }
}
