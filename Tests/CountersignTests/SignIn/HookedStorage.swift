import Countersign
import CountersignTestKit
import Synchronization
import UAFClient

/// A storage in memory in which something happens just before a lock is taken, and whose values can become unreadable.
final class HookedStorage: SignInStorage {
    private struct State {
        var beforeLock: (@Sendable (String) async throws -> Void)?
        var unreadable: Set<String> = []
    }

    private let memory: InMemoryStorage
    private let state = Mutex(State())

    init(_ memory: InMemoryStorage) { self.memory = memory }

    var isDevelopmentStore: Bool { true }

    /// Does `body` before the next lock of that name is taken, once.
    func once(before name: String, _ body: @escaping @Sendable () async throws -> Void) {
        self.state.withLock { state in
            state.beforeLock = { [weak self] wanted in
                guard wanted == name else { return }
                self?.state.withLock { $0.beforeLock = nil }
                try await body()
            }
        }
    }

    /// Nobody reads that value until it is written again.
    func spoil(_ name: String) { _ = self.state.withLock { $0.unreadable.insert(name) } }

    func read(_ name: String) throws -> [UInt8]? {
        guard !self.state.withLock({ $0.unreadable.contains(name) }) else { throw StorageError(.corrupt, "spoilt") }
        return try self.memory.read(name)
    }

    func write(_ value: [UInt8], to name: String) throws {
        try self.memory.write(value, to: name)
        _ = self.state.withLock { $0.unreadable.remove(name) }
    }

    func remove(_ name: String) throws {
        try self.memory.remove(name)
        _ = self.state.withLock { $0.unreadable.remove(name) }
    }

    func withLock<Value: Sendable>(_ name: String, _ body: @Sendable () async throws -> Value) async throws -> Value {
        try await self.state.withLock { $0.beforeLock }?(name)
        return try await self.memory.withLock(name, body)
    }
}

/// Lets nobody pass until it is opened.
actor Latch {
    private var isOpen = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func pass() async {
        guard !self.isOpen else { return }
        await withCheckedContinuation { self.waiting.append($0) }
    }

    func open() {
        self.isOpen = true
        for continuation in self.waiting { continuation.resume() }
        self.waiting = []
    }
}
