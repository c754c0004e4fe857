/// The app's texts in a dialog of the operating system, which has its own for what is `nil`.
public struct SystemPrompt: Hashable, Sendable {
    /// Why the person is asked.
    public var reason: String?
    /// The button with which the device's passcode takes the place of finger or face, where it may.
    public var fallbackTitle: String?
    /// The button that gives up.
    public var cancelTitle: String?

    /// The operating system's own texts, but for those that are given.
    public init(reason: String? = nil, fallbackTitle: String? = nil, cancelTitle: String? = nil) {
        self.reason = reason
        self.fallbackTitle = fallbackTitle
        self.cancelTitle = cancelTitle
    }
}

/// A sensor for fingers or faces and the operating system's matcher behind it.
///
/// The operating system counts misses and locks the sensor; this protocol only reports.
public protocol BiometricSensor: Sendable {
    /// An opaque name of the set of enrolled fingers or faces, which changes when one is added or removed; `nil` when
    /// none is enrolled. It is asked for before a reading and again after a match. Throws ``SensorError``.
    func enrolledSet() async throws -> [UInt8]?

    /// Waits for one finger or face and says what came of it. With `allowingDevicePasscode` the operating system may
    /// ask for its passcode in place of it, and a right one is a match. The operating system's dialog shows `prompt`.
    ///
    /// Throws ``SensorError``, and `CancellationError` when the task is cancelled.
    func read(_ prompt: SystemPrompt, allowingDevicePasscode: Bool) async throws -> BiometricReading
}

/// Why a sensor, or the operating system, said nothing. Two are equal when their codes are.
public struct SensorError: Error, Hashable, Sendable, CustomStringConvertible {
    private enum Base: String { case timedOut, disconnected }
    private let base: Base
    /// It does not answer. It is asked again, three times in all.
    public static let timedOut = Self(base: .timedOut)
    /// It is not there any more, for instance pulled out. Another authenticator may be asked instead.
    public static let disconnected = Self(base: .disconnected)
    public var description: String { self.base.rawValue }
}

/// What came of one finger or face.
public enum BiometricReading: Hashable, Sendable {
    /// An enrolled one.
    case match
    /// Not an enrolled one, or unreadable; `hint` is the sensor's advice in plain words.
    case noMatch(hint: String)
    /// The person gave up in a dialog of the operating system.
    case cancelled
    /// Too many misses: the person unlocks the sensor with the device's own passcode.
    case lockedOut
}

/// The passcode of the device. The operating system asks for it, judges it and counts wrong ones; no app sees it.
public protocol DevicePasscode: Sendable {
    /// An opaque name of the time since a passcode is set: it stays when the passcode is changed to another, and is a
    /// new one when the passcode was removed in between; `nil` when none is set. Throws ``SensorError``.
    func enrolment() async throws -> [UInt8]?

    /// Has the operating system ask, as often as it likes, in a dialog that shows `prompt`. Throws ``SensorError``, and
    /// `CancellationError` when the task is cancelled.
    func ask(_ prompt: SystemPrompt) async throws -> DevicePasscodeReading
}

/// What the operating system says of the device's passcode.
public enum DevicePasscodeReading: Hashable, Sendable {
    /// The person knows it.
    case match
    /// The person gave up.
    case cancelled
    /// Too many wrong ones.
    case lockedOut
}
