import Accounts
import Ceremony
import CeremonyEngine
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
            await expectRefusal(.invalidRequest) {
                _ = try await phone.read(
                    try await server.engine.identities.enrolments.enroll(offer.id, call), to: call,
                    as: Ceremony.ActivationRecord.self)
            }
            #expect(told.withLock { $0 } == Array(repeating: Self.facet, count: expected))
        }
        // The same phone with the app that is listed.
        let listed = IdentityPhone(phone, at: server, facet: TestPhone.facet)
        let call = try await server.enrolCall(listed, proven)
        _ = try await listed.read(
            try await server.engine.identities.enrolments.enroll(offer.id, call), to: call,
            as: Ceremony.ActivationRecord.self)
        #expect(told.withLock { $0.count } == 2)
    }

    @Test("Its factors are refused as wrong ones are, and the operator is told which app it is")
    func factors() async throws {
        let told = Mutex<[String]>([])
        let server = try TestServer { $0.facetRefused = { facet in told.withLock { $0.append(facet) } } }
        try await server.addService()
        let (_, phone) = try await server.personalise()
        let code = try await server.showCode()
        _ = try await phone.start(code)
        let prepared = try await phone.prepared(code.id)
        _ = try await phone.miss(code.id, prepared)
        #expect(told.withLock { $0.isEmpty }, "a wrong PIN is none of its app")
        let other = IdentityPhone(phone, at: server, facet: Self.facet)
        server.clock.advance(.seconds(60))
        let second = try await server.showCode("second")
        _ = try await other.start(second)
        let answer = try await other.finish(second.id, try await other.prepared(second.id))
        guard case .lockout = answer else {
            Issue.record("accepted: \(answer)")
            return
        }
        #expect(told.withLock { $0 } == [Self.facet])
    }
}
