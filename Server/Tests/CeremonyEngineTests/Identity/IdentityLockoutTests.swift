import Ceremony
import CeremonyEngine
import Crypto
import Foundation
import Records
import SQLStore
import Settings
import StoreConformance
import Testing
import UAF
import _Primitives

@Suite("Sessions of identities: factors, and what wrong ones cost")
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

    @Test("The device signs somebody in with the PIN, and as well with a finger")
    func eitherAlternativeIsTaken() async throws {
        let (server, phone, session, prepared) = try await self.prepared(factors: [.device, .pin, .biometric])
        guard case .accepted(let byPin) = try await phone.finish(session, prepared, [.device, .pin]) else {
            Issue.record("refused")
            return
        }
        let (second, again) = try await self.next("second", phone)
        guard case .accepted(let byFinger) = try await phone.finish(second, again, [.biometric, .device]) else {
            Issue.record("refused")
            return
        }
        #expect(byPin.purpose == .userLogin && byFinger.purpose == .userLogin)
        for reference in ["request", "second"] {
            #expect(try await server.engine.signIns.state(reference: reference, browser: server.browser) == .approved)
        }
        let trail = try await server.database.auditEntries(after: 0, limit: 100).map(\.event)
            .filter { $0.kind.rawValue == "identity-finished" }
        let pins = try await server.database.credentials(accountID: trail[0].accountID ?? "")
            .filter { $0.aaid == ServerPinModel.aaid.text }
        #expect(trail.count == 2 && trail[0].detail?.contains("document=") ?? false)
        #expect(trail[0].detail?.contains(pins[0].id) ?? false)
    }

    @Test(
        "What is not exactly one alternative, whole, is a lockout",
        arguments: [
            [AuthenticatorType.pin], [.pin, .biometric], [.device], [.biometric], [.device, .pin, .biometric], [],
        ])
    func whatIsNoAlternativeLocks(types: [AuthenticatorType]) async throws {
        let (server, phone, session, prepared) = try await self.prepared(factors: [.device, .pin, .biometric])
        #expect(prepared.alternatives == [["pin", "device"], ["biometric", "device"]])
        guard case .lockout(let refused) = try await phone.finish(session, prepared, types) else {
            Issue.record("accepted \(types)")
            return
        }
        #expect(!refused.lockout.isPermanent)
        #expect(refused.lockout.lockedUntil == server.clock.now + .seconds(5))
        #expect(try await server.lockout(of: phone)?.failuresInARow == 1)
        #expect(try await server.engine.signIns.state(reference: "request", browser: server.browser) == .claimed)
    }

    @Test("A wrong PIN is a lockout that says until when, and the person is not signed in")
    func aWrongPINLocks() async throws {
        let (server, phone, session, prepared) = try await self.prepared()
        let refused = try await phone.miss(session, prepared)
        #expect(!refused.lockout.isPermanent && refused.lockout.lockedUntil == server.clock.now + .seconds(5))
        #expect(try await server.lockout(of: phone)?.failuresInARow == 1)
        #expect(try await server.engine.signIns.state(reference: "request", browser: server.browser) == .claimed)
    }

    /// An attempt of which something is wrong.
    private struct Wrong: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var types: [AuthenticatorType] = [.device, .pin]
        /// Whose key is another's.
        var forged: AuthenticatorType?
        var isSealed = true
        var isStale = false
    }

    private static let wrong: [Wrong] = [
        Wrong(testDescription: "a wrong PIN", forged: .pin), Wrong(testDescription: "another device", forged: .device),
        Wrong(testDescription: "another finger", types: [.biometric, .device], forged: .biometric),
        Wrong(testDescription: "no device", types: [.pin]), Wrong(testDescription: "no PIN", types: [.device]),
        Wrong(testDescription: "two alternatives", types: [.device, .pin, .biometric]),
        Wrong(testDescription: "nothing", types: []), Wrong(testDescription: "not sealed", isSealed: false),
        Wrong(testDescription: "an earlier document", isStale: true),
    ]

    @Test("From the answer nobody can tell which factor was wrong: only times and the challenge are others")
    func theAnswersAreAlike() async throws {
        let (server, phone, session, prepared) = try await self.prepared(factors: [.device, .pin, .biometric]) {
            ($0.limits.firstLockout, $0.limits.lockoutSeconds) = (.seconds(1), [1])
            $0.limits.lockoutFailuresInARow = 100
        }
        let original = try SessionDocument(parsing: prepared.document)
        var next = prepared
        var answers: [(text: String, size: Int, reply: IdentityReply)] = []
        for wrong in Self.wrong {
            var call = try await phone.finishCall(session, wrong.isStale ? prepared : next, wrong.types) { factor in
                if factor.type == wrong.forged { factor.key = P256.Signing.PrivateKey() }
            }
            if !wrong.isSealed { call = try phone.call(call.path, body: Array("{}".utf8)) }
            let reply = try await server.engine.identities.judgement.finish(session, call)
            guard case .message(let object) = try await server.content(of: reply, to: call),
                case .lockout(let refused) = try FinishResponse(json: object)
            else {
                Issue.record("accepted \(wrong.testDescription)")
                return
            }
            next = try #require(refused.next)
            #expect(try SessionDocument(parsing: next.document).isRenewal(of: original))
            // Times are numbers of ten digits and more; the challenge is in the document, of which nothing else is new.
            let text = JSON.object(object).text.replacing(/"document":"[^"]*"/, with: "")
                .replacing(/[0-9]{10,}/, with: "time")
            answers.append((text, reply.body.count, reply))
            server.clock.advance(.seconds(2))
        }
        for (answer, wrong) in zip(answers, Self.wrong) {
            #expect(answer.text == answers[0].text, "\(wrong.testDescription)")
            #expect(answer.size == answers[0].size, "\(wrong.testDescription)")
            #expect(answer.reply.status == .answered && answer.reply.refusal == nil, "\(wrong.testDescription)")
        }
        #expect(answers[0].text.contains("time") && answers[0].text.contains("alternatives"))
    }

    @Test("The keys of another activation are wrong ones, and its own attempts are not touched")
    func keysOfAnotherActivationLock() async throws {
        let (server, phone, session, prepared) = try await self.prepared()
        let (_, stranger) = try await server.personalise("bob")
        let answer = try await phone.finish(session, prepared) { factor in
            if factor.type == .device, let other = stranger.factors[.device] { factor = other }
        }
        guard case .lockout = answer else {
            Issue.record("accepted")
            return
        }
        #expect(try await server.lockout(of: phone)?.failuresInARow == 1)
        #expect(try await server.lockout(of: stranger) == LockoutRecord())
    }

    @Test("What cannot be opened is an attempt like any other")
    func whatIsNotSealedForTheSessionLocks() async throws {
        let (server, phone, session, prepared) = try await self.prepared()
        let call = try phone.call("/identity/sessions/\(session)/finish", body: Array("{}".utf8))
        let reply = try await server.engine.identities.judgement.finish(session, call)
        guard case .lockout(let refused) = try await phone.read(reply, to: call, as: FinishResponse.self) else {
            Issue.record("accepted")
            return
        }
        #expect(refused.next?.document.count == prepared.document.count)
        #expect(try await server.lockout(of: phone)?.failuresInARow == 1)
    }

    @Test("After the rest the session goes on with another document, and what was signed before counts no more")
    func afterTheRestTheSessionGoesOnWithAnotherDocument() async throws {
        let (server, phone, session, prepared) = try await self.prepared()
        let right = try await phone.finishCall(session, prepared, [.device, .pin])
        let refused = try await phone.miss(session, prepared)
        let next = try #require(refused.next)
        let (before, after) = (
            try SessionDocument(parsing: prepared.document), try SessionDocument(parsing: next.document)
        )
        #expect(after.isRenewal(of: before))
        server.clock.advance(.seconds(6))
        // The very block that was right for the document of before, in a request of now.
        let replayed = try phone.call(right.path, body: right.body)
        let reply = try await server.engine.identities.judgement.finish(session, replayed)
        guard case .lockout(let second) = try await phone.read(reply, to: replayed, as: FinishResponse.self) else {
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

    @Test("Factors that come while a lockout runs are not judged, and end the session")
    func aRequestWhileALockoutRunsEndsTheSession() async throws {
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

    @Test("While a lockout runs the activation claims no session, and is told until when")
    func aSessionIsNotClaimedWhileALockoutRuns() async throws {
        let (server, phone, session, prepared) = try await self.prepared()
        _ = try await phone.miss(session, prepared)
        let code = try await server.showCode("next")
        let problem = await #expect(throws: IdentityProblem.self) { () async throws in
            _ = try await phone.start(code)
        }
        #expect(problem?.code == .lockedOut)
        #expect(problem?.lockout?.lockedUntil == server.clock.now + .seconds(5))
        server.clock.advance(.seconds(6))
        _ = try await phone.start(code)
    }

    @Test("Rests grow with the row of failures; a success ends the row, and the failures of the window stay")
    func restsGrowAndASuccessEndsTheRow() async throws {
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
        let (again, first) = try await self.next("again", phone)
        let refused = try await phone.miss(again, first)
        #expect(refused.lockout.lockedUntil == server.clock.now + .seconds(5), "the row begins anew")
        #expect(try await server.lockout(of: phone)?.failures.count == 4)
    }

    @Test("While one activation rests, another of the same account signs in")
    func anotherActivationDoesNotRest() async throws {
        let (server, phone, session, prepared) = try await self.prepared()
        let account = try #require(try await server.database.activation(id: phone.id)?.device.accountID)
        let other = try await server.addIdentity(to: try #require(try await server.database.account(id: account)))
        _ = try await phone.miss(session, prepared)
        #expect(try await other.login(try await server.showCode("other")).purpose == .userLogin)
        let code = try await server.showCode("next")
        await expectRefusal(.lockedOut) { () async throws in _ = try await phone.start(code) }
        #expect(try await server.lockout(of: other) == LockoutRecord())
    }

    @Test("Too many failures in a row disable the activation for good, with its sessions, and no other")
    func tooManyFailuresDisableTheActivationAndNoOther() async throws {
        let (server, phone, session, prepared) = try await self.prepared { configuration in
            configuration.limits.lockoutFailuresInARow = 2
            configuration.limits.firstLockout = .seconds(1)
        }
        let account = try #require(try await server.database.activation(id: phone.id)?.device.accountID)
        let owner = try #require(try await server.database.account(id: account))
        let other = try await server.addIdentity(to: owner)
        let pending = try await server.showCode("pending")
        _ = try await phone.start(pending)
        let next = try #require(try await phone.miss(session, prepared).next)
        server.clock.advance(.seconds(2))
        let refused = try await phone.miss(session, next)
        #expect(refused.lockout.isPermanent && refused.lockout.lockedUntil == nil && refused.next == nil)
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

    /// A browser's session and a refresh token that stand on an authentication by a phone.
    private func signIn(_ name: String, _ account: String, by phone: IdentityPhone) async throws -> SampleSignIn {
        let (store, now) = (phone.server.database, phone.server.clock.now)
        var sample = SampleSignIn(
            name, secret: Array(SHA256.hash(data: Array(name.utf8))), account: account, client: TestServer.service,
            at: now, lifetime: .seconds(86_400), device: phone.id,
            role: RoleAtService(service: TestServer.service, role: "patient"))
        let grant = sample.grant
        sample.grant = GrantRecord(
            id: grant.id, client: grant.client, subject: grant.subject, authentication: grant.authentication,
            session: grant.session, isLasting: true, scope: "openid offline_access", expiresAt: now + .seconds(86_400))
        try await sample.keep(in: store)
        #expect(
            try await store.beginFamily(
                RefreshFamilyStart(
                    grant: grant.id, head: Array(SHA256.hash(data: Array("head of \(name)".utf8))),
                    headEndsAt: now + .seconds(86_400), keyThumbprint: nil, until: now + .seconds(86_400), most: 9,
                    displaced: AuditEvent(.init(rawValue: "displaced"), at: now)), at: now))
        return sample
    }

    /// How the last attempt that an activation has comes to its end.
    enum LastAttempt: CaseIterable, Sendable {
        /// It is judged, and wrong.
        case refused
        /// The server is killed while it is judged, and the sweep finds it.
        case forsaken
    }

    @Test(
        "Decision 81: what a disabled activation has signed in to ends, and nothing of another",
        arguments: LastAttempt.allCases)
    func whatADisabledActivationHasSignedInToEnds(attempt: LastAttempt) async throws {
        let (server, phone, session, prepared) = try await self.prepared {
            $0.limits.lockoutFailuresInARow = 1
        }
        let (store, limits) = (server.database, server.engine.configuration.limits)
        let account = try #require(try await store.activation(id: phone.id)?.device.accountID)
        let other = try await server.addIdentity(to: try #require(try await store.account(id: account)))
        let ended = try await self.signIn("ended", account, by: phone)
        let left = try await self.signIn("left", account, by: other)
        switch attempt {
        case .refused: #expect(try await phone.miss(session, prepared).lockout.isPermanent)
        case .forsaken:
            let step: IdentityStep<Void> = try await store.step(
                session: session, activation: phone.id, tokenDigest: nil, request: nil
            ) { scene in
                var lockout = Lockout(scene.activation.lockout)
                _ = lockout.reserve(request: [1], at: scene.ceremony.changedAt, limits: limits)
                scene.activation.lockout = lockout.record
                return (IdentityChange(), ())
            }
            guard case .decided = step else {
                Issue.record("not written")
                return
            }
            // While it is judged it may be right.
            #expect(try await store.session(cookieDigest: ended.session.cookieDigest) != nil)
            _ = try await self.signIn("meanwhile", account, by: phone)
            server.clock.advance(.seconds(121))
            try await server.engine.sweep.run()
        }
        #expect(try await store.session(cookieDigest: ended.session.cookieDigest) == nil)
        #expect(try await store.session(cookieDigest: left.session.cookieDigest) != nil)
        let grants = try await store.lastingGrants(account: account, at: server.clock.now, limit: 9)
        #expect(grants.map(\.id) == [left.grant.id])
        #expect(try await store.grant(ended.grant.id, token: nil, at: server.clock.now) == nil)
        // Nor is anything begun by what it had approved before.
        await #expect(throws: StoreError(.notFound, "")) { () async throws in
            _ = try await self.signIn("late", account, by: phone)
        }
        let trail = try await store.auditEntries(after: 0, limit: 100).map(\.event)
            .filter { $0.kind.rawValue == "activation-disabled" }
        #expect(trail.map(\.detail) == [phone.id] && trail.first?.accountID == account)
        _ = try await other.login(try await server.showCode("other"))
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
        let reply = try await server.engine.identities.judgement.finish(session, call)
        let answer: FinishResponse = try await phone.read(reply, to: call)
        guard case .accepted = answer else {
            Issue.record("\(answer)")
            return
        }
        #expect(try await server.lockout(of: phone)?.isPermanent == false)
    }

    /// What wrong attempts come to that are all made at once, in any order.
    private func attemptsAtOnce(
        _ count: Int, by phone: IdentityPhone, in sessions: [(id: String, prepared: PreparedSession)]
    ) async throws -> [String] {
        let server = phone.server
        var calls: [(session: String, call: IdentityCall)] = []
        for index in 0..<count {
            let (session, prepared) = sessions[index % sessions.count]
            let call = try await phone.finishCall(session, prepared, [.device, .pin]) { factor in
                if factor.type == .pin { factor.key = P256.Signing.PrivateKey() }
            }
            calls.append((session, call))
        }
        return try await withThrowingTaskGroup(of: String.self) { group in
            for (session, call) in calls {
                group.addTask {
                    let reply = try await server.engine.identities.judgement.finish(session, call)
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
    }

    /// How many attempts the trail has that were judged to be wrong.
    private func refusedAttempts(_ server: TestServer) async throws -> Int {
        try await server.database.auditEntries(after: 0, limit: 999)
            .count { $0.event.kind.rawValue == "identity-attempt-refused" }
    }

    @Test("Of many attempts at once one is judged, and one is counted")
    func ofManyAttemptsAtOnceOneIsJudged() async throws {
        let (server, phone, session, prepared) = try await self.prepared()
        let codes = try await self.attemptsAtOnce(50, by: phone, in: [(session, prepared)])
        #expect(codes.filter { $0 == "judged" }.count == 1)
        #expect(codes.filter { $0 == "lockedOut" }.count == 49)
        #expect(try await server.lockout(of: phone)?.failuresInARow == 1)
        #expect(try await server.lockout(of: phone)?.failures.count == 1)
        #expect(try await self.refusedAttempts(server) == 1)
    }

    @Test("Of many attempts at once in two sessions of an activation one is judged, and one is counted")
    func ofManyAttemptsInTwoSessionsOneIsJudged() async throws {
        let (server, phone, session, prepared) = try await self.prepared()
        let (other, otherPrepared) = try await self.next("other", phone)
        let codes = try await self.attemptsAtOnce(
            50, by: phone, in: [(session, prepared), (other, otherPrepared)])
        #expect(codes.filter { $0 == "judged" }.count == 1)
        #expect(codes.filter { $0 == "lockedOut" }.count == 49)
        #expect(try await server.lockout(of: phone)?.failuresInARow == 1)
        #expect(try await server.lockout(of: phone)?.failures.count == 1)
        #expect(try await self.refusedAttempts(server) == 1)
    }

    @Test("A thousand requests that nobody has proved are refused, and count for nothing")
    func whoProvesNothingCountsForNothing() async throws {
        let (server, phone, session, prepared) = try await self.prepared()
        let (_, stranger) = try await server.personalise("mallory")
        let proven = try await phone.finishCall(session, prepared, [.device])
        let stolen = try await stranger.finishCall(session, prepared, [.device])
        for index in 0..<1000 {
            var call = proven
            switch index % 4 {
            case 0: call.proof = nil
            case 1: call.proof = "nonsense"
            case 2: call.body += [32]
            default: call.path += "x"
            }
            let reply = try await server.engine.identities.judgement.finish(session, call)
            #expect(reply.status == .notProven)
        }
        #expect(try await server.engine.identities.judgement.finish(session, stolen).refusal == "notProven")
        #expect(try await server.lockout(of: phone) == LockoutRecord())
        #expect(try await server.lockout(of: stranger) == LockoutRecord())
        guard case .accepted = try await phone.finish(session, prepared) else {
            Issue.record("refused")
            return
        }
    }

    @Test("A network that proves nothing is turned away after a while, and who proves something is not")
    func aNetworkThatProvesNothingIsTurnedAway() async throws {
        let (server, phone, session, prepared) = try await self.prepared { $0.limits.guessBurst = 3 }
        var call = try await phone.finishCall(session, prepared, [.device])
        call.proof = nil
        call.source = "192.0.2.7"
        for _ in 0..<3 {
            #expect(try await server.engine.identities.judgement.finish(session, call).status == .notProven)
        }
        guard case .tooMany = try await server.engine.identities.judgement.finish(session, call).status else {
            Issue.record("not turned away")
            return
        }
        var right = try await phone.finishCall(session, prepared, [.device, .pin])
        right.source = "192.0.2.7"
        #expect(try await server.engine.identities.judgement.finish(session, right).status == .answered)
    }

    /// A wrong attempt in another session than the one that is asked about.
    private func resting(_ server: TestServer, _ phone: IdentityPhone) async throws -> Timestamp? {
        let (session, prepared) = try await self.next("wrong", phone)
        return try await phone.miss(session, prepared).lockout.lockedUntil
    }

    @Test(
        "row 53: whatever comes of another session while the activation rests is told until when, and ends that session",
        arguments: ["prepare", "finish", "prolong"])
    func aRequestOfAnotherSessionWhileALockoutRuns(what: String) async throws {
        let server = try TestServer()
        try await server.addService()
        let (_, phone) = try await server.personalise()
        let code = try await server.showCode("other")
        _ = try await phone.start(code)
        let prepared = what == "finish" ? try await phone.prepared(code.id) : nil
        let until = try await self.resting(server, phone)
        let path = "/identity/sessions/\(code.id)/prolong"
        for attempt in ["during", "after"] {
            let problem = await #expect(throws: IdentityProblem.self) { () async throws in
                switch what {
                case "prepare": _ = try await phone.prepare(code.id)
                case "finish": _ = try await phone.finish(code.id, try #require(prepared))
                default:
                    let call = try phone.call(path, EmptyBody())
                    _ = try await phone.read(
                        try await server.engine.identities.control.prolong(code.id, call), to: call,
                        as: SessionDeadlines.self)
                }
            }
            #expect(problem?.code == .lockedOut && problem?.lockout?.lockedUntil == until, "\(attempt)")
            server.clock.advance(.seconds(6))
        }
        #expect(try await server.engine.signIns.state(reference: "other", browser: server.browser) == .failed)
        #expect(try await server.lockout(of: phone)?.failuresInARow == 1)
    }

    @Test("row 53: while the activation rests its app begins nothing, and afterwards it does")
    func nothingIsBegunWhileALockoutRuns() async throws {
        let server = try TestServer()
        try await server.addService { $0.allowsInApp = true }
        let (_, phone) = try await server.personalise()
        let until = try await self.resting(server, phone)
        func begin() async throws {
            let call = try phone.call(
                "/identity/in-app",
                InAppRequest(
                    clientID: TestServer.service, redirectURI: TestInAppServices.redirectURI, scope: "openid",
                    state: nil, nonce: nil, codeChallenge: Base64URL.encode([UInt8](repeating: 7, count: 32))))
            _ = try await phone.read(
                try await server.engine.identities.appSessions.inApp(call), to: call, as: SessionOffer.self)
        }
        for body in [begin, { _ = try await phone.access(AccessRequest(purpose: .changePin)) }] {
            let problem = await #expect(throws: IdentityProblem.self) { () async throws in try await body() }
            #expect(problem?.code == .lockedOut && problem?.lockout?.lockedUntil == until)
        }
        server.clock.advance(.seconds(6))
        try await begin()
        _ = try await phone.access(AccessRequest(purpose: .changePin))
    }

    @Test("row 53: what was granted, or waits to be fetched, is over where the activation rests")
    func whatWasGrantedIsOverWhileALockoutRuns() async throws {
        let server = try TestServer()
        try await server.addService { $0.allowsInApp = true }
        let (account, phone) = try await server.personalise()
        let (granted, _) = try await phone.granted(.delete)
        let begun = try phone.call(
            "/identity/in-app",
            InAppRequest(
                clientID: TestServer.service, redirectURI: TestInAppServices.redirectURI, scope: "openid", state: nil,
                nonce: nil, codeChallenge: Base64URL.encode([UInt8](repeating: 7, count: 32))))
        let offer: SessionOffer = try await phone.read(
            try await server.engine.identities.appSessions.inApp(begun), to: begun)
        _ = try await phone.start(offer.session, claim: offer.claim)
        _ = try await phone.finish(offer.session, try await phone.prepared(offer.session))
        _ = try await self.resting(server, phone)
        for _ in 0..<2 {
            await expectRefusal(.lockedOut) { () async throws in _ = try await phone.complete(granted, .delete) }
            await expectRefusal(.lockedOut) { () async throws in
                let call = try phone.call("/identity/sessions/\(offer.session)/code", EmptyBody())
                _ = try await phone.read(
                    try await server.engine.identities.control.code(offer.session, call), to: call,
                    as: CodeResponse.self)
            }
            server.clock.advance(.seconds(6))
        }
        #expect(server.inApp.made.isEmpty)
        // The sign-in had come to something before, and the grant to nothing.
        let history = try await server.database.identityHistory(accountID: account.id, limit: 9)
        #expect(history.filter { $0.purpose == "serviceLogin" }.map(\.outcome) == [.finished])
        #expect(history.filter { $0.purpose == "delete" }.map(\.outcome) == [.failed])
    }

    @Test("row 52: the session whose factors were refused is prolonged while it waits, and goes on afterwards")
    func theSessionThatWaitsGoesOn() async throws {
        let (server, phone, session, prepared) = try await self.prepared()
        let next = try #require(try await phone.miss(session, prepared).next)
        let call = try phone.call("/identity/sessions/\(session)/prolong", EmptyBody())
        _ = try await phone.read(
            try await server.engine.identities.control.prolong(session, call), to: call, as: SessionDeadlines.self)
        server.clock.advance(.seconds(6))
        guard case .accepted = try await phone.finish(session, next) else {
            Issue.record("refused")
            return
        }
    }
}
