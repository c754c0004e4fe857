import Records
import Testing
import _Primitives

@Suite("Evaluations of a PIN that count before they are made")
struct EvaluationDecisionTests {
    private static let now = Timestamp(seconds: 1_800_000_000)

    @Test(
        "An evaluation counts once for each question, up to the limit of a day",
        arguments: [
            (false, 0, nil, .count), (false, 4, 3600, .count), (true, 4, 3600, .again), (true, 5, 3600, .again),
            (true, 9, 3600, .again), (false, 5, 3600, .wait(.seconds(23 * 3600))),
            (false, 6, 3600, .wait(.seconds(23 * 3600))), (false, 5, 24 * 3600, .wait(.seconds(1))),
            (false, 5, nil, .wait(.seconds(24 * 3600))),
        ] as [(Bool, Int, Int64?, EvaluationDecision)])
    func decision(isCounted: Bool, count: Int, ageSeconds: Int64?, decision: EvaluationDecision) {
        let oldest = ageSeconds.map { Self.now - .seconds($0) }
        #expect(
            EvaluationDecision(isCounted: isCounted, count: count, oldest: oldest, limit: 5, at: Self.now)
                == decision)
    }
}
