import Foundation

/// An order on its way: the phone shows the order, and in the end the bank books or refuses the order.
struct Transfer: Sendable {
    /// The reason why nothing was booked.
    enum Refusal: Sendable, Equatable {
        case denied
        case expired
        case failed
        /// The provider's statement does not verify, or is about something else.
        case unverified
        case notEnoughMoney
    }

    enum Outcome: Sendable, Equatable {
        case booked(at: Date)
        case refused(Refusal)
    }

    let id: String
    let subject: String
    let order: TransferOrder
    let pending: Confirmations.Pending
    let run: TracedRun
    let created: Date
    var outcome: Outcome?
    var isReceiptShown = false

    /// Returns `true` if the transfer can still be confirmed.
    func isOpen(at now: Date) -> Bool {
        self.outcome == nil && self.created.addingTimeInterval(BankLimits.patience) > now
    }
}
