import Records
import Testing
import _Primitives

@Suite("Shares of deliveries to clients")
struct DeliverySharesTests {
    private static let shares = DeliveryShares(
        share: 3, most: 4, underWay: [ExactText("busy"): 2, ExactText("full"): 3, ExactText("over"): 4])

    @Test("The client with the fewest deliveries under way comes first, and a client without a place has no turn")
    func turns() {
        let turns = Self.shares.turns(of: ["busy", "full", "idle", "over", "other"])
        #expect(turns.map(\.client) == ["idle", "other", "busy"])
        #expect(turns.map(\.places) == [3, 3, 1])
        #expect(Self.shares.turns(of: ["full"]).isEmpty)
    }

    @Test(
        "A turn takes as many deliveries as the client and the caller may have",
        arguments: [(0, 3), (1, 3), (2, 2), (3, 1), (4, nil), (5, nil)] as [(Int, Int?)])
    func limits(taken: Int, limit: Int?) throws {
        let turn = try #require(Self.shares.turns(of: ["idle"]).first)
        #expect(Self.shares.limit(of: turn, beside: taken) == limit)
    }

    @Test("A stored delivery has a known kind with an address")
    func kinds() throws {
        let addresses: [ClientDelivery.Kind: String] = [.logout: "https://client.example"]
        let found = try ClientDelivery.kind(kept: ClientDelivery.Kind.logout.rawValue, among: addresses)
        #expect(found == (.logout, "https://client.example"))
        for number in [ClientDelivery.Kind.answer.rawValue, 2] {
            #expect(throws: StoreError(.corrupt, "")) { try ClientDelivery.kind(kept: number, among: addresses) }
        }
    }

    @Test("The content of a stored delivery is read again")
    func contents() throws {
        let logout = ClientDelivery.Content.logout(session: "session", subject: "subject")
        #expect(try ClientDelivery.Content(.logout, matter: logout.matter, subject: "subject") == logout)
        #expect(throws: StoreError(.corrupt, "")) {
            try ClientDelivery.Content(.logout, matter: "session", subject: nil)
        }
        let answer = ClientDelivery.Content.answer(request: "request")
        for subject in [nil, "subject"] {
            #expect(try ClientDelivery.Content(.answer, matter: answer.matter, subject: subject) == answer)
        }
    }
}
