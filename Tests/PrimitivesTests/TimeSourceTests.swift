import Testing
import _Primitives

@Suite("RFC 3339 and RFC 7519, section 2: moments")
struct TimeSourceTests {
    @Test(
        "Writes RFC 3339 in UTC with milliseconds",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"),
            (1, "1970-01-01T00:00:00.001Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (951_868_799_999, "2000-02-29T23:59:59.999Z"),
            (951_868_800_000, "2000-03-01T00:00:00.000Z"),
            (1_078_012_800_000, "2004-02-29T00:00:00.000Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
            (1_795_251_600_000, "2026-11-21T09:00:00.000Z"),
            (1_000_000_000_123, "2001-09-09T01:46:40.123Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
            (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
            (Int64.max, "9999-12-31T23:59:59.999Z"),
            (Int64.min, "0000-01-01T00:00:00.000Z"),
        ])
    func writes(milliseconds: Int64, text: String) {
        #expect(Timestamp(milliseconds: milliseconds).description == text)
    }

    @Test func everyDayOfFourCenturiesFollowsTheOneBefore() {
        let lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        var moment = Timestamp(milliseconds: 0)
        for year in 1970..<2370 {
            let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
            for month in 1...12 {
                for day in 1...(lengths[month - 1] + (month == 2 && isLeap ? 1 : 0)) {
                    let expected = "\(year)-\(month < 10 ? "0" : "")\(month)-\(day < 10 ? "0" : "")\(day)T00:00:00.000Z"
                    guard moment.description == expected else {
                        Issue.record("\(moment) instead of \(expected)")
                        return
                    }
                    moment = moment + .seconds(86_400)
                }
            }
        }
    }

    @Test("Seconds are rounded down", arguments: [(0, 0), (999, 0), (1000, 1), (-1, -1), (-1000, -1), (-1001, -2)])
    func seconds(milliseconds: Int64, seconds: Int64) {
        #expect(Timestamp(milliseconds: milliseconds).seconds == seconds)
    }

    @Test func secondsStayExactWhereADoubleWouldNot() {
        #expect(Timestamp(milliseconds: .max).seconds == Int64.max / 1000)
        #expect(Timestamp(seconds: 9_007_199_254_740_993).seconds == 9_007_199_254_740_993)
    }

    @Test func spansAreAddedAndTaken() {
        let moment = Timestamp(seconds: 100)
        #expect(moment + .seconds(60) == Timestamp(seconds: 160))
        #expect(moment - .milliseconds(1) == Timestamp(milliseconds: 99_999))
        #expect(moment - Timestamp(seconds: 40) == .seconds(60))
        #expect(Timestamp(seconds: 40) - moment == .seconds(-60))
        #expect(Timestamp(seconds: 40) < moment)
    }

    @Test func aMomentFromAPeerNeverOverflows() {
        #expect(Timestamp(seconds: .max) == Timestamp(milliseconds: .max))
        #expect(Timestamp(seconds: .min) == Timestamp(milliseconds: .min))
        #expect(Timestamp(milliseconds: .max) + .seconds(1) == Timestamp(milliseconds: .max))
        #expect(Timestamp(milliseconds: .min) + .seconds(-1) == Timestamp(milliseconds: .min))
        #expect(Timestamp(milliseconds: .min) - .seconds(1) == Timestamp(milliseconds: .min))
        #expect(Timestamp(milliseconds: .max) - .seconds(-1) == Timestamp(milliseconds: .max))
        #expect(Timestamp(milliseconds: .max) - Timestamp(milliseconds: .min) == .milliseconds(Int64.max))
        #expect(Timestamp(milliseconds: .min) - Timestamp(milliseconds: .max) == .milliseconds(Int64.min))
    }

    @Test func aDurationIsCountedInWholeMilliseconds() {
        #expect(Duration.seconds(3).milliseconds == 3000)
        #expect(Duration.microseconds(1999).milliseconds == 1)
        #expect(Duration.microseconds(-1999).milliseconds == -1)
        #expect(Duration.seconds(Int64.max).milliseconds == .max)
        #expect(Duration.seconds(Int64.min).milliseconds == .min)
    }

    @Test func theSystemsClockGoesForward() {
        let first = TimeSource.system.now()
        let second = TimeSource.system.now()
        #expect(first <= second)
        // Milliseconds, not seconds: after 2020.
        #expect(first.seconds > 1_577_836_800)
        #expect(first.seconds < 32_503_680_000)
    }

    @Test func aMovedClockIsRead() {
        let clock = TimeSource { Timestamp(seconds: 42) }
        #expect(clock.now() == Timestamp(seconds: 42))
    }
}
