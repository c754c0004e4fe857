import Foundation

/// A payment that a person is asked to agree to. The typed fields have a single spelling, the text that is shown and
/// signed.
///
/// Each field takes one line, in this order. Every line but the first has a label, a colon and a space:
///
///     Payment
///     Amount: EUR 120.00
///     To: Jo Gardener
///     IBAN: DE89370400440532013000
///     Reference: Garden fence
///     Date: 2026-12-01
///
/// `Account` replaces `IBAN` for a number of another kind. The last two lines are optional. No value holds a line feed,
/// so no value can pass for a further line.
///
/// ``init(amount:currency:payee:account:reference:executionDate:maximumLength:)`` brings values into the single
/// spelling, for the server. ``init(recognizing:maximumLength:)`` accepts only this spelling, for the phone.
public struct Payment: Hashable, Sendable, CustomStringConvertible {
    /// The amount, with its currency.
    public let amount: PaymentAmount
    /// The name of the payee: 1 to 70 characters (Unicode scalars), as in ISO 20022.
    public let payee: String
    /// The account that receives the money.
    public let account: PaymentAccount
    /// The reference for the payee: 1 to 70 characters.
    public let reference: String?
    /// The day on which the money leaves; `nil` for an immediate payment.
    public let executionDate: PaymentDate?
    /// The lines of all fields, in Normalization Form C.
    public let text: TransactionText

    /// The most characters of a payee's name and of a reference. The lines together also have at most
    /// ``TransactionText/maximumLength`` characters.
    public static let maximumNameLength = 70

    /// Creates a payment from the values of a relying party.
    ///
    /// Names come into Normalization Form C, with one space between words and no space around the name. Throws
    /// ``PaymentError``: the code of the field that is not acceptable, or `tooLong` if all fields together are too
    /// long.
    public init(
        amount: String, currency: String, payee: String, account: PaymentAccount, reference: String? = nil,
        executionDate: String? = nil, maximumLength: Int = TransactionText.maximumLength
    ) throws(PaymentError) {
        self.amount = try PaymentAmount(amount, currency: currency)
        self.payee = try Self.name(payee, .payee)
        self.account = account
        self.reference = if let reference { try Self.name(reference, .reference) } else { nil }
        self.executionDate = if let executionDate { try PaymentDate(executionDate) } else { nil }
        var fields: [(Label, String)] = [
            (.amount, self.amount.text), (.payee, self.payee),
            (self.account.isIBAN ? .iban : .account, self.account.number),
        ]
        if let reference = self.reference { fields.append((.reference, reference)) }
        if let date = self.executionDate { fields.append((.executionDate, date.text)) }
        let lines = [Self.title] + fields.map { "\($0.0.rawValue)\(Self.separator)\($0.1)" }
        do {
            self.text = try TransactionText(
                normalizing: lines.joined(separator: "\n"), maximumLength: maximumLength)
        } catch {
            throw PaymentError(.tooLong, "\(error.code)")
        }
    }

    /// The fields of the text, in its order, for a table on a screen.
    public var fields: [(label: String, value: String)] {
        // The text is split by scalars: a mark at the beginning of a value makes one character with the space after the
        // label.
        self.text.text.unicodeScalars.split(separator: "\n").dropFirst().map { line in
            let label = line.prefix { $0 != ":" }
            return (String(label), String(line.dropFirst(label.count + Self.separator.unicodeScalars.count)))
        }
    }

    /// The length alone: payer, payee and amount are private.
    public var description: String { "Payment(\(self.text))" }

    // MARK: - The grammar

    static let title = "Payment"
    /// The separator between a label and its value.
    private static let separator = ": "

    private enum Label: String {
        case amount = "Amount"
        case payee = "To"
        case iban = "IBAN"
        case account = "Account"
        case reference = "Reference"
        case executionDate = "Date"
    }

    /// Creates the payment that a text spells; `nil` if the text does not claim to be a payment.
    ///
    /// A text claims to be a payment if the letters of its first line with visible content spell the title, in any case
    /// and width and among any other characters. A text with this claim must be a payment in its single spelling.
    /// Throws ``PaymentError`` `missingField`, `unknownLine`, `notNormal`, and the errors of
    /// ``init(amount:currency:payee:account:reference:executionDate:maximumLength:)``.
    public init?(recognizing text: TransactionText, maximumLength: Int = TransactionText.maximumLength)
        throws(PaymentError)
    {
        guard Self.isClaimed(in: text.text) else { return nil }
        var lines = Lines(text.text)
        guard lines.takeTitle() else { throw PaymentError(.unknownLine, "the first") }
        let amount = try lines.required(.amount)
        let payee = try lines.required(.payee)
        let account =
            if let iban = lines.take(.iban) {
                try PaymentAccount(iban: iban)
            } else {
                try PaymentAccount(other: try lines.required(.account))
            }
        let reference = lines.take(.reference)
        let date = lines.take(.executionDate)
        guard lines.isAtEnd else { throw PaymentError(.unknownLine, "an unknown, repeated or misplaced one") }
        guard let space = amount.firstIndex(of: " ") else { throw PaymentError(.amount, "no currency") }
        try self.init(
            amount: String(amount[amount.index(after: space)...]), currency: String(amount[..<space]), payee: payee,
            account: account, reference: reference, executionDate: date, maximumLength: maximumLength)
        // The text must equal the text that this type would write, so every payment has one spelling.
        guard self.text == text else { throw PaymentError(.notNormal) }
    }

    /// Returns `true` if a text claims to be a payment. Full-width and other compatibility letters count as plain
    /// letters.
    private static func isClaimed(in text: String) -> Bool {
        let first = text.split(separator: "\n").first { line in
            line.unicodeScalars.contains { !$0.properties.isWhitespace }
        }
        guard let first else { return false }
        // A likeness is looked for as people write: texts with other bytes can be alike too.
        // check: unicode-words
        let letters = String(first).precomposedStringWithCompatibilityMapping.lowercased().unicodeScalars
            .filter(\.properties.isAlphabetic)
        return letters.elementsEqual(Self.title.lowercased().unicodeScalars)  // check: unicode-words
    }

    /// Reads the lines of a text, from the first to the last.
    private struct Lines {
        private var rest: ArraySlice<Substring.UnicodeScalarView>

        init(_ text: String) {
            self.rest = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)[...]
        }

        var isAtEnd: Bool { self.rest.isEmpty }

        mutating func takeTitle() -> Bool {
            self.rest.popFirst()?.elementsEqual(Payment.title.unicodeScalars) ?? false
        }

        /// Returns the value of the next line and removes the line; `nil` if the line has another label.
        mutating func take(_ label: Label) -> String? {
            let start = "\(label.rawValue)\(Payment.separator)".unicodeScalars
            guard let line = self.rest.first, line.starts(with: start) else { return nil }
            self.rest.removeFirst()
            return String(line.dropFirst(start.count))
        }

        mutating func required(_ label: Label) throws(PaymentError) -> String {
            guard let value = self.take(label) else { throw PaymentError(.missingField, label.rawValue) }
            return value
        }
    }

    /// Returns a name or a reference in its single spelling: words with one space between them. Throws the field's
    /// code.
    ///
    /// At least one word has a letter or a digit, so a person sees something.
    private static func name(_ text: String, _ field: PaymentError.Code) throws(PaymentError) -> String {
        // The length is checked before normalising, in which four characters can become one.
        guard text.unicodeScalars.count <= 4 * Self.maximumNameLength else { throw PaymentError(field, "too long") }
        let words = text.precomposedStringWithCanonicalMapping.unicodeScalars
            .split { $0.properties.generalCategory == .spaceSeparator }
        let name = words.map { String($0) }.joined(separator: " ")
        let scalars = name.unicodeScalars
        guard (1...Self.maximumNameLength).contains(scalars.count) else {
            throw PaymentError(field, "\(scalars.count) characters")
        }
        if let hidden = scalars.first(where: DisplayText.isForbidden) {
            throw PaymentError(field, "U+\(String(hidden.value, radix: 16, uppercase: true))")
        }
        guard scalars.contains(where: { $0.properties.isAlphabetic || $0.properties.numericType != nil }) else {
            throw PaymentError(field, "nothing to read")
        }
        // A mark at the start would sit on the space after the label.
        guard let first = scalars.first, !first.isMark else { throw PaymentError(field, "begins with a mark") }
        return name
    }
}

extension Unicode.Scalar {
    /// `true` if the character is drawn on the character before it.
    fileprivate var isMark: Bool {
        switch self.properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark: true
        default: false
        }
    }
}
