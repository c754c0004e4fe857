import Accounts
import Ceremony
import CeremonyEngine
import Countersign
import CountersignServer
import CountersignTestKit
import Endpoints
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import OAuthProvider
import Records
import SQLStore
import Settings
import Synchronization
import Testing
import UAF
import _Primitives

/// A phone's way to the server, on which a test reads what went over it. A stream's answer comes as a whole.
private final class NotedTransport: Transport {
    private let transport: RouterTransport
    private let notes = Mutex<[(request: TransportRequest, body: String)]>([])
    private let begun = Mutex<[TransportRequest]>([])

    init(_ client: any TestClientProtocol) { self.transport = RouterTransport(client: client) }

    /// The requests to a path's end, answered or not.
    func requests(_ end: String) -> [TransportRequest] {
        self.begun.withLock { $0.filter { $0.url.path.hasSuffix(end) } }
    }

    /// The requests and the answers of a path's end.
    func exchanges(_ end: String) -> [(request: TransportRequest, body: String)] {
        self.notes.withLock { $0.filter { $0.request.url.path.hasSuffix(end) } }
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        self.begun.withLock { $0.append(request) }
        let response = try await self.transport.send(request)
        self.notes.withLock { $0.append((request, String(decoding: response.body, as: UTF8.self))) }
        return response
    }

    func stream<Value: Sendable>(
        _ request: TransportRequest, _ read: @escaping @Sendable (TransportStream) async throws -> Value
    ) async throws -> Value {
        let response = try await self.send(request)
        let pieces = AsyncStream([UInt8].self) { pieces in
            pieces.yield(response.body)
            pieces.finish()
        }
        return try await read(TransportStream(status: response.status, headers: response.headers, pieces: pieces))
    }
}

@Suite("Decision 115: what waits for a device, as a list and as a stream (operations parity 68)")
struct DeviceOperationsTests {
    private typealias Pending = PendingOutOfBandOperationsResult

    /// Alice, her phones, and a call centre that has her asked.
    private struct Scene: Sendable {
        let server: ServerFixture
        let client: any TestClientProtocol
        let centre: CallCentre

        /// A further phone of alice's.
        func phone() async throws -> (phone: VirtualPhone, transport: NotedTransport) {
            let transport = NotedTransport(self.client)
            let isNew = try await self.server.database.accounts(after: nil, limit: 1).isEmpty
            let phone = try await self.server.enrolledPhone(self.client, isNew: isNew, through: { _ in transport })
            return (phone, transport)
        }

        func pending(_ phone: VirtualPhone) async throws -> Pending {
            try await phone.client.operations.pendingOutOfBandOperations.execute()
        }

        func devices() async throws -> [DeviceRecord] {
            let account = try await self.server.assembly.directory.account(written: "alice")
            return try await self.server.database.devices(accountID: account.id)
        }

        /// Asks by a proof.
        func ask(_ path: String, _ proof: String?, _ headers: HTTPFields = [:]) async throws -> (
            response: TestResponse, object: JSONObject
        ) {
            var headers = headers
            headers[try #require(HTTPField.Name("Device-Proof"))] = proof
            return try await self.client.send(.get, path, headers: headers)
        }

        /// Waits until the server's numbers have a line.
        func wait(for line: String) async {
            while !self.server.assembly.channels.metrics.contains("\n\(line)\n") { await Task.yield() }
        }

        func waitForStreams(_ count: Int) async { await self.wait(for: "countersign_device_streams_open \(count)") }
    }

    private static func with(
        limits: Limits = Limits(), _ body: @escaping @Sendable (Scene) async throws -> Void
    ) async throws {
        let server = try await ServerFixture(limits: limits)
        try await server.withPublicClient { client in
            try await body(Scene(server: server, client: client, centre: try await CallCentre(server, client)))
        }
    }

    /// The names of the events of a stream.
    private static func events(_ body: String) -> [String] {
        body.split(separator: "\n").filter { $0.hasPrefix("event: ") }.map { String($0.dropFirst(7)) }
    }

    @Test("The list has what waits for the device, sealed to its key, and the same at each reading")
    func list() async throws {
        try await Self.with { scene in
            let (phone, transport) = try await scene.phone()
            #expect(try await scene.pending(phone).operations.isEmpty)
            let request = try await scene.centre.begin()
            let first = try await scene.pending(phone)
            let operation = try #require(first.operations.first)
            #expect(first.errors.isEmpty && first.operations.count == 1)
            #expect(operation.account.username == "alice" && operation.service == "Call Centre")
            #expect(operation.origin == "https://calls.example" && operation.dispatchChannel == nil)
            let asked = Date(timeIntervalSince1970: Double(scene.server.clock.now().milliseconds) / 1000)
            #expect(abs(operation.createdAt.timeIntervalSince(asked)) < 0.001)
            #expect(try await scene.pending(phone) == first)
            let body = try #require(transport.exchanges("/operations").last?.body)
            guard case .object(let answer) = try JSON(parsing: Array(body.utf8)) else {
                throw JSONError(.wrongType, "")
            }
            let sealed = try #require(try answer.strings("operations")?.first)
            #expect(sealed.split(separator: ".", omittingEmptySubsequences: false).count == 5)
            #expect(!body.contains("Call Centre") && !body.contains(operation.payload.redeemData.token))
            #expect(phone.person.asked.isEmpty)
            _ = try await phone.authenticate(operation.payload)
            #expect(try await scene.centre.pollInTime(request)["id_token"] != nil)
            #expect(try await scene.pending(phone).operations.isEmpty)
        }
    }

    @Test("Each device has payloads of its own, and what one has taken goes from the others' lists")
    func twoDevices() async throws {
        try await Self.with { scene in
            let ((first, _), (second, _)) = (try await scene.phone(), try await scene.phone())
            _ = try await scene.centre.begin()
            let ours = try #require(try await scene.pending(first).operations.first)
            let theirs = try #require(try await scene.pending(second).operations.first)
            #expect(ours.id == theirs.id)
            #expect(ours.payload.redeemData.token != theirs.payload.redeemData.token)
            let listed: [ServiceQuestion] = try await second.client.operations.waitingQuestions.username("alice")
                .execute()
            #expect(listed.map(\.id) == [ours.id])
            _ = try await first.authenticate(ours.payload)
            #expect(try await scene.pending(second).operations.isEmpty)
            let late = await #expect(throws: (any Error).self) { try await second.authenticate(theirs.payload) }
            #expect((late as? OperationError)?.code == .tokenAlreadyRedeemed)
        }
    }

    @Test("A proof is of one address, counts once, and reads nothing of another device; a token reads nothing at all")
    func refusals() async throws {
        try await Self.with { scene in
            let (phone, transport) = try await scene.phone()
            func request() async throws -> TransportRequest {
                _ = try await scene.pending(phone)
                return try #require(transport.exchanges("/operations").last?.request)
            }
            func proof(_ request: TransportRequest) -> String? {
                request.headers.first { $0.name == "Device-Proof" }?.value
            }
            let sent = try await request()
            let path = sent.url.path
            for (address, proof, name) in [
                (path, proof(sent), "replay-refused"), (path + "/events", proof(sent), "not-proven"),
                (path, nil, "not-proven"), ("/devices/other/operations", proof(sent), "not-proven"),
            ] {
                let (response, problem) = try await scene.ask(address, proof)
                #expect(response.status == .unauthorized)
                #expect(problem["type"] == .string("urn:countersign:error:\(name)"))
            }
            let provider = try await phone.authenticate(username: "alice").authorizationProvider
            let token = try #require(provider?.headers.first?.value)
            #expect(try await scene.ask(path, nil, [.authorization: token]).response.status == .unauthorized)
            scene.server.clock.advance(by: .seconds(62))
            let (late, problem) = try await scene.ask(path, proof(sent))
            #expect(late.status == .unauthorized)
            #expect(problem["now"] == .integer(scene.server.clock.now().milliseconds))
        }
    }

    @Test("A locked account has no list, and a removed device neither")
    func noList() async throws {
        try await Self.with { scene in
            let (phone, _) = try await scene.phone()
            let directory = scene.server.assembly.directory
            let name = try await directory.account(written: "alice").reference
            _ = try await directory.setLocked(true, username: name, by: "test")
            #expect(try await scene.pending(phone).errors.map(\.error.code) == [.accountLocked])
            _ = try await directory.setLocked(false, username: name, by: "test")
            let device = try #require(try await scene.devices().first)
            try await directory.deleteDevice(id: device.id, by: "test")
            #expect(try await scene.pending(phone).errors.map(\.error.code) == [.notAuthorized])
        }
    }

    /// The ways in which a device's stream ends for good.
    enum End: CaseIterable { case removal, lock, deregistration }

    @Test(
        "A stream tells a question as it comes and as another device takes it, and ends with the device",
        .timeLimit(.minutes(10)), arguments: End.allCases)
    func stream(end: End) async throws {
        try await Self.with { scene in
            let ((phone, transport), (other, _)) = (try await scene.phone(), try await scene.phone())
            let told = Mutex<[Pending]>([])
            let watch: Task<Void, any Error> = Task {
                try await phone.client.operations.pendingOutOfBandOperationsWatch
                    .onChange { result in told.withLock { $0.append(result) } }.execute()
            }
            await scene.waitForStreams(1)
            let before = scene.server.clock.now()
            _ = try await scene.centre.begin()
            let operation = try #require(try await scene.pending(other).operations.first)
            _ = try await other.authenticate(operation.payload)
            let directory = scene.server.assembly.directory
            switch end {
            case .removal:
                try await directory.deleteDevice(id: try #require(try await scene.devices().first).id, by: "test")
            case .lock:
                let name = try await directory.account(written: "alice").reference
                _ = try await directory.setLocked(true, username: name, by: "test")
            case .deregistration:
                try await phone.client.operations.deregistration.username("alice").execute()
            }
            // The clock stands: neither the stream's time nor a phase has ended the stream.
            try await watch.value
            #expect(scene.server.clock.now() == before)
            await scene.waitForStreams(0)
            let body = try #require(transport.exchanges("/operations/events").last?.body)
            #expect(Self.events(body).last == "ended")
            #expect(Self.events(body).first == "operations")
            #expect(told.withLock { $0.last }?.errors.map(\.error.code) == [.notAuthorized])
        }
    }

    @Test("A third stream of a device takes the place of its first, which is told so", .timeLimit(.minutes(10)))
    func replaced() async throws {
        try await Self.with { scene in
            let (phone, transport) = try await scene.phone()
            let watches = (1...3).map { _ in
                phone.client.operations.pendingOutOfBandOperationsWatch.onChange { _ in }.onError { _ in }
            }
            var handles: [OperationHandle] = []
            for (index, watch) in watches.enumerated() {
                handles.append(watch.execute())
                await scene.waitForStreams(min(index + 1, 2))
            }
            await scene.wait(for: "countersign_device_streams_replaced_total 1")
            while transport.exchanges("/operations/events").isEmpty { await Task.yield() }
            let body = try #require(transport.exchanges("/operations/events").first?.body)
            #expect(body.hasSuffix("event: replaced\ndata: {}\n\n"))
            await scene.waitForStreams(2)
            for handle in handles { handle.cancel() }
            try await scene.server.assembly.directory.deleteDevice(
                id: try #require(try await scene.devices().first).id, by: "test")
            await scene.waitForStreams(0)
        }
    }

    @Test("A stream ends after its time, and the device proves itself anew", .timeLimit(.minutes(10)))
    func lifetime() async throws {
        var limits = Limits()
        limits.deviceStreamLifetime = .seconds(30)
        limits.deviceStreamSpread = .zero
        try await Self.with(limits: limits) { scene in
            let (phone, transport) = try await scene.phone()
            let path = "/operations/events"
            let watch = phone.client.operations.pendingOutOfBandOperationsWatch.onChange { _ in }.onError { _ in }
                .execute()
            await scene.waitForStreams(1)
            scene.server.clock.advance(by: .seconds(30))
            while transport.exchanges(path).isEmpty { await Task.yield() }
            #expect(Self.events(try #require(transport.exchanges(path).first?.body)) == ["operations"])
            // The pause before the next stream.
            while transport.requests(path).count < 2 {
                scene.server.clock.advance(by: .seconds(1))
                for _ in 0..<1000 where transport.requests(path).count < 2 { await Task.yield() }
            }
            let proofs = transport.requests(path).map { request in
                request.headers.first { $0.name == "Device-Proof" }?.value
            }
            #expect(proofs.count == 2 && Set(proofs).count == 2 && !proofs.contains(nil))
            watch.cancel()
            try await scene.server.assembly.directory.deleteDevice(
                id: try #require(try await scene.devices().first).id, by: "test")
            await scene.waitForStreams(0)
        }
    }

    @Test("A dispatch by the device's own stream is in its list with the dispatcher's name, and in no other device's")
    func dispatched() async throws {
        try await Self.with { scene in
            let ((phone, _), (other, _)) = (try await scene.phone(), try await scene.phone())
            let devices = try await scene.devices()
            let device = try #require(devices.first)
            try await scene.server.database.changeDispatchTarget(
                DispatchTargetChange(
                    deviceID: device.id, accountID: device.accountID, dispatcher: .changed(to: "device-stream"),
                    audit: AuditEvent(AuditEvent.Kind(rawValue: "test"), at: scene.server.clock.now())))
            let bank = try await scene.server.relyingParty()
            try await scene.server.signInTwice(TestBrowser(scene.client), bank, phone)
            let client = DispatchingClient(id: bank.id, name: "Bank", origin: "https://bank.example")
            let subject = try await scene.server.assembly.provider.clients.subject(
                ofAccount: device.accountID, ofClient: client.id)
            let dispatches = scene.server.assembly.ceremonies.dispatches
            let target = try #require(
                try await scene.server.assembly.ceremonies.dispatchTargets.list(
                    ofSubject: subject, client: client, withNames: false
                ).first)
            let answer = try await dispatches.dispatch(
                DispatchRequest(
                    dispatcher: "device-stream", target: target.id, operation: .authentication,
                    context: ["subject": .string(subject)]), client: client)
            #expect(answer.result == .dispatched)
            let operation = try #require(try await scene.pending(phone).operations.first)
            #expect(operation.dispatchChannel == "device-stream" && operation.service == "Bank")
            #expect(answer.token == nil && operation.payload.deviceKey != nil)
            #expect(try await scene.pending(other).operations.isEmpty)
            let questions: [ServiceQuestion] = try await phone.client.operations.waitingQuestions.username("alice")
                .execute()
            #expect(questions.isEmpty)
            phone.person.script.numbers = [try #require(answer.number)]
            _ = try await phone.authenticate(operation.payload)
            let sessions = scene.server.assembly.ceremonies.sessions
            let status = try await sessions.status(sessionID: try #require(answer.sessionID), clientID: client.id)
            #expect(status.state == .succeeded)
            #expect(try await scene.pending(phone).operations.isEmpty)
        }
    }
}
