import Foundation
import HTTPTypes
import Synchronization
import Testing

@testable import BankCommand

@Suite("The bank's transfers: what was confirmed must be its own text (docs/decisions/0005 and 0009)")
struct TransferRoutesTests {
    @Test("A transfer's fields are dispatched for its customer, and the page shows the code")
    func dispatches() async throws {
        try await BankFixture.run { bank in
            try await bank.signIn()
            let begun = try await bank.transfer()
            #expect(begun.status == 303)
            #expect(
                bank.provider.state.withLock(\.dispatched) == [
                    "subject": "s-1", "amount": "1234.50", "currency": "EUR", "payee": "Jo Gardener",
                    "iban": "DE89370400440532013000", "reference": "Fence",
                ])
            let page = try await bank.get(try #require(begun.location))
            #expect(page.text.contains("data-testid=\"transfer-qr\""))
            #expect(page.text.contains("data-state=\"waiting\"") && page.text.contains("EUR 1,234.50"))
            bank.provider.state.withLock { $0.status = ["status": "clientAuthenticating"] }
            #expect(try await bank.get(begun.location ?? "").text.contains("data-state=\"on-phone\""))
            #expect(bank.provider.state.withLock(\.authorizations).count == 1, "every call proves the client")
        }
    }

    @Test("The accounts' page has its IBAN in groups of four, and days as people write them, with the machine's beside")
    func accountsForPeople() async throws {
        try await BankFixture.run { bank in
            try await bank.signIn()
            let page = try await bank.get("/accounts").text
            let iban = try #require(page.firstMatch(of: /class="muted number">([^<]+)</)).1
            let groups = iban.split(separator: " ", omittingEmptySubsequences: false)
            #expect(groups.dropLast().allSatisfy { $0.count == 4 } && (1...4).contains(groups.last?.count ?? 0))
            #expect(groups.joined() == "DE12500105170648489890")
            let days = page.matches(of: /<td class="date"><time datetime="(\d{4})-(\d\d)-(\d\d)">([^<]+)<\/time><\/td>/)
            let rows = page.matches(of: /<tr><td/).count
            #expect(rows == 7 && days.count == rows, "every movement has its day")
            let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sept", "Oct", "Nov", "Dec"]
            for day in days {
                let month = months[try #require(Int(day.2)) - 1]
                #expect(day.4 == "\(try #require(Int(day.3))) \(month) \(day.1)")
            }
            // What is typed may be in groups or not; the receipt groups it as the accounts do.
            let begun = try await bank.transfer(["iban": "de89370400440532013000"])
            let shown = try await bank.get(try #require(begun.location)).text
            #expect(shown.contains("DE89 3704 0044 0532 0130 00"))
        }
    }

    @Test("One transfer more than may be open is refused with a page, and no phone is asked")
    func refusesTooMany() async throws {
        try await BankFixture.run { bank in
            try await bank.signIn()
            var paths: [String] = []
            for _ in 0..<5 { paths.append(try #require(try await bank.transfer().location)) }
            bank.provider.state.withLock { $0.dispatched = [:] }
            let refused = try await bank.transfer()
            #expect(refused.status == 429 && refused.location == nil)
            #expect(refused.text.contains("Too many transfers wait for your phone"))
            #expect(bank.provider.state.withLock(\.dispatched).isEmpty)
            bank.provider.state.withLock { $0.status = ["status": "failed"] }
            #expect(try await bank.get(paths[0]).text.contains("data-testid=\"refused\""))
            #expect(try await bank.transfer().status == 303)
        }
    }

    @Test("A transfer that does not get as far as the phone takes no place")
    func failedDispatchesTakeNoPlace() async throws {
        try await BankFixture.run { bank in
            try await bank.signIn()
            bank.provider.state.withLock { $0.dispatchResult = "userNotFound" }
            for _ in 0..<6 { #expect(try await bank.transfer().status == 400) }
            bank.provider.state.withLock { $0.dispatchResult = "dispatched" }
            #expect(try await bank.transfer().status == 303)
        }
    }

    @Test("A confirmed transfer gives a receipt and moves the money once")
    func books() async throws {
        try await BankFixture.run { bank in
            try await bank.signIn()
            #expect(try await bank.balance() == "5,792.45")
            let path = try #require(try await bank.transfer().location)
            bank.provider.state.withLock { $0.status = ["status": "succeeded"] }
            for _ in 0..<2 {
                let page = try await bank.get(path)
                #expect(page.text.contains("data-testid=\"receipt\"") && page.text.contains("EUR 1,234.50"))
                #expect(page.text.contains(">DE89 3704 0044 0532 0130 00</dd>"))
                let booked = /Booked on <time datetime="[0-9TZ:-]+">\d{1,2} [A-Z][a-z]+ 20\d\d, \d\d:\d\d UTC<\/time>/
                #expect(page.text.contains(booked))
            }
            #expect(try await bank.balance() == "4,557.95")
            // What the provider says later changes nothing.
            bank.provider.state.withLock { $0.status = ["status": "failed"] }
            #expect(try await bank.get(path).text.contains("data-testid=\"receipt\""))
        }
    }

    @Test("A confirmed transfer is booked though nobody looks at its page, and though the provider fails at times")
    func booksWithoutPage() async throws {
        try await BankFixture.run { bank in
            try await bank.signIn()
            let path = try #require(try await bank.transfer().location)
            bank.provider.state.withLock { state in
                state.status = ["status": "succeeded"]
                state.failingStatusCalls = 2
            }
            try await bank.follow()
            // The browser comes back when the provider has long forgotten.
            bank.provider.state.withLock { $0.status = ["status": "unknown"] }
            #expect(try await bank.balance() == "4,557.95")
            #expect(try await bank.get(path).text.contains("data-testid=\"receipt\""))
        }
    }

    @Test(
        "A question whose connection breaks is asked once more, and not without end",
        arguments: [(1, true), (2, false)])
    func brokenConnection(times: Int, isAnswered: Bool) async throws {
        try await BankFixture.run { bank in
            try await bank.signIn()
            let path = try #require(try await bank.transfer().location)
            bank.provider.state.withLock { state in
                state.status = ["status": "succeeded"]
                state.brokenStatusCalls = times
            }
            let page = try await bank.get(path)
            #expect(page.status == (isAnswered ? 200 : 502))
            #expect(page.text.contains("data-testid=\"receipt\"") == isAnswered)
        }
    }

    @Test("Pages that ask at once get one answer of the provider, and the money moves once")
    func asksOnce() async throws {
        try await BankFixture.run { bank in
            try await bank.signIn()
            let path = try #require(try await bank.transfer().location)
            bank.provider.state.withLock { $0.status = ["status": "succeeded"] }
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<8 {
                    group.addTask { try await bank.get(path).text.contains("data-testid=\"receipt\"") }
                }
                for try await isReceipt in group { #expect(isReceipt) }
            }
            #expect(bank.provider.state.withLock(\.statusCalls) == 1)
            #expect(try await bank.balance() == "4,557.95")
        }
    }

    static let results: [(name: String, value: String?)] = [
        ("transaction_hash", Base64.sha256URL("Payment\nAmount: EUR 9234.50")), ("transaction_hash", nil),
        ("transaction_content_type", "image/png"), ("sub", "s-2"), ("session_id", "another"), ("aud", "shop"),
        ("iss", "https://other.example"), ("exp", "1"), ("exp", nil),
    ]

    private func expectRefusal(_ bank: BankFixture, _ path: String, reason: String) async throws {
        let before = try await bank.balance()
        let page = try await bank.get(path)
        #expect(page.text.contains("data-testid=\"refused\" data-reason=\"\(reason)\""))
        #expect(!page.text.contains("data-testid=\"receipt\""))
        #expect(try await bank.balance() == before)
    }

    @Test("A statement with a wrong or missing claim moves nothing, for good", arguments: results)
    func refusesStatements(name: String, value: String?) async throws {
        try await BankFixture.run { bank in
            try await bank.signIn()
            let path = try #require(try await bank.transfer().location)
            bank.provider.state.withLock { state in
                state.status = ["status": "succeeded"]
                state.result = [name: value]
            }
            try await self.expectRefusal(bank, path, reason: "unverified")
            bank.provider.state.withLock { $0.result = [:] }
            try await self.expectRefusal(bank, path, reason: "unverified")
        }
    }

    @Test("A token of another kind, or of another key, is no statement", arguments: ["JWT", "at+jwt", "foreign key"])
    func refusesOtherTokens(kind: String) async throws {
        try await BankFixture.run { bank in
            try await bank.signIn()
            let path = try #require(try await bank.transfer().location)
            bank.provider.state.withLock { state in
                state.status = ["status": "succeeded"]
                if kind == "foreign key" { state.signsWithForeignKey = true } else { state.resultType = kind }
            }
            try await self.expectRefusal(bank, path, reason: "unverified")
        }
    }

    @Test("An amount that somebody changed between dispatch and answer is refused")
    func refusesChangedAmounts() async throws {
        try await BankFixture.run { bank in
            try await bank.signIn()
            let path = try #require(try await bank.transfer().location)
            // The phone was shown and has signed another amount; the provider says so truthfully.
            bank.provider.state.withLock { state in
                state.dispatched["amount"] = "9234.50"
                state.status = ["status": "succeeded"]
            }
            try await self.expectRefusal(bank, path, reason: "unverified")
        }
    }

    static let ends: [(status: [String: String], clientErrorCode: Int?, reason: String)] = [
        (["status": "failed", "tokenResult": "tokenTimedOut"], nil, "expired"),
        (["status": "failed", "tokenResult": "tokenRedeemed"], 3, "denied"), (["status": "failed"], 16, "failed"),
        (["status": "unknown"], nil, "failed"),
    ]

    @Test("An end without a confirmation says why, and moves nothing", arguments: ends)
    func tellsEnds(status: [String: String], clientErrorCode: Int?, reason: String) async throws {
        try await BankFixture.run { bank in
            try await bank.signIn()
            let path = try #require(try await bank.transfer().location)
            bank.provider.state.withLock { state in
                state.status = status
                state.clientErrorCode = clientErrorCode
            }
            try await self.expectRefusal(bank, path, reason: reason)
        }
    }

    @Test(
        "A provider that would show another text is not used",
        arguments: [
            "Payment\nAmount: EUR 9234.50\nTo: Jo Gardener\nIBAN: DE89370400440532013000\nReference: Fence", "",
        ])
    func refusesOtherTexts(text: String) async throws {
        try await BankFixture.run { bank in
            try await bank.signIn()
            bank.provider.state.withLock { $0.shownText = text }
            let answer = try await bank.transfer()
            #expect(answer.status == 400 && answer.location == nil)
            #expect(!answer.text.contains("data-testid=\"transfer-qr\""))
        }
    }

    @Test(
        "A dispatch that the provider refuses is told, and nothing is shown", arguments: ["userNotFound", "400", "503"])
    func tellsRefusedDispatches(cause: String) async throws {
        try await BankFixture.run { bank in
            try await bank.signIn()
            bank.provider.state.withLock { state in
                if let status = Int(cause) { state.dispatchStatus = status } else { state.dispatchResult = cause }
            }
            let answer = try await bank.transfer()
            #expect(answer.status == 400 && answer.text.contains("The transfer was not sent"))
        }
    }

    @Test("A form with a mistake comes back with what was typed, escaped, and nothing is sent")
    func tellsMistakes() async throws {
        try await BankFixture.run { bank in
            try await bank.signIn()
            let answer = try await bank.transfer(["iban": "DE88370400440532013000", "payee": "<b>Jo"])
            #expect(answer.status == 422 && answer.text.contains("This is not an IBAN"))
            #expect(answer.text.contains("value=\"&lt;b&gt;Jo\"") && answer.text.contains("aria-invalid"))
            #expect(bank.provider.state.withLock(\.dispatched).isEmpty)
        }
    }

    @Test("What was typed stays within its attribute, whatever joins itself to a character", arguments: Array("&<>\"'"))
    func typedTextStaysInItsAttribute(character: Character) async throws {
        try await BankFixture.run { bank in
            try await bank.signIn()
            let answer = try await bank.transfer([
                "iban": "DE88370400440532013000", "payee": "Jo\(character)\u{301} id=a",
            ])
            let page = Array(answer.text.utf8)
            #expect(answer.status == 422 && page.contains(Array(";\u{301} id=a\"".utf8)))
            #expect(!page.contains(Array("\(character)\u{301}".utf8)))
        }
    }

    @Test("More than there is in the account is refused after the confirmation too")
    func refusesTooMuch() async throws {
        try await BankFixture.run { bank in
            try await bank.signIn()
            let path = try #require(try await bank.transfer(["amount": "5792.46"]).location)
            bank.provider.state.withLock { $0.status = ["status": "succeeded"] }
            try await self.expectRefusal(bank, path, reason: "notEnoughMoney")
        }
    }

    @Test("Nobody sees a transfer without being its customer", arguments: ["", "/events"])
    func hidesTransfers(suffix: String) async throws {
        try await BankFixture.run { bank in
            try await bank.signIn()
            let path = try #require(try await bank.transfer().location)
            let stranger = bank.otherBrowser()
            let refused = try await stranger.get(path + suffix)
            #expect(refused.status == (suffix.isEmpty ? 303 : 404) && !refused.text.contains("Jo Gardener"))
            bank.provider.state.withLock { state in
                state.idToken = ["sub": "s-2"]
                state.userinfo = ["sub": "s-2"]
            }
            try await stranger.signIn()
            let hidden = try await stranger.get(path + suffix)
            #expect(hidden.status == 404 && !hidden.text.contains("Jo Gardener"))
            #expect(try await stranger.get("/transfers/none" + suffix).status == 404)
        }
    }

    @Test("The page's events are words for states, until the end")
    func passesEventsOn() async throws {
        try await BankFixture.run { bank in
            try await bank.signIn()
            let path = try #require(try await bank.transfer().location)
            bank.provider.state.withLock { $0.status = ["status": "succeeded"] }
            let page = try await bank.get(path + "/events")
            #expect(page.headers[.contentType] == "text/event-stream")
            let states = page.text.matches(of: /"state":"([a-z-]+)"/).map { String($0.1) }
            #expect(states == ["waiting", "on-phone", "done"])
            #expect(!page.text.contains("eyJ"), "no token leaves the back end")
        }
    }

    @Test("The number on a page about what went wrong finds the line in the log that says why")
    func explainsRefusals() async throws {
        let log = BankLog()
        try await BankFixture.run(log: log) { bank in
            try await bank.signIn()
            bank.provider.state.withLock { $0.dispatchResult = "userNotFound" }
            #expect(try log.reason(for: try await bank.transfer()).contains("userNotFound"))
            #expect(try log.reason(for: try await bank.get("/transfers/none")).contains("not yours"))
            let forged = try await bank.post("/sign-out", [("form_token", "another")])
            #expect(forged.status == 403)
            #expect(try log.reason(for: forged).contains("load the page again"))
            bank.provider.state.withLock { $0.dispatchResult = "dispatched" }
            let path = try #require(try await bank.transfer().location)
            bank.provider.state.withLock { state in
                state.status = ["status": "failed", "tokenResult": "tokenRedeemed"]
                state.clientErrorCode = 3
            }
            #expect(try log.reason(for: try await bank.get(path)) == "denied")
        }
    }

    @Test("The code is shown where it can be scanned, and the link where a phone can follow it")
    func showsWhatCanBeUsed() async throws {
        try await BankFixture.run { bank in
            try await bank.signIn()
            let page = try await bank.get(try #require(try await bank.transfer().location)).text
            #expect(page.contains(/<figure class="scan" data-testid="transfer-qr">/))
            #expect(page.contains(/<a class="button quiet touch" [^>]*data-testid="transfer-link">/))
            let style = try await bank.get("/bank.css").text
            #expect(style.contains(".button.touch, .unscanned { display: none; }"))
            #expect(style.contains("@media (pointer: coarse) { .button.touch { display: inline-block; } }"))
            #expect(style.contains("@media (pointer: coarse) and (max-width: 40rem) { .scan { display: none; }"))
            #expect(try await bank.get("/signed-out").text.contains("<section class=\"card outcome\">"))
        }
    }
}
