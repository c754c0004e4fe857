import Ceremony
import CeremonyEngine
import Crypto
import NIOSSL
import Push
import Records
import Settings
import Synchronization
import Testing
import _Primitives

@Suite("Push services over TLS that drop, delay, repeat, close and answer each code: operations parity 81")
struct PushOverTLSTests {
    private let device = PushedDevice()
    private let events = NotedEvents()

    private static let granted = #"{"access_token":"ya29.first","expires_in":3599,"token_type":"Bearer"}"#
    private static let unregistered = """
        {"error":{"code":404,"status":"NOT_FOUND","details":[\
        {"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"UNREGISTERED"}]}}
        """

    /// A dispatcher by Firebase, whose messages a stand-in takes.
    private struct ByFirebase {
        let dispatcher: PushDispatcher<FCM>
        let targets: OneTarget
        let standIn: StandIn
        let device: PushedDevice

        /// Dispatches to the device, as the engine does, and delivers.
        func push() async -> DeliveryError? {
            do {
                let now = TimeSource.system.now()
                let record = try #require(self.targets.current)
                let operation = try PushedDevice.operation(until: now + .seconds(60))
                guard case .message(let message) = try await self.dispatcher.delivery(of: operation, to: record) else {
                    return DeliveryError("no message", nextTry: .never)
                }
                try await self.dispatcher.deliver(message)
                return nil
            } catch { return error as? DeliveryError ?? DeliveryError("\(error)", nextTry: .never) }
        }

        /// The data of the messages that came.
        func data() throws -> [JSONObject] {
            try self.standIn.requests.filter { $0.path.hasSuffix("messages:send") }.map {
                try object($0.body).requiredObject("message").requiredObject("data")
            }
        }
    }

    private func withFirebase(
        callTime: Duration = .seconds(30), trusting client: TLSConfiguration? = nil, host: String = "localhost",
        _ script: @escaping StandIn.Script, _ body: (ByFirebase) async throws -> Void
    ) async throws {
        let authority = try PushAuthority()
        try await StandIn.run(
            try authority.server(for: host),
            { request in request.path == "/token" ? .answer(200, body: Self.granted) : script(request) }
        ) { standIn in
            let connections = ProviderConnections(tls: try client ?? authority.client(), time: callTime)
            let account = try ServiceAccount(
                file: try PushCredentials.serviceAccountFile(["token_uri": .string("\(standIn.address)/token")]))
            let targets = OneTarget(try self.device.target(FCM.name, PushedDevice.fcmToken))
            let dispatcher = PushDispatcher(
                FCM(account, address: standIn.address, calls: connections), targets: targets,
                report: self.events.note)
            let result: Result<Void, any Error>
            do {
                result = .success(
                    try await body(
                        ByFirebase(dispatcher: dispatcher, targets: targets, standIn: standIn, device: self.device)))
            } catch { result = .failure(error) }
            await connections.close()
            try result.get()
        }
    }

    @Test("the device gets an encrypted data message that it alone opens; an unregistered token removes the target")
    func firebase() async throws {
        let isRegistered = Mutex(true)
        try await self.withFirebase({ _ in
            isRegistered.withLock { $0 } ? .answer(200, body: "{}") : .answer(404, body: Self.unregistered)
        }) { firebase in
            #expect(await firebase.push() == nil)
            let data = try #require(try firebase.data().first)
            let type = try data.string("nma_data_content_type")
            #expect(type == "application/jose")
            let opened = try firebase.device.open(data)
            #expect(opened.redeemData.token == PushedDevice.secrets[0])
            for request in firebase.standIn.requests where request.path != "/token" {
                let text = String(decoding: request.body, as: UTF8.self)
                for secret in PushedDevice.secrets { #expect(!text.contains(secret), "\(secret)") }
            }
            isRegistered.withLock { $0 = false }
            #expect(await firebase.push()?.nextTry == .never)
            #expect(firebase.targets.current?.address == nil && firebase.targets.current?.dispatcher == nil)
            let entries = firebase.targets.events.map(\.kind.rawValue)
            #expect(entries == ["dispatch-target-ended"])
        }
    }

    @Test("a late answer counts, and a repeated answer is one answer: the next message goes on")
    func lateAndTwice() async throws {
        let scripts = Mutex<[StandIn.Behaviour]>([.late(200), .twice(200)])
        try await self.withFirebase({ _ in
            scripts.withLock { $0.isEmpty ? .answer(200) : $0.removeFirst() }
        }) { firebase in
            for _ in 0..<2 { #expect(await firebase.push() == nil) }
            let kinds = self.events.all.map(\.kind)
            #expect(kinds == [.delivered, .delivered])
            // The connection with the surplus answer may end under the next message, which is then tried again.
            let next = await firebase.push()
            if next != nil { #expect(await firebase.push() == nil) }
            #expect(firebase.targets.current?.address == PushedDevice.fcmToken)
        }
    }

    @Test(
        "no answer, a closed connection, half an answer and an endless one are no answer: the target stays, and the next try delivers",
        arguments: [StandIn.Behaviour.silence, .close, .half, .endless])
    func noAnswer(_ behaviour: StandIn.Behaviour) async throws {
        let isBroken = Mutex(true)
        try await self.withFirebase(
            callTime: .seconds(3), { _ in isBroken.withLock { $0 } ? behaviour : .answer(200) }
        ) { firebase in
            #expect(await firebase.push()?.nextTry == .asUsual)
            #expect(firebase.targets.current?.address == PushedDevice.fcmToken)
            // A request is never sent a second time by itself.
            let sent = try firebase.data()
            #expect(sent.count == 1)
            isBroken.withLock { $0 = false }
            #expect(await firebase.push() == nil)
        }
    }

    @Test("each code of the service has its meaning: waiting, dropping, stopping")
    func codes() async throws {
        let answer = Mutex<StandIn.Behaviour>(.answer(200))
        try await self.withFirebase({ _ in answer.withLock { $0 } }) { firebase in
            for status in [429, 500, 503] {
                answer.withLock { $0 = .answer(status) }
                #expect(await firebase.push()?.nextTry == .asUsual)
                answer.withLock { $0 = .answer(status, retryAfter: "7") }
                guard case .notBefore(let moment) = await firebase.push()?.nextTry else {
                    Issue.record("\(status) does not wait")
                    continue
                }
                #expect(moment > TimeSource.system.now() && moment <= TimeSource.system.now() + .seconds(7))
            }
            answer.withLock { $0 = .answer(400) }
            #expect(await firebase.push()?.nextTry == .never)
            #expect(firebase.targets.current?.address == PushedDevice.fcmToken)
            answer.withLock { $0 = .answer(403) }
            #expect(await firebase.push()?.nextTry == .asUsual)
            #expect(firebase.dispatcher.stoppedServices == 1)
            #expect(firebase.targets.current?.address == PushedDevice.fcmToken)
            #expect(self.events.all.last?.kind == .stopped)
        }
    }

    @Test("a certificate of another authority, and one for another name, get neither a credential nor a message")
    func certificates() async throws {
        let other = try PushAuthority().client()
        for (client, host) in [(other as TLSConfiguration?, "localhost"), (nil, "elsewhere.example")] {
            try await self.withFirebase(trusting: client, host: host, { _ in .answer(200) }) { firebase in
                let error = await firebase.push()
                #expect(error?.nextTry == .asUsual)
                #expect(firebase.standIn.requests.isEmpty)
            }
        }
    }

    @Test("Apple's 410 over TLS ends the target, unless the device has changed the target since")
    func gone() async throws {
        let authority = try PushAuthority()
        let moment = Timestamp(seconds: 1_850_000_000)
        let body = #"{"reason":"Unregistered","timestamp":\#(moment.milliseconds)}"#
        try await StandIn.run(try authority.server(for: "localhost"), { _ in .answer(410, body: body) }) { standIn in
            let connections = ProviderConnections(tls: try authority.client(), time: .seconds(30))
            let apns = APNs(
                try APNsCredential(key: P256.Signing.PrivateKey(), keyID: "ABC123DEFG", team: "DEF123GHIJ"),
                topic: "com.example.app", address: standIn.address, calls: connections)
            let targets = OneTarget(nil)
            let dispatcher = PushDispatcher(apns, targets: targets)
            var ends: [Bool] = []
            for changedAt in [moment + .seconds(1), moment] {
                let record = try self.device.target(APNs.name, PushedDevice.apnsToken, changedAt: changedAt)
                targets.replace(by: record)
                let operation = try PushedDevice.operation(until: TimeSource.system.now() + .seconds(60))
                guard case .message(let message) = try await dispatcher.delivery(of: operation, to: record) else {
                    continue
                }
                try? await dispatcher.deliver(message)
                ends.append(targets.current?.address == nil)
            }
            #expect(ends == [false, true])
            let paths = standIn.requests.map(\.path)
            #expect(paths == Array(repeating: "/3/device/\(PushedDevice.apnsToken)", count: 2))
            await connections.close()
        }
    }
}
