import Synchronization
import UAF
import UAFRelyingParty
import _Primitives

/// The last stored document that was read, so that a document is parsed after a change and not for each request.
final class ReadDistribution: Sendable {
    private let last = Mutex<(text: [UInt8], distribution: KeyDistribution)?>(nil)

    /// Returns the distribution of a text. For an unreadable text `refused` is called once, and the standard
    /// distribution is returned. A real name is answered whatever the document is, so the answer for an invented name
    /// must not reveal the fault.
    func value(of text: String?, refused: () -> Void) -> KeyDistribution {
        guard let text else { return .standard }
        let bytes = Array(text.utf8)
        if let last = self.last.withLock({ $0 }), last.text == bytes { return last.distribution }
        var distribution = KeyDistribution.standard
        if case .object(let json)? = try? JSON(parsing: bytes), let read = try? KeyDistribution(json: json) {
            distribution = read
        } else {
            refused()
        }
        self.last.withLock { $0 = (bytes, distribution) }
        return distribution
    }
}

/// The sets of a distribution that can answer by a policy, computed once for each policy. The computation costs more
/// than all other work for an invented account, and its time would reveal the invention.
final class AbleSets: Sendable {
    private struct State {
        var rules: Rules?
        var distribution: KeyDistribution?
        /// Positions among the sets, by the policy's name; `nil` is the default policy.
        var positions: [ExactText?: [Int]] = [:]
    }

    private let state = Mutex(State())

    /// Returns the positions of the sets with which a device can answer by the policy.
    func value(
        of name: String?, _ policy: Policy, _ distribution: KeyDistribution, _ rules: Rules
    ) -> [Int] {
        self.state.withLock { state in
            if state.rules !== rules || state.distribution != distribution {
                state = State(rules: rules, distribution: distribution)
            }
            let name = name.map(ExactText.init)
            if let known = state.positions[name] { return known }
            let able = distribution.sets.indices.filter {
                rules.requests.canAnswer(policy, with: distribution.sets[$0].keys.map(\.aaid))
            }
            state.positions[name] = able
            return able
        }
    }
}
