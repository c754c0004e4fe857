import Ceremony
import Foundation
import UAF

/// What a person is to agree to: the bytes, what they are, and their fields where they are a payment.
struct Confirmable: Sendable {
    let data: Data
    let contentType: TransactionContentType
    let payment: PaymentDetails?

    /// A picture of a kind that the app shows, as it is; a text only where it reads one way, and does not pass itself off
    /// as a payment without being one.
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

    /// As an app's test gives it: also what ``init(_:)`` refuses, as a text without fields. No operation shows such a one.
    init(data: Data, contentType: TransactionContentType) {
        let text = contentType == .textPlain ? try? TransactionText(received: Array(data)) : nil
        self.data = data
        self.contentType = contentType
        self.payment = text.flatMap { try? Payment(recognizing: $0) }.map(PaymentDetails.init)
    }
}

/// What a context gives to a screen, which remembers whether any of it was shown: all copies of a context share it.
// Safe to share: `content` never changes, and every access to `wasShown` is within `lock`.
final class Exhibit: @unchecked Sendable {
    private let content: Confirmable?
    private let lock = NSLock()
    private var wasShown = false

    init(_ content: Confirmable?) { self.content = content }

    /// As an app's test gives it.
    convenience init(_ data: Data?, _ contentType: TransactionContentType) {
        self.init(data.map { Confirmable(data: $0, contentType: contentType) })
    }

    /// Whether the bytes or a field of the payment have been read, or the app says that it has shown the content. That there
    /// is something, and of what kind, shows nobody anything.
    var isShown: Bool { self.lock.withLock { self.wasShown } }
    var hasContent: Bool { self.content != nil }
    var contentType: TransactionContentType? { self.content?.contentType }
    /// The fields, whose reading is noted here.
    var payment: PaymentDetails? { self.content?.payment?.noting(self) }

    func takeData() -> Data? {
        self.noteShown()
        return self.content?.data
    }

    /// Notes that a screen has the content. Where there is none, nothing was shown.
    func noteShown() {
        guard self.hasContent else { return }
        self.lock.withLock { self.wasShown = true }
    }
}

/// What a selector has chosen, and whether it had shown by then what is to be confirmed.
struct Selection<Choice: Sendable>: Sendable {
    let choice: Choice
    let hasShownContent: Bool
}

extension Reply {
    /// To the SDK, with what was shown of the exhibit before the answer: what is read later was not shown in time.
    init(to answer: Answer<Selection<Value>>, noting exhibit: Exhibit) {
        let reply = Reply<Selection<Value>>(to: answer)
        self.give = { reply.give(Selection(choice: $0, hasShownContent: exhibit.isShown)) }
        self.cancel = reply.cancel
    }
}
