import Accounts
import Ceremony
import CeremonyEngine
import Crypto
import Foundation
import JOSE
import Records
import SQLStore
import Settings
import Synchronization
import Testing
import UAF
import _Primitives

/// Keeps the payloads of its messages, as somebody does who reads along.
private final class ReadDispatcher: DeviceDispatcher {
    let name = "read"
    private let payloads = Mutex<[OutOfBandPayload]>([])

    var last: OutOfBandPayload? { self.payloads.withLock { $0.last } }

    func dispatcherInformation(for operation: DispatchedOperation) -> DispatcherInformation { DispatcherInformation() }
    func delivery(of operation: DispatchedOperation, to device: DispatchTargetRecord) -> DispatchDelivery {
        self.payloads.withLock { $0.append(operation.payload) }
        return .message(DispatchMessage(target: device.deviceID, content: []))
    }
    func deliver(_ message: DispatchMessage) {}
}

@Suite("Operations parity 81 and decision 129: a token that was dispatched to a device is worth its device's proof")
struct DispatchedTokenTests {
    /// A server with alice, who has two phones, and a dispatch to the first.
    private struct Scene {
        let reader = ReadDispatcher()
        let server: TestServer
        let account: AccountRecord
        let first = TestDevice()
        let second = TestDevice()
        let phone: TestPhone
        let target: AuthenticatedDevice

        init(_ limits: @Sendable (inout Limits) -> Void = { _ in }) async throws {
            self.server = try TestServer(dispatchers: try Dispatchers.standard.adding(self.reader)) {
                limits(&$0.limits)
            }
            self.account = try await self.server.directory.create(username: "alice", displayName: nil, by: "test")
            self.phone = try TestPhone()
            try await Self.enrol(self.phone, self.first, self.server)
            self.target = try await self.server.device(of: self.account)
            try await Self.enrol(try TestPhone(), self.second, self.server)
            try await self.server.database.changeDispatchTarget(
                DispatchTargetChange(
                    deviceID: self.target.deviceID, accountID: self.account.id, dispatcher: .changed(to: "read"),
                    audit: AuditEvent(AuditEvent.Kind(rawValue: "test"), at: self.server.clock.now)))
        }

        /// Enrols a phone of alice's.
        static func enrol(_ phone: TestPhone, _ device: TestDevice, _ server: TestServer) async throws {
            let link = try await server.engine.enrolments.createEnrolmentLink(username: "alice", by: "test")
            let request = try await server.engine.redemptions.redeem(
                token: try TestPhone.token(link.link), operation: .registration)
            let answer = try await server.engine.registrationAnswers.judge(
                try phone.register(request) { [try device.announcement($0)] })
            _ = try await server.engine.enrolments.confirmEnrolment(
                id: link.id, number: try #require(answer.confirmation?.number), by: "test")
        }

        var subject: String { "bank|\(self.account.id)" }

        /// Dispatches to the first phone. Returns the answer and the payload on its way.
        func dispatch(
            _ operation: UAF.Operation = .authentication, _ context: JSONObject = [:]
        ) async throws -> (answer: DispatchAnswer, payload: OutOfBandPayload) {
            let target = try #require(
                try await self.server.engine.dispatchTargets.list(
                    ofSubject: self.subject, client: self.server.bank, withNames: false
                ).first)
            var context = context
            context["subject"] = .string(self.subject)
            let answer = try await self.server.engine.dispatches.dispatch(
                DispatchRequest(dispatcher: "read", target: target.id, operation: operation, context: context),
                client: self.server.bank)
            #expect(answer.result == .dispatched)
            return (answer, try #require(self.reader.last))
        }

        func prover(_ device: TestDevice) async throws -> DeviceProofs.Prover {
            try await self.server.engine.deviceProofs.prover(of: try device.call(at: self.server.clock.now))
        }

        /// Redeems a token, by the proof of a device or without a proof.
        func redeem(
            _ payload: OutOfBandPayload, by device: TestDevice? = nil, operation: UAF.Operation = .authentication,
            source: String? = nil
        ) async throws -> ReturnUAFRequest {
            var prover: DeviceProofs.Prover?
            if let device { prover = try await self.prover(device) }
            return try await self.server.engine.redemptions.redeem(
                token: payload.redeemData.token, operation: operation, by: prover, source: source)
        }
    }

    @Test("The back end gets no token, and the payload names the device's encryption key")
    func answer() async throws {
        let scene = try await Scene()
        let (answer, payload) = try await scene.dispatch()
        #expect(answer.token == nil && answer.link == nil && answer.qrContent == nil && answer.response == nil)
        #expect(answer.sessionID != nil && answer.expiresAt != nil && answer.number != nil)
        let point = Array(scene.first.encryption.publicKey.x963Representation)
        #expect(
            try payload.deviceKey
                == JWK(.p256(x: Array(point[1..<33]), y: Array(point[33...]), d: nil)).thumbprint)
        #expect(payload.data == nil)
        #expect(try OutOfBandPayload(json: payload.json) == payload)
    }

    @Test("Without the device's proof the token is refused and not spent; with the proof it is redeemed, once")
    func redemption() async throws {
        let scene = try await Scene()
        let (answer, payload) = try await scene.dispatch()
        for device in [nil, scene.second] {
            await #expect(throws: CeremonyError(.notProven)) { try await scene.redeem(payload, by: device) }
        }
        let session = try #require(answer.sessionID)
        let sessions = scene.server.engine.sessions
        #expect(try await sessions.status(sessionID: session, clientID: "bank").state == .tokenCreated)
        await #expect(throws: CeremonyError(.tokenUnknown)) {
            try await scene.redeem(payload, by: scene.first, operation: .registration)
        }
        let request = try await scene.redeem(payload, by: scene.first)
        #expect(request.statusCode == .ok && request.numberLength == 6)
        await #expect(throws: CeremonyError(.tokenAlreadyRedeemed)) {
            try await scene.redeem(payload, by: scene.first)
        }
        // A reader along learns nothing of what became of the token.
        await #expect(throws: CeremonyError(.notProven)) { try await scene.redeem(payload) }
    }

    @Test("The token in the device's own list needs the proof too, and the two tokens are redeemed once")
    func list() async throws {
        let scene = try await Scene()
        let (_, sent) = try await scene.dispatch()
        let listed = try #require(
            try await scene.server.engine.deviceOperations.pending(for: try await scene.prover(scene.first)).first)
        let payload = try OutOfBandPayload(json: listed.payload)
        #expect(payload.deviceKey == sent.deviceKey && payload.redeemData.token != sent.redeemData.token)
        for device in [nil, scene.second] {
            await #expect(throws: CeremonyError(.notProven)) { try await scene.redeem(payload, by: device) }
        }
        _ = try await scene.redeem(payload, by: scene.first)
        await #expect(throws: CeremonyError(.tokenAlreadyRedeemed)) { try await scene.redeem(sent, by: scene.first) }
    }

    @Test("An attempt without the proof counts as a guess, and past the budget the device itself still redeems")
    func guesses() async throws {
        let scene = try await Scene { ($0.guessBurst, $0.guessesPerMinute) = (2, 1) }
        let (_, payload) = try await scene.dispatch()
        for _ in 0..<2 {
            await #expect(throws: CeremonyError(.notProven)) { try await scene.redeem(payload, source: "a") }
        }
        for device in [nil, scene.second] {
            await #expect(throws: CeremonyError(.tooManyRequests)) {
                try await scene.redeem(payload, by: device, source: "a")
            }
        }
        #expect(try await scene.redeem(payload, by: scene.first, source: "a").statusCode == .ok)
    }

    @Test("Of fifty that redeem at once, half of them without the proof, the device gets the request once")
    func atOnce() async throws {
        let scene = try await Scene()
        let (_, payload) = try await scene.dispatch()
        let prover = try await scene.prover(scene.first)
        let engine = scene.server.engine
        let results = await withTaskGroup(of: CeremonyError.Code?.self) { group in
            for index in 0..<50 {
                group.addTask {
                    do {
                        _ = try await engine.redemptions.redeem(
                            token: payload.redeemData.token, operation: .authentication,
                            by: index % 2 == 0 ? prover : nil)
                        return nil
                    } catch {
                        return (error as? CeremonyError)?.code ?? .conflict
                    }
                }
            }
            return await group.reduce(into: [CeremonyError.Code?]()) { $0.append($1) }
        }
        #expect(results.count { $0 == nil } == 1)
        #expect(results.count { $0 == .notProven } == 25 && results.count { $0 == .tokenAlreadyRedeemed } == 24)
    }

    @Test("A removed device redeems nothing")
    func removed() async throws {
        let scene = try await Scene()
        let (_, payload) = try await scene.dispatch()
        try await scene.server.directory.deleteDevice(id: scene.target.deviceID, by: "test")
        #expect(try await scene.prover(scene.first).isGone)
        await #expect(throws: CeremonyError(.notProven)) { try await scene.redeem(payload, by: scene.first) }
    }

    @Test("A device that is reported as lost redeems nothing, and redeems again after its return")
    func lost() async throws {
        let scene = try await Scene()
        let (_, payload) = try await scene.dispatch()
        func report(_ id: String) -> LostDeviceReport {
            LostDeviceReport(
                deviceID: scene.target.deviceID, accountID: scene.account.id,
                audit: AuditEvent(.deviceRested, at: scene.server.clock.now, accountID: scene.account.id),
                notice: NoticeRecord(
                    id: id, accountID: scene.account.id, kind: .deviceRested, at: scene.server.clock.now,
                    subject: "Phone"))
        }
        #expect(try await scene.server.database.restDevice(report("lost")))
        await #expect(throws: CeremonyError(.notProven)) { try await scene.redeem(payload, by: scene.first) }
        #expect(try await scene.server.database.returnDevice(report("found")))
        #expect(try await scene.redeem(payload, by: scene.first).statusCode == .ok)
    }

    @Test("A phone that enrolled anew with the same keys redeems what was dispatched to its former registration")
    func enrolledAnew() async throws {
        let scene = try await Scene()
        let (_, payload) = try await scene.dispatch()
        try await Scene.enrol(try TestPhone(), scene.first, scene.server)
        #expect(try await scene.prover(scene.first).device != scene.target)
        #expect(try await scene.redeem(payload, by: scene.first).statusCode == .ok)
    }

    @Test("A deregistration that was carried out is told again, to the removed device and to nobody else")
    func deregistration() async throws {
        let scene = try await Scene()
        let (_, payload) = try await scene.dispatch(
            .deregistration,
            [
                "mode": .string("key"),
                "keys": .array([
                    .object([
                        "aaid": .string(scene.phone.aaid.text),
                        "keyID": .string(Base64URL.encode(scene.phone.keyID.bytes)),
                    ])
                ]),
            ])
        await #expect(throws: CeremonyError(.notProven)) {
            try await scene.redeem(payload, by: scene.second, operation: .deregistration)
        }
        let first = try await scene.redeem(payload, by: scene.first, operation: .deregistration)
        #expect(first.uafRequest?.contains(Base64URL.encode(scene.phone.keyID.bytes)) == true)
        #expect(try await scene.prover(scene.first).isGone)
        #expect(try await scene.redeem(payload, by: scene.first, operation: .deregistration) == first)
        for device in [nil, scene.second] {
            await #expect(throws: CeremonyError(.notProven)) {
                try await scene.redeem(payload, by: device, operation: .deregistration)
            }
        }
    }
}
