import Foundation
import UAFClient
import _Primitives

/// A fingerprint sensor that feels what it is told to: a file in the phone's folder says so. For trying things out.
///
/// Like the matcher of a real phone it counts misses, and locks itself after the fifth in a row.
struct SimulatedSensor: BiometricSensor {
    /// What the sensor is told.
    enum Finger: String, CaseIterable {
        case match
        case noMatch = "no-match"
        case cancel
        case lockout
        /// A finger was added or removed; the sensor then reports a match again.
        case changed
    }

    private struct State {
        var finger = Finger.match.rawValue
        var enrolled = "first"
        var misses = 0
    }

    private static let missesUntilLockout = 5

    private let path: String

    init(home: String) { self.path = "\(home)/sensor.json" }

    private func read() -> State {
        guard let data = FileManager.default.contents(atPath: self.path),
            case .object(let object)? = try? JSON(parsing: data)
        else { return State() }
        var state = State()
        if let finger = try? object.string("finger") { state.finger = finger }
        if let enrolled = try? object.string("enrolled") { state.enrolled = enrolled }
        if let misses = try? object.integer("misses", as: Int.self) { state.misses = max(0, misses) }
        return state
    }

    private func write(_ state: State) throws {
        let object: JSONObject = [
            "finger": .string(state.finger), "enrolled": .string(state.enrolled),
            "misses": .integer(Int64(state.misses)),
        ]
        try Data(JSON.object(object).serialized).write(to: URL(fileURLWithPath: self.path), options: .atomic)
    }

    /// What the sensor reports now.
    var finger: String { self.read().finger }

    /// Tells the sensor what to feel from now on.
    func set(_ finger: Finger, random: RandomSource = .system) throws {
        var state = self.read()
        state.misses = 0
        state.finger = finger.rawValue
        if finger == .changed {
            state.finger = Finger.match.rawValue
            state.enrolled = Base64URL.encode(random.bytes(8))
        }
        try self.write(state)
    }

    func enrolledSet() async -> [UInt8]? { Array(self.read().enrolled.utf8) }

    func read(allowingDevicePasscode: Bool) async throws -> BiometricReading {
        try Task.checkCancellation()
        var state = self.read()
        switch Finger(rawValue: state.finger) {
        case .match, .changed: return .match
        case .cancel: return .cancelled
        case .lockout, nil: return .lockedOut
        case .noMatch:
            state.misses += 1
            if state.misses >= Self.missesUntilLockout { state.finger = Finger.lockout.rawValue }
            try self.write(state)
            return state.misses >= Self.missesUntilLockout
                ? .lockedOut : .noMatch(hint: "The simulated sensor was told to see another finger.")
        }
    }
}
