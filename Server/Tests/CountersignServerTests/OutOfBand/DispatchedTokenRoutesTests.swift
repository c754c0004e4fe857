import Accounts
import Ceremony
import CeremonyEngine
import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import HTTPTypes
import HummingbirdTesting
import OAuthProvider
import Records
import SQLStore
import Synchronization
import Testing
import UAF
import _Primitives

/// A phone's way to the server, which keeps the requests.
private final class KeptRequests: Transport {
    private let transport: RouterTransport
    private let requests = Mutex<[TransportRequest]>([])

    init(_ client: any TestClientProtocol) { self.transport = RouterTransport(client: client) }

    /// The latest request to a path.
    func last(_ path: String) -> TransportRequest? {
        self.requests.withLock { $0.last { $0.url.path().hasSuffix(path) } }
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        self.requests.withLock { $0.append(request) }
        return try await self.transport.send(request)
    }
}

@Suite("Operations parity 81 and decision 129: a phone proves the redemption of what was dispatched to it")
struct DispatchedTokenRoutesTests {
    private static let redeem = "/token/redeem/authentication"

    /// Alice with two phones, and a dispatch of the bank to the first.
    private struct Scene {
        let server: ServerFixture
        let client: any TestClientProtocol
        let phone: VirtualPhone
        let other: VirtualPhone
        let kept: KeptRequests
        let otherKept: KeptRequests
        let answer: JSONObject
        /// What the phone's own list has.
        let payload: OutOfBandPayload

        /// The requests by which the bank learns how the session ended.
        func status(_ bank: RelyingParty) async throws -> JSONObject {
            try await self.client.send(
                .post, "/status", ["sessionId": .string(try self.answer.requiredString("sessionId"))],
                headers: [.authorization: bank.authorization]
            ).object
        }
    }

    private static func with(_ body: @escaping @Sendable (Scene, RelyingParty) async throws -> Void) async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let (kept, otherKept) = (KeptRequests(client), KeptRequests(client))
            let phone = try await server.enrolledPhone(client, through: { _ in kept })
            let other = try await server.enrolledPhone(client, isNew: false, through: { _ in otherKept })
            let account = try await server.assembly.directory.account(written: "alice")
            let device = try #require(try await server.database.devices(accountID: account.id).first)
            try await server.database.changeDispatchTarget(
                DispatchTargetChange(
                    deviceID: device.id, accountID: account.id, dispatcher: .changed(to: "device-stream"),
                    audit: AuditEvent(AuditEvent.Kind(rawValue: "test"), at: server.clock.now())))
            let bank = try await server.relyingParty()
            try await server.signInTwice(TestBrowser(client), bank, phone)
            let subject = server.assembly.provider.keys.subject(ofAccount: account.id, client: bank.id)
            let target = try #require(
                try await server.assembly.ceremonies.dispatchTargets.list(
                    ofSubject: subject, client: DispatchingClient(id: bank.id, name: "Bank", origin: nil),
                    withNames: false
                ).first)
            let (_, answer) = try await client.send(
                .post, "/token/dispatch/authentication",
                [
                    "dispatcher": .string("device-stream"), "dispatchTargetId": .string(target.id),
                    "getUafRequest": .object([
                        "context": .string(JSON.object(["subject": .string(subject)]).text)
                    ]),
                ], headers: [.authorization: bank.authorization])
            let pending = try await phone.client.operations.pendingOutOfBandOperations.execute()
            try await body(
                Scene(
                    server: server, client: client, phone: phone, other: other, kept: kept, otherKept: otherKept,
                    answer: answer, payload: try #require(pending.operations.first).payload), bank)
        }
    }

    @Test("The dispatch's answer has no token, and the phone sends a proof that nobody can send again")
    func proved() async throws {
        try await Self.with { scene, bank in
            #expect(try scene.answer.requiredString("dispatchResult") == "dispatched")
            #expect(scene.answer["token"] == nil && scene.answer["link"] == nil)
            #expect(scene.answer["dispatcherInformation"] == nil && scene.answer["number"] != nil)
            scene.phone.person.script.numbers = [try scene.answer.requiredString("number")]
            _ = try await scene.phone.authenticate(scene.payload)
            #expect(try await scene.status(bank)["status"] == .string("succeeded"))
            let sent = try #require(scene.kept.last(Self.redeem))
            let proof = try #require(sent.headers.first { $0.name == "Device-Proof" }?.value)
            let field = try #require(HTTPField.Name("Device-Proof"))
            let token: JSONObject = ["token": .string(scene.payload.redeemData.token)]
            let (again, problem) = try await scene.client.send(.post, Self.redeem, token, headers: [field: proof])
            #expect(again.status == .unauthorized)
            #expect(problem["type"] == .string("urn:countersign:error:replay-refused"))
        }
    }

    @Test("Whoever has read the token gets 401 with the name of the field, and the token is not spent")
    func readAlong() async throws {
        try await Self.with { scene, bank in
            let field = try #require(HTTPField.Name("Device-Proof"))
            let token: JSONObject = ["token": .string(scene.payload.redeemData.token)]
            let (bare, problem) = try await scene.client.send(.post, Self.redeem, token)
            #expect(bare.status == .unauthorized && bare.headers[.wwwAuthenticate] == "Device-Proof")
            #expect(problem["type"] == .string("urn:countersign:error:not-proven"))
            let (wrong, _) = try await scene.client.send(.post, Self.redeem, token, headers: [field: "a.b.c"])
            #expect(wrong.status == .unauthorized)
            // The person's other phone has no key of that name, and sends nothing.
            let refused = await #expect(throws: (any Error).self) {
                try await scene.other.authenticate(scene.payload)
            }
            #expect((refused as? OperationError)?.code == .notAuthorized)
            #expect(scene.otherKept.last(Self.redeem) == nil)
            scene.phone.person.script.numbers = [try scene.answer.requiredString("number")]
            _ = try await scene.phone.authenticate(scene.payload)
            #expect(try await scene.status(bank)["status"] == .string("succeeded"))
        }
    }

    @Test("A phone that is reported as lost gets 403 for its own token, which is not spent")
    func lost() async throws {
        try await Self.with { scene, bank in
            let account = try await scene.server.assembly.directory.account(written: "alice")
            let device = try #require(try await scene.server.database.devices(accountID: account.id).first)
            let lost = LostDevices(scene.server.assembly.passwords)
            #expect(try await lost.report(device.id, accountID: account.id))
            let refused = await #expect(throws: (any Error).self) {
                try await scene.phone.authenticate(scene.payload)
            }
            #expect((refused as? OperationError)?.httpStatus == 403)
            #expect(try await lost.bringBack(device.id, accountID: account.id))
            scene.phone.person.script.numbers = [try scene.answer.requiredString("number")]
            _ = try await scene.phone.authenticate(scene.payload)
            #expect(try await scene.status(bank)["status"] == .string("succeeded"))
        }
    }

    @Test("A code for any device needs no proof, and a valid proof beside it does no harm")
    func codes() async throws {
        try await Self.with { scene, bank in
            let (_, dispatched) = try await scene.client.send(
                .post, "/token/dispatch/authentication",
                ["dispatcher": .string("png-qr-code"), "getUafRequest": .object([:])],
                headers: [.authorization: bank.authorization])
            let token = try dispatched.requiredString("token")
            let address = try #require(URL(string: "http://localhost:8080\(Self.redeem)"))
            let payload = try OutOfBandPayload(redeemData: .init(token: token, redeemURL: address))
            _ = try await scene.phone.authenticate(payload)
            let sent = try #require(scene.kept.last(Self.redeem))
            #expect(!sent.headers.contains { $0.name == "Device-Proof" })
        }
    }
}
