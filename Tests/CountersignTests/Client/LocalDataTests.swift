import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFClient

@Suite("Operations parity 59, 60: local data", .overEachKeyAbility)
struct LocalDataTests {
    @Test("Accounts and authenticators follow each registration and deletion, also after a restart")
    func follows() async throws {
        var world = try await World()
        #expect(await world.phone.client.localData.accounts.isEmpty)
        try await world.enroll("alice")
        try await world.enroll("alice", [World.fingerprint])
        try await world.enroll("bob")
        world = try await world.restarted()
        func registered(_ kind: AuthenticatorDescriptor.Kind) async -> [Username]? {
            await world.phone.client.localData.authenticators.first { $0.kind == kind }?
                .registration.registeredAccounts.map(\.username)
        }
        #expect(await world.phone.client.localData.accounts.map(\.username) == ["alice", "bob"])
        #expect(await registered(.pin) == ["alice", "bob"])
        #expect(await registered(.fingerprint) == ["alice"])
        try await world.phone.client.localData.deleteAuthenticator(username: "alice", aaid: World.pin.aaid.text)
        #expect(await registered(.pin) == ["bob"])
        #expect(await world.phone.client.localData.accounts.map(\.username) == ["alice", "bob"])
        try await world.phone.client.localData.deleteAuthenticator(username: "alice")
        world = try await world.restarted()
        #expect(await registered(.fingerprint) == [])
        #expect(await world.phone.client.localData.accounts.map(\.username) == ["bob"])
    }

    @Test("What the device has, who is enrolled with it, and who is registered: right after each change")
    func flags() async throws {
        let world = try await World()
        typealias Kind = AuthenticatorDescriptor.Kind
        let kinds: Set<Kind> = [.pin, .password, .fingerprint, .face, .devicePasscode, .devicePossession]
        func authenticators(_ isTold: (AuthenticatorDescriptor) -> Bool) async -> Set<Kind> {
            Set(await world.phone.client.localData.authenticators.filter(isTold).map(\.kind))
        }
        func registered(_ name: Username) async -> Set<Kind> {
            await authenticators { $0.registration.isRegistered(username: name) }
        }
        #expect(await authenticators { _ in true } == kinds)
        #expect(await authenticators(\.isSupportedByHardware) == kinds)
        #expect(await authenticators(\.isUserEnrolled) == kinds)
        #expect(await registered("alice").isEmpty)

        // Registration by registration.
        try await world.enroll("alice", [World.pin])
        #expect(await registered("alice") == [.pin])
        #expect(await world.phone.client.localData.accounts.map(\.username) == ["alice"])
        try await world.enroll("alice", [World.fingerprint])
        #expect(await registered("alice") == [.pin, .fingerprint])
        #expect(await registered("bob").isEmpty)
        try await world.enroll("bob", [World.face])
        #expect(await registered("bob") == [.face])
        #expect(await registered("alice") == [.pin, .fingerprint])
        #expect(await world.phone.client.localData.accounts.map(\.username) == ["alice", "bob"])

        // Enrolment with the operating system, which is no registration.
        world.phone.sensor.enroll(nil)
        #expect(await authenticators(\.isUserEnrolled) == kinds.subtracting([.fingerprint]))
        world.phone.camera.enroll(nil)
        world.phone.passcode.enroll(nil)
        #expect(
            await authenticators(\.isUserEnrolled) == kinds.subtracting([.fingerprint, .face, .devicePasscode]))
        #expect(await authenticators(\.isSupportedByHardware) == kinds)
        world.phone.camera.enroll(Array("enrolled".utf8))
        #expect(await authenticators(\.isUserEnrolled).contains(.face))

        // Deletion by deletion.
        try await world.phone.client.localData.deleteAuthenticator(
            username: "alice", aaid: World.fingerprint.aaid.text)
        #expect(await registered("alice") == [.pin])
        #expect(await registered("bob") == [.face])
        try await world.phone.client.localData.deleteAuthenticator(username: "alice", aaid: World.pin.aaid.text)
        #expect(await registered("alice").isEmpty)
        #expect(await world.phone.client.localData.accounts.map(\.username) == ["bob"])
        try await world.phone.client.localData.deleteAuthenticator(username: "bob")
        #expect(await registered("bob").isEmpty)
        #expect(await world.phone.client.localData.accounts.isEmpty)
    }

    @Test("A device without sensors and passcode says which authenticators it has no hardware for")
    func hardware() async throws {
        var configuration = ClientConfiguration(baseURL: try #require(URL(string: "https://id.example.com")))
        configuration.facetID = "linux:program:test"
        let client = try await MobileAuthenticationClientInitializer().configuration(configuration)
            .platform(DevicePlatform(storage: InMemoryStorage(), clock: FakeClock()))
            .transport(VirtualServer(baseURL: configuration.baseURL))
            .execute()
        let told = await client.localData.authenticators
        #expect(told.filter(\.isSupportedByHardware).map(\.kind) == [.pin, .password, .devicePossession])
        #expect(told.count == 6)
    }

    @Test("Deleting sends nothing, and the deleted authenticator answers nothing any more")
    func offline() async throws {
        let world = try await World()
        try await world.enroll("alice", [World.pin, World.possession])
        let before = await world.server.requests.count
        try await world.phone.client.localData.deleteAuthenticator(username: "alice", aaid: World.pin.aaid.text)
        #expect(await world.server.requests.count == before)
        // A silent key alone is no account.
        #expect(await world.isEmpty())
        let payload = try await world.server.authentication()
        #expect(
            await operationError { _ = try await world.phone.authenticate(payload) } == .fido(.noSuitableAuthenticator))
        // All of an account's at once, too.
        try await world.enroll("bob", [World.pin])
        try await world.enroll("bob", [World.password])
        let later = await world.server.requests.count
        try await world.phone.client.localData.deleteAuthenticator(username: "bob")
        #expect(await world.server.requests.count == later)
        #expect(await world.phone.client.localData.accounts.isEmpty)
    }

    @Test("A wrong model and a wrong name are typed errors that delete nothing")
    func wrongNames() async throws {
        let world = try await World()
        try await world.enroll("alice")
        let data = world.phone.client.localData
        for aaid in [World.fingerprint.aaid.text, "", "C516#9999", "x"] {
            await #expect(throws: DeleteAuthenticatorError(.invalidAaid)) {
                try await data.deleteAuthenticator(username: "alice", aaid: aaid)
            }
        }
        await #expect(throws: DeleteAuthenticatorError(.unknownUsername)) {
            try await data.deleteAuthenticator(username: "bob")
        }
        #expect(await data.accounts.count == 1)
    }

    @Test("A full disk is a typed error, and everything is still there")
    func fullDisk() async throws {
        let world = try await World()
        try await world.enroll("alice")
        world.phone.storage.refuseWrites(true)
        await #expect(throws: DeleteAuthenticatorError(.storageError)) {
            try await world.phone.client.localData.deleteAuthenticator(username: "alice")
        }
        let payload = try await world.server.authentication()
        #expect(await operationError { _ = try await world.phone.authenticate(payload) }?.code == .storageError)
        world.phone.storage.refuseWrites(false)
        _ = try await world.phone.authenticate(try await world.server.authentication())
    }

    @Test("The PIN's standing is shown for accounts that have one")
    func pinStatus() async throws {
        let world = try await World()
        try await world.enroll("alice")
        try await world.enroll("bob", [World.fingerprint])
        let data = world.phone.client.localData
        #expect(try await data.pinProtectionStatus(username: "alice") == .unlocked)
        #expect(try await data.pinProtectionStatus(username: "bob") == nil)
        #expect(try await data.pinProtectionStatus(username: "carol") == nil)
    }
}

@Suite("Operations parity 1, 4: initialisation", .overEachKeyAbility)
struct InitializationTests {
    private func initialize(_ storage: InMemoryStorage, _ change: (inout ClientConfiguration) -> Void = { _ in }) async
        -> InitializationError?
    {
        var configuration = ClientConfiguration(baseURL: URL(string: "https://id.example.com")!)
        change(&configuration)
        do {
            _ =
                try await MobileAuthenticationClientInitializer().configuration(configuration)
                .platform(DevicePlatform(storage: storage, clock: FakeClock())).execute()
            return nil
        } catch {
            return error as? InitializationError
        }
    }

    @Test("A configuration and a platform give a client, which says what store it has")
    func client() async throws {
        for isDevelopmentStore in [true, false] {
            let client =
                try await MobileAuthenticationClientInitializer()
                .configuration(ClientConfiguration(baseURL: URL(string: "https://id.example.com")!))
                .platform(
                    DevicePlatform(storage: InMemoryStorage(isDevelopmentStore: isDevelopmentStore), clock: FakeClock())
                ).execute()
            #expect(client.isDevelopmentStore == isDevelopmentStore)
            #expect(client.configuration.baseURL.absoluteString == "https://id.example.com")
        }
    }

    @Test("A missing part, a wrong facet and a second execution are typed errors")
    func mistakes() async throws {
        let clock = FakeClock()
        let configuration = ClientConfiguration(baseURL: URL(string: "https://id.example.com")!)
        let platform = DevicePlatform(storage: InMemoryStorage(), clock: clock)
        for initializer in [
            MobileAuthenticationClientInitializer(), MobileAuthenticationClientInitializer().platform(platform),
            MobileAuthenticationClientInitializer().configuration(configuration),
            MobileAuthenticationClientInitializer().configuration(ClientConfiguration(baseURL: URL(string: "/x")!))
                .platform(platform),
        ] {
            await #expect(throws: InitializationError(.invalidConfiguration)) {
                _ = try await initializer.execute()
            }
            await #expect(throws: InitializationError(.operationReused)) {
                _ = try await initializer.execute()
            }
        }
        #expect(
            await self.initialize(InMemoryStorage()) { $0.facetID = "" } == InitializationError(.invalidConfiguration))
    }

    @Test(
        "A cost of a PIN that scrypt does not take is a typed error",
        arguments: [
            PinHardening(rounds: 3), PinHardening(rounds: 0), PinHardening(rounds: 1), PinHardening(rounds: 1 << 21),
            PinHardening(blockSize: 0), PinHardening(blockSize: 33), PinHardening(parallelism: 0),
            PinHardening(parallelism: 17),
        ])
    func hardening(cost: UAFClient.PinHardening) async {
        await #expect(throws: InitializationError(.invalidConfiguration)) {
            _ =
                try await MobileAuthenticationClientInitializer().pinHardening(cost)
                .configuration(ClientConfiguration(baseURL: URL(string: "https://id.example.com")!))
                .platform(DevicePlatform(storage: InMemoryStorage(), clock: FakeClock())).execute()
        }
    }

    @Test("A storage that is corrupt or fails is a typed error", arguments: ["accounts", "authenticators", "module"])
    func corrupt(name: String) async {
        for value in [
            "", "[]", "{}", #"{"version":0}"#,
            #"{"version":1,"accounts":[{"username":"x"}],"registrationCounter":0.5}"#,
        ] {
            let error = await self.initialize(InMemoryStorage([name: Array(value.utf8)]))
            #expect(error == InitializationError(.storageCorrupt))
        }
    }

    @Test(
        "What a later version has written is kept for it, and not called corrupt",
        arguments: ["accounts", "authenticators"])
    func newer(name: String) async {
        let stored = [name: Array(#"{"version":1000}"#.utf8)]
        let storage = InMemoryStorage(stored)
        #expect(await self.initialize(storage) == InitializationError(.storageNewer))
        #expect(storage.snapshot == stored)
    }

    @Test("A disk that takes nothing is a typed error")
    func unavailable() async {
        let storage = InMemoryStorage()
        storage.refuseWrites(true)
        #expect(await self.initialize(storage) == InitializationError(.storageUnavailable))
    }

    @Test("A device that was not unlocked yet is a typed error, and has its accounts once it is unlocked")
    func protected() async throws {
        let world = try await World()
        try await world.enroll("alice")
        let values = world.phone.storage.snapshot
        let storage = InMemoryStorage(values)
        storage.protect(true)
        #expect(await self.initialize(storage) == InitializationError(.storageUnavailable))
        #expect(storage.snapshot == values)
        storage.protect(false)
        let client =
            try await MobileAuthenticationClientInitializer().configuration(world.phone.client.configuration)
            .platform(DevicePlatform(storage: storage, clock: world.phone.clock)).execute()
        #expect(await client.localData.accounts.map(\.username) == ["alice"])
    }

    @Test("The SDK tells its version and the app's facet")
    func metaData() {
        #expect(!MetaData.mobileAuthenticationVersion.isEmpty)
        #expect(
            MetaData.applicationFacetID.hasPrefix("linux:program:")
                || MetaData.applicationFacetID.hasPrefix("ios:bundle-id:"))
        #expect(ClientConfiguration(baseURL: URL(string: "https://x.example")!).facetID == MetaData.applicationFacetID)
    }
}
