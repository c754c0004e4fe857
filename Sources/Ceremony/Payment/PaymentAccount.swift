/// The account that receives the money, in its single spelling.
public struct PaymentAccount: Hashable, Sendable {
    /// `true` if the number is an IBAN with valid check digits.
    public let isIBAN: Bool
    /// The number. An IBAN is in capitals without spaces; another number is in the spelling of its bank.
    public let number: String

    /// The most characters of a number of either kind (ISO 13616; ISO 20022, Max34Text).
    public static let maximumLength = 34

    /// Creates an account from an IBAN (ISO 13616), which may have spaces between groups and small letters.
    ///
    /// Throws ``PaymentError`` `iban` if the form or the check digits are wrong. The bank has to check the number of
    /// digits for the country.
    public init(iban: String) throws(PaymentError) {
        let number = iban.utf8.filter { $0 != UInt8(ascii: " ") }.map { (0x61...0x7A).contains($0) ? $0 - 0x20 : $0 }
        guard Self.isIBAN(number) else { throw PaymentError(.iban) }
        self.isIBAN = true
        self.number = String(decoding: number, as: UTF8.self)
    }

    /// Creates an account from a number that is not an IBAN.
    ///
    /// The number has ASCII letters and digits. Between letters or digits, single signs out of space, `-`, `/`, `.`,
    /// `@` and `_` may stand. Throws ``PaymentError`` `account`, also for an IBAN, because an IBAN has its own field
    /// and check digits.
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

    /// Returns `true` for the form and the check digits of an IBAN (ISO 13616 and ISO 7064, MOD 97-10).
    ///
    /// The first four characters move to the end, letters count from ten, and the remainder by 97 must be one. Check
    /// digits go from 02 to 98, so an account has a single valid pair of check digits.
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

    /// Returns the value of a digit or of a capital letter in an IBAN; `nil` for another character.
    private static func value(of byte: UInt8) -> Int? {
        switch byte {
        case 0x30...0x39: Int(byte) - 0x30
        case 0x41...0x5A: Int(byte) - 0x41 + 10
        default: nil
        }
    }
}
