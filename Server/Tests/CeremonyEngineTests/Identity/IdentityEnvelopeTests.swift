import Ceremony
import CeremonyEngine
import Foundation
import JOSE
import SQLiteStore
import Store
import Testing
import UAF
import _Primitives

@Suite("Identity sessions: proofs, answers and what comes again (identity parity, rows 91, 92, 102 to 106)")
struct IdentityEnvelopeTests {
    private func started() async throws -> (server: TestServer, phone: IdentityPhone, session: String) {
        let server = try TestServer()
        try await server.addService()
        let (_, phone) = try await server.personalise()
        let code = try await server.showCode()
        _ = try await phone.start(code)
        return (server, phone, code.id)
    }

    @Test("row 102") func anAlteredAnswerIsNoAnswer() async throws {
        let (server, phone, session) = try await self.started()
        let call = try phone.call("/identity/sessions/\(session)/prolong", EmptyBody())
        let reply = try await server.engine.identities.ends.prolong(session, call)
        let keys = try await server.keySet().signingKeys
        let name = ManagerResponse.name(ofRequest: Array((call.proof ?? "").utf8))
        _ = try ManagerResponse(
            verifying: String(decoding: reply.body, as: UTF8.self), server: IdentityPhone.issuer, request: name,
            keys: keys)
        for index in stride(from: 0, to: reply.body.count, by: 7) {
            var altered = reply.body
            altered[index] ^= 1
            #expect(throws: IdentityMessageError.self) {
                _ = try ManagerResponse(
                    verifying: String(decoding: altered, as: UTF8.self), server: IdentityPhone.issuer, request: name,
                    keys: keys)
            }
        }
        #expect(throws: IdentityMessageError(.wrongReceiver)) {
            _ = try ManagerResponse(
                verifying: String(decoding: reply.body, as: UTF8.self), server: IdentityPhone.issuer,
                request: "another", keys: keys)
        }
    }

    @Test("row 103") func theSameRequestIsAnsweredTheSame() async throws {
        let (server, phone, session) = try await self.started()
        let prepared = try await phone.prepared(session)
        let call = try await phone.finishCall(session, prepared, [.device, .pin]) { factor in
            if factor.type == .pin { factor = TestFactor(.pin) }
        }
        let finishes = server.engine.identities.finishes
        let first = try await finishes.finish(session, call)
        server.clock.advance(.seconds(30))
        #expect(try await finishes.finish(session, call).body == first.body)
        #expect(try await server.lockout(of: phone)?.failuresInARow == 1)
        #expect(try await server.lockout(of: phone)?.failures.count == 1)
    }

    @Test("row 103") func otherBytesUnderOneNameAreRefused() async throws {
        let (server, phone, session) = try await self.started()
        let ends = server.engine.identities.ends
        let first = try phone.call("/identity/sessions/\(session)/prolong", EmptyBody(), name: "one")
        _ = try await ends.prolong(session, first)
        let other = try phone.call(
            "/identity/sessions/\(session)/prolong", body: Array("{ }".utf8), name: "one")
        #expect(try await ends.prolong(session, other).refusal == "replayRefused")
    }

    @Test func aClockThatIsWrongIsToldTheTime() async throws {
        let server = try TestServer()
        try await server.addService()
        let (account, _) = try await server.personalise()
        let offer = try await server.offer(to: account)
        let late = IdentityPhone(server, id: offer.id, factors: [.device, .pin], skew: .seconds(-90))
        let proven = try await server.prove(offer)
        let call = try await server.enrolCall(late, proven)
        let reply = try await server.engine.identities.enrolments.enroll(offer.id, call)
        #expect(reply.refusal == "clockSkew")
        #expect(try await server.database.activation(id: offer.id) == nil)
    }

    @Test("row 91") func aSessionThatIsGivenUpIsOver() async throws {
        let (server, phone, session) = try await self.started()
        let (_, stranger) = try await server.personalise("bob")
        let foreign = try stranger.call("/identity/sessions/\(session)/abort", EmptyBody())
        let ends = server.engine.identities.ends
        #expect(try await ends.abort(session, foreign).refusal == "notProven")
        let call = try phone.call("/identity/sessions/\(session)/abort", EmptyBody())
        #expect(try await ends.abort(session, call).refusal == nil)
        #expect(try await server.engine.signIns.state(reference: "request", browser: server.browser) == .denied)
        await #expect(throws: IdentityProblem(.sessionAborted)) { () async throws in
            _ = try await phone.prepare(session)
        }
        #expect(try await ends.abort(session, call).refusal == nil, "the same answer again")
    }

    @Test func aBrowserGivesASessionUp() async throws {
        let (server, phone, session) = try await self.started()
        try await server.engine.signIns.cancel(reference: "request", browser: server.browser)
        await #expect(throws: IdentityProblem(.sessionAborted)) { () async throws in
            _ = try await phone.prepare(session)
        }
    }

    @Test("row 92") func aSessionIsProlongedUntilItsHardEnd() async throws {
        let (server, phone, session) = try await self.started()
        let ends = server.engine.identities.ends
        func prolong() async throws -> SessionDeadlines {
            let call = try phone.call("/identity/sessions/\(session)/prolong", EmptyBody())
            return try await phone.read(try await ends.prolong(session, call), to: call)
        }
        server.clock.advance(.seconds(100))
        let first = try await prolong()
        #expect(first.nextRequestUntil == server.clock.now + .seconds(180))
        var last = first
        while last.nextRequestUntil < last.lastRequestBefore {
            server.clock.advance(.seconds(170))
            last = try await prolong()
        }
        #expect(last.nextRequestUntil == first.lastRequestBefore)
        server.clock.advance(.seconds(181))
        await #expect(throws: IdentityProblem(.sessionExpired)) { () async throws in _ = try await prolong() }
        await #expect(throws: IdentityProblem(.sessionExpired)) { () async throws in
            _ = try await phone.prepare(session)
        }
    }

    @Test("row 104") func keysToSealToTurnAndGo() async throws {
        let server = try TestServer()
        let first = try await server.keySet()
        #expect(first.sealingKeys.count == 1 && !first.signingKeys.keys.isEmpty)
        server.clock.advance(.seconds(86_401))
        let second = try await server.keySet()
        #expect(second.sealingKeys.count == 2 && second.sealingKeys[1].id == first.sealingKeys[0].id)
        server.clock.advance(.seconds(3 * 86_400))
        let third = try await server.keySet()
        #expect(!third.sealingKeys.contains { $0.id == first.sealingKeys[0].id })
        let root = try await server.engine.identities.keys.root()
        #expect(try await server.anotherEngine().identities.keys.root() == root)
    }
}
