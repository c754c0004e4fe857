import Foundation

/// The customers' accounts and transfers: sample data in memory, made when a customer first signs in.
actor Ledger {
    /// One line of an account's statement.
    struct Movement: Sendable {
        let date: Date
        let text: String
        let amount: Money
    }

    struct Account: Sendable {
        let iban: String
        var movements: [Movement]

        var balance: Money { Money(cents: self.movements.reduce(0) { $0 + $1.amount.cents }) }
    }

    private var accounts: [String: Account] = [:]
    private var transfers: [String: Transfer] = [:]
    /// The number of transfers, for each customer, that are on their way to the phone and have no record yet.
    private var leaving: [String: Int] = [:]
    private let maximumOpen: Int
    private let maximumEnded: Int

    /// - Parameters:
    ///   - maximumOpen: The number of transfers of one customer that can wait for the phone at a time.
    ///   - maximumEnded: The number of a customer's ended transfers that the bank keeps to show their pages.
    init(maximumOpen: Int = BankLimits.openTransfers, maximumEnded: Int = BankLimits.endedTransfers) {
        self.maximumOpen = maximumOpen
        self.maximumEnded = maximumEnded
    }

    /// Returns the account of a customer. A new customer's account is made with a few weeks of sample movements.
    func account(of subject: String, now: Date = Date()) -> Account {
        if let account = self.accounts[subject] { return account }
        let samples: [(daysAgo: Double, text: String, cents: Int)] = [
            (24, "Opening balance", 410_000), (20, "Rent, Quay Street 4", -98_000), (17, "Harbour Grocers", -6_435),
            (12, "Salary, Northlight Studio", 284_000), (9, "City Transit, monthly pass", -5_900),
            (5, "Paper & Thread Books", -3_180), (2, "Café Lumen", -1_240),
        ]
        let account = Account(
            iban: "DE12 5001 0517 0648 4898 90",
            movements: samples.map { sample in
                let date = now.addingTimeInterval(-86_400 * sample.daysAgo)
                return Movement(date: date, text: sample.text, amount: Money(cents: sample.cents))
            })
        self.accounts[subject] = account
        return account
    }

    /// Returns `true` if the customer may send one more transfer to the phone, and takes a place for the transfer.
    /// `add` or `abandon` gives the place back.
    func takePlace(for subject: String, now: Date = Date()) -> Bool {
        let open = self.transfers.values.count { $0.subject == subject && $0.isOpen(at: now) }
        guard open + self.leaving[subject, default: 0] < self.maximumOpen else { return false }
        self.leaving[subject, default: 0] += 1
        return true
    }

    /// Gives back the place of a transfer that did not get as far as the phone.
    func abandon(_ subject: String) {
        let left = self.leaving[subject, default: 0] - 1
        self.leaving[subject] = left > 0 ? left : nil
    }

    /// Remembers a transfer after sending the transfer to its customer's phone, in the place that `takePlace` took.
    ///
    /// At the bound the bank removes the oldest closed transfer of the same customer. The bank never removes a transfer
    /// that can still be confirmed: every transfer that a person has agreed to is booked.
    func add(_ transfer: Transfer) {
        self.abandon(transfer.subject)
        let over = self.transfers.values.filter {
            $0.subject == transfer.subject && !$0.isOpen(at: transfer.created)
        }
        if over.count >= self.maximumEnded, let oldest = over.min(by: { $0.created < $1.created }) {
            self.transfers[oldest.id] = nil
        }
        self.transfers[transfer.id] = transfer
    }

    /// Returns the transfer with the given id; `nil` if the transfer is unknown or belongs to another customer.
    func transfer(_ id: String, of subject: String) -> Transfer? {
        guard let transfer = self.transfers[id], transfer.subject == subject else { return nil }
        return transfer
    }

    /// Returns `true` if the receipt of a booked transfer is shown for the first time.
    func isFirstReceipt(of id: String) -> Bool {
        defer { self.transfers[id]?.isReceiptShown = true }
        return self.transfers[id]?.isReceiptShown == false
    }

    /// Ends a transfer. Without a refusal the transfer is booked, if the account has enough money.
    ///
    /// The first outcome stays: a page that is loaded twice books nothing twice.
    func finish(_ id: String, refusal: Transfer.Refusal?, now: Date = Date()) -> Transfer? {
        guard var transfer = self.transfers[id] else { return nil }
        guard transfer.outcome == nil else { return transfer }
        if let refusal {
            transfer.outcome = .refused(refusal)
        } else {
            var account = self.account(of: transfer.subject, now: now)
            if account.balance < transfer.order.amount {
                transfer.outcome = .refused(.notEnoughMoney)
            } else {
                account.movements.append(
                    Movement(
                        date: now, text: "Transfer to \(transfer.order.payee)",
                        amount: Money(cents: -transfer.order.amount.cents)))
                self.accounts[transfer.subject] = account
                transfer.outcome = .booked(at: now)
            }
        }
        self.transfers[id] = transfer
        return transfer
    }
}
