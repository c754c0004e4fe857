import Accounts
import Ceremony
import CeremonyEngine
import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import Records
import SQLStore
import Synchronization
import Testing
import UAF
import UAFClient
import UAFRelyingParty
import _Primitives

@testable import PhoneCommand

/// A service that repeats its first attestation, whatever it is asked about.
private final class RepeatingAttestor: AppAttestor {
    private let attestor: SimulatedAppAttestor
    private let first = Mutex<AppAttestation?>(nil)

    init(_ attestor: SimulatedAppAttestor) { self.attestor = attestor }

    func attestation(clientDataHash: [UInt8]) async throws -> AppAttestation {
        if let first = self.first.withLock({ $0 }) { return first }
        let made = try await self.attestor.attestation(clientDataHash: clientDataHash)
        self.first.withLock { $0 = made }
        return made
    }

    func assertion(clientDataHash: [UInt8], keyID: String) async throws -> [UInt8] {
        try await self.attestor.assertion(clientDataHash: clientDataHash, keyID: keyID)
    }
}

/// A way to the server on which requests of the server lose their wish for evidence, as in a changed app; and which keeps
/// the bodies of answers to registrations.
private final class ChangedApp: Transport {
    private let way: any Transport
    private let hidesWish: Bool
    private let sent = Mutex<[[UInt8]]>([])

    init(_ way: any Transport, hidesWish: Bool) {
        self.way = way
        self.hidesWish = hidesWish
    }

    var registrations: [[UInt8]] { self.sent.withLock { $0 } }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        if request.url.path().hasSuffix("/uaf/1.1/registration/") { self.sent.withLock { $0.append(request.body) } }
        var response = try await self.way.send(request)
        guard self.hidesWish, var asked = try? ReturnUAFRequest(parsing: response.body), asked.appAttestation != nil
        else { return response }
        asked.appAttestation = nil
        response.body = asked.serialized
        return response
    }

    func stream<Value: Sendable>(
        _ request: TransportRequest, _ read: @escaping @Sendable (TransportStream) async throws -> Value
    ) async throws -> Value { try await self.way.stream(request, read) }
}

@Suite("Operations parity 89, decision 124: registrations prove which app they come from")
struct AppAttestationRoutesTests {
    private static let app = "ABCDE12345.com.example.bank"
    private static let attested = AuditEvent.Kind(rawValue: "app-attested")
    private static let refused = AuditEvent.Kind(rawValue: "app-refused")

    private static func policy(
        _ need: AppAttestationWish.Need, _ attestor: SimulatedAppAttestor, excepted: [String] = []
    ) throws -> AppAttestationPolicy {
        AppAttestationPolicy(
            need, verifier: try AppAttestationVerifier(apps: [try AttestedApp(Self.app)], roots: [attestor.root]),
            exceptedFacets: try excepted.map { try FacetID($0) })
    }

    private static func server(
        _ need: AppAttestationWish.Need, _ attestor: SimulatedAppAttestor, excepted: [String] = []
    ) async throws -> ServerFixture {
        let policy = try Self.policy(need, attestor, excepted: excepted)
        return try await ServerFixture(configure: { $0.appAttestation = policy })
    }

    private static func device(_ server: ServerFixture) async throws -> DeviceRecord {
        let account = try await server.assembly.directory.account(username: "alice")
        return try #require(try await server.database.devices(accountID: account.id).first)
    }

    private static func kept(_ server: ServerFixture) async throws -> AttestedAppRecord? {
        try await server.database.appKeys(ofDevice: Self.device(server).id).app
    }

    /// Checks that a registration was refused for its app, with that reason in the trail, and left nothing.
    private static func expectRefused(
        _ server: ServerFixture, reason: String, _ register: () async throws -> Void
    ) async throws {
        let error = await operationError(register)
        #expect(error?.code == .appAttestation && error?.recovery == .contactService, "\(reason): \(error as Any)")
        #expect(error?.serverStatusCode == UAFStatusCode.unacceptableAttestation.rawValue)
        let account = try await server.assembly.directory.account(username: "alice")
        #expect(try await server.database.devices(accountID: account.id).isEmpty)
        #expect(try await server.database.credentials(accountID: account.id).isEmpty)
        #expect(try await server.auditEvents(Self.refused).map(\.detail) == ["1496 \(reason)"])
        #expect(try await server.auditEvents(Self.attested).isEmpty)
    }

    // MARK: A new device

    @Test(
        "A listed app is registered: its key is kept with the device, with the counter 0, and the trail names the app",
        arguments: AppAttestationWish.Need.allCases)
    func registered(need: AppAttestationWish.Need) async throws {
        let attestor = try SimulatedAppAttestor(app: Self.app)
        let server = try await Self.server(need, attestor)
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client, appAttestor: attestor)
            let kept = try #require(try await Self.kept(server))
            #expect(kept.teamID == "ABCDE12345" && kept.bundleID == "com.example.bank")
            #expect(kept.environment == "production" && kept.counter == 0 && kept.publicKey.count == 65)
            let device = try await Self.device(server)
            let events = try await server.auditEvents(Self.attested)
            #expect(events.map(\.detail) == ["\(device.id) \(Self.app) production"])
            #expect(events.map(\.accountID) == [device.accountID] && events.allSatisfy { $0.ceremonyID != nil })
            // The app authenticates as ever.
            _ = try await phone.authenticate(username: "alice")
        }
    }

    @Test("The terminal phone registers with its simulated App Attest at a server that was told the phone's root")
    func terminalPhone() async throws {
        let home = TerminalPhoneFixture.newHome()
        try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
        try SimulatedApp(home: home).set(Self.app)
        let policy = try Self.policy(.required, try #require(try SimulatedApp(home: home).attestor()))
        try await TerminalPhoneFixture.run(home: home, configure: { $0.appAttestation = policy }) { fixture in
            try await fixture.enrolForOperations(pin: "258036")
            #expect(try await Self.kept(fixture.server)?.bundleID == "com.example.bank")
            #expect(try await fixture.server.auditEvents(Self.attested).count == 1)
        }
    }

    @Test("Without a policy no request asks for evidence, and none is kept")
    func off() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            _ = try await server.enrolledPhone(
                client, appAttestor: try SimulatedAppAttestor(app: Self.app))
            #expect(try await Self.kept(server) == nil)
            #expect(try await server.auditEvents(Self.attested).isEmpty)
        }
    }

    @Test(
        "A foreign team or bundle, a development key and evidence about other data are refused, also where none is required",
        arguments: [
            (SimulatedAppAttestor.Fault.app("ABCDE12346.com.example.bank"), "foreignApp"),
            (.app("ABCDE12345.com.example.bank2"), "foreignApp"), (.development, "otherEnvironment"),
            (.otherClientData, "otherClientData"),
        ], AppAttestationWish.Need.allCases)
    func faults(fault: (SimulatedAppAttestor.Fault, String), need: AppAttestationWish.Need) async throws {
        let attestor = try SimulatedAppAttestor(app: Self.app)
        attestor.lie(fault.0)
        let server = try await Self.server(need, attestor)
        try await server.withPublicClient { client in
            try await Self.expectRefused(server, reason: fault.1) {
                _ = try await server.enrolledPhone(client, appAttestor: attestor)
            }
        }
    }

    @Test("An attestation under another root is refused: a forger has a root of their own")
    func ownRoot() async throws {
        let server = try await Self.server(.required, try SimulatedAppAttestor(app: Self.app))
        try await server.withPublicClient { client in
            try await Self.expectRefused(server, reason: "untrusted") {
                _ = try await server.enrolledPhone(client, appAttestor: try SimulatedAppAttestor(app: Self.app))
            }
        }
    }

    @Test("An app that leaves the evidence out is refused where it is required")
    func missing() async throws {
        let server = try await Self.server(.required, try SimulatedAppAttestor(app: Self.app))
        try await server.withPublicClient { client in
            try await Self.expectRefused(server, reason: "missing") {
                _ = try await server.enrolledPhone(client) { ChangedApp($0, hidesWish: true) }
            }
        }
    }

    @Test("Missing evidence is allowed by the policy alone: where it is optional, and for a facet that is excepted")
    func allowed() async throws {
        let attestor = try SimulatedAppAttestor(app: Self.app)
        let servers = [
            try await Self.server(.optional, attestor),
            try await Self.server(
                .required, attestor, excepted: ["android:apk-key-hash:a", "linux:program:countersign-phone"]),
        ]
        for server in servers {
            try await server.withPublicClient { client in
                _ = try await server.enrolledPhone(client)
                #expect(try await Self.kept(server) == nil)
                #expect(try await server.auditEvents(Self.refused).isEmpty)
            }
        }
        let other = try await Self.server(.required, attestor, excepted: ["android:apk-key-hash:a"])
        try await other.withPublicClient { client in
            try await Self.expectRefused(other, reason: "missing") { _ = try await other.enrolledPhone(client) }
        }
    }

    @Test("An attestation counts for one ceremony: repeated in another one it is refused")
    func repeated() async throws {
        let simulated = try SimulatedAppAttestor(app: Self.app)
        let attestor = RepeatingAttestor(simulated)
        let server = try await Self.server(.required, simulated)
        try await server.withPublicClient { client in
            _ = try await server.enrolledPhone(client, username: "bob", appAttestor: attestor)
            #expect(try await server.auditEvents(Self.attested).count == 1)
            let error = await operationError {
                _ = try await server.enrolledPhone(client, appAttestor: attestor)
            }
            #expect(error?.code == .appAttestation)
            #expect(try await server.auditEvents(Self.refused).map(\.detail) == ["1496 otherClientData"])
        }
    }

    @Test("The same answer a second time has the same judgement, and another one under its challenge is refused")
    func usedChallenge() async throws {
        let attestor = try SimulatedAppAttestor(app: Self.app)
        let server = try await Self.server(.required, attestor)
        try await server.withPublicClient { client in
            let way = ChangedApp(RouterTransport(client: client), hidesWish: false)
            _ = try await server.enrolledPhone(client, appAttestor: attestor) { _ in way }
            let body = try #require(way.registrations.first)
            #expect(try SendUAFResponse(parsing: body).context?.object(AppEvidence.contextMember) != nil)
            var other = try SendUAFResponse(parsing: body)
            other.uafResponse += " "
            for (body, code) in [(body, UAFStatusCode.accepted), (other.serialized, .invalidRequest)] {
                let answer = try await client.execute(
                    uri: "/uaf/1.1/registration", method: .post, headers: [.contentType: "application/fido+uaf"],
                    body: ByteBuffer(bytes: body))
                let verdict = try ServerResponse(parsing: Array(answer.body.readableBytesView))
                #expect(verdict.statusCode == code)
                #expect(try await server.auditEvents(Self.attested).count == 1)
            }
        }
    }

    @Test(
        "Evidence of another form is a bad request, and never an error of the server",
        arguments: [
            #"{}"#, #"{"attestation":"AQ"}"#, #"{"assertion":""}"#,
            #"{"attestation":"AQ","keyId":"a","assertion":"AQ"}"#,
            #"{"attestation":"A","keyId":"a"}"#, #"{"attestation":1}"#,
        ])
    func malformed(evidence: String) async throws {
        let attestor = try SimulatedAppAttestor(app: Self.app)
        let server = try await Self.server(.required, attestor)
        try await server.withPublicClient { client in
            let way = ChangedApp(RouterTransport(client: client), hidesWish: false)
            _ = try await server.enrolledPhone(client, appAttestor: attestor) { _ in way }
            var message = try SendUAFResponse(parsing: try #require(way.registrations.first))
            message.context?[AppEvidence.contextMember] = try JSON(parsing: evidence.utf8)
            let answer = try await client.execute(
                uri: "/uaf/1.1/registration", method: .post, headers: [.contentType: "application/fido+uaf"],
                body: ByteBuffer(bytes: message.serialized))
            #expect(answer.status == .ok)
            let verdict = try ServerResponse(parsing: Array(answer.body.readableBytesView))
            #expect(verdict.statusCode == .badRequest, "\(evidence)")
        }
    }

    // MARK: Further keys of a device

    @Test("A further key of the device needs an assertion of its attested key, whose counter is kept")
    func furtherKey() async throws {
        let attestor = try SimulatedAppAttestor(app: Self.app)
        let server = try await Self.server(.required, attestor)
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client, appAttestor: attestor)
            let before = try #require(try await Self.kept(server))
            try await phone.addFinger()
            let after = try #require(try await Self.kept(server))
            #expect(after.publicKey == before.publicKey && after.counter == 1)
            #expect(try await server.auditEvents(Self.attested).count == 2)
            let account = try await server.assembly.directory.account(username: "alice")
            #expect(try await server.database.credentials(accountID: account.id).count == 2)
        }
    }

    @Test(
        "A counter that has not risen, a foreign app and other data are refused, once in the trail, and add no key",
        arguments: [
            (SimulatedAppAttestor.Fault.counter(0), "counter"), (.app("ABCDE12346.com.example.bank"), "foreignApp"),
            (.otherClientData, "signature"),
        ])
    func furtherKeyRefused(fault: SimulatedAppAttestor.Fault, reason: String) async throws {
        let attestor = try SimulatedAppAttestor(app: Self.app)
        let server = try await Self.server(.optional, attestor)
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client, appAttestor: attestor)
            attestor.lie(fault)
            let error = await operationError { try await phone.addFinger() }
            #expect(error?.code == .appAttestation)
            let device = try await Self.device(server)
            #expect(try await server.database.credentials(accountID: device.accountID).count == 1)
            #expect(try await Self.kept(server)?.counter == 0)
            let events = try await server.auditEvents(Self.refused)
            #expect(events.map(\.detail) == ["1496 \(reason)"] && events.map(\.accountID) == [device.accountID])
            // The device itself stays as it is.
            attestor.lie(nil)
            try await phone.addFinger()
            #expect(try await server.database.credentials(accountID: device.accountID).count == 2)
        }
    }

    @Test("An app that leaves the evidence out adds no key where it is required")
    func furtherKeyMissing() async throws {
        let attestor = try SimulatedAppAttestor(app: Self.app)
        let server = try await Self.server(.required, attestor)
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client, appAttestor: attestor)
            let changed = try await VirtualPhone(
                configuration: phone.client.configuration,
                transport: ChangedApp(RouterTransport(client: client), hidesWish: true),
                storage: InMemoryStorage(phone.storage.snapshot), clock: phone.clock, sensor: phone.sensor,
                appAttestor: attestor)
            let error = await operationError { try await changed.addFinger() }
            #expect(error?.code == .appAttestation)
            #expect(try await server.auditEvents(Self.refused).map(\.detail) == ["1496 missing"])
        }
    }

    @Test("An app that was installed anew has a new key attested, which takes the place of the lost key")
    func lostKey() async throws {
        let attestor = try SimulatedAppAttestor(app: Self.app)
        let server = try await Self.server(.required, attestor)
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client, appAttestor: attestor)
            let before = try #require(try await Self.kept(server))
            attestor.forgetKeys()
            try await phone.addFinger()
            let after = try #require(try await Self.kept(server))
            #expect(after.publicKey != before.publicKey && after.counter == 0)
        }
    }

    @Test("The attested key goes with its device")
    func removed() async throws {
        let attestor = try SimulatedAppAttestor(app: Self.app)
        let server = try await Self.server(.required, attestor)
        try await server.withPublicClient { client in
            _ = try await server.enrolledPhone(client, appAttestor: attestor)
            let device = try await Self.device(server)
            try await server.assembly.directory.deleteDevice(id: device.id, by: "test")
            #expect(try await server.database.appKeys(ofDevice: device.id) == DeviceAppKeys(signingKey: nil, app: nil))
        }
    }
}

/// How an operation ended.
private func operationError(_ body: () async throws -> Void) async -> OperationError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? OperationError
    }
}
