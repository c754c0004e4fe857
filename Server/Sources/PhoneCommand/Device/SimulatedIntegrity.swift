import Countersign
import Foundation
import _Primitives

/// An integrity check whose result is set by a file in the phone's folder. For experiments.
struct SimulatedIntegrity: SecurityInspection {
    /// The findings of the check.
    struct State: Equatable, Sendable {
        var isRooted = false
        var isHooked = false
    }

    /// The version of the check, reported to servers.
    private static let checkVersion: Int32 = 1
    private let path: String

    init(home: String) { self.path = "\(home)/integrity.json" }

    /// The present findings.
    var state: State {
        let kept = SimulatedState.read(self.path)
        return State(isRooted: kept?.isTrue("rooted") ?? false, isHooked: kept?.isTrue("hooked") ?? false)
    }

    /// Sets the findings from now on.
    func set(_ state: State) throws {
        try SimulatedState.write(["rooted": .bool(state.isRooted), "hooked": .bool(state.isHooked)], self.path)
    }

    func inspect() async throws -> SecurityFindings {
        let state = self.state
        return SecurityFindings(
            checkVersion: Self.checkVersion, osVersion: "terminal phone, simulated", isRooted: state.isRooted,
            isHooked: state.isHooked)
    }
}

extension JSONObject {
    /// Returns `true` if a member is `true`.
    fileprivate func isTrue(_ name: String) -> Bool { if case .bool(true)? = self[name] { true } else { false } }
}
