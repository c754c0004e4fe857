import Ceremony
import Testing
import _Primitives

@Suite("Decision 9: the grammar of payments")
struct PaymentTests {
    static let iban = "DE89370400440532013000"
    static let lines = [
        "Payment", "Amount: EUR 120.00", "To: Jo Gardener", "IBAN: \(iban)", "Reference: Garden fence",
        "Date: 2026-12-01",
    ]

    private func recognize(_ text: String) throws -> Payment? {
        try Payment(recognizing: TransactionText(received: Array(text.utf8)))
    }

    private func payment(
        amount: String = "120", currency: String = "EUR", payee: String = "Jo Gardener", reference: String? = nil,
        executionDate: String? = nil
    ) throws -> Payment {
        try Payment(
            amount: amount, currency: currency, payee: payee, account: PaymentAccount(iban: Self.iban),
            reference: reference, executionDate: executionDate)
    }

    @Test("Fields are written one a line in a fixed order, whatever is missing")
    func writes() throws {
        let full = try self.payment(reference: "Garden fence", executionDate: "2026-12-01")
        #expect(full.text.text == Self.lines.joined(separator: "\n"))
        #expect(try self.payment().text.text == Self.lines.prefix(4).joined(separator: "\n"))
        let other = try Payment(
            amount: "5000", currency: "JPY", payee: "山田", account: PaymentAccount(other: "0001-234-567890"),
            executionDate: "2028-02-29")
        #expect(other.text.text == "Payment\nAmount: JPY 5000\nTo: 山田\nAccount: 0001-234-567890\nDate: 2028-02-29")
    }

    @Test("Values come into their one spelling: decimals, groups of an IBAN, NFC and spaces of a name")
    func normalizes() throws {
        let payment = try Payment(
            amount: "7.5", currency: "KWD", payee: "  Zoe\u{308}\u{A0} \u{3000}Gardener ",
            account: PaymentAccount(iban: "de89 3704 0044 0532 0130 00"))
        #expect(payment.amount.text == "KWD 7.500")
        #expect(payment.payee.unicodeScalars.elementsEqual("Zo\u{EB} Gardener".unicodeScalars))
        #expect(payment.account.number == Self.iban)
    }

    @Test("The fields of a text are its lines, whatever stands in a value")
    func showsFields() throws {
        let payment = try #require(try self.recognize(Self.lines.joined(separator: "\n")))
        #expect(payment.fields.map(\.label) == ["Amount", "To", "IBAN", "Reference", "Date"])
        #expect(payment.fields.map(\.value) == Self.lines.dropFirst().map { String($0.split(separator: ": ")[1]) })
        let sly = try self.payment(payee: "Amount: EUR 1.00", reference: "To: Eve")
        #expect(sly.fields[1].value == "Amount: EUR 1.00" && sly.fields[3].value == "To: Eve")
        #expect(try Payment(recognizing: sly.text)?.amount.text == "EUR 120.00")
        #expect("\(sly)" == "Payment(\(sly.text))" && !"\(sly)".contains("EUR"))
    }

    // MARK: - Which texts are payments

    @Test(
        "A text that does not say that it is a payment is plain text",
        arguments: [
            "Transfer EUR 120.00\nTo: Jo", "Payment to Jo", "Payments", "Amount: EUR 1.00\nTo: Jo", "Pay\nment",
            "支払い", "Agree?\nPayment", "Repayment",
        ])
    func leavesPlainText(text: String) throws {
        #expect(try self.recognize(text) == nil)
    }

    @Test(
        "A text that says it is a payment and is none is refused, however it says so",
        arguments: [
            "Payment", "payment\nAmount: EUR 1.00", "PAYMENT:\nfree words", " Payment\nx", "\n \nPayment\nx",
            "Payment 2\nx", "** Payment **", "P-a-y-m-e-n-t", "Ｐａｙｍｅｎｔ\nx", "𝐏𝐚𝐲𝐦𝐞𝐧𝐭\nx",
        ])
    func refusesImitations(text: String) {
        #expect(throws: PaymentError.self) { try self.recognize(text) }
    }

    static let refusals: [(text: String, code: PaymentError.Code)] = {
        func without(_ index: Int) -> String { Self.with(index, []) }
        return [
            (without(1), .missingField), (without(2), .missingField), (without(3), .missingField),
            (with(0, ["Payment "]), .unknownLine), (with(0, ["Payment", ""]), .missingField),
            (with(5, ["Date: 2026-12-01", ""]), .unknownLine), (with(5, ["Fee: EUR 9.00"]), .unknownLine),
            (with(4, ["Date: 2026-12-01", "Reference: x"]), .unknownLine),
            (with(4, ["Reference: a", "Reference: b"]), .unknownLine),
            (with(1, ["Amount: EUR 1.00", "Amount: EUR 9.00"]), .missingField),
            (with(3, ["IBAN: \(iban)", "Account: 12"]), .unknownLine),
            (with(1, ["Amount:EUR 120.00"]), .missingField), (with(1, ["amount: EUR 120.00"]), .missingField),
            (with(2, ["To:  Jo"]), .notNormal), (with(2, ["To: Jo "]), .notNormal),
            (with(2, ["To: Jo  Gardener"]), .notNormal), (with(2, ["To: Jo\u{A0}Gardener"]), .notNormal),
            (with(2, ["To: "]), .payee), (with(2, ["To: \u{301}x"]), .payee), (with(2, ["To: ..."]), .payee),
            (with(1, ["Amount: EUR 120"]), .notNormal), (with(1, ["Amount: EUR 120.0"]), .notNormal),
            (with(1, ["Amount: 120.00"]), .amount), (with(1, ["Amount: EUR  120.00"]), .amount),
            (with(1, ["Amount: EUR 1,200.00"]), .amount), (with(1, ["Amount: eur 120.00"]), .currency),
            (with(3, ["IBAN: DE89 3704 0044 0532 0130 00"]), .notNormal),
            (with(3, ["IBAN: \(iban.lowercased())"]), .notNormal),
            (with(3, ["IBAN: DE88370400440532013000"]), .iban), (with(3, ["Account: \(iban)"]), .account),
            (with(5, ["Date: 2026-13-01"]), .executionDate), (with(5, ["Date: 2026-12-1"]), .executionDate),
        ]
    }()

    private static func with(_ index: Int, _ lines: [String]) -> String {
        (Self.lines[..<index] + lines + Self.lines[(index + 1)...]).joined(separator: "\n")
    }

    @Test("A payment in any other spelling than its one is refused", arguments: refusals)
    func refusesOtherSpellings(text: String, code: PaymentError.Code) {
        #expect(throws: PaymentError(code)) { try self.recognize(text) }
    }

    // MARK: - Fields

    @Test(
        "An amount has the decimals of its currency (ISO 4217)",
        arguments: [
            ("120", "EUR", "120.00"), ("0.01", "EUR", "0.01"), ("0.5", "USD", "0.50"), ("120", "JPY", "120"),
            ("1", "BHD", "1.000"), ("1.2345", "CLF", "1.2345"), ("99999999999999.99", "CHF", "99999999999999.99"),
        ])
    func takesAmounts(value: String, currency: String, written: String) throws {
        #expect(try PaymentAmount(value, currency: currency).text == "\(currency) \(written)")
    }

    @Test(
        "What is no amount of that currency is refused",
        arguments: [
            ("", "EUR"), ("0", "EUR"), ("0.00", "EUR"), ("-5", "EUR"), ("+5", "EUR"), ("1.001", "EUR"), ("1.0", "JPY"),
            ("1.", "EUR"), (".5", "EUR"), ("1.2.3", "EUR"), ("1e3", "EUR"), ("1,5", "EUR"), (" 1", "EUR"), ("٣", "EUR"),
            ("007", "EUR"), ("00.10", "EUR"), ("100000000000000", "EUR"), ("1\n2", "EUR"), ("0x10", "EUR"),
        ])
    func refusesAmounts(value: String, currency: String) {
        #expect(throws: PaymentError(.amount)) { try PaymentAmount(value, currency: currency) }
    }

    @Test("Letters that are no currency are refused", arguments: ["", "eur", "EURO", "XTS", "XAU", "ЕUR", "€"])
    func refusesCurrencies(currency: String) {
        #expect(throws: PaymentError(.currency)) { try PaymentAmount("1", currency: currency) }
    }

    @Test(
        "IBANs of several countries are taken (ISO 13616)",
        arguments: [
            "GB29NWBK60161331926819", "FR1420041010050500013M02606", "NO9386011117947",
            "MT84MALT011000012345MTLCAST001S", "CH9300762011623852957", "NL91ABNA0417164300",
        ])
    func takesIBANs(iban: String) throws {
        let account = try PaymentAccount(iban: iban)
        #expect(account.number == iban && account.isIBAN)
    }

    @Test("One wrong digit or two that have changed places are noticed, anywhere in an IBAN (ISO 7064)")
    func noticesSlips() {
        let digits = Array(Self.iban)
        for index in digits.indices.dropFirst(2) {
            for digit in "0123456789" where digit != digits[index] {
                var changed = digits
                changed[index] = digit
                #expect(throws: PaymentError(.iban)) { try PaymentAccount(iban: String(changed)) }
            }
            guard index + 1 < digits.count, digits[index] != digits[index + 1] else { continue }
            var swapped = digits
            swapped.swapAt(index, index + 1)
            #expect(throws: PaymentError(.iban)) { try PaymentAccount(iban: String(swapped)) }
        }
    }

    @Test(
        "What is no IBAN is refused",
        arguments: [
            "", "DE", "DE89", "8937040044053201300000", "DE89370400440532013000\u{301}", "DE89-3704-0044-0532-0130-00",
            "D389370400440532013000", "DEXX370400440532013000", "ÄE89370400440532013000",
            // Right by the remainder, but 98 - 97 and 01 + 97 are the same check digits.
            "GB00000000000000000", "AA00" + String(repeating: "0", count: 40),
        ])
    func refusesIBANs(iban: String) {
        #expect(throws: PaymentError(.iban)) { try PaymentAccount(iban: iban) }
    }

    @Test("Account numbers of other kinds are taken", arguments: ["1", "12-34-56 12345678", "jo@bank", "a.b_c/9"])
    func takesAccounts(number: String) throws {
        let account = try PaymentAccount(other: number)
        #expect(account.number == number && !account.isIBAN)
    }

    @Test(
        "An account number with other characters, at the wrong place or too many, and an IBAN in disguise are refused",
        arguments: [
            "", " 1", "1 ", "1  2", "-1", "1--2", "1\n2", "№1", "1\u{200B}2", "٣", "DE89 3704 0044 0532 0130 00",
            "de89-3704-0044-0532-0130-00", String(repeating: "1", count: 35),
        ])
    func refusesAccounts(number: String) {
        #expect(throws: PaymentError(.account)) { try PaymentAccount(other: number) }
    }

    @Test(
        "A name that holds another line, hides, reorders or shows nothing is refused",
        arguments: [
            "", " ", "A\nIBAN: XX", "A\r", "A\tB", "A\u{202E}B", "\u{200B}", "A\u{200D}B", "A\u{2028}B", "A\u{E000}",
            "\u{301}A", "\u{20DD}A", "---", "\u{2800}", String(repeating: "x", count: 71),
        ])
    func refusesNames(name: String) {
        #expect(throws: PaymentError(.payee)) { try self.payment(payee: name) }
        #expect(throws: PaymentError(.reference)) { try self.payment(reference: name) }
    }

    @Test(
        "What is no day is refused",
        arguments: [
            "", "2026-02-29", "2100-02-29", "2026-04-31", "2026-00-10", "2026-01-00", "2026-1-1", "20260101",
            "2026-01-01Z", "1999-12-31", "3000-01-01", "２０２６-01-01", "2026-01-01\n", "-026-01-01",
        ])
    func refusesDates(date: String) {
        #expect(throws: PaymentError(.executionDate)) { try self.payment(executionDate: date) }
    }

    @Test("The last days of months are known")
    func knowsTheCalendar() throws {
        for day in ["2000-02-29", "2028-02-29", "2026-02-28", "2026-04-30", "2026-12-31"] {
            #expect(try PaymentDate(day).text == day)
        }
    }

    @Test("All fields together keep to the 200 characters of a text (FIDO UAF Protocol 1.1, dictionary Transaction)")
    func boundsTheLength() throws {
        let name = String(repeating: "x", count: 70)
        #expect(throws: PaymentError(.tooLong)) { try self.payment(payee: name, reference: name) }
        let room = try 200 - self.payment(payee: name, reference: "x").text.text.count + 1
        #expect(try self.payment(payee: name, reference: String(name.prefix(room))).text.text.count == 200)
    }
}
