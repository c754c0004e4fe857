import Ceremony
import Testing
import _Primitives

@Suite("Decision 9: every payment has one spelling, whatever its values are")
struct PaymentPropertyTests {
    private static let names = [
        "Jo Gardener", "Zoe\u{308} Müller", "山田 太郎", "Amount: EUR 1.00", "IBAN: x", "Payment", "שלום 12", "a: b: c",
        "x\u{A0}y", " padded ", "O’Neill & Søn", "Ⅷ", "9",
    ]
    private static let accounts: [(iban: Bool, number: String)] = [
        (true, "DE89370400440532013000"), (true, "gb29 NWBK 6016 1331 9268 19"), (false, "12-34-56 12345678"),
        (false, "jo@bank"), (false, "7"),
    ]

    private func randomPayment(_ random: inout some RandomNumberGenerator) throws -> Payment {
        let (currency, decimals) = [("EUR", 2), ("JPY", 0), ("TND", 3), ("UYW", 4)].randomElement(using: &random)!
        let whole = Int.random(in: 1...99_999_999, using: &random)
        let places = Int.random(in: 0...decimals, using: &random)
        let fraction = (0..<places).map { _ in "\(Int.random(in: 0...9, using: &random))" }.joined()
        let account = Self.accounts.randomElement(using: &random)!
        return try Payment(
            amount: places == 0 ? "\(whole)" : "\(whole).\(fraction)", currency: currency,
            payee: Self.names.randomElement(using: &random)!,
            account: account.iban ? PaymentAccount(iban: account.number) : PaymentAccount(other: account.number),
            reference: Bool.random(using: &random) ? Self.names.randomElement(using: &random) : nil,
            executionDate: Bool.random(using: &random)
                ? "20\(Int.random(in: 20...99, using: &random))-0\(Int.random(in: 1...9, using: &random))-17" : nil)
    }

    @Test("What is written is read as the same payment, byte for byte")
    func readsWhatItWrites() throws {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<1000 {
            let payment = try self.randomPayment(&random)
            let read = try #require(try Payment(recognizing: TransactionText(received: payment.text.bytes)))
            #expect(read == payment)
            #expect(read.text.bytes == payment.text.bytes)
            let lines = ["Payment"] + read.fields.map { "\($0.label): \($0.value)" }
            #expect(lines.joined(separator: "\n") == payment.text.text)
        }
    }

    @Test("Whatever character a name begins with, the table shows the very name")
    func showsWholeNames() throws {
        let account = try PaymentAccount(other: "7")
        var joined = 0
        for scalar in (0...0x10FFFF).lazy.compactMap(Unicode.Scalar.init) where !DisplayText.isForbidden(scalar) {
            // A hundred thousand that are alike and join nothing take most of the time.
            if scalar.properties.isIdeographic || (0xAC00...0xD7A3).contains(scalar.value) { continue }
            let name = "\(scalar)a"
            guard
                let payment = try? Payment(amount: "1", currency: "JPY", payee: name, account: account, reference: name)
            else { continue }
            let values = payment.fields.map { Array($0.value.unicodeScalars) }
            let expected = [payment.amount.text, payment.payee, "7", payment.payee].map { Array($0.unicodeScalars) }
            // Not an expectation each: there are tens of thousands.
            if values != expected { Issue.record("U+\(String(scalar.value, radix: 16)): \(payment.fields)") }
            // Those that make one character of a label's space and themselves.
            if " \(scalar)".count == 1 {
                joined += 1
                #expect(try Payment(recognizing: TransactionText(received: payment.text.bytes)) == payment)
            }
        }
        #expect(joined > 5)
    }

    @Test("A text with any change is refused, or is another payment in its one spelling")
    func neverReadsTwoSpellings() throws {
        var random = SystemRandomNumberGenerator()
        let inserts = [" ", "\n", ":", "0", ".", "A", "\u{301}", "\u{A0}", "Date: 2026-01-01", "Payment\n", ""]
        var taken = 0
        for _ in 0..<4000 {
            let payment = try self.randomPayment(&random)
            var scalars = Array(payment.text.text.unicodeScalars)
            let index = Int.random(in: 0..<scalars.count, using: &random)
            let end = min(scalars.count, index + Int.random(in: 0...2, using: &random))
            scalars.replaceSubrange(index..<end, with: inserts.randomElement(using: &random)!.unicodeScalars)
            let bytes = Array(String(String.UnicodeScalarView(scalars)).utf8)
            guard let text = try? TransactionText(received: bytes) else { continue }
            guard let read = try? Payment(recognizing: text) else { continue }
            taken += 1
            #expect(read.text.bytes == bytes)
            #expect((read == payment) == (bytes == payment.text.bytes))
        }
        #expect(taken > 0)
    }

    @Test("Whatever bytes come, the answer is a payment of those bytes, plain text or a typed refusal")
    func answersAnything() {
        var random = SystemRandomNumberGenerator()
        let words = ["Payment", "\n", "Amount: ", "EUR 1.00", "To: ", "Jo", "IBAN: ", "Account: ", "7", "Date: ", " "]
        var judged = 0
        for _ in 0..<4000 {
            let text = (0..<Int.random(in: 1...12, using: &random)).map { _ in words.randomElement(using: &random)! }
            guard let text = try? TransactionText(received: Array(text.joined().utf8)) else { continue }
            do throws(PaymentError) {
                guard let payment = try Payment(recognizing: text) else { continue }
                #expect(payment.text == text)
            } catch {
                #expect(!error.description.contains("Jo"))
            }
            judged += 1
        }
        #expect(judged > 0)
    }
}
