#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A moment, in whole milliseconds since 1970-01-01T00:00:00Z.
///
/// Arithmetic stops at the ends of the range instead of trapping, because a moment may come from a peer's message.
public struct Timestamp: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// Milliseconds since 1970-01-01T00:00:00Z, negative before this moment.
    public var milliseconds: Int64

    /// Creates the moment this number of milliseconds after 1970-01-01T00:00:00Z.
    public init(milliseconds: Int64) { self.milliseconds = milliseconds }
    /// Creates the moment this number of seconds after 1970-01-01T00:00:00Z, or the nearest end of the range if the
    /// number is too large.
    public init(seconds: Int64) {
        self.milliseconds = saturating(seconds.multipliedReportingOverflow(by: 1000), seconds)
    }

    /// Whole seconds since 1970, rounded down: the NumericDate of RFC 7519.
    public var seconds: Int64 { floorDivision(self.milliseconds, 1000).quotient }

    public static func < (left: Self, right: Self) -> Bool { left.milliseconds < right.milliseconds }
    /// Returns the moment `span` later, to the millisecond.
    public static func + (moment: Self, span: Duration) -> Self {
        let span = span.milliseconds
        return Self(milliseconds: saturating(moment.milliseconds.addingReportingOverflow(span), span))
    }
    /// Returns the moment `span` earlier, to the millisecond.
    public static func - (moment: Self, span: Duration) -> Self {
        let span = span.milliseconds
        return Self(milliseconds: saturating(moment.milliseconds.subtractingReportingOverflow(span), span < 0 ? 1 : -1))
    }
    /// Returns the span from `earlier` to `later`, negative if `later` is before `earlier`.
    public static func - (later: Self, earlier: Self) -> Duration {
        let sign: Int64 = later < earlier ? -1 : 1
        return .milliseconds(saturating(later.milliseconds.subtractingReportingOverflow(earlier.milliseconds), sign))
    }

    /// RFC 3339 in UTC with milliseconds, e.g. `2026-11-21T09:00:00.000Z`.
    ///
    /// RFC 3339 cannot express a moment before the year 0 or after 9999. Such a moment is shown as the nearest possible
    /// moment.
    public var description: String {
        let shown = min(max(self.milliseconds, -62_167_219_200_000), 253_402_300_799_999)
        let (days, timeOfDay) = floorDivision(shown, 86_400_000)
        // The calculation uses the proleptic Gregorian calendar in eras of 400 years (146,097 days) that begin on the
        // first of March.
        let (era, dayOfEra) = floorDivision(days + 719_468, 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        let date = "\(digits(year, 4))-\(digits(month, 2))-\(digits(day, 2))"
        let hour = digits(timeOfDay / 3_600_000, 2)
        let minute = digits(timeOfDay / 60_000 % 60, 2)
        let second = digits(timeOfDay / 1000 % 60, 2)
        return "\(date)T\(hour):\(minute):\(second).\(digits(timeOfDay % 1000, 3))Z"
    }
}

/// Returns the result, or in case of an overflow the end of the range on the side of `sign`.
private func saturating(_ result: (partialValue: Int64, overflow: Bool), _ sign: Int64) -> Int64 {
    guard result.overflow else { return result.partialValue }
    return sign < 0 ? .min : .max
}

private func floorDivision(_ dividend: Int64, _ divisor: Int64) -> (quotient: Int64, remainder: Int64) {
    let (quotient, remainder) = dividend.quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
}

private func digits(_ number: Int64, _ count: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, count - text.count)) + text
}

extension Duration {
    /// Whole milliseconds, rounded towards zero; the nearest end of the range if the number does not fit 64 bits.
    public var milliseconds: Int64 {
        let (seconds, attoseconds) = self.components
        let whole = saturating(seconds.multipliedReportingOverflow(by: 1000), seconds)
        return saturating(whole.addingReportingOverflow(attoseconds / 1_000_000_000_000_000), seconds)
    }
}

/// A source of the time: the system's clock in production, a test's clock in tests.
public struct TimeSource: Sendable {
    private let read: @Sendable () -> Timestamp

    /// Creates a clock from a function that returns the time.
    public init(_ read: @escaping @Sendable () -> Timestamp) { self.read = read }

    /// Returns the present time.
    public func now() -> Timestamp { self.read() }

    /// The system's wall clock.
    public static let system = TimeSource {
        Timestamp(milliseconds: Int64((Date().timeIntervalSince1970 * 1000).rounded(.down)))
    }
}
