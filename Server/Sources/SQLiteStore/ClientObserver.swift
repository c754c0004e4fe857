package import GRDB
package import SQLStore
import Synchronization

/// Empties the cache of clients when a commit has touched a client.
///
/// Only one process writes the database, and all its writes use one connection. The connection reports each commit to
/// this object, before the step that made the change is acknowledged.
package final class ClientObserver: TransactionObserver, Sendable {
    private let clients: KnownClients
    private let isTouched = Mutex(false)

    /// Makes the observer of one cache.
    package init(_ clients: KnownClients) { self.clients = clients }

    package func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool {
        eventKind.tableName == KnownClients.table
    }

    package func databaseDidChange(with event: DatabaseEvent) { self.isTouched.withLock { $0 = true } }

    package func databaseDidCommit(_ db: Database) {
        let isTouched = self.isTouched.withLock { isTouched in
            defer { isTouched = false }
            return isTouched
        }
        if isTouched { self.clients.forget() }
    }

    package func databaseDidRollback(_ db: Database) { self.isTouched.withLock { $0 = false } }
}
