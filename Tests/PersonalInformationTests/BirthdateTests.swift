import PersonalInformation
import Testing
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

@Suite("Identity parity 19, 22: dates of birth are days, whatever the zone")
struct BirthdateTests {
    private static let zones = [
        "UTC", "Europe/Berlin", "America/Los_Angeles", "Asia/Kolkata", "Pacific/Auckland", "Pacific/Kiritimati",
        "America/St_Johns", "Pacific/Pago_Pago",
    ]

    private static func day(_ year: Int, _ month: Int, _ day: Int) throws -> CalendarDay {
        try #require(CalendarDay(year: year, month: month, day: day))
    }

    @Test("A day that a picker gives in any zone is the day that was picked", arguments: Self.zones)
    func picked(name: String) throws {
        let zone = try #require(TimeZone(identifier: name))
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = zone
        let validator = BirthdateValidator(latest: try Self.day(2026, 11, 23), timeZone: zone)
        for (year, month, day) in [
            (1900, 1, 1), (1945, 5, 8), (1969, 12, 31), (1970, 1, 1), (1996, 2, 29), (2000, 2, 29), (2001, 5, 1),
            (2011, 3, 27), (2024, 10, 27), (2026, 11, 23),
        ] {
            let chosen = try Self.day(year, month, day)
            // At midnight, at noon and in the last second, by another calendar than ours.
            for (hour, minute, second) in [(0, 0, 0), (12, 0, 0), (23, 59, 59)] {
                let parts = DateComponents(
                    year: year, month: month, day: day, hour: hour, minute: minute, second: second)
                let date = try #require(calendar.date(from: parts))
                #expect(CalendarDay(date, in: zone) == chosen, "\(name) \(chosen.text) \(hour)")
                #expect(validator.judge(date) == .accepted(spelling: chosen.text))
            }
            // And back: what is stored as a text is the same day on every phone.
            let again = try #require(CalendarDay(chosen.text))
            #expect(again == chosen && CalendarDay(again.date(in: zone), in: zone) == chosen)
            #expect(validator.accepts(chosen.text))
        }
    }

    @Test("Too early, in the future, no day, and the bounds themselves")
    func codes() throws {
        let zone = try #require(TimeZone(identifier: "Europe/Berlin"))
        let (first, last) = (try Self.day(1910, 1, 2), try Self.day(2026, 11, 23))
        let validator = BirthdateValidator(earliest: first, latest: last, timeZone: zone)
        #expect(validator.earliest == first && validator.latest == last)
        let table: [(Date?, BirthdateValidator.ResultCode)] = [
            (nil, .empty), (Date(timeIntervalSince1970: .nan), .empty),
            (Date(timeIntervalSince1970: .infinity), .inFuture),
            (Date(timeIntervalSince1970: -1e15), .tooEarly), (.distantPast, .tooEarly), (.distantFuture, .inFuture),
            (try Self.day(1910, 1, 1).date(in: zone), .tooEarly), (first.date(in: zone), .valid),
            (last.date(in: zone), .valid), (try Self.day(2026, 11, 24).date(in: zone), .inFuture),
        ]
        for (date, code) in table { #expect(validator.validate(date) == code, "\(String(describing: date))") }
        #expect(Set(table.map(\.1)) == Set(BirthdateValidator.ResultCode.allCases))
        for text in ["1910-01-01", "2026-11-24", "2026-1-1", "2001-02-29", "", "2001-05-01 ", "٢٠٠١-05-01"] {
            #expect(!validator.accepts(text), "\(text)")
        }
        #expect(BirthdateValidator(latest: last).earliest.text == "1900-01-01")
        #expect(BirthdateValidator(earliest: last, latest: first).earliest == first)
    }

    @Test("Every day of eight centuries follows the one before, and is read from what is written")
    func everyDay() throws {
        let utc = try #require(TimeZone(secondsFromGMT: 0))
        var previous = try Self.day(1599, 12, 31)
        for days in -135_140..<157_054 {
            let moment = Date(timeIntervalSince1970: Double(days) * 86_400 + 1)
            guard let day = CalendarDay(moment, in: utc) else {
                Issue.record("no day at \(days)")
                return
            }
            let isNext =
                day.year == previous.year && day.month == previous.month && day.day == previous.day + 1
                || day.day == 1 && day.month == previous.month + 1 && day.year == previous.year
                || day.day == 1 && day.month == 1 && day.year == previous.year + 1
            // Not an expectation each: there are hundreds of thousands.
            if !isNext || !(previous < day) || days % 97 == 0 && CalendarDay(day.text) != day {
                Issue.record("\(previous.text) then \(day.text)")
                return
            }
            previous = day
        }
        #expect(previous.text == "2399-12-31")
    }

    @Test(
        "What is no day of the calendar is none",
        arguments: [
            "", "2001", "2001-05", "2001-05-01-", "0000-01-01", "2001-00-01", "2001-13-01", "2001-04-31", "1900-02-29",
            "2001-05-1", "+001-05-01", "20010501", "2001-05-0１", "2001/05/01",
        ])
    func noDay(text: String) {
        #expect(CalendarDay(text) == nil)
    }
}
