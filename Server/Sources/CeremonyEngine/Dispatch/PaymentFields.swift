public import Ceremony
public import _Primitives

extension Payment {
    private static let members: Set<ExactText> = [
        "amount", "currency", "payee", "iban", "account", "reference", "executionDate",
    ]

    /// Reads `payment` of a dispatch: `amount` as a decimal string, `currency`, `payee`, either `iban` or `account`,
    /// and optionally `reference` and `executionDate`.
    ///
    /// Throws `JSONError` for missing and wrongly typed members, ``PaymentError`` for fields that make no payment, and
    /// ``CeremonyError`` `invalidRequest` for an unknown member, because the person would not sign the sender's
    /// meaning, and for both or none of `iban` and `account`.
    public init(json: JSONObject, maximumLength: Int) throws {
        guard json.members.allSatisfy({ Self.members.contains(ExactText($0.name)) }) else {
            throw CeremonyError(.invalidRequest, "a payment member that is not known")
        }
        let account: PaymentAccount
        switch (try json.string("iban"), try json.string("account")) {
        case (let iban?, nil): account = try PaymentAccount(iban: iban)
        case (nil, let number?): account = try PaymentAccount(other: number)
        default: throw CeremonyError(.invalidRequest, "not exactly one of the payment's iban and account")
        }
        try self.init(
            amount: json.requiredString("amount"), currency: json.requiredString("currency"),
            payee: json.requiredString("payee"), account: account, reference: json.string("reference"),
            executionDate: json.string("executionDate"), maximumLength: maximumLength)
    }

    /// The members that ``init(json:maximumLength:)`` reads, in the single spelling that the person sees and signs.
    public var json: JSONObject {
        var json: JSONObject = [
            "amount": .string(self.amount.value), "currency": .string(self.amount.currency),
            "payee": .string(self.payee),
        ]
        json[self.account.isIBAN ? "iban" : "account"] = .string(self.account.number)
        json["reference"] = self.reference.map(JSON.string)
        json["executionDate"] = self.executionDate.map { .string($0.text) }
        return json
    }
}
