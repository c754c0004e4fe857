import Foundation
import Testing

@testable import BankCommand

@Suite("The bank's ledger: what a person has agreed to is booked")
struct LedgerTests {
    private static let start = Date(timeIntervalSince1970: 1_800_000_000)

    private static func transfer(_ id: String, of subject: String, at moment: Date = start) throws -> Transfer {
        Transfer(
            id: id, subject: subject,
            order: try TransferOrder(amount: "1", payee: "Jo", iban: "DE89370400440532013000", reference: ""),
            pending: Confirmations.Pending(sessionID: id, link: "", qrCode: Data()), run: TracedRun(), created: moment)
    }

    @Test("A customer has so many transfers open and no more; each end makes room, and so does the time")
    func places() async throws {
        let ledger = Ledger(maximumOpen: 2)
        for id in ["1", "2"] {
            #expect(await ledger.takePlace(for: "ada", now: Self.start))
            try await ledger.add(Self.transfer(id, of: "ada"))
        }
        #expect(await !ledger.takePlace(for: "ada", now: Self.start))
        #expect(await ledger.takePlace(for: "bob", now: Self.start), "another customer's are counted apart")
        _ = await ledger.finish("1", refusal: .denied, now: Self.start)
        #expect(await ledger.takePlace(for: "ada", now: Self.start))
        #expect(await !ledger.takePlace(for: "ada", now: Self.start), "on its way to the phone it counts already")
        await ledger.abandon("ada")
        #expect(await ledger.takePlace(for: "ada", now: Self.start))
        await ledger.abandon("ada")
        let late = Self.start.addingTimeInterval(BankLimits.patience)
        for _ in 0..<2 { #expect(await ledger.takePlace(for: "ada", now: late)) }
    }

    @Test("Nobody's transfers push out one that can still be confirmed")
    func evicts() async throws {
        let ledger = Ledger(maximumOpen: 2, maximumEnded: 3)
        try await ledger.add(Self.transfer("bob", of: "bob"))
        try await ledger.add(Self.transfer("open", of: "ada"))
        for number in 0..<9 {
            let moment = Self.start.addingTimeInterval(TimeInterval(number))
            try await ledger.add(Self.transfer("\(number)", of: "ada", at: moment))
            _ = await ledger.finish("\(number)", refusal: .denied, now: moment)
        }
        #expect(await ledger.transfer("5", of: "ada") == nil, "ended ones have a bound")
        #expect(await ledger.transfer("6", of: "ada") != nil, "the newest stay")
        for (id, subject) in [("open", "ada"), ("bob", "bob")] {
            let ended = await ledger.finish(id, refusal: nil, now: Self.start)
            #expect(ended?.outcome == .booked(at: Self.start))
            #expect(await ledger.account(of: subject).movements.last?.amount.cents == -100)
        }
    }
}
