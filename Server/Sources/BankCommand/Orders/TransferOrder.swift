import Foundation

/// An amount of money in cents of a euro.
struct Money: Sendable, Equatable, Comparable {
    let cents: Int

    /// Reads the amount that a person types: `120`, `120.5`, `120,50`. Refuses amounts below one cent or above ten
    /// million.
    init?(typed: String) {
        let text = typed.trimmingCharacters(in: .whitespaces).replacingOccurrences(of: ",", with: ".")
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        let isDigits = parts.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }
        guard (1...2).contains(parts.count), isDigits, parts[0].count <= BankLimits.amountDigits else { return nil }
        let fraction = parts.count == 2 ? String(parts[1]) : "0"
        guard fraction.count <= 2, let euros = Int(parts[0]), let value = Int(fraction) else { return nil }
        let cents = euros * 100 + (fraction.count == 1 ? value * 10 : value)
        guard (1...BankLimits.mostCents).contains(cents) else { return nil }
        self.cents = cents
    }

    init(cents: Int) { self.cents = cents }

    /// The form in which the provider receives and signs an amount: `1234.50`.
    var decimal: String { "\(self.cents / 100).\(String(format: "%02d", self.cents % 100))" }

    /// The amount for people: `1,234.50`, with a minus sign if the amount is negative.
    var text: String {
        let digits = String(self.cents.magnitude / 100)
        var groups: [Substring] = []
        var rest = Substring(digits)
        while rest.count > 3 {
            groups.insert(rest.suffix(3), at: 0)
            rest = rest.dropLast(3)
        }
        groups.insert(rest, at: 0)
        let fraction = String(format: "%02d", Int(self.cents.magnitude % 100))
        return "\(self.cents < 0 ? "−" : "")\(groups.joined(separator: ",")).\(fraction)"
    }

    static func < (left: Self, right: Self) -> Bool { left.cents < right.cents }
}

/// The checked contents of the transfer form.
struct TransferOrder: Sendable, Equatable {
    /// The problems of a form, for the person who filled in the form. Each field has at most one sentence.
    struct Problems: Error, Equatable {
        var amount: String?
        var payee: String?
        var iban: String?
        var reference: String?

        var isEmpty: Bool { self == Problems() }
    }

    let amount: Money
    let payee: String
    let iban: String
    let reference: String

    init(amount: String, payee: String, iban: String, reference: String) throws {
        var problems = Problems()
        let money = Money(typed: amount)
        if money == nil { problems.amount = "Enter an amount such as 120.00." }
        self.payee = Self.clean(payee, limit: BankLimits.payeeLetters) ?? ""
        if self.payee.isEmpty || !Self.isReadable(self.payee) {
            problems.payee = "Enter a name of up to \(BankLimits.payeeLetters) letters."
        }
        // Four bytes for each letter, as for every field. Spaces stand between groups, and are never more than the
        // letters.
        self.iban =
            iban.utf8.count <= 4 * BankLimits.ibanLetters.upperBound
            ? iban.uppercased().filter { !$0.isWhitespace } : ""
        if !Self.isIBAN(self.iban) { problems.iban = "This is not an IBAN: check its digits." }
        let words = Self.clean(reference, limit: BankLimits.referenceLetters)
        self.reference = words ?? ""
        if words == nil || !(self.reference.isEmpty || Self.isReadable(self.reference)) {
            problems.reference = "Enter up to \(BankLimits.referenceLetters) letters."
        }
        guard let money, problems.isEmpty else { throw problems }
        self.amount = money
    }

    /// The text that the phone signs for this order: the fields, one per line, in the provider's grammar for payments.
    ///
    /// The bank writes the text from its own record, and never takes the text from an answer.
    var text: String {
        var lines = ["Payment", "Amount: EUR \(self.amount.decimal)", "To: \(self.payee)", "IBAN: \(self.iban)"]
        if !self.reference.isEmpty { lines.append("Reference: \(self.reference)") }
        return lines.joined(separator: "\n")
    }

    /// Returns the text in Unicode's NFC, with one space between words and no space around them; `nil` if the text has
    /// more than `limit` characters.
    ///
    /// Composing takes time that grows with the square of a run of combining marks. The length is therefore checked
    /// first. A composed character stands for at most four scalars.
    private static func clean(_ text: String, limit: Int) -> String? {
        guard text.utf8.count <= 16 * limit, text.unicodeScalars.count <= 4 * limit else { return nil }
        let words = text.precomposedStringWithCanonicalMapping.unicodeScalars
            .split { $0.properties.generalCategory == .spaceSeparator }
            .map { String($0) }.joined(separator: " ")
        return words.unicodeScalars.count <= limit ? words : nil
    }

    /// Returns `true` if the text has letters or digits to read, and no control or invisible character.
    ///
    /// An invisible character could hide a difference between the text that the customer typed and the text on the
    /// phone.
    private static func isReadable(_ text: String) -> Bool {
        guard let first = text.unicodeScalars.first, first.properties.canonicalCombiningClass == .notReordered,
            text.unicodeScalars.contains(where: { $0.properties.isAlphabetic || $0.properties.numericType != nil })
        else { return false }
        return text.unicodeScalars.allSatisfy { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: false
            default: !scalar.properties.isDefaultIgnorableCodePoint
            }
        }
    }

    /// Returns `true` if the text is an IBAN by ISO 13616: the country and check digits move to the end, letters count
    /// from 10, and the remainder modulo 97 is 1.
    private static func isIBAN(_ text: String) -> Bool {
        guard BankLimits.ibanLetters.contains(text.count), text.utf8.allSatisfy({ $0 < 0x80 }),
            text.prefix(2).allSatisfy(\.isLetter), let checkDigits = Int(text.dropFirst(2).prefix(2)),
            (2...98).contains(checkDigits)
        else { return false }
        var remainder = 0
        for character in text.dropFirst(4) + text.prefix(4) {
            guard let value = character.isNumber ? character.wholeNumberValue : Self.value(of: character) else {
                return false
            }
            remainder = (remainder * (value > 9 ? 100 : 10) + value) % 97
        }
        return remainder == 1
    }

    private static func value(of letter: Character) -> Int? {
        guard let byte = letter.asciiValue, (0x41...0x5A).contains(byte) else { return nil }
        return Int(byte) - 0x41 + 10
    }
}
