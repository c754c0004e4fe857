import Ceremony
import Foundation
import UAF

/// The content to which a person is asked to agree: the bytes, their content type, and the fields if the content is a
/// payment.
struct Confirmable: Sendable {
    let data: Data
    let contentType: TransactionContentType
    let payment: PaymentDetails?

    /// Creates the content from a transaction. A picture of a kind that the app shows is taken unchanged. A text is
    /// taken only if it reads in a single way and does not falsely pretend to be a payment.
    ///
    /// Throws ``OperationError`` (`invalidTransactionContent`).
    init(_ transaction: Transaction) throws(OperationError) {
        guard transaction.contentType == .textPlain else {
            self.data = Data(transaction.content)
            self.contentType = transaction.contentType
            self.payment = nil
            return
        }
        do {
            let text = try TransactionText(received: transaction.content)
            self.data = Data(text.bytes)
            self.contentType = .textPlain
            self.payment = try Payment(recognizing: text).map(PaymentDetails.init)
        } catch let error as TransactionTextError {
            throw .fido(.invalidTransactionContent, "\(error.code)")
        } catch let error as PaymentError {
            throw .fido(.invalidTransactionContent, "payment: \(error.code)")
        } catch {
            throw OperationError(translating: error)
        }
    }

    /// Creates the content of an app's test. A text that ``init(_:)`` refuses is taken as a text without fields. No
    /// operation shows such content.
    init(data: Data, contentType: TransactionContentType) {
        let text = contentType == .textPlain ? try? TransactionText(received: Array(data)) : nil
        self.data = data
        self.contentType = contentType
        self.payment = text.flatMap { try? Payment(recognizing: $0) }.map(PaymentDetails.init)
    }
}

/// The content that a context gives to a screen, with the record of shown content: all copies of a context share the
/// record.
// Safe to share: `content` never changes, and every access to `wasShown` is within `lock`.
final class Exhibit: @unchecked Sendable {
    private let content: Confirmable?
    private let lock = NSLock()
    private var wasShown = false

    init(_ content: Confirmable?) { self.content = content }

    /// Creates the exhibit of an app's test.
    convenience init(_ data: Data?, _ contentType: TransactionContentType) {
        self.init(data.map { Confirmable(data: $0, contentType: contentType) })
    }

    /// `true` if the bytes or a field of the payment were read, or if the app has said that it has shown the content.
    /// Reading the existence or the kind of the content does not count.
    var isShown: Bool { self.lock.withLock { self.wasShown } }
    var hasContent: Bool { self.content != nil }
    var contentType: TransactionContentType? { self.content?.contentType }
    /// The payment's fields. Reading a field is recorded in the exhibit.
    var payment: PaymentDetails? { self.content?.payment?.noting(self) }

    func takeData() -> Data? {
        self.noteShown()
        return self.content?.data
    }

    /// Records that a screen has the content. Without content, nothing is recorded.
    func noteShown() {
        guard self.hasContent else { return }
        self.lock.withLock { self.wasShown = true }
    }
}

/// The choice of a selector, and the record whether the selector had shown the content before the choice.
struct Selection<Choice: Sendable>: Sendable {
    let choice: Choice
    let hasShownContent: Bool
}

extension Reply {
    /// Creates a reply to the SDK, with the state of the exhibit before the answer. Content that is read later was not
    /// shown in time.
    init(to answer: Answer<Selection<Value>>, noting exhibit: Exhibit) {
        let reply = Reply<Selection<Value>>(to: answer)
        self.give = { reply.give(Selection(choice: $0, hasShownContent: exhibit.isShown)) }
        self.cancel = reply.cancel
        self.deny = reply.deny
    }
}
