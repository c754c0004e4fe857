import Accounts
import Ceremony
import CeremonyEngine
import Crypto
import Records
import Settings
import Synchronization
import Testing
import UAF
import _Primitives

@Suite("Personalised identities: an app that is not in the list of facets is named in the log")
struct IdentityFacetTests {
    private static let facet = "test:another"

    @Test("Its enrolment is refused, and the operator is told which app it is, once a minute")
    func enrolment() async throws {
        let told = Mutex<[String]>([])
        let server = try TestServer { $0.facetRefused = { facet in told.withLock { $0.append(facet) } } }
        let account = try await server.directory.create(username: "alice", displayName: nil, by: "test")
        let offer = try await server.offer(to: account)
        let phone = IdentityPhone(server, id: offer.id, factors: [.device, .pin], facet: Self.facet)
        let proven = try await server.prove(offer, by: phone)
        for expected in [1, 1, 2] {
            if expected == 2 { server.clock.advance(.seconds(60)) }
            let call = try await server.enrolCall(phone, proven)
            await expectRefusal(.untrustedFacetId) {
                _ = try await phone.read(
                    try await server.engine.identities.enrolments.enroll(offer.id, call), to: call,
                    as: ActivationReceipt.self)
            }
            #expect(told.withLock { $0 } == Array(repeating: Self.facet, count: expected))
        }
        // The same phone with the app that is listed.
        let listed = IdentityPhone(phone, at: server, facet: TestPhone.facet)
        let call = try await server.enrolCall(listed, proven)
        _ = try await listed.read(
            try await server.engine.identities.enrolments.enroll(offer.id, call), to: call,
            as: ActivationReceipt.self)
        #expect(told.withLock { $0.count } == 2)
    }

    @Test("Its factors are refused, right or wrong, and cost no attempt; the listed app goes on where it was")
    func factors() async throws {
        let told = Mutex<[String]>([])
        let server = try TestServer { $0.facetRefused = { facet in told.withLock { $0.append(facet) } } }
        try await server.addService()
        let (_, phone) = try await server.personalise()
        // One attempt before the last.
        for number in 1..<Limits().lockoutFailuresInARow {
            let code = try await server.showCode("wrong \(number)")
            _ = try await phone.start(code)
            _ = try await phone.miss(code.id, try await phone.prepared(code.id))
            server.clock.advance(.seconds(86_400))
        }
        #expect(told.withLock { $0.isEmpty }, "a wrong PIN is none of its app")
        let before = try await server.lockout(of: phone)
        let code = try await server.showCode()
        _ = try await phone.start(code)
        let prepared = try await phone.prepared(code.id)
        let other = IdentityPhone(phone, at: server, facet: Self.facet)
        for isRight in [true, false, true] {
            await expectRefusal(.untrustedFacetId) {
                _ = try await other.finish(code.id, prepared) { factor in
                    if !isRight, factor.type == .pin { factor.key = P256.Signing.PrivateKey() }
                }
            }
            let after = try await server.lockout(of: phone)
            #expect(after?.failuresInARow == before?.failuresInARow)
            #expect(after?.isPermanent == false && after?.reservation == nil)
        }
        #expect(told.withLock { $0 } == [Self.facet])
        guard case .accepted = try await phone.finish(code.id, prepared) else {
            Issue.record("the right ones of the listed app are refused")
            return
        }
    }

    @Test("A factor and a PIN of it are refused, and the operator is told of it each time")
    func completions() async throws {
        let told = Mutex<[String]>([])
        let server = try TestServer { $0.facetRefused = { facet in told.withLock { $0.append(facet) } } }
        let (_, phone) = try await server.personalise()
        let other = IdentityPhone(phone, at: server, facet: Self.facet)
        let (adding, toAdd) = try await phone.granted(.addFactor)
        let (changing, toChange) = try await phone.granted(.changePin)
        func response(_ app: IdentityPhone, _ type: AuthenticatorType, _ prepared: PreparedSession) throws -> String {
            try app.registration([TestFactor(type)], SessionDocument.challenge(of: prepared.document))
        }
        await expectRefusal(.untrustedFacetId) {
            _ = try await phone.complete(adding, .addFactor(response: try response(other, .biometric, toAdd)))
        }
        #expect(told.withLock { $0 } == [Self.facet])
        server.clock.advance(.seconds(60))
        // More often than a grant takes PINs that are refused, of whichever version.
        for version: UInt32 in [2, 7, 2, 2] {
            await expectRefusal(.untrustedFacetId) {
                _ = try await phone.complete(
                    changing, .changePin(version: version, response: try response(other, .pin, toChange)))
            }
        }
        #expect(told.withLock { $0 } == [Self.facet, Self.facet])
        // Both are still granted, and the app that is listed has them.
        let added = try await phone.complete(adding, .addFactor(response: try response(phone, .biometric, toAdd)))
        #expect(added.activation?.factors == ["device", "pin", "biometric"])
        let changed = try await phone.complete(
            changing, .changePin(version: 2, response: try response(phone, .pin, toChange)))
        #expect(changed.activation?.pinVersion == 2)
        #expect(told.withLock { $0.count } == 2)
    }

    @Test("A request of it that comes again has the same answer, and the first answer's code is for the log")
    func again() async throws {
        let server = try TestServer()
        try await server.addService()
        let (_, phone) = try await server.personalise()
        let code = try await server.showCode()
        _ = try await phone.start(code)
        let other = IdentityPhone(phone, at: server, facet: Self.facet)
        let prepared = try await phone.prepared(code.id)
        let call = try await other.finishCall(code.id, prepared, [.device, .pin])
        let answer = try await server.engine.identities.judgement.finish(code.id, call)
        #expect(answer.status == .answered && answer.refusal == "untrustedFacetId")
        let again = try await server.engine.identities.judgement.finish(code.id, call)
        #expect(again.body == answer.body && again.refusal == nil)
        let right = try await phone.finishCall(code.id, prepared, [.device, .pin])
        #expect(try await server.engine.identities.judgement.finish(code.id, right).refusal == nil)
    }
}
