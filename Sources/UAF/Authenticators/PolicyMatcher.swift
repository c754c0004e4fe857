import _Primitives

/// An authenticator that a policy is held against, with the keys that it holds for the application.
public struct PolicyCandidate: Hashable, Sendable {
    /// What the authenticator is like. On a server: by its metadata, never by what a client claims.
    public var info: AuthenticatorInfo
    /// The keys that it holds; on a server, the one that made an assertion.
    public var keyIDs: Set<KeyID>

    /// Makes a candidate.
    public init(info: AuthenticatorInfo, keyIDs: Set<KeyID> = []) {
        self.info = info
        self.keyIDs = keyIDs
    }
}

/// Holds authenticators against a policy (§2.2).
public struct PolicyMatcher: Sendable {
    /// The policy.
    public let policy: Policy

    /// Matches by `policy`.
    public init(_ policy: Policy) { self.policy = policy }

    /// One way to meet the policy.
    public struct Selection: Hashable, Sendable {
        /// Which alternative of `accepted`, from 0.
        public let alternative: Int
        /// For each criterion of the alternative, the index of the candidate that meets it. No candidate occurs twice.
        public let candidates: [Int]
    }

    /// Whether a candidate may take part at all: it matches nothing that is disallowed.
    ///
    /// A disallowed criterion with an extension that must be understood matches everything: whom it means is not known
    /// here, and a ban must not be lifted by what makes it unreadable.
    public func allows(_ candidate: PolicyCandidate) -> Bool {
        !self.policy.disallowed.contains { $0.hasExtensionToUnderstand || $0.matches(candidate) }
    }

    /// All ways to meet the policy, alternatives in their order, at most `limit`; empty where it cannot be met.
    ///
    /// Two ways that use the same candidates for one alternative in another order are one.
    public func selections(among candidates: [PolicyCandidate], limit: Int = 64) -> [Selection] {
        let allowed = candidates.indices.filter { self.allows(candidates[$0]) }
        var selections: [Selection] = []
        var seen: Set<[Int]> = []
        for (index, criteria) in self.policy.accepted.enumerated() {
            // More criteria than authenticators can never be met; the check also bounds the search.
            guard !criteria.isEmpty, criteria.count <= allowed.count, criteria.count <= 8 else { continue }
            let fitting = criteria.map { criterion in allowed.filter { criterion.matches(candidates[$0]) } }
            var search = CombinationSearch(fitting: fitting, limit: limit - selections.count)
            for choice in search.run() where seen.insert([index] + choice.sorted()).inserted {
                selections.append(Selection(alternative: index, candidates: choice))
            }
            if selections.count >= limit { break }
        }
        return selections
    }

    /// The first way to meet the policy that needs exactly these candidates, none to spare; `nil` where there is none.
    ///
    /// For a verifier: every authenticator of a response must be allowed and needed. `isMet` has the last word on whether
    /// a criterion that matches a candidate, given by its index, is met.
    public func selection(
        needing candidates: [PolicyCandidate], where isMet: (MatchCriteria, Int) -> Bool = { _, _ in true }
    ) -> Selection? {
        guard candidates.allSatisfy({ self.allows($0) }) else { return nil }
        func fits(_ index: Int, _ criterion: MatchCriteria) -> Bool {
            criterion.matches(candidates[index]) && isMet(criterion, index)
        }
        for (index, criteria) in self.policy.accepted.enumerated() where criteria.count == candidates.count {
            // Most responses have one assertion: nothing is to be searched.
            if candidates.count == 1 {
                if fits(0, criteria[0]) { return Selection(alternative: index, candidates: [0]) }
                continue
            }
            guard (1...8).contains(criteria.count) else { continue }
            let fitting = criteria.map { criterion in candidates.indices.filter { fits($0, criterion) } }
            var search = CombinationSearch(fitting: fitting, limit: 1)
            if let choice = search.run().first { return Selection(alternative: index, candidates: choice) }
        }
        return nil
    }
}

/// Chooses one candidate for each criterion, all different, by depth-first search with a bound on its steps.
private struct CombinationSearch {
    let fitting: [[Int]]
    let limit: Int
    private var steps = 0
    private var choices: [[Int]] = []

    init(fitting: [[Int]], limit: Int) {
        self.fitting = fitting
        self.limit = limit
    }

    mutating func run() -> [[Int]] {
        self.extend([])
        return self.choices
    }

    private mutating func extend(_ chosen: [Int]) {
        self.steps += 1
        guard self.steps <= 10_000, self.choices.count < self.limit else { return }
        guard chosen.count < self.fitting.count else {
            self.choices.append(chosen)
            return
        }
        for candidate in self.fitting[chosen.count] where !chosen.contains(candidate) {
            self.extend(chosen + [candidate])
        }
    }
}

extension MatchCriteria {
    /// How an authenticator that matches attests a new key: by the first of `attestationTypes` that it has, else by its
    /// own first (§9.2 step 6).
    public func attestationType(of info: AuthenticatorInfo) -> AttestationType? {
        self.attestationTypes?.first { info.attestationTypes.contains($0) } ?? info.attestationTypes.first
    }

    /// Whether an extension says that it must be understood: none is.
    fileprivate var hasExtensionToUnderstand: Bool { self.extensions.contains(where: \.failIfUnknown) }

    /// Whether every member that is there matches (§2.2). An extension that must be understood matches nothing: that is
    /// the safe answer where the criterion accepts. What is disallowed asks ``PolicyMatcher/allows(_:)``.
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
