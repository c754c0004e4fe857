import _Primitives

/// An authenticator to match with a policy, with its keys for the application.
public struct PolicyCandidate: Hashable, Sendable {
    /// The authenticator's properties. On a server, the properties come from the metadata, never from a client's claim.
    public var info: AuthenticatorInfo
    /// The keys that the authenticator holds; on a server, the key that made an assertion.
    public var keyIDs: Set<KeyID>

    /// Creates a candidate.
    public init(info: AuthenticatorInfo, keyIDs: Set<KeyID> = []) {
        self.info = info
        self.keyIDs = keyIDs
    }
}

/// Matches authenticators with a policy (§2.2).
public struct PolicyMatcher: Sendable {
    /// The policy.
    public let policy: Policy

    /// Creates a matcher for the policy.
    public init(_ policy: Policy) { self.policy = policy }

    /// A way to meet the policy.
    public struct Selection: Hashable, Sendable {
        /// The index of the alternative in `accepted`, from 0.
        public let alternative: Int
        /// For each criterion of the alternative, the index of the candidate that meets it. No candidate occurs twice.
        public let candidates: [Int]
    }

    /// Returns `true` if a candidate may take part: the candidate matches no disallowed criterion.
    ///
    /// A disallowed criterion with an extension that must be understood matches every candidate. The extension's
    /// meaning is unknown here, and an unreadable part must not lift a ban.
    public func allows(_ candidate: PolicyCandidate) -> Bool {
        !self.policy.disallowed.contains { $0.hasExtensionToUnderstand || $0.matches(candidate) }
    }

    /// Returns all ways to meet the policy, in the order of the alternatives, at most `limit`; empty if no way exists.
    ///
    /// Two ways with the same candidates for the same alternative, in another order, count as one. The search has
    /// bounds, so ways can be missing: it leaves out an alternative of more than eight criteria, and in an alternative
    /// every order uses up `limit`. Until `limit` is used up, the first way of an alternative is never missing.
    public func selections(among candidates: [PolicyCandidate], limit: Int = 64) -> [Selection] {
        self.selections(among: candidates, limit: limit) { fitting in
            Combinations(fitting: fitting, authenticators: Array(candidates.indices))
        }
    }

    /// Returns all ways as ``selections(among:limit:)``, where each candidate is a single key.
    ///
    /// Keys of one authenticator exclude each other, because each criterion requires another authenticator. A way
    /// counts only if `isUsable` accepts the indices of its candidates. Refused ways do not use up `limit`, so
    /// `isUsable` may only refuse ways of which few exist.
    package func selections(
        amongKeys candidates: [PolicyCandidate], limit: Int = 64, where isUsable: @escaping ([Int]) -> Bool
    ) -> [Selection] {
        let authenticators = candidates.map { candidate in
            candidates.firstIndex { $0.info.aaid == candidate.info.aaid } ?? 0
        }
        return self.selections(among: candidates, limit: limit) { fitting in
            Combinations(fitting: fitting, authenticators: authenticators, isUsable: isUsable)
        }
    }

    private func selections(
        among candidates: [PolicyCandidate], limit: Int, by search: ([[Int]]) -> Combinations
    ) -> [Selection] {
        let allowed = candidates.indices.filter { self.allows(candidates[$0]) }
        var selections: [Selection] = []
        var seen: Set<[Int]> = []
        for (index, criteria) in self.policy.accepted.enumerated() {
            // The policy can never be met with more criteria than authenticators. The check also bounds the search.
            guard !criteria.isEmpty, criteria.count <= allowed.count, criteria.count <= 8 else { continue }
            let fitting = criteria.map { criterion in allowed.filter { criterion.matches(candidates[$0]) } }
            for choice in search(fitting).first(limit - selections.count)
            where seen.insert([index] + choice.sorted()).inserted {
                selections.append(Selection(alternative: index, candidates: choice))
            }
            if selections.count >= limit { break }
        }
        return selections
    }

    /// Returns the first way to meet the policy that needs exactly these candidates, without a surplus; `nil` if no
    /// such way exists.
    ///
    /// The function is for a verifier: every authenticator of a response must be allowed and needed. `isMet` finally
    /// decides if a criterion is met by a matching candidate, given by its index. The search leaves out an alternative
    /// of more than eight criteria.
    public func selection(
        needing candidates: [PolicyCandidate], where isMet: (MatchCriteria, Int) -> Bool = { _, _ in true }
    ) -> Selection? {
        guard candidates.allSatisfy({ self.allows($0) }) else { return nil }
        func fits(_ index: Int, _ criterion: MatchCriteria) -> Bool {
            criterion.matches(candidates[index]) && isMet(criterion, index)
        }
        for (index, criteria) in self.policy.accepted.enumerated() where criteria.count == candidates.count {
            // Most responses have one assertion and need no search.
            if candidates.count == 1 {
                if fits(0, criteria[0]) { return Selection(alternative: index, candidates: [0]) }
                continue
            }
            guard (1...8).contains(criteria.count) else { continue }
            let fitting = criteria.map { criterion in candidates.indices.filter { fits($0, criterion) } }
            let search = Combinations(fitting: fitting, authenticators: Array(candidates.indices))
            if let choice = search.first(1).first {
                return Selection(alternative: index, candidates: choice)
            }
        }
        return nil
    }
}

/// The ways to choose a candidate of a different authenticator for each criterion.
private struct Combinations {
    /// For each criterion, the candidates that meet it.
    let fitting: [[Int]]
    /// For each candidate, the number of its authenticator.
    let authenticators: [Int]
    /// Returns `true` if a whole way counts.
    var isUsable: ([Int]) -> Bool = { _ in true }

    /// Returns the first ways by depth-first search, at most `limit`.
    ///
    /// The search follows a choice only if candidates remain for the other criteria. The time is therefore polynomial
    /// for each way, and a policy without a way costs little, whoever wrote the policy.
    func first(_ limit: Int) -> [[Int]] {
        var ways: [[Int]] = []
        func extend(_ chosen: [Int]) {
            guard chosen.count < self.fitting.count else {
                if self.isUsable(chosen) { ways.append(chosen) }
                return
            }
            let taken = chosen.map { self.authenticators[$0] }
            for candidate in self.fitting[chosen.count] where !taken.contains(self.authenticators[candidate]) {
                guard ways.count < limit else { return }
                if self.canEnd(chosen + [candidate]) { extend(chosen + [candidate]) }
            }
        }
        if self.canEnd([]) { extend([]) }
        return ways
    }

    /// Returns `true` if different authenticators remain for the criteria without a choice: a maximum matching in a
    /// bipartite graph, by augmenting paths.
    private func canEnd(_ chosen: [Int]) -> Bool {
        let taken = chosen.map { self.authenticators[$0] }
        var criterion: [Int: Int] = [:]
        func place(_ index: Int, _ tried: inout Set<Int>) -> Bool {
            for authenticator in self.fitting[index].map({ self.authenticators[$0] })
            where !taken.contains(authenticator) {
                guard tried.insert(authenticator).inserted else { continue }
                if let other = criterion[authenticator], !place(other, &tried) { continue }
                criterion[authenticator] = index
                return true
            }
            return false
        }
        return (chosen.count..<self.fitting.count).allSatisfy { index in
            var tried: Set<Int> = []
            return place(index, &tried)
        }
    }
}

extension MatchCriteria {
    /// Returns the attestation type for a new key of a matching authenticator: the first of `attestationTypes` that the
    /// authenticator has, or else the authenticator's own first type (§9.2 step 6).
    public func attestationType(of info: AuthenticatorInfo) -> AttestationType? {
        self.attestationTypes?.first { info.attestationTypes.contains($0) } ?? info.attestationTypes.first
    }

    /// `true` if an extension says that it must be understood. This product knows no extension.
    fileprivate var hasExtensionToUnderstand: Bool { self.extensions.contains(where: \.failIfUnknown) }

    /// Returns `true` if every present member matches (§2.2).
    ///
    /// A criterion with an extension that must be understood matches nothing, which is the safe answer for an accepting
    /// criterion. For disallowed criteria, see ``PolicyMatcher/allows(_:)``.
    public func matches(_ candidate: PolicyCandidate) -> Bool {
        let info = candidate.info
        func one<Value: Equatable>(_ accepted: [Value]?, _ value: Value) -> Bool { accepted?.contains(value) ?? true }
        func shared<Flags: OptionSet>(_ accepted: Flags?, _ value: Flags) -> Bool {
            accepted.map { !$0.isDisjoint(with: value) } ?? true
        }
        return one(self.aaid, info.aaid)
            && (self.vendorID?.contains { $0.asciiUppercased.hasSameBytes(as: info.aaid.vendorID) } ?? true)
            && (self.keyIDs?.contains { candidate.keyIDs.contains($0) } ?? true)
            && (self.userVerification?.matches(info.userVerification) ?? true)
            && shared(self.keyProtection, info.keyProtection)
            && shared(self.matcherProtection, info.matcherProtection)
            && shared(self.attachmentHint, info.attachmentHint)
            && shared(self.tcDisplay, info.tcDisplay)
            && one(self.authenticationAlgorithms, info.authenticationAlgorithm)
            && one(self.assertionSchemes, info.assertionScheme)
            && (self.attestationTypes?.contains { info.attestationTypes.contains($0) } ?? true)
            && (self.authenticatorVersion.flatMap { low in info.authenticatorVersion.map { low <= $0 } } ?? true)
            && !self.hasExtensionToUnderstand
    }
}
