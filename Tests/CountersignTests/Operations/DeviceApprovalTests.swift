import Ceremony
import Countersign
import CountersignTestKit
import Foundation
import JOSE
import Synchronization
import Testing
import UAF
import _Primitives

@Suite("Operations parity 99 and decision 127: a device approves another device of its person", .overEachKeyAbility)
struct DeviceApprovalTests {
    /// A world in which the server knows the keys of alice's device, unless `isKnown` is `false`.
    private static func world(isKnown: Bool = true) async throws -> World {
        let world = try await World()
        try await world.enroll()
        guard isKnown else { return world }
        let account = try #require(await world.phone.client.localData.accounts.first)
        let identity = try #require(try await world.phone.client.deviceIdentity(of: account))
        await world.server.judge(ServerResponse(statusCode: .ok, deviceKey: identity.signingKey.keyID))
        _ = try await world.phone.authenticate(username: "alice")
        world.phone.person.forget()
        return world
    }

    private static func operation(_ world: World) -> DeviceApproval {
        world.phone.ready(world.phone.client.operations.deviceApproval).username("alice").onProgress { _ in }
    }

    private static func response(
        _ status: Int, _ object: JSONObject = [:], type: String = "application/json"
    ) -> TransportResponse {
        TransportResponse(status: status, headers: [("Content-Type", type)], body: JSON.object(object).serialized)
    }

    private static let begun: JSONObject = [
        "id": .string("a-1_B"), "link": .string("https://id.example.com/open?dispatchTokenResponse=secret"),
        "qrContent": .string("https://id.example.com/open?dispatchTokenResponse=secret"),
        "expiresAt": .string("2026-11-21T09:10:00.000Z"),
    ]
    private static let answered: JSONObject = [
        "id": .string("a-1_B"), "state": .string("pending-confirmation"),
        "expiresAt": .string("2026-11-21T09:10:00.000Z"),
        "device": .object([
            "name": .string("New\u{202E} phone"), "model": .string("Model"), "network": .string("192.0.2.7"),
        ]),
    ]

    /// Answers the requests about approvals: the beginning, the state and the question.
    private static func answer(
        _ world: World, begin: TransportResponse = response(201, begun), state: JSONObject = answered,
        question: TransportResponse
    ) async {
        await world.server.intercept { request in
            let path = request.url.path()
            guard path.contains("/approvals") else { return nil }
            if request.method == "DELETE" { return Self.response(204) }
            if path.hasSuffix("/approvals") { return begin }
            return path.hasSuffix("/question") ? question : Self.response(200, state)
        }
    }

    private static func requests(_ world: World) async -> [String] {
        await world.server.requests.filter { $0.url.path().contains("/approvals") }.map { request in
            "\(request.method) \(request.url.path().split(separator: "/").dropFirst(2).joined(separator: "/"))"
        }
    }

    @Test("An operation without a name, a callback or a screen sends nothing, and is executed once")
    func missing() async throws {
        let world = try await Self.world()
        let client = world.phone.client
        let before = await world.server.requests.count
        let incomplete: [DeviceApproval] = [
            world.phone.ready(client.operations.deviceApproval).onProgress { _ in },
            world.phone.ready(client.operations.deviceApproval).username("alice"),
            client.operations.deviceApproval.username("alice").onProgress { _ in },
        ]
        for operation in incomplete {
            let error = await operationError { _ = try await operation.execute() as AuthenticationSuccess }
            #expect(error?.code == .missingInteraction)
        }
        let unknown = await operationError {
            _ = try await Self.operation(world).username("eve").execute() as AuthenticationSuccess
        }
        #expect(unknown?.code == .unknownUsername)
        #expect(await world.server.requests.count == before)
        let used = Self.operation(world)
        _ = await operationError { _ = try await used.execute() as AuthenticationSuccess }
        #expect(
            await operationError { _ = try await used.execute() as AuthenticationSuccess }?.code == .operationReused)
    }

    @Test("A server that does not know the device's own keys is not asked")
    func unknownKeys() async throws {
        let world = try await Self.world(isKnown: false)
        let error = await operationError { _ = try await Self.operation(world).execute() as AuthenticationSuccess }
        #expect(error?.code == .notAuthorized)
        #expect(await Self.requests(world).isEmpty)
    }

    @Test("A refusal says what to do, and a limited device until when")
    func refusals() async throws {
        let problem = "application/problem+json"
        let limited: JSONObject = [
            "type": .string("urn:countersign:error:device-limited"), "until": .string("2026-11-22T09:00:00.000Z"),
        ]
        let locked: JSONObject = ["type": .string("urn:countersign:error:locked")]
        for (response, code) in [
            (Self.response(403, limited, type: problem), OperationError.Code.deviceLimited),
            (Self.response(403, locked, type: problem), .accountLocked),
            (Self.response(404, [:], type: problem), .newDeviceNotAdded), (Self.response(503), .networkError),
            (Self.response(201, ["id": .string("../x")]), .fidoError),
            (Self.response(201, Self.begun, type: "text/html"), .fidoError),
        ] {
            let world = try await Self.world()
            await Self.answer(world, begin: response, question: Self.response(500))
            let error = await operationError { _ = try await Self.operation(world).execute() as AuthenticationSuccess }
            #expect(error?.code == code)
            #expect((error?.limitedUntil?.timeIntervalSince1970 == 1_795_338_000) == (code == .deviceLimited))
        }
    }

    @Test("Each state of the new device is told, and each end has its own error")
    func states() async throws {
        for (state, code) in [
            ("expired", OperationError.Code.tokenExpired), ("denied", .newDeviceNotAdded),
            ("failed", .newDeviceNotAdded), ("cancelled", .newDeviceNotAdded), ("unknown", .newDeviceNotAdded),
        ] {
            let world = try await Self.world()
            await Self.answer(world, state: ["state": .string(state)], question: Self.response(500))
            let error = await operationError { _ = try await Self.operation(world).execute() as AuthenticationSuccess }
            #expect(error?.code == code)
            #expect(await Self.requests(world).last?.hasPrefix("DELETE") == true)
        }
    }

    @Test(
        "A network that is away for half a minute ends nothing, and one that stays away ends the approval",
        arguments: [(15, OperationError.Code.newDeviceNotAdded, 16), (16, .networkError, 16), (40, .networkError, 16)])
    func network(failures: Int, code: OperationError.Code, questions: Int) async throws {
        let world = try await Self.world()
        let clock = world.phone.clock
        let left = Mutex(failures)
        await world.server.intercept { request in
            let path = request.url.path()
            guard path.contains("/approvals") else { return nil }
            if request.method == "DELETE" { return Self.response(204) }
            if path.hasSuffix("/approvals") { return Self.response(201, Self.begun) }
            let isAway = left.withLock { left in
                left -= 1
                return left >= 0
            }
            return isAway ? Self.response(503) : Self.response(200, ["state": .string("denied")])
        }
        let task = Task {
            await operationError { _ = try await Self.operation(world).execute() as AuthenticationSuccess }
        }
        for _ in 1..<questions {
            await clock.untilSleeping()
            clock.advance(by: .seconds(2))
        }
        #expect(await task.value?.code == code)
        #expect(await Self.requests(world).count { $0.hasPrefix("GET") } == questions)
        #expect(await Self.requests(world).last?.hasPrefix("DELETE") == true)
    }

    @Test("The question must ask for the number: any other is declined, and the enrolment is ended")
    func question() async throws {
        let world = try await Self.world()
        let payload = try await world.server.authentication(username: "alice", transaction: [text("Pay 5")])
        await Self.answer(
            world,
            question: Self.response(
                201, ["payload": .string(payload.json), "expiresAt": .string("2026-11-21T09:10:00.000Z")]))
        let told = Mutex<[DeviceApprovalProgress]>([])
        let operation = Self.operation(world).onProgress { progress in told.withLock { $0.append(progress) } }
        let error = await operationError { _ = try await operation.execute() as AuthenticationSuccess }
        #expect(error == .fido(.protocolError))
        #expect(world.phone.person.asked.isEmpty)
        let sent = await Self.requests(world)
        #expect(
            sent.map { String($0.split(separator: " ")[0]) } == ["POST", "GET", "POST", "DELETE"])
        #expect(sent.last?.hasSuffix("approvals/a-1_B") == true)
        let progress = told.withLock { $0 }
        guard case .code(let code)? = progress.first, case .answered(let device)? = progress.last else {
            Issue.record("not told")
            return
        }
        #expect(code.expiresAt.timeIntervalSince1970 == 1_795_252_200 && !"\(code)".contains("secret"))
        #expect(device == .init(name: "New\u{FFFD} phone", model: "Model", network: "192.0.2.7"))
    }

    @Test("With callbacks the operation ends with one call")
    func callbacks() async throws {
        let world = try await Self.world()
        await Self.answer(world, begin: Self.response(503), question: Self.response(500))
        let error = await withCheckedContinuation { continuation in
            Self.operation(world).onSuccess { _ in }.onError { continuation.resume(returning: $0) }.execute()
        }
        #expect(error == OperationError(.networkError))
    }
}
