import Accounts
import Ceremony
import CeremonyEngine
import Records
import SQLStore
import Synchronization
import Testing
import UAF
import _Primitives

/// Brings messages to the devices that the server knows, as a program in another package would.
private final class PigeonDispatcher: DeviceDispatcher {
    let name: String
    private let asked = Mutex<[DispatchTargetRecord]>([])
    private let received = Mutex<[DispatchMessage]>([])

    init(name: String = "pigeon") { self.name = name }

    /// The devices that it was asked for.
    var devices: [DispatchTargetRecord] { self.asked.withLock { $0 } }
    var messages: [DispatchMessage] { self.received.withLock { $0 } }

    func dispatcherInformation(for operation: DispatchedOperation) -> DispatcherInformation { DispatcherInformation() }

    func delivery(of operation: DispatchedOperation, to device: DispatchTargetRecord) -> DispatchDelivery {
        self.asked.withLock { $0.append(device) }
        guard device.address != nil else { return .targetExpired }
        return .message(DispatchMessage(target: "another device", content: Array(operation.payload.json.utf8)))
    }

    func deliver(_ message: DispatchMessage) { self.received.withLock { $0.append(message) } }
}

@Suite("Decision 114: dispatches to the devices that the server knows")
struct DeviceDispatchTests {
    /// A server with two dispatchers to devices, and a person with a phone that has named the first.
    private struct Stage {
        let pigeon = PigeonDispatcher()
        let server: TestServer
        let account: AccountRecord
        let phone: String

        init() async throws {
            self.server = try TestServer(
                dispatchers: Dispatchers.standard.adding(self.pigeon).adding(PigeonDispatcher(name: "other")))
            self.account = try await self.server.enrol().account
            self.phone = try await self.server.device(of: self.account).deviceID
            try await self.change(dispatcher: .changed(to: "pigeon"), address: .changed(to: "loft 7"))
        }

        func change(
            _ device: String? = nil, dispatcher: DispatchTargetChange.Member, address: DispatchTargetChange.Member
        ) async throws {
            try await self.server.database.changeDispatchTarget(
                DispatchTargetChange(
                    deviceID: device ?? self.phone, accountID: self.account.id, dispatcher: dispatcher,
                    address: address,
                    audit: AuditEvent(AuditEvent.Kind(rawValue: "test"), at: self.server.clock.now)))
        }

        /// What a client knows of the person's devices.
        func targets(of client: DispatchingClient? = nil) async throws -> [ClientDispatchTarget] {
            let client = client ?? self.server.bank
            return try await self.server.engine.dispatchTargets.list(
                ofSubject: "\(client.id)|\(self.account.id)", client: client, withNames: true)
        }

        func dispatch(
            to target: String, of account: AccountRecord? = nil, by dispatcher: String = "pigeon",
            client: DispatchingClient? = nil
        ) async throws -> DispatchAnswer {
            let client = client ?? self.server.bank
            return try await self.server.engine.dispatches.dispatch(
                DispatchRequest(
                    dispatcher: dispatcher, target: target, operation: .authentication,
                    context: ["subject": .string("\(client.id)|\((account ?? self.account).id)")]),
                client: client)
        }

        /// Sends the messages that are due.
        func deliver() async throws -> [OutboxResult] {
            let outbox = Outbox(
                self.server.engine.dispatches.outboxEntry(), store: self.server.database,
                time: self.server.clock.source)
            var results: [OutboxResult] = []
            for message in try await outbox.takeDue() { results.append(try await outbox.deliver(message)) }
            return results
        }
    }

    private static let shop = DispatchingClient(id: "shop", name: "Shop", origin: nil)

    @Test("A back end names a device by an identifier of its own, and the message goes to the device")
    func delivers() async throws {
        let stage = try await Stage()
        let target = try #require(try await stage.targets().first)
        #expect(target.dispatcher == "pigeon" && target.name == "Alice's phone")
        let answer = try await stage.dispatch(to: target.id)
        #expect(answer.result == .dispatched)
        #expect(stage.pigeon.devices.map(\.deviceID) == [stage.phone])
        #expect(stage.pigeon.devices.map(\.address) == ["loft 7"])
        #expect(try await stage.deliver() == [.delivered])
        let message = try #require(stage.pigeon.messages.first)
        #expect(message.target == stage.phone)
        // A device without keys has nothing to be named by.
        let payload = try OutOfBandPayload(json: String(decoding: message.content, as: UTF8.self))
        #expect(answer.token == nil && !payload.redeemData.token.isEmpty && payload.deviceKey == nil)
    }

    @Test("No two clients know a device by the same identifier, none by the device's own, and it is always the same")
    func pairwise() async throws {
        let stage = try await Stage()
        let (banks, shops) = (try await stage.targets(), try await stage.targets(of: Self.shop))
        #expect(banks.count == 1 && shops.count == 1 && banks[0].id != shops[0].id)
        #expect(!(banks + shops).map(\.id).contains(stage.phone))
        #expect(try await stage.targets() == banks)
        for id in [shops[0].id, stage.phone, "", banks[0].id + "A"] {
            #expect(try await stage.dispatch(to: id).result == .dispatchTargetNotFound)
        }
        #expect(try await stage.dispatch(to: shops[0].id, client: Self.shop).result == .dispatched)
        #expect(stage.pigeon.devices.count == 1)
    }

    @Test("Another person's device, and a device of another dispatcher, are not found")
    func notFound() async throws {
        let stage = try await Stage()
        let target = try #require(try await stage.targets().first).id
        let (other, _) = try await stage.server.enrol("bob")
        #expect(try await stage.dispatch(to: target, of: other).result == .dispatchTargetNotFound)
        #expect(try await stage.dispatch(to: target, by: "other").result == .dispatchTargetNotFound)
        #expect(stage.pigeon.devices.isEmpty)
        #expect(try await stage.deliver() == [])
    }

    @Test("A target that its device or its provider has ended has expired, and so has one without an address")
    func expired() async throws {
        let stage = try await Stage()
        let target = try #require(try await stage.targets().first).id
        try await stage.change(dispatcher: .kept, address: .changed(to: nil))
        #expect(try await stage.dispatch(to: target).result == .dispatchTargetExpired)
        #expect(stage.pigeon.devices.count == 1)
        try await stage.change(dispatcher: .changed(to: "pigeon"), address: .changed(to: "loft 8"))
        #expect(
            try await stage.server.database.endDispatchTarget(
                deviceID: stage.phone, address: "loft 8", unlessChangedAfter: nil, audit: nil))
        #expect(try await stage.dispatch(to: target).result == .dispatchTargetExpired)
        #expect(try await stage.targets().isEmpty)
        #expect(stage.pigeon.devices.count == 1)
    }

    @Test("A revoked device has expired as long as its keys are known, and gets no message that waits")
    func revoked() async throws {
        let server = try TestServer(dispatchers: Dispatchers.standard.adding(PigeonDispatcher()))
        let device = TestDevice()
        let account = try await server.directory.create(username: "alice", displayName: nil, by: "test")
        let phone = try TestPhone()
        let link = try await server.engine.enrolments.createEnrolmentLink(username: "alice", by: "test")
        let request = try await server.engine.redemptions.redeem(
            token: try TestPhone.token(link.link), operation: .registration)
        let answer = try await server.engine.registrationAnswers.judge(
            try phone.register(request) { [try device.announcement($0)] })
        _ = try await server.engine.enrolments.confirmEnrolment(
            id: link.id, number: answer.confirmation?.number ?? "", by: "test")
        _ = try await server.addPhone(to: "alice", name: "Second")
        let id = try await server.device(of: account).deviceID
        try await server.database.changeDispatchTarget(
            DispatchTargetChange(
                deviceID: id, accountID: account.id, dispatcher: .changed(to: "pigeon"), address: .changed(to: "loft"),
                audit: AuditEvent(AuditEvent.Kind(rawValue: "test"), at: server.clock.now)))
        let subject = "bank|\(account.id)"
        let target = try #require(
            try await server.engine.dispatchTargets.list(
                ofSubject: subject, client: server.bank, withNames: false
            ).first)
        #expect(target.name == nil)
        let dispatch = DispatchRequest(
            dispatcher: "pigeon", target: target.id, operation: .authentication,
            context: ["subject": .string(subject)])
        #expect(try await server.engine.dispatches.dispatch(dispatch, client: server.bank).result == .dispatched)
        try await server.directory.deleteDevice(id: id, by: "test")
        #expect(
            try await server.engine.dispatches.dispatch(dispatch, client: server.bank).result == .dispatchTargetExpired)
        let outbox = Outbox(
            server.engine.dispatches.outboxEntry(), store: server.database, time: server.clock.source)
        let pigeon = try #require(
            server.engine.dispatches.dispatchers.all.lazy.compactMap { $0 as? PigeonDispatcher }.first)
        for message in try await outbox.takeDue() { #expect(try await outbox.deliver(message) == .delivered) }
        #expect(pigeon.messages.isEmpty)
    }

    @Test("A name that the client was never given has no targets")
    func unknownSubject() async throws {
        let stage = try await Stage()
        await #expect(throws: CeremonyError(.notFound, "")) {
            try await stage.server.engine.dispatchTargets.list(
                ofSubject: "shop|\(stage.account.id)", client: stage.server.bank, withNames: true)
        }
    }
}
