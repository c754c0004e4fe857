public import Countersign
import Foundation
public import UAFClient

/// A storage in memory that can fail as a device's does. As an ``SignInStorage`` it is shared by all that were given it: each of
/// them stands for a process of the app.
// Safe to share: every access to the state is within `lock`, and continuations are resumed outside of it.
public final class InMemoryStorage: SecureStorage, SignInStorage, @unchecked Sendable {
    private let lock = NSLock()
    private var values: [String: [UInt8]]
    private var interruption: (@Sendable (String) throws -> Void)?
    private var isFull = false
    private var isProtected = false
    /// Those who wait for a name's lock; a name that nobody holds is not in here.
    private var waiting: [String: [CheckedContinuation<Void, Never>]] = [:]

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

    /// Whether nothing can be read or written, as before the first unlock of a device.
    public func protect(_ isProtected: Bool) { self.lock.withLock { self.isProtected = isProtected } }

    private func checkUnprotected() throws {
        guard !self.isProtected else { throw StorageError(.locked, "the device was not unlocked yet") }
    }

    /// The value of that name; see ``SecureStorage``.
    public func read(_ name: String) throws -> [UInt8]? {
        try self.lock.withLock {
            try self.checkUnprotected()
            return self.values[name]
        }
    }

    /// Sets a value durably; see ``SecureStorage``.
    public func write(_ value: [UInt8], to name: String) throws {
        let interruption = try self.lock.withLock {
            try self.checkUnprotected()
            guard !self.isFull else { throw StorageError(.unavailable, "the disk is full") }
            self.values[name] = value
            return self.interruption
        }
        try interruption?(name)
    }

    /// Removes a value durably; see ``SecureStorage``.
    public func remove(_ name: String) throws {
        try self.lock.withLock {
            try self.checkUnprotected()
            guard !self.isFull else { throw StorageError(.unavailable, "the disk is full") }
            self.values[name] = nil
        }
    }

    /// Runs `body` alone under that name; see ``SignInStorage``.
    public func withLock<Value: Sendable>(_ name: String, _ body: @Sendable () async throws -> Value) async throws
        -> Value
    {
        await withCheckedContinuation { continuation in
            let isFree = self.lock.withLock {
                guard self.waiting[name] != nil else {
                    self.waiting[name] = []
                    return true
                }
                self.waiting[name, default: []].append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
        defer {
            let next = self.lock.withLock { () -> CheckedContinuation<Void, Never>? in
                guard self.waiting[name]?.isEmpty == false else {
                    self.waiting[name] = nil
                    return nil
                }
                return self.waiting[name]?.removeFirst()
            }
            next?.resume()
        }
        try Task.checkCancellation()
        return try await body()
    }
}
