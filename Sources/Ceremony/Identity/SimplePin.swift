/// The PINs that a finder of a phone, or of a code with a PIN, guesses first.
///
/// Phones check the PIN that a person chooses on the phone. A server checks the PINs that people choose on its pages
/// and that operators choose.
public enum SimplePin {
    /// Returns `true` if a PIN is a repeating pattern, a row of neighbours, or a date.
    ///
    /// - Parameter pin: Digits, in ASCII.
    public static func isSimple(_ pin: some Sequence<UInt8>) -> Bool {
        let digits = pin.map { Int($0) - Int(UInt8(ascii: "0")) }
        return self.repeats(digits) || self.isRow(digits) || self.isDate(digits)
    }

    /// Returns `true` if the digits repeat a pattern, the last time perhaps in part: 111111, 121212, 12312, 12341234.
    private static func repeats(_ digits: [Int]) -> Bool {
        (1...max(3, digits.count / 2)).contains { length in
            digits.count > length && digits.indices.allSatisfy { digits[$0] == digits[$0 % length] }
        }
    }

    /// Returns `true` if each digit is one more, or one less, than the digit before, with 0 after 9.
    private static func isRow(_ digits: [Int]) -> Bool {
        [1, 9].contains { step in
            zip(digits, digits.dropFirst()).allSatisfy { ($0 + step) % 10 == $1 }
        }
    }

    /// Returns `true` for the date of a day: DDMMYY, MMDDYY and YYMMDD, or the same with years of four digits from 1900
    /// to 2099.
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
