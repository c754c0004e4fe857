import Accounts
import Ceremony
import CeremonyEngine
import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import OAuthProvider
import Records
import SQLStore
import Testing
import UAF
import _Primitives

@Suite("Decision 4 and operations parity 86: dispatched registrations over HTTP")
struct DispatchedRegistrationRoutesTests {
    /// A client with the permission, which knows alice, and alice's device whose keys the test has.
    private struct Stage: Sendable {
        let server: ServerFixture
        let client: any TestClientProtocol
        let desk: RelyingParty
        let device: TargetPhone
        let subject: String

        init(_ server: ServerFixture, _ client: any TestClientProtocol) async throws {
            self.server = server
            self.client = client
            self.desk = try await server.relyingParty()
            let phone = try await server.enrolledPhone(client)
            try await server.signInTwice(TestBrowser(client), self.desk, phone)
            self.device = try await TargetPhone("Alice's second", at: server, client)
            self.subject = server.assembly.provider.keys.subject(
                ofAccount: self.device.accountID, client: self.desk.id)
        }

        func permit() async throws {
            _ = try await self.server.assembly.provider.clients.change(
                self.desk.id, ClientChange(tokens: TokenSettingsChange(scopes: ["countersign.enrolments"])), by: "test")
        }

        func send(
            _ path: String, _ body: JSONObject, authorization: String? = nil
        ) async throws -> (response: TestResponse, object: JSONObject) {
            try await self.client.send(
                .post, "/token/dispatch/registration\(path)", body,
                headers: [.authorization: authorization ?? self.desk.authorization])
        }

        func dispatch(_ context: JSONObject? = nil) async throws -> (response: TestResponse, object: JSONObject) {
            try await self.send(
                "",
                [
                    "dispatcher": .string("link"),
                    "getUafRequest": .object([
                        "op": .string("Reg"),
                        "context": .string(JSON.object(context ?? ["subject": .string(self.subject)]).text),
                    ]),
                ])
        }

        /// Dispatches, and has a new phone answer. Returns the session and the number that the phone shows.
        func answered() async throws -> (session: String, number: String) {
            let (_, answer) = try await self.dispatch()
            var configuration = ClientConfiguration(baseURL: try #require(URL(string: "http://localhost:8080")))
            configuration.facetID = "linux:program:countersign-phone"
            let phone = try await VirtualPhone(
                configuration: configuration, transport: RouterTransport(client: self.client),
                clock: self.server.clock)
            let result = try await phone.enroll(try OutOfBandPayload(link: try answer.requiredString("link")))
            return (try answer.requiredString("sessionId"), try #require(result.confirmation?.number))
        }

        func status(_ session: String) async throws -> String {
            try await self.client.send(
                .post, "/status", ["sessionId": .string(session)], headers: [.authorization: self.desk.authorization]
            ).object.requiredString("status")
        }

        func devices() async throws -> Int {
            try await self.server.database.devices(accountID: self.device.accountID).count
        }
    }

    private static func with(_ body: @escaping @Sendable (Stage) async throws -> Void) async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { try await body(try await Stage(server, $0)) }
    }

    @Test("The back end dispatches, watches, and sends the number: the device counts from then on")
    func confirmed() async throws {
        try await Self.with { stage in
            try await stage.permit()
            let (session, number) = try await stage.answered()
            #expect(try await stage.status(session) == "clientRegistering")
            let body: JSONObject = ["sessionId": .string(session), "number": .string(number)]
            let other = try await stage.server.relyingParty()
            #expect(
                try await stage.send("/confirm", body, authorization: other.authorization).response.status == .forbidden
            )
            let (confirmed, document) = try await stage.send("/confirm", body)
            #expect(confirmed.status == .ok)
            #expect(try !document.requiredString("deviceName").isEmpty)
            #expect(try await stage.status(session) == "succeeded")
            #expect(try await stage.send("/confirm", body).response.status == .conflict)
            #expect(try await stage.devices() == 3)
        }
    }

    @Test("A wrong number is 422 and ends the registration, and a session of nobody is 404")
    func wrongNumber() async throws {
        try await Self.with { stage in
            try await stage.permit()
            let (session, number) = try await stage.answered()
            let wrong = number == "000000" ? "000001" : "000000"
            let unknown = try await stage.send(
                "/confirm", ["sessionId": .string("nobody"), "number": .string(number)])
            #expect(unknown.response.status == .notFound)
            for body: JSONObject in [
                [:], ["sessionId": .string(session)], ["sessionId": .string(session), "number": .integer(1)],
                ["sessionId": .string(session), "number": .string(number), "more": .string("")],
            ] {
                #expect(try await stage.send("/confirm", body).response.status == .badRequest)
            }
            let (refused, problem) = try await stage.send(
                "/confirm", ["sessionId": .string(session), "number": .string(wrong)])
            #expect(refused.status == .unprocessableContent && problem.problem == "wrong-number")
            #expect(try await stage.status(session) == "failed")
            #expect(try await stage.devices() == 2)
        }
    }

    @Test("Without the permission a dispatch is 403, and a subject of nobody is told as for other dispatches")
    func permission() async throws {
        try await Self.with { stage in
            let (refused, problem) = try await stage.dispatch()
            #expect(refused.status == .forbidden && problem.problem == "forbidden")
            try await stage.permit()
            let (_, unknown) = try await stage.dispatch(["subject": .string("nobody")])
            #expect(try unknown.requiredString("dispatchResult") == "userNotFound")
            for context: JSONObject in [[:], ["subject": .integer(1)], ["username": .string("alice")]] {
                #expect(try await stage.dispatch(context).response.status == .badRequest)
            }
            let none = try await stage.client.send(.post, "/token/dispatch/registration", [:]).response
            #expect(none.status == .unauthorized)
        }
    }

    @Test("The person's other device is told at once by a notice, and declines by its own proof")
    func declined() async throws {
        try await Self.with { stage in
            try await stage.permit()
            let (session, number) = try await stage.answered()
            let (_, told) = try await stage.device.send(.get, "/account/v1/notices")
            let notices = try (told.array("notices") ?? []).compactMap { notice -> JSONObject? in
                if case .object(let object) = notice { object } else { nil }
            }
            let asked = try #require(try notices.first { try $0.string("kind") == "enrolment-asked" })
            #expect(try asked.requiredString("id") == session)
            let path = "/account/v1/enrolments/\(session)"
            #expect(try await stage.client.send(.delete, path).response.status == .unauthorized)
            _ = try await stage.server.assembly.directory.create(username: "bob", displayName: nil, by: "test")
            let bobs = try await TargetPhone("Bob's phone", of: "bob", at: stage.server, stage.client)
            #expect(try await bobs.send(.delete, path).response.status == .notFound)
            #expect(try await stage.status(session) == "clientRegistering")
            let declined = try await stage.device.send(.delete, path).response
            #expect(declined.status == .noContent && declined.body.readableBytes == 0)
            #expect(try await stage.status(session) == "failed")
            #expect(try await stage.device.send(.delete, path).response.status == .conflict)
            let late = try await stage.send(
                "/confirm", ["sessionId": .string(session), "number": .string(number)])
            #expect(late.response.status == .conflict)
            #expect(try await stage.devices() == 2)
            #expect(
                try await stage.device.send(.delete, "/account/v1/enrolments/nobody").response.status == .notFound)
        }
    }
}
