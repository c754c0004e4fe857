/// A rule for the PINs that people choose. A rule refuses PINs that a finder of a phone, or of a code with a PIN,
/// guesses first.
///
/// Phones judge the PIN that a person chooses on the phone. A server judges the PINs that people choose on its pages
/// and that operators choose. An app can give rules of its own to its policy for the PINs of operations.
public enum PinRule: Hashable, Sendable {
    /// The PIN has at least this number of different digits. No PIN has more than ten, or more than its length.
    case differentDigits(atLeast: Int)
    /// No digit stands more than this number of times in a row: 5557 has a digit three times in a row.
    case repeats(atMost: Int)
    /// No ascending or descending run of neighbouring digits is longer than this number of digits. After 9 comes 0:
    /// 7890 is a run of four digits, and 5321 has a run of three digits.
    case runs(atMost: Int)
    /// The PIN does not repeat a pattern, the last time perhaps in part: 111111, 121212, 12312, 12341234.
    case pattern
    /// The whole PIN is not a single run of neighbouring digits: 123456, 987654, 890123.
    case row
    /// The PIN is not the date of a day: DDMMYY, MMDDYY or YYMMDD, or the same with a year of four digits from 1900 to
    /// 2099.
    case date
    /// The PIN is not in the list.
    case blockList([String])

    /// The rules for the PINs of personalised identities: no repeated pattern, no row of neighbours, no date.
    public static let simple: [PinRule] = [.pattern, .row, .date]

    /// Returns `true` if the rule refuses a PIN.
    ///
    /// - Parameter pin: Digits, in ASCII. The caller has checked that the PIN consists of digits.
    public func refuses(_ pin: some Sequence<UInt8>) -> Bool {
        if case .blockList(let list) = self { return list.contains { $0.utf8.elementsEqual(pin) } }
        let digits = pin.map { Int($0) - Int(UInt8(ascii: "0")) }
        return switch self {
        case .differentDigits(let least): Set(digits).count < least
        case .repeats(let most): Self.longestPart(of: digits, step: 0) > most
        case .runs(let most): [1, 9].contains { Self.longestPart(of: digits, step: $0) > most }
        case .pattern: Self.repeats(digits)
        case .row: [1, 9].contains { Self.longestPart(of: digits, step: $0) == digits.count }
        case .date: Self.isDate(digits)
        case .blockList: false
        }
    }

    /// Returns the length of the longest part of a PIN in which each digit is `step` more than the digit before, modulo
    /// ten.
    private static func longestPart(of digits: [Int], step: Int) -> Int {
        var (longest, current) = (min(1, digits.count), 1)
        for (digit, next) in zip(digits, digits.dropFirst()) {
            current = (digit + step) % 10 == next ? current + 1 : 1
            longest = max(longest, current)
        }
        return longest
    }

    private static func repeats(_ digits: [Int]) -> Bool {
        (1...max(3, digits.count / 2)).contains { length in
            digits.count > length && digits.indices.allSatisfy { digits[$0] == digits[$0 % length] }
        }
    }

    private static func isDate(_ digits: [Int]) -> Bool {
        func number(_ range: Range<Int>) -> Int { digits[range].reduce(0) { $0 * 10 + $1 } }
        func isDay(_ month: Int, _ day: Int) -> Bool { (1...12).contains(month) && (1...31).contains(day) }
        switch digits.count {
        case 6:
            return isDay(number(2..<4), number(0..<2)) || isDay(number(0..<2), number(2..<4))
                || isDay(number(2..<4), number(4..<6))
        case 8:
            let ends = (1900...2099).contains(number(4..<8))
            return ends && (isDay(number(2..<4), number(0..<2)) || isDay(number(0..<2), number(2..<4)))
                || (1900...2099).contains(number(0..<4)) && isDay(number(4..<6), number(6..<8))
        default: return false
        }
    }
}

extension Sequence<PinRule> {
    /// Returns the first rule that refuses a PIN; `nil` if the PIN obeys all rules.
    ///
    /// - Parameter pin: Digits, in ASCII. The caller has checked that the PIN consists of digits.
    public func first(refusing pin: some Sequence<UInt8>) -> PinRule? { self.first { $0.refuses(pin) } }
}
