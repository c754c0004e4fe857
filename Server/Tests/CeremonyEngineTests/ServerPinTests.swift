import Accounts
import CeremonyEngine
import Records
import SQLStore
import Testing
import UAF
import UAFRelyingParty
import _Primitives

@Suite("Decision 63: the operations refuse the PIN that only the server judges")
struct ServerPinTests {
    private static func pin() throws -> TestPhone { try TestPhone(aaid: ServerPinModel.aaid) }

    @Test("A registration of it is refused with 1492 and ends; nothing of it is kept")
    func registration() async throws {
        let server = try TestServer()
        _ = try await server.directory.create(username: "alice", displayName: nil, by: "test")
        let enrolment = try await server.engine.enrolments.createEnrolmentLink(username: "alice", by: "operator")
        let request = try await server.engine.redemptions.redeem(
            token: try TestPhone.token(enrolment.link), operation: .registration)
        let answer = try await server.engine.registrationAnswers.judge(
            try Self.pin().register(request, fault: .signature))
        #expect(answer.statusCode == .unacceptableAuthenticator)
        #expect(try await server.engine.enrolments.enrolment(id: enrolment.id).state == .failed)
        #expect(try await server.directory.devices(username: "alice").isEmpty)
    }

    @Test("An answer with it is refused with 1492, whether its signature is right or not")
    func authentication() async throws {
        for fault in [nil, TestPhone.Fault.signature] {
            let server = try TestServer()
            _ = try await server.enrol()
            let request = try await server.claimSignIn()
            let answer = try await server.engine.authenticationAnswers.judge(
                try Self.pin().authenticate(request, counter: 0, fault: fault))
            #expect(answer.response.statusCode == .unacceptableAuthenticator && answer.authenticated == nil)
        }
    }

    @Test("So is one to a challenge that the app has asked for itself")
    func openChallenge() async throws {
        let server = try TestServer()
        _ = try await server.enrol()
        let request = try await server.engine.requests.authentication(username: "alice", source: "a")
        let answer = try await server.engine.authenticationAnswers.judge(
            try Self.pin().authenticate(request, counter: 0))
        #expect(answer.response.statusCode == .unacceptableAuthenticator && answer.authenticated == nil)
    }

    @Test("Nothing is deregistered by its model")
    func deregistration() async throws {
        let server = try TestServer()
        let (account, _) = try await server.enrol()
        let answer = try await server.engine.deregistrations.deregister(
            GetUAFRequest(
                operation: .deregistration,
                context: [
                    "username": .string("alice"), "mode": .string("aaid"),
                    "aaid": .string(ServerPinModel.aaid.text),
                ]), askedBy: try await server.device(of: account))
        #expect(answer.statusCode == .unacceptableAuthenticator && answer.uafRequest == nil)
        #expect(try await server.database.credentials(accountID: account.id).count == 1)
    }
}
