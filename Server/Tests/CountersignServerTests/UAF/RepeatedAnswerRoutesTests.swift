import Accounts
import Ceremony
import CeremonyEngine
import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import OAuthProvider
import Records
import SQLStore
import Synchronization
import Testing
import UAF
import _Primitives

/// A phone's way to the server, on which answers get lost, and on which a test reads what went over it.
private final class LossyTransport: Transport {
    private struct State {
        var requests: [TransportRequest] = []
        var losses = 0
    }

    private let transport: RouterTransport
    private let state = Mutex(State())

    init(_ client: any TestClientProtocol) { self.transport = RouterTransport(client: client) }

    /// Loses the next answers to signed answers.
    func lose(_ count: Int) { self.state.withLock { $0.losses = count } }

    /// The signed answers that were sent, from the oldest.
    var answers: [TransportRequest] {
        self.state.withLock { $0.requests.filter { $0.url.path().contains("/uaf/1.1/authentication") } }
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        let response = try await self.transport.send(request)
        let isLost = self.state.withLock { state in
            state.requests.append(request)
            guard request.url.path().contains("/uaf/1.1/authentication"), state.losses > 0 else { return false }
            state.losses -= 1
            return true
        }
        if isLost { throw TransportError(.timedOut, "the answer got lost") }
        return response
    }
}

@Suite("Operations parity 23 and decision 129: a phone asks the server for a lost answer")
struct RepeatedAnswerRoutesTests {
    /// Alice's phone, at a server.
    private struct Scene {
        let server: ServerFixture
        let client: any TestClientProtocol
        let phone: VirtualPhone
        let transport: LossyTransport

        func events(_ kind: String) async throws -> Int {
            try await self.server.database.auditEntries(after: 0, limit: 1000).count { $0.event.kind.rawValue == kind }
        }

        /// Sends a recorded request again.
        func sendAgain(_ request: TransportRequest) async throws -> (status: HTTPResponse.Status, object: JSONObject) {
            var headers = HTTPFields()
            for (name, value) in request.headers { headers[try #require(HTTPField.Name(name))] = value }
            let response = try await self.client.execute(
                uri: request.url.path(), method: .post, headers: headers, body: ByteBuffer(bytes: request.body))
            guard case .object(let object) = try JSON(parsing: Array(response.body.readableBytesView)) else {
                return (response.status, [:])
            }
            return (response.status, object)
        }
    }

    private static func with(_ body: @escaping @Sendable (Scene) async throws -> Void) async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let transport = LossyTransport(client)
            let phone = try await server.enrolledPhone(client, through: { _ in transport })
            try await body(Scene(server: server, client: client, phone: phone, transport: transport))
        }
    }

    private static func proof(_ request: TransportRequest) -> String? {
        request.headers.first { $0.name == "Device-Proof" }?.value
    }

    /// Authenticates in the app, without a delay between the tries.
    private static func authenticate(_ scene: Scene) async throws -> AuthenticationSuccess {
        try await scene.phone.ready(scene.phone.client.operations.authentication.username("alice"))
            .retryPolicyObtainingAuthorizationProvider(.constant(maxRetries: 3, delay: .zero)).execute()
    }

    /// Answers what a payload stands for, without a delay between the tries.
    private static func answer(_ scene: Scene, _ payload: OutOfBandPayload) async throws -> AuthenticationSuccess {
        guard case .authentication(let operation) = try await scene.phone.redeem(payload) else {
            throw OperationError(.missingInteraction, "not an authentication")
        }
        return try await scene.phone.ready(operation)
            .retryPolicyObtainingAuthorizationProvider(.constant(maxRetries: 3, delay: .zero)).execute()
    }

    @Test("The app gets its provider, which the server accepts, and the server has one authentication")
    func provider() async throws {
        try await Self.with { scene in
            scene.transport.lose(2)
            let success = try await Self.authenticate(scene)
            let answers = scene.transport.answers
            #expect(answers.count == 3 && Set(answers.map(\.body)).count == 1)
            #expect(Self.proof(answers[0]) == nil && Self.proof(answers[1]) != nil && Self.proof(answers[2]) != nil)
            #expect(try await scene.events("authenticated") == 1)
            let provider = try #require(success.authorizationProvider)
            _ = try await scene.phone.client.operations.accountActivity.username("alice")
                .authorizationProvider(provider).execute()
        }
    }

    @Test("A recorded request earns nothing: the bare one gets the status alone, and the proved one is a replay")
    func recorded() async throws {
        try await Self.with { scene in
            scene.transport.lose(1)
            _ = try await Self.authenticate(scene)
            let answers = scene.transport.answers
            for _ in 0..<2 {
                let (status, bare) = try await scene.sendAgain(answers[0])
                #expect(status == .ok && bare["statusCode"] == .integer(1200))
                #expect(bare["additionalTokens"] == nil && bare["location"] == nil && bare["deviceKey"] == nil)
            }
            let (status, problem) = try await scene.sendAgain(answers[1])
            #expect(status == .unauthorized && problem["type"] == .string("urn:countersign:error:replay-refused"))
            #expect(problem["additionalTokens"] == nil)
        }
    }

    @Test("A payment whose answer was lost is a success on the phone and at the back end")
    func payment() async throws {
        try await Self.with { scene in
            let bank = try await scene.server.relyingParty()
            try await scene.server.signInTwice(TestBrowser(scene.client), bank, scene.phone)
            let account = try await scene.server.assembly.directory.account(written: "alice")
            let subject = scene.server.assembly.provider.keys.subject(ofAccount: account.id, client: bank.id)
            let context: JSONObject = [
                "subject": .string(subject),
                "transaction": .array([.object(Transaction(content: Array("Pay 10 EUR".utf8)).json)]),
            ]
            let (_, dispatched) = try await scene.client.send(
                .post, "/token/dispatch/authentication",
                [
                    "dispatcher": .string("link"),
                    "getUafRequest": .object(["context": .string(JSON.object(context).text)]),
                ], headers: [.authorization: bank.authorization])
            let payload = try OutOfBandPayload(link: try dispatched.requiredString("link"))
            let before = scene.transport.answers.count
            scene.transport.lose(1)
            _ = try await Self.answer(scene, payload)
            #expect(scene.transport.answers.count == before + 2)
            let (_, status) = try await scene.client.send(
                .post, "/status", ["sessionId": .string(try dispatched.requiredString("sessionId"))],
                headers: [.authorization: bank.authorization])
            #expect(status["status"] == .string("succeeded"))
            #expect(try await scene.events("transaction-confirmed") == 1)
        }
    }

    @Test("A sign-in on the phone itself gets its address again, and the browser goes on with it")
    func continuation() async throws {
        try await Self.with { scene in
            let browser = TestBrowser(scene.client)
            let (_, page) = try await scene.server.signInPage(browser, try await scene.server.relyingParty())
            let link = try page.attribute("href", of: "same-device-link")
            scene.transport.lose(1)
            let success = try await Self.answer(scene, try OutOfBandPayload(link: link))
            let continued = try await browser.get(try #require(success.location?.absoluteString))
            let completed = try await browser.get(try #require(continued.headers[.location]))
            #expect(completed.redirectParameters["code"] != nil)
            #expect(try await scene.events("authenticated") == 1)
        }
    }
}
