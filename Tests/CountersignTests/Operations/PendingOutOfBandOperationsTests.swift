import Ceremony
import Countersign
import CountersignTestKit
import Foundation
import JOSE
import Testing
import UAF
import _Primitives

/// A server's way that streams: each stream gives the pieces of the next script, and then stays open or ends.
private actor ScriptedStreams: Transport {
    struct Script {
        var pieces: [String]
        /// `true` for a stream that stays open until its reader goes.
        var isOpen = true
        var status = 200
    }

    private let server: VirtualServer
    private var scripts: [Script]
    private(set) var requests: [TransportRequest] = []

    init(_ server: VirtualServer, _ scripts: [Script]) {
        self.server = server
        self.scripts = scripts
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse { try await self.server.send(request) }

    private func next(_ request: TransportRequest) throws -> Script {
        self.requests.append(request)
        guard !self.scripts.isEmpty else { throw TransportError(.cannotStream, "no script") }
        return self.scripts.removeFirst()
    }

    func stream<Value: Sendable>(
        _ request: TransportRequest, _ read: @escaping @Sendable (TransportStream) async throws -> Value
    ) async throws -> Value {
        let script = try self.next(request)
        let pieces = AsyncStream([UInt8].self) { continuation in
            for piece in script.pieces { continuation.yield(Array(piece.utf8)) }
            if !script.isOpen { continuation.finish() }
        }
        return try await read(
            TransportStream(
                status: script.status, headers: [("Content-Type", "text/event-stream")], pieces: pieces))
    }
}

/// What a watch has told, in order.
private actor Told {
    private(set) var results: [PendingOutOfBandOperationsResult] = []
    func note(_ result: PendingOutOfBandOperationsResult) { self.results.append(result) }
}

@Suite("Operations parity 68: what waits for this device, of all accounts and servers", .overEachKeyAbility)
struct PendingOutOfBandOperationsTests {
    private typealias Pending = PendingOutOfBandOperationsResult

    /// Lets the server know the keys of an account's device.
    @discardableResult
    private static func introduce(_ world: World, _ username: Username = "alice", at server: URL? = nil) async throws
        -> DeviceIdentity
    {
        let account = try #require(await world.phone.client.localData.accounts.first { $0.username == username })
        let identity = try #require(try await world.phone.client.deviceIdentity(of: account))
        await world.server.judge(ServerResponse(statusCode: .ok, deviceKey: identity.signingKey.keyID))
        let operation = world.phone.ready(world.phone.client.operations.authentication.username(username))
        _ = try await (server.map(operation.serverURL) ?? operation).execute() as AuthenticationSuccess
        world.phone.person.forget()
        return identity
    }

    /// The members of an operation with a payload for a text to confirm.
    private static func operation(_ world: World, _ id: String = "o-1_A", service: String = "Bank") async throws
        -> JSONObject
    {
        let payload = try await world.server.authentication(username: "alice", transaction: [text("Pay 4711")])
        return [
            "id": .string(id), "operation": .string("Auth"), "service": .string(service),
            "origin": .string("https://bank.example"), "dispatcher": .string("device-stream"),
            "payload": .string(payload.json), "createdAt": .string("2026-11-21T09:04:00.000Z"),
            "expiresAt": .string("2026-11-21T09:05:00.000Z"), "new": .object(["member": .integer(1)]),
        ]
    }

    private static func sealed(_ object: JSONObject, to identity: DeviceIdentity) throws -> JSON {
        .string(try JWE.seal(JSON.object(object).serialized, to: identity.encryptionKey, algorithm: .ecdhES))
    }

    private static func body(_ operations: [JSON]) -> String { JSON.object(["operations": .array(operations)]).text }

    /// Answers lists at a host from now on.
    private static func answer(
        _ world: World, _ body: String, status: Int = 200, type: String = "application/json",
        host: String = "id.example.com"
    ) async {
        await world.server.intercept { request in
            guard request.method == "GET", request.url.path().hasSuffix("/operations"), request.url.host() == host
            else { return nil }
            return TransportResponse(status: status, headers: [("Content-Type", type)], body: Array(body.utf8))
        }
    }

    private static func pending(_ world: World) async throws -> Pending {
        try await world.phone.client.operations.pendingOutOfBandOperations.execute()
    }

    /// A world in which the server knows the keys of alice's device.
    private static func world(configuration change: (inout ClientConfiguration) -> Void = { _ in }) async throws -> (
        World, DeviceIdentity
    ) {
        let world = try await World(configuration: change)
        try await world.enroll()
        return (world, try await Self.introduce(world))
    }

    @Test("The list is opened, the device proves itself, and an operation is answered as a scanned code")
    func answered() async throws {
        let (world, identity) = try await Self.world()
        let first = try await Self.operation(world, service: "Ba\u{202E}nk")
        await Self.answer(world, Self.body([try Self.sealed(first, to: identity), .object(first)]))
        let result = try await Self.pending(world)
        #expect(result.errors.isEmpty && result.operations.count == 2 && result.operations[0] == result.operations[1])
        let operation = result.operations[0]
        #expect(operation.id == "o-1_A" && operation.service == "Ba\u{FFFD}nk")
        #expect(operation.origin == "https://bank.example" && operation.dispatchChannel == "device-stream")
        #expect(operation.account.username == "alice")
        #expect(operation.createdAt.timeIntervalSince1970 == 1_795_251_840)
        #expect(operation.expiresAt.timeIntervalSince1970 == 1_795_251_900)
        let sent = try #require(await world.server.requests.last)
        #expect("\(sent.method) \(sent.url.path())" == "GET /devices/\(identity.signingKey.thumbprint)/operations")
        let proof = try #require(sent.headers.first { $0.name == "Device-Proof" }?.value)
        #expect(!sent.headers.contains { $0.name == "Authorization" })
        _ = try DeviceProof(
            verifying: proof,
            of: DeviceProof.Request(
                audience: "https://id.example.com", method: "GET", target: sent.url.absoluteString, body: []),
            with: identity.signingKey, at: world.phone.clock.now())
        #expect(world.phone.person.asked.isEmpty, "nobody is asked by reading")
        _ = try await world.phone.authenticate(operation.payload)
        #expect(world.phone.person.asked.compactMap(\.transaction).contains(Data("Pay 4711".utf8)))
    }

    @Test("A server that is down costs its own accounts, and the others' operations are there")
    func oneServerDown() async throws {
        let (world, identity) = try await Self.world()
        let server = try #require(URL(string: "https://other.example.com"))
        _ = try await world.phone.ready(world.phone.client.operations.registration.username("bob"))
            .authorizationProvider(JwtAuthorizationProvider("virtual-jwt")).serverURL(server).execute()
        try await Self.introduce(world, "bob", at: server)
        let operation = try Self.sealed(try await Self.operation(world), to: identity)
        await Self.answer(world, Self.body([operation]))
        await world.server.intercept { request in
            guard request.url.host() == "other.example.com" else { return nil }
            throw TransportError(.unreachable, "down")
        }
        let result = try await Self.pending(world)
        #expect(result.operations.map(\.account.username) == ["alice"])
        #expect(result.errors.map(\.account.username) == ["bob"])
        #expect(result.errors.map(\.account.server.baseURL) == [server])
        #expect(result.errors.map(\.error) == [OperationError(.networkError)])
        let alone: Pending = try await world.phone.client.operations.pendingOutOfBandOperations.username("bob")
            .execute()
        #expect(alone.operations.isEmpty && alone.errors == result.errors)
        let nobody: Pending = try await world.phone.client.operations.pendingOutOfBandOperations.username("eve")
            .execute()
        #expect(nobody.operations.isEmpty && nobody.errors.isEmpty)
    }

    @Test(
        "What a server refuses stands among the errors with a code that says what to do",
        arguments: [
            (401, OperationError(.notAuthorized)), (403, OperationError(.accountLocked)),
            (429, OperationError(.networkError)), (503, OperationError(.networkError)),
            (302, OperationError.fido(.protocolError)),
        ])
    func refusals(status: Int, error: OperationError) async throws {
        let (world, _) = try await Self.world()
        await Self.answer(world, "{}", status: status)
        let result = try await Self.pending(world)
        #expect(result.operations.isEmpty && result.errors.map(\.error) == [error])
    }

    @Test("Nothing waits, or the server has no such list", arguments: [200, 404])
    func nothing(status: Int) async throws {
        let (world, _) = try await Self.world()
        await Self.answer(world, Self.body([]), status: status)
        #expect(try await Self.pending(world) == Pending(operations: [], errors: []))
    }

    @Test("Another device's operation, a flipped bit and an answer that is not of the protocol are refused")
    func malformed() async throws {
        let (world, identity) = try await Self.world()
        try await world.enroll("bob")
        let other = try await Self.introduce(world, "bob")
        let good = try await Self.operation(world)
        let text = try Self.sealed(good, to: identity)
        guard case .string(let sealed) = text else { return }
        func without(_ name: String, _ value: JSON? = nil) -> JSON {
            var object = good
            object[name] = value
            return .object(object)
        }
        let flipped = String(sealed.dropLast(2)) + (sealed.hasSuffix("AA") ? "BA" : "AA")
        for operation in [
            try Self.sealed(good, to: other), .string(flipped), .string(""), .string("a.b.c.d.e"), .integer(1),
            try Self.sealed([:], to: identity), without("id"), without("id", .string("../uaf")), without("service"),
            without("payload"), without("payload", .string("{}")), without("createdAt"),
            without("expiresAt", .string("soon")),
        ] {
            await world.server.stopIntercepting()
            await Self.answer(world, Self.body([text, operation]))
            let result: Pending = try await world.phone.client.operations.pendingOutOfBandOperations.username("alice")
                .execute()
            #expect(result.operations.isEmpty && result.errors.map(\.error) == [.fido(.protocolError)])
        }
        for (body, type) in [
            ("", "application/json"), ("[]", "application/json"), ("{}", "application/json"),
            (Self.body([text]), "text/html"),
        ] {
            await world.server.stopIntercepting()
            await Self.answer(world, body, type: type)
            let result: Pending = try await world.phone.client.operations.pendingOutOfBandOperations.username("alice")
                .execute()
            #expect(result.operations.isEmpty && result.errors.map(\.error) == [.fido(.protocolError)])
        }
    }

    @Test("An account whose server does not know the device's keys is an error, and nothing is sent")
    func unknownKeys() async throws {
        let world = try await World()
        try await world.enroll()
        let before = await world.server.requests.count
        let result = try await Self.pending(world)
        #expect(result.operations.isEmpty && result.errors.map(\.error) == [OperationError(.notAuthorized)])
        #expect(await world.server.requests.count == before)
    }

    @Test("It is executed once, in either form, asks where the app says, and a phone without accounts has nothing")
    func mistakes() async throws {
        let empty = try await World()
        #expect(try await Self.pending(empty) == Pending(operations: [], errors: []))
        let (world, identity) = try await Self.world { $0.deviceResourcePath = "/other/devices" }
        await Self.answer(world, Self.body([]))
        let once = world.phone.client.operations.pendingOutOfBandOperations
        _ = try await once.execute() as Pending
        #expect(
            await world.server.requests.last?.url.path()
                == "/other/devices/\(identity.signingKey.thumbprint)/operations")
        await #expect(throws: OperationError(.operationReused)) { try await once.execute() }
        let told: Pending = await withCheckedContinuation { continuation in
            world.phone.client.operations.pendingOutOfBandOperations.onSuccess { continuation.resume(returning: $0) }
                .execute()
        }
        #expect(told == Pending(operations: [], errors: []))
        let watch = world.phone.client.operations.pendingOutOfBandOperationsWatch
        await #expect(throws: OperationError(.missingInteraction)) { try await watch.execute() }
        await #expect(throws: OperationError(.operationReused)) { try await watch.execute() }
    }

    // MARK: The watch

    private static func event(_ operations: [JSON]) -> String {
        "event: operations\ndata: \(Self.body(operations))\n\n"
    }

    /// Starts a watch. Returns its handle, what it tells, and its end.
    private static func watch(_ world: World) -> (
        handle: OperationHandle, told: AsyncStream<Pending>, end: AsyncStream<OperationError?>
    ) {
        let (told, tell) = AsyncStream.makeStream(of: Pending.self)
        let (end, finish) = AsyncStream.makeStream(of: OperationError?.self)
        let handle = world.phone.client.operations.pendingOutOfBandOperationsWatch
            .onChange { tell.yield($0) }
            .onSuccess { finish.yield(nil) }.onError { finish.yield($0) }.execute()
        return (handle, told, end)
    }

    /// Waits until nothing but the watch's pause sleeps.
    private static func untilWatchSleeps(_ world: World) async {
        for _ in 0..<1000 { await Task.yield() }
        while world.phone.clock.sleepingCount != 1 { await Task.yield() }
        for _ in 0..<1000 { await Task.yield() }
    }

    @Test("A watch tells each change once, and ends when it is cancelled", .timeLimit(.minutes(10)))
    func streams() async throws {
        let world = try await World()
        try await world.enroll()
        let identity = try await Self.introduce(world)
        let operation = try Self.sealed(try await Self.operation(world), to: identity)
        let streams = ScriptedStreams(
            world.server,
            [
                .init(pieces: [
                    ": still here\n\n", Self.event([]), Self.event([operation]), Self.event([operation]),
                    "event: other\ndata: {}\n\n", Self.event([]),
                ])
            ])
        let streaming = try await world.restarted(over: streams)
        await Self.answer(world, Self.body([]))
        let (handle, told, end) = Self.watch(streaming)
        var counts: [Int] = []
        for await result in told {
            #expect(result.errors.isEmpty)
            counts.append(result.operations.count)
            if counts.count == 3 { break }
        }
        #expect(counts == [0, 1, 0])
        let sent = try #require(await streams.requests.first)
        #expect(sent.url.path() == "/devices/\(identity.signingKey.thumbprint)/operations/events")
        #expect(sent.headers.contains { $0.name == "Device-Proof" })
        handle.cancel()
        for await error in end {
            #expect(error == .fido(.userCanceled))
            break
        }
    }

    @Test("A displaced stream does not come back for 60 seconds", .timeLimit(.minutes(10)))
    func displaced() async throws {
        let world = try await World()
        try await world.enroll()
        try await Self.introduce(world)
        let streams = ScriptedStreams(
            world.server, [.init(pieces: [Self.event([]), "event: replaced\ndata: {}\n\n"]), .init(pieces: [])])
        let streaming = try await world.restarted(over: streams)
        await Self.answer(world, Self.body([]))
        let (handle, told, _) = Self.watch(streaming)
        for await _ in told { break }
        while await streams.requests.count < 1 { await Task.yield() }
        await Self.untilWatchSleeps(streaming)
        streaming.phone.clock.advance(by: .seconds(59))
        for _ in 0..<1000 { await Task.yield() }
        #expect(await streams.requests.count == 1)
        streaming.phone.clock.advance(by: .seconds(1))
        while await streams.requests.count < 2 { await Task.yield() }
        handle.cancel()
    }

    @Test("A stream that the server refuses is asked for later each time", .timeLimit(.minutes(10)))
    func refusedStreams() async throws {
        let world = try await World()
        try await world.enroll()
        try await Self.introduce(world)
        let streams = ScriptedStreams(
            world.server, [503, 429, 401].map { .init(pieces: [], isOpen: false, status: $0) } + [.init(pieces: [])])
        let streaming = try await world.restarted(over: streams)
        await Self.answer(world, Self.body([]))
        let (handle, told, _) = Self.watch(streaming)
        for await result in told {
            #expect(result == Pending(operations: [], errors: []))
            break
        }
        for (count, pause) in [2, 4, 8].enumerated() {
            while await streams.requests.count <= count { await Task.yield() }
            await Self.untilWatchSleeps(streaming)
            streaming.phone.clock.advance(by: .seconds(pause) - .milliseconds(1))
            for _ in 0..<1000 { await Task.yield() }
            #expect(await streams.requests.count == count + 1)
            streaming.phone.clock.advance(by: .milliseconds(1))
        }
        while await streams.requests.count < 4 { await Task.yield() }
        handle.cancel()
    }

    @Test(
        "A stream that falls silent is opened again; one that was silent from its beginning is not",
        .timeLimit(.minutes(10)))
    func silentStreams() async throws {
        let world = try await World()
        try await world.enroll()
        try await Self.introduce(world)
        let streams = ScriptedStreams(world.server, [.init(pieces: [Self.event([])]), .init(pieces: [])])
        let streaming = try await world.restarted(over: streams)
        await Self.answer(world, Self.body([]))
        let (handle, told, _) = Self.watch(streaming)
        for await _ in told { break }
        while await streams.requests.count < 1 { await Task.yield() }
        await Self.untilWatchSleeps(streaming)
        streaming.phone.clock.advance(by: .seconds(45))
        await Self.untilWatchSleeps(streaming)
        streaming.phone.clock.advance(by: .seconds(2))
        while await streams.requests.count < 2 { await Task.yield() }
        await Self.untilWatchSleeps(streaming)
        streaming.phone.clock.advance(by: .seconds(45))
        await Self.untilWatchSleeps(streaming)
        let before = await world.server.requests.count
        streaming.phone.clock.advance(by: .seconds(15))
        while await world.server.requests.count == before { await Task.yield() }
        await Self.untilWatchSleeps(streaming)
        #expect(await streams.requests.count == 2)
        handle.cancel()
    }

    @Test("Where nothing streams, the watch asks again every 15 seconds", .timeLimit(.minutes(10)))
    func polls() async throws {
        let (world, identity) = try await Self.world()
        await Self.answer(world, Self.body([]))
        let (handle, told, _) = Self.watch(world)
        var results = told.makeAsyncIterator()
        #expect(await results.next()?.operations.isEmpty == true)
        await Self.untilWatchSleeps(world)
        await world.server.stopIntercepting()
        await Self.answer(world, Self.body([try Self.sealed(try await Self.operation(world), to: identity)]))
        let before = await world.server.requests.count
        world.phone.clock.advance(by: .seconds(14))
        for _ in 0..<1000 { await Task.yield() }
        #expect(await world.server.requests.count == before)
        world.phone.clock.advance(by: .seconds(1))
        #expect(await results.next()?.operations.count == 1)
        handle.cancel()
    }

    @Test("An account that the server ends, or refuses, is watched no more, and the watch ends with its last account")
    func ended() async throws {
        let world = try await World()
        try await world.enroll()
        let identity = try await Self.introduce(world)
        let operation = try Self.sealed(try await Self.operation(world), to: identity)
        let streams = ScriptedStreams(
            world.server, [.init(pieces: [Self.event([operation]), "event: ended\ndata: {}\n\n"])])
        let streaming = try await world.restarted(over: streams)
        await Self.answer(world, Self.body([operation]))
        let told = Told()
        let (changes, change) = AsyncStream.makeStream(of: Pending.self)
        try await streaming.phone.client.operations.pendingOutOfBandOperationsWatch.onChange { change.yield($0) }
            .execute()
        change.finish()
        for await result in changes { await told.note(result) }
        let results = await told.results
        #expect(results.map(\.errors.count) == [0, 1] && results.map(\.operations.count) == [1, 0])
        #expect(results.last?.errors.first?.error == OperationError(.notAuthorized))
    }

    @Test("A server that is down is asked again, later each time, and what was known stays", .timeLimit(.minutes(10)))
    func downForAWhile() async throws {
        let (world, identity) = try await Self.world()
        await Self.answer(world, Self.body([try Self.sealed(try await Self.operation(world), to: identity)]))
        let (handle, told, _) = Self.watch(world)
        var results = told.makeAsyncIterator()
        #expect(await results.next()?.operations.count == 1)
        await Self.untilWatchSleeps(world)
        await world.server.stopIntercepting()
        await Self.answer(world, "{}", status: 503)
        world.phone.clock.advance(by: .seconds(15))
        let down = try #require(await results.next())
        #expect(down.operations.count == 1 && down.errors.map(\.error) == [OperationError(.networkError)])
        for pause in [2, 4, 8] {
            await Self.untilWatchSleeps(world)
            let before = await world.server.requests.count
            world.phone.clock.advance(by: .seconds(pause) - .milliseconds(1))
            for _ in 0..<1000 { await Task.yield() }
            #expect(await world.server.requests.count == before)
            world.phone.clock.advance(by: .milliseconds(1))
            while await world.server.requests.count == before { await Task.yield() }
        }
        await Self.untilWatchSleeps(world)
        await world.server.stopIntercepting()
        await Self.answer(world, Self.body([]))
        world.phone.clock.advance(by: .seconds(16))
        #expect(await results.next() == Pending(operations: [], errors: []))
        handle.cancel()
    }
}
