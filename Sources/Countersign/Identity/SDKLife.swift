import Foundation
import UAFClient

/// The state of the SDK's initialisation, and the core that its parts share afterwards.
// Safe to share: every access to `state` is within `lock`.
final class SDKLife: @unchecked Sendable {
    private enum State {
        case new
        case initializing
        case ready(IdentityCore)
    }

    private let lock = NSLock()
    private var state = State.new

    /// Initialises the SDK, once. Throws ``CountersignError`` `alreadyInitialized`, and the errors of `make`. After an
    /// error of `make` the SDK is uninitialised, as before.
    func begin(_ make: () async throws -> IdentityCore) async throws {
        try self.lock.withLock {
            guard case .new = self.state else { throw CountersignError(.alreadyInitialized) }
            self.state = .initializing
        }
        do {
            let core = try await make()
            self.lock.withLock { self.state = .ready(core) }
        } catch {
            self.lock.withLock { self.state = .new }
            throw error
        }
    }

    /// Returns the core that all parts share. Throws ``CountersignError`` `notInitialized`.
    func core() throws -> IdentityCore {
        try self.lock.withLock {
            guard case .ready(let core) = self.state else { throw CountersignError(.notInitialized) }
            return core
        }
    }

    /// Runs an operation of the app with the shared core. Throws ``CountersignError``.
    func running<Value>(_ body: (IdentityCore) async throws -> Value) async throws -> Value {
        let core = try self.core()
        return try await CountersignError.running { try await body(core) }
    }
}
