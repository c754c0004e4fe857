import Ceremony
import CeremonyEngine
import Foundation
import JOSE
import Records
import SQLStore
import Testing
import UAF
import _Primitives

@Suite("Sessions of identities: proofs, answers, and what comes again")
struct IdentityEnvelopeTests {
    private func started() async throws -> (server: TestServer, phone: IdentityPhone, session: String) {
        let server = try TestServer()
        try await server.addService()
        let (_, phone) = try await server.personalise()
        let code = try await server.showCode()
        _ = try await phone.start(code)
        return (server, phone, code.id)
    }

    @Test("An answer that was altered, or is another request's, is none")
    func anAlteredAnswerIsNoAnswer() async throws {
        let (server, phone, session) = try await self.started()
        let call = try phone.call("/identity/sessions/\(session)/prolong", EmptyBody())
        let reply = try await server.engine.identities.control.prolong(session, call)
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

    @Test("The same request is answered the same, and has one effect")
    func theSameRequestIsAnsweredTheSame() async throws {
        let (server, phone, session) = try await self.started()
        let prepared = try await phone.prepared(session)
        let call = try await phone.finishCall(session, prepared, [.device, .pin]) { factor in
            if factor.type == .pin { factor = TestFactor(.pin) }
        }
        let finishes = server.engine.identities.judgement
        let first = try await finishes.finish(session, call)
        server.clock.advance(.seconds(30))
        #expect(try await finishes.finish(session, call).body == first.body)
        #expect(try await server.lockout(of: phone)?.failuresInARow == 1)
        #expect(try await server.lockout(of: phone)?.failures.count == 1)
    }

    @Test("Other bytes under the name of a request that was answered are refused, and have no effect")
    func otherBytesUnderOneNameAreRefused() async throws {
        let (server, phone, session) = try await self.started()
        let ends = server.engine.identities.control
        let first = try phone.call("/identity/sessions/\(session)/prolong", EmptyBody(), name: "one")
        _ = try await ends.prolong(session, first)
        let other = try phone.call(
            "/identity/sessions/\(session)/prolong", body: Array("{ }".utf8), name: "one")
        #expect(try await ends.prolong(session, other).refusal == "replayRefused")
        let abort = try phone.call("/identity/sessions/\(session)/abort", EmptyBody(), name: "one")
        #expect(try await ends.abort(session, abort).refusal == "replayRefused")
        _ = try await phone.prepared(session)
    }

    @Test("A clock that is wrong is told the time, and nothing is done")
    func aClockThatIsWrongIsToldTheTime() async throws {
        let server = try TestServer()
        try await server.addService()
        let (account, _) = try await server.personalise()
        let offer = try await server.offer(to: account)
        let late = IdentityPhone(server, id: offer.id, factors: [.device, .pin], skew: .seconds(-90))
        let proven = try await server.prove(offer, by: late)
        let call = try await server.enrolCall(late, proven)
        let reply = try await server.engine.identities.enrolments.enroll(offer.id, call)
        #expect(reply.refusal == "clockSkew")
        #expect(try await server.database.activation(id: offer.id) == nil)
    }

    @Test("A session that its phone gives up is over for phone and page, and no other phone gives it up")
    func aSessionThatIsGivenUpIsOver() async throws {
        let (server, phone, session) = try await self.started()
        let (_, stranger) = try await server.personalise("bob")
        let foreign = try stranger.call("/identity/sessions/\(session)/abort", EmptyBody())
        let ends = server.engine.identities.control
        #expect(try await ends.abort(session, foreign).refusal == "notProven")
        let signIns = server.engine.signIns
        var states = try await signIns.events(reference: "request", browser: server.browser).makeAsyncIterator()
        let before = try await states.next()
        #expect(before == .claimed)
        let call = try phone.call("/identity/sessions/\(session)/abort", EmptyBody())
        #expect(try await ends.abort(session, call).refusal == nil)
        // The page is told at once, while no clock moves, and when it asks it is given a code of another session.
        let after = try await states.next()
        #expect(after == .denied)
        #expect(try await signIns.state(reference: "request", browser: server.browser) == .denied)
        let anew = try await signIns.renew(reference: "request", browser: server.browser, source: "a")
        let text = try #require(anew.codes?.qrContent)
        let code = try ProcessCode(parsing: text, keys: try await server.keySet().signingKeys)
        #expect(anew.state == .waiting && code.id != session)
        await #expect(throws: IdentityProblem(.sessionAborted)) { () async throws in
            _ = try await phone.prepare(session)
        }
        #expect(try await ends.abort(session, call).refusal == nil, "the same answer again")
    }

    @Test("A session that its browser gives up is over for the phone")
    func aBrowserGivesASessionUp() async throws {
        let (server, phone, session) = try await self.started()
        try await server.engine.signIns.cancel(reference: "request", browser: server.browser)
        await #expect(throws: IdentityProblem(.sessionAborted)) { () async throws in
            _ = try await phone.prepare(session)
        }
    }

    @Test("A session is prolonged up to its hard end, and no longer")
    func aSessionIsProlongedUntilItsHardEnd() async throws {
        let (server, phone, session) = try await self.started()
        let ends = server.engine.identities.control
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

    @Test("While keys to seal to turn, what was sealed to the one before is opened, and later it is not")
    func keysToSealToTurnAndGo() async throws {
        let server = try TestServer()
        try await server.addService()
        let (_, phone) = try await server.personalise()
        let first = try await server.keySet()
        #expect(first.sealingKeys.count == 1 && !first.signingKeys.keys.isEmpty)

        func finish(_ reference: String, sealedTo key: ManagerKeySet.SealingKey) async throws -> FinishResponse {
            let code = try await server.showCode(reference)
            _ = try await phone.start(code)
            let call = try await phone.finishCall(
                code.id, try await phone.prepared(code.id), [.device, .pin], sealedTo: key)
            return try await phone.read(
                try await server.engine.identities.judgement.finish(code.id, call), to: call)
        }
        server.clock.advance(.seconds(86_401))
        let second = try await server.keySet()
        #expect(second.sealingKeys.count == 2 && second.sealingKeys[1].id == first.sealingKeys[0].id)
        for key in second.sealingKeys {
            guard case .accepted = try await finish("sealed to \(key.id)", sealedTo: key) else {
                Issue.record("\(key.id) is not opened")
                return
            }
        }
        server.clock.advance(.seconds(3 * 86_400))
        let third = try await server.keySet()
        #expect(!third.sealingKeys.contains { $0.id == first.sealingKeys[0].id })
        guard case .lockout = try await finish("too late", sealedTo: first.sealingKeys[0]) else {
            Issue.record("an erased key opens")
            return
        }
        let root = try await server.engine.identities.keys.root()
        #expect(try await server.anotherEngine().identities.keys.root() == root)
    }

    @Test("While the keys that sign turn, answers by the one before are taken, and later they are not")
    func keysThatSignTurnAndGo() async throws {
        let keys = try (0..<2).map { _ in
            try SigningKey(kept: try SigningKey.make(.es256, random: .system), algorithm: .es256, keyID: nil)
        }
        let start = TestClock().now
        let (turn, end) = (start + .seconds(3600), start + .seconds(7200))
        // As the provider's keys turn: the next one is there before it signs, the last one a while after it does.
        let server = try TestServer(
            signer: ManagerSigner(
                key: { now in now < turn ? keys[0] : keys[1] },
                publicKeys: { now in
                    JWKSet((now < end ? keys : [keys[1]]).compactMap(\.publicKey))
                }))
        try await server.addService()
        let (_, phone) = try await server.personalise()
        let code = try await server.showCode()
        _ = try await phone.start(code)
        func prolong() async throws -> (call: IdentityCall, reply: IdentityReply) {
            let call = try phone.call("/identity/sessions/\(code.id)/prolong", EmptyBody())
            return (call, try await server.engine.identities.control.prolong(code.id, call))
        }
        let before = try await prolong()
        server.clock.advance(.seconds(3600))
        let after = try await prolong()
        let overlap = try await server.keySet()
        #expect(overlap.signingKeys.keys.count == 2)
        func verify(_ answer: (call: IdentityCall, reply: IdentityReply), by set: ManagerKeySet) throws {
            _ = try ManagerResponse(
                verifying: String(decoding: answer.reply.body, as: UTF8.self), server: IdentityPhone.issuer,
                request: ManagerResponse.name(ofRequest: Array((answer.call.proof ?? "").utf8)),
                keys: set.signingKeys)
        }
        try verify(before, by: overlap)
        try verify(after, by: overlap)
        server.clock.advance(.seconds(3600))
        let later = try await server.keySet()
        #expect(throws: IdentityMessageError.self) { try verify(before, by: later) }
        try verify(after, by: later)
    }

    @Test("A set of keys that the root has not signed is refused")
    func keysThatNobodyHasSigned() async throws {
        let server = try TestServer()
        let text = try await server.engine.identities.keys.keySet()
        let root = try #require(try await server.engine.identities.keys.root())
        func read(_ text: String, roots: [JWK]) throws {
            _ = try ManagerKeySet(
                verifying: text, server: IdentityPhone.issuer, roots: JWKSet(roots), at: server.clock.now)
        }
        try read(text, roots: [root])
        let other = try SigningKey(
            kept: try SigningKey.make(.es256, random: .system), algorithm: .es256, keyID: root.keyID)
        let set = try await server.keySet()
        let parts = text.split(separator: ".").map(String.init)
        let unsigned = Base64URL.encode(Array(#"{"alg":"none"}"#.utf8))
        for forged in [
            try set.signed(by: other), "\(parts[0]).\(parts[1]).", "\(unsigned).\(parts[1]).",
            String(decoding: Base64URL.decode(parts[1]) ?? [], as: UTF8.self),
        ] {
            #expect(throws: IdentityMessageError.self) { try read(forged, roots: [root]) }
        }
        #expect(throws: IdentityMessageError.self) { try read(text, roots: []) }
    }
}
