public import Countersign
public import Foundation

/// A content to approve, as a title and a table.
public struct Approval: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// A line of the table.
    public struct Row: Hashable, Sendable {
        /// The label; `nil` for a label that no language has, whose words are ``signedLabel``.
        public let label: ScreenText?
        /// The label as it is signed, in English.
        public let signedLabel: String
        /// The value as it is signed. No language changes a value.
        public let value: String
    }

    /// The content.
    public enum Content: Hashable, Sendable {
        /// A payment, field by field.
        case payment([Row])
        /// A text, in the letters that will be signed.
        case text(String)
        /// A picture (PNG).
        case picture(Data)
    }

    /// The title.
    public let title: ScreenText
    /// The content.
    public let content: Content
    /// The lines about the request: the account, the browser, and the text to compare.
    public let request: [Row]

    /// Creates the approval of a content.
    public init(_ context: TransactionConfirmationContext) {
        let service = context.requester?.service
        if let payment = context.payment {
            self.title = .paymentTitle(service: service)
            self.content = .payment(
                payment.rows.map { Row(label: Self.label($0.label), signedLabel: $0.label, value: $0.value) })
        } else {
            self.title = .signingTitle(service: service)
            self.content =
                context.transactionConfirmationContentType == .textPlain
                ? .text(String(decoding: context.transactionConfirmationData, as: UTF8.self))
                : .picture(context.transactionConfirmationData)
        }
        self.request = Self.rows(account: context.account, requester: context.requester)
    }

    static func rows(account: RegisteredAccount, requester: Requester?) -> [Row] {
        let values: [(ScreenText, String?)] = [
            (.account, account.username), (.browser, requester?.browser), (.comparison, requester?.channelLinking),
        ]
        return values.compactMap { label, value in
            value.map { Row(label: label, signedLabel: "", value: $0) }
        }
    }

    /// The labels of a payment as the payment is signed.
    private static func label(_ signed: String) -> ScreenText? {
        switch Array(signed.utf8) {
        case Array("Amount".utf8): .amount
        case Array("To".utf8): .payee
        case Array("Account".utf8): .accountNumber
        case Array("Reference".utf8): .reference
        case Array("Date".utf8): .executionDate
        default: nil
        }
    }

    /// The kind of the content only: the content belongs to the person.
    public var description: String { "Approval" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
