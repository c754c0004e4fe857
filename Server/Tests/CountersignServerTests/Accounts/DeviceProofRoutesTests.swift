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
import NIOCore
import OAuthProvider
import Records
import SQLStore
import Synchronization
import Testing
import UAF
import UAFClient
import _Primitives

/// A way to the server on which a test reads what goes over it, and loses answers.
private final class WatchedTransport: Transport {
    private let transport: RouterTransport
    private let sent = Mutex<[TransportRequest]>([])
    private let received = Mutex<[(path: String, response: TransportResponse)]>([])
    private let losses = Mutex(0)

    init(_ client: any TestClientProtocol) { self.transport = RouterTransport(client: client) }

    /// What has gone to paths that hold a text.
    func requests(to path: String) -> [TransportRequest] {
        self.sent.withLock { $0.filter { $0.url.path.contains(path) } }
    }

    /// What has come from paths that hold a text.
    func answers(to path: String) -> [TransportResponse] {
        self.received.withLock { $0.filter { $0.path.contains(path) }.map(\.response) }
    }

    /// Loses the next answer to a request that is proved: the server has done what it was asked.
    func loseNextAnswer() { self.losses.withLock { $0 = 1 } }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        self.sent.withLock { $0.append(request) }
        let response = try await self.transport.send(request)
        self.received.withLock { $0.append((request.url.path, response)) }
        let isLost = self.losses.withLock { losses in
            guard losses > 0, request.proof != nil else { return false }
            losses -= 1
            return true
        }
        if isLost { throw TransportError(.unreachable, "cut") }
        return response
    }
}

extension TransportRequest {
    /// What a device says for itself of the request.
    fileprivate var proof: String? { self.headers.first { $0.name == "Device-Proof" }?.value }
}

@Suite("Decision 68: a device speaks for itself by its own proof (operations parity §2.1)")
struct DeviceProofRoutesTests {
    private static let questions = "/account/v1/questions"
    private static let notices = "/account/v1/notices"

    /// A phone that is enrolled, and the way that its requests go.
    private struct Scene {
        let server: ServerFixture
        let client: any TestClientProtocol
        let phone: VirtualPhone
        let transport: WatchedTransport

        func questions() async throws -> [ServiceQuestion] {
            try await self.phone.client.operations.waitingQuestions.username("alice").execute()
        }

        func deregister() async throws {
            try await self.phone.client.operations.deregistration.username("alice").execute()
        }

        /// A proof that the phone has sent, for its questions.
        func proof() async throws -> String {
            _ = try await self.questions()
            return try #require(self.transport.requests(to: "questions").last?.proof)
        }

        func ask(_ path: String, _ proof: String, method: HTTPRequest.Method = .get, _ headers: HTTPFields = [:])
            async throws -> (response: TestResponse, object: JSONObject)
        {
            var headers = headers
            headers[try #require(HTTPField.Name("Device-Proof"))] = proof
            return try await self.client.send(method, path, headers: headers)
        }

        func account() async throws -> AccountRecord {
            try await self.server.assembly.directory.account(username: "alice")
        }
    }

    private static func with(
        clock: FakeClock? = nil, keys: VerifyingKeys? = nil,
        _ body: @escaping @Sendable (Scene) async throws -> Void
    ) async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            _ = try await server.assembly.directory.create(username: "alice", displayName: nil, by: "test")
            let enrolment = try await server.assembly.ceremonies.enrolments.createEnrolmentLink(
                username: "alice", by: "test")
            var configuration = ClientConfiguration(baseURL: try #require(URL(string: "http://localhost:8080")))
            configuration.facetID = "linux:program:countersign-phone"
            let transport = WatchedTransport(client)
            let phone = try await VirtualPhone(
                configuration: configuration, transport: transport, clock: clock ?? server.clock, keys: keys)
            let result = try await phone.enroll(try OutOfBandPayload(link: enrolment.link))
            _ = try await server.assembly.ceremonies.enrolments.confirmEnrolment(
                id: enrolment.id, number: try #require(result.confirmation?.number), by: "test")
            phone.person.forget()
            try await body(Scene(server: server, client: client, phone: phone, transport: transport))
        }
    }

    @Test("The phone asks what waits by itself: nobody is asked for anything, and no token goes along")
    func asksByItself() async throws {
        try await Self.with { scene in
            #expect(try await scene.questions().isEmpty)
            #expect(scene.phone.person.asked.isEmpty)
            let request = try #require(scene.transport.requests(to: "questions").last)
            #expect(request.proof != nil && !request.headers.contains { $0.name == "Authorization" })
        }
    }

    @Test("The phone fetches notices by itself: nobody is asked for anything, and no token goes along")
    func notices() async throws {
        try await Self.with { scene in
            let notices: [AccountNotice] = try await scene.phone.client.operations.accountNotices.username("alice")
                .execute()
            #expect(notices.map(\.kind) == [.deviceAdded])
            #expect(scene.phone.person.asked.isEmpty)
            let request = try #require(scene.transport.requests(to: "notices").last)
            #expect(request.proof != nil && !request.headers.contains { $0.name == "Authorization" })
        }
    }

    @Test("A phone that has lost its own keys speaks for itself again after its person has authenticated once")
    func lostKeys() async throws {
        let chip = VerifyingKeys()
        try await Self.with(keys: chip) { scene in
            #expect(try await scene.questions().isEmpty)
            chip.loseUnlocked()
            for code in [OperationError.Code.notAuthorized, .missingInteraction] {
                let error = await #expect(throws: OperationError.self) { try await scene.questions() }
                #expect(error?.code == code)
            }
            _ = try await scene.phone.authenticate(username: "alice")
            scene.phone.person.forget()
            #expect(try await scene.questions().isEmpty)
            let notices: [AccountNotice] = try await scene.phone.client.operations.accountNotices.username("alice")
                .execute()
            #expect(notices.count { $0.kind == .deviceKeysReplaced } == 1)
            #expect(scene.phone.person.asked.isEmpty)
            let kinds = try await scene.server.database.auditEntries(after: 0, limit: 999).map(\.event.kind.rawValue)
            #expect(kinds.count { $0 == "device-keys-replaced" } == 1)
        }
    }

    @Test("The phone deregisters itself, and is told the same once more where the answer was lost")
    func deregisters() async throws {
        try await Self.with { scene in
            scene.transport.loseNextAnswer()
            let lost = await #expect(throws: OperationError.self) { try await scene.deregister() }
            #expect(lost?.code == .networkError)
            #expect(try await scene.server.database.devices(accountID: scene.account().id).isEmpty)
            #expect(await scene.phone.client.localData.accounts.count == 1)
            try await scene.deregister()
            #expect(await scene.phone.client.localData.accounts.isEmpty)
            #expect(scene.phone.person.asked.isEmpty)
            #expect(scene.transport.requests(to: "request/deregistration").count == 2)
        }
    }

    /// The problem document of a refused request.
    private static func problem(_ response: TransportResponse) throws -> JSONObject {
        guard case .object(let problem) = try JSON(parsing: response.body) else { throw JSONError(.wrongType, "body") }
        return problem
    }

    @Test("Operations parity 63: the proof of a deregistration counts once, and without it nobody deregisters")
    func replayedDeregistration() async throws {
        try await Self.with { scene in
            try await scene.deregister()
            let request = try #require(scene.transport.requests(to: "request/deregistration").last)
            #expect(request.proof != nil && !request.headers.contains { $0.name == "Authorization" })
            for _ in 0..<2 {
                let again = try await scene.transport.send(request)
                #expect(again.status == 401)
                #expect(try Self.problem(again)["type"] == .string("urn:countersign:error:replay-refused"))
            }
            var altered = request
            altered.body.append(UInt8(ascii: " "))
            #expect(
                try Self.problem(await scene.transport.send(altered))["type"]
                    == .string("urn:countersign:error:not-proven"))
            var bare = request
            bare.headers.removeAll { $0.name == "Device-Proof" }
            #expect(try await scene.transport.send(bare).status == 401)
        }
    }

    @Test("A provider that the app gives wins over the device's own proof")
    func provider() async throws {
        try await Self.with { scene in
            let success = try await scene.phone.authenticate(username: "alice")
            let provider = try #require(success.authorizationProvider)
            _ =
                try await scene.phone.client.operations.waitingQuestions.username("alice")
                .authorizationProvider(provider).execute() as [ServiceQuestion]
            #expect(scene.transport.requests(to: "questions").last?.proof == nil)
            try await scene.phone.client.operations.deregistration.username("alice").authorizationProvider(provider)
                .execute()
            #expect(scene.transport.requests(to: "request/deregistration").last?.proof == nil)
            #expect(await scene.phone.client.localData.accounts.isEmpty)
        }
    }

    @Test("A phone whose clock is another proves the request once more by the server's, and is taken")
    func clock() async throws {
        let clock = FakeClock()
        try await Self.with(clock: clock) { scene in
            clock.advance(by: .seconds(3600))
            _ = try await scene.questions()
            #expect(scene.transport.requests(to: "questions").count == 2)
            clock.advance(by: .seconds(3600))
            try await scene.deregister()
            #expect(await scene.phone.client.localData.accounts.isEmpty)
        }
    }

    @Test(
        "Operations parity 70: a phone whose clock is ten minutes ahead or behind is told the server's time, and taken",
        arguments: [Duration.seconds(600), .seconds(-600)])
    func tenMinutes(difference: Duration) async throws {
        let clock = FakeClock()
        try await Self.with(clock: clock) { scene in
            clock.moveWall(by: difference)
            #expect(try await scene.questions().isEmpty)
            try await scene.deregister()
            let answers =
                scene.transport.answers(to: "questions") + scene.transport.answers(to: "request/deregistration")
            #expect(answers.map(\.status) == [401, 200, 401, 200])
            for refused in answers where refused.status == 401 {
                let problem = try Self.problem(refused)
                #expect(problem["type"] == .string("urn:countersign:error:clock-skew"))
                #expect(problem["now"] == .integer(scene.server.clock.now().milliseconds))
            }
            #expect(await scene.phone.client.localData.accounts.isEmpty)
            #expect(scene.phone.person.asked.isEmpty)
        }
    }

    @Test("A proof that has counted, is of another request, too old, altered, or not alone is refused with what to do")
    func refusals() async throws {
        try await Self.with { scene in
            let proof = try await scene.proof()
            func refused(_ path: String, _ proof: String, _ name: String, _ headers: HTTPFields = [:]) async throws {
                let (response, problem) = try await scene.ask(path, proof, headers)
                #expect(response.status == .unauthorized && response.headers[.wwwAuthenticate] == "Device-Proof")
                #expect(problem["type"] == .string("urn:countersign:error:\(name)"))
                #expect(try !problem.requiredString("detail").isEmpty)
            }
            try await refused(Self.questions, proof, "replay-refused")
            try await refused(Self.notices, proof, "not-proven")
            try await refused(Self.questions + "/", proof, "replay-refused")
            try await refused(Self.questions, String(proof.dropLast(8)), "not-proven")
            try await refused(Self.questions, "", "not-proven")
            let holder = try await scene.phone.authenticate(username: "alice").authorizationProvider
            let token = try #require(holder?.headers.first?.value)
            try await refused(Self.questions, try await scene.proof(), "not-proven", [.authorization: token])
            scene.server.clock.advance(by: .seconds(62))
            let (old, problem) = try await scene.ask(Self.questions, proof)
            #expect(old.status == .unauthorized)
            #expect(problem["type"] == .string("urn:countersign:error:clock-skew"))
            #expect(problem["now"] == .integer(scene.server.clock.now().milliseconds))
            // What needs the person is not asked for by a device.
            for path in ["/account/v1/sessions", "/account/v1/consents", "/account/v1/grants", "/account/v1/links"] {
                try await refusedToDevices(path, scene)
            }
        }
    }

    private func refusedToDevices(_ path: String, _ scene: Scene) async throws {
        let (response, problem) = try await scene.ask(path, try await scene.proof())
        #expect(response.status == .unauthorized && problem["type"] == .string("urn:countersign:error:unauthorized"))
    }

    @Test("A locked account's device is refused, and told that the account is locked")
    func locked() async throws {
        try await Self.with { scene in
            _ = try await scene.server.database.setAccountLocked(
                true, id: scene.account().id,
                audit: AuditEvent(AuditEvent.Kind(rawValue: "account-locked"), at: scene.server.clock.now()))
            let asked = await #expect(throws: OperationError.self) { try await scene.questions() }
            #expect(asked?.code == .accountLocked)
            let refused = await #expect(throws: OperationError.self) { try await scene.deregister() }
            #expect(refused?.serverStatusCode == UAFStatusCode.forbidden.rawValue)
            #expect(try await scene.server.database.credentials(accountID: scene.account().id).count == 1)
        }
    }

    @Test("A device that was taken away is told nothing of the account")
    func takenAway() async throws {
        try await Self.with { scene in
            let account = try await scene.account()
            let device = try await scene.server.database.devices(accountID: account.id)[0].id
            let revoked = try await scene.server.withSocketClient { socket in
                try await socket.send(.delete, "/admin/v1/devices/\(device)").response.status
            }
            #expect(revoked == .noContent)
            let asked = await #expect(throws: OperationError.self) { try await scene.questions() }
            #expect(asked?.code == .notAuthorized && asked?.httpStatus == 401)
        }
    }

    @Test("A phone that had no room for its keys goes on with tokens, and adds them with an authentication when it has")
    func addsLater() async throws {
        let chip = VerifyingKeys()
        chip.refuseKeys(true, after: 1)
        try await Self.with(keys: chip) { scene in
            let untold = await #expect(throws: OperationError.self) { try await scene.questions() }
            #expect(untold?.code == .missingInteraction)
            let success = try await scene.phone.authenticate(username: "alice")
            let provider = try #require(success.authorizationProvider)
            let asked: [ServiceQuestion] = try await scene.phone.client.operations.waitingQuestions.username("alice")
                .authorizationProvider(provider).execute()
            #expect(asked.isEmpty)
            chip.refuseKeys(false)
            _ = try await scene.phone.authenticate(username: "alice")
            let sent = scene.transport.requests(to: "/uaf/1.1/authentication")
            #expect(try await scene.questions().isEmpty)
            // Once: what the server knows it is not told again.
            _ = try await scene.phone.authenticate(username: "alice")
            let told = try scene.transport.requests(to: "/uaf/1.1/authentication").map(Self.announces)
            #expect(sent.count == 2 && told == [false, true, false])
            try await scene.deregister()
            #expect(await scene.phone.client.localData.accounts.isEmpty)
        }
    }

    /// Whether an answer tells of its device.
    private static func announces(_ request: TransportRequest) throws -> Bool {
        let response = try AuthenticationResponse(
            parsing: try SendUAFResponse(parsing: request.body).uafResponse.utf8)
        return try response.assertions.contains { assertion in
            try AuthenticationAssertion(parsing: assertion.bytes).signedData.extensions
                .contains { $0.id == DeviceKeyAnnouncement.id }
        }
    }
}
