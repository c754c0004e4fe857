import Foundation

/// A payment that a person is asked to agree to: typed fields that have one spelling, which is the text that is shown
/// and signed.
///
/// One field a line, in this order, each but the first with a label, a colon and a space:
///
///     Payment
///     Amount: EUR 120.00
///     To: Jo Gardener
///     IBAN: DE89370400440532013000
///     Reference: Garden fence
///     Date: 2026-12-01
///
/// `Account` stands in the place of `IBAN` for a number of another kind; the last two lines may be missing. No value
/// holds a line feed, so no value can pass for a line of its own.
///
/// ``init(amount:currency:payee:account:reference:executionDate:)`` brings values into their one spelling, for the
/// server; ``init(recognizing:)`` takes that spelling and no other, for the phone.
public struct Payment: Hashable, Sendable, CustomStringConvertible {
    /// How much, in which currency.
    public let amount: PaymentAmount
    /// Whom the money is for: 1 to 70 characters (Unicode scalars), as in ISO 20022.
    public let payee: String
    /// Where the money goes.
    public let account: PaymentAccount
    /// What the payee is told: 1 to 70 characters.
    public let reference: String?
    /// When the money leaves; `nil` for at once.
    public let executionDate: PaymentDate?
    /// The lines of all fields, in Normalization Form C.
    public let text: TransactionText

    /// The most characters of a payee's name and of a reference. All lines together keep to
    /// ``TransactionText/maximumLength``.
    public static let maximumNameLength = 70

    /// A payment of values that a relying party sent.
    ///
    /// Names come into Normalization Form C, with one space between words and none around them. Throws
    /// ``PaymentError``: the code of the field that is not acceptable, or `tooLong` for all together.
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

    /// The fields as they stand in the text, in its order: what a screen shows as a table.
    public var fields: [(label: String, value: String)] {
        // By scalars: a mark at the beginning of a value makes one character with the space behind the label.
        self.text.text.unicodeScalars.split(separator: "\n").dropFirst().map { line in
            let label = line.prefix { $0 != ":" }
            return (String(label), String(line.dropFirst(label.count + Self.separator.unicodeScalars.count)))
        }
    }

    /// No value: who pays whom is theirs.
    public var description: String { "Payment(\(self.text))" }

    // MARK: - The grammar

    static let title = "Payment"
    /// What stands between a label and its value.
    private static let separator = ": "

    private enum Label: String {
        case amount = "Amount"
        case payee = "To"
        case iban = "IBAN"
        case account = "Account"
        case reference = "Reference"
        case executionDate = "Date"
    }

    /// The payment that a text spells; `nil` for a text that does not say that it is one.
    ///
    /// A text claims to be a payment when the letters of its first line that is not empty spell the title, whatever
    /// their case, width and surroundings. Such a text is a payment in its one spelling or nothing: throws
    /// ``PaymentError`` `missingField`, `unknownLine`, `notNormal`, and those of
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
        // What was read must be what would be written: then every payment has one spelling.
        guard self.text == text else { throw PaymentError(.notNormal) }
    }

    /// Whether a text wants to be taken for a payment. Full-width and other compatibility letters count as plain ones.
    private static func isClaimed(in text: String) -> Bool {
        let first = text.split(separator: "\n").first { line in
            line.unicodeScalars.contains { !$0.properties.isWhitespace }
        }
        guard let first else { return false }
        // A likeness is looked for as people write, so more than the same bytes counts.
        let letters = String(first).precomposedStringWithCompatibilityMapping.lowercased().unicodeScalars
            .filter(\.properties.isAlphabetic)
        return letters.elementsEqual(Self.title.lowercased().unicodeScalars)
    }

    /// The lines of a text, taken one by one.
    private struct Lines {
        private var rest: ArraySlice<Substring.UnicodeScalarView>

        init(_ text: String) {
            self.rest = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)[...]
        }

        var isAtEnd: Bool { self.rest.isEmpty }

        mutating func takeTitle() -> Bool {
            self.rest.popFirst()?.elementsEqual(Payment.title.unicodeScalars) ?? false
        }

        /// The value of the next line, if it has that label.
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

    /// A name or a reference in its one spelling: words with one space between them, of which one has a letter or a
    /// digit, so that a person sees something. Throws the field's code.
    private static func name(_ text: String, _ field: PaymentError.Code) throws(PaymentError) -> String {
        // Bounded before it is brought into its normal form, where four characters can become one.
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
        // A mark would sit on the space behind the label.
        guard let first = scalars.first, !first.isMark else { throw PaymentError(field, "begins with a mark") }
        return name
    }
}

extension Unicode.Scalar {
    /// Whether it is drawn on the character before it.
    fileprivate var isMark: Bool {
        switch self.properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark: true
        default: false
        }
    }
}
