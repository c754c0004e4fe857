import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFClient
import _Primitives

@Suite("UAF Authenticator Commands 1.1 §6.2: keys and counters through crashes")
struct StorageModelTests {
    private struct Killed: Error {}

    @Test("No counter is ever signed twice, wherever the process dies", arguments: 0..<80)
    func countersThroughCrashes(seed: UInt64) async throws {
        var chance = Chance(seed: seed)
        var device = try Device()
        var names: [KeyName] = []
        var signed: [KeyName: [UInt32]] = [:]
        var registered: [UInt32] = []
        for _ in 0..<60 {
            // The process may die after any one of the next writes.
            let survived = Countdown(chance.number(below: 6))
            if chance.number(below: 3) == 0 {
                device.storage.interruptAfterWrite { _ in if survived.isOver() { throw Killed() } }
            }
            do {
                switch chance.number(below: names.isEmpty ? 1 : 6) {
                case 0:
                    let key = try await device.register(chance.number(below: 2) == 0 ? Device.pin : Device.possession)
                    names.append(key.name)
                    registered.append(try key.read().keyRegistrationData.registrationCounter)
                case 1: try await device.module.notify(names[chance.number(below: names.count)], .ok)
                case 2:
                    let name = names.remove(at: chance.number(below: names.count))
                    try await device.module.deregister(appID: Device.facet, aaid: name.aaid, keyID: name.keyID)
                default:
                    let name = names[chance.number(below: names.count)]
                    signed[name, default: []].append(try await device.sign(name).signCounter)
                }
            } catch is Killed {
                device = try device.reopened()
            } catch is OperationFailure {
                // A key that the crash took, or a PIN that crashes have locked.
            }
            device.storage.interruptAfterWrite(nil)
        }
        #expect(signed.values.contains { $0.count > 1 })
        for counters in signed.values { #expect(zip(counters, counters.dropFirst()).allSatisfy { $0 < $1 }) }
        #expect(zip(registered, registered.dropFirst()).allSatisfy { $0 < $1 })
    }

    @Test("A key that was told to be deleted is not there after a crash, or the deletion had not been told")
    func deletionThroughCrash() async throws {
        for survivedWrites in 0..<3 {
            let device = try Device()
            let name = try await device.register(Device.pin).name
            let survived = Countdown(survivedWrites)
            device.storage.interruptAfterWrite { _ in if survived.isOver() { throw Killed() } }
            var isTold = true
            do { try await device.module.deregister(appID: Device.facet) } catch { isTold = false }
            let left = try await device.reopened().module.registrations(appID: Device.facet)
            #expect(left.isEmpty || !isTold)
            #expect(left.isEmpty || left.map(\.name) == [name])
        }
    }

    @Test(
        "A stored key that is damaged in any way is refused, and never crashes the app",
        arguments: [Device.pin, Device.possession])
    func damagedKeys(model: AuthenticatorModel) async throws {
        let device = try Device()
        let name = try await device.register(model).name
        let original = try #require(device.storage.snapshot["authenticators"])
        var refused = 0
        for index in original.indices {
            var values = device.storage.snapshot
            values["authenticators"]?[index] ^= 1
            do {
                let damaged = try Device(storage: InMemoryStorage(values), clock: device.clock)
                _ = try await damaged.sign(name)
            } catch is StorageError {
                refused += 1
            } catch is OperationFailure {
                refused += 1
            }
        }
        // What is not covered by a check: the creation time, the counters' digits, the pending flag's letters.
        #expect(refused > original.count * 8 / 10)
    }

    @Test("A handle that is put in another key's place does not open")
    func exchangedHandles() async throws {
        let device = try Device()
        let first = try await device.register(Device.possession, username: "alice").name
        let second = try await device.register(Device.possession, username: "mallory").name
        guard case .object(var content) = try JSON(parsing: try #require(device.storage.snapshot["authenticators"])),
            case .array(var keys)? = content["keys"], case .object(var one) = keys[0], case .object(let two) = keys[1]
        else {
            Issue.record("the key store is another")
            return
        }
        one["keyHandle"] = two["keyHandle"]
        keys[0] = .object(one)
        content["keys"] = .array(keys)
        var values = device.storage.snapshot
        values["authenticators"] = JSON.object(content).serialized
        let exchanged = try Device(storage: InMemoryStorage(values), clock: device.clock)
        #expect(
            await failure { _ = try await exchanged.sign(first) } == OperationFailure(.authenticatorAccessDenied, ""))
        #expect(try await exchanged.sign(second).signCounter == 1)
    }

    @Test("A key whose counter is used up is gone for good rather than counting from zero")
    func usedUpCounter() async throws {
        let device = try Device()
        let name = try await device.register(Device.possession).name
        let text = String(decoding: try #require(device.storage.snapshot["authenticators"]), as: UTF8.self)
        var values = device.storage.snapshot
        values["authenticators"] = Array(
            text.replacingOccurrences(of: #""signCounter":0"#, with: #""signCounter":4294967294"#).utf8)
        let old = try Device(storage: InMemoryStorage(values), clock: device.clock)
        #expect(try await old.sign(name).signCounter == UInt32.max)
        #expect(
            await failure { _ = try await old.sign(name) } == OperationFailure(.keyDisappearedPermanently, ""))
    }

    @Test("Keys of many accounts stay apart through concurrent operations of all kinds")
    func concurrentOperations() async throws {
        let device = try Device()
        let kept = try await withThrowingTaskGroup(of: KeyName?.self) { group in
            for index in 0..<40 {
                group.addTask {
                    let key = try await device.register(
                        index.isMultiple(of: 2) ? Device.pin : Device.possession, username: "user-\(index)")
                    _ = try await device.sign(key.name)
                    try await device.module.notify(key.name, index.isMultiple(of: 4) ? .forbidden : .ok)
                    return index.isMultiple(of: 4) ? nil : key.name
                }
            }
            return try await group.reduce(into: Set<KeyName>()) { if let name = $1 { $0.insert(name) } }
        }
        let registrations = try await device.reopened().module.registrations(appID: Device.facet)
        #expect(Set(registrations.map(\.name)) == kept && kept.count == 30)
        #expect(registrations.filter(\.isPending).isEmpty)
        for name in kept { #expect(try await device.sign(name).signCounter == 2) }
    }
}

/// How many writes are still survived.
// Safe to share: every access to `left` is within `lock`.
final class Countdown: @unchecked Sendable {
    private let lock = NSLock()
    private var left: Int
    init(_ count: Int) { self.left = count }
    func isOver() -> Bool {
        self.lock.withLock {
            self.left -= 1
            return self.left < 0
        }
    }
}
