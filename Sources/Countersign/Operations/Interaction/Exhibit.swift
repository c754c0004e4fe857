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

/// What a context gives to a screen, which remembers whether any of it was taken: all copies of a context share it.
// Safe to share: `content` never changes, and every access to `wasTaken` is within `lock`.
final class Exhibit: @unchecked Sendable {
    private let content: Confirmable?
    private let lock = NSLock()
    private var wasTaken = false

    init(_ content: Confirmable?) { self.content = content }

    /// As an app's test gives it.
    convenience init(_ data: Data?, _ contentType: TransactionContentType) {
        self.init(data.map { Confirmable(data: $0, contentType: contentType) })
    }

    /// Whether the bytes or the payment's fields have been taken. What kind of content it is shows nobody anything.
    var isTaken: Bool { self.lock.withLock { self.wasTaken } }
    var contentType: TransactionContentType? { self.content?.contentType }
    func takeData() -> Data? { self.take(self.content?.data) }
    /// Takes nothing where there are no fields: a text that is no payment has not been seen by looking for them.
    func takePayment() -> PaymentDetails? { self.take(self.content?.payment) }

    private func take<Part>(_ part: Part?) -> Part? {
        if part != nil { self.lock.withLock { self.wasTaken = true } }
        return part
    }
}

/// What a selector has chosen, and whether it had taken by then what is to be confirmed.
struct Selection<Choice: Sendable>: Sendable {
    let choice: Choice
    let hasTakenContent: Bool
}

extension Reply {
    /// To the SDK, with what was taken from the exhibit before the answer: what is read later was not shown in time.
    init(to answer: Answer<Selection<Value>>, noting exhibit: Exhibit) {
        let reply = Reply<Selection<Value>>(to: answer)
        self.give = { reply.give(Selection(choice: $0, hasTakenContent: exhibit.isTaken)) }
        self.cancel = reply.cancel
    }
}
