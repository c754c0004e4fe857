import Ceremony
import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFClient
import _Primitives

@Suite(
    "Operations parity 23 and decision 129: a lost judgement is asked for again, with the same bytes and a proof",
    .timeLimit(.minutes(5)), .overEachKeyAbility)
struct LostJudgementTests {
    private static let answer = "/uaf/1.1/authentication/"
    private static let registration = "/uaf/1.1/registration/"
    private static let policy = RetryPolicy.constant(maxRetries: 3, delay: .zero)
    private static let payment = text("Payment\nAmount: EUR 12.50\nTo: Jo\nAccount: 7")

    /// A world whose server knows the device of alice.
    private static func world() async throws -> World {
        let world = try await World { $0.authenticationRetryInterval = .zero }
        let clock = world.phone.clock
        await world.server.serveDevices { clock.now() }
        try await world.enroll()
        return world
    }

    /// The requests to a path.
    private static func requests(_ world: World, _ path: String = Self.answer) async -> [TransportRequest] {
        await world.server.requests.filter { $0.url.path() == path }
    }

    private static func proof(_ request: TransportRequest) -> String? {
        request.headers.first { $0.name == "Device-Proof" }?.value
    }

    /// Returns as soon as an answer was sent.
    private static func sent(_ world: World) async {
        while await Self.requests(world).isEmpty { await Task.yield() }
    }

    private static func authenticate(_ world: World) async throws -> AuthenticationSuccess {
        try await world.phone.ready(world.phone.client.operations.authentication.username("alice")).execute()
    }

    @Test("Three lost answers and then an answer: one question, one signature, one authentication, and the provider")
    func inApp() async throws {
        let world = try await Self.world()
        await world.server.loseAnswers(at: Self.answer, 3)
        let success = try await Self.authenticate(world)
        #expect((success.authorizationProvider as? JwtAuthorizationProvider)?.jwt == "virtual-jwt")
        #expect(world.phone.person.asked.count { $0.question == .pin } == 1)
        #expect(await world.server.accepted.count == 1)
        let requests = await Self.requests(world)
        #expect(requests.count == 4 && Set(requests.map(\.body)).count == 1)
        let proofs = requests.map(Self.proof)
        #expect(proofs[0] == nil && Set(proofs.dropFirst()).count == 3 && !proofs.dropFirst().contains(nil))
        // The key's counter goes on.
        _ = try await Self.authenticate(world)
        #expect(await world.server.accepted.count == 2)
    }

    @Test("A payment whose judgement was lost ends as the server judged, and is done once")
    func payment() async throws {
        let world = try await Self.world()
        let payload = try await world.server.authentication(transaction: [Self.payment])
        await world.server.loseAnswers(at: Self.answer)
        _ = try await world.phone.authenticate(payload)
        #expect(await world.server.accepted.count == 1)
        #expect(await Self.requests(world).count == 2)
    }

    @Test("A refusal that was lost is told again: nobody believes that the payment is done")
    func refusal() async throws {
        let world = try await Self.world()
        await world.server.judge(ServerResponse(statusCode: .forbidden))
        let payload = try await world.server.authentication(transaction: [Self.payment])
        await world.server.loseAnswers(at: Self.answer)
        let error = await operationError { _ = try await world.phone.authenticate(payload) }
        #expect(error == .fido(.protocolError) && error?.serverStatusCode == 1403)
        #expect(error?.recovery == .contactService)
    }

    @Test("An answer that never arrived is judged with the first try that does")
    func neverArrived() async throws {
        let world = try await Self.world()
        await world.server.intercept { request in
            guard request.url.path() == Self.answer, Self.proof(request) == nil else { return nil }
            return TransportResponse(status: 502, headers: [], body: [])
        }
        #expect(try await Self.authenticate(world).authorizationProvider != nil)
        #expect(await world.server.accepted.count == 1)
    }

    @Test("Four lost answers are an error that says to look first")
    func allLost() async throws {
        let world = try await Self.world()
        await world.server.loseAnswers(at: Self.answer, 4)
        let error = await operationError { _ = try await Self.authenticate(world) }
        #expect(error == OperationError(.networkError) && error?.recovery == .checkOutcome)
        #expect(await Self.requests(world).count == 4)
    }

    @Test(
        "A server that refuses the same bytes, or the proof, leaves the outcome unknown: no refusal is claimed",
        arguments: [
            TransportResponse(
                status: 200, headers: [("Content-Type", "application/fido+uaf")],
                body: ServerResponse(statusCode: .invalidRequest).serialized),
            TransportResponse(
                status: 200, headers: [("Content-Type", "application/fido+uaf")],
                body: ServerResponse(statusCode: .requestTimeout).serialized),
            TransportResponse(status: 401, headers: [], body: []),
        ])
    func refusedRepetition(response: TransportResponse) async throws {
        let world = try await Self.world()
        await world.server.loseAnswers(at: Self.answer)
        await world.server.intercept { request in
            request.url.path() == Self.answer && Self.proof(request) != nil ? response : nil
        }
        let error = await operationError { _ = try await Self.authenticate(world) }
        #expect(error == OperationError(.networkError) && error?.recovery == .checkOutcome)
        #expect(await Self.requests(world).count == 2)
    }

    @Test("Without a device key that the server knows, an answer that may have arrived is sent once")
    func unknownDevice() async throws {
        let world = try await World { $0.authenticationRetryInterval = .zero }
        try await world.enroll()
        await world.server.loseAnswers(at: Self.answer)
        let error = await operationError { _ = try await Self.authenticate(world) }
        #expect(error == OperationError(.networkError) && error?.recovery == .checkOutcome)
        #expect(await Self.requests(world).count == 1)
    }

    @Test("An answer that is bound to a session is sent once: the session's former secret may be worth nothing")
    func session() async throws {
        let world = try await Self.world()
        let session = try #require(try await Self.authenticate(world).authorizationProvider)
        await world.server.loseAnswers(at: Self.answer)
        let phone = world.phone
        let operation = phone.ready(phone.client.operations.authentication.username("alice"))
            .sessionProvider(JwtSessionProvider(try #require((session as? JwtAuthorizationProvider)?.jwt)))
        let error = await operationError { _ = try await operation.execute() }
        #expect(error?.recovery == .checkOutcome)
        #expect(await Self.requests(world).count == 2, "one of the first authentication")
    }

    @Test("Cancelling between a lost answer and its repetition says to look first, and sends nothing more")
    func cancelled() async throws {
        let world = try await World { $0.authenticationRetryInterval = .seconds(5) }
        let clock = world.phone.clock
        await world.server.serveDevices { clock.now() }
        try await world.enroll()
        await world.server.loseAnswers(at: Self.answer)
        let task = Task { await operationError { _ = try await Self.authenticate(world) } }
        await Self.sent(world)
        await clock.untilSleeping()
        task.cancel()
        let error = await task.value
        #expect(error == OperationError(.networkError) && error?.recovery == .checkOutcome)
        #expect(await Self.requests(world).count == 1)
    }

    @Test("A server's Retry-After is heeded before the repetition")
    func retryAfter() async throws {
        let world = try await Self.world()
        await world.server.intercept { request in
            guard request.url.path() == Self.answer, Self.proof(request) == nil else { return nil }
            return TransportResponse(status: 503, headers: [("Retry-After", "7")], body: [])
        }
        let task = Task { try await Self.authenticate(world) }
        await Self.sent(world)
        await world.phone.clock.untilSleeping()
        world.phone.clock.advance(by: .milliseconds(6_999))
        #expect(world.phone.clock.sleepingCount == 1)
        world.phone.clock.advance(by: .milliseconds(1))
        _ = try await task.value
        #expect(await world.server.accepted.count == 1)
    }

    @Test("A further authenticator whose judgement was lost is asked for again by the operation's policy, and is kept")
    func inAppRegistration() async throws {
        let world = try await Self.world()
        let provider = try #require(try await Self.authenticate(world).authorizationProvider)
        let registrations = await Self.requests(world, Self.registration).count
        await world.server.loseAnswers(at: Self.registration, 2)
        let phone = world.phone
        _ = try await phone.ready(phone.client.operations.registration.username("alice"))
            .authorizationProvider(provider).retryPolicy(Self.policy).execute()
        let requests = await Self.requests(world, Self.registration)
        #expect(requests.count == registrations + 3 && Set(requests.suffix(3).map(\.body)).count == 1)
        #expect(!requests.map(Self.proof).contains { $0 != nil })
        #expect(await world.server.registrationContexts.count == 2)
        #expect(await phone.client.localData.accounts.map(\.username) == ["alice"])
    }

    @Test("A registration by a link whose answer was lost is sent once: its number is told once")
    func registrationByLink() async throws {
        let world = try await Self.world()
        let registrations = await Self.requests(world, Self.registration).count
        await world.server.loseAnswers(at: Self.registration)
        let payload = try await world.server.registration(for: "bob", policy: World.policy([[World.pin]]))
        let operation = world.phone.ready(try await world.registration(payload)).retryPolicy(Self.policy)
        let error = await operationError { _ = try await operation.execute() }
        #expect(error == OperationError(.networkError) && error?.recovery == .enrollAgain)
        #expect(await Self.requests(world, Self.registration).count == registrations + 1)
    }
}

@Suite("Operations parity 81 and decision 129: the phone proves what was dispatched to it", .overEachKeyAbility)
struct BoundTokenTests {
    private static let redeem = "/token/redeem/authentication"

    private static func world() async throws -> World {
        let world = try await World()
        let clock = world.phone.clock
        await world.server.serveDevices { clock.now() }
        try await world.enroll()
        return world
    }

    private static func proofs(_ world: World) async -> [String?] {
        await world.server.requests.filter { $0.url.path() == Self.redeem }.map { request in
            request.headers.first { $0.name == "Device-Proof" }?.value
        }
    }

    @Test("The token of this device is redeemed with its proof, from plain JSON, base64url and the encrypted form")
    func redeemed() async throws {
        let world = try await Self.world()
        for form in 0..<3 {
            let bound = try await world.server.bound(try await world.server.authentication(), to: "alice")
            let decode = world.phone.client.operations.outOfBandPayloadDecode
            let payload: OutOfBandPayload =
                switch form {
                case 0: try await decode.json(bound.json).execute()
                case 1: try await decode.base64URLEncoded(bound.base64URLEncoded).execute()
                default:
                    try await decode.json(try await world.server.encrypted(bound, for: "alice")).execute()
                }
            #expect(payload == bound && payload.deviceKey != nil && payload.data == nil)
            _ = try await world.phone.authenticate(payload)
        }
        let proofs = await Self.proofs(world)
        #expect(proofs.count == 3 && !proofs.contains(nil) && Set(proofs).count == 3)
    }

    @Test("A token of any device is redeemed without a proof: the server does not learn who scans")
    func unbound() async throws {
        let world = try await Self.world()
        _ = try await world.phone.authenticate(try await world.server.authentication())
        #expect(await Self.proofs(world) == [nil])
    }

    @Test("A token of another device's key is sent nowhere, and the server's no is the same error")
    func otherDevice() async throws {
        let world = try await Self.world()
        let payload = try await world.server.authentication()
        let foreign = try OutOfBandPayload(redeemData: payload.redeemData, deviceKey: "another-devices-key")
        let local = await operationError { _ = try await world.phone.authenticate(foreign) }
        #expect(local == OperationError(.notAuthorized) && local?.httpStatus == nil)
        #expect(await Self.proofs(world).isEmpty)
        let bound = try await world.server.bound(payload, to: "alice")
        await world.server.forgetDeviceKeys(of: "alice")
        let refused = await operationError { _ = try await world.phone.authenticate(bound) }
        #expect(refused == OperationError(.notAuthorized) && refused?.httpStatus == 401)
        #expect(await Self.proofs(world).count == 1)
        // The next authentication tells the keys, and the token was not spent.
        _ = try await world.phone.authenticate(try await world.server.authentication())
        _ = try await world.phone.authenticate(bound)
    }

    @Test("A deregistration that was dispatched to this device is carried out after a restart, by its proof")
    func deregistration() async throws {
        let world = try await Self.world()
        let path = "/token/redeem/deregistration"
        let bound = try await world.server.bound(try await world.server.deregistration(of: "alice"), to: "alice")
        await world.server.loseAnswers(at: path)
        #expect(await operationError { _ = try await world.phone.redeem(bound) } == OperationError(.networkError))
        #expect(await world.phone.client.localData.accounts.count == 1)
        let again = try await world.restarted()
        #expect(await again.phone.client.localData.accounts.isEmpty)
        let proofs = await world.server.requests.filter { $0.url.path() == path }.map { request in
            request.headers.first { $0.name == "Device-Proof" }?.value
        }
        #expect(proofs.count == 2 && !proofs.contains(nil) && Set(proofs).count == 2)
    }

    @Test("A token for the device of a name that no key can have is no payload", arguments: ["", "a b", "ä", "a.b"])
    func malformed(name: String) {
        #expect(throws: OutOfBandPayloadError(.malformedPayload, "")) {
            try OutOfBandPayload(
                json: """
                    {"nma_data":{"token":"t","redeem_url":"https://id.example.com/","device_key":"\(name)"},\
                    "nma_data_content_type":"application/json","nma_data_version":"1"}
                    """)
        }
    }
}
