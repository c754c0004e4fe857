import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFClient
import _Primitives

@Suite("Decision 59: keys that verify while they sign, and are never given out")
struct DeviceKeysTests {
    /// A device with such keys, and these.
    private static func device(
        keyStore: AuthenticatorModel.KeyStore = .secureEnclave, storage: InMemoryStorage = InMemoryStorage()
    ) throws -> (device: Device, keys: VerifyingKeys) {
        let (sensor, camera, passcode) = (ScriptedSensor(), ScriptedSensor(), ScriptedPasscode())
        let keys = VerifyingKeys(
            keyStore: keyStore, fingerprintSensor: sensor, faceSensor: camera, devicePasscode: passcode)
        return (
            try Device(
                storage: storage, sensor: sensor, camera: camera, systemPasscode: passcode, keys: keys), keys
        )
    }

    private static func model(_ factor: AuthenticatorModel.Factor) -> AuthenticatorModel {
        AuthenticatorModel(factor: factor, keyStore: .secureEnclave)
    }

    @Test("Each factor registers and signs, also after a restart", arguments: AuthenticatorModel.Factor.allCases)
    func everyFactor(factor: AuthenticatorModel.Factor) async throws {
        let made = try Self.device()
        var device = made.device
        let keys = made.keys
        let key = try await device.register(Self.model(factor))
        #expect(key.name.aaid == Self.model(factor).aaid && keys.count == 1)
        #expect(try key.read().attestation.type == .basicSurrogate)
        for counter in UInt32(1)...2 {
            device = try device.reopened()
            device.recognise(Self.model(factor))
            #expect(try await device.sign(key.name).signCounter == counter)
        }
    }

    @Test("A wrong PIN is found out by the signature: it costs a try, and no counter is used twice")
    func wrongPin() async throws {
        let (device, _) = try Self.device()
        let name = try await device.register(Self.model(.pin)).name
        let person = TestPerson(pins: ["111111", "135790"])
        #expect(try await device.sign(name, person: person).signCounter == 1)
        #expect(await person.refusals == [nil, .wrong])
        #expect(
            await person.statuses
                == [.unlocked, .lastAttemptFailed(remainingTries: 4, coolDownTimeInSeconds: 0)])
        #expect(try await device.module.protectionStatus(of: name) == .unlocked)
        // Two wrong ones, and the person gives up: the number that was counted for it is never seen.
        let forgetful = TestPerson(pins: ["111111", "222222"])
        #expect(
            await failure { _ = try await device.sign(name, person: forgetful) }
                == OperationFailure(.userCancelled, ""))
        #expect(
            try await device.module.protectionStatus(of: name)
                == .lastAttemptFailed(remainingTries: 3, coolDownTimeInSeconds: 0))
        #expect(try await device.sign(name).signCounter == 3)
    }

    @Test("Five wrong PINs lock the key, whatever the device would still try")
    func lock() async throws {
        let (device, _) = try Self.device()
        let name = try await device.register(Self.model(.pin)).name
        for _ in 1...5 {
            _ = await failure { _ = try await device.sign(name, person: TestPerson(pins: ["111111"])) }
            device.clock.advance(by: .seconds(180))
        }
        #expect(await failure { _ = try await device.sign(name) } == OperationFailure(.userLockout, ""))
        #expect(try await device.reopened().module.protectionStatus(of: name) == .lockedOut)
    }

    @Test("A key store that judges nothing takes no try, and its lock is told apart from the key's own")
    func unjudged() async throws {
        let (device, keys) = try Self.device(keyStore: .tpm)
        let name = try await device.register(AuthenticatorModel(factor: .pin, keyStore: .tpm)).name
        _ = await failure { _ = try await device.sign(name, person: TestPerson(pins: ["111111"])) }
        let before = try await device.module.protectionStatus(of: name)
        #expect(before == .lastAttemptFailed(remainingTries: 4, coolDownTimeInSeconds: 0))
        keys.lockSecrets(true)
        for pin in ["135790", "111111", "135790", "135790", "135790"] {
            let refused = await failure { _ = try await device.sign(name, person: TestPerson(pins: [pin])) }
            #expect(refused == OperationFailure(.userLockout, "") && refused?.lockHolder == .keyStore)
            let changed = await failure {
                try await device.module.changeSecret(of: name) { _, _ in
                    SecretChange(old: SecretBytes(utf8: pin), new: SecretBytes(utf8: "246802"))
                }
            }
            #expect(changed == OperationFailure(.userLockout, "") && changed?.lockHolder == .keyStore)
        }
        #expect(try await device.module.protectionStatus(of: name) == before)
        keys.lockSecrets(false)
        #expect(try await device.sign(name).signCounter > 1)
        #expect(try await device.module.protectionStatus(of: name) == .unlocked)
    }

    @Test("A key store that fails before it judges takes no try, and the operation ends with the store's error")
    func uncounted() async throws {
        let (device, keys) = try Self.device(keyStore: .tpm)
        let name = try await device.register(AuthenticatorModel(factor: .pin, keyStore: .tpm)).name
        keys.failBeforeSecrets(StorageError(.unavailable, ""))
        for pin in ["135790", "111111", "135790", "135790", "135790", "135790"] {
            await #expect(throws: StorageError(.unavailable, "")) {
                _ = try await device.sign(name, person: TestPerson(pins: [pin]))
            }
            await #expect(throws: StorageError(.unavailable, "")) {
                try await device.module.changeSecret(of: name) { _, _ in
                    SecretChange(old: SecretBytes(utf8: pin), new: SecretBytes(utf8: "246802"))
                }
            }
        }
        #expect(try await device.module.protectionStatus(of: name) == .unlocked)
        keys.failBeforeSecrets(nil)
        #expect(try await device.sign(name).signCounter > 1)
    }

    @Test("A try that is taken while another one is judged stays spent when that one was right")
    func triesAtOnce() async throws {
        let keys = GatedKeys()
        let device = try Device(keys: keys)
        let name = try await device.register(Device.pin).name
        await keys.gate.close()
        async let right = device.sign(name)
        await keys.gate.untilSomebodyWaits()
        let wrong = await failure { _ = try await device.sign(name, person: TestPerson(pins: ["111111"])) }
        #expect(wrong == OperationFailure(.userCancelled, ""))
        await keys.gate.open()
        _ = try await right
        #expect(
            try await device.module.protectionStatus(of: name)
                == .lastAttemptFailed(remainingTries: 4, coolDownTimeInSeconds: 0))
    }

    @Test("The operating system is asked by the signature: once for each, with what came of it")
    func systemDialog() async throws {
        let (device, _) = try Self.device()
        let model = Self.model(.fingerprint)
        let name = try await device.register(model).name
        let sensor = try #require(device.sensor)
        #expect(sensor.readingCount == 1)
        let person = TestPerson()
        sensor.feel(.noMatch(hint: "dry"), .match)
        #expect(try await device.sign(name, person: person).signCounter == 1)
        #expect(await person.hints == [nil, "dry"])
        #expect(sensor.readingCount == 3)
        sensor.feel(.cancelled, .lockedOut)
        #expect(await failure { _ = try await device.sign(name) } == OperationFailure(.userCancelled, ""))
        let locked = await failure { _ = try await device.sign(name) }
        #expect(locked == OperationFailure(.userLockout, "") && locked?.lockHolder == .operatingSystem)
        sensor.fail(.timedOut)
        sensor.feel(.match)
        #expect(try await device.sign(name).signCounter > 1)
    }

    @Test("An app's code that says that there was a match gets no signature")
    func untrueMatch() async throws {
        let (device, keys) = try Self.device()
        let model = Self.model(.fingerprint)
        let name = try await device.register(model).name
        #expect(
            await failure {
                _ = try await device.module.authenticate(
                    name, appID: Device.facet, finalChallenge: "challenge", transaction: nil,
                    verification: CredulousPerson())
            } == OperationFailure(.authenticatorAccessDenied, ""))
        #expect(
            await failure {
                _ = try await device.module.register(
                    model, appID: Device.facet, username: "mallory", finalChallenge: "challenge",
                    attestationType: .basicSurrogate, verification: CredulousPerson())
            } == OperationFailure(.authenticatorAccessDenied, ""))
        #expect(keys.count == 1)
    }

    @Test("A registration that ends in between leaves no key on the device, and nothing in the storage")
    func interruptedRegistration() async throws {
        let (device, keys) = try Self.device()
        let before = device.storage.snapshot.keys.sorted()
        device.sensor?.feel(.cancelled)
        #expect(
            await failure {
                _ = try await device.module.register(
                    Self.model(.fingerprint), appID: Device.facet, username: "alice", finalChallenge: "challenge",
                    attestationType: .basicSurrogate, verification: TestPerson())
            } == OperationFailure(.userCancelled, ""))
        #expect(keys.count == 0)
        #expect(await device.module.registrations(appID: Device.facet).isEmpty)
        device.storage.refuseWrites(true)
        await #expect(throws: StorageError(.unavailable, "")) { try await device.register(Self.model(.pin)) }
        #expect(keys.count == 0)
        device.storage.refuseWrites(false)
        keys.refuseKeys(true)
        #expect(
            await failure { try await device.register(Self.model(.pin)) }
                == OperationFailure(.insufficientAuthenticatorResources, ""))
        #expect(Set(device.storage.snapshot.keys).subtracting(before).isSubset(of: ["authenticators"]))
    }

    @Test("A person who gives up a registration hears this, also where the new key cannot be deleted yet")
    func givenUpOnFullDisk() async throws {
        let (device, keys) = try Self.device()
        let person = TestPerson()
        await person.whileAsked { [storage = device.storage] in storage.refuseWrites(true) }
        device.sensor?.feel(.cancelled)
        #expect(
            await failure {
                _ = try await device.module.register(
                    Self.model(.fingerprint), appID: Device.facet, username: "alice", finalChallenge: "challenge",
                    attestationType: .basicSurrogate, verification: person)
            } == OperationFailure(.userCancelled, ""))
        device.storage.refuseWrites(false)
        #expect(await device.module.registrations(appID: Device.facet).map(\.isPending) == [true])
        try await device.module.deleteAll(except: [])
        #expect(keys.count == 0)
    }

    @Test("Fingers that change while the registration's dialog waits are nobody's")
    func enrolledMeanwhile() async throws {
        let (device, keys) = try Self.device()
        let sensor = try #require(device.sensor)
        let thief = TestPerson()
        await thief.whileAsked { sensor.enroll(Array("another set".utf8)) }
        let ended = await failure { try await device.register(Self.model(.fingerprint), person: thief) }
        #expect(ended == OperationFailure(.authenticatorAccessDenied, ""))
        #expect(keys.count == 0)
    }

    @Test("A key that the device has lost is gone here too")
    func lost() async throws {
        let (device, keys) = try Self.device()
        let name = try await device.register(Self.model(.pin)).name
        keys.lose()
        #expect(
            await failure { _ = try await device.sign(name) } == OperationFailure(.keyDisappearedPermanently, ""))
        #expect(await device.module.registrations(appID: Device.facet).isEmpty)
        #expect(!device.storage.snapshot.keys.contains { $0.hasPrefix("attempts-") })
    }

    @Test("A key that is gone or has ended is called so where it cannot be deleted, and the next use deletes it")
    func lostOnFullDisk() async throws {
        let (device, keys) = try Self.device()
        let lost = try await device.register(Self.model(.devicePossession)).name
        keys.lose()
        let ended = try await device.register(Self.model(.fingerprint)).name
        device.sensor?.enroll(Array("another set".utf8))
        // The counter of the lost key is written before its signature is tried.
        device.storage.interruptAfterWrite { [storage = device.storage] _ in storage.refuseWrites(true) }
        for name in [lost, ended] {
            #expect(
                await failure { _ = try await device.sign(name) } == OperationFailure(.keyDisappearedPermanently, ""))
        }
        #expect(await device.module.registrations(appID: Device.facet).map(\.name) == [lost, ended])
        device.storage.interruptAfterWrite(nil)
        device.storage.refuseWrites(false)
        for name in [lost, ended] { _ = await failure { _ = try await device.sign(name) } }
        #expect(await device.module.registrations(appID: Device.facet).isEmpty)
    }

    @Test("What is deleted here is deleted on the device")
    func deleted() async throws {
        let (device, keys) = try Self.device()
        let first = try await device.register(Self.model(.pin)).name
        _ = try await device.register(Self.model(.devicePossession)).name
        try await device.module.deregister(appID: Device.facet, aaid: first.aaid, keyID: first.keyID)
        #expect(keys.count == 1)
        try await device.reopened().module.deleteAll(except: [])
        #expect(keys.count == 0)
    }

    @Test("Another PIN opens the same key, the old one does not, and the device keeps one key")
    func changedPin() async throws {
        let (device, keys) = try Self.device()
        let name = try await device.register(Self.model(.pin)).name
        let answers = [("111111", "246802"), ("135790", "246802")].map {
            SecretChange(old: SecretBytes(utf8: $0.0), new: SecretBytes(utf8: $0.1))
        }
        try await device.module.changeSecret(of: name) { _, lastError in lastError == nil ? answers[0] : answers[1] }
        #expect(keys.count == 1)
        let again = try device.reopened()
        let person = TestPerson(pins: ["135790", "246802"])
        #expect(try await again.sign(name, person: person).signCounter == 1)
        #expect(await person.refusals == [nil, .wrong])
        device.storage.refuseWrites(true)
        await #expect(throws: StorageError.self) {
            try await device.module.changeSecret(of: name) { _, _ in
                SecretChange(old: SecretBytes(utf8: "246802"), new: SecretBytes(utf8: "135790"))
            }
        }
        #expect(keys.count == 1)
    }

    @Test("A change that is cancelled, or whose try cannot be given back, leaves the device one key, under the old PIN")
    func unfinishedChange() async throws {
        let (device, keys) = try Self.device()
        let name = try await device.register(Self.model(.pin)).name
        let change = SecretChange(old: SecretBytes(utf8: "135790"), new: SecretBytes(utf8: "246802"))
        let cancelled = Task {
            try await device.module.changeSecret(of: name) { _, _ in
                withUnsafeCurrentTask { $0?.cancel() }
                return change
            }
        }
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        #expect(keys.count == 1)
        device.storage.interruptAfterWrite { [storage = device.storage] _ in storage.refuseWrites(true) }
        await #expect(throws: StorageError.self) { try await device.module.changeSecret(of: name) { _, _ in change } }
        #expect(keys.count == 1)
        device.storage.interruptAfterWrite(nil)
        device.storage.refuseWrites(false)
        #expect(try await device.sign(name).signCounter == 1)
    }

    @Test("A key opens to its own app and AppID alone, whatever the storage says")
    func boundKey() async throws {
        let (device, keys) = try Self.device()
        let name = try await device.register(Self.model(.devicePossession)).name
        var values = device.storage.snapshot
        let text = String(decoding: try #require(values["authenticators"]), as: UTF8.self)
        values["authenticators"] = Array(
            text.replacingOccurrences(
                of: #""callerID":"\#(Device.facet)""#, with: #""callerID":"linux:program:other""#
            ).utf8)
        let other = try Device(
            storage: InMemoryStorage(values), clock: device.clock, keys: keys, facet: "linux:program:other")
        #expect(await other.module.registrations(appID: Device.facet).map(\.name) == [name])
        #expect(await failure { _ = try await other.sign(name) } == OperationFailure(.authenticatorAccessDenied, ""))
        #expect(try await device.sign(name).signCounter == 1)
    }

    @Test("Keys that were made in the storage answer on; new ones are the device's, and nobody is told of the others")
    func formerStore() async throws {
        let before = try Device()
        let former = try await before.register(Device.pin).name
        let (device, keys) = try Self.device(storage: InMemoryStorage(before.storage.snapshot))
        #expect(try await device.sign(former).signCounter == 1)
        #expect(await failure { try await device.register(Device.pin) } != nil)
        let name = try await device.register(Self.model(.pin)).name
        #expect(name.aaid.text == "C516#3001" && keys.count == 1)
        let statuses = await device.module.authenticators
        #expect(statuses.filter { !$0.makesKeys }.map(\.model) == [Device.pin])
        #expect(statuses.filter(\.makesKeys).map(\.model) == AuthenticatorModel.Factor.allCases.map(Self.model))
        let client = MessageClient(module: device.module, facetID: try FacetID(Device.facet)) { _ in
            throw CancellationError()
        }
        let discovered = await client.discover().availableAuthenticators.map(\.info.aaid)
        #expect(discovered == AuthenticatorModel.Factor.allCases.map { Self.model($0).aaid })
        // On a device without those keys again, they are closed, and the others open.
        let after = try Device(storage: InMemoryStorage(device.storage.snapshot))
        #expect(await failure { _ = try await after.sign(name) } == OperationFailure(.authenticatorAccessDenied, ""))
        #expect(try await after.sign(former).signCounter == 2)
    }

    @Test("An attestation that the device has nothing for is refused")
    func unattested() async throws {
        let keys = VerifyingKeys()
        let key = try keys.make(
            DeviceKeyName(kind: "test", id: [1], accessToken: []), owner: "alice", lock: .none)
        await #expect(throws: DeviceKeyError.unattested) {
            _ = try await keys.attest(
                [1], as: .basicFull, with: key.handle, of: DeviceKeyName(kind: "test", id: [1], accessToken: []),
                unlocking: .none)
        }
    }
}

/// An app that is content with whatever it asks.
private struct CredulousPerson: UserInteraction {
    func enrollSecret(_ model: AuthenticatorModel) async throws -> SecretBytes { SecretBytes([]) }
    func verifySecret(_ model: AuthenticatorModel, status: AuthenticatorProtectionStatus, lastError: SecretRefusal?)
        async throws -> SecretBytes
    { SecretBytes([]) }
    func verifyBiometric(
        _ model: AuthenticatorModel, hint: String?,
        read: @escaping @Sendable (SystemPrompt) async throws -> BiometricReading
    ) async throws -> BiometricReading { .match }
    func verifyDevicePasscode(
        _ model: AuthenticatorModel, ask: @escaping @Sendable (SystemPrompt) async throws -> DevicePasscodeReading
    ) async throws -> DevicePasscodeReading { .match }
}

/// A door that one signature at a time can be made to wait at.
private actor Gate {
    private var isClosed = false
    private var waiting: CheckedContinuation<Void, Never>?
    private var watchers: [CheckedContinuation<Void, Never>] = []

    func close() { self.isClosed = true }

    func open() {
        self.isClosed = false
        self.waiting?.resume()
        self.waiting = nil
    }

    func pass() async {
        guard self.isClosed, self.waiting == nil else { return }
        await withCheckedContinuation { continuation in
            self.waiting = continuation
            for watcher in self.watchers { watcher.resume() }
            self.watchers = []
        }
    }

    func untilSomebodyWaits() async {
        guard self.waiting == nil else { return }
        await withCheckedContinuation { self.watchers.append($0) }
    }
}

/// Keys whose signatures can be made to wait.
private struct GatedKeys: DeviceKeys {
    let gate = Gate()
    private let keys = VerifyingKeys()

    var keyStore: AuthenticatorModel.KeyStore { self.keys.keyStore }
    var verifiesWhileSigning: Bool { true }

    func make(_ name: DeviceKeyName, owner: String, lock: KeyLock) throws -> NewDeviceKey {
        try self.keys.make(name, owner: owner, lock: lock)
    }
    func check(_ handle: [UInt8], of name: DeviceKeyName, unlocking: KeyUnlock) throws {}
    func sign(_ message: [UInt8], with handle: [UInt8], of name: DeviceKeyName, unlocking: KeyUnlock) async throws
        -> [UInt8]
    {
        await self.gate.pass()
        return try await self.keys.sign(message, with: handle, of: name, unlocking: unlocking)
    }
    func relock(_ handle: [UInt8], of name: DeviceKeyName, from old: SecretBytes, to new: SecretBytes) throws -> [UInt8]
    { try self.keys.relock(handle, of: name, from: old, to: new) }
    func makeAgreementKey(_ name: DeviceKeyName) throws -> NewDeviceKey { try self.keys.makeAgreementKey(name) }
    func agree(with point: [UInt8], by handle: [UInt8], of name: DeviceKeyName) throws -> SecretBytes {
        try self.keys.agree(with: point, by: handle, of: name)
    }
    func delete(_ handle: [UInt8], of name: DeviceKeyName) { self.keys.delete(handle, of: name) }
}
