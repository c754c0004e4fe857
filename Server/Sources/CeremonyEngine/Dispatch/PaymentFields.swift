public import Ceremony
public import _Primitives

extension Payment {
    /// The word for a payment: the member of a dispatch, and the type of authorization details.
    public static let word = "payment"

    /// The members of a payment as JSON.
    public enum Member: String, Sendable, CaseIterable {
        case amount, currency, payee, iban, account, reference, executionDate

        /// `true` if every payment has the member. Every payment also has either `iban` or `account`.
        public var isRequired: Bool {
            switch self {
            case .amount, .currency, .payee: true
            case .iban, .account, .reference, .executionDate: false
            }
        }
    }

    /// Reads a payment of a dispatch: `amount` as a decimal string, `currency`, `payee`, either `iban` or `account`,
    /// and optionally `reference` and `executionDate`.
    ///
    /// Throws `JSONError` for missing and wrongly typed members, ``PaymentError`` for fields that make no payment, and
    /// ``CeremonyError`` `invalidRequest` for an unknown member, because the person would not sign the sender's
    /// meaning, and for both or none of `iban` and `account`.
    public init(json: JSONObject, maximumLength: Int) throws {
        guard json.members.allSatisfy({ Member.allCases.map(\.rawValue).containsBytes(of: $0.name) }) else {
            throw CeremonyError(.invalidRequest, "a payment member that is not known")
        }
        let account: PaymentAccount
        switch (try json.string(.iban), try json.string(.account)) {
        case (let iban?, nil): account = try PaymentAccount(iban: iban)
        case (nil, let number?): account = try PaymentAccount(other: number)
        default: throw CeremonyError(.invalidRequest, "not exactly one of the payment's iban and account")
        }
        try self.init(
            amount: json.requiredString(.amount), currency: json.requiredString(.currency),
            payee: json.requiredString(.payee), account: account, reference: json.string(.reference),
            executionDate: json.string(.executionDate), maximumLength: maximumLength)
    }

    /// The members that ``init(json:maximumLength:)`` reads, in the single spelling that the person sees and signs.
    public var json: JSONObject {
        let members: [(Member, String?)] = [
            (.amount, self.amount.value), (.currency, self.amount.currency), (.payee, self.payee),
            (self.account.isIBAN ? .iban : .account, self.account.number), (.reference, self.reference),
            (.executionDate, self.executionDate?.text),
        ]
        return JSONObject(members.compactMap { member, value in value.map { (member.rawValue, .string($0)) } })
    }
}

extension JSONObject {
    fileprivate func string(_ member: Payment.Member) throws -> String? { try self.string(member.rawValue) }

    fileprivate func requiredString(_ member: Payment.Member) throws -> String {
        try self.requiredString(member.rawValue)
    }
}

extension TransactionText {
    /// Creates the text that a phone shows, from the text of a service.
    ///
    /// Throws ``TransactionTextError`` for a text that cannot be shown, and ``PaymentError`` for a text that only
    /// resembles a payment. A phone would refuse such a text. The service learns of the refusal here.
    init(shown text: String, maximumLength: Int) throws {
        self = try TransactionText(normalizing: text, maximumLength: maximumLength)
        _ = try Payment(recognizing: self, maximumLength: maximumLength)
    }
}
