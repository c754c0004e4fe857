import Ceremony

/// A payment to confirm, field by field, as it will be signed.
///
/// The SDK makes it from the very bytes whose hash is signed, and only where they are a payment in its one spelling; a
/// text that says it is a payment and is none never reaches the app. Show every field and change none: labels may be
/// in the person's language, values stay.
///
/// Reading a field of a selector's payment tells the SDK that a screen has it. Comparing or printing a payment reads nothing.
public struct PaymentDetails: Sendable {
    /// A line of the table.
    public struct Row: Hashable, Sendable {
        /// The field's label as it is signed, in English.
        public let label: String
        /// The field's value as it is signed.
        public let value: String
    }

    private struct Fields: Hashable, Sendable {
        let rows: [Row]
        let amount: String
        let currency: String
        let payee: String
        let iban: String?
        let accountNumber: String?
        let reference: String?
        let executionDate: String?
    }

    private let fields: Fields
    /// What notes that a field was read; `nil` where nobody has to know.
    private let exhibit: Exhibit?

    /// All fields in the order in which they are signed.
    public var rows: [Row] { self.read.rows }
    /// The amount with all decimals of its currency and without groups, such as `120.00`.
    public var amount: String { self.read.amount }
    /// The currency's three letters (ISO 4217).
    public var currency: String { self.read.currency }
    /// Whom the money is for.
    public var payee: String { self.read.payee }
    /// The payee's IBAN, its check digits verified; `nil` where the account has a number of another kind.
    public var iban: String? { self.read.iban }
    /// The payee's account where it is not given by an IBAN.
    public var accountNumber: String? { self.read.accountNumber }
    /// What the payee is told.
    public var reference: String? { self.read.reference }
    /// The day on which the money leaves, such as `2026-12-01`; `nil` for at once.
    public var executionDate: String? { self.read.executionDate }

    init(_ payment: Payment) {
        self.fields = Fields(
            rows: payment.fields.map { Row(label: $0.label, value: $0.value) }, amount: payment.amount.value,
            currency: payment.amount.currency, payee: payment.payee,
            iban: payment.account.isIBAN ? payment.account.number : nil,
            accountNumber: payment.account.isIBAN ? nil : payment.account.number, reference: payment.reference,
            executionDate: payment.executionDate?.text)
        self.exhibit = nil
    }

    private init(_ fields: Fields, _ exhibit: Exhibit) {
        self.fields = fields
        self.exhibit = exhibit
    }

    /// The same payment, which tells an exhibit when a field is read.
    func noting(_ exhibit: Exhibit) -> Self { Self(self.fields, exhibit) }

    private var read: Fields {
        self.exhibit?.noteShown()
        return self.fields
    }
}

extension PaymentDetails: Hashable {
    public static func == (left: Self, right: Self) -> Bool { left.fields == right.fields }
    public func hash(into hasher: inout Hasher) { hasher.combine(self.fields) }
}

extension PaymentDetails: CustomStringConvertible, CustomReflectable {
    /// Without the fields: writing a payment into a log shows it to nobody.
    public var description: String { "PaymentDetails" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
