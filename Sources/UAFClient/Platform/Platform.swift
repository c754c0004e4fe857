public import _Primitives

/// What the device underneath can do: one protocol for each ability.
public struct Platform: Sendable {
    /// Where counters, attempts and what is known of keys are kept.
    public var storage: any SecureStorage
    /// Where the device makes and keeps its keys; `nil` where it has nothing for that: then they are in the storage.
    public var keys: (any DeviceKeys)?
    /// The fingerprint sensor, or `nil` on a device without one.
    public var fingerprintSensor: (any BiometricSensor)?
    /// What recognises faces, or `nil` on a device that does not.
    public var faceSensor: (any BiometricSensor)?
    /// The device's own passcode, or `nil` where the operating system judges none for apps.
    public var devicePasscode: (any DevicePasscode)?
    /// The device's clocks.
    public var clock: any DeviceClock
    /// The device's source of randomness; replaced in tests only.
    public var random: RandomSource

    /// A platform of the given parts.
    public init(
        storage: any SecureStorage, keys: (any DeviceKeys)? = nil, fingerprintSensor: (any BiometricSensor)? = nil,
        faceSensor: (any BiometricSensor)? = nil, devicePasscode: (any DevicePasscode)? = nil,
        clock: any DeviceClock, random: RandomSource = .system
    ) {
        self.storage = storage
        self.keys = keys
        self.fingerprintSensor = fingerprintSensor
        self.faceSensor = faceSensor
        self.devicePasscode = devicePasscode
        self.clock = clock
        self.random = random
    }
}

/// Named values that survive the process, the reboot and the power cut, and that no other program reads.
///
/// Duties of an implementation:
/// - ``write(_:to:)`` returns only once the value would survive a power cut, and a crash in between leaves the old value
///   or the new one, never a part. The limit of PIN attempts rests on it.
/// - Values are encrypted at rest and bound to their name, so that one cannot be put in another's place.
/// - At most one process uses the storage at a time.
/// - The calls are short and may come from any thread; they may block for the disk.
public protocol SecureStorage: Sendable {
    /// Whether this is a store for development, whose keys a reader of the device's disk can take.
    ///
    /// The app says so to the person at enrolment.
    var isDevelopmentStore: Bool { get }

    /// The value of that name, or `nil` where there is none. Throws ``StorageError``.
    func read(_ name: String) throws -> [UInt8]?

    /// Sets the value of that name, durably. Throws ``StorageError``; the old value is then still there, or the new one.
    func write(_ value: [UInt8], to name: String) throws

    /// Removes the value of that name, durably; nothing happens where there is none. Throws ``StorageError``.
    func remove(_ name: String) throws
}

/// Why a secure storage did not do its work. Two are equal when their codes are.
public struct StorageError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong, for code that has to choose.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String { case unavailable, corrupt, newer, inUse, locked, unsupported }
        private let base: Base
        /// The medium failed or is full. Transient; nothing was changed that was not asked for.
        public static let unavailable = Self(base: .unavailable)
        /// The value is there and cannot be opened: damaged, exchanged, or written under another key.
        public static let corrupt = Self(base: .corrupt)
        /// A later version of the program has written the value. Nothing is lost: it opens after an update.
        public static let newer = Self(base: .newer)
        /// Another process uses the storage.
        public static let inUse = Self(base: .inUse)
        /// The person has to unlock it first, or to set it up. Open it again while they look at the app.
        public static let locked = Self(base: .locked)
        /// This device has no such storage. Lasting: use another one.
        public static let unsupported = Self(base: .unsupported)
        public var description: String { self.base.rawValue }
    }

    /// What happened, and what to do about it.
    public let code: Code
    /// For the log: never a stored value.
    public let reason: String

    /// An error of that code; `reason` goes to the log alone.
    public init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    public var description: String { "StorageError.\(self.code): \(self.reason)" }
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
    public func hash(into hasher: inout Hasher) { hasher.combine(self.code) }
}

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

/// The device's clocks.
public protocol DeviceClock: Sendable {
    /// The wall clock, which a person can set.
    func now() -> Timestamp

    /// Time since the device started, sleep included; nobody can set it.
    func uptime() -> Duration

    /// A name for the time between two starts of the device; it differs after each start.
    var bootIdentifier: String { get }

    /// Waits. Throws `CancellationError` when the task is cancelled.
    func sleep(for duration: Duration) async throws
}
