import Accounts
import Ceremony
import CeremonyEngine
import Records
import Settings
import Testing
import UAF
import _Primitives

@Suite("What an activation can have its server do")
struct IdentityBudgetTests {
    // MARK: Sessions that an app begins

    /// An app that may begin so many sessions, and the next of them an hour later.
    private func phone(sessions: Int) async throws -> (server: TestServer, phone: IdentityPhone) {
        let server = try TestServer { ($0.limits.codeBurst, $0.limits.codesPerMinute) = (sessions, 0) }
        try await server.addService { $0.allowsInApp = true }
        return (server, try await server.personalise().phone)
    }

    /// Begins a session of an app's own, or of its account's.
    private func begin(_ call: IdentityCall, at server: TestServer) async throws -> IdentityReply {
        let begins = server.engine.identities.appSessions
        return try await call.path == "/identity/in-app" ? begins.inApp(call) : begins.access(call)
    }

    private func call(_ path: String, of phone: IdentityPhone) throws -> IdentityCall {
        guard path == "/identity/in-app" else { return try phone.call(path, AccessRequest(purpose: .changePin)) }
        return try phone.call(
            path,
            InAppRequest(
                clientID: TestServer.service, redirectURI: TestInAppServices.redirectURI, scope: "openid", state: nil,
                nonce: nil, codeChallenge: Base64URL.encode([UInt8](repeating: 7, count: 32))))
    }

    private static let paths = ["/identity/in-app", "/identity/api-access"]

    @Test(
        "A session whose answer was lost is told again when the budget is used up, and another is refused",
        arguments: paths)
    func aLostAnswerIsGivenAgain(path: String) async throws {
        let (server, phone) = try await self.phone(sessions: 1)
        let call = try self.call(path, of: phone)
        let first = try await self.begin(call, at: server)
        #expect(first.refusal == nil)
        #expect(try await self.begin(call, at: server) == first)
        #expect(try await self.begin(try self.call(path, of: phone), at: server).status == .tooMany(retryAfter: 3600))
        #expect(try await self.begin(call, at: server) == first)
    }

    @Test(
        "A request that comes again, one after the other or at once, takes nothing from the next session",
        arguments: paths)
    func aRepetitionCostsNothing(path: String) async throws {
        let (server, phone) = try await self.phone(sessions: 2)
        let call = try self.call(path, of: phone)
        let replies = try await withThrowingTaskGroup(of: IdentityReply.self) { group in
            for _ in 0..<2 { group.addTask { try await self.begin(call, at: server) } }
            return try await group.reduce(into: [IdentityReply]()) { $0.append($1) }
        }
        #expect(replies.count == 2 && replies[0] == replies[1] && replies[0].refusal == nil)
        for _ in 0..<3 { #expect(try await self.begin(call, at: server) == replies[0]) }
        #expect(try await self.begin(try self.call(path, of: phone), at: server).refusal == nil)
        #expect(try await self.begin(try self.call(path, of: phone), at: server).refusal == "tooManyRequests")
    }

    @Test("Other bytes under the name of a request that began a session are refused, and cost nothing")
    func otherBytesUnderOneNameCostNothing() async throws {
        let (server, phone) = try await self.phone(sessions: 2)
        let path = "/identity/api-access"
        let first = try phone.call(path, AccessRequest(purpose: .changePin), name: "one")
        #expect(try await self.begin(first, at: server).refusal == nil)
        let other = try phone.call(path, AccessRequest(purpose: .delete), name: "one")
        for _ in 0..<3 { #expect(try await self.begin(other, at: server).refusal == "replayRefused") }
        #expect(try await self.begin(try self.call(path, of: phone), at: server).refusal == nil)
    }

    // MARK: Requests that a device proves

    /// A server whose devices prove so many requests at once, and another one every ten seconds.
    private func server(requests: Int) throws -> TestServer {
        try TestServer { ($0.limits.provenRequestBurst, $0.limits.provenRequestsPerMinute) = (requests, 6) }
    }

    private func ask(_ phone: IdentityPhone) async throws -> IdentityReply {
        let call = try phone.call("/identity/activation", method: "GET")
        return try await phone.server.engine.identities.activations.record(call)
    }

    @Test("A device proves so many requests, and no more until time has passed; nobody else uses them up")
    func aDeviceProvesSoMany() async throws {
        let server = try self.server(requests: 3)
        let (account, phone) = try await server.personalise()
        let other = try await server.addIdentity(to: account)
        let old = try phone.call("/identity/activation", method: "GET")
        server.clock.advance(.seconds(61))
        let forger = IdentityPhone(server, id: phone.id, factors: [])
        for _ in 0..<5 {
            #expect(try await self.ask(forger).refusal == "notProven")
            #expect(try await server.engine.identities.activations.record(old).refusal == "clockSkew")
        }
        for _ in 0..<3 { #expect(try await self.ask(phone).refusal == nil) }
        for _ in 0..<2 {
            let call = try phone.call("/identity/activation", method: "GET")
            let reply = try await server.engine.identities.activations.record(call)
            #expect(reply.status == .tooMany(retryAfter: 10))
            // It is signed, and says how long the app waits.
            guard case .refusal(let problem) = try await server.content(of: reply, to: call) else {
                Issue.record("\(reply)")
                return
            }
            #expect(problem.code == .tooManyRequests && problem.retryAfter == 10)
        }
        #expect(try await self.ask(other).refusal == nil)
        server.clock.advance(.seconds(10))
        #expect(try await self.ask(phone).refusal == nil)
        #expect(try await self.ask(phone).refusal == "tooManyRequests")
    }

    @Test("Past that nothing is judged and nothing counted, and what was right is accepted afterwards")
    func pastItNothingIsJudged() async throws {
        let server = try self.server(requests: 3)
        try await server.addService()
        let (_, phone) = try await server.personalise()
        let code = try await server.showCode()
        _ = try await phone.start(code)
        let prepared = try await phone.prepared(code.id)
        _ = try await self.ask(phone)
        await expectRefusal(.tooManyRequests) { _ = try await phone.miss(code.id, prepared) }
        #expect(try await server.lockout(of: phone) == LockoutRecord())
        server.clock.advance(.seconds(10))
        guard case .accepted = try await phone.finish(code.id, prepared) else {
            Issue.record("refused")
            return
        }
    }

    @Test("An enrolment whose answer was lost is told again as often as its device proves requests")
    func aRepeatedEnrolmentIsCounted() async throws {
        let server = try self.server(requests: 2)
        let account = try await server.directory.create(username: "alice", displayName: nil, by: "test")
        let offer = try await server.offer(to: account)
        let phone = IdentityPhone(server, id: offer.id, factors: [.device, .pin])
        let call = try await server.enrolCall(phone, try await server.prove(offer, by: phone))
        let enrolments = server.engine.identities.enrolments
        let first = try await enrolments.enroll(offer.id, call)
        #expect(first.refusal == nil)
        for _ in 0..<2 { #expect(try await enrolments.enroll(offer.id, call) == first) }
        #expect(try await enrolments.enroll(offer.id, call).status == .tooMany(retryAfter: 10))
    }
}
