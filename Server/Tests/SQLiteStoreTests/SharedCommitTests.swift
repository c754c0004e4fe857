import Dispatch
import Foundation
import Records
import SQLStore
import SQLiteStore
import Sealing
import Synchronization
import Testing
import _Primitives

#if canImport(Glibc)
    import Glibc
#endif

@Suite("SQLite store: steps that share a commit (decision 86)")
struct SharedCommitTests {
    /// What a step does.
    enum Kind: CaseIterable, Sendable {
        /// It changes a ceremony and adds to the trail.
        case succeeds
        /// It refuses before it has written anything.
        case refuses
        /// It has changed a ceremony by the time that it fails.
        case failsLate
    }

    private struct Refusal: Error {}

    /// A database whose steps fail after their last write, where the task wants that.
    private struct LateFailures: SQLDatabase {
        @TaskLocal static var areWanted = false

        let database: any SQLDatabase

        var sealing: Sealing { self.database.sealing }
        var knownClients: KnownClients { self.database.knownClients }
        var waiting: (steps: Int, reads: Int) { self.database.waiting }

        func step<Result: Sendable>(
            _ step: Step, _ body: @escaping @Sendable (SQLConnection) throws -> Result
        ) async throws -> Result {
            let isWanted = Self.areWanted
            return try await self.database.step(step) { db in
                let result = try body(db)
                if isWanted { throw StoreError(.notFound, "") }
                return result
            }
        }

        func step<Found: Sendable, Result: Sendable>(
            _ step: Step, screenedBy screen: @escaping @Sendable (SQLConnection) throws -> Screening<Found, Result>,
            _ body: @escaping @Sendable (SQLConnection, Found) throws -> Result
        ) async throws -> Result {
            try await self.database.step(step, screenedBy: screen, body)
        }

        func read<Result: Sendable>(
            _ body: @escaping @Sendable (SQLConnection) throws -> Result
        ) async throws -> Result {
            try await self.database.read(body)
        }

        func close() async { await self.database.close() }
    }

    private let now = Timestamp(seconds: 1_800_000_000)

    /// A store with a ceremony for each of `count` steps, and one for the step that holds the writer.
    private func store(steps count: Int, of client: String? = nil, progress: [UInt8]? = nil) async throws
        -> TemporaryStore
    {
        let store = try TemporaryStore(decorate: { LateFailures(database: $0) })
        for number in 0...count {
            var ceremony = CeremonyRecord(
                id: "\(number)", kind: .transaction, clientID: client, createdAt: self.now,
                expiresAt: self.now + .seconds(60), detail: CeremonyDetail())
            ceremony.progress = progress
            try await store.database.createCeremony(ceremony, tokens: [], audit: nil)
        }
        return store
    }

    /// Takes a step of a kind, which looks around before it writes. Throws what it throws.
    private func step(
        _ kind: Kind, _ number: Int, _ database: SQLStore,
        looking look: @escaping @Sendable () throws -> Void = {}
    ) async throws {
        let now = self.now
        _ = try await LateFailures.$areWanted.withValue(kind == .failsLate) {
            try await database.change(.id("\(number)")) { ceremony in
                try look()
                guard kind != .refuses else { throw Refusal() }
                ceremony.authenticators = ["changed"]
                ceremony.changedAt = now
                var change = CeremonyChange()
                change.audit = [AuditEvent(AuditEvent.Kind(rawValue: "step"), at: now, ceremonyID: "\(number)")]
                return change
            }
        }
    }

    /// Has all steps wait for the writer, which a step of one more ceremony holds, so that the steps share a commit; returns the
    /// numbers of the steps that threw. Nothing but the waiting steps ends the wait: a lock of the file would end by its own
    /// time on a slow machine.
    private func together(
        _ kinds: [Kind], in store: TemporaryStore, looking look: @escaping @Sendable () throws -> Void = {}
    ) async throws -> Set<Int> {
        let database = store.database
        let released = DispatchSemaphore(value: 0)
        let (began, begin) = AsyncStream.makeStream(of: Void.self)
        let holding = Task {
            _ = try await database.change(.id("\(kinds.count)")) { _ in
                begin.finish()
                released.wait()
                return CeremonyChange()
            }
        }
        for await _ in began {}
        let failed = await withTaskGroup(of: Int?.self) { group in
            for (number, kind) in kinds.enumerated() {
                group.addTask {
                    do { try await self.step(kind, number, database, looking: look) } catch { return number }
                    return nil
                }
            }
            while database.waiting.steps < kinds.count { await Task.yield() }
            released.signal()
            var failed: Set<Int> = []
            for await number in group { if let number { failed.insert(number) } }
            return failed
        }
        try await holding.value
        return failed
    }

    /// What is in the store afterwards is what each step by itself would have left.
    private func check(_ kinds: [Kind], failed: Set<Int>, in store: TemporaryStore) async throws {
        let successes = kinds.indices.filter { kinds[$0] == .succeeds }
        #expect(failed == Set(kinds.indices).subtracting(successes))
        var changed: [Int] = []
        for number in kinds.indices {
            let ceremony = try await store.database.ceremony(.id("\(number)"))
            if ceremony?.authenticators == ["changed"] { changed.append(number) }
        }
        #expect(changed == successes, "\(kinds)")
        let trail = try await store.database.auditEntries(after: 0, limit: 999).compactMap(\.event.ceremonyID)
        #expect(Set(trail) == Set(successes.map(String.init)) && trail.count == successes.count, "\(kinds)")
        #expect(try await store.database.verifyAudit() == .intact(entries: Int64(successes.count)))
    }

    @Test(
        "A step that fails leaves nothing and does not touch its neighbours, whatever it had written",
        arguments: [
            [.succeeds, .failsLate, .succeeds], [.failsLate, .succeeds, .succeeds], [.succeeds, .succeeds, .failsLate],
            [.refuses, .succeeds, .refuses], [.failsLate, .refuses, .failsLate, .succeeds], [.failsLate, .failsLate],
        ] as [[Kind]])
    func batches(kinds: [Kind]) async throws {
        let store = try await self.store(steps: kinds.count)
        try await self.check(kinds, failed: self.together(kinds, in: store), in: store)
    }

    @Test("Batches of any steps", arguments: 0..<12)
    func anyBatches(_: Int) async throws {
        let kinds = (0..<Int.random(in: 2...40)).map { _ in Kind.allCases.randomElement() ?? .succeeds }
        let store = try await self.store(steps: kinds.count)
        try await self.check(kinds, failed: self.together(kinds, in: store), in: store)
    }

    @Test("A step that is alone leaves nothing where it fails", arguments: [Kind.refuses, .failsLate])
    func alone(kind: Kind) async throws {
        let store = try await self.store(steps: 1)
        await #expect(throws: (any Error).self) { try await self.step(kind, 0, store.database) }
        try await self.check([kind], failed: [0], in: store)
        try await self.step(.succeeds, 0, store.database)
        try await self.check([.succeeds], failed: [], in: store)
    }

    /// What is told of a failure is the step's own, not that of the batch.
    @Test func aFailureIsTheStepsOwn() async throws {
        let store = try await self.store(steps: 1)
        await #expect(throws: Refusal.self) { try await self.step(.refuses, 0, store.database) }
        await #expect(throws: StoreError(.notFound, "")) { try await self.step(.failsLate, 0, store.database) }
    }
}

#if canImport(Glibc)
    extension SharedCommitTests {
        /// What each look of a step for files has found.
        private final class Looks: Sendable {
            let found = Mutex<[Bool]>([])
        }

        /// Whether a text is in a file that SQLite has made for itself. Such a file is open, and has no name any more.
        private static func isInTemporaryFile(_ text: String) throws -> Bool {
            let folder = "/proc/self/fd/"
            let wanted = Data(text.utf8)
            return try FileManager.default.contentsOfDirectory(atPath: folder).contains { name in
                // Other tests close theirs meanwhile.
                guard let file = try? FileManager.default.destinationOfSymbolicLink(atPath: folder + name),
                    file.contains("/etilqs_"), let descriptor = Int32(name)
                else { return false }
                var bytes = [UInt8](repeating: 0, count: 1 << 20)
                // Not opened once more: where a database has its number by now, to close that would end the database's locks.
                let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
                return Data(bytes.prefix(max(count, 0))).range(of: wanted) != nil
            }
        }

        @Test("What a step might have to undo goes into no file, however much it is") func undoneInMemory() async throws
        {
            let kinds: [Kind] = [.succeeds, .failsLate, .succeeds, .failsLate]
            let client = UUID().uuidString
            // A row whose length changes is written anew with all its pages: here more than the 64 KiB that SQLite keeps in
            // memory in any case.
            let store = try await self.store(
                steps: kinds.count, of: client, progress: [UInt8](repeating: 0, count: 200_000))
            let looks = Looks()
            let failed = try await self.together(kinds, in: store) {
                let isFound = try Self.isInTemporaryFile(client)
                looks.found.withLock { $0.append(isFound) }
            }
            try await self.check(kinds, failed: failed, in: store)
            let found = looks.found.withLock { $0 }
            // They were done anew in savepoints, where each comes after one that had much to undo.
            #expect(found.count > kinds.count && !found.contains(true))
        }
    }
#endif
