import Accounts
import Ceremony
import CeremonyEngine
import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import FreshStores
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JOSE
import NIOCore
import OAuthProvider
import Records
import SQLStore
import Settings
import Synchronization
import Testing
import UAF
import _Primitives

/// Notes the encryption keys that phones announce when they are enrolled.
private final class AnnouncedKeys: Transport {
    private let next: any Transport
    private let keys = Mutex<[JWK]>([])

    var last: JWK? { self.keys.withLock { $0.last } }

    init(before next: any Transport) { self.next = next }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        if request.url.path().hasSuffix("/uaf/1.1/registration/") {
            let response = try RegistrationResponse(
                parsing: try SendUAFResponse(parsing: request.body).uafResponse.utf8)
            let extensions = try response.assertions.flatMap {
                try RegistrationAssertion(parsing: $0.bytes).keyRegistrationData.extensions
            }
            if let told = try DeviceKeyAnnouncement(
                among: extensions, finalChallengeHash: FinalChallengeParams.hash(ofEncoded: response.fcParams))
            {
                let (x, y) = (Array(told.encryptionKey[1..<33]), Array(told.encryptionKey[33...]))
                let key = try JWK(.p256(x: x, y: y, d: nil))
                self.keys.withLock { $0.append(key) }
            }
        }
        return try await self.next.send(request)
    }
}

@Suite("Operations parity 79, 82 and decision 110: dispatchers of another program, registered without a server change")
struct OtherDispatcherTests {
    /// A server with two dispatchers more, a client that knows alice, and alice's phone at the courier.
    private final class Stage: Sendable {
        let server: ServerFixture
        let courier: CourierDispatcher
        let party: RelyingParty
        let phone: VirtualPhone
        let account: String
        let subject: String
        /// The key of the phone for encrypted payloads.
        let encryptionKey: JWK
        let client: any TestClientProtocol

        init(
            _ server: ServerFixture, _ courier: CourierDispatcher, _ client: any TestClientProtocol
        ) async throws {
            self.server = server
            self.courier = courier
            self.client = client
            self.party = try await server.relyingParty(mayDeregister: true)
            var announced: AnnouncedKeys?
            self.phone = try await server.enrolledPhone(client) { next in
                let keys = AnnouncedKeys(before: next)
                announced = keys
                return keys
            }
            self.encryptionKey = try #require(announced?.last)
            try await server.signInTwice(TestBrowser(client), self.party, self.phone)
            self.phone.person.forget()
            let account = try await server.assembly.directory.account(username: "alice").id
            self.account = account
            self.subject = server.assembly.provider.keys.subject(ofAccount: account, client: self.party.id)
            courier.add(.init(accountID: account), as: "phone-1")
            courier.add(.init(accountID: account, isExpired: true), as: "phone-of-last-year")
            courier.add(.init(accountID: "somebody"), as: "phone-of-somebody")
        }

        /// Dispatches to alice unless a context is given.
        func dispatch(
            _ dispatcher: String, _ more: JSONObject = [:], operation: String = "authentication",
            context: JSONObject? = nil
        ) async throws -> (response: TestResponse, object: JSONObject) {
            let context = context ?? ["subject": .string(self.subject)]
            var body: JSONObject = [
                "dispatcher": .string(dispatcher),
                "getUafRequest": .object(["context": .string(JSON.object(context).text)]),
            ]
            for member in more.members { body[member.name] = member.value }
            return try await self.client.send(
                .post, "/token/dispatch/\(operation)", body, headers: [.authorization: self.party.authorization])
        }

        /// Alice approves, and types the number that the back end shows.
        func approve(_ payload: OutOfBandPayload, of answer: JSONObject) async throws {
            self.phone.person.script.numbers = [try answer.requiredString("number")]
            _ = try await self.phone.authenticate(payload)
        }

        /// Deletes alice's devices: she has no key afterwards.
        func deleteDevices() async throws {
            let directory = self.server.assembly.directory
            for device in try await directory.devices(username: "alice") {
                try await directory.deleteDevice(id: device.id, by: "test")
            }
        }

        /// What sends to devices with calls whose lease is counted by the moved clock.
        func clockedOutbox() -> Outbox {
            let clock = self.server.clock
            return Outbox(
                self.server.assembly.ceremonies.dispatches.outboxEntry(sleep: { try await clock.sleep(for: $0) }),
                store: self.server.database, time: clock.timeSource)
        }

        /// Delivers what is due, as a node does.
        @discardableResult func deliver() async throws -> [OutboxResult] {
            let outbox = try self.server.outbox(.device)
            var results: [OutboxResult] = []
            for message in try await outbox.takeDue() { results.append(try await outbox.deliver(message)) }
            return results
        }

        /// The target, the greeting and the payload's text of the last message.
        func lastText() throws -> (target: String, greeting: String, json: String) {
            let message = try #require(self.courier.messages.last)
            let lines = String(decoding: message.content, as: UTF8.self).split(separator: "\n", maxSplits: 1)
            return (message.target, String(lines[0]), String(try #require(lines.last)))
        }

        /// The target, the greeting and the plain payload of the last message.
        func lastMessage() throws -> (target: String, greeting: String, payload: OutOfBandPayload) {
            let (target, greeting, json) = try self.lastText()
            return (target, greeting, try OutOfBandPayload(json: json))
        }

        func status(of answer: JSONObject) async throws -> String {
            try await self.client.send(
                .post, "/status", ["sessionId": .string(try answer.requiredString("sessionId"))],
                headers: [.authorization: self.party.authorization]
            ).object.requiredString("status")
        }
    }

    private static func server(_ courier: CourierDispatcher = CourierDispatcher()) async throws -> ServerFixture {
        let dispatchers = try Dispatchers.standard.adding(SpokenLinkDispatcher()).adding(courier)
        return try await ServerFixture(limits: Self.limits, configure: { $0.dispatchers = dispatchers })
    }

    /// The limits with budgets of pushes that refuse none of a test's messages.
    private static let limits: Limits = {
        var limits = Limits()
        (limits.push.pushesPerRequester, limits.push.pushesPerRequesterDay) = (1000, 1000)
        (limits.push.pushesPerPerson, limits.push.pushesPerPersonDay) = (1000, 1000)
        return limits
    }()

    private func withStage(_ body: @Sendable (Stage) async throws -> Void) async throws {
        let courier = CourierDispatcher()
        let server = try await Self.server(courier)
        try await server.withPublicClient { try await body(try await Stage(server, courier, $0)) }
    }

    @Test("A dispatcher with targets delivers to the phone that the back end names, and the phone answers")
    func targeted() async throws {
        try await self.withStage { stage in
            let (response, answer) = try await stage.dispatch(
                "courier",
                [
                    "dispatchTargetId": .string("phone-1"),
                    "dispatchInformation": .object(["greeting": .string("Good morning")]),
                ])
            #expect(response.status == .ok && answer["dispatchResult"] == .string("dispatched"))
            let information = try answer.requiredObject("dispatcherInformation")
            #expect(information["name"] == .string("courier"))
            let end = stage.server.clock.now() + stage.server.assembly.configuration.limits.dispatchLifetime
            #expect(information["response"] == .string("on its way until \(end)"))
            #expect(answer["link"] == nil && answer["qrCodeSvg"] == nil)
            #expect(stage.courier.messages.isEmpty, "the back end does not wait for the courier")
            #expect(try await stage.deliver() == [.delivered])
            let message = try stage.lastMessage()
            #expect(message.target == "phone-1" && message.greeting == "Good morning")
            #expect(message.payload.redeemData.token == (try answer.requiredString("token")))
            try await stage.approve(message.payload, of: answer)
            #expect(try await stage.status(of: answer) == "succeeded")
            #expect(stage.courier.messages.count == 1)
        }
    }

    @Test("Operations parity 91: a sign-in that a device is asked for needs the number, and a code does not")
    func number() async throws {
        try await self.withStage { stage in
            let target: JSONObject = ["dispatchTargetId": .string("phone-1")]
            let (_, wrong) = try await stage.dispatch("courier", target)
            let number = try wrong.requiredString("number")
            #expect(number.utf8.count == 6 && number.utf8.allSatisfy { (0x30...0x39).contains($0) })
            try await stage.deliver()
            stage.phone.person.script.numbers = [number == "123456" ? "654321" : "123456"]
            let payload = try stage.lastMessage().payload
            await #expect(throws: OperationError(.wrongNumber)) { try await stage.phone.authenticate(payload) }
            #expect(try await stage.status(of: wrong) == "failed")
            #expect(try await stage.server.auditEvents(AuditEvent.Kind(rawValue: "wrong-number")).count == 1)

            let (_, right) = try await stage.dispatch("courier", target)
            try await stage.deliver()
            try await stage.approve(try stage.lastMessage().payload, of: right)
            #expect(try await stage.status(of: right) == "succeeded")

            let (_, link) = try await stage.dispatch("spoken-link")
            #expect(link["number"] == nil)
            // A transaction's signed result goes to its back end, which has not asked for numbers.
            let text = Transaction(content: Array("Pay 5 EUR".utf8))
            let (_, transaction) = try await stage.dispatch(
                "courier", target,
                context: ["subject": .string(stage.subject), "transaction": .array([.object(text.json)])])
            #expect(transaction["dispatchResult"] == .string("dispatched") && transaction["number"] == nil)
        }
    }

    @Test("A dispatcher encrypts the payload to the phone that it knows: no other phone reads the token")
    func encrypted() async throws {
        try await self.withStage { stage in
            stage.courier.add(.init(accountID: stage.account, encryptionKey: stage.encryptionKey), as: "sealed-phone")
            let (_, answer) = try await stage.dispatch("courier", ["dispatchTargetId": .string("sealed-phone")])
            #expect(answer["dispatchResult"] == .string("dispatched"))
            let token = try answer.requiredString("token")
            try await stage.deliver()
            let json = try stage.lastText().json
            #expect(!json.contains(token))
            let bob = try await stage.server.enrolledPhone(stage.client, username: "bob")
            await #expect(throws: OutOfBandPayloadError(.decryptionError, "")) {
                _ = try await bob.client.operations.outOfBandPayloadDecode.json(json).execute()
            }
            let payload = try await stage.phone.client.operations.outOfBandPayloadDecode.json(json).execute()
            #expect(payload.redeemData.token == token)
            try await stage.approve(payload, of: answer)
            #expect(try await stage.status(of: answer) == "succeeded")
        }
    }

    @Test("The phone is told the channel of the dispatcher, and takes a token of a device's channel from no link")
    func channel() async throws {
        try await self.withStage { stage in
            for (dispatcher, target, channel) in [
                ("courier", "phone-1", "device"), ("spoken-link", nil, "link"),
            ] {
                var more: JSONObject = [:]
                more["dispatchTargetId"] = target.map(JSON.string)
                let (_, answer) = try await stage.dispatch(dispatcher, more)
                let redeemed = try await stage.client.send(
                    .post, "/token/redeem/authentication", ["token": .string(try answer.requiredString("token"))])
                #expect(redeemed.object["dispatchChannel"] == .string(channel))
            }
            _ = try await stage.dispatch("courier", ["dispatchTargetId": .string("phone-1")])
            try await stage.deliver()
            let link = try stage.lastMessage().payload.link(base: "http://localhost:8080")
            await #expect(throws: (any Error).self) {
                try await stage.phone.authenticate(try OutOfBandPayload(link: link))
            }
        }
    }

    @Test("A dispatcher without targets gives its own answer beside the link, and the link works")
    func untargeted() async throws {
        try await self.withStage { stage in
            let (response, answer) = try await stage.dispatch("spoken-link")
            #expect(response.status == .ok && answer["dispatchResult"] == .string("dispatched"))
            let link = try answer.requiredString("link")
            let information = try answer.requiredObject("dispatcherInformation")
            #expect(information["name"] == .string("spoken-link") && information["response"] == .string("Open \(link)"))
            _ = try await stage.phone.authenticate(try OutOfBandPayload(link: link))
            #expect(try await stage.status(of: answer) == "succeeded")
        }
    }

    @Test("A deregistration goes by such a dispatcher too")
    func deregistration() async throws {
        try await self.withStage { stage in
            let (_, answer) = try await stage.dispatch(
                "courier", ["dispatchTargetId": .string("phone-1")], operation: "deregistration",
                context: ["subject": .string(stage.subject), "mode": .string("username")])
            #expect(answer["dispatchResult"] == .string("dispatched") && answer["transaction"] == nil)
            try await stage.deliver()
            let message = try stage.lastMessage()
            #expect(message.greeting == "Hello")
            #expect(message.payload.redeemData.redeemURL.path() == "/token/redeem/deregistration")
        }
    }

    @Test("A target that the person does not have, or no more, gets nothing and has its own result")
    func targets() async throws {
        try await self.withStage { stage in
            for (target, result) in [
                ("phone-2", "dispatchTargetNotFound"), ("", "dispatchTargetNotFound"),
                ("phone-of-somebody", "dispatchTargetNotFound"), ("phone-of-last-year", "dispatchTargetExpired"),
            ] {
                for (operation, mode) in [("authentication", nil), ("deregistration", "username")] {
                    var context: JSONObject = ["subject": .string(stage.subject)]
                    context["mode"] = mode.map(JSON.string)
                    let (response, answer) = try await stage.dispatch(
                        "courier", ["dispatchTargetId": .string(target)], operation: operation, context: context)
                    #expect(response.status == .ok && answer["dispatchResult"] == .string(result))
                    #expect(answer.members.count == 1)
                }
            }
            #expect(stage.courier.messages.isEmpty)
        }
    }

    @Test("A failed delivery is tried again, later each time, and the back end has its answer all the same")
    func failedDelivery() async throws {
        try await self.withStage { stage in
            stage.courier.breakDown()
            let (response, answer) = try await stage.dispatch("courier", ["dispatchTargetId": .string("phone-1")])
            #expect(response.status == .ok && answer["dispatchResult"] == .string("dispatched"))
            #expect(try await stage.deliver() == [.failed])
            for pause in [2, 4, 8] {
                stage.server.clock.advance(by: .seconds(pause) - .milliseconds(1))
                #expect(try await stage.deliver().isEmpty, "not before \(pause) s")
                stage.server.clock.advance(by: .milliseconds(1))
                #expect(try await stage.deliver() == [.failed])
            }
            stage.courier.breakDown(false)
            stage.server.clock.advance(by: .seconds(15))
            #expect(try await stage.deliver() == [.delivered])
            #expect(stage.courier.messages.count == 5)
            #expect(Set(stage.courier.messages.map(\.content)).count == 1, "the same message each time")
            try await stage.approve(try stage.lastMessage().payload, of: answer)
            #expect(try await stage.status(of: answer) == "succeeded")
        }
    }

    @Test("A delivery that fails until the token expires is given up, and the trail says so")
    func abandonedDelivery() async throws {
        try await self.withStage { stage in
            stage.courier.breakDown()
            let (_, answer) = try await stage.dispatch("courier", ["dispatchTargetId": .string("phone-1")])
            var results: [OutboxResult] = []
            for _ in 0..<60 {
                results += try await stage.deliver()
                stage.server.clock.advance(by: .seconds(1))
            }
            #expect(results == [.failed, .failed, .failed, .failed, .failed, .failed, .givenUp])
            #expect(try await stage.server.database.waitingMessages(to: .device).count == 0)
            let events = try await stage.server.auditEvents(AuditEvent.Kind(rawValue: "dispatch-undelivered"))
            #expect(events.map(\.actor) == [stage.party.id] && events.map(\.detail) == ["courier"])
            #expect(events.map(\.ceremonyID) == [try answer.requiredString("sessionId")])
        }
    }

    @Test("A call without an end is left behind when the lease is over, and counts as a failed try")
    func endlessCall() async throws {
        try await self.withStage { stage in
            let (outbox, lease) = (stage.clockedOutbox(), Limits().deviceMessageLease)
            stage.courier.stall()
            _ = try await stage.dispatch("courier", ["dispatchTargetId": .string("phone-1")])
            let first = try await outbox.takeDue()
            async let result = outbox.deliver(first[0])
            await stage.server.clock.untilSleeping()
            stage.server.clock.advance(by: lease - .milliseconds(1))
            #expect(stage.server.clock.sleepingCount == 1, "the call has its whole lease")
            stage.server.clock.advance(by: .milliseconds(1))
            #expect(try await result == .failed)
            stage.courier.goOn()
            stage.server.clock.advance(by: Limits().deviceMessageRetryPause)
            let again = try await outbox.takeDue()
            #expect(again.map(\.attempt) == [2])
            for message in again { #expect(try await outbox.deliver(message) == .delivered) }
        }
    }

    @Test("A stop of the node waits for no call of a dispatcher")
    func stopDuringCall() async throws {
        try await self.withStage { stage in
            let outbox = stage.clockedOutbox()
            stage.courier.stall()
            _ = try await stage.dispatch("courier", ["dispatchTargetId": .string("phone-1")])
            let first = try await outbox.takeDue()
            let running = Task { try await outbox.deliver(first[0]) }
            await stage.server.clock.untilSleeping()
            running.cancel()
            // A call that is waited for would end only with the courier's.
            #expect(try await running.value == .failed)
            stage.courier.goOn()
        }
    }

    @Test("A node does not take a message again that the node has under way, and another node takes the message")
    func messageUnderWay() async throws {
        try await self.withStage { stage in
            let (outbox, lease) = (stage.clockedOutbox(), Limits().deviceMessageLease)
            _ = try await stage.dispatch("courier", ["dispatchTargetId": .string("phone-1")])
            let first = try await outbox.takeDue()
            stage.server.clock.advance(by: lease)
            #expect(try await outbox.takeDue().isEmpty)
            stage.server.clock.advance(by: lease)
            #expect(try await stage.clockedOutbox().takeDue().map(\.number) == first.map(\.number))
        }
    }

    @Test("Undelivered dispatches are in the trail once an hour for each client, and in the log once a minute")
    func undeliveredEntries() async throws {
        try await self.withStage { stage in
            stage.courier.breakDown()
            let lines = LoggedLines()
            let outbox = try stage.server.outbox(.device, logger: lines.logger)
            func lose() async throws {
                for _ in 0..<3 { _ = try await stage.dispatch("courier", ["dispatchTargetId": .string("phone-1")]) }
                stage.server.clock.advance(by: Limits().dispatchLifetime)
                for message in try await outbox.takeDue() {
                    #expect(try await outbox.deliver(message) == .givenUp)
                }
            }
            func entries() async throws -> Int {
                try await stage.server.auditEvents(AuditEvent.Kind(rawValue: "dispatch-undelivered")).count
            }
            func logged() -> Int {
                lines.all.filter { $0.hasPrefix("A dispatcher did not deliver a message") }.count
            }
            try await lose()
            #expect(try await entries() == 1 && logged() == 1)
            try await lose()
            #expect(try await entries() == 1 && logged() == 2)
            stage.server.clock.advance(by: Limits.Fixed.undeliveredPause)
            try await lose()
            #expect(try await entries() == 2 && logged() == 3)
            #expect(stage.courier.messages.isEmpty, "a token that has expired is not sent")
        }
    }

    @Test("A message whose token expired before the sweep and before its turn is given up")
    func expiredBeforeItsTurn() async throws {
        try await self.withStage { stage in
            _ = try await stage.dispatch("courier", ["dispatchTargetId": .string("phone-1")])
            stage.server.clock.advance(by: Limits().dispatchLifetime)
            try await stage.server.assembly.ceremonies.sweep.run()
            #expect(try await stage.deliver() == [.givenUp])
            #expect(stage.courier.messages.isEmpty)
            #expect(
                try await stage.server.auditEvents(AuditEvent.Kind(rawValue: "dispatch-undelivered")).count == 1)
        }
    }

    @Test("The sweep deletes messages to devices that expired long ago")
    func sweptMessages() async throws {
        try await self.withStage { stage in
            _ = try await stage.dispatch("courier", ["dispatchTargetId": .string("phone-1")])
            let limits = Limits()
            stage.server.clock.advance(by: limits.dispatchLifetime + limits.endedRetention)
            try await stage.server.assembly.ceremonies.sweep.run()
            #expect(try await stage.server.database.waitingMessages(to: .device).count == 1)
            stage.server.clock.advance(by: .milliseconds(1))
            try await stage.server.assembly.ceremonies.sweep.run()
            #expect(try await stage.server.database.waitingMessages(to: .device).count == 0)
        }
    }

    @Test("A device is sent nothing after its account was locked")
    func lockedAccount() async throws {
        try await self.withStage { stage in
            _ = try await stage.dispatch("courier", ["dispatchTargetId": .string("phone-1")])
            let account = try await stage.server.assembly.directory.account(username: "alice").id
            try FreshStore.lock(account: account, in: stage.server.folder)
            #expect(try await stage.deliver() == [.delivered])
            #expect(stage.courier.messages.isEmpty)
            #expect(try await stage.server.database.waitingMessages(to: .device).count == 0)
        }
    }

    @Test("An account that is deleted while the dispatcher is asked is an unknown person, and nothing is written")
    func deletedMeanwhile() async throws {
        try await self.withStage { stage in
            let account = try await stage.server.assembly.directory.account(username: "alice").id
            let now = stage.server.clock.now()
            stage.server.hooks.atNext(.ceremonyCreation) { [database = stage.server.database] in
                _ = try await database.deleteAccount(
                    id: account, audit: AuditEvent(AuditEvent.Kind(rawValue: "test"), at: now))
            }
            let (response, answer) = try await stage.dispatch("courier", ["dispatchTargetId": .string("phone-1")])
            #expect(response.status == .ok && answer["dispatchResult"] == .string("userNotFound"))
            #expect(answer.members.count == 1)
            #expect(try await stage.server.database.waitingMessages(to: .device).count == 0)
        }
    }

    @Test("A client with many waiting messages holds up no other client at the same dispatcher")
    func clientsInTurn() async throws {
        try await self.withStage { stage in
            let other = try await stage.server.relyingParty()
            let now = stage.server.clock.now()
            let account = try await stage.server.assembly.directory.account(username: "alice").id
            func leave(_ id: String, by client: String) async throws {
                try await stage.server.database.createCeremony(
                    CeremonyRecord(
                        id: id, kind: .authentication, clientID: client, accountID: account, createdAt: now,
                        expiresAt: now + .seconds(60), detail: CeremonyDetail()), tokens: [],
                    message: DeviceMessageRecord(dispatcher: "courier", target: id, content: [1]), audit: nil)
            }
            let share = Limits().deviceMessagesAtOncePerDispatcher
            for number in 0..<share * 2 { try await leave("busy-\(number)", by: stage.party.id) }
            try await leave("other", by: other.id)
            let taken = try await stage.clockedOutbox().takeDue()
            #expect(taken.count == share && taken.prefix(2).map(\.name) == ["busy-0", "other"])
        }
    }

    @Test(
        "A QR code that cannot be drawn is the dispatcher's failure, and nothing is dispatched",
        arguments: [("", false), ("a\u{0}b", false), ("long", false), ("longest", true)])
    func undrawableCode(content: String, isDrawn: Bool) async throws {
        let longest = Limits.Fixed.qrCodeBytes
        let texts = [
            "long": String(repeating: "x", count: longest + 1), "longest": String(repeating: "x", count: longest),
        ]
        let dispatchers = try Dispatchers.standard.adding(PaintedDispatcher(content: texts[content] ?? content))
        let server = try await ServerFixture(configure: { $0.dispatchers = dispatchers })
        let party = try await server.relyingParty()
        try await server.withPublicClient { client in
            let work = try await server.hooks.work { () async throws in
                let (response, answer) = try await client.send(
                    .post, "/token/dispatch/authentication",
                    ["dispatcher": .string("painted"), "getUafRequest": .object(["context": .string("{}")])],
                    headers: [.authorization: party.authorization])
                #expect(response.status == .ok)
                #expect(answer["dispatchResult"] == .string(isDrawn ? "dispatched" : "internalError"))
                #expect((answer["qrCodeSvg"] != nil) == isDrawn)
            }
            #expect(work.steps.contains("ceremony.create") == isDrawn)
        }
    }

    @Test("The message of a ceremony that has ended, or whose token was redeemed, is dropped")
    func droppedMessages() async throws {
        try await self.withStage { stage in
            func dispatch() async throws -> JSONObject {
                try await stage.dispatch("courier", ["dispatchTargetId": .string("phone-1")]).object
            }
            let redeemed = try await dispatch()
            _ = try await stage.client.send(
                .post, "/token/redeem/authentication", ["token": .string(try redeemed.requiredString("token"))])
            #expect(try await stage.deliver() == [.delivered])
            let ended = try await dispatch()
            _ = try await stage.server.database.change(.id(try ended.requiredString("sessionId"))) { ceremony in
                ceremony.phase = .ended
                ceremony.outcome = .cancelled
                return CeremonyChange()
            }
            #expect(try await stage.deliver() == [.delivered])
            #expect(stage.courier.messages.isEmpty)
            #expect(try await stage.server.database.waitingMessages(to: .device).count == 0)
        }
    }

    @Test("A dispatcher that does not answer holds up its own targets, and the targets of no other dispatcher")
    func stalledDispatcher() async throws {
        let (courier, slow) = (CourierDispatcher(), CourierDispatcher(name: "slow-courier"))
        let server = try await ServerFixture(
            limits: Self.limits,
            configure: {
                $0.dispatchers = (try? Dispatchers.standard.adding(courier).adding(slow)) ?? .standard
            })
        try await server.withPublicClient { client in
            let stage = try await Stage(server, courier, client)
            let account = try await server.assembly.directory.account(username: "alice").id
            slow.add(.init(accountID: account), as: "phone-1")
            let share = Limits().deviceMessagesAtOncePerDispatcher
            for _ in 0..<share + 1 {
                let (_, answer) = try await stage.dispatch("slow-courier", ["dispatchTargetId": .string("phone-1")])
                #expect(answer["dispatchResult"] == .string("dispatched"))
            }
            let outbox = try server.outbox(.device)
            // These calls do not end.
            let stalled = try await outbox.takeDue()
            #expect(stalled.count == share && stalled.allSatisfy { $0.lane == "slow-courier" })
            _ = try await stage.dispatch("courier", ["dispatchTargetId": .string("phone-1")])
            let taken = try await outbox.takeDue()
            #expect(taken.map(\.lane) == ["courier"])
            for message in taken { #expect(try await outbox.deliver(message) == .delivered) }
            #expect(courier.messages.count == 1 && slow.messages.isEmpty)
            #expect(try await outbox.deliver(stalled[0]) == .delivered)
            #expect(try await outbox.takeDue().map(\.lane) == ["slow-courier"], "as soon as a place is free")
        }
    }

    @Test("A message of a dispatcher that the server no longer has is given up")
    func lostDispatcher() async throws {
        try await self.withStage { stage in
            let account = try await stage.server.assembly.directory.account(username: "alice").id
            let now = stage.server.clock.now()
            try await stage.server.database.createCeremony(
                CeremonyRecord(
                    id: "lost", kind: .authentication, clientID: stage.party.id, accountID: account, createdAt: now,
                    expiresAt: now + .seconds(60), detail: CeremonyDetail()), tokens: [],
                message: DeviceMessageRecord(dispatcher: "former-courier", target: "phone-1", content: [1]),
                audit: nil)
            #expect(try await stage.deliver() == [.givenUp])
            #expect(stage.courier.messages.isEmpty)
        }
    }

    @Test("The token of a waiting message is not to be read in the database")
    func sealedMessage() async throws {
        try await self.withStage { stage in
            let (_, answer) = try await stage.dispatch("courier", ["dispatchTargetId": .string("phone-1")])
            let token = try answer.requiredString("token")
            let folder = stage.server.folder
            var read = 0
            for file in try FileManager.default.subpathsOfDirectory(atPath: folder) {
                guard let bytes = FileManager.default.contents(atPath: "\(folder)/\(file)") else { continue }
                read += bytes.count
                #expect(bytes.range(of: Data(token.utf8)) == nil, "\(file)")
            }
            #expect(read > 0)
            #expect(try await stage.server.database.waitingMessages(to: .device).count == 1)
        }
    }

    @Test("A dispatcher that fails before it has made anything is the server's own error, and nothing is dispatched")
    func failedDispatcher() async throws {
        try await self.withStage { stage in
            stage.courier.forgetPhones()
            let (response, answer) = try await stage.dispatch("courier", ["dispatchTargetId": .string("phone-1")])
            #expect(response.status == .ok && answer["dispatchResult"] == .string("internalError"))
            #expect(answer.members.count == 1 && stage.courier.messages.isEmpty)
        }
    }

    @Test("A server with such a dispatcher produces all seven results")
    func everyResult() async throws {
        try await self.withStage { stage in
            func result(_ dispatcher: String, _ target: String? = nil, subject: String? = nil) async throws -> String {
                var more: JSONObject = [:]
                more["dispatchTargetId"] = target.map(JSON.string)
                let (response, answer) = try await stage.dispatch(
                    dispatcher, more, context: ["subject": .string(subject ?? stage.subject)])
                #expect(response.status == .ok)
                return try answer.requiredString("dispatchResult")
            }
            var results = [
                try await result("courier", "phone-1"), try await result("courier", "phone-of-last-year"),
                try await result("courier", "phone-2"), try await result("carrier-pigeon"),
                try await result("link", subject: "nobody"),
            ]
            stage.courier.forgetPhones()
            results.append(try await result("courier", "phone-1"))
            try await stage.deleteDevices()
            results.append(try await result("link"))
            #expect(
                results == [
                    "dispatched", "dispatchTargetExpired", "dispatchTargetNotFound", "dispatcherNotFound",
                    "userNotFound", "internalError", "dispatchError",
                ])
            #expect(Set(results) == Set(DispatchResult.allCases.map(\.rawValue)))
        }
    }

    @Test("A missing target or person, and a target or data that nobody takes, are refused with a sentence")
    func refusals() async throws {
        try await self.withStage { stage in
            let target: JSONObject = ["dispatchTargetId": .string("phone-1")]
            let nobody: JSONObject = [:]
            for (dispatcher, more, context, detail) in [
                ("courier", [:], nil, "no dispatchTargetId for a dispatcher that sends to a single device"),
                ("courier", target, nobody, "a dispatch to a device without the person whose device it is"),
                ("link", target, nil, "dispatchTargetId for a dispatcher that sends to no single device"),
                ("spoken-link", target, nil, "dispatchTargetId for a dispatcher that sends to no single device"),
                (
                    "link", ["dispatchInformation": .object([:])], nil,
                    "dispatchInformation for a dispatcher that takes none"
                ),
                (
                    "courier",
                    ["dispatchTargetId": .string("phone-1"), "dispatchInformation": .object(["data": .object([:])])],
                    nil,
                    "a courier takes a greeting and nothing else"
                ),
                (
                    "courier", ["dispatchTargetID": .string("phone-1")], nil,
                    "There is no member \"dispatchTargetID\": the members of a dispatch are dispatcher, getUafRequest, "
                        + "dispatchTargetId, dispatchInformation."
                ),
            ] as [(String, JSONObject, JSONObject?, String)] {
                let (response, problem) = try await stage.dispatch(dispatcher, more, context: context)
                #expect(response.status == .badRequest)
                #expect(problem["type"] == .string("urn:countersign:error:invalid-request"))
                #expect(problem["detail"] == .string(detail))
            }
            for more: JSONObject in [
                ["dispatchTargetId": .integer(1)],
                ["dispatchTargetId": .string("phone-1"), "dispatchInformation": .string("x")],
            ] {
                let (response, problem) = try await stage.dispatch("courier", more)
                #expect(response.status == .badRequest)
                #expect(problem["type"] == .string("urn:countersign:error:malformed-body"))
            }
            for name in ["Courier", "courier ", "carrier-pigeon", ""] {
                let (response, answer) = try await stage.dispatch(name, target)
                #expect(response.status == .ok && answer["dispatchResult"] == .string("dispatcherNotFound"))
            }
            #expect(stage.courier.messages.isEmpty)
        }
    }

    /// What the OpenAPI document says of a dispatch: names, members, results.
    private func described(_ server: ServerFixture) async throws -> (
        names: [String]?, members: [String], results: [String]?
    ) {
        let post = try await server.withPublicClient {
            try await $0.send(.get, "/openapi.json").object.requiredObject("paths")
                .requiredObject("/token/dispatch/authentication").requiredObject("post")
        }
        func properties(of body: JSONObject) throws -> JSONObject {
            try body.requiredObject("content").requiredObject("application/json").requiredObject("schema")
                .requiredObject("properties")
        }
        let asked = try properties(of: try post.requiredObject("requestBody"))
        let answered = try properties(of: try post.requiredObject("responses").requiredObject("200"))
        return (
            try asked.requiredObject("dispatcher").strings("enum"), asked.members.map(\.name),
            try answered.requiredObject("dispatchResult").strings("enum")
        )
    }

    @Test("The document names the registered dispatchers, the members that they take and the results that they have")
    func document() async throws {
        let plain = try await self.described(try await ServerFixture())
        #expect(plain.names == ["link-png-qr-code", "link", "png-qr-code", "device-stream"])
        #expect(plain.members == ["dispatcher", "getUafRequest", "dispatchTargetId"])
        let bare = try await self.described(try await ServerFixture(configure: { $0.dispatchers = .ofPages }))
        #expect(bare.names == ["link-png-qr-code", "link", "png-qr-code"])
        #expect(bare.members == ["dispatcher", "getUafRequest"])
        #expect(
            bare.results == ["dispatched", "dispatchError", "dispatcherNotFound", "userNotFound", "internalError"])

        let more = try await self.described(try await Self.server())
        #expect(
            more.names == ["link-png-qr-code", "link", "png-qr-code", "device-stream", "spoken-link", "courier"])
        #expect(more.members == ["dispatcher", "getUafRequest", "dispatchTargetId", "dispatchInformation"])
        #expect(plain.results == more.results)
        #expect(
            more.results == [
                "dispatched", "dispatchError", "dispatchTargetExpired", "dispatchTargetNotFound", "dispatcherNotFound",
                "userNotFound", "internalError",
            ])
    }

    @Test("A program can leave dispatchers out, and then they are not found")
    func leftOut() async throws {
        let dispatchers = try Dispatchers([SpokenLinkDispatcher()])
        let server = try await ServerFixture(configure: { $0.dispatchers = dispatchers })
        let party = try await server.relyingParty()
        try await server.withPublicClient { client in
            for (name, result) in [("link", "dispatcherNotFound"), ("spoken-link", "dispatched")] {
                let (_, answer) = try await client.send(
                    .post, "/token/dispatch/authentication",
                    ["dispatcher": .string(name), "getUafRequest": .object([:])],
                    headers: [.authorization: party.authorization])
                #expect(answer["dispatchResult"] == .string(result))
            }
        }
    }

    @Test("The dispatchers of every server can be registered, and a server without any too")
    func registered() throws {
        #expect(
            try Dispatchers(Dispatchers.standard.all).names
                == ["link-png-qr-code", "link", "png-qr-code", "device-stream"])
        #expect(try Dispatchers([]).names.isEmpty)
        #expect(try Dispatchers([SilentDispatcher(name: "0-z")]).names == ["0-z"])
    }

    @Test(
        "A name that is empty or of other letters is refused at the registration",
        arguments: ["", "Link", "my link", "l\u{131}nk", "link\u{301}", "a_b"])
    func names(name: String) {
        #expect(throws: DispatchersError.self) { try Dispatchers([SilentDispatcher(name: name)]) }
    }

    @Test("Two dispatchers of one name, and a channel that does not fit, are refused at the registration")
    func misfits() {
        for (dispatchers, code) in [
            ([SilentDispatcher(name: "a"), SilentDispatcher(name: "b"), SilentDispatcher(name: "a")], .repeatedName),
            ([SilentDispatcher(name: "a", channel: .typed)], .unfitChannel),
            ([SilentDispatcher(name: "a", channel: .device)], .unfitChannel), ([LostDispatcher()], .unfitChannel),
        ] as [([any Dispatcher], DispatchersError.Code)] {
            do {
                _ = try Dispatchers(dispatchers)
                Issue.record("registered, although \(code)")
            } catch { #expect(error.code == code) }
        }
        do {
            _ = try Dispatchers.standard.adding(SilentDispatcher(name: "link"))
            Issue.record("registered a second link")
        } catch { #expect(error.code == .repeatedName) }
    }
}
