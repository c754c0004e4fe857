import Ceremony
import CeremonyEngine
import Dispatch
import Records
import SQLStore
import Sealing
import Synchronization
import Testing
import UAF
import _Primitives

/// Seals a store anew on a thread of its own, and holds it on the way until it may go on.
private final class HeldSealing: TaskExecutor {
    /// After so many pages of rows.
    private static let stop = 12
    private let thread = DispatchQueue(label: "sealing")
    private let released = DispatchSemaphore(value: 0)
    private let pages = Mutex(0)
    private let (beginning, begun) = AsyncStream.makeStream(of: Void.self)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.thread.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }

    /// Comes back once it is under way.
    func begin(
        _ reseal: @escaping @Sendable (_ told: @escaping @Sendable (Resealed) -> Void) async throws -> Resealed
    ) async -> Task<Resealed, any Error> {
        let task = Task(executorPreference: self) {
            defer { self.begun.finish() }
            return try await reseal { _ in
                let count = self.pages.withLock { pages in
                    pages += 1
                    return pages
                }
                if count == 1 { self.begun.finish() }
                if count == Self.stop { self.released.wait() }
            }
        }
        for await _ in self.beginning {}
        return task
    }

    func goOn() { self.released.signal() }
}

@Suite("Another key-encryption key (decision 47): identities sign in as before, meanwhile and afterwards")
struct IdentityKeyRotationTests {
    private let former = KeyEncryptionKey()
    private let newest = KeyEncryptionKey()

    private func reseal(_ server: TestServer, told: @escaping @Sendable (Resealed) -> Void = { _ in }) async throws
        -> Resealed
    {
        try await server.database.reseal(
            audit: { AuditEvent(AuditEvent.Kind(rawValue: "resealed"), at: server.clock.now) }, told: told)
    }

    /// Seals anew, and is cut off after so many pages of rows. Whether it has come to its end.
    private func reseal(_ server: TestServer, pages: Int) async throws -> Bool {
        let seen = Mutex(0)
        do {
            let resealed = try await Task {
                try await self.reseal(server) { _ in
                    let count = seen.withLock { seen in
                        seen += 1
                        return seen
                    }
                    if count > pages { withUnsafeCurrentTask { $0?.cancel() } }
                }
            }.value
            #expect(resealed.unreadable == 0)
            return true
        } catch is CancellationError {
            return false
        }
    }

    /// The server after a restart with these keys.
    private func restart(_ server: TestServer, _ keys: KeyRing) async throws -> TestServer {
        await server.database.close()
        return try TestServer(restarting: server, keys: keys)
    }

    private func finish(_ session: String, _ prepared: PreparedSession, on phone: IdentityPhone) async throws {
        guard case .accepted = try await phone.finish(session, prepared) else {
            Issue.record("refused")
            return
        }
    }

    @Test("wherever sealing anew has come to, a sign-in goes on with its next step, and others begin and end")
    func stages() async throws {
        let before = try TestServer(keys: KeyRing(self.former))
        try await before.addService()
        let (account, settled) = try await before.personalise()
        let other = try await before.addIdentity(to: account)
        let offer = try await before.offer(to: account)
        // One is begun and one is prepared when the server starts again.
        let begun = try await before.showCode("begun")
        let open = try await before.showCode("open")
        _ = try await other.start(open)
        let waiting = try await other.prepared(open.id)

        let server = try await self.restart(before, KeyRing(self.newest, former: [self.former]))
        let phone = IdentityPhone(settled, at: server)
        let slow = IdentityPhone(other, at: server)
        var (pages, stage, isDone) = (0, 0, false)
        var prepared: PreparedSession?
        while !isDone {
            isDone = try await self.reseal(server, pages: pages)
            let needed = try await server.database.sealingKeys()
            #expect(needed.count == (isDone ? 1 : 2))
            _ = try await phone.login(try await server.showCode("stage-\(stage)"))
            switch stage {
            case 0: _ = try await slow.start(begun)
            case 1: try await self.finish(open.id, waiting, on: slow)
            case 2: prepared = try await slow.prepared(begun.id)
            case 3: try await self.finish(begun.id, try #require(prepared), on: slow)
            default: break
            }
            (pages, stage) = (pages + 6, stage + 1)
        }
        #expect(stage > 4)
        #expect(try await server.database.sealingKeys() == [self.newest.identifier])

        // Without the former key everything is there: the phones, the code that waits, and the keys that are sealed to.
        let after = try await self.restart(server, KeyRing(self.newest))
        for phone in [phone, slow] {
            _ = try await IdentityPhone(phone, at: after).login(try await after.showCode("after-\(phone.id)"))
        }
        let late = IdentityPhone(after, id: offer.id, factors: [.device, .pin])
        let call = try await after.enrolCall(late, try await after.prove(offer, by: late))
        _ = try await late.read(
            try await after.engine.identities.enrolments.enroll(offer.id, call), to: call,
            as: ActivationReceipt.self)
        _ = try await late.login(try await after.showCode("late"))
    }

    @Test(
        "phones that sign in while everything is sealed anew are not kept from it, and nothing of theirs is left behind"
    )
    func atOnce() async throws {
        let before = try TestServer(keys: KeyRing(self.former))
        try await before.addService()
        var phones: [IdentityPhone] = []
        for name in ["alice", "bob", "carol"] { phones.append(try await before.personalise(name).phone) }
        let server = try await self.restart(before, KeyRing(self.newest, former: [self.former]))
        phones = phones.map { IdentityPhone($0, at: server) }
        let all = phones
        func signIn(_ round: String) async throws {
            try await withThrowingTaskGroup { group in
                for phone in all {
                    group.addTask { _ = try await phone.login(try await server.showCode("\(round)-\(phone.id)")) }
                }
                try await group.waitForAll()
            }
        }
        let held = HeldSealing()
        let sealing = await held.begin { told in try await self.reseal(server, told: told) }
        // The first ones begin and end while it is on its way; beside the others it comes to its end.
        let first: Result<Void, any Error>
        do { first = .success(try await signIn("first")) } catch { first = .failure(error) }
        #expect(try await server.database.sealingKeys().count == 2, "it is not done yet")
        held.goOn()
        try first.get()
        try await signIn("second")
        let resealed = try await sealing.value
        #expect(resealed.unreadable == 0 && resealed.resealed > 0)
        #expect(try await server.database.sealingKeys() == [self.newest.identifier])

        let after = try await self.restart(server, KeyRing(self.newest))
        for phone in phones {
            _ = try await IdentityPhone(phone, at: after).login(try await after.showCode("after-\(phone.id)"))
        }
    }
}
