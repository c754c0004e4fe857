public import Countersign
import Foundation
public import UAFClient

/// A storage in memory that can fail like a device's storage. As a ``SignInStorage``, all holders share the storage,
/// and each holder represents a process of the app.
// Safe to share: every access to the state is within `lock`, and continuations are resumed outside `lock`.
public final class InMemoryStorage: SecureStorage, SignInStorage, @unchecked Sendable {
    private let lock = NSLock()
    private var values: [String: [UInt8]]
    private var interruption: (@Sendable (String) throws -> Void)?
    private var isFull = false
    private var isProtected = false
    /// The callers that wait for a name's lock. A name without a holder has no entry.
    private var waiting: [String: [CheckedContinuation<Void, Never>]] = [:]

    /// `true` if the storage declares itself a development store.
    public let isDevelopmentStore: Bool

    /// Creates a storage with the values, for example the ``snapshot`` of another storage.
    public init(_ values: [String: [UInt8]] = [:], isDevelopmentStore: Bool = true) {
        self.values = values
        self.isDevelopmentStore = isDevelopmentStore
    }

    /// All stored values, as a device finds them after its process was killed.
    public var snapshot: [String: [UInt8]] { self.lock.withLock { self.values } }

    /// Calls `body` after each write, with the value's name, when the value is already stored.
    ///
    /// An error thrown by `body` ends the process "after the write". `nil` stops the calls.
    public func interruptAfterWrite(_ body: (@Sendable (String) throws -> Void)?) {
        self.lock.withLock { self.interruption = body }
    }

    /// Makes every write and removal fail without a change, as on a full disk, or work again.
    public func refuseWrites(_ isFull: Bool) { self.lock.withLock { self.isFull = isFull } }

    /// Makes every read, write and removal fail, as before the first unlock of a device, or work again.
    public func protect(_ isProtected: Bool) { self.lock.withLock { self.isProtected = isProtected } }

    private func checkUnprotected() throws {
        guard !self.isProtected else { throw StorageError(.locked, "the device was not unlocked yet") }
    }

    /// Returns the value with the name; see ``SecureStorage``.
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

    /// Runs `body` alone under the name; see ``SignInStorage``.
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
