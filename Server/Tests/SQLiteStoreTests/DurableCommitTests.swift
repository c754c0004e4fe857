import Foundation
import GRDB
import Records
import SQLStore
import SQLiteStore
import Sealing
import Settings
import Synchronization
import Testing
import _Primitives

@Suite("SQLite store: commits are made durable behind the writer (decision 87)")
struct DurableCommitTests {
    /// A disk that a test holds: what is written reaches it where the test lets it.
    private final class Disk: Sendable {
        private struct State {
            var isHeld = false
            var isBroken = false
            /// The ceremonies that are durable, with their authenticators.
            var durable: [String: String] = [:]
            /// How often the log was to be made durable.
            var count = 0
        }

        private let state = Mutex(State())
        private let file: String

        init(of file: String) { self.file = file }

        var durable: [String: String] { self.state.withLock(\.durable) }
        var count: Int { self.state.withLock(\.count) }
        func hold() { self.state.withLock { $0.isHeld = true } }
        func letGo() { self.state.withLock { $0.isHeld = false } }
        func `break`() { self.state.withLock { $0.isBroken = true } }
        func mend() { self.state.withLock { $0.isBroken = false } }

        /// Called by the store's thread, which may wait.
        func synchronize(_ log: LogFile) throws {
            self.state.withLock { $0.count += 1 }
            while self.state.withLock(\.isHeld) { sched_yield() }
            // Read past the store: what is in the log by now, and no more, is made durable.
            let written = try self.written()
            guard !self.state.withLock(\.isBroken) else { throw StoreError(.unavailable, "the disk is gone") }
            try log.synchronize()
            self.state.withLock { $0.durable = written }
        }

        /// The ceremonies that were committed, durable or not.
        func written() throws -> [String: String] {
            var configuration = Configuration()
            configuration.readonly = true
            let foreign = try DatabaseQueue(path: self.file, configuration: configuration)
            defer { try? foreign.close() }
            return try foreign.read { db in
                guard try db.tableExists("ceremony") else { return [:] }
                let rows = try Row.fetchAll(db, sql: "SELECT id, authenticators FROM ceremony")
                return Dictionary(uniqueKeysWithValues: rows.map { ($0["id"], $0["authenticators"]) })
            }
        }
    }

    /// Who has been told something.
    private final class Told: Sendable {
        private let names = Mutex<[String]>([])
        var all: [String] { self.names.withLock { $0 } }
        func note(_ name: String) { self.names.withLock { $0.append(name) } }
    }

    private struct Refusal: Error {}

    private let now = Timestamp(seconds: 1_800_000_000)
    private let folder = FileManager.default.temporaryDirectory.path + "/countersign-" + UUID().uuidString
    private let key = KeyEncryptionKey()

    /// A store on a disk of the test's, with so many ceremonies.
    private func store(ceremonies count: Int) async throws -> (SQLStore, Disk) {
        let disk = Disk(of: self.folder + "/countersign.sqlite")
        let database = try SQLStore(folder: self.folder, keys: KeyRing(self.key)) { try disk.synchronize($0) }
        for number in 0..<count {
            let ceremony = CeremonyRecord(
                id: "\(number)", kind: .transaction, createdAt: self.now, expiresAt: self.now + .seconds(60),
                detail: CeremonyDetail())
            try await database.createCeremony(ceremony, tokens: [], audit: nil)
        }
        return (database, disk)
    }

    /// Writes a word into a ceremony.
    private func write(_ word: String, _ number: Int, _ database: SQLStore) async throws {
        _ = try await database.change(.id("\(number)")) { ceremony in
            ceremony.authenticators = [word]
            return CeremonyChange()
        }
    }

    /// What is in the database's file and in its log.
    private func files(in folder: String) throws -> [Data] {
        try ["", "-wal"].map { try Data(contentsOf: URL(fileURLWithPath: folder + "/countersign.sqlite" + $0)) }
    }

    private func remove() { try? FileManager.default.removeItem(atPath: self.folder) }

    /// Waits until something was done by the store's own threads.
    private func until(_ condition: () throws -> Bool) async rethrows {
        while try !condition() { await Task.yield() }
    }

    @Test("Nobody learns of a commit before it is durable: not its writer, no reader, and nobody whom it refuses")
    func nobodyLearnsOfItBefore() async throws {
        let (database, disk) = try await self.store(ceremonies: 2)
        defer { self.remove() }
        disk.hold()
        let told = Told()
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { disk.letGo() }
            group.addTask {
                try await self.write("new", 0, database)
                told.note("writer")
            }
            try await self.until { try disk.written()["0"] == "new" }
            group.addTask {
                let seen = try await database.ceremony(.id("0"))
                told.note("reader of \(seen?.authenticators ?? [])")
            }
            group.addTask {
                do {
                    _ = try await database.change(.id("0")) { ceremony in
                        #expect(ceremony.authenticators == ["new"])
                        throw Refusal()
                    }
                } catch is Refusal { told.note("refused") }
            }
            // The writer goes on meanwhile.
            group.addTask {
                try await self.write("newer", 1, database)
                told.note("next writer")
            }
            try await self.until { try disk.written()["1"] == "newer" }
            // Whoever is answered too early is by now: all of them are done but for the disk.
            await self.until { database.waiting == (0, 0) }
            for _ in 0..<2_000 { await Task.yield() }
            #expect(told.all == [])
            #expect(disk.durable["0"] == "" && disk.durable["1"] == "")
            disk.letGo()
            try await group.waitForAll()
        }
        #expect(Set(told.all) == ["writer", "reader of [\"new\"]", "refused", "next writer"])
        await database.close()
    }

    @Test("What many tasks are told is durable, in any order that they and the disk take")
    func whatIsToldIsDurable() async throws {
        let (database, disk) = try await self.store(ceremonies: 24)
        defer { self.remove() }
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<24 {
                group.addTask {
                    for turn in 0..<12 {
                        do {
                            let word = "\(turn)"
                            try await self.write(word, number, database)
                            #expect(disk.durable["\(number)"] == word)
                            let other = Int.random(in: 0..<24)
                            let seen = try await database.ceremony(.id("\(other)"))?.authenticators.first
                            // Written by others, who go on: it may be older than what is durable by now, and is never newer.
                            let durable = disk.durable["\(other)"].flatMap { Int($0) } ?? -1
                            #expect((seen.flatMap { Int($0) } ?? -1) <= durable)
                        } catch { Issue.record(error) }
                    }
                }
            }
        }
        await database.close()
    }

    @Test("A client is not remembered before what was read of it is durable")
    func clients() async throws {
        let (database, disk) = try await self.store(ceremonies: 1)
        defer { self.remove() }
        let before = disk.count
        disk.hold()
        let told = Told()
        let client = ClientRecord(
            id: "bank", name: "bank", redirectURIs: ["https://app.example/cb"], postLogoutRedirectURIs: [],
            secretDigest: nil, createdAt: self.now, settings: ClientSettings())
        let event = AuditEvent(AuditEvent.Kind(rawValue: "client"), at: self.now)
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { disk.letGo() }
            group.addTask { try await database.addClient(client, limit: 9, audit: event) }
            // It is committed, and on its way to the disk.
            await self.until { disk.count > before }
            for reader in ["first", "second"] {
                group.addTask {
                    let found = try await database.client("bank")
                    told.note("\(reader): \(found?.name ?? "")")
                }
                for _ in 0..<2_000 { await Task.yield() }
            }
            #expect(told.all == [])
            disk.letGo()
            try await group.waitForAll()
        }
        #expect(Set(told.all) == ["first: bank", "second: bank"])
        await database.close()
    }

    @Test("Steps that come while the disk is busy are durable together")
    func oneForMany() async throws {
        // As many as the writer may be ahead: each may get a commit of its own.
        let steps = Limits.Fixed.commitsAhead
        let (database, disk) = try await self.store(ceremonies: steps)
        defer { self.remove() }
        disk.hold()
        let before = disk.count
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { disk.letGo() }
            for number in 0..<steps { group.addTask { try await self.write("new", number, database) } }
            try await self.until { try disk.written().values.allSatisfy { $0 == "new" } }
            disk.letGo()
            try await group.waitForAll()
        }
        // The one that was held, and one for all that came meanwhile.
        #expect(disk.count - before <= 2)
        await database.close()
    }

    @Test("The writer is never further ahead of a slow disk than so many commits")
    func aSlowDisk() async throws {
        let ahead = Limits.Fixed.commitsAhead
        let (database, disk) = try await self.store(ceremonies: ahead + 3)
        defer { self.remove() }
        disk.hold()
        func written() throws -> Int { try disk.written().values.filter { $0 == "new" }.count }
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { disk.letGo() }
            for number in 0..<ahead {
                group.addTask { try await self.write("new", number, database) }
                // Each of them in a commit of its own.
                try await self.until { try written() == number + 1 }
            }
            for number in ahead..<(ahead + 3) { group.addTask { try await self.write("new", number, database) } }
            for _ in 0..<2_000 { await Task.yield() }
            #expect(try written() == ahead)
            disk.letGo()
            try await group.waitForAll()
        }
        #expect(try written() == ahead + 3)
        await database.close()
    }

    @Test("Refusals alone do not go to the disk")
    func refusalsCostNothing() async throws {
        let (database, disk) = try await self.store(ceremonies: 1)
        defer { self.remove() }
        let before = disk.count
        for _ in 0..<5 {
            await #expect(throws: Refusal.self) {
                _ = try await database.change(.id("0")) { _ in throw Refusal() }
            }
        }
        #expect(disk.count == before)
        await database.close()
    }

    @Test("After a disk has failed nothing is done and nothing shown until the store is opened anew")
    func aDiskThatFails() async throws {
        let (database, disk) = try await self.store(ceremonies: 1)
        defer { self.remove() }
        disk.break()
        await #expect(throws: StoreError(.unavailable, "")) { try await self.write("lost", 0, database) }
        disk.mend()
        await #expect(throws: StoreError(.unavailable, "")) { try await self.write("later", 0, database) }
        await #expect(throws: StoreError(.unavailable, "")) { try await database.ceremony(.id("0")) }
        await #expect(throws: StoreError(.unavailable, "")) { try await database.assertWritable() }
        await #expect(throws: StoreError(.unavailable, "")) {
            _ = try await database.change(.id("0")) { _ in throw Refusal() }
        }
        #expect(try disk.written()["0"] == "lost")
        // Nor does what may be nowhere but in memory come into the file.
        let files = try self.files(in: self.folder)
        await database.close()
        #expect(try self.files(in: self.folder) == files)
        let again = try SQLStore(folder: self.folder, key: self.key)
        try await self.write("found", 0, again)
        #expect(try await again.ceremony(.id("0"))?.authenticators == ["found"])
        await again.close()
    }

    @Test("What waits for the disk is finished before the store is closed")
    func closing() async throws {
        let (database, disk) = try await self.store(ceremonies: 1)
        defer { self.remove() }
        disk.hold()
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { disk.letGo() }
            group.addTask { try await self.write("last", 0, database) }
            try await self.until { try disk.written()["0"] == "last" }
            group.addTask { await database.close() }
            for _ in 0..<200 { await Task.yield() }
            disk.letGo()
            try await group.waitForAll()
        }
        #expect(disk.durable["0"] == "last")
    }

    @Test("A log is written once more over itself before a store is opened with it")
    func rewriting() async throws {
        let (database, _) = try await self.store(ceremonies: 1)
        defer { self.remove() }
        try await self.write("new", 0, database)
        // As it is where a server was killed.
        let killed = self.folder + "/killed"
        try FileManager.default.createDirectory(atPath: killed, withIntermediateDirectories: false)
        for name in ["/countersign.sqlite", "/countersign.sqlite-wal"] {
            try FileManager.default.copyItem(atPath: self.folder + name, toPath: killed + name)
        }
        let log = killed + "/countersign.sqlite-wal"
        let past = Date(timeIntervalSince1970: 1_000_000_000)
        try FileManager.default.setAttributes([.modificationDate: past], ofItemAtPath: log)
        let before = try self.files(in: killed)
        let again = try SQLStore(folder: killed, key: self.key)
        let written = try #require(
            try FileManager.default.attributesOfItem(atPath: log)[.modificationDate] as? Date)
        #expect(written > past)
        #expect(try self.files(in: killed) == before)
        #expect(try await again.ceremony(.id("0"))?.authenticators == ["new"])
        await again.close()
        await database.close()
    }

    @Test("Where the database's file is a link to another disk, so is its log, and a store opens on it as on any other")
    func aLinkedFile() async throws {
        let (database, _) = try await self.store(ceremonies: 1)
        defer { self.remove() }
        await database.close()
        let place = self.folder + "/countersign.sqlite"
        let other = self.folder + "/other"
        try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: true)
        for suffix in ["", "-wal"] {
            try FileManager.default.moveItem(atPath: place + suffix, toPath: other + "/moved.sqlite" + suffix)
        }
        try FileManager.default.createSymbolicLink(atPath: place, withDestinationPath: other + "/moved.sqlite")
        let linked = try SQLStore(folder: self.folder, key: self.key)
        try await self.write("new", 0, linked)
        #expect(!FileManager.default.fileExists(atPath: place + "-wal"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: other + "/moved.sqlite-wal")).count > 32)
        await linked.close()
        #expect(try Data(contentsOf: URL(fileURLWithPath: other + "/moved.sqlite-wal")).count == 32)
        let again = try SQLStore(folder: self.folder, key: self.key)
        #expect(try await again.ceremony(.id("0"))?.authenticators == ["new"])
        await again.close()
    }

    @Test("A store whose log cannot be made durable does not open")
    func opening() async throws {
        defer { self.remove() }
        #expect(throws: StoreError(.unavailable, "")) {
            _ = try SQLStore(folder: self.folder, keys: KeyRing(self.key)) { _ in
                throw StoreError(.unavailable, "the disk is gone")
            }
        }
        let database = try SQLStore(folder: self.folder, key: self.key)
        try await database.assertWritable()
        await database.close()
    }
}
