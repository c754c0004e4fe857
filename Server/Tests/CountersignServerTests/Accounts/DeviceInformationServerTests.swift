import Accounts
import CeremonyEngine
import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import Hummingbird
import HummingbirdTesting
import Records
import SQLStore
import Testing
import UAF
import UAFClient
import _Primitives

@Suite("Operations parity 15, 65, 66, 69: SDK and server agree on the data about a device (decision 114)")
struct DeviceInformationServerTests {
    private static let address = PushAddress(dispatcher: "pigeon", address: "loft-7")

    /// A phone that has authenticated once, so that its registration has created the target.
    private struct Scene {
        let server: ServerFixture
        let client: any TestClientProtocol
        let phone: VirtualPhone

        var operations: Operations { self.phone.client.operations }

        func account() async throws -> AccountRecord {
            try await self.server.assembly.directory.account(username: "alice")
        }

        func identifier() async throws -> String {
            try #require(await self.phone.client.localData.deviceInformation?.accountIdentifiers.first?.identifier)
        }

        /// What the server has of the phone.
        func target() async throws -> DispatchTargetRecord {
            try #require(try await self.server.database.dispatchTarget(deviceID: try await self.identifier()))
        }

        /// The models of the account's keys at the server.
        func models() async throws -> Set<String> {
            Set(try await self.server.database.credentials(accountID: try await self.account().id).map(\.aaid))
        }

        func kinds() async throws -> [DeviceInformationMismatch.Kind] {
            let result: DeviceInformationCheckResult = try await self.operations.deviceInformationCheck.execute()
            #expect(result.failures.isEmpty)
            return result.mismatches.map(\.kind)
        }

        /// Finds one difference, repairs it, and finds none.
        func repair(_ kind: DeviceInformationMismatch.Kind) async throws {
            #expect(try await self.kinds() == [kind])
            let person = self.phone.person
            let result: DeviceInformationSyncResult = try await self.operations.deviceInformationSync
                .authenticatorSelector(person).pinUserVerifier(person).execute()
            #expect(result.repaired.map(\.kind) == [kind] && result.failures.isEmpty)
            #expect(try await self.kinds().isEmpty)
        }

        /// Changes the target at the server without the phone.
        func changeAtServer(
            name: String? = nil, address: DispatchTargetChange.Member = .kept, isPushWanted: Bool? = nil
        ) async throws {
            let target = try await self.target()
            try await self.server.database.changeDispatchTarget(
                DispatchTargetChange(
                    deviceID: target.deviceID, accountID: target.accountID, name: name, address: address,
                    isPushWanted: isPushWanted,
                    audit: AuditEvent(AuditEvent.Kind(rawValue: "test"), at: self.server.clock.now())))
        }
    }

    private static func with(_ body: @escaping @Sendable (Scene) async throws -> Void) async throws {
        let dispatchers = try Dispatchers.standard.adding(PigeonDispatcher())
        let server = try await ServerFixture(configure: { $0.dispatchers = dispatchers })
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            _ = try await phone.authenticate(username: "alice")
            phone.person.forget()
            try await body(Scene(server: server, client: client, phone: phone))
        }
    }

    @Test("The first authentication after the number creates the target with the told keys; another key reuses it")
    func created() async throws {
        try await Self.with { scene in
            let created = AuditEvent.Kind(rawValue: "dispatch-target-created")
            let first = try await scene.target()
            let account = try await scene.account().id
            #expect(first.name == "Virtual phone" && first.accountID == account && first.encryptionKey != nil)
            #expect(try await scene.server.auditEvents(created).count == 1)
            try await scene.phone.addFinger()
            #expect(try await scene.target() == first)
            #expect(try await scene.server.auditEvents(created).count == 1)
            #expect(try await scene.kinds().isEmpty)
        }
    }

    @Test("A new name is at the server; the name of the person's other phone is refused")
    func renamed() async throws {
        try await Self.with { scene in
            try await scene.operations.deviceInformationChange.name("Alice's phone").execute()
            #expect(try await scene.target().name == "Alice's phone")
            let second = try await scene.server.enrolledPhone(scene.client, isNew: false)
            _ = try await second.authenticate(username: "alice")
            let change = second.client.operations.deviceInformationChange.name("Alice's phone")
            let error = await #expect(throws: OperationError.self) { try await change.execute() }
            #expect(error?.code == .nameAlreadyExists)
            #expect(await second.client.localData.deviceInformation?.name == "Virtual phone")
            let unfit = second.client.operations.deviceInformationChange.name("Alice's\nphone")
            let refused = await #expect(throws: OperationError.self) { try await unfit.execute() }
            #expect(refused?.code == .missingInteraction)
        }
    }

    @Test("The server has the new push address for the next push, and the wish not to be pushed to")
    func pushed() async throws {
        try await Self.with { scene in
            let operations = scene.operations
            try await operations.deviceInformationChange.pushAddress(Self.address).execute()
            var target = try await scene.target()
            #expect(target.dispatcher == "pigeon" && target.address == "loft-7" && target.isPushWanted)
            let newer = PushAddress(dispatcher: "pigeon", address: "loft-8")
            try await operations.deviceInformationChange.pushAddress(newer).disablePushNotifications().execute()
            target = try await scene.target()
            #expect(target.address == "loft-8" && !target.isPushWanted)
            try await operations.deviceInformationChange.pushAddress(nil).execute()
            target = try await scene.target()
            #expect(target.dispatcher == nil && target.address == nil)
            let unknown = operations.deviceInformationChange.fcmRegistrationToken("token")
            let error = await #expect(throws: OperationError.self) { try await unknown.execute() }
            #expect(error?.code == .dispatcherUnknown)
            #expect(scene.phone.person.asked.isEmpty)
        }
    }

    @Test("Each difference in what the server keeps is found and repaired, and the next check is empty")
    func repaired() async throws {
        try await Self.with { scene in
            try await scene.operations.deviceInformationChange.pushAddress(Self.address).execute()
            #expect(try await scene.kinds().isEmpty)
            try await scene.changeAtServer(name: "Somebody's phone")
            try await scene.repair(.name)
            try await scene.changeAtServer(isPushWanted: false)
            try await scene.repair(.pushSetting)
            let ended = try await scene.server.database.endDispatchTarget(
                deviceID: try await scene.identifier(), address: "loft-7", unlessChangedAfter: nil, audit: nil)
            #expect(ended)
            try await scene.repair(.pushAddress)
            let target = try await scene.target()
            #expect(target.name == "Virtual phone" && target.address == "loft-7" && target.isPushWanted)
            #expect(scene.phone.person.asked.isEmpty)
        }
    }

    @Test("A key that only one side has goes from the server by the phone's proof, and from the phone by a message")
    func repairedKeys() async throws {
        try await Self.with { scene in
            let finger = AuthenticatorModel(factor: .fingerprint, keyStore: .file).aaid.text
            try await scene.phone.addFinger()
            #expect(try await scene.models().contains(finger))
            let data = scene.phone.client.localData
            try await data.deleteAuthenticator(username: "alice", aaid: finger)
            try await scene.repair(.authenticator)
            #expect(try await !scene.models().contains(finger))
            try await scene.phone.addFinger()
            let account = try await scene.account().id
            let gone = try await scene.server.database.deregister(
                .model(finger), accountID: account, asker: .anybody,
                audit: AuditEvent(AuditEvent.Kind(rawValue: "test"), at: scene.server.clock.now()), notice: nil,
                ending: { _ in nil })
            #expect(gone == .deregistered(credentials: 1))
            try await scene.repair(.authenticator)
            let left = await data.authenticators.filter { $0.registration.isRegistered(username: "alice") }
            #expect(left.map(\.kind) == [.pin])
            #expect(await data.accounts.count == 1)
        }
    }
}
