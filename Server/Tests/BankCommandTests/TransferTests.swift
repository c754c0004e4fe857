import Foundation
import NIOCore
import Testing

@testable import BankCommand

@Suite("The bank's transfers")
struct TransferTests {
    private static let iban = "DE89 3704 0044 0532 0130 00"

    private func order(
        amount: String = "120", payee: String = "Jo Gardener", iban: String = iban, reference: String = ""
    ) throws -> TransferOrder {
        try TransferOrder(amount: amount, payee: payee, iban: iban, reference: reference)
    }

    @Test(
        "An amount is read as people write it", arguments: [("120", 12_000), ("0,5", 50), (" 7.05 ", 705), ("0.01", 1)])
    func amounts(typed: String, cents: Int) {
        #expect(Money(typed: typed)?.cents == cents)
    }

    @Test(
        "What is no amount is refused",
        arguments: ["", "0", "0.00", "-5", "1.234", "1.2.3", "1e3", "٣", "10000000.01", "1 000", ".5", "5."])
    func noAmounts(typed: String) {
        #expect(Money(typed: typed) == nil)
    }

    @Test("An amount is written with groups and two places")
    func amountText() {
        #expect(Money(cents: 123_456_789).text == "1,234,567.89")
        #expect(Money(cents: -505).text == "−5.05")
    }

    @Test("The text to confirm is the grammar of payments: one field a line, in NFC, and fits what a phone shows")
    func text() throws {
        let order = try self.order(amount: "1234,5", payee: " Jose\u{301}  B", reference: "Fence")
        #expect(
            order.text
                == "Payment\nAmount: EUR 1234.50\nTo: Jos\u{E9} B\nIBAN: DE89370400440532013000\nReference: Fence")
        #expect(order.text.unicodeScalars.contains("\u{E9}"))
        #expect(try self.order().text == "Payment\nAmount: EUR 120.00\nTo: Jo Gardener\nIBAN: DE89370400440532013000")
        let long = try self.order(
            amount: "10000000", payee: String(repeating: "x", count: 40),
            iban: "MT84MALT011000012345MTLCAST001S", reference: String(repeating: "y", count: 60))
        #expect(long.text.unicodeScalars.count <= 200)
    }

    @Test(
        "A field that could forge another line, or hide something, is refused",
        arguments: ["A\nIBAN: XX", "A\u{202E}B", "\u{200B}", "\u{301}A", "---", "A\u{3164}"])
    func forgedField(text: String) {
        #expect(throws: TransferOrder.Problems(payee: "Enter a name of up to 40 letters.")) {
            try self.order(payee: text)
        }
        #expect(throws: TransferOrder.Problems(reference: "Enter up to 60 letters.")) {
            try self.order(reference: text)
        }
    }

    @Test("A payee is needed, a reference is not; both have an end")
    func lengths() throws {
        #expect(throws: TransferOrder.Problems.self) { try self.order(payee: " ") }
        #expect(try self.order(reference: " ").reference.isEmpty)
        #expect(throws: TransferOrder.Problems.self) { try self.order(payee: String(repeating: "x", count: 41)) }
        #expect(throws: TransferOrder.Problems.self) { try self.order(reference: String(repeating: "x", count: 61)) }
    }

    @Test("A field is as long as it was typed before it is composed and its spaces are counted")
    func boundedFirst() throws {
        let spaces = String(repeating: " ", count: 158)
        #expect(try self.order(payee: spaces + "Jo").payee == "Jo")
        #expect(throws: TransferOrder.Problems(payee: "Enter a name of up to 40 letters.")) {
            try self.order(payee: spaces + " Jo")
        }
        let typed = String(repeating: "e\u{301}", count: 60)
        #expect(try self.order(reference: typed).reference.unicodeScalars.count == 60)
        let wide = String(repeating: " ", count: 240)
        #expect(try self.order(reference: wide).reference.isEmpty)
        #expect(throws: TransferOrder.Problems(reference: "Enter up to 60 letters.")) {
            try self.order(reference: wide + " ")
        }
        #expect(throws: TransferOrder.Problems(iban: "This is not an IBAN: check its digits.")) {
            try self.order(iban: Self.iban + String(repeating: " ", count: 120))
        }
    }

    @Test(
        "An IBAN with a wrong digit, letter or length is refused",
        arguments: [
            "DE88370400440532013000", "DE89", "", "ÄE89370400440532013000", "8937040044053201300000",
            "GB00000000000000000", "DE8937040044053201300٣",
        ])
    func wrongIBAN(iban: String) {
        #expect(throws: TransferOrder.Problems(iban: "This is not an IBAN: check its digits.")) {
            try self.order(iban: iban)
        }
    }

    private func transfer(_ id: String, amount: String = "120") throws -> Transfer {
        Transfer(
            id: id, subject: "s-1", order: try self.order(amount: amount),
            pending: .init(sessionID: "session", link: "", qrCode: Data()), run: TracedRun(), created: Date())
    }

    @Test("A transfer is booked once, however often its page is loaded")
    func bookedOnce() async throws {
        let ledger = Ledger()
        let before = await ledger.account(of: "s-1").balance
        await ledger.add(try self.transfer("t"))
        let first = await ledger.finish("t", refusal: nil)
        let second = await ledger.finish("t", refusal: .denied)
        #expect(first?.outcome == second?.outcome)
        #expect(await ledger.account(of: "s-1").balance.cents == before.cents - 12_000)
    }

    @Test("A refused transfer, and one without the money, moves nothing")
    func nothingMoves() async throws {
        let ledger = Ledger()
        let before = await ledger.account(of: "s-1").balance
        await ledger.add(try self.transfer("denied"))
        await ledger.add(try self.transfer("rich", amount: "9999999"))
        #expect(await ledger.finish("denied", refusal: .denied)?.outcome == .refused(.denied))
        #expect(await ledger.finish("rich", refusal: nil)?.outcome == .refused(.notEnoughMoney))
        #expect(await ledger.account(of: "s-1").balance == before)
    }

    @Test("A transfer is shown to its own customer alone")
    func otherCustomer() async throws {
        let ledger = Ledger()
        await ledger.add(try self.transfer("t"))
        #expect(await ledger.transfer("t", of: "s-2") == nil)
        #expect(await ledger.transfer("t", of: "s-1")?.id == "t")
    }

    @Test("Markup in a text is shown, not run")
    func escaping() {
        let text = "<script>\"&'"
        #expect(("<p>\(text)</p>" as HTML).markup == "<p>&lt;script&gt;&quot;&amp;&#39;</p>")
    }

    @Test("A mark that joins itself to a character does not keep it from being escaped", arguments: Array("&<>\"'"))
    func escapingOfJoinedScalars(character: Character) {
        for mark in ["\u{301}", "\u{338}", "\u{200D}", "\u{FE0F}"] {
            let markup = Array(("<p title=\"\(String(character) + mark)\">" as HTML).markup.utf8)
            #expect(!markup.contains(Array("\(character)\(mark)".utf8)))
            #expect(markup.contains(Array(";\(mark)\">".utf8)))
        }
    }

    @Test("Events are cut at empty lines, however the bytes arrive")
    func events() throws {
        var lines = EventLines()
        let stream = ": hello\n\nevent: status\r\ndata: {\"a\":1}\r\n\r\ndata:x\ndata: y\n\n"
        var events: [String] = []
        for byte in stream.utf8 {
            events += try lines.take(ByteBuffer(bytes: [byte])).map { String(decoding: $0, as: UTF8.self) }
        }
        #expect(events == [#"{"a":1}"#, "xy"])
        #expect(throws: ProviderError.self) { try lines.take(ByteBuffer(repeating: 0x61, count: 100_000)) }
    }
}
