import Foundation
import NIOCore

/// Every time, count and size of the bank, in one place. The lengths that standards give stand where they are read.
enum BankLimits {
    // MARK: What customers send

    /// Bytes of a form.
    static let formBytes = 16 * 1024
    /// Digits of an amount's euros that are read.
    static let amountDigits = 8
    /// The most that is sent at once, in cents: ten million euros.
    static let mostCents = 1_000_000_000
    /// Letters and digits of an IBAN (ISO 13616).
    static let ibanLetters = 15...34
    /// Letters of a payee's name.
    static let payeeLetters = 40
    /// Letters of a reference.
    static let referenceLetters = 60

    // MARK: What is kept

    /// After so long without a page a session is over.
    static let idleTime: TimeInterval = 30 * 60
    /// Sessions of browsers that nobody has signed in with. The oldest goes first.
    static let visitors = 10_000
    /// Sessions of one customer. The oldest goes first.
    static let sessionsPerCustomer = 10
    /// Transfers of one customer that can wait for the phone at a time.
    static let openTransfers = 5
    /// Ended ones of one customer whose pages can still be seen.
    static let endedTransfers = 100
    /// How long an answer can come: longer than any provider waits for a phone.
    static let patience: TimeInterval = 30 * 60

    // MARK: The provider

    /// How long it is waited before a confirmation is asked about again.
    static let settlementPause: Duration = .seconds(2)
    /// How long it can take to accept a connection.
    static let connectTime: TimeAmount = .seconds(5)
    /// How long it can be silent on a connection.
    static let silence: TimeAmount = .seconds(60)
    /// How long an answer can take.
    static let answerTime: TimeAmount = .seconds(20)
    /// How long a stream of events can last: longer than a confirmation.
    static let eventsTime: TimeAmount = .minutes(20)
    /// Connections: each waiting page holds a stream of events open, and a sign-in must not wait until one of them ends.
    static let connections = 1000
    /// Bytes of an answer.
    static let answerBytes = 256 * 1024
    /// Bytes of an event, or of a line of one.
    static let eventBytes = 64 * 1024
    /// Seconds by which the provider's clock may be ahead.
    static let clockSkew: TimeInterval = 60
}
