import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAFClient

@Suite("Operations parity 54: an app that has another name than when it was enrolled", .overEachKeyAbility)
struct RenamedAppTests {
    private static let former = "linux:program:test"

    /// The same phone, whose app has another name now.
    private func phone(_ world: World, named facetID: String, _ values: [String: [UInt8]]? = nil) async throws
        -> VirtualPhone
    {
        var configuration = world.phone.client.configuration
        configuration.facetID = facetID
        return try await VirtualPhone(
            configuration: configuration, transport: world.server,
            storage: InMemoryStorage(values ?? world.phone.storage.snapshot), clock: world.phone.clock,
            sensor: world.phone.sensor, camera: world.phone.camera, passcode: world.phone.passcode,
            keys: world.phone.keys, person: world.phone.person)
    }

    private func expectRenamed(_ body: () async throws -> Void) async {
        let error = await operationError(body)
        #expect(error == OperationError(.appRenamed) && error?.formerFacetID == Self.former)
        #expect(error?.recovery == .correctApp)
        #expect(
            error?.localizedDescription
                == "This app was called linux:program:test when it was enrolled. Nothing is lost.")
        #expect(error?.reason.contains("linux:program:renamed") == true)
    }

    @Test("every operation says what the app was called, and nothing is lost by going back") func everyOperation()
        async throws
    {
        let world = try await World()
        try await world.enroll("alice", [World.pin])
        try await world.enroll("alice", [World.fingerprint])
        let renamed = try await self.phone(world, named: "linux:program:renamed")
        let requests = await world.server.requests.count
        await self.expectRenamed {
            _ = try await renamed.client.operations.accountNotices.username("alice").execute()
        }
        await self.expectRenamed {
            _ = try await renamed.client.operations.waitingQuestions.username("alice").execute()
        }
        await self.expectRenamed {
            _ = try await renamed.client.localData.pinProtectionStatus(username: "alice")
        }
        #expect(await world.server.requests.count == requests)
        await self.expectRenamed { _ = try await renamed.authenticate(username: "alice") }
        let payload = try await world.server.authentication()
        await self.expectRenamed { _ = try await renamed.authenticate(payload) }
        #expect(world.phone.person.asked.isEmpty)
        #expect(await renamed.client.localData.accounts.map(\.username) == ["alice"])

        let back = try await self.phone(world, named: Self.former, renamed.storage.snapshot)
        for kind: AuthenticatorDescriptor.Kind in [.pin, .fingerprint] {
            back.person.script.kind = kind
            back.sensor.feel(.match)
            _ = try await back.authenticate(username: "alice")
        }
        #expect(await world.server.accepted.count == 2)
    }

    @Test("an account that is enrolled under the new name answers, beside one that is not") func both() async throws {
        let world = try await World()
        try await world.enroll("alice", [World.pin])
        let renamed = try await self.phone(world, named: "linux:program:renamed")
        _ = try await renamed.enroll(
            try await world.server.registration(for: "bob", policy: World.policy([[World.pin]])))
        _ = try await renamed.authenticate(try await world.server.authentication())
        await self.expectRenamed { _ = try await renamed.authenticate(username: "alice") }
        _ = try await renamed.enroll(
            try await world.server.registration(for: "alice", policy: World.policy([[World.pin]])))
        _ = try await renamed.authenticate(username: "alice")
    }
}

@Suite("Decision 61: an identity whose app has another name than when it was made") struct RenamedIdentityAppTests {
    private let address = "https://id.example"

    private func phone(_ former: VirtualIdentityPhone, named facetID: String) async throws -> VirtualIdentityPhone {
        try await VirtualIdentityPhone(
            server: former.server, storage: InMemoryStorage(former.storage.snapshot), clock: former.clock,
            sensor: former.sensor, configuration: { $0.facetID = facetID })
    }

    private func expectRenamed(_ body: () async throws -> Void) async {
        let error = await #expect(throws: CountersignError.self) { try await body() }
        #expect(error?.errorCode == .appRenamed && error?.formerFacetID == "linux:program:test")
        #expect(
            error?.localizedDescription
                == "This app was called linux:program:test when it was enrolled. Nothing is lost.")
    }

    @Test("every process says what the app was called, and nothing is lost by going back") func everyProcess()
        async throws
    {
        let phone = try await VirtualIdentityPhone.personalized(withFinger: true)
        let renamed = try await self.phone(phone, named: "linux:program:renamed")
        let personalizer = renamed.sdk.personalizer
        await self.expectRenamed { _ = try await renamed.prepare() }
        await self.expectRenamed { _ = try await personalizer.startChangePin(idmIdentifier: self.address) }
        await self.expectRenamed { _ = try await personalizer.startAddAuthenticationFactor(self.address) }
        await self.expectRenamed { _ = try await personalizer.startDeletion(idmIdentifier: self.address) }
        await self.expectRenamed { _ = try await renamed.sdk.biometrics.factor(idmIdentifier: self.address) }
        #expect(try personalizer.personalizedIdentities.count == 1)
        let back = try await self.phone(renamed, named: "linux:program:test")
        #expect(try await back.authenticateByFinger().isUserLogin)
        await back.server.ask { $0 = VirtualIdentityServer.Service() }
        #expect(try await back.authenticate(try await back.data()).isUserLogin)
    }

    @Test("an identity that was taken away without the network is told of under the former name, and waits until then")
    func untoldEnd() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        await phone.server.goDown(true)
        try await phone.sdk.personalizer.depersonalizeIdentityManager(idmIdentifier: self.address)
        await phone.server.goDown(false)
        let renamed = try await self.phone(phone, named: "linux:program:renamed")
        #expect(await phone.server.activeActivations.count == 1)
        _ = try await self.phone(renamed, named: "linux:program:test")
        #expect(await phone.server.activeActivations.isEmpty)
    }

    @Test("a person who wants to leave can, also under the new name") func leaving() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let renamed = try await self.phone(phone, named: "linux:program:renamed")
        try await renamed.sdk.personalizer.depersonalizeIdentityManager(idmIdentifier: self.address)
        #expect(try renamed.sdk.personalizer.personalizedIdentities.isEmpty)
        try await renamed.personalize()
        #expect(try await renamed.authenticate(try await renamed.data()).isUserLogin)
        // The server hears of the one that was taken away when the app has its former name again.
        #expect(await phone.server.activeActivations.count == 2)
        _ = try await self.phone(renamed, named: "linux:program:test")
        #expect(await phone.server.activeActivations.count == 1)
    }
}
