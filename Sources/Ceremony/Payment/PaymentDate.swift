/// A day of the Gregorian calendar, written `2026-12-01` (ISO 8601, RFC 3339 `full-date`).
public struct PaymentDate: Hashable, Sendable {
    /// The year, from 2000 to 2999.
    public let year: Int
    /// The month, from 1 to 12.
    public let month: Int
    /// The day of the month, from 1.
    public let day: Int
    /// The day in its single spelling.
    public let text: String

    /// Creates a day from its text.
    ///
    /// Throws ``PaymentError`` `executionDate`. The bank checks if the day lies in the future.
    public init(_ text: String) throws(PaymentError) {
        let parts = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard parts.map(\.count) == [4, 2, 2], parts.joined().allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw PaymentError(.executionDate, "not YYYY-MM-DD")
        }
        let numbers = parts.map { $0.reduce(0) { $0 * 10 + Int($1 - 0x30) } }
        (self.year, self.month, self.day) = (numbers[0], numbers[1], numbers[2])
        guard (2000...2999).contains(self.year), (1...12).contains(self.month),
            (1...Self.days(of: self.month, in: self.year)).contains(self.day)
        else { throw PaymentError(.executionDate, "no such day") }
        self.text = text
    }

    private static func days(of month: Int, in year: Int) -> Int {
        switch month {
        case 2: (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}
