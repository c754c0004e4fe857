import Accounts
import Ceremony
import CeremonyEngine
import Crypto
import Dispatch
import Records
import SQLStore
import Settings
import Synchronization
import Testing
import UAF
import _Primitives

/// Holds the judgement of factors back once their attempt is counted. A server draws the key of a new day there, when it
/// opens what was sealed to the one of before; what judges waits on a thread of its own, so that nobody else waits for it.
private final class JudgementGate: TaskExecutor {
    private let thread = DispatchQueue(label: "judgement")
    private let opened = DispatchSemaphore(value: 0)
    private let arrival = Mutex<AsyncStream<Void>.Continuation?>(nil)

    var random: RandomSource {
        RandomSource { count in
            let arrival = self.arrival.withLock { arrival in
                defer { arrival = nil }
                return arrival
            }
            if let arrival {
                arrival.finish()
                self.opened.wait()
            }
            return RandomSource.system.bytes(count)
        }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        self.thread.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }

    /// Has factors judged while something else happens.
    func judge(
        _ finish: @escaping @Sendable () async throws -> IdentityReply, meanwhile: () async throws -> Void
    ) async throws -> IdentityReply {
        let (arrived, arrival) = AsyncStream.makeStream(of: Void.self)
        self.arrival.withLock { $0 = arrival }
        let judging = Task(executorPreference: self) {
            defer { arrival.finish() }
            return try await finish()
        }
        for await _ in arrived {}
        let happened: Result<Void, any Error>
        do { happened = .success(try await meanwhile()) } catch { happened = .failure(error) }
        self.opened.signal()
        let reply = try await judging.value
        try happened.get()
        return reply
    }
}

@Suite("Sessions of identities: what happens while the last attempt that there is is judged")
struct IdentityRaceTests {
    /// A session that waits for factors at the end of a day, beside another one of the same activation.
    private struct Scene {
        let gate = JudgementGate()
        let server: TestServer
        let account: AccountRecord
        let phone: IdentityPhone
        let session: String
        let prepared: PreparedSession
        let other: ProcessCode

        init() async throws {
            self.server = try TestServer(random: self.gate.random) {
                $0.limits.lockoutFailuresInARow = 1
                $0.limits.firstLockout = .seconds(30)
            }
            try await self.server.addService()
            (self.account, self.phone) = try await self.server.personalise()
            self.server.clock.advance(Limits.Fixed.sealingKeyTurn - .seconds(1))
            self.other = try await self.server.showCode("other")
            _ = try await self.phone.start(self.other)
            let code = try await self.server.showCode()
            _ = try await self.phone.start(code)
            (self.session, self.prepared) = (code.id, try await self.phone.prepared(code.id))
        }

        /// The call that sends the factors.
        func call(isRight: Bool) async throws -> IdentityCall {
            try await self.phone.finishCall(self.session, self.prepared, [.device, .pin]) { factor in
                if factor.type == .pin, !isRight { factor.key = .init() }
            }
        }

        /// Has them judged on the next day, while something else happens.
        func judge(_ call: IdentityCall, meanwhile: () async throws -> Void) async throws -> IdentityReply {
            self.server.clock.advance(.seconds(2))
            let (server, session) = (self.server, self.session)
            return try await self.gate.judge({
                try await server.engine.identities.judgement.finish(session, call)
            }) {
                let lockout = try #require(try await server.lockout(of: self.phone))
                #expect(lockout.reservation != nil && lockout.isPermanent, "it is counted, and not judged yet")
                try await meanwhile()
            }
        }

        func read(_ reply: IdentityReply, _ call: IdentityCall) async throws -> FinishResponse {
            try await self.phone.read(reply, to: call)
        }

        func end(_ session: String, by step: String) async throws {
            let call = try self.phone.call("/identity/sessions/\(session)/\(step)", EmptyBody())
            let ends = self.server.engine.identities.control
            let reply = try await step == "abort" ? ends.abort(session, call) : ends.prolong(session, call)
            if case .refusal(let problem) = try await self.server.content(of: reply, to: call) { throw problem }
        }

        func state(_ reference: String) async throws -> SignInState {
            try await self.server.engine.signIns.state(reference: reference, browser: self.server.browser)
        }

        func keys() async throws -> Int {
            try await self.server.database.credentials(accountID: self.account.id).count
        }

        func disabled() async throws -> Int {
            try await self.server.database.auditEntries(after: 0, limit: 999)
                .count { $0.event.kind.rawValue == "activation-disabled" }
        }
    }

    enum Ender: CaseIterable { case browser, phone }

    @Test(
        "A session that is given up while its last attempt is judged: it was wrong all the same, and that is kept",
        .timeLimit(.minutes(10)), arguments: Ender.allCases)
    func givenUpMeanwhile(ender: Ender) async throws {
        let scene = try await Scene()
        let call = try await scene.call(isRight: false)
        let reply = try await scene.judge(call) { () async throws in
            switch ender {
            case .browser:
                try await scene.server.engine.signIns.cancel(reference: "request", browser: scene.server.browser)
            case .phone: try await scene.end(scene.session, by: "abort")
            }
        }
        await expectRefusal(.sessionAborted) { () async throws in _ = try await scene.read(reply, call) }
        let lockout = try #require(try await scene.server.lockout(of: scene.phone))
        #expect(lockout.isPermanent && lockout.reservation == nil, "it is settled")
        #expect(try await scene.keys() == 0, "what is disabled for the PIN's sake signs nowhere else either")
        #expect(try await scene.state("other") == .failed)
        #expect(try await scene.disabled() == 1)
        let again = try await scene.server.engine.identities.judgement.finish(scene.session, call)
        #expect(again.body == reply.body)
    }

    @Test("While the last attempt is judged other sessions rest, and end by nothing of it if it is right")
    func othersRest() async throws {
        let scene = try await Scene()
        let call = try await scene.call(isRight: true)
        // Other factors of the same session, which are as right.
        let second = try await scene.call(isRight: true)
        let until = scene.server.clock.now + .seconds(32)
        let third = try await scene.server.showCode("third")
        let reply = try await scene.judge(call) { () async throws in
            func rests(_ step: String, _ body: () async throws -> Void) async {
                let problem = await #expect(throws: IdentityProblem.self, "\(step)") { try await body() }
                #expect(problem?.code == .lockedOut && problem?.lockout?.lockedUntil == until, "\(step)")
            }
            await rests("prepare") { () async throws in _ = try await scene.phone.prepare(scene.other.id) }
            await rests("prolong") { () async throws in try await scene.end(scene.other.id, by: "prolong") }
            await rests("start") { () async throws in _ = try await scene.phone.start(third) }
            await rests("finish") { () async throws in
                let finishes = scene.server.engine.identities.judgement
                _ = try await scene.read(try await finishes.finish(scene.session, second), second)
            }
            #expect(try await scene.state("other") == .claimed)
            // The rest is over, and the server that judges has not said a word: nobody gets an attempt back by that.
            scene.server.clock.advance(.seconds(30))
            await expectRefusal(.activationDisabled) { () async throws in
                _ = try await scene.phone.prepare(scene.other.id)
            }
            #expect(try await scene.state("other") == .claimed)
        }
        guard case .accepted = try await scene.read(reply, call) else {
            Issue.record("refused")
            return
        }
        guard case .accepted = try await scene.phone.finish(scene.other.id, scene.phone.prepared(scene.other.id)) else {
            Issue.record("the other session is disturbed")
            return
        }
        #expect(try await scene.state("other") == .approved)
        #expect(try await scene.disabled() == 0)
    }

    @Test("An attempt that nobody has settled when its proof is over never will be right: other sessions end")
    func neverSettled() async throws {
        let scene = try await Scene()
        let call = try await scene.call(isRight: false)
        _ = try await scene.judge(call) { () async throws in
            scene.server.clock.advance(.seconds(121))
            await expectRefusal(.activationDisabled) { () async throws in
                _ = try await scene.phone.prepare(scene.other.id)
            }
            #expect(try await scene.state("other") == .failed)
        }
    }

    @Test("An account that is locked while a right attempt is judged signs nobody in; no attempt was wrong")
    func lockedMeanwhile() async throws {
        let scene = try await Scene()
        let directory = scene.server.directory
        let call = try await scene.call(isRight: true)
        let reply = try await scene.judge(call) { () async throws in
            _ = try await directory.setLocked(true, username: "alice", by: "test")
        }
        await expectRefusal(.activationDisabled) { () async throws in _ = try await scene.read(reply, call) }
        #expect(try await scene.state("request") == .failed)
        _ = try await directory.setLocked(false, username: "alice", by: "test")
        #expect(try await scene.server.lockout(of: scene.phone) == LockoutRecord())
    }

    @Test("An activation that an operator takes back while a right attempt is judged is gone, and signs nobody in")
    func takenBackMeanwhile() async throws {
        let scene = try await Scene()
        let call = try await scene.call(isRight: true)
        let reply = try await scene.judge(call) { () async throws in
            #expect(
                try await scene.server.engine.identities.listings.end(
                    scene.phone.id, accountID: scene.account.id, by: "test"))
        }
        await expectRefusal(.sessionUnknown) { () async throws in _ = try await scene.read(reply, call) }
        #expect(try await scene.server.database.activation(id: scene.phone.id) == nil)
        #expect(try await scene.state("request") != .approved)
    }

    @Test("What a lock has disabled stays so, when another session that waits for factors has right ones")
    func staysDisabled() async throws {
        let scene = try await Scene()
        let waiting = try await scene.phone.prepared(scene.other.id)
        let right = try await scene.phone.finishCall(scene.other.id, waiting, [.device, .pin])
        #expect(try await scene.phone.miss(scene.session, scene.prepared).lockout.isPermanent)
        let late = try await scene.server.engine.identities.judgement.finish(scene.other.id, right)
        #expect(late.refusal != nil)
        await expectRefusal(.activationDisabled) { () async throws in _ = try await scene.read(late, right) }
        #expect(try await scene.server.lockout(of: scene.phone)?.isPermanent == true)
        #expect(try await scene.state("other") == .failed)
        #expect(try await scene.keys() == 0)
    }
}
