import Accounts
import CeremonyEngine
import Dispatch
import Records
import SQLStore
import Synchronization
import Testing
import UAF
import _Primitives

/// Holds the store's writer back until the engine has verified an answer, which it tells by drawing random bytes.
private final class WriterGate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let isArmed = Mutex(false)

    var random: RandomSource {
        RandomSource { count in
            let opens = self.isArmed.withLock { isArmed in
                defer { isArmed = false }
                return isArmed
            }
            if opens { self.semaphore.signal() }
            return RandomSource.system.bytes(count)
        }
    }

    func arm() { self.isArmed.withLock { $0 = true } }
    func wait() { self.semaphore.wait() }
}

@Suite("uaf-sections §5.1: what changes between the verification of an answer and its record")
struct AnswerRaceTests {
    enum Change: Sendable, CaseIterable { case locked, deregistered }

    /// Answers while the writer is held back, until the answer is verified; `step` is what the writer does then, and
    /// `change` comes after it, both before the answer is recorded.
    private func answer<Answer: Sendable>(
        _ server: TestServer, _ gate: WriterGate, _ account: AccountRecord,
        step: @escaping @Sendable () -> CeremonyChange = { CeremonyChange() },
        change: (@Sendable () async throws -> Void)? = nil, _ answer: () async throws -> Answer
    ) async throws -> Answer {
        // Steps are done one after the other: what waits behind this one is done before the answer is written.
        let other = CeremonyRecord(
            id: "other", kind: .authentication, accountID: account.id, createdAt: server.clock.now,
            expiresAt: server.clock.now + .seconds(60), detail: CeremonyDetail())
        try await server.database.createCeremony(
            other, tokens: [], audit: AuditEvent(AuditEvent.Kind(rawValue: "test"), at: server.clock.now))
        let (began, begin) = AsyncStream.makeStream(of: Void.self)
        let holding = Task {
            try await server.database.change(.id("other")) { _ in
                begin.finish()
                gate.wait()
                return step()
            }
        }
        for await _ in began {}
        let changing = Task { try await change?() }
        while change != nil, server.database.waiting.steps == 0 { await Task.yield() }
        gate.arm()
        let result = try await answer()
        _ = try await holding.value
        try await changing.value
        return result
    }

    @Test(
        "A lock is 1403, a key that went is 1481; neither is a counter's fault", .timeLimit(.minutes(10)),
        arguments: Change.allCases)
    func changedMeanwhile(change: Change) async throws {
        let gate = WriterGate()
        let server = try TestServer(random: gate.random)
        let (account, phone) = try await server.enrol()
        let message = try phone.authenticate(try await server.claimSignIn(), counter: 2)
        let lock: @Sendable () async throws -> Void = {
            _ = try await server.directory.setLocked(true, username: "alice", by: "test")
        }
        let answer = try await self.answer(
            server, gate, account,
            step: {
                var step = CeremonyChange()
                if change == .deregistered { step.deregistration = .all }
                return step
            },
            change: change == .locked ? lock : nil
        ) {
            try await server.engine.authenticationAnswers.judge(message)
        }
        #expect(answer.response.statusCode == (change == .locked ? .forbidden : .unknownKeyID))
        let kinds = try await server.database.auditEntries(after: 0, limit: 999).map(\.event.kind.rawValue)
        #expect(!kinds.contains("counter-went-back") && kinds.last == "failed")
        #expect(try await server.engine.signIns.state(reference: "request", browser: server.browser) == .failed)
    }

    @Test("Where the account went with its ceremony, nothing was confirmed: 1491", .timeLimit(.minutes(10)))
    func deletedBeforeAConfirmation() async throws {
        let gate = WriterGate()
        let server = try TestServer(random: gate.random)
        let (account, phone) = try await server.enrol()
        let dispatched = try await server.dispatch("Pay 10 EUR", to: account)
        let request = try await server.engine.redemptions.redeem(
            token: try #require(dispatched.token), operation: .authentication)
        let message = try phone.authenticate(request, counter: 2)
        let answer = try await self.answer(
            server, gate, account, change: { try await server.directory.delete(username: "alice", by: "test") }
        ) {
            try await server.engine.authenticationAnswers.judge(message, source: "a")
        }
        #expect(
            answer.response == ServerResponse(statusCode: .invalidRequest, description: answer.response.description))
        #expect(answer.authenticated == nil)
        let kinds = try await server.database.auditEntries(after: 0, limit: 999).map(\.event.kind.rawValue)
        #expect(kinds.last == "account-deleted" && !kinds.contains("transaction-confirmed"))
    }

    @Test("Where the account went with its enrolment, nothing was registered: 1491", .timeLimit(.minutes(10)))
    func deletedBeforeARegistration() async throws {
        let gate = WriterGate()
        let server = try TestServer(random: gate.random)
        let account = try await server.directory.create(username: "alice", displayName: nil, by: "test")
        let enrolment = try await server.engine.enrolments.createEnrolmentLink(username: "alice", by: "test")
        let request = try await server.engine.redemptions.redeem(
            token: try TestPhone.token(enrolment.link), operation: .registration)
        let message = try TestPhone().register(request)
        let answer = try await self.answer(
            server, gate, account, change: { try await server.directory.delete(username: "alice", by: "test") }
        ) {
            try await server.engine.registrationAnswers.judge(message, source: "a")
        }
        #expect(answer.statusCode == .invalidRequest && answer.confirmation == nil)
        #expect(try await server.database.credentials(accountID: account.id).isEmpty)
        let kinds = try await server.database.auditEntries(after: 0, limit: 999).map(\.event.kind.rawValue)
        #expect(kinds.last == "account-deleted" && !kinds.contains("registration-answered"))
    }
}
