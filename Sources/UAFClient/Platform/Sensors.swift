/// The app's texts in a dialog of the operating system. The operating system uses its own text for `nil`.
public struct SystemPrompt: Hashable, Sendable {
    /// The reason for the question to the person.
    public var reason: String?
    /// The title of the button with which the device's passcode replaces finger or face, if allowed.
    public var fallbackTitle: String?
    /// The title of the button that cancels.
    public var cancelTitle: String?

    /// Creates texts. The operating system uses its own texts for the rest.
    public init(reason: String? = nil, fallbackTitle: String? = nil, cancelTitle: String? = nil) {
        self.reason = reason
        self.fallbackTitle = fallbackTitle
        self.cancelTitle = cancelTitle
    }
}

/// A sensor for fingers or faces, with the operating system's matcher.
///
/// The operating system counts misses and locks the sensor; this protocol only reports.
public protocol BiometricSensor: Sendable {
    /// Returns an opaque name of the set of enrolled fingers or faces; `nil` if none is enrolled. The name changes when
    /// a finger or face is added or removed.
    ///
    /// The module asks for the name before a reading and again after a match. Throws ``SensorError``.
    func enrolledSet() async throws -> [UInt8]?

    /// Waits for one finger or face and returns the result.
    ///
    /// With `allowingDevicePasscode` the operating system may ask for its passcode instead, and a right passcode is a
    /// match. The operating system's dialog shows `prompt`.
    ///
    /// Throws ``SensorError``, and `CancellationError` if the task is cancelled.
    func read(_ prompt: SystemPrompt, allowingDevicePasscode: Bool) async throws -> BiometricReading
}

/// The reason why a sensor, or the operating system, gave no result. Two errors are equal if their kinds are equal.
public struct SensorError: Error, Hashable, Sendable, CustomStringConvertible {
    private enum Base: String { case timedOut, disconnected }
    private let base: Base
    /// The sensor does not answer. The module asks again, three times in all.
    public static let timedOut = Self(base: .timedOut)
    /// The sensor is disconnected, for instance pulled out. The module may ask another authenticator instead.
    public static let disconnected = Self(base: .disconnected)
    public var description: String { self.base.rawValue }
}

/// The result of one finger or face.
public enum BiometricReading: Hashable, Sendable {
    /// The finger or face is enrolled.
    case match
    /// The finger or face is not enrolled, or unreadable; `hint` is the sensor's advice in plain words.
    case noMatch(hint: String)
    /// The person gave up in a dialog of the operating system.
    case cancelled
    /// Too many misses: the person has to unlock the sensor with the device's own passcode.
    case lockedOut
}

/// The passcode of the device.
///
/// The operating system asks for the passcode, judges it and counts wrong attempts. No app sees the passcode.
public protocol DevicePasscode: Sendable {
    /// Returns an opaque name of the time since a passcode was set; `nil` if none is set.
    ///
    /// The name stays when the passcode is changed, and is new if the passcode was removed in between. Throws
    /// ``SensorError``.
    func enrolment() async throws -> [UInt8]?

    /// Makes the operating system ask the person, as often as it likes, in a dialog with `prompt`. Throws
    /// ``SensorError``, and `CancellationError` if the task is cancelled.
    func ask(_ prompt: SystemPrompt) async throws -> DevicePasscodeReading
}

/// The operating system's result for the device's passcode.
public enum DevicePasscodeReading: Hashable, Sendable {
    /// The person knows the passcode.
    case match
    /// The person gave up.
    case cancelled
    /// The person typed too many wrong passcodes.
    case lockedOut
}
