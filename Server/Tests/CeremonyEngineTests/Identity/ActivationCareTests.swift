import Ceremony
import CeremonyEngine
import Records
import SQLStore
import Settings
import Testing
import UAF
import _Primitives

@Suite("What operators do for an activation that rests, or whose finger is lost (decision 84)")
struct ActivationCareTests {
    private func place(
        factors: [AuthenticatorType] = [.device, .pin], _ adjust: (inout CeremonyConfiguration) -> Void = { _ in }
    ) async throws -> (server: TestServer, account: AccountRecord, phone: IdentityPhone) {
        let server = try TestServer(adjust)
        try await server.addService()
        let (account, phone) = try await server.personalise(factors: factors)
        return (server, account, phone)
    }

    private func prepared(_ reference: String, _ phone: IdentityPhone) async throws -> (String, PreparedSession) {
        let code = try await phone.server.showCode(reference)
        _ = try await phone.start(code)
        return (code.id, try await phone.prepared(code.id))
    }

    private func entries(_ server: TestServer, _ kind: String) async throws -> [AuditEvent] {
        try await server.database.auditEntries(after: 0, limit: 999).map(\.event).filter { $0.kind.rawValue == kind }
    }

    @Test("A rest is lifted: the phone signs in at once, and the attempts stay counted, in their row and in the window")
    func lift() async throws {
        let (server, account, phone) = try await self.place()
        let care = server.engine.identities.care
        // Where nothing rests nothing is lifted, and the trail does not say that it was.
        #expect(try await care.lift(phone.id, accountID: account.id, by: "ann") == .lifted)
        #expect(try await self.entries(server, "lockout-lifted").isEmpty)

        let (session, prepared) = try await self.prepared("first", phone)
        let next = try #require(try await phone.miss(session, prepared).next)
        let code = try await server.showCode("next")
        await expectRefusal(.lockedOut) { () async throws in _ = try await phone.start(code) }
        let (other, _) = try await server.personalise("bob")
        #expect(try await care.lift(phone.id, accountID: other.id, by: "ann") == nil)
        #expect(try await care.lift("none", accountID: account.id, by: "ann") == nil)
        await expectRefusal(.lockedOut) { () async throws in _ = try await phone.start(code) }

        #expect(try await care.lift(phone.id, accountID: account.id, by: "ann") == .lifted)
        let lockout = try #require(try await server.lockout(of: phone))
        #expect(lockout.failuresInARow == 1 && lockout.lockedUntil == nil && lockout.failures.count == 1)
        // What rests no more is lifted no more.
        #expect(try await care.lift(phone.id, accountID: account.id, by: "ann") == .lifted)
        let entries = try await self.entries(server, "lockout-lifted")
        #expect(entries.map(\.actor) == ["ann"] && entries.map(\.detail) == [phone.id])
        #expect(entries.map(\.accountID) == [account.id])
        #expect(try await phone.login(code).purpose == .userLogin)
        // The session that counts the seconds down goes on when they are over.
        server.clock.advance(.seconds(6))
        guard case .accepted = try await phone.finish(session, next) else {
            Issue.record("refused")
            return
        }
    }

    @Test("What is disabled for good stays so, and its person needs another code")
    func permanent() async throws {
        let (server, account, phone) = try await self.place { $0.limits.lockoutFailuresInARow = 1 }
        let (session, prepared) = try await self.prepared("first", phone)
        #expect(try await phone.miss(session, prepared).lockout.isPermanent)
        let before = try await server.lockout(of: phone)
        let care = server.engine.identities.care
        #expect(try await care.lift(phone.id, accountID: account.id, by: "ann") == .permanent)
        #expect(try await server.lockout(of: phone) == before)
        #expect(try await self.entries(server, "lockout-lifted").isEmpty)
    }

    @Test(
        "Who has each rest lifted gets no more attempts than without: not in a row, and not in the window",
        arguments: [(row: 3, window: 100), (row: 10, window: 3)])
    func attempts(row: Int, window: Int) async throws {
        let (server, account, phone) = try await self.place {
            $0.limits.lockoutFailuresInARow = row
            $0.limits.lockoutFailuresInWindow = window
        }
        for attempt in 1...3 {
            let (session, prepared) = try await self.prepared("attempt-\(attempt)", phone)
            #expect(try await phone.miss(session, prepared).lockout.isPermanent == (attempt == 3))
            let lifted = try await server.engine.identities.care.lift(phone.id, accountID: account.id, by: "ann")
            #expect(lifted == (attempt == 3 ? .permanent : .lifted))
            server.clock.advance(.seconds(1))
        }
    }

    @Test("An attempt that is being judged is not taken from its phone; one that nobody can settle any more has failed")
    func judged() async throws {
        // A rest that outlives what is judged.
        let (server, account, phone) = try await self.place { $0.limits.firstLockout = .seconds(900) }
        let (session, prepared) = try await self.prepared("first", phone)
        // As the server is between counting an attempt and judging it.
        let limits = server.engine.configuration.limits
        let now = server.clock.now
        let request = [UInt8](repeating: 7, count: 32)
        let counted: Bool? = try await server.database.step(onActivation: phone.id) { activation, _ in
            var lockout = Lockout(activation.lockout)
            _ = lockout.reserve(request: request, at: now, limits: limits)
            activation.lockout = lockout.record
            return (ActivationChange(), true)
        }
        #expect(counted == true)
        let before = try await server.lockout(of: phone)
        let care = server.engine.identities.care
        #expect(try await care.lift(phone.id, accountID: account.id, by: "ann") == .judging)
        #expect(try await server.lockout(of: phone) == before)
        server.clock.advance(.seconds(60))
        #expect(try await care.lift(phone.id, accountID: account.id, by: "ann") == .judging)
        server.clock.advance(DeviceProof.skew + DeviceProof.skew)
        #expect(try await care.lift(phone.id, accountID: account.id, by: "ann") == .lifted)
        let lockout = try #require(try await server.lockout(of: phone))
        #expect(lockout.reservation == nil && lockout.lockedUntil == nil && lockout.failuresInARow == 1)
        #expect(lockout.failures == [now])
        await expectRefusal(.sessionExpired) { () async throws in _ = try await phone.finish(session, prepared) }
    }

    @Test("Factors are listed without their keys, a finger is taken away, and the app goes on with its PIN")
    func finger() async throws {
        let (server, account, phone) = try await self.place(factors: [.device, .pin, .biometric])
        let care = server.engine.identities.care
        let factors = try #require(try await care.factors(ofActivation: phone.id, accountID: account.id))
        #expect(Set(factors.map(\.type)) == [.device, .pin, .biometric] && factors.count == 3)
        #expect(factors.allSatisfy { $0.isActive && $0.lastUsedAt == nil && $0.createdAt <= server.clock.now })
        let finger = try #require(factors.first { $0.type == .biometric })
        let (other, _) = try await server.personalise("bob")
        #expect(try await care.factors(ofActivation: phone.id, accountID: other.id) == nil)
        #expect(try await care.remove(finger.id, ofActivation: phone.id, accountID: other.id, by: "ann") == nil)
        #expect(try await care.remove("none", ofActivation: phone.id, accountID: account.id, by: "ann") == nil)
        for type in [AuthenticatorType.device, .pin] {
            let id = try #require(factors.first { $0.type == type }).id
            #expect(
                try await care.remove(id, ofActivation: phone.id, accountID: account.id, by: "ann") == .needed(type))
        }
        #expect(try await care.factors(ofActivation: phone.id, accountID: account.id) == factors)

        let (before, open) = try await self.prepared("before", phone)
        #expect(open.alternatives == [["pin", "device"], ["biometric", "device"]])
        #expect(try await care.remove(finger.id, ofActivation: phone.id, accountID: account.id, by: "ann") == .removed)
        #expect(try await care.remove(finger.id, ofActivation: phone.id, accountID: account.id, by: "ann") == nil)
        let left = try #require(try await care.factors(ofActivation: phone.id, accountID: account.id))
        #expect(Set(left.map(\.type)) == [.device, .pin])
        let entries = try await self.entries(server, "factor-removed")
        #expect(entries.map(\.actor) == ["ann"] && entries.map(\.detail) == ["\(phone.id) biometric"])
        let notices = try await server.database.notices(accountID: account.id, limit: 9)
        #expect(notices.count { $0.kind == .authenticatorsRemoved } == 1)

        // What was prepared before asks for the finger in vain; the PIN does as well.
        guard case .accepted = try await phone.finish(before, open) else {
            Issue.record("refused")
            return
        }
        let (session, prepared) = try await self.prepared("after", phone)
        #expect(prepared.alternatives == [["pin", "device"]])
        guard case .lockout = try await phone.finish(session, prepared, [.biometric, .device]) else {
            Issue.record("a finger that was taken away signs")
            return
        }
    }
}
