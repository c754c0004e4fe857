import Ceremony
import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFClient
import _Primitives

@Suite(
    "Operations parity 54, 55: the way back from a lock, over the account and without any other", .overEachKeyAbility)
struct ReEnrolmentTests {
    /// Types a wrong PIN each time, and waits out each cool-down.
    private struct WrongPins: PinUserVerifier {
        let clock: FakeClock

        func verifyPin(context: PinUserVerificationContext, handler: PinUserVerificationHandler) {
            if case .lastAttemptFailed(_, let seconds) = context.authenticatorProtectionStatus {
                self.clock.advance(by: .seconds(seconds))
            }
            handler.verifyPin("000000")
        }
    }

    private func lock(_ world: World, _ username: Username = "alice") async throws {
        let operation = try await world.operation(try await world.server.authentication(username: username))
        let error = await operationError {
            _ =
                try await world.phone.ready(operation).pinUserVerifier(WrongPins(clock: world.phone.clock)).execute()
                as AuthenticationSuccess
        }
        #expect(error == .fido(.userLockout) && error?.recovery == .replaceLockedKey)
        world.phone.person.forget()
    }

    /// A link for an account whose keys the server names, as it does so that no authenticator holds two.
    private func link(_ world: World, _ username: Username = "alice", _ models: [AuthenticatorModel] = [World.pin])
        async throws -> OutOfBandPayload
    {
        var policy = World.policy([models])
        let keys = await world.server.credentials.filter { $0.value.username == username }
        policy.disallowed = Set(keys.values.map(\.aaid)).map { aaid in
            MatchCriteria(aaid: [aaid], keyIDs: keys.filter { $0.value.aaid == aaid }.map(\.key))
        }
        return try await world.server.registration(for: username, policy: policy)
    }

    private func context(_ world: World) async throws -> JSONObject {
        try #require(await world.server.registrationContexts.last)
    }

    private func keys(_ world: World, _ username: Username = "alice") async -> Set<KeyID> {
        Set(await world.server.credentials.filter { $0.value.username == username }.keys)
    }

    /// Enrols over the account until a number is given; gives the new keys.
    private func enrollAgain(_ world: World, _ models: [AuthenticatorModel] = [World.pin]) async throws -> Set<KeyID> {
        let before = await self.keys(world)
        let payload = try await self.link(world, "alice", models)
        await world.server.judge(ServerResponse(statusCode: .accepted))
        _ = try await world.phone.enroll(payload)
        return await self.keys(world).subtracting(before)
    }

    @Test("An account with a locked PIN is enrolled over: the old key stays until the new one answers, and then goes")
    func locked() async throws {
        var world = try await World()
        try await world.enroll("alice", [World.possession, World.pin])
        let old = await self.keys(world)
        let first = try #require(try await self.context(world).string("deviceSecret"))
        try await world.enroll("bob")
        #expect(Base64URL.decode(first)?.count == 32)
        try await self.lock(world)
        let new = try await self.enrollAgain(world, [World.possession, World.pin])
        let context = try await self.context(world)
        let second = try #require(try context.string("deviceSecret"))
        let replaces = try #require(try context.object("replaces"))
        #expect(second != first)
        #expect(try replaces.strings("secrets") == [first])
        let named = try (replaces.array("keys") ?? []).compactMap { value -> String? in
            guard case .object(let key) = value else { return nil }
            return try key.string("keyID")
        }
        #expect(Set(named) == Set(old.map(\.base64URL)))
        // Not confirmed yet.
        #expect(try await world.phone.client.localData.pinProtectionStatus(username: "alice") == .unlocked)
        world = try await world.restarted()
        #expect(self.tries(world) == 3)
        // Confirmed: the server has taken the old keys away.
        await world.server.forget(old)
        _ = try await world.phone.authenticate(try await world.server.authentication(username: "alice"))
        #expect(Set(await world.server.accepted.last?.assertions.map(\.keyID) ?? []).isSubset(of: new))
        #expect(self.tries(world) == 2)
        #expect(await world.phone.client.localData.accounts.map(\.username) == ["alice", "bob"])
        _ = try await world.phone.authenticate(try await world.server.authentication(username: "bob"))
    }

    private func tries(_ world: World) -> Int {
        world.phone.storage.snapshot.keys.count { $0.hasPrefix("attempts-") }
    }

    @Test("A confirmation that is declined leaves the old key, and a further link can still replace it")
    func declined() async throws {
        let world = try await World()
        try await world.enroll("alice", [World.possession, World.pin])
        let old = await self.keys(world)
        try await self.lock(world)
        let declined = try await self.enrollAgain(world, [World.possession, World.pin])
        await world.server.forget(declined)
        #expect(await world.phone.client.localData.accounts.count == 1)
        let new = try await self.enrollAgain(world, [World.possession, World.pin])
        #expect(!new.isEmpty)
        let replaces = try #require(try await self.context(world).object("replaces"))
        #expect(try replaces.strings("secrets")?.count == 2)
        #expect(try (replaces.array("keys") ?? []).count >= old.count)
        await world.server.forget(old)
        _ = try await world.phone.authenticate(try await world.server.authentication(username: "alice"))
        #expect(self.tries(world) == 1)
    }

    @Test("A locked PIN is also replaced by another authenticator, once that one answers")
    func anotherModel() async throws {
        let world = try await World()
        try await world.enroll()
        let old = await self.keys(world)
        try await self.lock(world)
        _ = try await self.enrollAgain(world, [World.password])
        #expect(self.tries(world) == 2)
        await world.server.forget(old)
        _ = try await world.phone.authenticate(try await world.server.authentication(username: "alice"))
        #expect(self.tries(world) == 1)
        #expect(try await world.phone.client.localData.pinProtectionStatus(username: "alice") == nil)
    }

    @Test(
        "A key that answers stays, whatever the link is for: nothing is replaced, and its authenticator takes no part")
    func living() async throws {
        let world = try await World()
        try await world.enroll()
        _ = try await self.enrollAgain(world, [World.password])
        #expect(try await self.context(world).object("replaces") == nil)
        let again = try await self.link(world, "alice", [World.pin])
        #expect(
            await operationError { _ = try await world.phone.enroll(again) } == .fido(.noSuitableAuthenticator))
        #expect(self.tries(world) == 2)
    }

    @Test("A key of the same model is named to the server although it answers, with its enrolment's secret")
    func sameModel() async throws {
        let world = try await World()
        try await world.enroll()
        let first = try #require(try await self.context(world).string("deviceSecret"))
        try await world.enroll()
        let replaces = try #require(try await self.context(world).object("replaces"))
        #expect(try replaces.strings("secrets") == [first])
        #expect(try replaces.array("keys")?.count == 1)
    }

    @Test("Fingers that changed end a key; an enrolment over it replaces it")
    func lost() async throws {
        let world = try await World()
        try await world.enroll("alice", [World.fingerprint])
        let old = await self.keys(world)
        world.phone.sensor.enroll(Array("another".utf8))
        world.phone.sensor.feel(.match)
        let payload = try await world.server.authentication(username: "alice")
        #expect(
            await operationError { _ = try await world.phone.authenticate(payload) }
                == .fido(.keyDisappearedPermanently))
        world.phone.sensor.feel(.match)
        _ = try await self.enrollAgain(world, [World.fingerprint])
        let replaces = try #require(try await self.context(world).object("replaces"))
        #expect(try replaces.array("keys")?.count == old.count)
    }

    @Test("An account of before, which has no secret, is enrolled over all the same; no device is claimed")
    func before() async throws {
        let world = try await World()
        try await world.enroll()
        var values = world.phone.storage.snapshot
        values["accounts"] = try self.edited(values["accounts"]) { $0["enrolments"] = nil }
        let phone = try await VirtualPhone(
            configuration: world.phone.client.configuration, transport: world.server,
            storage: InMemoryStorage(values), clock: world.phone.clock, person: world.phone.person)
        let operation = try await phone.redeem(try await world.server.authentication(username: "alice"))
        guard case .authentication(let authentication) = operation else {
            throw OperationError(.missingInteraction, "not an authentication")
        }
        let locked = await operationError {
            _ =
                try await phone.ready(authentication).pinUserVerifier(WrongPins(clock: phone.clock)).execute()
                as AuthenticationSuccess
        }
        #expect(locked == .fido(.userLockout))
        _ = try await phone.enroll(try await self.link(world))
        let context = try await self.context(world)
        #expect(try context.object("replaces") == nil && context.string("deviceSecret") != nil)
    }

    /// What is stored of the only account, changed.
    private func edited(_ stored: [UInt8]?, _ change: (inout JSONObject) throws -> Void) throws -> [UInt8] {
        let bytes = try #require(stored)
        var register = try #require(try JSON(parsing: bytes).object)
        var account = try #require(try register.array("accounts")?.first?.object)
        try change(&account)
        register["accounts"] = .array([.object(account)])
        return JSON.object(register).serialized
    }

    @Test("An account of before, whose secrets do not say of which keys, shows them")
    func formerSecrets() async throws {
        let world = try await World()
        try await world.enroll()
        let first = try #require(try await self.context(world).string("deviceSecret"))
        var values = world.phone.storage.snapshot
        values["accounts"] = try self.edited(values["accounts"]) { account in
            account["enrolments"] = nil
            account["secrets"] = .array([.string(first)])
            account["replacements"] = .array([])
        }
        for (name, value) in values { try world.phone.storage.write(value, to: name) }
        let again = try await world.restarted()
        try await self.lock(again)
        _ = try await self.enrollAgain(again)
        #expect(try await self.context(again).object("replaces")?.strings("secrets") == [first])
    }

    @Test("However many enrolments were never confirmed, the next one still proves the confirmed device and its keys")
    func neverConfirmed() async throws {
        var world = try await World()
        let models = [World.possession, World.pin]
        try await world.enroll("alice", models)
        let old = await self.keys(world)
        let first = try #require(try await self.context(world).string("deviceSecret"))
        try await self.lock(world)
        for number in 1...20 {
            let unconfirmed = try await self.enrollAgain(world, models)
            // The operator did not confirm it in time.
            await world.server.forget(unconfirmed)
            let replaces = try #require(try await self.context(world).object("replaces"))
            let secrets = try #require(try replaces.strings("secrets"))
            #expect(secrets.contains(first) && secrets.count == min(number, 8), "after \(number)")
            let named = try (replaces.array("keys") ?? []).map { try $0.object?.string("keyID") }
            #expect(named.count <= 16 && Set(named).isSuperset(of: old.map(\.base64URL)), "after \(number)")
        }
        #expect(self.tries(world) == 1 + 7, "the confirmed one and what the bound leaves")
        world = try await world.restarted()
        await world.server.forget(old)
        let new = try await self.enrollAgain(world, models)
        _ = try await world.phone.authenticate(try await world.server.authentication(username: "alice"))
        #expect(Set(await world.server.accepted.last?.assertions.map(\.keyID) ?? []).isSubset(of: new))
        #expect(self.tries(world) == 1)
        let register = try #require(world.phone.storage.snapshot["accounts"])
        #expect(!String(decoding: register, as: UTF8.self).contains(first), "a secret goes with its keys")
    }

    @Test("A key that was added in the app belongs to the device of the one that authenticated: it keeps the secret")
    func joined() async throws {
        let world = try await World()
        try await world.enroll()
        let first = try #require(try await self.context(world).string("deviceSecret"))
        let phone = world.phone
        let provider = try #require(try await phone.authenticate(username: "alice").authorizationProvider)
        phone.person.script.kind = .fingerprint
        phone.sensor.feel(.match)
        _ =
            try await phone.ready(phone.client.operations.registration.username("alice"))
            .authorizationProvider(provider).execute() as RegistrationResult
        try await phone.client.localData.deleteAuthenticator(username: "alice", aaid: World.pin.aaid.text)
        phone.sensor.enroll(Array("another".utf8))
        phone.sensor.feel(.match)
        let payload = try await world.server.authentication(username: "alice")
        #expect(
            await operationError { _ = try await phone.authenticate(payload) } == .fido(.keyDisappearedPermanently))
        phone.sensor.feel(.match)
        _ = try await self.enrollAgain(world, [World.fingerprint])
        #expect(try await self.context(world).object("replaces")?.strings("secrets") == [first])
    }

    @Test("A full device lets keys of the account go that were never confirmed, before it refuses another one")
    func noRoom() async throws {
        let world = try await World()
        let models = [World.possession, World.pin]
        for number in 0..<123 { try await world.enroll("person-\(number)", models) }
        try await world.enroll("alice", models)
        for _ in 0..<4 {
            await world.server.judge(ServerResponse(statusCode: .accepted))
            try await world.enroll("alice", models)
        }
        #expect(self.tries(world) == 128, "256 keys")
        let stranger = try await world.server.registration(for: "zoe", policy: World.policy([models]))
        let refused = await operationError { _ = try await world.phone.enroll(stranger) }
        #expect(refused == .fido(.insufficientAuthenticatorResources) && refused?.recovery == .makeRoom)
        try await world.enroll("alice", models)
        #expect(self.tries(world) == 124)
        #expect(await world.phone.client.localData.accounts.count == 124)
    }

    @Test("A registration in the app makes no device, and shows no secret")
    func inApp() async throws {
        let world = try await World()
        try await world.enroll()
        let provider = try #require(try await world.phone.authenticate(username: "alice").authorizationProvider)
        let phone = world.phone
        _ =
            try await phone.ready(phone.client.operations.registration.username("alice"))
            .authorizationProvider(provider).execute() as RegistrationResult
        let context = try await self.context(world)
        #expect(try context.string("deviceSecret") == nil && context.object("replaces") == nil)
    }

    @Test("A secret goes to the account's own server alone, and is printed nowhere")
    func anotherServer() async throws {
        let world = try await World()
        try await world.enroll("alice")
        try await self.lock(world)
        _ = try await self.enrollAgain(world)
        let sent = SendUAFResponse(uafResponse: "[]", context: try await self.context(world))
        let secret = try #require(try await self.context(world).string("deviceSecret"))
        #expect(!"\(sent)".contains(secret) && !String(reflecting: sent).contains(secret))
        var dumped = ""
        dump(sent, to: &dumped)
        #expect(!dumped.contains(secret))
        let address = try #require(URL(string: "https://other.example.com"))
        let other = VirtualServer(baseURL: address)
        var configuration = ClientConfiguration(baseURL: address)
        configuration.facetID = "linux:program:test"
        let phone = try await VirtualPhone(
            configuration: configuration, transport: other, storage: InMemoryStorage(world.phone.storage.snapshot))
        let payload = try await other.registration(for: "alice", policy: World.policy([[World.pin]]))
        #expect(
            await operationError { _ = try await phone.enroll(payload) }?.code == .userAlreadyRegisteredInAnotherServer)
        #expect(await other.registrationContexts.isEmpty)
    }

    // MARK: Forgetting

    @Test("Forgetting an account sends nothing, and leaves every other account, also one that is locked")
    func forget() async throws {
        let world = try await World()
        try await world.enroll("alice", [World.possession, World.pin])
        try await world.enroll("bob")
        try await self.lock(world)
        let data = world.phone.client.localData
        let alice = try #require(await data.accounts.first)
        let before = await world.server.requests.count
        try await data.forget(alice)
        #expect(await world.server.requests.count == before)
        #expect(await data.accounts.map(\.username) == ["bob"])
        #expect(self.tries(world) == 1)
        _ = try await world.phone.authenticate(try await world.server.authentication(username: "bob"))
        await #expect(throws: DeleteAuthenticatorError(.unknownUsername)) { try await data.forget(alice) }
        let again = try await world.restarted()
        #expect(await again.phone.client.localData.accounts.map(\.username) == ["bob"])
        // The server is told nothing: it still has the keys, and a new enrolment proves nothing about them.
        #expect(await self.keys(world).count == 2)
        _ = try await world.phone.enroll(try await self.link(world, "alice", [World.password]))
        #expect(try await self.context(world).object("replaces") == nil)
    }

    @Test("An account of that name at another server is another account")
    func forgetElsewhere() async throws {
        let world = try await World()
        try await world.enroll("alice")
        let address = try #require(URL(string: "https://other.example.com"))
        var configuration = ClientConfiguration(baseURL: address)
        configuration.facetID = "linux:program:test"
        let other = VirtualServer(baseURL: address)
        let phone = try await VirtualPhone(configuration: configuration, transport: other)
        _ = try await phone.enroll(try await other.registration(for: "alice", policy: World.policy([[World.pin]])))
        let foreign = try #require(await phone.client.localData.accounts.first)
        await #expect(throws: DeleteAuthenticatorError(.unknownUsername)) {
            try await world.phone.client.localData.forget(foreign)
        }
        world.phone.storage.refuseWrites(true)
        let own = try #require(await world.phone.client.localData.accounts.first)
        await #expect(throws: DeleteAuthenticatorError(.storageError)) {
            try await world.phone.client.localData.forget(own)
        }
        #expect(await world.phone.client.localData.accounts.count == 1)
    }
}

extension JSON {
    /// The members, where it is an object.
    fileprivate var object: JSONObject? {
        if case .object(let object) = self { object } else { nil }
    }
}
