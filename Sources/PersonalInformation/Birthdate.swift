import _Primitives

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A day of the Gregorian calendar, without a time and without a time zone.
public struct CalendarDay: Hashable, Comparable, Sendable {
    /// The year, from 1 to 9999.
    public let year: Int
    /// The month, from 1 to 12.
    public let month: Int
    /// The day of the month, from 1.
    public let day: Int

    /// Creates a day; `nil` if the calendar has no such day.
    public init?(year: Int, month: Int, day: Int) {
        guard (1...9999).contains(year), (1...12).contains(month),
            (1...Self.days(ofMonth: month, in: year)).contains(day)
        else { return nil }
        (self.year, self.month, self.day) = (year, month, day)
    }

    /// Reads `2001-05-01` (RFC 3339, `full-date`); `nil` for any other spelling.
    public init?(_ text: some StringProtocol) {
        let parts = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard parts.map(\.count) == [4, 2, 2], parts.joined().allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        let numbers = parts.map { $0.reduce(0) { $0 * 10 + Int($1 - 0x30) } }
        self.init(year: numbers[0], month: numbers[1], day: numbers[2])
    }

    /// Creates the day of a moment in a time zone; `nil` outside the years 1 to 9999.
    public init?(_ date: Date, in timeZone: TimeZone) {
        let moment = date.timeIntervalSince1970
        guard abs(moment) < 1e12 else { return nil }
        let days = ((moment + Double(timeZone.secondsFromGMT(for: date))) / 86_400).rounded(.down)
        // The calculation uses eras of 400 years (146,097 days) that begin on the first of March.
        let (era, dayOfEra) = Self.floorDivision(Int(days) + 719_468, 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        self.init(
            year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month: month,
            day: dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }

    /// The day in its single spelling: `2001-05-01`.
    public var text: String {
        func digits(_ number: Int, _ count: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: count - text.utf8.count) + text
        }
        return "\(digits(self.year, 4))-\(digits(self.month, 2))-\(digits(self.day, 2))"
    }

    /// Returns noon of the day in a time zone: a moment from which ``init(_:in:)`` gives the same day. If the time zone
    /// skipped the day, as Samoa did once, the moment belongs to the day before or after.
    public func date(in timeZone: TimeZone) -> Date {
        let noon = Double(self.daysSince1970) * 86_400 + 43_200
        let guess = Date(
            timeIntervalSince1970: noon - Double(timeZone.secondsFromGMT(for: Date(timeIntervalSince1970: noon))))
        return Date(timeIntervalSince1970: noon - Double(timeZone.secondsFromGMT(for: guess)))
    }

    public static func < (left: Self, right: Self) -> Bool {
        (left.year, left.month, left.day) < (right.year, right.month, right.day)
    }

    private var daysSince1970: Int {
        let year = self.month <= 2 ? self.year - 1 : self.year
        let (era, yearOfEra) = Self.floorDivision(year, 400)
        let dayOfYear = (153 * (self.month > 2 ? self.month - 3 : self.month + 9) + 2) / 5 + self.day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func floorDivision(_ dividend: Int, _ divisor: Int) -> (quotient: Int, remainder: Int) {
        let (quotient, remainder) = dividend.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }

    private static func days(ofMonth month: Int, in year: Int) -> Int {
        switch month {
        case 2: (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

/// Checks dates of birth. Messages contain a day, never a moment: a person born on 1 May was born on 1 May everywhere.
public struct BirthdateValidator: PersonalInformationValidator {
    /// The result for a date of birth.
    public enum ResultCode: String, PersonalInformationResultCode, CaseIterable {
        /// The date of birth was accepted.
        case valid
        /// No date of birth was given.
        case empty
        /// The date of birth is before ``BirthdateValidator/earliest``.
        case tooEarly
        /// The date of birth is after ``BirthdateValidator/latest``.
        case inFuture
    }

    /// The first possible date of birth.
    public let earliest: CalendarDay
    /// The last possible date of birth: the present day, according to the server.
    public let latest: CalendarDay
    /// The time zone that determines the day of a `Date`: by default the device's time zone, as for the date pickers of
    /// apps.
    public let timeZone: TimeZone

    /// Creates a validator. Without `earliest` the first possible date of birth is in 1900.
    public init(earliest: CalendarDay? = nil, latest: CalendarDay, timeZone: TimeZone = .current) {
        self.earliest = min(earliest ?? Self.longAgo ?? latest, latest)
        self.latest = latest
        self.timeZone = timeZone
    }

    private static let longAgo = CalendarDay(year: 1900, month: 1, day: 1)

    public func judge(_ value: Date?) -> JudgedInput<ResultCode> {
        guard let value, !value.timeIntervalSince1970.isNaN else { return .refused(.empty) }
        guard let day = CalendarDay(value, in: self.timeZone) else {
            return .refused(value.timeIntervalSince1970 < 0 ? .tooEarly : .inFuture)
        }
        guard day >= self.earliest else { return .refused(.tooEarly) }
        return day <= self.latest ? .accepted(spelling: day.text) : .refused(.inFuture)
    }

    public func accepts(_ text: String) -> Bool {
        CalendarDay(text).map { (self.earliest...self.latest).contains($0) } ?? false
    }
}
