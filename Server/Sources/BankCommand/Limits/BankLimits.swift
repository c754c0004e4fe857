import Foundation
import NIOCore

/// Every time, count and size of the bank, in one place. The code that reads a value holds the lengths from standards.
enum BankLimits {
    // MARK: What customers send

    /// The most bytes of a form.
    static let formBytes = 16 * 1024
    /// The most digits of an amount's euros.
    static let amountDigits = 8
    /// The largest amount of one transfer, in cents: ten million euros.
    static let mostCents = 1_000_000_000
    /// The number of letters and digits of an IBAN (ISO 13616).
    static let ibanLetters = 15...34
    /// The most letters of a payee's name.
    static let payeeLetters = 40
    /// The most letters of a reference.
    static let referenceLetters = 60

    // MARK: What is kept

    /// The time without a page after which a session is over.
    static let idleTime: TimeInterval = 30 * 60
    /// The most sessions of browsers in which no person has signed in. The oldest session goes first.
    static let visitors = 10_000
    /// The most sessions of one customer. The oldest session goes first.
    static let sessionsPerCustomer = 10
    /// The most transfers of one customer that can wait for the phone at a time.
    static let openTransfers = 5
    /// The most ended transfers of one customer whose pages can still be seen.
    static let endedTransfers = 100
    /// The time in which an answer can come: longer than any provider waits for a phone.
    static let patience: TimeInterval = 30 * 60

    // MARK: The provider

    /// The pause before the bank asks about a confirmation again.
    static let settlementPause: Duration = .seconds(2)
    /// The time that the provider has to accept a connection.
    static let connectTime: TimeAmount = .seconds(5)
    /// The time that the provider can be silent on a connection.
    static let silence: TimeAmount = .seconds(60)
    /// The time that an answer can take.
    static let answerTime: TimeAmount = .seconds(20)
    /// The time that a stream of events can last: longer than a confirmation.
    static let eventsTime: TimeAmount = .minutes(20)
    /// The most connections to the provider. Each waiting page holds a stream of events open, and a sign-in must not
    /// wait until a stream ends.
    static let connections = 1000
    /// The most bytes of an answer.
    static let answerBytes = 256 * 1024
    /// The most bytes of an event, or of a line of an event.
    static let eventBytes = 64 * 1024
    /// The most seconds by which the provider's clock may be ahead.
    static let clockSkew: TimeInterval = 60
}
