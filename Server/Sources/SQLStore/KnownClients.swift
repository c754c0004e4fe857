package import Records
import Synchronization
import _Primitives

/// A cache of clients: nearly every request names a client, and few clients ever change.
///
/// The database empties the cache for each commit that touches a client, before the step that made the change is
/// acknowledged. A reader that began before the commit does not cache the result, because the reader may have seen the
/// former state.
package final class KnownClients: Sendable {
    /// The table of the clients.
    package static let table = "oauth_client"

    private struct State {
        var clients: [ExactText: ClientRecord] = [:]
        var facts = Facts()
        /// Counts how often the cache was emptied. A reader compares the count before and after reading.
        var generation = 0
    }

    private let state = Mutex(State())
    private let capacity: Int

    /// Makes a cache of at most `capacity` clients. The cache is emptied when another client comes.
    package init(capacity: Int) { self.capacity = capacity }

    package func client(_ id: String) -> ClientRecord? { self.state.withLock { $0.clients[ExactText(id)] } }

    /// The present generation. A reader asks for the generation before the reader reads.
    package var generation: Int { self.state.withLock { $0.generation } }

    /// Keeps a client that was read after `generation` was asked for.
    package func keep(_ client: ClientRecord, since generation: Int) {
        self.state.withLock { state in
            guard state.generation == generation else { return }
            if state.clients.count >= self.capacity { state.clients = [:] }
            state.clients[ExactText(client.id)] = client
        }
    }

    /// Facts that follow from all clients together. A fact is `nil` if it has to be read.
    package struct Facts: Sendable {
        /// `true` if any client belongs to the app sign-in service.
        package var hasSignInServiceClient: Bool?
        /// The audiences of tokens of shared sessions.
        package var sharedAudiences: [String]?

        package init(hasSignInServiceClient: Bool? = nil, sharedAudiences: [String]? = nil) {
            self.hasSignInServiceClient = hasSignInServiceClient
            self.sharedAudiences = sharedAudiences
        }
    }

    package var facts: Facts { self.state.withLock { $0.facts } }

    /// Keeps facts that were read after `generation` was asked for.
    package func note(since generation: Int, _ change: (inout Facts) -> Void) {
        self.state.withLock { state in
            if state.generation == generation { change(&state.facts) }
        }
    }

    // MARK: Reading through the cache

    /// Returns a client: the kept client, or the result of `read`, which is kept from then on. `read` returns after its
    /// result is durable, because other requests are answered from the cache.
    func client(_ id: String, orRead read: () async throws -> ClientRecord?) async throws -> ClientRecord? {
        if let known = self.client(id) { return known }
        let generation = self.generation
        let client = try await read()
        if let client { self.keep(client, since: generation) }
        return client
    }

    /// Returns a fact about all clients together: the known fact, or the result of `read`, which is known from then on.
    func fact<Value: Sendable>(
        _ fact: WritableKeyPath<Facts, Value?>, orRead read: () async throws -> Value
    ) async throws -> Value {
        if let known = self.facts[keyPath: fact] { return known }
        let generation = self.generation
        let value = try await read()
        self.note(since: generation) { $0[keyPath: fact] = value }
        return value
    }

    /// Forgets everything, because a commit has touched a client.
    package func forget() {
        self.state.withLock { state in
            state.clients = [:]
            state.facts = Facts()
            state.generation += 1
        }
    }
}
