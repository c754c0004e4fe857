import Ceremony

/// A payment to confirm, field by field, as it will be signed.
///
/// The SDK makes it from the very bytes whose hash is signed, and only where they are a payment in its one spelling; a
/// text that says it is a payment and is none never reaches the app. Show every field and change none: labels may be
/// in the person's language, values stay.
public struct PaymentDetails: Hashable, Sendable {
    /// A line of the table.
    public struct Row: Hashable, Sendable {
        /// The field's label as it is signed, in English.
        public let label: String
        /// The field's value as it is signed.
        public let value: String
    }

    /// All fields in the order in which they are signed.
    public let rows: [Row]
    /// The amount with all decimals of its currency and without groups, such as `120.00`.
    public let amount: String
    /// The currency's three letters (ISO 4217).
    public let currency: String
    /// Whom the money is for.
    public let payee: String
    /// The payee's IBAN, its check digits verified; `nil` where the account has a number of another kind.
    public let iban: String?
    /// The payee's account where it is not given by an IBAN.
    public let accountNumber: String?
    /// What the payee is told.
    public let reference: String?
    /// The day on which the money leaves, such as `2026-12-01`; `nil` for at once.
    public let executionDate: String?

    init(_ payment: Payment) {
        self.rows = payment.fields.map { Row(label: $0.label, value: $0.value) }
        self.amount = payment.amount.value
        self.currency = payment.amount.currency
        self.payee = payment.payee
        self.iban = payment.account.isIBAN ? payment.account.number : nil
        self.accountNumber = payment.account.isIBAN ? nil : payment.account.number
        self.reference = payment.reference
        self.executionDate = payment.executionDate?.text
    }
}
