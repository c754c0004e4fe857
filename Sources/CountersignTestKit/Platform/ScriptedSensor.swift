import Foundation
public import UAFClient

/// A sensor for fingers or faces that feels what it was told to.
// Safe to share: every access to the state is within `lock`, and continuations are resumed outside of it.
public final class ScriptedSensor: BiometricSensor, @unchecked Sendable {
    private let lock = NSLock()
    private var script: [Result<BiometricReading, any Error>] = []
    private var set: [UInt8]?
    private var isUnplugged = false
    private var passcodeAllowances: [Bool] = []
    private var shown: [SystemPrompt] = []
    private var waiting: [(id: Int, continuation: CheckedContinuation<BiometricReading, any Error>)] = []
    private var ids = 0

    /// A sensor with one enrolled set, or none.
    public init(enrolledSet: [UInt8]? = Array("enrolled".utf8)) { self.set = enrolledSet }

    /// Another set is enrolled now, or none.
    public func enroll(_ set: [UInt8]?) { self.lock.withLock { self.set = set } }

    /// The next readings, in their order. Where there are none, a reading waits.
    public func feel(_ readings: BiometricReading...) { for reading in readings { self.append(.success(reading)) } }

    /// The next readings fail, in their order.
    public func fail(_ errors: SensorError...) { for error in errors { self.append(.failure(error)) } }

    /// The sensor is not there any more, or again.
    public func unplug(_ isUnplugged: Bool = true) { self.lock.withLock { self.isUnplugged = isUnplugged } }

    private func append(_ result: Result<BiometricReading, any Error>) {
        let waiter = self.lock.withLock { () -> CheckedContinuation<BiometricReading, any Error>? in
            guard self.waiting.isEmpty else { return self.waiting.removeFirst().continuation }
            self.script.append(result)
            return nil
        }
        waiter?.resume(with: result)
    }

    /// For each reading so far, whether the device's passcode could stand in for it.
    public var passcodeAllowed: [Bool] { self.lock.withLock { self.passcodeAllowances } }

    /// What the operating system's dialog showed, for each reading so far.
    public var prompts: [SystemPrompt] { self.lock.withLock { self.shown } }

    /// How often the sensor was read.
    public var readingCount: Int { self.lock.withLock { self.passcodeAllowances.count } }

    /// The set that the script says.
    public func enrolledSet() async throws -> [UInt8]? {
        try self.lock.withLock {
            if self.isUnplugged { throw SensorError.disconnected }
            return self.set
        }
    }

    /// The next reading of the script; waits where there is none.
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

/// A device passcode that is judged as a script says.
// Safe to share: every access to the state is within `lock`.
public final class ScriptedPasscode: DevicePasscode, @unchecked Sendable {
    private let lock = NSLock()
    private var script: [DevicePasscodeReading] = []
    private var name: [UInt8]?
    private var shown: [SystemPrompt] = []

    /// A device with a passcode, or without one.
    public init(enrolment: [UInt8]? = Array("passcode".utf8)) { self.name = enrolment }

    /// The passcode was removed, or set again after that.
    public func enroll(_ enrolment: [UInt8]?) { self.lock.withLock { self.name = enrolment } }

    /// The next answers, in their order; after them the person gives up.
    public func answer(_ readings: DevicePasscodeReading...) {
        self.lock.withLock { self.script.append(contentsOf: readings) }
    }

    /// What the operating system's dialog showed, for each time that it asked.
    public var prompts: [SystemPrompt] { self.lock.withLock { self.shown } }

    /// What the script says; see ``DevicePasscode``.
    public func enrolment() async -> [UInt8]? { self.lock.withLock { self.name } }

    /// The next answer of the script.
    public func ask(_ prompt: SystemPrompt) async throws -> DevicePasscodeReading {
        try Task.checkCancellation()
        return self.lock.withLock {
            self.shown.append(prompt)
            return self.script.isEmpty ? .cancelled : self.script.removeFirst()
        }
    }
}
