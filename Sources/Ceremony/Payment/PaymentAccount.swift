/// The account that money goes to, in its one spelling.
public struct PaymentAccount: Hashable, Sendable {
    /// Whether the number is an IBAN with right check digits.
    public let isIBAN: Bool
    /// The number: an IBAN in capitals without spaces, another one as its bank writes it.
    public let number: String

    /// The most characters of a number of either kind (ISO 13616; ISO 20022, Max34Text).
    public static let maximumLength = 34

    /// Takes an IBAN (ISO 13616), which may come in groups and in small letters.
    ///
    /// Throws ``PaymentError`` `iban` where the form or the check digits are wrong. How many digits a country's
    /// numbers have is for the bank to know.
    public init(iban: String) throws(PaymentError) {
        let number = iban.utf8.filter { $0 != UInt8(ascii: " ") }.map { (0x61...0x7A).contains($0) ? $0 - 0x20 : $0 }
        guard Self.isIBAN(number) else { throw PaymentError(.iban) }
        self.isIBAN = true
        self.number = String(decoding: number, as: UTF8.self)
    }

    /// Takes an account number that is no IBAN: ASCII letters and digits, and between them single signs out of
    /// space, `-`, `/`, `.`, `@` and `_`.
    ///
    /// Throws ``PaymentError`` `account`, also for an IBAN, which has a field of its own and check digits.
    public init(other number: String) throws(PaymentError) {
        guard (1...Self.maximumLength).contains(number.utf8.count) else {
            throw PaymentError(.account, "\(number.utf8.count) characters")
        }
        var isAfterSign = true
        for byte in number.utf8 {
            let isSign = Self.signs.contains(byte)
            guard isSign ? !isAfterSign : Self.value(of: byte) != nil || (0x61...0x7A).contains(byte) else {
                throw PaymentError(.account, "a character, or its place")
            }
            isAfterSign = isSign
        }
        guard !isAfterSign else { throw PaymentError(.account, "ends in a sign") }
        if (try? Self(iban: String(decoding: number.utf8.filter { !Self.signs.contains($0) }, as: UTF8.self))) != nil {
            throw PaymentError(.account, "an IBAN")
        }
        self.isIBAN = false
        self.number = number
    }

    private static let signs = Array(" -/.@_".utf8)

    /// ISO 13616 and ISO 7064, MOD 97-10: with the first four characters at the end and letters counted from ten, the
    /// remainder by 97 is one. Check digits go from 02 to 98, so that one account has one pair of them.
    private static func isIBAN(_ number: [UInt8]) -> Bool {
        guard (15...Self.maximumLength).contains(number.count),
            number.prefix(2).allSatisfy({ (0x41...0x5A).contains($0) }),
            let tens = Self.value(of: number[2]), let ones = Self.value(of: number[3]), tens < 10, ones < 10,
            (2...98).contains(tens * 10 + ones)
        else { return false }
        var remainder = 0
        for byte in number.dropFirst(4) + number.prefix(4) {
            guard let value = Self.value(of: byte) else { return false }
            remainder = (remainder * (value > 9 ? 100 : 10) + value) % 97
        }
        return remainder == 1
    }

    /// A digit's or a capital letter's value in an IBAN.
    private static func value(of byte: UInt8) -> Int? {
        switch byte {
        case 0x30...0x39: Int(byte) - 0x30
        case 0x41...0x5A: Int(byte) - 0x41 + 10
        default: nil
        }
    }
}
