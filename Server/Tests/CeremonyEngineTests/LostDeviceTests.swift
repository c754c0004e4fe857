import Accounts
import CeremonyEngine
import Records
import SQLStore
import Testing
import UAF
import _Primitives

@Suite("A lost device rests, and is not gone (decision 128, row 99 of the operations)")
struct LostDeviceTests {
    /// Enrols a phone that tells of its keys.
    private static func enrol(_ server: TestServer, _ device: TestDevice) async throws -> (TestPhone, String) {
        _ = try? await server.directory.create(username: "alice", displayName: nil, by: "test")
        let phone = try TestPhone()
        let link = try await server.engine.enrolments.createEnrolmentLink(username: "alice", by: "test")
        let request = try await server.engine.redemptions.redeem(
            token: try TestPhone.token(link.link), operation: .registration)
        let answer = try await server.engine.registrationAnswers.judge(
            try phone.register(request) { [try device.announcement($0)] })
        _ = try await server.engine.enrolments.confirmEnrolment(
            id: link.id, number: answer.confirmation?.number ?? "", by: "test")
        let account = try await server.directory.account(username: "alice")
        let devices = try await server.directory.devices(username: account.reference)
        return (phone, try #require(devices.last?.id))
    }

    private static func report(_ server: TestServer, _ id: String, _ notice: String) async throws -> LostDeviceReport {
        let account = try await server.directory.account(username: "alice").id
        return LostDeviceReport(
            deviceID: id, accountID: account,
            audit: AuditEvent(.deviceRested, at: server.clock.now, accountID: account, detail: id),
            notice: NoticeRecord(
                id: notice, accountID: account, kind: .deviceRested, at: server.clock.now, subject: "Phone"))
    }

    @Test("Its keys sign nobody in while it rests, neither for an earlier request nor for a later one, and then again")
    func keys() async throws {
        let server = try TestServer()
        let device = TestDevice()
        let (phone, id) = try await Self.enrol(server, device)
        var counter: UInt32 = 1
        func answer(_ request: ReturnUAFRequest) async throws -> UAFStatusCode? {
            counter += 1
            return try await server.engine.authenticationAnswers.judge(
                try phone.authenticate(request, counter: counter)
            ).response.statusCode
        }
        func request() async throws -> ReturnUAFRequest {
            try await server.engine.requests.authentication(username: "alice", source: "a")
        }
        #expect(try await answer(try await request()) == .ok)
        let earlier = try await request()
        #expect(try await server.database.restDevice(try await Self.report(server, id, "lost")))
        #expect(try await answer(earlier) != .ok)
        #expect(try await answer(try await request()) != .ok)
        #expect(try await server.database.dispatchTarget(deviceID: id) == nil)
        #expect(try await server.database.returnDevice(try await Self.report(server, id, "found")))
        #expect(try await answer(try await request()) == .ok)
    }

    @Test("Its proof says that it rests, and not that it is gone")
    func proofs() async throws {
        let server = try TestServer()
        let device = TestDevice()
        let (_, id) = try await Self.enrol(server, device)
        _ = try await server.database.restDevice(try await Self.report(server, id, "lost"))
        let prover = try await server.engine.deviceProofs.prover(of: try device.call(at: server.clock.now))
        #expect(!prover.isGone && !prover.standing.mayAuthenticate)
        #expect(!prover.standing.mayManage(at: server.clock.now))
    }
}
