import Foundation

/// The operations that wait for this device, by account, and the callback for changes.
// Safe to share: every access to `answers` and `told` is within `lock`.
final class PendingList: @unchecked Sendable {
    private struct Answer {
        var operations: [PendingOutOfBandOperation] = []
        var error: OperationError?
        var isMissing = true
    }

    private let accounts: [RegisteredAccount]
    private let change: @Sendable (PendingOutOfBandOperationsResult) -> Void
    private let lock = NSLock()
    private var answers: [Answer]
    private var told: PendingOutOfBandOperationsResult?

    /// Creates the list of these accounts, without an answer. `change` is called with each new result, as soon as all
    /// accounts have an answer.
    init(of accounts: [RegisteredAccount], _ change: @escaping @Sendable (PendingOutOfBandOperationsResult) -> Void) {
        self.accounts = accounts
        self.change = change
        self.answers = accounts.map { _ in Answer() }
    }

    /// The present operations and errors.
    var result: PendingOutOfBandOperationsResult { self.lock.withLock { self.present } }

    /// The present operations and errors, for callers within the lock.
    private var present: PendingOutOfBandOperationsResult {
        PendingOutOfBandOperationsResult(
            operations: self.answers.flatMap(\.operations),
            errors: zip(self.accounts, self.answers).compactMap { account, answer in
                answer.error.map { PendingOutOfBandOperationsResult.Failure(account: account, error: $0) }
            })
    }

    /// Notes the operations of an account.
    func set(_ operations: [PendingOutOfBandOperation], of account: RegisteredAccount) {
        self.change(account) { $0 = Answer(operations: operations, error: nil, isMissing: false) }
    }

    /// Notes that an account's list could not be read. The operations that were read before stay, unless the list
    /// `isOver`: nobody can answer them on this device any more.
    func set(_ error: OperationError, of account: RegisteredAccount, isOver: Bool = false) {
        self.change(account) { answer in
            if isOver { answer.operations = [] }
            answer.error = error
            answer.isMissing = false
        }
    }

    private func change(_ account: RegisteredAccount, _ body: (inout Answer) -> Void) {
        // The callback is called within the lock, so that the calls come one after another, in the order of the changes.
        self.lock.withLock {
            guard let index = self.accounts.firstIndex(of: account) else { return }
            body(&self.answers[index])
            let result = self.present
            guard !self.answers.contains(where: \.isMissing), result != self.told else { return }
            self.told = result
            self.change(result)
        }
    }
}
