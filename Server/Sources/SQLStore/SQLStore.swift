import Records
public import Sealing
package import Settings
import _Primitives

/// The store in a database that speaks SQL.
///
/// A step that returned is durable, and so is every state that a read has seen. A step that throws leaves no changes
/// and does not affect other steps. The features are extensions of this type, one file each, that conform to the narrow
/// protocols of `Records`. A driver opens the database (``SQLDatabase``).
public final class SQLStore: Sendable {
    /// Reads and writes sealed values.
    public let sealing: Sealing
    let handedOutTokens: HandedOutTokens
    let knownClients: KnownClients
    /// Profiles of services by their text. A query reads the text each time.
    let readProfiles = RecentValues<ExactText, ServiceProfile>(capacity: Limits.Fixed.knownClients)
    private let database: any SQLDatabase

    /// Makes the store in an open database.
    package init(in database: any SQLDatabase, limits: Limits) {
        self.database = database
        self.sealing = database.sealing
        self.knownClients = database.knownClients
        self.handedOutTokens = HandedOutTokens(capacity: limits.handedOutTokens)
    }

    /// Finishes the waiting steps and closes the database. The store cannot be used afterwards. Closing the store again
    /// does nothing.
    public func close() async { await self.database.close() }

    /// The numbers of steps and reads that wait for the store.
    public var waiting: (steps: Int, reads: Int) { self.database.waiting }

    /// Checks that a step can be made durable now. Throws ``StoreError/Code/unavailable``.
    public func assertWritable() async throws {
        try await self.step(Step("store.probe", guards: [], isolation: .readCommitted)) { db in
            try db.run("UPDATE store_check SET probes = probes + 1")
        }
    }

    /// Returns the address for enrolling phones (`issuer`), kept at the server's last start; `nil` before the first
    /// start.
    public func issuer() async throws -> String? {
        try await self.read { db in try db.text("SELECT issuer FROM store_check WHERE id = 1") }
    }

    /// Keeps the address for enrolling phones.
    public func keep(issuer: String) async throws {
        try await self.step(Step("issuer.keep", guards: [], isolation: .readCommitted)) { db in
            try db.run("UPDATE store_check SET issuer = ? WHERE id = 1", [issuer])
        }
    }

    /// Returns `true` if any account has a device, or is about to have one.
    public func hasDevices() async throws -> Bool {
        try await self.read { db in try db.isTrue("SELECT EXISTS (SELECT 1 FROM device)") }
    }

    // MARK: For the features

    /// Does one whole business step (``SQLDatabase/step(_:_:)``).
    func step<Result: Sendable>(
        _ step: Step, _ body: @escaping @Sendable (SQLConnection) throws -> Result
    ) async throws -> Result {
        try await self.database.step(step, body)
    }

    /// Does a step if a reader does not answer or refuse (``SQLDatabase/step(_:screenedBy:_:)``).
    func step<Found: Sendable, Result: Sendable>(
        _ step: Step, screenedBy screen: @escaping @Sendable (SQLConnection) throws -> Screening<Found, Result>,
        _ body: @escaping @Sendable (SQLConnection, Found) throws -> Result
    ) async throws -> Result {
        try await self.database.step(step, screenedBy: screen, body)
    }

    /// Reads one consistent state of the database (``SQLDatabase/read(_:)``).
    func read<Result: Sendable>(_ body: @escaping @Sendable (SQLConnection) throws -> Result) async throws -> Result {
        try await self.database.read(body)
    }
}
