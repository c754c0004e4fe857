import Synchronization
import UAF
import UAFRelyingParty
import _Primitives

/// The stored document as it was read last, so that it is parsed when it changes and not for each request.
final class ReadDistribution: Sendable {
    private let last = Mutex<(text: [UInt8], distribution: KeyDistribution)?>(nil)

    /// The standard one for a text that is no document, after `refused` was told so, once: a name that somebody has is
    /// answered whatever the document is, and by one that nobody has it must not show.
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

/// Which sets of a distribution can answer by which policy, found out once for each: it costs more than all else that
/// an invented account does, and would tell one from a real one by the time of its answer.
final class AbleSets: Sendable {
    private struct State {
        var rules: Rules?
        var distribution: KeyDistribution?
        /// Positions among the sets, by the policy's name; the default one has none.
        var positions: [ExactText?: [Int]] = [:]
    }

    private let state = Mutex(State())

    /// The positions of the sets with which a device can answer by the policy.
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
