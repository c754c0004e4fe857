import Accounts
import CeremonyEngine
import Records
import SQLStore
import Testing
import UAF
import _Primitives

@Suite("uaf-sections §8.2 step 4, §8.4 steps 5 and 10: many answers at once, on the real store")
struct ConcurrentAnswerTests {
    private static let count: UInt32 = 64

    /// Answers all at once, and says how often each code came.
    private static func answer(_ messages: [SendUAFResponse], _ server: TestServer) async throws -> [UAFStatusCode: Int]
    {
        try await withThrowingTaskGroup(of: UAFStatusCode.self) { group in
            for message in messages {
                group.addTask { try await server.engine.authenticationAnswers.judge(message).response.statusCode }
            }
            return try await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        }
    }

    @Test("Of 64 signatures over one challenge of a ceremony one is accepted, and its counter is the one that is kept")
    func ceremony() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.enrol()
        let request = try await server.claimSignIn()
        // Each is right by itself: another nonce and another counter.
        let messages = try (0..<Self.count).map { try phone.authenticate(request, counter: 2 + $0) }
        #expect(try await Self.answer(messages, server) == [.ok: 1, .invalidRequest: 63])
        let counter = try await server.database.credentials(accountID: account.id).first?.counter
        #expect((2..<(2 + Self.count)).contains(try #require(counter)))
        #expect(try await server.engine.signIns.state(reference: "request", browser: server.browser) == .approved)
    }

    @Test("One answer that is sent 64 times is told 64 times that it was accepted, and is carried out once")
    func replayed() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.enrol()
        let message = try phone.authenticate(try await server.claimSignIn(), counter: 2)
        let codes = try await Self.answer([SendUAFResponse](repeating: message, count: 64), server)
        #expect(codes == [.ok: 64])
        let trail = try await server.database.auditEntries(after: 0, limit: 999).map(\.event.kind.rawValue)
        #expect(trail.count { $0 == "authenticated" } == 1)
        #expect(try await server.database.credentials(accountID: account.id).first?.counter == 2)
    }

    @Test("Of 64 signatures over a challenge that the server keeps no row of, one is accepted")
    func open() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.enrol()
        let request = try await server.engine.requests.authentication(username: nil, source: "a")
        let messages = try (0..<Self.count).map { try phone.authenticate(request, counter: 2 + $0) }
        #expect(try await Self.answer(messages, server) == [.ok: 1, .invalidRequest: 63])
        let counter = try await server.database.credentials(accountID: account.id).first?.counter
        #expect((2..<(2 + Self.count)).contains(try #require(counter)))
    }

    @Test("Of 64 keys made for one enrolment one is registered")
    func enrolment() async throws {
        let server = try TestServer()
        let account = try await server.directory.create(username: "alice", displayName: nil, by: "test")
        let enrolment = try await server.engine.enrolments.createEnrolmentLink(username: "alice", by: "test")
        let request = try await server.engine.redemptions.redeem(
            token: try TestPhone.token(enrolment.link), operation: .registration)
        let messages = try (0..<Self.count).map { try TestPhone().register(request, name: "phone \($0)") }
        let codes = try await withThrowingTaskGroup(of: UAFStatusCode.self) { group in
            for message in messages {
                group.addTask { try await server.engine.registrationAnswers.judge(message).statusCode }
            }
            return try await group.reduce(into: [UAFStatusCode: Int]()) { $0[$1, default: 0] += 1 }
        }
        #expect(codes == [.accepted: 1, .invalidRequest: 63])
        #expect(try await server.database.credentials(accountID: account.id).count == 1)
    }

    @Test("Of 64 challenges that one key answers at once, each accepted counter is higher than the one before it")
    func counters() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.enrol()
        var messages: [SendUAFResponse] = []
        for counter in 0..<Self.count {
            let request = try await server.engine.requests.authentication(username: nil, source: "source \(counter)")
            messages.append(try phone.authenticate(request, counter: 2 + counter))
        }
        // The highest comes among the others: what comes later with a lower one is refused.
        let codes = try await Self.answer(messages.shuffled(), server)
        #expect(Set(codes.keys).isSubset(of: [.ok, .unacceptableContent]) && codes[.ok, default: 0] > 0)
        #expect(try await server.database.credentials(accountID: account.id).first?.counter == 1 + Self.count)
        // Each has used its challenge up, gets its own judgement again, and each that was too low has left one trace.
        let again = try await Self.answer(messages, server)
        #expect(again == codes)
        let trail = try await server.database.auditEntries(after: 0, limit: 999).map(\.event.kind.rawValue)
        #expect(trail.count { $0 == "counter-went-back" } == codes[.unacceptableContent, default: 0])
    }
}
