import Accounts
import Ceremony
import CeremonyEngine
import Records
import SQLStore
import Sealing
import Settings
import Testing
import UAF
import _Primitives

/// Takes each message to a device, and sends nothing.
private struct QuietPush: DeviceDispatcher {
    let name = "quiet"

    func dispatcherInformation(for operation: DispatchedOperation) -> DispatcherInformation { DispatcherInformation() }

    func delivery(of operation: DispatchedOperation, to device: DispatchTargetRecord) -> DispatchDelivery {
        .message(DispatchMessage(target: device.deviceID, content: [1]))
    }

    func deliver(_ message: DispatchMessage) {}
}

@Suite("Operations parity 94 and decision 125: pushes to a person since the person's last success")
struct PushBudgetTests {
    /// A server with alice, whose phone speaks for itself and is reached by pushes.
    private struct Scene {
        static let shop = DispatchingClient(id: "shop", name: "Shop", origin: nil, mayDeregister: false)

        let server: TestServer
        let account: AccountRecord
        let phone: TestPhone
        let device = TestDevice()

        /// The budgets of a client's dispatches are large, so that they refuse none of a test's dispatches.
        private static func adjust(_ configuration: inout CeremonyConfiguration) {
            configuration.limits.personDispatchBurst = 20_000
            configuration.limits.dispatchBurst = 20_000
        }

        init(keys: KeyRing? = nil, _ push: @Sendable (inout Limits.Push) -> Void = { _ in }) async throws {
            self.server = try TestServer(keys: keys, dispatchers: try Dispatchers.standard.adding(QuietPush())) {
                Self.adjust(&$0)
                push(&$0.limits.push)
            }
            self.account = try await self.server.directory.create(username: "alice", displayName: nil, by: "test")
            self.phone = try TestPhone()
            let (engine, device) = (self.server.engine, self.device)
            let link = try await engine.enrolments.createEnrolmentLink(username: "alice", by: "test")
            let request = try await engine.redemptions.redeem(
                token: try TestPhone.token(link.link), operation: .registration)
            let answer = try await engine.registrationAnswers.judge(
                try self.phone.register(request) { [try device.announcement($0)] })
            _ = try await engine.enrolments.confirmEnrolment(
                id: link.id, number: try #require(answer.confirmation?.number), by: "test")
            try await self.server.database.changeDispatchTarget(
                DispatchTargetChange(
                    deviceID: try await self.server.device(of: self.account).deviceID, accountID: self.account.id,
                    dispatcher: .changed(to: "quiet"), address: .changed(to: "pocket"),
                    audit: AuditEvent(AuditEvent.Kind(rawValue: "test"), at: self.server.clock.now)))
        }

        /// The same scene at the server after a restart.
        private init(_ former: Scene, keys: KeyRing) throws {
            self.server = try TestServer(
                restarting: former.server, keys: keys, dispatchers: try Dispatchers.standard.adding(QuietPush()),
                Self.adjust)
            (self.account, self.phone) = (former.account, former.phone)
        }

        func restarted(keys: KeyRing) async throws -> Scene {
            await self.server.database.close()
            return try Scene(self, keys: keys)
        }

        func subject(at client: DispatchingClient) -> String { "\(client.id)|\(self.account.id)" }

        func target(of client: DispatchingClient) async throws -> String {
            try #require(
                try await self.server.engine.dispatchTargets.list(
                    ofSubject: self.subject(at: client), client: client, withNames: false
                ).first
            ).id
        }

        /// Dispatches to the phone.
        @discardableResult
        func push(by other: DispatchingClient? = nil, to target: String? = nil) async throws -> DispatchAnswer {
            let client = other ?? self.server.bank
            let known: String
            if let target { known = target } else { known = try await self.target(of: client) }
            return try await self.server.engine.dispatches.dispatch(
                DispatchRequest(
                    dispatcher: "quiet", target: known, operation: .authentication,
                    context: ["subject": .string(self.subject(at: client))]), client: client)
        }

        /// The number of messages to devices since the start.
        func messages() async throws -> Int {
            try await self.server.database.waitingMessages(to: .device).count
        }

        /// The clients and the budgets of the events.
        func events() async throws -> [String] {
            try await self.server.database.auditEntries(after: 0, limit: 1000).map(\.event).filter {
                $0.kind == .pushBudgetUsedUp
            }.map { event in
                #expect(event.accountID == self.account.id && event.ceremonyID != nil)
                return "\(event.actor ?? "") \(event.detail ?? "")"
            }
        }

        /// The dispatchers of the operations that the phone finds when its app is opened by hand.
        func waiting() async throws -> [String?] {
            let engine = self.server.engine
            let prover = try await engine.deviceProofs.prover(
                of: try self.device.call(at: self.server.clock.now))
            return try await engine.deviceOperations.pending(for: prover).map(\.dispatcher)
        }

        /// Signs in by a QR code.
        func scan(counter: UInt32) async throws -> UAFStatusCode {
            let engine = self.server.engine
            let code = try await engine.dispatches.dispatch(
                DispatchRequest(
                    dispatcher: "png-qr-code", operation: .authentication,
                    context: ["subject": .string(self.subject(at: self.server.bank))]), client: self.server.bank)
            let request = try await engine.redemptions.redeem(
                token: try #require(code.token), operation: .authentication)
            return try await engine.authenticationAnswers.judge(
                try self.phone.authenticate(request, counter: counter)
            ).response.statusCode
        }
    }

    @Test("Of 10,000 dispatches of a client to a person none is pushed past the budget, and the QR code works")
    func tenThousand() async throws {
        let scene = try await Scene()
        let target = try await scene.target(of: scene.server.bank)
        var pushed: [Int] = []
        for _ in 0..<20 {
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<500 {
                    group.addTask {
                        let answer = try await scene.push(to: target)
                        return answer.result == .dispatched && answer.sessionID != nil && answer.token == nil
                            && answer.number != nil
                    }
                }
                for try await isUsual in group where !isUsual { Issue.record("an answer that is not the usual one") }
            }
            pushed.append(try await scene.messages())
            scene.server.clock.advance(.seconds(500))
        }
        // 3 in 10 minutes, and 10 a day.
        #expect(pushed == [3, 3, 6, 6, 9, 9] + [Int](repeating: 10, count: 14))
        #expect(
            try await scene.events() == ["bank requester", "bank requester", "bank requester", "bank requester-day"])
        try await scene.push(to: target)
        #expect(try await scene.waiting() == ["quiet"], "the app that is opened by hand finds the operation")
        #expect(try await scene.messages() == 10)
        #expect(try await scene.scan(counter: 2) == .ok)
        try await scene.push(to: target)
        #expect(try await scene.messages() == 11, "the success forgives the pushes before")
    }

    @Test("A client's budget is its own, and the budget of the person is all clients'")
    func requesters() async throws {
        let scene = try await Scene { $0.pushesPerPerson = 5 }
        for _ in 0..<4 { try await scene.push() }
        #expect(try await scene.messages() == 3)
        for _ in 0..<4 { #expect(try await scene.push(by: Scene.shop).result == .dispatched) }
        #expect(try await scene.messages() == 5)
        #expect(try await scene.events() == ["bank requester", "shop person"])
    }

    @Test("A message counts for ten minutes, and for a day")
    func times() async throws {
        let scene = try await Scene { ($0.pushesPerRequester, $0.pushesPerPersonDay) = (1, 2) }
        func push(after time: Duration) async throws -> Int {
            scene.server.clock.advance(time)
            try await scene.push()
            return try await scene.messages()
        }
        #expect(try await push(after: .zero) == 1)
        #expect(try await push(after: .seconds(599)) == 1)
        #expect(try await push(after: .seconds(1)) == 2)
        #expect(try await push(after: .seconds(23 * 3600 + 49 * 60 + 59)) == 2)
        #expect(try await push(after: .seconds(1)) == 3, "the first message is a day old")
        #expect(try await scene.events() == ["bank requester", "bank person-day"])
        try await scene.server.engine.sweep.run()
        let left = try await scene.messages()
        #expect(try await push(after: .zero) == left, "the sweep forgets no message that counts")
        scene.server.clock.advance(.seconds(86_401))
        try await scene.server.engine.sweep.run()
        let kept = try await scene.server.database.deletePushCounts(before: scene.server.clock.now, limit: 99)
        #expect(kept == 0, "and every other message")
    }

    @Test("The person's success forgives, and a wrong answer and another person's success do not")
    func success() async throws {
        let scene = try await Scene()
        for _ in 0..<4 { try await scene.push() }
        let (bob, phone) = try await scene.server.enrol("bob")
        let question = try await scene.server.dispatch("Pay 1 EUR", to: bob)
        let others = try await scene.server.engine.redemptions.redeem(
            token: try #require(question.token), operation: .authentication)
        #expect(
            try await scene.server.engine.authenticationAnswers.judge(try phone.authenticate(others, counter: 2))
                .response.statusCode == .ok)
        #expect(try await scene.scan(counter: 0) != .ok, "a counter that goes back")
        try await scene.push()
        #expect(try await scene.messages() == 3)
        let request = try await scene.server.engine.requests.authentication(username: "alice", source: "a")
        let answer = try await scene.server.engine.authenticationAnswers.judge(
            try scene.phone.authenticate(request, counter: 2))
        #expect(answer.response.statusCode == .ok)
        for _ in 0..<4 { try await scene.push() }
        #expect(try await scene.messages() == 6)
        #expect(try await scene.events() == ["bank requester"], "one event of a budget in its time")
    }

    @Test("A restart forgets no message, and neither does another node")
    func durable() async throws {
        let keys = KeyRing(KeyEncryptionKey())
        let scene = try await Scene(keys: keys)
        for _ in 0..<4 { try await scene.push() }
        let again = try await scene.restarted(keys: keys)
        for _ in 0..<4 { #expect(try await again.push().result == .dispatched) }
        #expect(try await again.messages() == 3)
        #expect(try await again.events() == ["bank requester"])
    }

    @Test("A stream of the device is woken by a message alone")
    func streams() async throws {
        let scene = try await Scene { $0.pushesPerRequester = 1 }
        let engine = scene.server.engine
        func events() async throws -> CeremonyEvents<DeviceStreamState>.Iterator {
            let prover = try await engine.deviceProofs.prover(
                of: try scene.device.call(at: scene.server.clock.now))
            return try await engine.deviceOperations.events(for: prover).makeAsyncIterator()
        }
        func count(_ state: DeviceStreamState?) -> Int? {
            guard case .operations(let operations)? = state else { return nil }
            return operations.count
        }
        var stream = try await events()
        #expect(count(try await stream.next()) == 0)
        try await scene.push()
        #expect(count(try await stream.next()) == 1)
        try await scene.push()
        // The trail's entry of the used budget may wake the stream.
        _ = try await stream.next(patience: .seconds(2))
        try await scene.push()
        #expect(try await stream.next(patience: .seconds(1)) == .quiet)
        var later = try await events()
        #expect(count(try await later.next()) == 3)
    }
}
