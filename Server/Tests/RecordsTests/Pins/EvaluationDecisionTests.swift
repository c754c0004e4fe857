import Records
import Testing
import _Primitives

@Suite("Evaluations of a PIN that count before they are made")
struct EvaluationDecisionTests {
    private static let now = Timestamp(seconds: 1_800_000_000)

    @Test(
        "An evaluation counts once for each question, up to the limit of a day",
        arguments: [
            (false, [], .count), (false, [4, 3, 2, 1], .count), (true, [4, 3, 2, 1], .again),
            (true, [5, 4, 3, 2, 1], .again), (true, [9, 8, 7, 6, 5, 4, 3, 2, 1], .again),
            (false, [5, 4, 3, 2, 1], .wait(.seconds(19 * 3600))),
            (false, [24, 4, 3, 2, 1], .wait(.seconds(1))),
        ] as [(Bool, [Int64], EvaluationDecision)])
    func decision(isCounted: Bool, hoursAgo: [Int64], decision: EvaluationDecision) {
        let counted = hoursAgo.map { Self.now - .seconds($0 * 3600) }
        #expect(EvaluationDecision(isCounted: isCounted, counted: counted, limit: 5, at: Self.now) == decision)
    }

    @Test(
        "After a lower limit the next evaluation waits until fewer than the limit are left of the day",
        arguments: [(5, 19), (4, 20), (3, 21), (1, 23), (0, 24)])
    func lowered(limit: Int, hours: Int64) {
        let counted = (1...5).reversed().map { Self.now - .seconds($0 * 3600) }
        #expect(
            EvaluationDecision(isCounted: false, counted: counted, limit: limit, at: Self.now)
                == .wait(.seconds(hours * 3600)))
    }
}
