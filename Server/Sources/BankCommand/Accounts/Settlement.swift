import Foundation
import Logging
import ServiceLifecycle

/// Brings transfers to their end: asks the provider how far the phone is, checks the provider's statement, and books.
actor Settlement {
    /// The progress of a transfer.
    enum Standing: Sendable {
        case open(Confirmations.Progress)
        /// Booked or refused, for good.
        case ended(Transfer)
    }

    private let confirmations: Confirmations
    private let provider: OpenIDClient
    private let ledger: Ledger
    private let logger: Logger
    /// Questions that the provider has not answered yet. A page and the follower that ask about the same transfer share
    /// one question.
    private var asked: [String: Task<Standing, any Error>] = [:]

    init(confirmations: Confirmations, provider: OpenIDClient, ledger: Ledger, logger: Logger) {
        self.confirmations = confirmations
        self.provider = provider
        self.ledger = ledger
        self.logger = logger
    }

    /// Asks the provider how far a transfer is, and ends the transfer once the phone has answered.
    ///
    /// Throws ``ProviderError`` if the provider gives no usable answer.
    func settle(_ transfer: Transfer) async throws -> Standing {
        if let asked = self.asked[transfer.id] { return try await asked.value }
        let question = Task { try await self.standing(of: transfer) }
        self.asked[transfer.id] = question
        defer { self.asked[transfer.id] = nil }
        return try await question.value
    }

    private func standing(of transfer: Transfer) async throws -> Standing {
        if let known = await self.ledger.transfer(transfer.id, of: transfer.subject), known.outcome != nil {
            return .ended(known)
        }
        let progress = try await self.confirmations.progress(of: transfer.pending.sessionID, run: transfer.run)
        let refusal: Transfer.Refusal?
        switch progress {
        case .waiting, .onPhone: return .open(progress)
        case .confirmed(let result): refusal = await self.refusal(of: result, for: transfer)
        case .denied: refusal = .denied
        case .expired: refusal = .expired
        case .failed: refusal = .failed
        }
        return .ended(await self.ledger.finish(transfer.id, refusal: refusal) ?? transfer)
    }

    /// Checks that the signed result is about the bank's own text. A bank must never leave out this check.
    private func refusal(of result: String, for transfer: Transfer) async -> Transfer.Refusal? {
        do {
            let token = try UnverifiedToken(result)
            guard token.header.typ == ConfirmationClaims.tokenType else {
                throw ProviderError.refused("the result is another kind of token")
            }
            let claims = try await self.provider.verifiedClaims(ConfirmationClaims.self, of: token)
            try claims.validate(
                issuer: self.provider.calls.issuer, clientID: self.provider.calls.clientID, subject: transfer.subject,
                session: transfer.pending.sessionID, text: transfer.order.text, now: Date())
            return nil
        } catch {
            self.logger.warning("transfer refused: \(error)")
            return .unverified
        }
    }
}

/// Follows every transfer to its end, even if the transfer's page is closed.
///
/// A person who has confirmed may close the browser, and the provider's statement is good for minutes only.
struct Follower: Service {
    let settlement: Settlement
    /// The transfers that were sent to a phone.
    let begun: AsyncStream<Transfer>
    /// The pause between two questions. A question holds no connection open, unlike a stream of events.
    var pause = BankLimits.settlementPause

    func run() async throws {
        await withDiscardingTaskGroup { group in
            for await transfer in self.begun.cancelOnGracefulShutdown() {
                group.addTask { await self.follow(transfer) }
            }
            group.cancelAll()
        }
    }

    /// Asks until the transfer has ended. If the provider does not answer, asks again.
    func follow(_ transfer: Transfer) async {
        while !Task.isCancelled, transfer.isOpen(at: Date()) {
            if case .ended? = try? await self.settlement.settle(transfer) { return }
            try? await Task.sleep(for: self.pause)
        }
    }
}
