import CountersignTestKit
import Testing
import UAF
import UAFClient

@Suite("Operations parity 45, 50 to 55: tries of a PIN and of a password, cool-downs and the lock")
struct AttemptLimitTests {
    private static let right = "135790"
    private static let wrong = "000000"

    private static let models = [Device.pin, Device.password]

    /// A device with a PIN or a password, after some wrong ones. Cool-downs are waited out.
    private func device(failures: Int, _ model: AuthenticatorModel = Device.pin) async throws -> (Device, KeyName) {
        let device = try Device()
        let name = try await device.register(model).name
        for _ in 0..<failures {
            await self.waitOut(device, name)
            _ = await failure { _ = try await device.sign(name, person: TestPerson(pins: [Self.wrong])) }
        }
        return (device, name)
    }

    private func waitOut(_ device: Device, _ name: KeyName) async {
        if case .lastAttemptFailed(_, let rest)? = try? await device.module.protectionStatus(of: name) {
            device.clock.advance(by: .seconds(rest))
        }
    }

    @Test(
        "After each wrong one the status names the tries left and the waiting time; after the fifth it is locked",
        arguments: models)
    func statuses(model: AuthenticatorModel) async throws {
        let expected: [AuthenticatorProtectionStatus] = [
            .unlocked,
            .lastAttemptFailed(remainingTries: 4, coolDownTimeInSeconds: 0),
            .lastAttemptFailed(remainingTries: 3, coolDownTimeInSeconds: 0),
            .lastAttemptFailed(remainingTries: 2, coolDownTimeInSeconds: 60),
            .lastAttemptFailed(remainingTries: 1, coolDownTimeInSeconds: 180),
            .lockedOut,
        ]
        for failures in 0...5 {
            let (device, name) = try await self.device(failures: failures, model)
            #expect(try await device.module.protectionStatus(of: name) == expected[failures])
        }
    }

    @Test("A right one gives all tries back", arguments: models)
    func successResets(model: AuthenticatorModel) async throws {
        let (device, name) = try await self.device(failures: 4, model)
        await self.waitOut(device, name)
        _ = try await device.sign(name)
        #expect(try await device.module.protectionStatus(of: name) == .unlocked)
    }

    @Test("The person is asked again with the reason until it is right", arguments: models)
    func repeats(model: AuthenticatorModel) async throws {
        let (device, name) = try await self.device(failures: 0, model)
        let person = TestPerson(pins: [Self.wrong, Self.wrong, Self.right])
        _ = try await device.sign(name, person: person)
        #expect(await person.refusals == [nil, .wrong, .wrong])
        #expect(
            await person.statuses == [
                .unlocked, .lastAttemptFailed(remainingTries: 4, coolDownTimeInSeconds: 0),
                .lastAttemptFailed(remainingTries: 3, coolDownTimeInSeconds: 0),
            ])
    }

    @Test("What comes during the cool-down is neither checked nor counted, not even the right one", arguments: models)
    func coolDown(model: AuthenticatorModel) async throws {
        let (device, name) = try await self.device(failures: 3, model)
        let person = TestPerson(pins: [Self.right, Self.wrong, Self.right])
        let ended = await failure { _ = try await device.sign(name, person: person) }
        #expect(ended == OperationFailure(.userCancelled, ""))
        #expect(await person.refusals == [nil, .coolingDown, .coolingDown, .coolingDown])
        let status = try await device.module.protectionStatus(of: name)
        #expect(status == .lastAttemptFailed(remainingTries: 2, coolDownTimeInSeconds: 60))
        device.clock.advance(by: .milliseconds(59_001))
        #expect(
            try await device.module.protectionStatus(of: name)
                == .lastAttemptFailed(remainingTries: 2, coolDownTimeInSeconds: 1))
        device.clock.advance(by: .milliseconds(999))
        _ = try await device.sign(name)
    }

    @Test("The fifth wrong one ends the operation with a lock-out, and later ones do not even ask", arguments: models)
    func lockOut(model: AuthenticatorModel) async throws {
        let (device, name) = try await self.device(failures: 4, model)
        await self.waitOut(device, name)
        let ended = await failure {
            _ = try await device.sign(name, person: TestPerson(pins: [Self.wrong, Self.right]))
        }
        #expect(ended == OperationFailure(.userLockout, ""))
        #expect(ended?.asmStatus == .userLockout)
        let person = TestPerson()
        device.clock.advance(by: .seconds(1_000_000))
        #expect(await failure { _ = try await device.sign(name, person: person) } == OperationFailure(.userLockout, ""))
        #expect(await person.statuses.isEmpty)
    }

    @Test("Moving the wall clock in either direction shortens no cool-down", arguments: [86_400, -86_400, 61, -61])
    func wallClock(seconds: Int) async throws {
        let (device, name) = try await self.device(failures: 3)
        device.clock.advance(by: .seconds(10))
        device.clock.moveWall(by: .seconds(seconds))
        guard case .lastAttemptFailed(2, let rest) = try await device.module.protectionStatus(of: name) else {
            Issue.record("the key is not cooling down")
            return
        }
        #expect(rest >= 50)
        device.clock.advance(by: .seconds(rest))
        _ = try await device.sign(name)
    }

    @Test("After a restart of the device the whole cool-down begins again, once")
    func restart() async throws {
        let (device, name) = try await self.device(failures: 4)
        device.clock.advance(by: .seconds(179))
        device.clock.restart()
        let again = try device.reopened()
        #expect(
            try await again.module.protectionStatus(of: name)
                == .lastAttemptFailed(remainingTries: 1, coolDownTimeInSeconds: 180))
        again.clock.advance(by: .seconds(180))
        #expect(
            try await again.module.protectionStatus(of: name)
                == .lastAttemptFailed(remainingTries: 1, coolDownTimeInSeconds: 0))
        again.clock.restart()
        #expect(
            try await again.module.protectionStatus(of: name)
                == .lastAttemptFailed(remainingTries: 1, coolDownTimeInSeconds: 0))
        _ = try await again.sign(name)
    }

    @Test("A try is spent when the process dies between its reservation and its check", arguments: models)
    func killedBeforeTheCheck(model: AuthenticatorModel) async throws {
        let (device, name) = try await self.device(failures: 0, model)
        struct Killed: Error {}
        device.storage.interruptAfterWrite { name in if name.hasPrefix("attempts-") { throw Killed() } }
        var died = false
        do { _ = try await device.sign(name) } catch is Killed { died = true }
        #expect(died)
        // The right PIN was typed and never looked at: the try is gone all the same.
        let again = try device.reopened()
        #expect(
            try await again.module.protectionStatus(of: name)
                == .lastAttemptFailed(remainingTries: 4, coolDownTimeInSeconds: 0))
    }

    @Test("Dying before each check for ever gives no more than five tries")
    func killedAgainAndAgain() async throws {
        var (device, name) = try await self.device(failures: 0)
        struct Killed: Error {}
        var tries = 0
        while tries < 20 {
            device = try device.reopened()
            await self.waitOut(device, name)
            if try await device.module.protectionStatus(of: name) == .lockedOut { break }
            device.storage.interruptAfterWrite { _ in throw Killed() }
            _ = try? await device.sign(name, person: TestPerson(pins: [Self.wrong]))
            tries += 1
        }
        #expect(tries == 5)
        #expect(try await device.module.protectionStatus(of: name) == .lockedOut)
    }

    @Test("Where a try cannot be written, the PIN is not checked")
    func fullDisk() async throws {
        let (device, name) = try await self.device(failures: 0)
        device.storage.refuseWrites(true)
        await #expect(throws: StorageError(.unavailable, "")) { _ = try await device.sign(name) }
        device.storage.refuseWrites(false)
        #expect(try await device.module.protectionStatus(of: name) == .unlocked)
    }

    @Test("Tries that are missing or unreadable count as locked", arguments: [nil, "", "{}", #"{"failures":-1}"#])
    func damagedLedger(text: String?) async throws {
        let (device, name) = try await self.device(failures: 0)
        let entry = try #require(device.storage.snapshot.keys.first { $0.hasPrefix("attempts-") })
        if let text { try device.storage.write(Array(text.utf8), to: entry) } else { try device.storage.remove(entry) }
        #expect(try await device.module.protectionStatus(of: name) == .lockedOut)
        #expect(await failure { _ = try await device.sign(name) } == OperationFailure(.userLockout, ""))
    }

    @Test("One account's lock leaves another account and another authenticator alone")
    func isolation() async throws {
        let (device, name) = try await self.device(failures: 5)
        let bob = try await device.register(Device.pin, username: "bob").name
        let finger = try await device.register(Device.fingerprint).name
        let password = try await device.register(Device.password).name
        #expect(try await device.module.protectionStatus(of: name) == .lockedOut)
        #expect(try await device.module.protectionStatus(of: password) == .unlocked)
        _ = try await device.sign(password)
        #expect(try await device.module.protectionStatus(of: bob) == .unlocked)
        _ = try await device.sign(bob)
        device.sensor?.feel(.match)
        _ = try await device.sign(finger)
    }

    @Test("Two operations that ask at the same time share the tries")
    func concurrentTries() async throws {
        let (device, name) = try await self.device(failures: 0)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<12 {
                group.addTask {
                    _ = await failure { _ = try await device.sign(name, person: TestPerson(pins: [Self.wrong])) }
                }
            }
        }
        // The third wrong PIN begins a cool-down: the others came too early and were not counted.
        #expect(
            try await device.module.protectionStatus(of: name)
                == .lastAttemptFailed(remainingTries: 2, coolDownTimeInSeconds: 60))
    }
}
