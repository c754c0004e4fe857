import Ceremony
import Countersign
import CountersignTestKit
import Foundation
import Synchronization
import Testing
import UAF
import UAFClient
import _Primitives

@Suite(
    "Operations parity 61, 62: a deregistration that a service has started, and a crash at each of its points",
    .overEachKeyAbility)
struct DispatchedDeregistrationTests {
    private struct Killed: Error {}

    /// Ends a phone's process at one of its durable steps.
    private final class Countdown: Sendable {
        private let left: Mutex<Int>
        private let counted = Mutex(0)
        init(_ steps: Int) { self.left = Mutex(steps) }
        var steps: Int { self.counted.withLock { $0 } }
        func isOver() -> Bool {
            self.counted.withLock { $0 += 1 }
            return self.left.withLock { left in
                left -= 1
                return left < 0
            }
        }
    }

    private func enrolled() async throws -> World {
        let world = try await World()
        try await world.enroll("alice", [World.possession, World.pin])
        try await world.enroll("alice", [World.password])
        try await world.enroll("bob")
        return world
    }

    private func redeem(_ world: World, _ payload: OutOfBandPayload) async throws -> DeregistrationResult {
        guard case .deregistration(let result) = try await world.phone.redeem(payload) else {
            throw OperationError(.missingInteraction, "not a deregistration")
        }
        return result
    }

    /// Whether the server has keys of a person, and the phone has the account: they agree where the two are equal.
    private func holders(_ world: World, _ username: Username = "alice") async -> (server: Bool, phone: Bool) {
        (
            await world.server.credentials.values.contains { $0.username == username },
            await world.phone.client.localData.accounts.contains { $0.username == username }
        )
    }

    /// The sheets of tries that the phone keeps: one for each key with a PIN or a password.
    private func tries(_ world: World) -> Int {
        world.phone.storage.snapshot.keys.count { $0.hasPrefix("attempts-") }
    }

    private func expectBobAnswers(_ world: World) async throws {
        #expect(await world.phone.client.localData.accounts.map(\.username) == ["bob"])
        let authentication = try await world.phone.authenticate(try await world.server.authentication(username: "bob"))
        #expect(authentication.account.username == "bob")
    }

    @Test("Redeeming the token deletes the keys at the server and here, and nobody else's")
    func everything() async throws {
        let world = try await self.enrolled()
        let payload = try await world.server.deregistration(of: "alice")
        let result = try await self.redeem(world, payload)
        #expect(result.accounts.map(\.username) == ["alice"])
        #expect(await self.holders(world) == (false, false))
        #expect(self.tries(world) == 1)
        try await self.expectBobAnswers(world)
        let again = try await world.restarted()
        try await self.expectBobAnswers(again)
        #expect(!again.phone.storage.snapshot.values.contains { $0.contains(Array(payload.redeemData.token.utf8)) })
    }

    @Test("A phone that has none of the keys, or nothing left to delete, is told of no account")
    func nothing() async throws {
        let world = try await self.enrolled()
        try await world.phone.client.localData.deleteAuthenticator(username: "alice")
        #expect(try await self.redeem(world, try await world.server.deregistration(of: "alice")).accounts.isEmpty)
        #expect(try await self.redeem(world, try await world.server.deregistration(of: "alice")).accounts.isEmpty)
        try await self.expectBobAnswers(world)
    }

    @Test("Executed again with the token of before, it ends the same")
    func again() async throws {
        let world = try await self.enrolled()
        let payload = try await world.server.deregistration(of: "alice")
        _ = try await self.redeem(world, payload)
        #expect(try await self.redeem(world, payload).accounts.isEmpty)
        try await self.expectBobAnswers(world)
    }

    @Test("The callback form hears of it once; without a closure it is carried out all the same")
    func callbacks() async throws {
        for hasClosure in [true, false] {
            let world = try await self.enrolled()
            let payload = try await world.server.deregistration(of: "alice")
            let heard: String = await withCheckedContinuation { continuation in
                var operation = world.phone.client.operations.outOfBandOperation.payload(payload)
                    .onRegistration { _ in continuation.resume(returning: "registration") }
                    .onError { continuation.resume(returning: "\($0.code)") }
                if hasClosure {
                    operation = operation.onDeregistration { result in
                        continuation.resume(returning: result.accounts.map(\.username).joined())
                    }
                }
                operation.execute()
            }
            #expect(heard == (hasClosure ? "alice" : "missingInteraction"))
            #expect(await self.holders(world) == (false, false))
            try await self.expectBobAnswers(world)
        }
    }

    // MARK: Crashes

    @Test(
        "A process that ends after any of its writes, and starts again: both ends agree, and nobody else has lost a key"
    )
    func crashes() async throws {
        let counting = Countdown(.max)
        let whole = try await self.enrolled()
        whole.phone.storage.interruptAfterWrite { _ in _ = counting.isOver() }
        _ = try await self.redeem(whole, try await whole.server.deregistration(of: "alice"))
        #expect(counting.steps >= 3)
        for step in 0..<counting.steps {
            let world = try await self.enrolled()
            let countdown = Countdown(step)
            let storage = world.phone.storage
            storage.interruptAfterWrite { [storage] _ in
                if countdown.isOver() {
                    storage.refuseWrites(true)
                    throw Killed()
                }
            }
            let payload = try await world.server.deregistration(of: "alice")
            await #expect(throws: (any Error).self) { try await self.redeem(world, payload) }
            let again = try await world.restarted()
            let (server, phone) = await self.holders(again)
            #expect(server == phone, "after write \(step)")
            // What was begun is finished by the start.
            #expect(!phone, "after write \(step)")
            #expect(self.tries(again) == 1, "after write \(step)")
            try await self.expectBobAnswers(again)
        }
    }

    @Test("A disk that takes nothing: no token leaves, and both ends have their keys")
    func fullDisk() async throws {
        let world = try await self.enrolled()
        let payload = try await world.server.deregistration(of: "alice")
        world.phone.storage.refuseWrites(true)
        await #expect(throws: (any Error).self) { try await self.redeem(world, payload) }
        #expect(await self.holders(world) == (true, true))
        world.phone.storage.refuseWrites(false)
        #expect(try await self.redeem(world, payload).accounts.map(\.username) == ["alice"])
        #expect(await self.holders(world) == (false, false))
    }

    /// Cuts the exchange: before the server hears of it, or when it has deleted and answers.
    private func cut(_ world: World, afterServer: Bool) async {
        let server = world.server
        let isInner = Mutex(false)
        await server.intercept { request in
            guard request.url.path().hasSuffix("redeem/deregistration"), isInner.withLock({ !$0 }) else { return nil }
            if afterServer {
                isInner.withLock { $0 = true }
                _ = try await server.send(request)
                isInner.withLock { $0 = false }
            }
            throw TransportError(.unreachable, "cut")
        }
    }

    @Test(
        "Where the answer is lost, nothing is deleted here until the server has answered: again, or at the next start",
        arguments: [true, false], [true, false])
    func lostAnswer(afterServer: Bool, restarts: Bool) async throws {
        let world = try await self.enrolled()
        let payload = try await world.server.deregistration(of: "alice")
        await self.cut(world, afterServer: afterServer)
        await #expect(throws: OperationError(.networkError)) { try await self.redeem(world, payload) }
        #expect(await self.holders(world) == (!afterServer, true))
        // A start without the server changes nothing; the one with it does.
        var phone = try await world.restarted()
        #expect(await self.holders(phone) == (!afterServer, true))
        await world.server.stopIntercepting()
        if restarts {
            phone = try await phone.restarted()
        } else {
            #expect(try await self.redeem(phone, payload).accounts.map(\.username) == ["alice"])
        }
        #expect(await self.holders(phone) == (false, false))
        try await self.expectBobAnswers(phone)
        let before = await world.server.requests.count
        _ = try await phone.restarted()
        #expect(await world.server.requests.count == before, "what is carried out is not asked for again")
    }

    /// A gate that does not care whether the task that waits is cancelled.
    private actor Gate {
        private var isOpen = false
        private var waiting: [CheckedContinuation<Void, Never>] = []
        func wait() async {
            if !self.isOpen { await withCheckedContinuation { self.waiting.append($0) } }
        }
        func open() {
            self.isOpen = true
            for continuation in self.waiting { continuation.resume() }
            self.waiting = []
        }
    }

    /// Begins as many deregistrations, whose answers are all lost.
    private func begin(_ count: Int, _ world: World) async throws {
        await self.cut(world, afterServer: false)
        for _ in 0..<count {
            let payload = try await world.server.deregistration(of: "alice")
            await #expect(throws: OperationError(.networkError)) { try await self.redeem(world, payload) }
        }
        await world.server.stopIntercepting()
    }

    @Test("An app starts after five seconds, however many tokens wait, for a server or a transport that never answers")
    func slowServer() async throws {
        let world = try await self.enrolled()
        try await self.begin(8, world)
        let gate = Gate()
        await world.server.intercept { request in
            guard request.url.path().hasSuffix("redeem/deregistration") else { return nil }
            await gate.wait()
            return nil
        }
        let start = Task { try await world.restarted() }
        await world.phone.clock.untilSleeping()
        world.phone.clock.advance(by: .milliseconds(4999))
        #expect(world.phone.clock.sleepingCount == 1, "the limit is over already")
        world.phone.clock.advance(by: .milliseconds(1))
        let again = try await start.value
        #expect(await again.phone.client.localData.accounts.count == 2)
        await gate.open()
        await world.server.stopIntercepting()
        let last = try await world.restarted()
        #expect(await self.holders(last) == (false, false))
        #expect(last.phone.clock.sleepingCount == 0)
    }

    @Test("The fetch of the facet list is within the five seconds too")
    func slowFacets() async throws {
        let world = try await World()
        await world.server.use(appID: "https://id.example.com/uaf/1.1/facets")
        let gate = Gate()
        let isSlow = Mutex(false)
        let list = #"{"trustedFacets":[{"version":{"major":1,"minor":1},"ids":["linux:program:test"]}]}"#
        await world.server.intercept { request in
            guard request.url.path() == "/uaf/1.1/facets" else { return nil }
            if isSlow.withLock({ $0 }) { await gate.wait() }
            return TransportResponse(
                status: 200, headers: [("Content-Type", "application/fido.trusted-apps+json")], body: Array(list.utf8))
        }
        try await world.enroll("alice")
        let payload = try await world.server.deregistration(of: "alice")
        isSlow.withLock { $0 = true }
        let first = Task { await operationError { _ = try await self.redeem(world, payload) } }
        while await world.server.requests.last?.url.path() != "/uaf/1.1/facets" { await Task.yield() }
        let start = Task { try await world.restarted() }
        await world.phone.clock.untilSleeping()
        world.phone.clock.advance(by: .seconds(5))
        _ = try await start.value
        await gate.open()
        #expect(await first.value == nil)
    }

    @Test("Where eight tokens wait for their answer, a ninth is not redeemed, and none is forgotten")
    func tooMany() async throws {
        let world = try await self.enrolled()
        try await self.begin(8, world)
        let before = await world.server.requests.count
        let ninth = try await world.server.deregistration(of: "bob")
        let refused = await operationError { _ = try await self.redeem(world, ninth) }
        #expect(refused == OperationError(.networkError) && refused?.recovery == .tryAgain)
        #expect(await world.server.requests.count == before)
        let again = try await world.restarted()
        #expect(await self.holders(again) == (false, false))
        #expect(try await self.redeem(again, ninth).accounts.map(\.username) == ["bob"])
    }

    @Test("A path that is configured without its slash is the same path: its token is written down too")
    func configuredPath() async throws {
        let world = try await World { $0.deregistrationRedeemPath = "token/redeem/deregistration" }
        try await world.enroll("alice")
        let payload = try await world.server.deregistration(of: "alice")
        await self.cut(world, afterServer: true)
        await #expect(throws: OperationError(.networkError)) { try await self.redeem(world, payload) }
        await world.server.stopIntercepting()
        #expect(await self.holders(try await world.restarted()) == (false, false))
    }

    @Test("A token that the server does not take is not shown again, and everything is still there")
    func refused() async throws {
        let world = try await self.enrolled()
        let payload = try await world.server.deregistration(of: "alice")
        await world.server.expire(payload)
        await #expect(throws: OperationError(.tokenExpired)) { try await self.redeem(world, payload) }
        #expect(await self.holders(world) == (true, true))
        let before = await world.server.requests.count
        _ = try await world.restarted()
        #expect(await world.server.requests.count == before)
    }

    // MARK: Who may delete what

    private func message(_ world: World, _ authenticators: [DeregisterAuthenticator], appID: String = "") async throws
        -> OutOfBandPayload
    {
        let message = DeregistrationRequest(
            header: OperationHeader(version: .uaf11, operation: .deregistration, appID: appID),
            authenticators: authenticators)
        return try await world.server.payload(
            for: .deregistration, message: String(decoding: message.serialized, as: UTF8.self))
    }

    @Test("A message that does not say whose keys deletes nothing where they could be another person's")
    func unnamed() async throws {
        let world = try await self.enrolled()
        for entry in [DeregisterAuthenticator.everything, .allKeys(of: World.pin.aaid)] {
            let payload = try await self.message(world, [entry])
            await #expect(throws: (any Error).self) { try await self.redeem(world, payload) }
            #expect(await world.phone.client.localData.accounts.count == 2)
        }
        // Only alice has a password.
        let payload = try await self.message(world, [.allKeys(of: World.password.aaid)])
        #expect(try await self.redeem(world, payload).accounts.map(\.username) == ["alice"])
        #expect(await world.phone.client.localData.accounts.count == 2)
    }

    @Test("A server deletes no key of an account at another server, whatever AppID its message has")
    func anotherServer() async throws {
        let world = try await self.enrolled()
        let keys = await world.server.credentials.map { DeregisterAuthenticator.key($0.value.aaid, $0.key) }
        let address = try #require(URL(string: "https://other.example.com"))
        let other = VirtualServer(baseURL: address)
        var configuration = ClientConfiguration(baseURL: address)
        configuration.facetID = "linux:program:test"
        let phone = try await VirtualPhone(
            configuration: configuration, transport: other, storage: InMemoryStorage(world.phone.storage.snapshot))
        for entries in [keys, [.everything]] {
            let message = DeregistrationRequest(
                header: OperationHeader(version: .uaf11, operation: .deregistration, appID: ""),
                authenticators: entries)
            let payload = try await other.payload(
                for: .deregistration, message: String(decoding: message.serialized, as: UTF8.self))
            guard case .deregistration(let result) = try await phone.redeem(payload) else {
                Issue.record("not a deregistration")
                return
            }
            #expect(result.accounts.isEmpty)
        }
        #expect(await phone.client.localData.accounts.map(\.username) == ["alice", "bob"])
    }
}

extension Sequence where Element == UInt8 {
    /// Whether the bytes are in here, one after the other.
    fileprivate func contains(_ part: [UInt8]) -> Bool {
        let all = Array(self)
        return all.count >= part.count
            && (0...(all.count - part.count)).contains { all[$0..<($0 + part.count)].elementsEqual(part) }
    }
}
