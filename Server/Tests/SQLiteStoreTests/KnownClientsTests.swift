import GRDB
import Records
import SQLStore
import SQLiteStore
import Testing
import _Primitives

@Suite("Clients that are kept in memory")
struct KnownClientsTests {
    private static func client(_ id: String) -> ClientRecord {
        ClientRecord(
            id: id, name: id, redirectURIs: ["https://app.example/cb"], postLogoutRedirectURIs: [], secretDigest: nil,
            createdAt: Timestamp(seconds: 1_800_000_000), settings: ClientSettings())
    }

    /// A database that tells of its commits, with one client and one other table.
    private static func database(_ known: KnownClients) throws -> DatabaseQueue {
        let queue = try DatabaseQueue()
        try queue.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE oauth_client (id TEXT PRIMARY KEY, name TEXT);
                    CREATE TABLE account (id TEXT PRIMARY KEY);
                    INSERT INTO oauth_client VALUES ('bank', 'Bank');
                    """)
        }
        queue.add(transactionObserver: ClientObserver(known), extent: .databaseLifetime)
        return queue
    }

    @Test("A commit that touches a client forgets all, whatever it does; one that touches none forgets nothing")
    func changesForget() throws {
        let known = KnownClients(capacity: 10)
        let queue = try Self.database(known)
        for (change, forgets) in [
            ("UPDATE oauth_client SET name = 'Other'", true), ("INSERT INTO account VALUES ('alice')", false),
            ("INSERT INTO oauth_client VALUES ('shop', 'Shop')", true), ("DELETE FROM oauth_client", true),
        ] {
            known.keep(Self.client("bank"), since: known.generation)
            known.note(since: known.generation) { $0 = .init(hasSignInServiceClient: true, sharedAudiences: ["bank"]) }
            try queue.write { try $0.execute(sql: change) }
            #expect((known.client("bank") == nil) == forgets, "\(change)")
            #expect((known.facts.sharedAudiences == nil) == forgets, "\(change)")
            #expect((known.facts.hasSignInServiceClient == nil) == forgets, "\(change)")
        }
    }

    @Test("What is taken back forgets nothing")
    func rollbacksForgetNothing() throws {
        let known = KnownClients(capacity: 10)
        let queue = try Self.database(known)
        known.keep(Self.client("bank"), since: known.generation)
        try queue.writeWithoutTransaction { db in
            try db.inTransaction {
                try db.execute(sql: "DELETE FROM oauth_client")
                return .rollback
            }
            try db.execute(sql: "INSERT INTO account VALUES ('alice')")
        }
        #expect(known.client("bank") != nil)
    }

    @Test("A reader that began before a change keeps nothing: it may have seen what was there before")
    func slowReadersKeepNothing() throws {
        let known = KnownClients(capacity: 10)
        let queue = try Self.database(known)
        let began = known.generation
        try queue.write { try $0.execute(sql: "UPDATE oauth_client SET name = 'Other'") }
        known.keep(Self.client("bank"), since: began)
        known.note(since: began) { $0.sharedAudiences = ["bank"] }
        #expect(known.client("bank") == nil && known.facts.sharedAudiences == nil)
        known.keep(Self.client("bank"), since: known.generation)
        #expect(known.client("bank") != nil)
    }

    @Test("There are never more than fit, and names are compared by their bytes")
    func memoryIsBounded() {
        let known = KnownClients(capacity: 3)
        for number in 0..<100 {
            known.keep(Self.client("client-\(number)"), since: known.generation)
            let kept = (0...number).filter { known.client("client-\($0)") != nil }
            #expect(kept.count <= 3 && kept.contains(number))
        }
        known.keep(Self.client("caf\u{E9}"), since: known.generation)
        #expect(known.client("cafe\u{301}") == nil)
    }
}
