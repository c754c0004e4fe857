/// Why fields, or a text, are not a payment. Two are equal when their codes are.
public struct PaymentError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong, for code that has to choose: most name the field.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String {
            case amount, currency, payee, iban, account, reference, executionDate, tooLong, missingField, unknownLine
            case notNormal
        }
        private let base: Base
        /// Not a decimal number, zero, or more decimals than the currency has.
        public static let amount = Self(base: .amount)
        /// Not a currency that money is sent in (ISO 4217).
        public static let currency = Self(base: .currency)
        /// A payee's name that is empty, too long, or holds a character that hides or reorders.
        public static let payee = Self(base: .payee)
        /// Not an IBAN, or its check digits are wrong (ISO 13616).
        public static let iban = Self(base: .iban)
        /// An account number with other characters than it may have, or one that is an IBAN.
        public static let account = Self(base: .account)
        /// A reference that is too long, or holds a character that hides or reorders.
        public static let reference = Self(base: .reference)
        /// Not a day of the calendar.
        public static let executionDate = Self(base: .executionDate)
        /// Each field would do, but all together are longer than a text may be.
        public static let tooLong = Self(base: .tooLong)
        /// A line that a payment must have is not there, or not in its place.
        public static let missingField = Self(base: .missingField)
        /// A line that a payment has not, or has once, or has elsewhere.
        public static let unknownLine = Self(base: .unknownLine)
        /// A field in another spelling than its one, which a phone does not rewrite.
        public static let notNormal = Self(base: .notNormal)
        public var description: String { self.base.rawValue }
    }

    /// What is wrong.
    public let code: Code
    /// For the log: a length, a code point or a label, never a value.
    public let reason: String

    /// An error with that code; `reason` must hold no value of the payment.
    public init(_ code: Code, _ reason: String = "") {
        self.code = code
        self.reason = reason
    }

    public var description: String {
        self.reason.isEmpty ? "PaymentError.\(self.code)" : "PaymentError.\(self.code): \(self.reason)"
    }
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
    public func hash(into hasher: inout Hasher) { hasher.combine(self.code) }
}
