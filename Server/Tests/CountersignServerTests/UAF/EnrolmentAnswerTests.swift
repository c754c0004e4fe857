import Accounts
import CeremonyEngine
import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Settings
import Testing
import UAFClient
import _Primitives

@Suite("Operations parity 12: the server's answer to a request for an enrolment registers an app")
struct EnrolmentAnswerTests {
    private static func phone(_ server: ServerFixture, _ client: any TestClientProtocol) async throws -> VirtualPhone {
        var configuration = ClientConfiguration(baseURL: try #require(URL(string: "http://localhost:8080")))
        configuration.facetID = "linux:program:countersign-phone"
        return try await VirtualPhone(
            configuration: configuration, transport: RouterTransport(client: client), clock: server.clock)
    }

    /// Makes an enrolment as a back end does. Returns the answer as it came.
    private static func answer(_ client: any TestClientProtocol) async throws -> (text: String, object: JSONObject) {
        let made = try await client.send(.post, "/admin/v1/activations", ["username": .string("alice")])
        #expect(made.response.status == .created)
        return (JSON.object(made.object).text, made.object)
    }

    @Test("The answer as it came, and its link, each register the person, who authenticates after the number was given")
    func registers() async throws {
        for isWhole in [true, false] {
            let server = try await ServerFixture()
            _ = try await server.assembly.directory.create(username: "alice", displayName: "Alice", by: "test")
            let answer = try await server.withSocketClient { try await Self.answer($0) }
            try await server.withPublicClient { client in
                let phone = try await Self.phone(server, client)
                let registration = phone.ready(phone.client.operations.authCloudApiRegistration)
                let link = try answer.object.requiredString("link")
                let result =
                    try await (isWhole ? registration.enrollResponse(answer.text) : registration.appLinkUri(link))
                    .execute()
                let number = try #require(result.confirmation?.number)
                _ = try await server.assembly.ceremonies.enrolments.confirmEnrolment(
                    id: try answer.object.requiredString("id"), number: number, by: "test")
                #expect(try await phone.authenticate(username: "alice").account.username == "alice")
            }
        }
    }

    @Test("A link that was used and a link whose time is over are typed errors, and no account stays in the app")
    func spent() async throws {
        let server = try await ServerFixture()
        _ = try await server.assembly.directory.create(username: "alice", displayName: "Alice", by: "test")
        let (used, late) = try await server.withSocketClient { client in
            (try await Self.answer(client).text, try await Self.answer(client).text)
        }
        try await server.withPublicClient { client in
            func register(_ answer: String, _ phone: VirtualPhone) async throws {
                _ =
                    try await phone.ready(phone.client.operations.authCloudApiRegistration).enrollResponse(answer)
                    .execute()
            }
            let (first, second) = (try await Self.phone(server, client), try await Self.phone(server, client))
            try await register(used, first)
            await #expect(throws: AuthCloudApiError(.tokenAlreadyRedeemed)) { try await register(used, second) }
            server.clock.advance(by: Limits().activationLifetime + .seconds(1))
            await #expect(throws: AuthCloudApiError(.tokenExpired)) { try await register(late, second) }
            #expect(await second.client.localData.accounts.isEmpty)
        }
    }
}
