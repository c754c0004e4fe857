package import GRDB
package import Store
import Synchronization
import _Primitives

/// Clients as they were last read: nearly every request names one, and few are ever changed.
///
/// One process alone writes the database, and all its writes go through one connection, which tells of each commit that
/// touches a client. Then everything is forgotten, before the step that made the change is acknowledged. A reader that
/// began before such a commit keeps nothing: it may have seen what was there before.
package final class KnownClients: TransactionObserver, Sendable {
    /// The table that clients are in.
    static let table = "oauth_client"

    private struct State {
        var clients: [ExactText: ClientRecord] = [:]
        var facts = Facts()
        /// Counts what was forgotten, so that a reader can tell that it began before.
        var generation = 0
    }

    private let state = Mutex(State())
    private let isTouched = Mutex(false)
    private let capacity: Int

    /// Remembers as many clients; with one more it begins anew.
    package init(capacity: Int) { self.capacity = capacity }

    package func client(_ id: String) -> ClientRecord? { self.state.withLock { $0.clients[ExactText(id)] } }

    /// What a reader asks before it reads.
    package var generation: Int { self.state.withLock { $0.generation } }

    /// Keeps a client that was read after `generation` was asked for.
    package func keep(_ client: ClientRecord, since generation: Int) {
        self.state.withLock { state in
            guard state.generation == generation else { return }
            if state.clients.count >= self.capacity { state.clients = [:] }
            state.clients[ExactText(client.id)] = client
        }
    }

    /// What follows from all clients together; `nil` where that has to be read.
    package struct Facts: Sendable {
        /// Whether any of them is one of the app sign-in service.
        package var hasSignInServiceClient: Bool?
        /// Whom tokens of shared sessions are for.
        package var sharedAudiences: [String]?

        package init(hasSignInServiceClient: Bool? = nil, sharedAudiences: [String]? = nil) {
            self.hasSignInServiceClient = hasSignInServiceClient
            self.sharedAudiences = sharedAudiences
        }
    }

    package var facts: Facts { self.state.withLock { $0.facts } }

    /// Keeps what was read after `generation` was asked for.
    package func note(since generation: Int, _ change: (inout Facts) -> Void) {
        self.state.withLock { state in
            if state.generation == generation { change(&state.facts) }
        }
    }

    // MARK: What the writer tells

    package func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { eventKind.tableName == Self.table }

    package func databaseDidChange(with event: DatabaseEvent) { self.isTouched.withLock { $0 = true } }

    package func databaseDidCommit(_ db: Database) {
        guard
            self.isTouched.withLock({ isTouched in
                defer { isTouched = false }
                return isTouched
            })
        else { return }
        self.state.withLock { state in
            state.clients = [:]
            state.facts = Facts()
            state.generation += 1
        }
    }

    package func databaseDidRollback(_ db: Database) { self.isTouched.withLock { $0 = false } }
}
