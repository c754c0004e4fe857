import Ceremony
import CeremonyEngine
import Crypto
import Foundation
import SQLiteStore
import Store
import Testing
import UAF
import _Primitives

@Suite("Identity sessions: factors and what wrong ones cost (identity parity, rows 40 to 59)")
struct IdentityLockoutTests {
    /// A session that waits for factors.
    private func prepared(
        factors: [AuthenticatorType] = [.device, .pin],
        _ adjust: (inout CeremonyConfiguration) -> Void = { _ in }
    ) async throws -> (server: TestServer, phone: IdentityPhone, session: String, prepared: PreparedSession) {
        let server = try TestServer(adjust)
        try await server.addService()
        let (_, phone) = try await server.personalise(factors: factors)
        let (session, prepared) = try await self.next("request", phone)
        return (server, phone, session, prepared)
    }

    private func next(_ reference: String, _ phone: IdentityPhone) async throws -> (String, PreparedSession) {
        let code = try await phone.server.showCode(reference)
        _ = try await phone.start(code)
        return (code.id, try await phone.prepared(code.id))
    }

    @Test("rows 40, 41") func eitherAlternativeIsTaken() async throws {
        let (server, phone, session, prepared) = try await self.prepared(factors: [.device, .pin, .biometric])
        guard case .accepted = try await phone.finish(session, prepared, [.device, .pin]) else {
            Issue.record("refused")
            return
        }
        let (second, again) = try await self.next("second", phone)
        guard case .accepted = try await phone.finish(second, again, [.biometric, .device]) else {
            Issue.record("refused")
            return
        }
        let trail = try await server.database.auditEntries(after: 0, limit: 100).map(\.event)
            .filter { $0.kind.rawValue == "identity-finished" }
        let pins = try await server.database.credentials(accountID: trail[0].accountID ?? "")
            .filter { $0.aaid == ServerPinModel.aaid.text }
        #expect(trail.count == 2 && trail[0].detail?.contains("document=") ?? false)
        #expect(trail[0].detail?.contains(pins[0].id) ?? false)
    }

    /// Each of them is answered as the others are, to the size.
    @Test(
        "rows 42 to 45, 49",
        arguments: [
            [AuthenticatorType.pin], [.pin, .biometric], [.device], [.biometric], [.device, .pin, .biometric], [],
        ])
    func whatIsNoAlternativeLocks(types: [AuthenticatorType]) async throws {
        let (server, phone, session, prepared) = try await self.prepared(factors: [.device, .pin, .biometric])
        let wrong = try await self.prepared(factors: [.device, .pin, .biometric])
        let call = try await phone.finishCall(session, prepared, types)
        let reply = try await server.engine.identities.finishes.finish(session, call)
        #expect(reply.status == .answered && reply.refusal == nil)
        guard case .lockout(let refused) = try await phone.read(reply, to: call, as: FinishResponse.self) else {
            Issue.record("accepted \(types)")
            return
        }
        #expect(!refused.lockout.isPermanent)
        #expect(refused.lockout.lockedUntil == server.clock.now + .seconds(5))
        let missed = try await wrong.phone.finishCall(wrong.session, wrong.prepared, [.device, .pin]) { factor in
            if factor.type == .pin { factor.key = P256.Signing.PrivateKey() }
        }
        let other = try await wrong.server.engine.identities.finishes.finish(wrong.session, missed)
        #expect(reply.body.count == other.body.count)
        #expect(reply.status == other.status)
        #expect(try await server.lockout(of: phone)?.failuresInARow == 1)
    }

    @Test("rows 44, 45") func keysOfAnotherActivationAndWrongSignaturesLock() async throws {
        let (server, phone, session, prepared) = try await self.prepared()
        let (_, stranger) = try await server.personalise("bob")
        let answer = try await phone.finish(session, prepared) { factor in
            if factor.type == .device, let other = stranger.factors[.device] { factor = other }
        }
        guard case .lockout = answer else {
            Issue.record("accepted")
            return
        }
        server.clock.advance(.seconds(6))
        #expect(try await server.lockout(of: stranger) == LockoutRecord())
    }

    /// What cannot be opened is an attempt like any other.
    @Test func whatIsNotSealedForTheSessionLocks() async throws {
        let (server, phone, session, prepared) = try await self.prepared()
        let call = try phone.call("/identity/sessions/\(session)/finish", body: Array("{}".utf8))
        let reply = try await server.engine.identities.finishes.finish(session, call)
        guard case .lockout(let refused) = try await phone.read(reply, to: call, as: FinishResponse.self) else {
            Issue.record("accepted")
            return
        }
        #expect(refused.next?.document.count == prepared.document.count)
        #expect(try await server.lockout(of: phone)?.failuresInARow == 1)
    }

    @Test("rows 48, 51, 52") func afterTheRestTheSessionGoesOnWithAnotherDocument() async throws {
        let (server, phone, session, prepared) = try await self.prepared()
        let refused = try await phone.miss(session, prepared)
        let next = try #require(refused.next)
        let (before, after) = (
            try SessionDocument(parsing: prepared.document), try SessionDocument(parsing: next.document)
        )
        #expect(after.isRenewal(of: before))
        server.clock.advance(.seconds(6))
        // What was signed before counts no more.
        guard case .lockout(let second) = try await phone.finish(session, prepared) else {
            Issue.record("accepted")
            return
        }
        #expect(second.lockout.lockedUntil == server.clock.now + .seconds(15))
        server.clock.advance(.seconds(16))
        guard case .accepted = try await phone.finish(session, try #require(second.next)) else {
            Issue.record("refused")
            return
        }
    }

    @Test("row 53") func aRequestWhileALockoutRunsEndsTheSession() async throws {
        let (server, phone, session, prepared) = try await self.prepared()
        let next = try #require(try await phone.miss(session, prepared).next)
        do {
            _ = try await phone.finish(session, next)
            Issue.record("judged")
        } catch let problem as IdentityProblem {
            #expect(problem.code == .lockedOut)
            #expect(problem.lockout?.lockedUntil == server.clock.now + .seconds(5))
        }
        server.clock.advance(.seconds(6))
        await expectRefusal(.lockedOut) { () async throws in
            _ = try await phone.finish(session, next)
        }
        #expect(try await server.lockout(of: phone)?.failuresInARow == 1)
        #expect(try await server.engine.signIns.state(reference: "request", browser: server.browser) == .failed)
    }

    @Test("row 53") func aSessionIsNotClaimedWhileALockoutRuns() async throws {
        let (server, phone, session, prepared) = try await self.prepared()
        _ = try await phone.miss(session, prepared)
        let code = try await server.showCode("next")
        await expectRefusal(.lockedOut) { () async throws in _ = try await phone.start(code) }
        server.clock.advance(.seconds(6))
        _ = try await phone.start(code)
    }

    @Test("rows 54, 58") func restsGrowAndASuccessEndsTheRow() async throws {
        let (server, phone, session, prepared) = try await self.prepared()
        var next = prepared
        for seconds in [5, 15, 60] {
            let refused = try await phone.miss(session, next)
            #expect(refused.lockout.lockedUntil == server.clock.now + .seconds(seconds))
            next = try #require(refused.next)
            server.clock.advance(.seconds(seconds + 1))
        }
        guard case .accepted = try await phone.finish(session, next) else {
            Issue.record("refused")
            return
        }
        let lockout = try #require(try await server.lockout(of: phone))
        #expect(lockout.failuresInARow == 0 && lockout.lockedUntil == nil && lockout.reservation == nil)
        #expect(lockout.failures.count == 3, "those of the window stay")
    }

    @Test("rows 55, 56") func tooManyFailuresDisableTheActivationAndNoOther() async throws {
        let (server, phone, session, prepared) = try await self.prepared { configuration in
            configuration.limits.lockoutFailuresInARow = 2
            configuration.limits.lockoutSeconds = [1]
        }
        let account = try #require(try await server.database.activation(id: phone.id)?.device.accountID)
        let owner = try #require(try await server.database.account(id: account))
        let other = try await server.addIdentity(to: owner)
        let pending = try await server.showCode("pending")
        _ = try await phone.start(pending)
        let next = try #require(try await phone.miss(session, prepared).next)
        server.clock.advance(.seconds(2))
        let refused = try await phone.miss(session, next)
        #expect(refused.lockout.isPermanent && refused.next == nil)
        #expect(try await server.database.activation(id: phone.id)?.isActive == false)
        let code = try await server.showCode("next")
        await #expect(throws: IdentityProblem(.activationDisabled)) { () async throws in
            _ = try await phone.start(code)
        }
        await #expect(throws: IdentityProblem(.activationDisabled)) { () async throws in
            _ = try await phone.prepare(pending.id)
        }
        #expect(try await other.login(code).roleName == "Patient")
    }

    @Test("A last attempt that is right is right also where its answer was lost and it comes again")
    func theLastAttemptComesAgain() async throws {
        let (server, phone, session, prepared) = try await self.prepared { configuration in
            configuration.limits.lockoutFailuresInARow = 1
        }
        let call = try await phone.finishCall(session, prepared, [.device, .pin])
        let hash = Array(SHA256.hash(data: Array(try #require(call.proof).utf8)))
        // As the server is left that stopped between counting the attempt and judging it.
        let limits = server.engine.configuration.limits
        let step: IdentityStep<Void> = try await server.database.step(
            session: session, activation: phone.id, tokenDigest: nil, request: nil
        ) { scene in
            var lockout = Lockout(scene.activation.lockout)
            _ = lockout.reserve(request: hash, at: scene.ceremony.changedAt, limits: limits)
            scene.activation.lockout = lockout.record
            return (IdentityChange(), ())
        }
        guard case .decided = step else {
            Issue.record("not written")
            return
        }
        #expect(try await server.lockout(of: phone)?.isPermanent == true)
        let reply = try await server.engine.identities.finishes.finish(session, call)
        let answer: FinishResponse = try await phone.read(reply, to: call)
        guard case .accepted = answer else {
            Issue.record("\(answer)")
            return
        }
        #expect(try await server.lockout(of: phone)?.isPermanent == false)
    }

    @Test("row 57") func ofManyAttemptsAtOnceOneIsJudged() async throws {
        let (server, phone, session, prepared) = try await self.prepared()
        var calls: [IdentityCall] = []
        for _ in 0..<50 {
            calls.append(
                try await phone.finishCall(session, prepared, [.device, .pin]) { factor in
                    if factor.type == .pin { factor.key = P256.Signing.PrivateKey() }
                })
        }
        let codes = try await withThrowingTaskGroup(of: String.self) { group in
            for call in calls {
                group.addTask {
                    let reply = try await server.engine.identities.finishes.finish(session, call)
                    switch try await server.content(of: reply, to: call) {
                    case .message: return "judged"
                    case .refusal(let problem): return problem.code.rawValue
                    }
                }
            }
            var codes: [String] = []
            for try await code in group { codes.append(code) }
            return codes
        }
        #expect(codes.filter { $0 == "judged" }.count == 1)
        #expect(codes.filter { $0 == "lockedOut" }.count == 49)
        #expect(try await server.lockout(of: phone)?.failuresInARow == 1)
        #expect(try await server.lockout(of: phone)?.failures.count == 1)
    }

    @Test("row 59") func whoProvesNothingCountsForNothing() async throws {
        let (server, phone, session, prepared) = try await self.prepared()
        let (_, stranger) = try await server.personalise("mallory")
        let proven = try await phone.finishCall(session, prepared, [.device])
        let stolen = try await stranger.finishCall(session, prepared, [.device])
        for index in 0..<100 {
            var call = proven
            switch index % 4 {
            case 0: call.proof = nil
            case 1: call.proof = "nonsense"
            case 2: call.body += [32]
            default: call.path += "x"
            }
            let reply = try await server.engine.identities.finishes.finish(session, call)
            #expect(reply.status == .notProven)
        }
        #expect(try await server.engine.identities.finishes.finish(session, stolen).refusal == "notProven")
        #expect(try await server.lockout(of: phone) == LockoutRecord())
        #expect(try await server.lockout(of: stranger) == LockoutRecord())
        guard case .accepted = try await phone.finish(session, prepared) else {
            Issue.record("refused")
            return
        }
    }

    @Test func aNetworkThatProvesNothingIsTurnedAway() async throws {
        let (server, phone, session, prepared) = try await self.prepared { $0.limits.guessBurst = 3 }
        var call = try await phone.finishCall(session, prepared, [.device])
        call.proof = nil
        call.source = "192.0.2.7"
        for _ in 0..<3 {
            #expect(try await server.engine.identities.finishes.finish(session, call).status == .notProven)
        }
        guard case .tooMany = try await server.engine.identities.finishes.finish(session, call).status else {
            Issue.record("not turned away")
            return
        }
        var right = try await phone.finishCall(session, prepared, [.device, .pin])
        right.source = "192.0.2.7"
        #expect(try await server.engine.identities.finishes.finish(session, right).status == .answered)
    }
}
