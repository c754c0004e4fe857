import Countersign
import Foundation
import _Primitives

/// A look at the device that finds what it is told to: a file in the phone's folder says so. For trying things out.
struct SimulatedIntegrity: SecurityInspection {
    /// What is found.
    struct State: Equatable, Sendable {
        var isRooted = false
        var isHooked = false
    }

    /// Version of the check, as servers are told.
    private static let checkVersion: Int32 = 1
    private let path: String

    init(home: String) { self.path = "\(home)/integrity.json" }

    /// What is found now.
    var state: State {
        let kept = SimulatedState.read(self.path)
        return State(isRooted: kept?.isTrue("rooted") ?? false, isHooked: kept?.isTrue("hooked") ?? false)
    }

    /// What is to be found from now on.
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
    /// Whether a member is `true`.
    fileprivate func isTrue(_ name: String) -> Bool { if case .bool(true)? = self[name] { true } else { false } }
}
