import Foundation
import UAFClient
import _Primitives

/// A sensor whose reading is set by a file in the phone's folder. For experiments.
///
/// Like the matcher of a real phone, the sensor counts misses, and locks itself after the fifth miss in a row.
struct SimulatedSensor: BiometricSensor {
    /// The part of the body that the sensor reads.
    enum Part: String {
        case finger, face
    }

    /// The readings that can be set.
    enum Feeling: String, CaseIterable {
        case match
        case noMatch = "no-match"
        case cancel
        case lockout
        /// A finger or a face was added or removed; the sensor then reports a match again.
        case changed
    }

    private struct State {
        var feeling = Feeling.match.rawValue
        var enrolled = "first"
        var misses = 0
    }

    private let part: Part
    private let path: String
    /// The passcode of the same simulated operating system.
    private let passcode: SimulatedPasscode

    init(_ part: Part, home: String) {
        self.part = part
        self.passcode = SimulatedPasscode(home: home)
        self.path = "\(home)/\(part == .finger ? "sensor" : "face").json"
    }

    private func read() -> State {
        guard let object = SimulatedState.read(self.path) else { return State() }
        var state = State()
        if let feeling = try? object.string("feels") { state.feeling = feeling }
        if let enrolled = try? object.string("enrolled") { state.enrolled = enrolled }
        if let misses = try? object.integer("misses", as: Int.self) { state.misses = max(0, misses) }
        return state
    }

    private func write(_ state: State) throws {
        try SimulatedState.write(
            [
                "feels": .string(state.feeling), "enrolled": .string(state.enrolled),
                "misses": .integer(Int64(state.misses)),
            ], self.path)
    }

    /// The present reading of the sensor.
    var feeling: String { self.read().feeling }

    /// Sets the reading of the sensor from now on.
    func set(_ feeling: Feeling, random: RandomSource = .system) throws {
        var state = self.read()
        state.misses = 0
        state.feeling = feeling.rawValue
        if feeling == .changed {
            state.feeling = Feeling.match.rawValue
            state.enrolled = Base64URL.encode(random.bytes(8))
        }
        try self.write(state)
    }

    func enrolledSet() async -> [UInt8]? { Array(self.read().enrolled.utf8) }

    /// Reports the reading that was set. The simulated operating system asks for the passcode, if it may, in place of
    /// each reading without a match.
    func read(_ prompt: SystemPrompt, allowingDevicePasscode: Bool) async throws -> BiometricReading {
        try Task.checkCancellation()
        let reading = try self.reading()
        guard allowingDevicePasscode, reading != .match, reading != .cancelled else { return reading }
        return switch try await self.passcode.ask(prompt) {
        case .match: .match
        case .cancelled: .cancelled
        case .lockedOut: .lockedOut
        }
    }

    private func reading() throws -> BiometricReading {
        var state = self.read()
        switch Feeling(rawValue: state.feeling) {
        case .match, .changed: return .match
        case .cancel: return .cancelled
        case .lockout, nil: return .lockedOut
        case .noMatch:
            state.misses += 1
            if state.misses >= PhoneLimits.missesUntilLockout { state.feeling = Feeling.lockout.rawValue }
            try self.write(state)
            return state.misses >= PhoneLimits.missesUntilLockout
                ? .lockedOut : .noMatch(hint: "The simulated sensor was told to see another \(self.part.rawValue).")
        }
    }
}

/// A passcode of the device whose result is set by a file in the phone's folder. For experiments.
struct SimulatedPasscode: DevicePasscode {
    /// The person's reactions to the simulated operating system's request.
    enum Knowledge: String, CaseIterable {
        case match
        /// The person enters wrong passcodes until the operating system locks.
        case noMatch = "no-match"
        case cancel
        /// No passcode is set. Setting a passcode again is another enrolment.
        case none
    }

    private let path: String

    init(home: String) { self.path = "\(home)/passcode.json" }

    /// The person's present reaction.
    var knowledge: Knowledge {
        guard let word = try? SimulatedState.read(self.path)?.string("answers") else { return .match }
        return Knowledge(rawValue: word) ?? .cancel
    }

    /// Sets the person's reaction from now on.
    func set(_ knowledge: Knowledge, random: RandomSource = .system) throws {
        let isNew = self.knowledge == .none && knowledge != .none
        let name = isNew ? Base64URL.encode(random.bytes(8)) : self.name
        try SimulatedState.write(["answers": .string(knowledge.rawValue), "enrolled": .string(name)], self.path)
    }

    private var name: String { (try? SimulatedState.read(self.path)?.string("enrolled")) ?? "first" }

    func enrolment() async -> [UInt8]? { self.knowledge == .none ? nil : Array(self.name.utf8) }

    func ask(_ prompt: SystemPrompt) async throws -> DevicePasscodeReading {
        try Task.checkCancellation()
        switch self.knowledge {
        case .match: return .match
        case .noMatch: return .lockedOut
        case .cancel, .none: return .cancelled
        }
    }
}

/// The files of settings in the phone's folder: for the simulated parts, for the app's sign-in, and for the trusted
/// servers.
enum SimulatedState {
    /// The names of all these files, in the phone's folder.
    static let names = [
        "sensor.json", "face.json", "passcode.json", "clock.json", "integrity.json", "sign-in.json", "trust.json",
        "key-store.json", "app.json", "app-root.pem",
    ]

    static func read(_ path: String) -> JSONObject? {
        guard let data = FileManager.default.contents(atPath: path),
            case .object(let object)? = try? JSON(parsing: data)
        else { return nil }
        return object
    }

    static func write(_ object: JSONObject, _ path: String) throws {
        try Data(JSON.object(object).serialized).write(to: URL(fileURLWithPath: path), options: .atomic)
    }
}
