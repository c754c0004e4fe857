import Foundation
public import UAFClient

/// A sensor for fingers or faces with scripted readings.
// Safe to share: every access to the state is within `lock`, and continuations are resumed outside `lock`.
public final class ScriptedSensor: BiometricSensor, @unchecked Sendable {
    private let lock = NSLock()
    private var script: [Result<BiometricReading, any Error>] = []
    private var set: [UInt8]?
    private var isUnplugged = false
    private var passcodeAllowances: [Bool] = []
    private var shown: [SystemPrompt] = []
    private var waiting: [(id: Int, continuation: CheckedContinuation<BiometricReading, any Error>)] = []
    private var ids = 0

    /// Creates a sensor with one enrolled set, or none.
    public init(enrolledSet: [UInt8]? = Array("enrolled".utf8)) { self.set = enrolledSet }

    /// Enrols another set, or none.
    public func enroll(_ set: [UInt8]?) { self.lock.withLock { self.set = set } }

    /// Adds the next readings, in their order. Without a scripted reading, a call waits.
    public func feel(_ readings: BiometricReading...) { for reading in readings { self.append(.success(reading)) } }

    /// Makes the next readings fail, in their order.
    public func fail(_ errors: SensorError...) { for error in errors { self.append(.failure(error)) } }

    /// Makes ``enrolledSet()`` throw `disconnected` from now on, or connects the sensor again. Readings still follow
    /// the script.
    public func unplug(_ isUnplugged: Bool = true) { self.lock.withLock { self.isUnplugged = isUnplugged } }

    private func append(_ result: Result<BiometricReading, any Error>) {
        let waiter = self.lock.withLock { () -> CheckedContinuation<BiometricReading, any Error>? in
            guard self.waiting.isEmpty else { return self.waiting.removeFirst().continuation }
            self.script.append(result)
            return nil
        }
        waiter?.resume(with: result)
    }

    /// For each earlier reading, `true` if the device's passcode was allowed.
    public var passcodeAllowed: [Bool] { self.lock.withLock { self.passcodeAllowances } }

    /// The texts in the operating system's dialog, for each earlier reading.
    public var prompts: [SystemPrompt] { self.lock.withLock { self.shown } }

    /// The number of readings.
    public var readingCount: Int { self.lock.withLock { self.passcodeAllowances.count } }

    /// Returns the scripted set.
    public func enrolledSet() async throws -> [UInt8]? {
        try self.lock.withLock {
            if self.isUnplugged { throw SensorError.disconnected }
            return self.set
        }
    }

    /// Returns the next reading of the script; waits if the script has none.
    public func read(_ prompt: SystemPrompt, allowingDevicePasscode: Bool) async throws -> BiometricReading {
        let id = self.lock.withLock {
            self.ids += 1
            self.passcodeAllowances.append(allowingDevicePasscode)
            self.shown.append(prompt)
            return self.ids
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result = self.lock.withLock { () -> Result<BiometricReading, any Error>? in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if !self.script.isEmpty { return self.script.removeFirst() }
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

/// A device passcode with scripted answers.
// Safe to share: every access to the state is within `lock`.
public final class ScriptedPasscode: DevicePasscode, @unchecked Sendable {
    private let lock = NSLock()
    private var script: [DevicePasscodeReading] = []
    private var name: [UInt8]?
    private var shown: [SystemPrompt] = []

    /// Creates a device passcode; `nil` for a device without a passcode.
    public init(enrolment: [UInt8]? = Array("passcode".utf8)) { self.name = enrolment }

    /// Removes the passcode, or sets a passcode again.
    public func enroll(_ enrolment: [UInt8]?) { self.lock.withLock { self.name = enrolment } }

    /// Adds the next answers, in their order. After these answers the person cancels.
    public func answer(_ readings: DevicePasscodeReading...) {
        self.lock.withLock { self.script.append(contentsOf: readings) }
    }

    /// The texts in the operating system's dialog, for each question.
    public var prompts: [SystemPrompt] { self.lock.withLock { self.shown } }

    /// Returns the scripted enrolment; see ``DevicePasscode``.
    public func enrolment() async -> [UInt8]? { self.lock.withLock { self.name } }

    /// Returns the next answer of the script.
    public func ask(_ prompt: SystemPrompt) async throws -> DevicePasscodeReading {
        try Task.checkCancellation()
        return self.lock.withLock {
            self.shown.append(prompt)
            return self.script.isEmpty ? .cancelled : self.script.removeFirst()
        }
    }
}
