import Accounts
import CeremonyEngine
import Dispatch
import Records
import SQLStore
import Settings
import StoreConformance
import Testing
import UAF
import UAFRelyingParty
import _Primitives

/// Keeps the writer of a server's store busy: every further step is refused, and what only reads goes on.
private final class BusyWriter: Sendable {
    static let limits: Limits = {
        var limits = Limits()
        limits.waitingSteps = 1
        return limits
    }()

    private let release = DispatchSemaphore(value: 0)
    private let steps: [Task<Void, any Error>]

    /// For a server with a store of these ``limits``.
    init(_ server: TestServer) async throws {
        let (began, begin) = AsyncStream.makeStream(of: Void.self)
        let (full, fill) = AsyncStream.makeStream(of: Void.self)
        let ceremony = CeremonyRecord(
            id: "busy", kind: .authentication, createdAt: server.clock.now,
            expiresAt: server.clock.now + .seconds(600), detail: CeremonyDetail())
        try await server.database.createCeremony(ceremony, tokens: [], audit: nil)
        let (database, release) = (server.database, self.release)
        let holding = Task {
            _ = try await database.change(.id("busy")) { _ in
                begin.finish()
                release.wait()
                return CeremonyChange()
            }
        }
        for await _ in began {}
        // There is one place to wait in: of two that come, one is told so.
        let waiting = (0..<2).map { _ in
            Task {
                do { try await database.assertWritable() } catch let error as StoreError
                    where error.code == .unavailable
                {
                    fill.finish()
                }
            }
        }
        self.steps = [holding] + waiting
        for await _ in full {}
    }

    func stop() async throws {
        self.release.signal()
        for step in self.steps { try await step.value }
    }
}

@Suite("Decision 6, uaf-sections §8.2 and §8.4: what is refused without the store's work")
struct AnswerCostTests {
    /// What is wrong with an answer that can be told from the answer alone.
    enum Fault: CaseIterable, Sendable {
        case tooManyKeys, oneKeyTwice, otherHash, otherChallenge, unknownModel

        var code: UAFStatusCode {
            switch self {
            case .tooManyKeys: .unacceptableAuthenticator
            case .oneKeyTwice, .otherHash: .unacceptableContent
            case .otherChallenge: .invalidRequest
            case .unknownModel: .unknownAAID
            }
        }
    }

    private func answer(_ request: ReturnUAFRequest, _ key: CredentialID, _ fault: Fault) throws -> SendUAFResponse {
        switch fault {
        case .tooManyKeys:
            let others = try (0..<5).map { _ in try Forgery.unknownKey(key.aaid) }
            return try Forgery.authentication(request, keys: [key] + others)
        case .oneKeyTwice: return try Forgery.authentication(request, keys: [key, key])
        case .otherHash:
            return try Forgery.authentication(
                request, keys: [key], finalChallengeHash: [UInt8](repeating: 0, count: 32))
        case .otherChallenge:
            return try Forgery.authentication(request, keys: [key], challenge: Challenge(random: .system))
        case .unknownModel:
            return try Forgery.authentication(request, keys: [try Forgery.unknownKey(try AAID("ABCD#0001"))])
        }
    }

    private func server() throws -> TestServer {
        try TestServer { $0.factors = [[.pin], [.fingerprint, .pin]] }
    }

    @Test(
        "An answer to an open challenge whose own words refuse it never comes to the store", arguments: Fault.allCases)
    func openChallenge(fault: Fault) async throws {
        let server = try self.server()
        let (_, phone) = try await server.enrol()
        let request = try await server.engine.requests.authentication(username: nil, source: "a")
        let message = try self.answer(request, phone.id, fault)
        // With a store that is closed every step and every read fails.
        await server.database.close()
        let answer = try await server.engine.authenticationAnswers.judge(message)
        #expect(answer.response.statusCode == fault.code && answer.response.newUAFRequest == nil)
        await #expect(throws: StoreError.self) {
            try await server.engine.authenticationAnswers.judge(try Forgery.authentication(request, keys: [phone.id]))
        }
    }

    @Test("As many keys as the longest alternative needs are looked up, and not one more")
    func longestAlternative() async throws {
        let server = try self.server()
        let (_, phone) = try await server.enrol()
        let request = try await server.engine.requests.authentication(username: nil, source: "a")
        for (others, code) in [(1, UAFStatusCode.unknownKeyID), (2, .unacceptableAuthenticator)] {
            let keys = try [phone.id] + (0..<others).map { _ in try Forgery.unknownKey(phone.aaid) }
            let answer = try await server.engine.authenticationAnswers.judge(
                try Forgery.authentication(request, keys: keys))
            #expect(answer.response.statusCode == code)
        }
        var policies = PolicyCatalog()
        let pin = MatchCriteria(aaid: [phone.aaid])
        try policies.add(
            Policy(accepted: [[pin, pin, pin]]), named: "three", metadata: server.engine.metadata)
        try server.engine.replaceRules(
            metadata: server.engine.metadata, policies: policies, channelBinding: .ignore)
        let keys = try [phone.id] + (0..<2).map { _ in try Forgery.unknownKey(phone.aaid) }
        let answer = try await server.engine.authenticationAnswers.judge(
            try Forgery.authentication(request, keys: keys))
        #expect(answer.response.statusCode == .unknownKeyID, "a policy that can be named counts, too")
    }

    @Test(
        "Too many keys, or one twice, end their ceremony",
        arguments: [Fault.tooManyKeys, .oneKeyTwice])
    func ceremony(fault: Fault) async throws {
        let server = try self.server()
        let (_, phone) = try await server.enrol()
        let request = try await server.claimSignIn()
        let message = try self.answer(request, phone.id, fault)
        #expect(try await server.engine.authenticationAnswers.judge(message).response.statusCode == fault.code)
        #expect(try await server.engine.signIns.state(reference: "request", browser: server.browser) == .failed)
    }

    @Test("A registration of too many keys, or of one twice, looks none up", arguments: [true, false])
    func registration(isTwice: Bool) async throws {
        let server = try self.server()
        let (account, phone) = try await server.enrol()
        let request = try await server.engine.requests.registration(of: try await server.device(of: account))
        let key = try Forgery.unknownKey(phone.aaid)
        let keys = isTwice ? [key, key] : try [key] + (0..<2).map { _ in try Forgery.unknownKey(phone.aaid) }
        let message = try Forgery.registration(request, keys: keys)
        await server.database.close()
        #expect(
            try await server.engine.registrationAnswers.judge(message).statusCode
                == (isTwice ? .unacceptableKey : .unacceptableAuthenticator))
        await #expect(throws: StoreError.self) {
            try await server.engine.registrationAnswers.judge(try Forgery.registration(request, keys: [key]))
        }
    }

    @Test("What comes after the end of its ceremony does not come to the writer", arguments: [true, false])
    func afterTheEnd(isFailure: Bool) async throws {
        let server = try TestServer(storeLimits: BusyWriter.limits)
        let (_, phone) = try await server.enrol()
        let request = try await server.claimSignIn()
        let first = try phone.authenticate(request, counter: 2)
        #expect(try await server.engine.authenticationAnswers.judge(first).response.statusCode == .ok)
        let writer = try await BusyWriter(server)
        for _ in 0..<3 {
            let again = isFailure ? try phone.giveUp(request, clientErrorCode: 3) : first
            let answer = try await server.engine.authenticationAnswers.judge(again)
            // The same answer has the same judgement (decision 129), and without a proof nothing beside it.
            #expect(answer.response.statusCode == .ok && answer.response.location == nil)
        }
        try await writer.stop()
    }

    @Test("A source past its budget has its wrong answers refused without the writer, and its right ones taken")
    func pastTheBudget() async throws {
        let server = try TestServer(storeLimits: BusyWriter.limits) {
            $0.limits.refusalBurst = 1
            $0.limits.refusalsPerMinute = 6
        }
        let (_, phone) = try await server.enrol()
        let request = try await server.engine.requests.authentication(username: "alice", source: "a")
        let wrong = try phone.authenticate(request, counter: 2, fault: .signature)
        let refused = try await server.engine.authenticationAnswers.judge(wrong, source: "a")
        #expect(refused.response.statusCode == .unacceptableContent)
        let writer = try await BusyWriter(server)
        for _ in 0..<3 {
            let error = await #expect(throws: CeremonyError.self) {
                try await server.engine.authenticationAnswers.judge(wrong, source: "a")
            }
            #expect(error?.code == .tooManyRequests && error?.retryAfterSeconds == 10)
        }
        try await writer.stop()
        let right = try await server.engine.authenticationAnswers.judge(
            try phone.authenticate(request, counter: 2), source: "a")
        #expect(right.response.statusCode == .ok && right.authenticated != nil)
    }
}

@Suite("Threat model, Guessing: codes and tokens past a budget of wrong ones")
struct CodeCostTests {
    @Test(
        "What nobody can redeem does not come to the writer, within the budget and past it, and what is right is taken",
        arguments: [true, false])
    func onlyWhatIsRight(isPast: Bool) async throws {
        let server = try TestServer(storeLimits: BusyWriter.limits) {
            $0.limits.guessBurst = isPast ? 1 : 60
            $0.limits.guessesPerMinute = 6
        }
        func redeem(_ token: String) async throws {
            _ = try await server.engine.redemptions.redeem(token: token, operation: .authentication, source: "a")
        }
        let codes = try #require(try await server.beginSignIn("one").codes)
        let used = try TestPhone.token(try #require(try await server.beginSignIn("two").codes).qrContent)
        let unknown = CeremonyError(isPast ? .tooManyRequests : .tokenUnknown)
        try await redeem(used)
        await #expect(throws: CeremonyError(.tokenUnknown)) { try await redeem("AAAAA-AAAAA") }
        // What this process handed out comes to the writer once, however it is shown (decision 17).
        await #expect(throws: unknown) {
            try await server.engine.redemptions.redeem(token: codes.typedCode, operation: .registration, source: "a")
        }
        let writer = try await BusyWriter(server)
        for wrong in ["AAAAA-AAAAA", "no token of ours at all"] {
            await #expect(throws: unknown) { try await redeem(wrong) }
        }
        await #expect(throws: CeremonyError(.tokenUnknown)) {
            try await server.engine.redemptions.redeem(token: "AAAAA-AAAAA", operation: .authentication)
        }
        await #expect(throws: CeremonyError(.tokenAlreadyRedeemed)) { try await redeem(used) }
        await #expect(throws: unknown) {
            try await server.engine.redemptions.redeem(token: codes.typedCode, operation: .registration, source: "a")
        }
        // A right one comes to the writer, which cannot take it just now; later it is taken.
        await #expect(throws: StoreError(.unavailable, "")) { try await redeem(codes.typedCode) }
        try await writer.stop()
        try await redeem(codes.typedCode)
    }

    @Test("A deregistration that was carried out is answered again without the writer, past the budget, too")
    func againWithoutTheWriter() async throws {
        let server = try TestServer(storeLimits: BusyWriter.limits) {
            $0.limits.guessBurst = 2
            $0.limits.guessesPerMinute = 6
        }
        let (account, _) = try await server.enrol()
        let context: JSONObject = ["subject": .string("bank|\(account.id)"), "mode": .string("username")]
        let dispatched = try await server.engine.dispatches.dispatch(
            DispatchRequest(dispatcher: "link", operation: .deregistration, context: context), client: server.bank)
        let token = try #require(dispatched.token)
        func redeem() async throws -> ReturnUAFRequest {
            try await server.engine.redemptions.redeem(token: token, operation: .deregistration, source: "a")
        }
        let first = try await redeem()
        let writer = try await BusyWriter(server)
        for _ in 0..<5 { #expect(try await redeem() == first) }
        // Each counts as a code that was used: it does not come back for whoever guesses beside it.
        await #expect(throws: CeremonyError(.tooManyRequests)) {
            try await server.engine.redemptions.redeem(token: "AAAAA-AAAAA", operation: .authentication, source: "a")
        }
        try await writer.stop()
    }

    @Test("A continuation that nobody was given does not come to the writer")
    func continuation() async throws {
        let server = try TestServer(storeLimits: BusyWriter.limits)
        let (_, phone) = try await server.enrol()
        let view = try await server.beginSignIn()
        let request = try await server.engine.redemptions.redeem(
            token: try TestPhone.token(view.codes?.link ?? ""), operation: .authentication)
        let answer = try await server.engine.authenticationAnswers.judge(try phone.authenticate(request, counter: 2))
        let code = String(try #require(answer.response.location).split(separator: "=")[1])
        let writer = try await BusyWriter(server)
        for browser in [server.browser, nil] {
            await #expect(throws: CeremonyError(.notFound)) {
                try await server.engine.signIns.resume(code: "x", browser: browser)
            }
        }
        await #expect(throws: StoreError(.unavailable, "")) {
            try await server.engine.signIns.resume(code: code, browser: server.browser)
        }
        try await writer.stop()
        #expect(try await server.engine.signIns.resume(code: code, browser: server.browser).reference == "request")
    }

    @Test("Nor does an administrator's secret that nobody was given, or whose time is over")
    func administratorsSecret() async throws {
        let server = try TestServer(storeLimits: BusyWriter.limits)
        let administrators = Administrators(store: server.database, time: server.clock.source)
        let secret = try #require(try await administrators.makeLinkIfNone())
        let writer = try await BusyWriter(server)
        await #expect(throws: AccountError(.notFound)) {
            try await administrators.redeem(secret: "x", source: "a")
        }
        await #expect(throws: StoreError(.unavailable, "")) {
            try await administrators.redeem(secret: secret, source: "a")
        }
        let later = Administrators(
            store: server.database,
            time: TimeSource { server.clock.now + server.engine.configuration.limits.administratorLinkLifetime })
        await #expect(throws: AccountError(.notFound)) { try await later.redeem(secret: secret, source: "a") }
        try await writer.stop()
        _ = try await administrators.redeem(secret: secret, source: "a")
    }

    @Test("Nor does an authorization code that no client was given, or whose grant a replay has revoked")
    func authorizationCode() async throws {
        let server = try TestServer(storeLimits: BusyWriter.limits)
        let (store, now) = (server.database, server.clock.now)
        let event = AuditEvent(AuditEvent.Kind(rawValue: "test"), at: now)
        try await store.addClient(
            ClientRecord(
                id: "bank", name: "Bank", redirectURIs: ["https://bank.example/"], postLogoutRedirectURIs: [],
                secretDigest: [1], createdAt: now, settings: ClientSettings()), limit: 9, audit: event)
        for number: UInt8 in [1, 2] {
            try await SampleSignIn("\(number)", secret: [number], client: "bank", at: now).keep(in: store)
        }
        func take(_ digest: [UInt8]) async throws -> CodeTaking {
            try await store.takeCode(digest: digest, at: now, replay: event) { _, _ in true }
        }
        guard case .taken = try await take([1]) else {
            Issue.record("not taken")
            return
        }
        #expect(try await take([1]) == .replayed)
        let writer = try await BusyWriter(server)
        #expect(try await take([3]) == .unknown)
        #expect(try await take([1]) == .unknown)
        await #expect(throws: StoreError(.unavailable, "")) { _ = try await take([2]) }
        try await writer.stop()
        guard case .taken = try await take([2]) else {
            Issue.record("not taken")
            return
        }
    }
}

@Suite("Decision 3: the budget of refused answers")
struct RefusalBudgetTests {
    private func server() throws -> TestServer {
        try TestServer {
            $0.limits.refusalBurst = 3
            $0.limits.refusalsPerMinute = 6
            $0.limits.challengeBurst = 1000
        }
    }

    /// The code of an answer; `nil`: the source is past its budget.
    private func code(_ message: SendUAFResponse, from source: String?, _ server: TestServer) async throws
        -> UAFStatusCode?
    {
        do {
            return try await server.engine.authenticationAnswers.judge(message, source: source).response.statusCode
        } catch let error as CeremonyError where error.code == .tooManyRequests {
            return nil
        }
    }

    @Test(
        "Refusals use it up, whatever was refused; another source has its own, and a caller that is not counted needs none"
    )
    func usedUp() async throws {
        let server = try self.server()
        let (_, phone) = try await server.enrol()
        let request = try await server.engine.requests.authentication(username: nil, source: "a")
        let wrong = try phone.authenticate(request, counter: 2, fault: .signature)
        #expect(try await self.code(wrong, from: "a", server) == .unacceptableContent)
        #expect(try await self.code(SendUAFResponse(uafResponse: "[]"), from: "a", server) == .badRequest)
        let unknown = try Forgery.authentication(request, keys: [try Forgery.unknownKey(phone.aaid)])
        #expect(try await self.code(unknown, from: "a", server) == .unknownKeyID)
        for message in [wrong, unknown, SendUAFResponse(uafResponse: "[]")] {
            #expect(try await self.code(message, from: "a", server) == nil)
        }
        #expect(try await self.code(wrong, from: "b", server) == .unacceptableContent)
        for _ in 0..<9 { #expect(try await self.code(wrong, from: nil, server) == .unacceptableContent) }
        server.clock.advance(.seconds(10))
        #expect(try await self.code(wrong, from: "a", server) == .unacceptableContent)
        #expect(try await self.code(wrong, from: "a", server) == nil)
    }

    @Test("Right answers and failures that a phone reports are not counted, before its end and past it")
    func rightAnswers() async throws {
        let server = try self.server()
        let (_, phone) = try await server.enrol()
        var counter: UInt32 = 1
        func right() async throws {
            for _ in 0..<5 {
                let request = try await server.engine.requests.authentication(username: nil, source: "a")
                counter += 1
                let answer = try phone.authenticate(request, counter: counter)
                #expect(try await self.code(answer, from: "a", server) == .ok)
                #expect(try await self.code(try phone.giveUp(request, clientErrorCode: 3), from: "a", server) == .ok)
                counter += 1
                let signIn = try phone.authenticate(
                    try await server.claimSignIn("to \(counter)"), counter: counter)
                #expect(try await self.code(signIn, from: "a", server) == .ok)
            }
        }
        try await right()
        let request = try await server.engine.requests.authentication(username: nil, source: "a")
        let wrong = try phone.authenticate(request, counter: 99, fault: .signature)
        for _ in 0..<3 { #expect(try await self.code(wrong, from: "a", server) == .unacceptableContent) }
        #expect(try await self.code(wrong, from: "a", server) == nil)
        try await right()
        #expect(try await self.code(wrong, from: "a", server) == nil)
    }

    @Test("Of many wrong answers at once no more are told than there are left")
    func atOnce() async throws {
        let server = try self.server()
        let (_, phone) = try await server.enrol()
        let request = try await server.engine.requests.authentication(username: nil, source: "a")
        let wrong = try phone.authenticate(request, counter: 2, fault: .signature)
        let codes = try await withThrowingTaskGroup(of: UAFStatusCode?.self) { group in
            for _ in 0..<64 { group.addTask { try await self.code(wrong, from: "a", server) } }
            return try await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        }
        #expect(codes == [.unacceptableContent: 3, nil: 61])
    }

    @Test("A wrong answer past the budget ends its ceremony all the same")
    func ceremony() async throws {
        let server = try self.server()
        let (_, phone) = try await server.enrol()
        for _ in 0..<3 { _ = try await self.code(SendUAFResponse(uafResponse: "[]"), from: "a", server) }
        let request = try await server.claimSignIn()
        let wrong = try phone.authenticate(request, counter: 2, fault: .signature)
        #expect(try await self.code(wrong, from: "a", server) == nil)
        #expect(try await server.engine.signIns.state(reference: "request", browser: server.browser) == .failed)
    }

    @Test("Registrations are counted with them")
    func registrations() async throws {
        let server = try self.server()
        _ = try await server.directory.create(username: "alice", displayName: nil, by: "test")
        func answer(_ fault: TestPhone.Fault?) async throws -> UAFStatusCode? {
            let enrolment = try await server.engine.enrolments.createEnrolmentLink(username: "alice", by: "test")
            let request = try await server.engine.redemptions.redeem(
                token: try TestPhone.token(enrolment.link), operation: .registration)
            do {
                return try await server.engine.registrationAnswers.judge(
                    try TestPhone().register(request, fault: fault), source: "a"
                ).statusCode
            } catch let error as CeremonyError where error.code == .tooManyRequests { return nil }
        }
        for _ in 0..<4 { #expect(try await answer(nil) == .accepted) }
        for _ in 0..<3 { #expect(try await answer(.signature) == .unacceptableAttestation) }
        #expect(try await answer(.signature) == nil)
        #expect(try await answer(nil) == .accepted)
    }

    @Test("A store that fails is not the source's fault")
    func storeFailure() async throws {
        let server = try self.server()
        let (_, phone) = try await server.enrol()
        let request = try await server.engine.requests.authentication(username: nil, source: "a")
        let message = try phone.authenticate(request, counter: 2)
        await server.database.close()
        for _ in 0..<5 {
            await #expect(throws: StoreError.self) {
                try await server.engine.authenticationAnswers.judge(message, source: "a")
            }
        }
        #expect(try await self.code(SendUAFResponse(uafResponse: "[]"), from: "a", server) == .badRequest)
    }
}
