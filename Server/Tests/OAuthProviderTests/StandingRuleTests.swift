import OAuthProvider
import Testing

@Suite("The rule of a person's right to tokens (decision 102)")
struct StandingRuleTests {
    private static let terms = Terms(version: "2027-01", address: "https://id.example/terms")

    /// Changes of facts that refuse nothing, each with the refusal that comes of it, in the rule's order.
    private static let reasons: [(change: @Sendable (inout StandingFacts) -> Void, refusal: StandingRefusal)] = [
        ({ $0.isAgreed = false }, .notAgreed), ({ $0.key = .missing }, .key(.missing)),
        ({ $0.isLocked = true }, .locked), ({ $0.isTaken = false }, .notTaken),
        ({ $0.missingTerms = Self.terms }, .terms(Self.terms)),
    ]

    @Test("facts without a reason refuse nothing, and each reason refuses by itself")
    func eachReason() {
        #expect(StandingFacts().refusal == nil)
        for (change, refusal) in Self.reasons {
            var facts = StandingFacts()
            change(&facts)
            #expect(facts.refusal == refusal)
        }
        var facts = StandingFacts()
        facts.key = .other
        #expect(facts.refusal == .key(.other))
    }

    @Test("of two reasons the first one is told: consent and key before anything about the account")
    func order() {
        for (index, first) in Self.reasons.enumerated() {
            for second in Self.reasons[index...] {
                var facts = StandingFacts()
                first.change(&facts)
                second.change(&facts)
                #expect(facts.refusal == first.refusal)
            }
        }
    }

    @Test(
        "a key is right if the grant has none, or the same",
        arguments: [
            (nil, nil, .right), (nil, "a", .right), ("a", "a", .right), ("a", nil, .missing), ("a", "b", .other),
            ("a", "A", .other),
        ] as [(String?, String?, ShownKey)])
    func keys(grant: String?, shown: String?, expected: ShownKey) {
        #expect(ShownKey(of: grant, shown: shown) == expected)
    }
}
