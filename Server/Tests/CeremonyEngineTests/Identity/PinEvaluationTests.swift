import Accounts
import Ceremony
import CeremonyEngine
import Crypto
import Foundation
import Records
import SQLStore
import Settings
import Synchronization
import Testing
import UAF
import _Primitives

/// A PIN service in memory, which can be told not to answer.
private final class TestPins: PinEvaluating {
    private let master = SecretBytes(RandomSource.system.bytes(PinServiceKey.masterBytes))
    private let state = Mutex<(asked: [[UInt8]], failures: [PinServiceFailure])>(([], []))
    private let hook = Mutex<(@Sendable () async -> Void)?>(nil)

    /// What it has evaluated.
    var asked: [[UInt8]] { self.state.withLock { $0.asked } }

    /// Does not answer the next questions, about keys too.
    func fail(_ failures: PinServiceFailure...) { self.state.withLock { $0.failures = failures } }

    /// Lets something happen while the next question is with the service.
    func meanwhile(_ body: @escaping @Sendable () async -> Void) { self.hook.withLock { $0 = body } }

    func key(of activation: String) async throws(PinServiceFailure) -> [UInt8] {
        if let failure = self.nextFailure() { throw failure }
        return try self.answer { key throws(PinSchemeError) in key.publicKey }(activation)
    }

    func evaluate(_ blinded: [UInt8], of activation: String) async throws(PinServiceFailure) -> [UInt8] {
        let failure = self.nextFailure()
        let body = self.hook.withLock { body in
            defer { body = nil }
            return body
        }
        await body?()
        if let failure { throw failure }
        let evaluated = try self.answer { key throws(PinSchemeError) in try key.evaluate(blinded) }(activation)
        self.state.withLock { $0.asked.append(blinded) }
        return evaluated
    }

    private func nextFailure() -> PinServiceFailure? {
        self.state.withLock { $0.failures.isEmpty ? nil : $0.failures.removeFirst() }
    }

    private func answer(_ body: @escaping (PinServiceKey) throws(PinSchemeError) -> [UInt8])
        -> (String) throws(PinServiceFailure) -> [UInt8]
    {
        { activation throws(PinServiceFailure) in
            do throws(PinSchemeError) {
                return try body(PinServiceKey(master: self.master, activation: activation))
            } catch {
                throw .malformed
            }
        }
    }
}

extension IdentityPhone {
    /// A point that nobody has asked about.
    fileprivate static func newQuestion() throws -> [UInt8] {
        try PinServiceKey(master: SecretBytes(RandomSource.system.bytes(48)), activation: "any").publicKey
    }

    fileprivate func evaluate(_ session: String, _ blinded: [UInt8], security: SecurityReport? = nil) async throws
        -> [UInt8]
    {
        try await self.evaluate(session, try self.evaluationCall(session, blinded, security: security))
    }

    /// - Parameter name: What the request is called; by default what no other is.
    fileprivate func evaluationCall(
        _ session: String, _ blinded: [UInt8], security: SecurityReport? = nil, name: String? = nil
    ) throws -> IdentityCall {
        try self.call(
            "/identity/sessions/\(session)/pin-evaluation", EvaluationRequest(blinded: blinded, security: security),
            name: name)
    }

    fileprivate func evaluate(_ session: String, _ call: IdentityCall) async throws -> [UInt8] {
        try await self.read(
            try await self.server.engine.identities.pinEvaluations.ofSession(session, call), to: call,
            as: EvaluationResponse.self
        ).evaluated
    }

    fileprivate func abort(_ session: String) async throws {
        let call = try self.call("/identity/sessions/\(session)/abort", EmptyBody())
        _ = try await self.read(
            try await self.server.engine.identities.control.abort(session, call), to: call, as: EmptyBody.self)
    }
}

@Suite("Decision 69, identity parity 108: asking the PIN service is an attempt")
struct PinEvaluationTests {
    private struct Stage {
        let pins: TestPins
        let server: TestServer
        let phone: IdentityPhone
        let session: String
        let prepared: PreparedSession

        init(_ adjust: (inout CeremonyConfiguration) -> Void = { _ in }) async throws {
            self.pins = TestPins()
            self.server = try TestServer(pins: self.pins, adjust)
            try await self.server.addService()
            (_, self.phone) = try await self.server.personalise()
            (self.session, self.prepared) = try await Self.next("request", self.phone)
        }

        static func next(_ reference: String, _ phone: IdentityPhone) async throws -> (String, PreparedSession) {
            let code = try await phone.server.showCode(reference)
            _ = try await phone.start(code)
            return (code.id, try await phone.prepared(code.id))
        }

        var failures: Int { get async throws { try await self.server.lockout(of: self.phone)?.failuresInARow ?? -1 } }

        func ask(_ blinded: [UInt8]? = nil) async throws {
            _ = try await self.phone.evaluate(self.session, blinded ?? IdentityPhone.newQuestion())
        }
    }

    @Test("It counts before anything is signed; the right factors take it back, and are no second attempt")
    func counted() async throws {
        let stage = try await Stage()
        try await stage.ask()
        #expect(try await stage.failures == 1)
        let reserved = try await stage.server.lockout(of: stage.phone)
        #expect(reserved?.lockedUntil == stage.server.clock.now + .seconds(5))
        guard case .accepted = try await stage.phone.finish(stage.session, stage.prepared) else {
            Issue.record("refused")
            return
        }
        let settled = try await stage.server.lockout(of: stage.phone)
        #expect(settled?.failuresInARow == 0 && settled?.lockedUntil == nil && settled?.failures == [])
        #expect(settled?.reservation == nil)
    }

    @Test("A wrong PIN after it is one attempt, and another session goes on from there")
    func wrong() async throws {
        let stage = try await Stage()
        try await stage.ask()
        let refused = try await stage.phone.miss(stage.session, stage.prepared)
        #expect(try await stage.failures == 1)
        #expect(refused.lockout.lockedUntil == stage.server.clock.now + .seconds(5))
        // The rest is for questions, too.
        await expectRefusal(.lockedOut) { try await stage.ask() }
        stage.server.clock.advance(.seconds(6))
        let (session, prepared) = try await Stage.next("second", stage.phone)
        _ = try await stage.phone.evaluate(session, IdentityPhone.newQuestion())
        #expect(try await stage.failures == 2)
        guard case .accepted = try await stage.phone.finish(session, prepared) else {
            Issue.record("refused")
            return
        }
        #expect(try await stage.failures == 0)
    }

    @Test("The same session asks again with its new document, and is let in")
    func again() async throws {
        let stage = try await Stage()
        try await stage.ask()
        let next = try #require(try await stage.phone.miss(stage.session, stage.prepared).next)
        stage.server.clock.advance(.seconds(6))
        try await stage.ask()
        #expect(try await stage.failures == 2)
        guard case .accepted = try await stage.phone.finish(stage.session, next) else {
            Issue.record("refused")
            return
        }
        #expect(try await stage.failures == 0)
    }

    @Test("Giving the session up gives nothing back, nor does another session, nor time")
    func abort() async throws {
        let stage = try await Stage()
        try await stage.ask()
        try await stage.phone.abort(stage.session)
        #expect(try await stage.failures == 1)
        let code = try await stage.server.showCode("second")
        await expectRefusal(.lockedOut) { _ = try await stage.phone.start(code) }
        stage.server.clock.advance(.seconds(6))
        let (session, prepared) = try await Stage.next("third", stage.phone)
        #expect(try await stage.failures == 1)
        _ = try await stage.phone.miss(session, prepared)
        #expect(try await stage.failures == 2)
        #expect(stage.pins.asked.count == 1)
    }

    @Test("An app that is not in the list of facets gives nothing back: whoever has asked knows what the PIN came to")
    func anotherApp() async throws {
        let stage = try await Stage()
        try await stage.ask()
        let other = IdentityPhone(stage.phone, at: stage.server, facet: "test:another")
        guard case .lockout = try await other.finish(stage.session, stage.prepared) else {
            Issue.record("not refused as an attempt")
            return
        }
        #expect(try await stage.failures == 1)
    }

    @Test("No operator gives a session up while its PIN is judged, which would leave its person a failed attempt")
    func operatorsAbort() async throws {
        let stage = try await Stage()
        let activation = try await stage.server.database.activation(id: stage.phone.id)
        let account = try #require(activation?.device.accountID)
        let sessions = stage.server.engine.identities.sessions
        try await stage.ask()
        #expect(try await sessions.abort(stage.session, accountID: account, by: "ann") == .judging)
        guard case .accepted = try await stage.phone.finish(stage.session, stage.prepared) else {
            Issue.record("refused")
            return
        }
        #expect(try await stage.failures == 0)

        // What nobody can settle any more is no reason to wait.
        let (session, _) = try await Stage.next("second", stage.phone)
        _ = try await stage.phone.evaluate(session, IdentityPhone.newQuestion())
        stage.server.clock.advance(DeviceProof.skew + DeviceProof.skew)
        guard case .aborted? = try await sessions.abort(session, accountID: account, by: "ann") else {
            Issue.record("not given up")
            return
        }
        #expect(try await stage.failures == 1)
    }

    @Test("One session's question is no other session's attempt")
    func foreignSession() async throws {
        let stage = try await Stage()
        let (other, prepared) = try await Stage.next("second", stage.phone)
        try await stage.ask()
        await expectRefusal(.lockedOut) { _ = try await stage.phone.finish(other, prepared) }
        await expectRefusal(.lockedOut) { _ = try await stage.phone.evaluate(other, IdentityPhone.newQuestion()) }
        #expect(try await stage.failures == 1 && stage.pins.asked.count == 1)
    }

    @Test("There is one question for a document; the same one again is answered, and counts once")
    func once() async throws {
        let stage = try await Stage()
        let question = try IdentityPhone.newQuestion()
        let first = try await stage.phone.evaluate(stage.session, question)
        let second = try await stage.phone.evaluate(stage.session, question)
        // The proof is made anew; the point is the same.
        #expect(first.prefix(49) == second.prefix(49))
        #expect(try await stage.failures == 1)
        await expectRefusal(.pinAlreadyAsked) { try await stage.ask() }
        // Nor may it be bought with waiting.
        stage.server.clock.advance(.seconds(6))
        await expectRefusal(.pinAlreadyAsked) { try await stage.ask() }
        #expect(try await stage.failures == 1 && stage.pins.asked == [question, question])
    }

    @Test("A request that comes again is answered again, and is no second attempt, whatever the session has come to")
    func replayed() async throws {
        let stage = try await Stage()
        let call = try stage.phone.evaluationCall(stage.session, IdentityPhone.newQuestion(), name: "the one")
        let first = try await stage.phone.evaluate(stage.session, call)
        #expect(try await stage.phone.evaluate(stage.session, call).prefix(49) == first.prefix(49))
        let next = try #require(try await stage.phone.miss(stage.session, stage.prepared).next)
        // The rest is over, the document is another one, and the proof is still good.
        stage.server.clock.advance(.seconds(6))
        #expect(try await stage.phone.evaluate(stage.session, call).prefix(49) == first.prefix(49))
        let lockout = try await stage.server.lockout(of: stage.phone)
        #expect(lockout?.failuresInARow == 1 && lockout?.reservation == nil)
        // Of its name there is no other.
        let other = try stage.phone.evaluationCall(stage.session, IdentityPhone.newQuestion(), name: "the one")
        await expectRefusal(.replayRefused) { _ = try await stage.phone.evaluate(stage.session, other) }
        #expect(try await stage.failures == 1 && stage.pins.asked.count == 3)
        guard case .accepted = try await stage.phone.finish(stage.session, next) else {
            Issue.record("refused")
            return
        }
    }

    @Test("One question is asked by so many requests, until the proofs of some are too old")
    func requestsOfOneQuestion() async throws {
        let stage = try await Stage()
        let question = try IdentityPhone.newQuestion()
        for _ in 0..<Limits.Evaluations.requestsPerQuestion { try await stage.ask(question) }
        await expectRefusal(.tooManyRequests) { try await stage.ask(question) }
        stage.server.clock.advance(DeviceProof.skew + DeviceProof.skew)
        try await stage.ask(question)
        #expect(try await stage.failures == 1)
    }

    @Test("An attempt is taken back only where the question was never answered, and came once")
    func answeredBefore() async throws {
        for isAnswered in [true, false] {
            let stage = try await Stage()
            let question = try IdentityPhone.newQuestion()
            if isAnswered {
                try await stage.ask(question)
            } else {
                stage.pins.fail(.unknown)
                await expectRefusal(.serverError) { try await stage.ask(question) }
            }
            stage.pins.fail(.notAsked)
            await expectRefusal(.serverError) { try await stage.ask(question) }
            let lockout = try await stage.server.lockout(of: stage.phone)
            #expect(lockout?.failuresInARow == 1 && lockout?.reservation != nil)
            await expectRefusal(.pinAlreadyAsked) { try await stage.ask() }
        }
        // The same request, of which nobody knows what came at first.
        let stage = try await Stage()
        let call = try stage.phone.evaluationCall(stage.session, IdentityPhone.newQuestion())
        for failure in [PinServiceFailure.unknown, .notAsked] {
            stage.pins.fail(failure)
            await expectRefusal(.serverError) { _ = try await stage.phone.evaluate(stage.session, call) }
        }
        #expect(try await stage.failures == 1)
        // One that was taken back is answered as it was, and asks nothing.
        let other = try await Stage()
        let refused = try other.phone.evaluationCall(other.session, IdentityPhone.newQuestion())
        other.pins.fail(.notAsked)
        for _ in 0..<2 {
            await expectRefusal(.serverError) { _ = try await other.phone.evaluate(other.session, refused) }
            #expect(try await other.failures == 0 && other.pins.asked.isEmpty)
        }
    }

    @Test("An attempt stays where the question was answered to another request, or to the same one, in the meantime")
    func overtaken() async throws {
        for isSame in [true, false] {
            let stage = try await Stage()
            let question = try IdentityPhone.newQuestion()
            let first = try stage.phone.evaluationCall(stage.session, question)
            let second = isSame ? first : try stage.phone.evaluationCall(stage.session, question)
            stage.pins.fail(.notAsked)
            stage.pins.meanwhile { _ = try? await stage.phone.evaluate(stage.session, second) }
            await expectRefusal(.serverError) { _ = try await stage.phone.evaluate(stage.session, first) }
            #expect(stage.pins.asked == [question])
            let lockout = try await stage.server.lockout(of: stage.phone)
            #expect(lockout?.failuresInARow == 1 && lockout?.reservation != nil)
        }
    }

    @Test("A device that says it is not sound is refused with the reasons before anything is counted")
    func unsound() async throws {
        let stage = try await Stage()
        let report = SecurityReport(
            date: stage.server.clock.now, checkVersion: 1, osVersion: "1", isRooted: true, isHooked: false)
        let question = try IdentityPhone.newQuestion()
        let problem = await #expect(throws: IdentityProblem.self) {
            _ = try await stage.phone.evaluate(stage.session, question, security: report)
        }
        #expect(problem?.code == .securityInsufficient && problem?.reasons == ["rooted"])
        #expect(try await stage.server.lockout(of: stage.phone) == LockoutRecord())
        #expect(stage.pins.asked.isEmpty)
        try await stage.ask()
        #expect(try await stage.failures == 1)
    }

    @Test("Of fifty questions at once one is asked") func parallel() async throws {
        let stage = try await Stage()
        let questions = try (0..<50).map { _ in try IdentityPhone.newQuestion() }
        let answered = await withTaskGroup(of: Bool.self) { group in
            for question in questions {
                group.addTask { (try? await stage.phone.evaluate(stage.session, question)) != nil }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(answered == 1 && stage.pins.asked.count == 1)
        #expect(try await stage.failures == 1)
    }

    @Test("The last attempt that there is may be right; given up, it is the end of the activation")
    func last() async throws {
        for isRight in [true, false] {
            let stage = try await Stage { $0.limits.lockoutFailuresInARow = 2 }
            let next = try #require(try await stage.phone.miss(stage.session, stage.prepared).next)
            stage.server.clock.advance(.seconds(6))
            try await stage.ask()
            if isRight {
                guard case .accepted = try await stage.phone.finish(stage.session, next) else {
                    Issue.record("refused")
                    return
                }
                #expect(try await stage.failures == 0)
            } else {
                stage.server.clock.advance(.seconds(150))
                await expectRefusal(.activationDisabled) { _ = try await stage.phone.finish(stage.session, next) }
                #expect(try await stage.failures == 2)
            }
        }
    }

    @Test(
        "The last attempt, spent on a question and forsaken, ends keys and sessions: when it is noticed, or by the sweep"
    )
    func forsaken() async throws {
        for isSwept in [true, false] {
            let stage = try await Stage {
                $0.limits.lockoutFailuresInARow = 1
                $0.limits.claimedLifetime = .seconds(600)
            }
            let (other, _) = try await Stage.next("second", stage.phone)
            try await stage.ask()
            let account = try #require(try await stage.server.database.activation(id: stage.phone.id)).device.accountID
            func disabled() async throws -> Int {
                try await stage.server.database.auditEntries(after: 0, limit: 999).map(\.event).filter {
                    $0.kind.rawValue == "activation-disabled" && $0.detail == stage.phone.id && $0.accountID == account
                }.count
            }
            // It may be right yet.
            stage.server.clock.advance(DeviceProof.skew + DeviceProof.skew - .milliseconds(1))
            try await stage.server.engine.sweep.run()
            #expect(try await disabled() == 0)
            #expect(try await stage.server.database.credentials(accountID: account).count == 2)
            stage.server.clock.advance(.milliseconds(1))
            for _ in 0..<2 {
                if isSwept {
                    try await stage.server.engine.sweep.run()
                } else {
                    await expectRefusal(.activationDisabled) {
                        _ = try await stage.phone.finish(stage.session, stage.prepared)
                    }
                }
                #expect(try await stage.server.database.credentials(accountID: account).isEmpty)
                let session = try await stage.server.database.ceremony(.id(other))
                #expect(session?.phase == .ended && session?.outcome == .failed)
                #expect(try await disabled() == 1)
                let activation = try await stage.server.database.activation(id: stage.phone.id)
                #expect(activation?.isActive == false && activation?.lockout.reservation == nil)
            }
            await expectRefusal(.activationDisabled) { _ = try await stage.phone.prepare(stage.session) }
        }
    }

    @Test(
        "Where the service has surely evaluated nothing, the attempt is taken back, and another question can be asked",
        arguments: [
            (PinServiceFailure.notAsked, IdentityProblem.Code.serverError),
            (.exhausted(retryAfterSeconds: 77), .tooManyRequests), (.malformed, .invalidRequest),
        ])
    func notAsked(_ failure: PinServiceFailure, _ code: IdentityProblem.Code) async throws {
        let stage = try await Stage()
        // Nothing of an earlier wrong attempt is taken back with it.
        let next = try #require(try await stage.phone.miss(stage.session, stage.prepared).next)
        stage.server.clock.advance(.seconds(6))
        let before = try await stage.server.lockout(of: stage.phone)
        stage.pins.fail(failure)
        await expectRefusal(code) { try await stage.ask() }
        let lockout = try await stage.server.lockout(of: stage.phone)
        #expect(lockout?.failuresInARow == 1 && lockout?.reservation == nil && lockout?.failures == before?.failures)
        try await stage.ask()
        guard case .accepted = try await stage.phone.finish(stage.session, next) else {
            Issue.record("refused")
            return
        }
        #expect(stage.pins.asked.count == 1)
    }

    @Test("Where nobody knows what the service has done, the attempt stays; the same question can be asked again")
    func unknown() async throws {
        let stage = try await Stage()
        let question = try IdentityPhone.newQuestion()
        stage.pins.fail(.unknown)
        await expectRefusal(.serverError) { try await stage.ask(question) }
        #expect(try await stage.failures == 1)
        await expectRefusal(.pinAlreadyAsked) { try await stage.ask() }
        try await stage.ask(question)
        #expect(try await stage.failures == 1)
        guard case .accepted = try await stage.phone.finish(stage.session, stage.prepared) else {
            Issue.record("refused")
            return
        }
    }

    @Test("What is not the activation's own session, or not waiting for factors, asks nothing")
    func refused() async throws {
        let stage = try await Stage()
        let (_, other) = try await stage.server.personalise("bob")
        let question = try IdentityPhone.newQuestion()
        await expectRefusal(.notProven) { _ = try await other.evaluate(stage.session, question) }
        await expectRefusal(.sessionUnknown) { _ = try await other.evaluate("unknown", question) }
        let code = try await stage.server.showCode("second")
        _ = try await other.start(code)
        await expectRefusal(.outOfOrder) { _ = try await other.evaluate(code.id, question) }
        _ = try await stage.phone.finish(stage.session, stage.prepared)
        await expectRefusal(.sessionConsumed) { try await stage.ask(question) }
        #expect(stage.pins.asked.isEmpty)
        #expect(try await stage.failures == 0)
    }

    @Test("A server that has no such service says that it is its own fault, and tells its operator")
    func noService() async throws {
        let told = Mutex(0)
        let server = try TestServer { $0.pinServiceMissing = { told.withLock { $0 += 1 } } }
        try await server.addService()
        let (_, phone) = try await server.personalise()
        let (session, prepared) = try await Stage.next("request", phone)
        await expectRefusal(.serverError) { _ = try await phone.evaluate(session, IdentityPhone.newQuestion()) }
        #expect(told.withLock { $0 } == 1)
        #expect(try await server.lockout(of: phone)?.failuresInARow == 0)
        guard case .accepted = try await phone.finish(session, prepared) else {
            Issue.record("refused")
            return
        }
    }

    @Test("Only the PIN takes back what was asked about it: no other factors that would do as well")
    func otherFactors() async throws {
        for types in [[AuthenticatorType.device, .biometric], [.device, .pin]] {
            let pins = TestPins()
            let server = try TestServer(pins: pins)
            try await server.addService()
            let (_, phone) = try await server.personalise(factors: [.device, .pin, .biometric])
            let (session, prepared) = try await Stage.next("request", phone)
            _ = try await phone.evaluate(session, IdentityPhone.newQuestion())
            let answer = try await phone.finish(session, prepared, types)
            let failures = try await server.lockout(of: phone)?.failuresInARow
            if types.contains(.pin) {
                guard case .accepted = answer else {
                    Issue.record("refused")
                    return
                }
                #expect(failures == 0)
            } else {
                guard case .lockout(let refused) = answer else {
                    Issue.record("an attempt was bought back")
                    return
                }
                #expect(failures == 1 && refused.lockout.lockedUntil == server.clock.now + .seconds(5))
                // With the next document, about which nothing was asked, they do.
                server.clock.advance(.seconds(6))
                guard case .accepted = try await phone.finish(session, try #require(refused.next), types) else {
                    Issue.record("refused")
                    return
                }
            }
        }
    }

    @Test("A new PIN that was permitted is asked about as often as it may be sent, and is no attempt")
    func newPin() async throws {
        let stage = try await Stage()
        let (session, _) = try await stage.phone.granted(.changePin)
        let limit = Limits().pinsPerGrant
        let questions = try (0...limit).map { _ in try IdentityPhone.newQuestion() }
        for question in questions.prefix(limit) {
            for _ in 0..<2 { _ = try await stage.phone.evaluate(session, question) }
        }
        await expectRefusal(.pinAlreadyAsked) { _ = try await stage.phone.evaluate(session, questions[limit]) }
        #expect(try await stage.failures == 0)
        // Another permission is none for that.
        let (deletion, _) = try await stage.phone.granted(.delete)
        await expectRefusal(.outOfOrder) { _ = try await stage.phone.evaluate(deletion, questions[0]) }
    }

    @Test("A proof of an activation's PIN is answered with the service's key; only then, and until then, is it asked")
    func enrolment() async throws {
        let pins = TestPins()
        let server = try TestServer(pins: pins)
        let account = try await server.directory.create(username: "alice", displayName: nil, by: "test")
        let offer = try await server.offer(to: account)
        let question = try IdentityPhone.newQuestion()
        let phone = IdentityPhone(server, id: offer.id, factors: [.device, .pin])
        func ask(
            _ token: SecretBytes?, claim: SecretBytes? = nil, security: SecurityReport? = nil,
            by asking: IdentityPhone? = nil, naming named: IdentityPhone? = nil
        ) async throws {
            let asking = asking ?? phone
            let opening = try token.map { token in
                EvaluationRequest.Opening(
                    claim: claim ?? offer.claim, token: token, signingKey: try (named ?? asking).signingJWK)
            }
            let call = try asking.call(
                "/identity/activations/\(offer.id)/pin-evaluation",
                EvaluationRequest(blinded: question, opening: opening, security: security))
            _ = try await server.read(
                try await server.engine.identities.pinEvaluations.ofActivation(offer.id, call), to: call,
                as: EvaluationResponse.self)
        }
        let guessed = SecretBytes(RandomSource.system.bytes(32))
        await expectRefusal(.outOfOrder) { try await ask(guessed) }
        pins.fail(.notAsked)
        await expectRefusal(.serverError) { _ = try await server.prove(offer) }
        // Without the service nothing was judged, and nothing counted.
        let proven = try await server.prove(offer, by: phone)
        #expect(try await proven.pinServiceKey == pins.key(of: offer.id))
        await expectRefusal(.notProven) { try await ask(proven.token, claim: guessed) }
        // Who has seen the code, and has not proven its PIN, asks nothing.
        await expectRefusal(.notProven) { try await ask(guessed) }
        await expectRefusal(.notProven) { try await ask(nil) }
        // Whoever has the token of the proof, and not the key that it has named, asks nothing either.
        let thief = IdentityPhone(server, id: offer.id, factors: [])
        await expectRefusal(.notProven) { try await ask(proven.token, by: thief) }
        await expectRefusal(.notProven) { try await ask(proven.token, by: thief, naming: phone) }
        let stranger = IdentityPhone(server, id: "another", factors: [])
        await expectRefusal(.notProven) { try await ask(proven.token, by: stranger, naming: phone) }
        let report = SecurityReport(
            date: server.clock.now, checkVersion: 1, osVersion: "1", isRooted: false, isHooked: true)
        await expectRefusal(.securityInsufficient) { try await ask(proven.token, security: report) }
        pins.fail(.exhausted(retryAfterSeconds: 5))
        await expectRefusal(.tooManyRequests) { try await ask(proven.token) }
        try await ask(proven.token)
        // An app of before the service.
        let old = try await server.enrolCall(phone, proven, scheme: .pin1)
        await expectRefusal(.protocolVersionUnsupported) {
            _ = try await server.read(
                try await server.engine.identities.enrolments.enroll(offer.id, old), to: old, as: EmptyBody.self)
        }
        let call = try await server.enrolCall(phone, proven)
        _ = try await phone.read(
            try await server.engine.identities.enrolments.enroll(offer.id, call), to: call,
            as: ActivationReceipt.self)
        await expectRefusal(.activationDataConsumed) { try await ask(proven.token) }
        #expect(pins.asked.count == 1)
    }

    @Test("One proof of an activation's PIN has few questions; the next has its own, and the former none any more")
    func questionsOfAProof() async throws {
        let pins = TestPins()
        let server = try TestServer(pins: pins)
        let account = try await server.directory.create(username: "alice", displayName: nil, by: "test")
        let offer = try await server.offer(to: account)
        let phone = IdentityPhone(server, id: offer.id, factors: [.device, .pin])
        func ask(_ proven: ProvenActivation, _ blinded: [UInt8]) async throws {
            let call = try phone.call(
                "/identity/activations/\(offer.id)/pin-evaluation",
                EvaluationRequest(blinded: blinded, opening: try phone.opening(offer, proven), security: nil))
            _ = try await server.read(
                try await server.engine.identities.pinEvaluations.ofActivation(offer.id, call), to: call,
                as: EvaluationResponse.self)
        }
        let count = Limits.Evaluations.questionsPerProof
        let questions = try (0...count).map { _ in try IdentityPhone.newQuestion() }
        let first = try await server.prove(offer, by: phone)
        for question in questions.prefix(count) { for _ in 0..<2 { try await ask(first, question) } }
        await expectRefusal(.pinAlreadyAsked) { try await ask(first, questions[count]) }
        try await ask(first, questions[0])
        let second = try await server.prove(offer, by: phone)
        await expectRefusal(.notProven) { try await ask(first, questions[0]) }
        try await ask(second, questions[count])
        #expect(pins.asked.count == 2 * count + 2)
    }

    @Test("Nobody is asked once the proof's time is over") func lateEnrolment() async throws {
        let pins = TestPins()
        let server = try TestServer(pins: pins)
        let account = try await server.directory.create(username: "alice", displayName: nil, by: "test")
        let offer = try await server.offer(to: account, lifetime: .seconds(86_400))
        let phone = IdentityPhone(server, id: offer.id, factors: [.device, .pin])
        let proven = try await server.prove(offer, by: phone)
        server.clock.advance(proven.until - server.clock.now)
        let call = try phone.call(
            "/identity/activations/\(offer.id)/pin-evaluation",
            EvaluationRequest(
                blinded: try IdentityPhone.newQuestion(), opening: try phone.opening(offer, proven), security: nil))
        await expectRefusal(.activationDataExpired) {
            _ = try await server.read(
                try await server.engine.identities.pinEvaluations.ofActivation(offer.id, call), to: call,
                as: EvaluationResponse.self)
        }
        #expect(pins.asked.isEmpty)
    }
}
