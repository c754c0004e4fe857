import Ceremony
import CeremonyEngine
import Crypto
import Push
import Records
import Settings
import Synchronization
import Testing
import _Primitives

@Suite("Dispatchers of push services: decisions 110 and 116; operations parity 81")
struct PushDispatcherTests {
    private let clock = MovedClock()
    private let device = PushedDevice()
    private let events = NotedEvents()

    /// A service that answers by a function. The text before the first colon of a target names the service.
    private struct Scripted: PushProvider {
        static let name = "scripted"
        let answer: @Sendable (PushContent, String) async throws -> PushAnswer

        func service(of target: String) -> String? { target.split(separator: ":").first.map(String.init) }
        func push(_ content: PushContent, to target: String, at now: Timestamp) async throws -> PushAnswer {
            try await self.answer(content, target)
        }
    }

    private func dispatcher(
        _ targets: OneTarget, _ answer: @escaping @Sendable (PushContent, String) async throws -> PushAnswer
    ) -> PushDispatcher<Scripted> {
        PushDispatcher(Scripted(answer: answer), targets: targets, time: self.clock.source, report: self.events.note)
    }

    private func target(
        _ address: String? = "a:1", of account: String = "account-1",
        changedAt: Timestamp = Timestamp(seconds: 1_800_000_000)
    ) throws -> DispatchTargetRecord {
        try self.device.target("scripted", address, of: account, changedAt: changedAt)
    }

    private func message(_ dispatcher: PushDispatcher<Scripted>, _ record: DispatchTargetRecord) async throws
        -> DispatchMessage
    {
        let operation = try PushedDevice.operation(until: self.clock.now + .seconds(60))
        guard case .message(let message) = try await dispatcher.delivery(of: operation, to: record) else {
            throw DeliveryError("no message", nextTry: .never)
        }
        return message
    }

    private func nextTry(_ dispatcher: PushDispatcher<Scripted>, _ message: DispatchMessage) async
        -> DeliveryError.NextTry?
    {
        do {
            try await dispatcher.deliver(message)
            return nil
        } catch { return (error as? DeliveryError)?.nextTry }
    }

    private var kinds: [PushEvent.Kind] { self.events.all.map(\.kind) }

    @Test("the four dispatchers have the names of the interface, need a target and take no data of back ends")
    func names() throws {
        let targets = OneTarget(nil)
        let account = try ServiceAccount(file: try PushCredentials.serviceAccountFile())
        let key = P256.Signing.PrivateKey()
        let credential = try APNsCredential(key: key, keyID: "ABC123DEFG", team: "DEF123GHIJ")
        let webPush = try WebPush(key: key, contact: "mailto:push@example.com", calls: NotedCalls())
        let apns = APNs(credential, topic: "com.example.app", address: "https://apns.example", calls: NotedCalls())
        let all = try Dispatchers.standard
            .adding(PushDispatcher(apns, targets: targets))
            .adding(PushDispatcher(FCM(account, calls: NotedCalls()), targets: targets))
            .adding(PushDispatcher(webPush, targets: targets))
            .adding(PushDispatcher(UnifiedPush(identification: nil, calls: NotedCalls()), targets: targets))
        #expect(
            all.names.suffix(4)
                == ["apple-push-notification-service", "firebase-cloud-messaging", "web-push", "unified-push"])
        #expect(all.haveTargets)
        #expect(!all.takeInformation)
    }

    @Test("a device of another dispatcher is no target; one without address, form or wish receives nothing any more")
    func targets() async throws {
        let targets = OneTarget(nil)
        let dispatcher = self.dispatcher(targets) { _, _ in .delivered }
        let operation = try PushedDevice.operation(until: self.clock.now + .seconds(60))
        for name in [nil, "other"] {
            let other = try self.device.target(name, "a:1")
            #expect(try await dispatcher.delivery(of: operation, to: other) == .targetNotFound)
        }
        #expect(try await dispatcher.delivery(of: operation, to: try self.target(nil)) == .targetExpired)
        #expect(try await dispatcher.delivery(of: operation, to: try self.target("")) == .targetExpired)
        var unwilling = try self.target()
        unwilling.isPushWanted = false
        #expect(try await dispatcher.delivery(of: operation, to: unwilling) == .targetExpired)
    }

    @Test("the message is encrypted to the device's key; without a key the message says that something waits, no more")
    func contents() async throws {
        let targets = OneTarget(try self.target())
        let got = Mutex<[JSONObject]>([])
        let dispatcher = self.dispatcher(targets) { content, _ in
            got.withLock { $0.append(content.members) }
            return .delivered
        }
        let encrypted = try await self.message(dispatcher, try self.target())
        #expect(encrypted.target == "device-1")
        var keyless = try self.target()
        keyless.encryptionKey = nil
        let plain = try await self.message(dispatcher, keyless)
        for message in [encrypted, plain] {
            let text = String(decoding: message.content, as: UTF8.self)
            for secret in PushedDevice.secrets { #expect(!text.contains(secret), "\(secret)") }
            try await dispatcher.deliver(message)
        }
        let members = got.withLock { $0 }
        let opened = try self.device.open(try #require(members.first))
        #expect(opened.redeemData.token == PushedDevice.secrets[0])
        #expect(members.last == ["nma_data_version": .string("1")])
        #expect(self.kinds == [.delivered, .delivered])
    }

    @Test("the target is looked up at each try: a device that has changed its address is reached at the new one")
    func changedAddress() async throws {
        let targets = OneTarget(try self.target())
        let reached = Mutex<[String]>([])
        let dispatcher = self.dispatcher(targets) { _, target in
            reached.withLock { $0.append(target) }
            return .wait(until: nil)
        }
        let message = try await self.message(dispatcher, try self.target())
        #expect(await self.nextTry(dispatcher, message) == .asUsual)
        targets.replace(by: try self.target("a:2"))
        #expect(await self.nextTry(dispatcher, message) == .asUsual)
        #expect(reached.withLock { $0 } == ["a:1", "a:2"])
    }

    @Test("a message is dropped without a call if it is over, or if the device is gone or is no target any more")
    func dropped() async throws {
        let targets = OneTarget(try self.target())
        let calls = Mutex(0)
        let dispatcher = self.dispatcher(targets) { _, _ in
            calls.withLock { $0 += 1 }
            return .delivered
        }
        let message = try await self.message(dispatcher, try self.target())
        var unwilling = try self.target()
        unwilling.isPushWanted = false
        for record in [nil, unwilling, try self.device.target("other", "a:1"), try self.target(nil)] {
            targets.replace(by: record)
            #expect(await self.nextTry(dispatcher, message) == .never)
        }
        targets.replace(by: try self.target())
        self.clock.advance(by: .seconds(60))
        #expect(await self.nextTry(dispatcher, message) == .never)
        #expect(calls.withLock { $0 } == 0)
        #expect(self.kinds == Array(repeating: .dropped, count: 5))
    }

    @Test("410 ends the target with an entry of the trail; a target that was changed later stays and is tried")
    func ended() async throws {
        let targets = OneTarget(try self.target())
        let moment = Timestamp(seconds: 1_850_000_000)
        let dispatcher = self.dispatcher(targets) { _, _ in .targetEnded(unlessChangedAfter: moment) }
        let message = try await self.message(dispatcher, try self.target())
        targets.replace(by: try self.target(changedAt: moment + .milliseconds(1)))
        #expect(await self.nextTry(dispatcher, message) == .asUsual)
        #expect(targets.current?.address == "a:1" && targets.events.isEmpty)
        targets.replace(by: try self.target(changedAt: moment))
        #expect(await self.nextTry(dispatcher, message) == .never)
        #expect(targets.current?.address == nil && targets.current?.dispatcher == nil)
        let event = try #require(targets.events.first)
        #expect(event.kind.rawValue == "dispatch-target-ended" && event.detail == "scripted")
        #expect(event.accountID == "account-1" && event.at == self.clock.now)
        #expect(self.kinds == [.waiting, .targetEnded])
    }

    @Test("an answer that asks to wait is obeyed, and no answer is tried again as usual")
    func waits() async throws {
        let targets = OneTarget(try self.target())
        let moment = self.clock.now + .seconds(17)
        let answers = Mutex<[Result<PushAnswer, PushCallError>]>([
            .success(.wait(until: moment)), .success(.wait(until: nil)), .failure(PushCallError("no answer")),
        ])
        let dispatcher = self.dispatcher(targets) { _, _ in try answers.withLock { $0.removeFirst() }.get() }
        let message = try await self.message(dispatcher, try self.target())
        #expect(await self.nextTry(dispatcher, message) == .notBefore(moment))
        #expect(await self.nextTry(dispatcher, message) == .asUsual)
        #expect(await self.nextTry(dispatcher, message) == .asUsual)
        #expect(targets.current?.address == "a:1")
    }

    @Test("a refused credential stops the dispatcher: no call, no ended target, and back ends are told at once")
    func stopped() async throws {
        let targets = OneTarget(try self.target())
        let answer = Mutex(PushAnswer.dispatcherStopped("InvalidProviderToken"))
        let calls = Mutex(0)
        let dispatcher = self.dispatcher(targets) { _, _ in
            calls.withLock { $0 += 1 }
            return answer.withLock { $0 }
        }
        let message = try await self.message(dispatcher, try self.target())
        #expect(await self.nextTry(dispatcher, message) == .asUsual)
        #expect(dispatcher.stoppedServices == 1)
        #expect(await self.nextTry(dispatcher, message) == .asUsual)
        let operation = try PushedDevice.operation(until: self.clock.now + .seconds(60))
        await #expect(throws: DeliveryError.self) {
            _ = try await dispatcher.delivery(of: operation, to: try self.target())
        }
        #expect(calls.withLock { $0 } == 1)
        #expect(targets.current?.address == "a:1")
        #expect(self.kinds == [.stopped, .held, .held])
        // The operator has mended the cause at the service.
        answer.withLock { $0 = .delivered }
        self.clock.advance(by: Limits.Push().stoppedPause)
        let next = try await self.message(dispatcher, try self.target())
        #expect(await self.nextTry(dispatcher, next) == nil)
        #expect(dispatcher.stoppedServices == 0)
    }

    @Test("one wrong setting ends no target: without a recent success bad tokens of three accounts stop the dispatcher")
    func wrongSetting() async throws {
        let targets = OneTarget(nil)
        let answer = Mutex(PushAnswer.targetRefused("BadDeviceToken"))
        let calls = Mutex(0)
        let dispatcher = self.dispatcher(targets) { _, _ in
            calls.withLock { $0 += 1 }
            return answer.withLock { $0 }
        }
        func push(to account: String) async throws -> DeliveryError.NextTry? {
            targets.replace(by: try self.target(of: account))
            return await self.nextTry(dispatcher, try await self.message(dispatcher, try self.target(of: account)))
        }
        for account in ["one", "one", "one", "two", "two"] {
            #expect(try await push(to: account) == .never)
            #expect(targets.current?.address == "a:1" && dispatcher.stoppedServices == 0)
        }
        #expect(try await push(to: "three") == .asUsual)
        #expect(targets.current?.address == "a:1" && dispatcher.stoppedServices == 1)
        #expect(self.kinds == Array(repeating: .dropped, count: 5) + [.stopped])
        #expect(targets.events.isEmpty && calls.withLock { $0 } == 6)
        // The operator has mended the setting: a success lets a refused target end again.
        self.clock.advance(by: Limits.Push().stoppedPause)
        answer.withLock { $0 = .delivered }
        #expect(try await push(to: "two") == nil)
        answer.withLock { $0 = .targetRefused("BadDeviceToken") }
        #expect(try await push(to: "one") == .never)
        #expect(targets.current?.address == nil && dispatcher.stoppedServices == 0)
    }

    @Test("one person with an address that a push service refuses does not stop the pushes of the others")
    func oneRefusedPerson() async throws {
        let targets = OneTarget(nil)
        let dispatcher = self.dispatcher(targets) { _, target in
            target.hasSuffix("bogus") ? .targetRefused("status 403") : .delivered
        }
        for number in 0..<20 {
            let record = try self.target("a:\(number)-bogus", of: "attacker")
            targets.replace(by: record)
            #expect(await self.nextTry(dispatcher, try await self.message(dispatcher, record)) == .never)
        }
        let other = try self.target("a:1", of: "bystander")
        targets.replace(by: other)
        #expect(await self.nextTry(dispatcher, try await self.message(dispatcher, other)) == nil)
        #expect(dispatcher.stoppedServices == 0 && targets.events.isEmpty)
    }

    @Test("a push service that refuses this server stops itself alone: another service gets its messages")
    func oneServiceOfMany() async throws {
        let targets = OneTarget(try self.target("bad:1"))
        let dispatcher = self.dispatcher(targets) { _, target in
            target.hasPrefix("bad") ? .dispatcherStopped("status 403") : .delivered
        }
        let first = try await self.message(dispatcher, try self.target("bad:1"))
        #expect(await self.nextTry(dispatcher, first) == .asUsual)
        targets.replace(by: try self.target("good:1"))
        let second = try await self.message(dispatcher, try self.target("good:1"))
        #expect(await self.nextTry(dispatcher, second) == nil)
        #expect(dispatcher.stoppedServices == 1)
    }

    @Test("a subscription that was made with another key ends alone, beside a success: the push service goes on")
    func oneSubscriptionOfMany() async throws {
        let (targets, now) = (OneTarget(try self.target()), self.clock.now)
        let dispatcher = self.dispatcher(targets) { _, target in
            let response = PushResponse(status: target.hasSuffix("1") ? 201 : 403)
            return WebPush.answer(response, at: now, limits: Limits.Push())
        }
        let first = try await self.message(dispatcher, try self.target())
        #expect(await self.nextTry(dispatcher, first) == nil)
        targets.replace(by: try self.target("a:2"))
        let second = try await self.message(dispatcher, try self.target("a:2"))
        #expect(await self.nextTry(dispatcher, second) == .never)
        #expect(targets.current?.address == nil && dispatcher.stoppedServices == 0)
        targets.replace(by: try self.target())
        let third = try await self.message(dispatcher, try self.target())
        #expect(await self.nextTry(dispatcher, third) == nil)
    }

    @Test("a message that the service refuses is dropped")
    func refusedMessage() async throws {
        let targets = OneTarget(try self.target())
        let dispatcher = self.dispatcher(targets) { _, _ in .messageRefused("PayloadTooLarge") }
        let message = try await self.message(dispatcher, try self.target())
        #expect(await self.nextTry(dispatcher, message) == .never)
        #expect(targets.current?.address == "a:1" && dispatcher.stoppedServices == 0)
    }
}
