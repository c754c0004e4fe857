import Ceremony
import CeremonyEngine
import SQLiteStore
import Store
import Synchronization
import Testing
import UAF
import _Primitives

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
        let call = try await after.enrolCall(late, try await after.prove(offer))
        _ = try await late.read(
            try await after.engine.identities.enrolments.enroll(offer.id, call), to: call,
            as: Ceremony.ActivationRecord.self)
        _ = try await late.login(try await after.showCode("late"))
    }
}
