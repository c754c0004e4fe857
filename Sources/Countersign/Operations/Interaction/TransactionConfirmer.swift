public import Ceremony
public import UAF

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// A screen that shows the content to be confirmed, and asks the person to agree. The SDK calls the confirmer once in
/// an operation, after the account is known and before the authenticator is chosen. Without content to confirm, the SDK
/// does not call the confirmer.
///
/// With a confirmer, only the confirmer shows the content: the selectors get none. Without a confirmer, a selector must
/// show the content.
///
/// The answer comes through the handler, from any thread, within the configured time. The call may wait for the answer
/// or return earlier. A class of the main actor can conform to this protocol.
public protocol TransactionConfirmer: Sendable {
    /// Shows `context.transactionConfirmationData`, or the rows of `context.payment`, and asks the person to agree.
    func confirmTransaction(context: TransactionConfirmationContext, handler: TransactionConfirmationHandler) async
}

/// The content for a transaction confirmer.
public struct TransactionConfirmationContext: Sendable {
    /// The account of the operation.
    public let account: RegisteredAccount
    /// The content that the person must confirm: the bytes of a text, or of a picture if the app has declared that it
    /// shows such pictures. The bytes are the bytes that will be signed.
    public let transactionConfirmationData: Data
    /// The content type of ``transactionConfirmationData``: `textPlain`, in UTF-8, or `imagePNG`.
    public let transactionConfirmationContentType: TransactionContentType
    /// The fields of the text if the text is a payment: show the fields as a table. `nil` for any other text.
    public let payment: PaymentDetails?
    /// The service and browser that request the operation, as far as the server says.
    public let requester: Requester?

    init(account: RegisteredAccount, content: Confirmable, requester: Requester?) {
        self.account = account
        self.transactionConfirmationData = content.data
        self.transactionConfirmationContentType = content.contentType
        self.payment = content.payment
        self.requester = requester
    }

    /// Creates a context for an app's own tests.
    ///
    /// A text that is a payment has its fields. Some texts are refused by an operation before any screen is asked, such
    /// as a text with hidden letters or a text that only begins like a payment. This context passes such texts on as
    /// texts without fields.
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
    /// A description without the content, which belongs to the person.
    public var description: String { "TransactionConfirmationContext(\(self.transactionConfirmationContentType))" }
    public var customMirror: Mirror { Mirror(self, children: ["account": self.account]) }
}

/// The receiver of the answer of a transaction confirmer. The first call counts.
public struct TransactionConfirmationHandler: Sendable {
    let reply: Reply<Void>

    init(answer: Answer<Void>) { self.reply = Reply(to: answer) }
    /// Creates a handler for an app's own tests. One of the closures is called, once.
    public init(
        approve: @escaping @Sendable () -> Void, cancel: @escaping @Sendable () -> Void = {},
        deny: @escaping @Sendable (DenialStatement) -> Void = { _ in }
    ) {
        self.reply = Reply({ approve() }, cancel: cancel, deny: deny)
    }

    /// Approves the content: the person has seen the content and agrees.
    public func approve() { self.reply.give(()) }
    /// Refuses the content: the operation ends with `userCanceled`, and the server is told.
    public func cancel() { self.reply.cancel() }
    /// Denies the request: the server gets the person's denial, signed by this device, and the operation ends with
    /// `userCanceled`. See ``Denial``.
    public func deny(_ statement: DenialStatement = .unwanted) { self.reply.deny(statement) }
}
