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
