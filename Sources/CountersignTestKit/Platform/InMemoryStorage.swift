import Foundation
public import UAFClient

/// A storage in memory that can fail as a device's does.
// Safe to share: every access to `values` and `interruption` is within `lock`.
public final class InMemoryStorage: SecureStorage, @unchecked Sendable {
    private let lock = NSLock()
    private var values: [String: [UInt8]]
    private var interruption: (@Sendable (String) throws -> Void)?
    private var isFull = false

    /// What the storage says of itself.
    public let isDevelopmentStore: Bool

    /// A storage with the given values, as the ``snapshot`` of another one.
    public init(_ values: [String: [UInt8]] = [:], isDevelopmentStore: Bool = true) {
        self.values = values
        self.isDevelopmentStore = isDevelopmentStore
    }

    /// Everything that is stored now: what a device finds after its process was killed.
    public var snapshot: [String: [UInt8]] { self.lock.withLock { self.values } }

    /// Calls `body` after each write, with the value's name, when the value is already stored: throw there to end the
    /// process "after the write". `nil` ends that.
    public func interruptAfterWrite(_ body: (@Sendable (String) throws -> Void)?) {
        self.lock.withLock { self.interruption = body }
    }

    /// Whether every write fails and changes nothing, as on a full disk.
    public func refuseWrites(_ isFull: Bool) { self.lock.withLock { self.isFull = isFull } }

    /// The value of that name; see ``SecureStorage``.
    public func read(_ name: String) throws -> [UInt8]? { self.lock.withLock { self.values[name] } }

    /// Sets a value durably; see ``SecureStorage``.
    public func write(_ value: [UInt8], to name: String) throws {
        let interruption = try self.lock.withLock {
            guard !self.isFull else { throw StorageError(.unavailable, "the disk is full") }
            self.values[name] = value
            return self.interruption
        }
        try interruption?(name)
    }

    /// Removes a value durably; see ``SecureStorage``.
    public func remove(_ name: String) throws {
        try self.lock.withLock {
            guard !self.isFull else { throw StorageError(.unavailable, "the disk is full") }
            self.values[name] = nil
        }
    }
}

/// A fingerprint sensor that feels what it was told to.
// Safe to share: every access to the state is within `lock`, and continuations are resumed outside of it.
public final class ScriptedFingerprintSensor: FingerprintSensor, @unchecked Sendable {
    private let lock = NSLock()
    private var readings: [FingerprintReading] = []
    private var fingers: [UInt8]?
    private var waiting: [(id: Int, continuation: CheckedContinuation<FingerprintReading, any Error>)] = []
    private var ids = 0
    private var count = 0

    /// A sensor with one enrolled set of fingers, or none.
    public init(enrolledFingers: [UInt8]? = Array("fingers".utf8)) { self.fingers = enrolledFingers }

    /// Another set of fingers is enrolled now, or none.
    public func enroll(_ fingers: [UInt8]?) { self.lock.withLock { self.fingers = fingers } }

    /// The next readings, in their order. Where there are none, a reading waits.
    public func feel(_ readings: FingerprintReading...) {
        for reading in readings {
            let waiter = self.lock.withLock { () -> CheckedContinuation<FingerprintReading, any Error>? in
                guard self.waiting.isEmpty else { return self.waiting.removeFirst().continuation }
                self.readings.append(reading)
                return nil
            }
            waiter?.resume(returning: reading)
        }
    }

    /// How often a finger was waited for.
    public var readingCount: Int { self.lock.withLock { self.count } }

    /// The set that the script says.
    public func enrolledFingers() async -> [UInt8]? { self.lock.withLock { self.fingers } }

    /// The next reading of the script; waits where there is none.
    public func readFinger() async throws -> FingerprintReading {
        let id = self.lock.withLock {
            self.ids += 1
            self.count += 1
            return self.ids
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result = self.lock.withLock { () -> Result<FingerprintReading, any Error>? in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if !self.readings.isEmpty { return .success(self.readings.removeFirst()) }
                    self.waiting.append((id, continuation))
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            let waiter = self.lock.withLock {
                self.waiting.firstIndex { $0.id == id }.map { self.waiting.remove(at: $0).continuation }
            }
            waiter?.resume(throwing: CancellationError())
        }
    }
}
