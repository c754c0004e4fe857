import Ceremony

/// A payment to confirm, field by field, as the payment will be signed.
///
/// The SDK creates the payment from the very bytes whose hash is signed, and only if the bytes are a payment in its
/// canonical spelling. A text that falsely claims to be a payment never reaches the app. Show every field and change
/// none: labels may be translated into the person's language, values must stay.
///
/// Reading a field of a selector's payment tells the SDK that a screen has the payment. Comparing or printing a payment
/// does not count as reading.
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
    /// The exhibit that records the reading of a field; `nil` if no record is needed.
    private let exhibit: Exhibit?

    /// All fields in the order in which they are signed.
    public var rows: [Row] { self.read.rows }
    /// The amount with all decimals of its currency and without groups, such as `120.00`.
    public var amount: String { self.read.amount }
    /// The currency's three letters (ISO 4217).
    public var currency: String { self.read.currency }
    /// The recipient of the money.
    public var payee: String { self.read.payee }
    /// The payee's IBAN, with verified check digits; `nil` if the account has another kind of number.
    public var iban: String? { self.read.iban }
    /// The payee's account number, if the account has no IBAN.
    public var accountNumber: String? { self.read.accountNumber }
    /// The message to the payee.
    public var reference: String? { self.read.reference }
    /// The day on which the money leaves, such as `2026-12-01`; `nil` if the money leaves at once.
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

    /// Returns the same payment, which tells an exhibit when a field is read.
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
    /// A description without the fields: a payment in a log is not shown to the person.
    public var description: String { "PaymentDetails" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
