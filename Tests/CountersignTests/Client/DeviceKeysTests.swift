import Countersign
import CountersignTestKit
import Testing
import UAF
import UAFClient

@Suite("Decision 59: a phone whose chip keeps its keys")
struct ChipTests {
    private static func model(_ factor: AuthenticatorModel.Factor) -> AuthenticatorModel {
        AuthenticatorModel(factor: factor, keyStore: .secureEnclave)
    }

    @Test("It enrols and answers as its own models, and its storage holds no key")
    func models() async throws {
        let world = try await World(keyStore: .secureEnclave)
        let models = [Self.model(.pin), Self.model(.devicePossession)]
        try await world.enroll("alice", models)
        let payload = try await world.server.authentication(policy: World.policy([models]), username: "alice")
        #expect(try await world.phone.authenticate(payload).account.username == "alice")
        #expect(await world.server.accepted.last?.assertions.map(\.aaid.text).sorted() == ["C516#3001", "C516#3006"])
        let aaids = await world.phone.client.localData.authenticators.map(\.aaid)
        #expect(aaids == (1...6).map { "C516#300\($0)" })
        // With all of the storage, but not the chip, nobody signs.
        let copied = try await World().restarted(with: world.phone.storage.snapshot)
        #expect(await copied.phone.client.localData.accounts.map(\.username) == ["alice"])
        let error = await operationError {
            _ = try await copied.phone.authenticate(
                try await copied.server.authentication(policy: World.policy([models])))
        }
        #expect(error == .fido(.noSuitableAuthenticator))
    }

    @Test("A chip that judges no PIN for now ends an operation, and the person tries again: the key is not locked")
    func lockedChip() async throws {
        let keys = VerifyingKeys(keyStore: .tpm)
        let world = try await World().restarted(with: [:], keys: keys)
        try await world.enroll("alice", [AuthenticatorModel(factor: .pin, keyStore: .tpm)])
        keys.lockSecrets(true)
        world.phone.person.script.changedPins = ["864209"]
        for _ in 1...6 {
            let authentication = await operationError {
                _ = try await world.phone.authenticate(try await world.server.authentication())
            }
            #expect(authentication == .fido(.userLockout) && authentication?.recovery == .tryAgain)
            let change = await operationError { try await ChangedSecret.pin.change(world) }
            #expect(change == .fido(.userLockout) && change?.recovery == .tryAgain)
        }
        #expect(try await ChangedSecret.pin.status(world) == .unlocked)
        keys.lockSecrets(false)
        #expect(
            try await world.phone.authenticate(try await world.server.authentication()).account.username == "alice")
    }

    @Test("A policy for keys in a file is not met by it, and one for its keys not by a file")
    func otherModels() async throws {
        for (world, model) in [
            (try await World(keyStore: .secureEnclave), World.pin), (try await World(), Self.model(.pin)),
        ] {
            let error = await operationError { try await world.enroll("alice", [model]) }
            #expect(error == .fido(.noSuitableAuthenticator))
        }
    }

    @Test(
        "A phone that was enrolled with keys in its storage answers by them once it has a chip, and enrols anew there")
    func formerKeys() async throws {
        let stored = try await StoredPhone("phone-1").updated()
        let keys = VerifyingKeys(
            keyStore: .secureEnclave, fingerprintSensor: stored.phone.sensor, faceSensor: stored.phone.camera,
            devicePasscode: stored.phone.passcode)
        let world = try await stored.restarted(with: stored.phone.storage.snapshot, keys: keys)
        let models = [World.pin, World.possession]
        let payload = try await world.server.authentication(policy: World.policy([models]), username: "alice")
        #expect(try await world.phone.authenticate(payload).account.username == "alice")
        // The two by which the device speaks for itself, which it tells the server with its first answer.
        #expect(keys.count == 2)
        // And the new key.
        try await world.enroll("alice", [Self.model(.pin)])
        #expect(keys.count == 3)
        let error = await operationError { try await world.enroll("dora", [World.pin]) }
        #expect(error == .fido(.noSuitableAuthenticator))
    }
}
