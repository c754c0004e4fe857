import Foundation
import Testing

@testable import BankCommand

@Suite("The bank's sessions: strangers crowd out strangers only")
struct SessionTableTests {
    private static let start = Date(timeIntervalSince1970: 1_800_000_000)

    private static func moment(_ seconds: Int) -> Date { self.start.addingTimeInterval(TimeInterval(seconds)) }

    private static func person(_ subject: String) -> OpenIDClient.Person {
        OpenIDClient.Person(subject: subject, name: subject, idToken: "t")
    }

    @Test("Visitors without a cookie, however many, leave customers signed in; of visitors the oldest gives way")
    func visitors() async {
        let table = SessionTable(maximumVisitors: 3)
        let customer = await table.signIn(
            Self.person("ada"), replacing: await table.session(nil, now: Self.start).id, now: Self.start)
        var visitors: [SessionTable.Session] = []
        for second in 1...4 { visitors.append(await table.session(nil, now: Self.moment(second))) }
        let known = await table.session(customer.id, now: Self.moment(5))
        #expect(known.id == customer.id && known.person?.subject == "ada")
        for (index, visitor) in visitors.enumerated().reversed() {
            let isKept = await table.session(visitor.id, now: Self.moment(5)).id == visitor.id
            #expect(isKept == (index > 0), "\(index)")
        }
    }

    @Test("A customer's browsers past the bound cost the customer's own oldest one, and nobody else's")
    func browsers() async {
        let table = SessionTable(maximumPerCustomer: 2)
        let other = await table.signIn(Self.person("bob"), replacing: "none", now: Self.start)
        var own: [String] = []
        for second in 1...3 {
            own.append(await table.signIn(Self.person("ada"), replacing: "none", now: Self.moment(second)).id)
        }
        #expect(await table.session(other.id, now: Self.moment(4)).person?.subject == "bob")
        #expect(await table.session(own[0], now: Self.moment(4)).person == nil)
        for id in own.dropFirst() {
            #expect(await table.session(id, now: Self.moment(4)).person?.subject == "ada")
        }
    }

    @Test("A session ends half an hour after it was seen last, by its customer, or with a new sign-in")
    func ends() async {
        let table = SessionTable()
        let first = await table.signIn(Self.person("ada"), replacing: "none", now: Self.start)
        #expect(await table.session(first.id, now: Self.moment(1799)).id == first.id)
        #expect(await table.session(first.id, now: Self.moment(3598)).id == first.id)
        let late = await table.session(first.id, now: Self.moment(5398))
        #expect(late.id != first.id && late.person == nil)
        let second = await table.signIn(Self.person("ada"), replacing: late.id, now: Self.moment(5400))
        #expect(await table.session(late.id, now: Self.moment(5400)).id != late.id)
        await table.end(second.id)
        #expect(await table.session(second.id, now: Self.moment(5400)).person == nil)
    }
}
