package import Sealing

/// A database that a driver has opened: does steps and reads on its own threads, and in its own transactions.
package protocol SQLDatabase: Sendable {
    /// Reads and writes the sealed values of the database.
    var sealing: Sealing { get }
    /// The cache of clients. The database empties the cache for each commit that touches a client.
    var knownClients: KnownClients { get }
    /// The numbers of steps and reads that wait.
    var waiting: (steps: Int, reads: Int) { get }

    /// Does one whole business step: the whole step is durable when this returns, and nothing is kept when this throws.
    ///
    /// `body` runs on a thread of the database. `body` must not wait for anything, and has no effect outside the
    /// database: `body` may run again.
    func step<Result: Sendable>(
        _ step: Step, _ body: @escaping @Sendable (SQLConnection) throws -> Result
    ) async throws -> Result

    /// Does a step as ``step(_:_:)`` does, but a reader looks first. If the reader answers or refuses, no step follows.
    ///
    /// The step must judge the found values again, because other steps may have come in between.
    func step<Found: Sendable, Result: Sendable>(
        _ step: Step, screenedBy screen: @escaping @Sendable (SQLConnection) throws -> Screening<Found, Result>,
        _ body: @escaping @Sendable (SQLConnection, Found) throws -> Result
    ) async throws -> Result

    /// Reads one consistent state of the database, on a separate thread. The state is durable when this returns.
    func read<Result: Sendable>(_ body: @escaping @Sendable (SQLConnection) throws -> Result) async throws -> Result

    /// Finishes the waiting steps, and closes the database. Closing the database again does nothing.
    func close() async
}
