import Testing
import UAF

/// The rules of §2.2 a second time, as simply as they can be said: every order of every choice is tried.
private enum SimpleMatcher {
    static func ways(_ criteria: [MatchCriteria], _ candidates: [PolicyCandidate]) -> Set<Set<Int>> {
        var found: Set<Set<Int>> = []
        func choose(_ rest: ArraySlice<MatchCriteria>, _ used: Set<Int>) {
            guard let first = rest.first else {
                found.insert(used)
                return
            }
            for index in candidates.indices where !used.contains(index) && first.matches(candidates[index]) {
                choose(rest.dropFirst(), used.union([index]))
            }
        }
        choose(criteria[...], [])
        return found
    }
}

@Suite("uaf-sections §2.2: policies against a second way of judging them")
struct PolicyPropertyTests {
    private static func key(_ number: UInt8) throws -> KeyID { try KeyID(bytes(32, number)) }

    /// A few models, some with the same AAID, each with one or two of four keys.
    private static func candidates(_ random: inout SeededGenerator) throws -> [PolicyCandidate] {
        try (0..<Int.random(in: 0...5, using: &random)).map { _ in
            let model = try #require(AuthenticatorModel.allCases.randomElement(using: &random))
            let keys = try (0..<Int.random(in: 0...2, using: &random)).map { _ in
                try self.key(UInt8.random(in: 1...4, using: &random))
            }
            return PolicyCandidate(info: model.info, keyIDs: Set(keys))
        }
    }

    private static func criteria(_ random: inout SeededGenerator) throws -> MatchCriteria {
        var criteria = MatchCriteria()
        switch Int.random(in: 0...3, using: &random) {
        case 0:
            criteria.aaid = [try #require(AuthenticatorModel.allCases.randomElement(using: &random)).aaid]
        case 1:
            criteria.aaid = AuthenticatorModel.allCases.shuffled(using: &random).prefix(2).map(\.aaid)
            criteria.keyIDs = [try self.key(UInt8.random(in: 1...4, using: &random))]
        case 2:
            criteria.userVerification = UserVerification(rawValue: UInt32.random(in: 1...0x7FF, using: &random))
        default:
            criteria.tcDisplay = .any
        }
        return criteria
    }

    private static func policy(_ random: inout SeededGenerator) throws -> Policy {
        var accepted: [[MatchCriteria]] = []
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            var alternative: [MatchCriteria] = []
            for _ in 0..<Int.random(in: 1...3, using: &random) { alternative.append(try self.criteria(&random)) }
            accepted.append(alternative)
        }
        var disallowed: [MatchCriteria] = []
        for _ in 0..<Int.random(in: 0...1, using: &random) { disallowed.append(try self.criteria(&random)) }
        return Policy(accepted: accepted, disallowed: disallowed)
    }

    @Test("Selections are exactly the ways that there are", arguments: 0..<100)
    func allWays(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let candidates = try Self.candidates(&random)
        let policy = try Self.policy(&random)
        let matcher = PolicyMatcher(policy)
        let selections = matcher.selections(among: candidates, limit: 10_000)
        for (alternative, criteria) in policy.accepted.enumerated() {
            let allowed = candidates.map { matcher.allows($0) }
            let expected = SimpleMatcher.ways(criteria, candidates).filter { $0.allSatisfy { allowed[$0] } }
            let found = selections.filter { $0.alternative == alternative }.map { Set($0.candidates) }
            #expect(Set(found) == expected)
            // No way twice.
            #expect(found.count == expected.count)
        }
    }

    @Test("Each candidate of a selection meets its criterion, and none takes part twice", arguments: 0..<100)
    func selectionsAreTrue(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let candidates = try Self.candidates(&random)
        let policy = try Self.policy(&random)
        for selection in PolicyMatcher(policy).selections(among: candidates) {
            let criteria = policy.accepted[selection.alternative]
            #expect(selection.candidates.count == criteria.count)
            #expect(Set(selection.candidates).count == criteria.count)
            for (criterion, index) in zip(criteria, selection.candidates) {
                #expect(criterion.matches(candidates[index]))
                #expect(!policy.disallowed.contains { $0.matches(candidates[index]) })
            }
        }
    }

    @Test("What is met exactly is met by all and by no fewer", arguments: 0..<100)
    func exactly(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let candidates = try Self.candidates(&random)
        let policy = try Self.policy(&random)
        let matcher = PolicyMatcher(policy)
        let expected = policy.accepted.firstIndex {
            $0.count == candidates.count && !SimpleMatcher.ways($0, candidates).isEmpty
        }
        let isAllowed = candidates.allSatisfy { matcher.allows($0) }
        #expect(matcher.selection(needing: candidates)?.alternative == (isAllowed ? expected : nil))
    }

    @Test("The order of the authenticators does not decide whether a policy is met", arguments: 0..<50)
    func order(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let candidates = try Self.candidates(&random)
        let matcher = PolicyMatcher(try Self.policy(&random))
        let alternatives = Set(matcher.selections(among: candidates, limit: 1000).map(\.alternative))
        let shuffled = matcher.selections(among: candidates.shuffled(using: &random), limit: 1000)
        #expect(Set(shuffled.map(\.alternative)) == alternatives)
    }
}
