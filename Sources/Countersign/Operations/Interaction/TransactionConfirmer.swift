public import UAF

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Shows what is to be confirmed, and asks whether the person agrees. Called once in an operation, after the account is
/// known and before the authenticator is chosen; where there is nothing to confirm, it is not called.
///
/// With a confirmer the content is shown here alone: the selectors get none. Without one, a selector must show it.
///
/// The answer comes through the handler, from any thread, within the configured time; the call may wait for it or return
/// before. A class of the main actor can be one.
public protocol TransactionConfirmer: Sendable {
    /// Shows `context.transactionConfirmationData`, or the rows of `context.payment`, and asks.
    func confirmTransaction(context: TransactionConfirmationContext, handler: TransactionConfirmationHandler) async
}

/// What a transaction confirmer shows.
public struct TransactionConfirmationContext: Sendable {
    /// Whose operation it is.
    public let account: RegisteredAccount
    /// What the person is to confirm: the bytes of a text, or of a picture where the app has said that it shows such
    /// ones, as they will be signed.
    public let transactionConfirmationData: Data
    /// What ``transactionConfirmationData`` is: `textPlain`, in UTF-8, or `imagePNG`.
    public let transactionConfirmationContentType: TransactionContentType
    /// The fields of that text where it is a payment: show them as a table. `nil` for any other text.
    public let payment: PaymentDetails?
    /// Who asks, as far as the server says.
    public let requester: Requester?

    init(account: RegisteredAccount, content: Confirmable, requester: Requester?) {
        self.account = account
        self.transactionConfirmationData = content.data
        self.transactionConfirmationContentType = content.contentType
        self.payment = content.payment
        self.requester = requester
    }

    /// A context for an app's own tests. A text that is a payment has its fields. What an operation refuses before any
    /// screen is asked, such as a text with hidden letters or one that only begins like a payment, is handed on here as a
    /// text without fields.
    public init(
        account: RegisteredAccount, transactionConfirmationData: Data,
        transactionConfirmationContentType: TransactionContentType = .textPlain, requester: Requester? = nil
    ) {
        self.init(
            account: account,
            content: Confirmable(data: transactionConfirmationData, contentType: transactionConfirmationContentType),
            requester: requester)
    }
}

extension TransactionConfirmationContext: CustomStringConvertible, CustomReflectable {
    /// Without the content, which is the person's.
    public var description: String { "TransactionConfirmationContext(\(self.transactionConfirmationContentType))" }
    public var customMirror: Mirror { Mirror(self, children: ["account": self.account]) }
}

/// Takes the answer of a transaction confirmer. The first call counts.
public struct TransactionConfirmationHandler: Sendable {
    let reply: Reply<Void>

    init(answer: Answer<Void>) { self.reply = Reply(to: answer) }
    /// A handler for an app's own tests: one of the two is called, once.
    public init(approve: @escaping @Sendable () -> Void, cancel: @escaping @Sendable () -> Void = {}) {
        self.reply = Reply({ approve() }, cancel: cancel)
    }

    /// The person has seen the content and agrees to it.
    public func approve() { self.reply.give(()) }
    /// The person does not agree: the operation ends with `userCanceled`, and the server hears of it.
    public func cancel() { self.reply.cancel() }
}
