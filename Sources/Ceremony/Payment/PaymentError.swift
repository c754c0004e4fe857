public import _Primitives

/// The reason why fields, or a text, are not a payment. Two errors are equal if their codes are equal.
public struct PaymentError: CodedError {
    /// The kind of error, for code that has to choose. Most kinds name the field.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String {
            case amount, currency, payee, iban, account, reference, executionDate, tooLong, missingField, unknownLine
            case notNormal
        }
        private let base: Base
        /// The amount is not a decimal number, is zero or too large, has leading zeros, or has more decimals than its
        /// currency.
        public static let amount = Self(base: .amount)
        /// The text is not a currency in which people send money (ISO 4217).
        public static let currency = Self(base: .currency)
        /// The payee's name is empty or too long, has no letter or digit, begins with a combining mark, or holds a
        /// character that hides or reorders.
        public static let payee = Self(base: .payee)
        /// The number is not an IBAN, or its check digits are wrong (ISO 13616).
        public static let iban = Self(base: .iban)
        /// The account number is empty or too long, has a character that it may not have or not in this place, or is an
        /// IBAN.
        public static let account = Self(base: .account)
        /// The reference is present, and has one of the faults of ``payee``.
        public static let reference = Self(base: .reference)
        /// The text is not a day from the year 2000 to 2999, or is not written `YYYY-MM-DD`.
        public static let executionDate = Self(base: .executionDate)
        /// Each field is acceptable, but all fields together are longer than a text may be.
        public static let tooLong = Self(base: .tooLong)
        /// A required line is missing or not in its place.
        public static let missingField = Self(base: .missingField)
        /// A line is unknown, repeated or misplaced, or the first line is not exactly the title.
        public static let unknownLine = Self(base: .unknownLine)
        /// A field is not in its single spelling, and a phone does not rewrite a field.
        public static let notNormal = Self(base: .notNormal)
        public var description: String { self.base.rawValue }
    }

    /// The kind of error.
    public let code: Code
    /// A text for the log: a length, a code point or a label, never a value.
    public let reason: String

    /// Creates an error with the code; `reason` must hold no value of the payment.
    public init(_ code: Code, _ reason: String = "") {
        self.code = code
        self.reason = reason
    }
}
