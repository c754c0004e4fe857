import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFClient

/// A reproducible chance.
struct Chance {
    private var state: UInt64

    init(seed: UInt64) { self.state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    mutating func number(below limit: Int) -> Int {
        self.state ^= self.state << 13
        self.state ^= self.state >> 7
        self.state ^= self.state << 17
        return Int(self.state >> 33) % limit
    }
}

@Suite("Threat model, Guessing a PIN: the limits of a PIN against whoever holds the device")
struct AttemptModelTests {
    private struct Killed: Error {}

    /// What the holder of a device can do.
    private enum Move: CaseIterable {
        case wrongPin, wait, waitLong, moveWallForward, moveWallBack, restartDevice, killApp, killDuringTry
        case askStatus
    }

    /// Someone who guesses, with everything that the holder of a device can do beside it. Returns how many guesses were
    /// looked at, and how much unmovable time passed between the third, the fourth and the fifth of them.
    private func attack(seed: UInt64, moves: [Move]) async throws -> (guesses: Int, waits: [Int: Duration]) {
        var chance = Chance(seed: seed)
        var device = try Device()
        let name = try await device.register(Device.pin).name
        var guesses = 0
        var elapsed = Duration.zero
        var times: [Int: Duration] = [:]
        func pass(_ duration: Duration) {
            device.clock.advance(by: duration)
            elapsed += duration
        }
        for _ in 0..<120 {
            switch moves[chance.number(below: moves.count)] {
            case .wrongPin:
                let person = TestPerson(pins: ["000000"])
                _ = await failure { _ = try await device.sign(name, person: person) }
                // Asked once: it was the last try. Asked again for being wrong: it was looked at.
                let refusals = await person.refusals
                if refusals == [nil] || refusals.last == .wrong {
                    guesses += 1
                    times[guesses] = elapsed
                }
            case .wait: pass(.seconds(chance.number(below: 30)))
            case .waitLong: pass(.seconds(60 + chance.number(below: 200)))
            case .moveWallForward: device.clock.moveWall(by: .seconds(chance.number(below: 1_000_000)))
            case .moveWallBack: device.clock.moveWall(by: .seconds(-chance.number(below: 1_000_000)))
            case .restartDevice:
                device.clock.restart()
                device = try device.reopened()
            case .killApp: device = try device.reopened()
            case .killDuringTry:
                device.storage.interruptAfterWrite { name in if name.hasPrefix("attempts-") { throw Killed() } }
                _ = try? await device.sign(name, person: TestPerson(pins: ["000000"]))
                device = try device.reopened()
            case .askStatus: _ = try await device.module.protectionStatus(of: name)
            }
            if try await device.module.protectionStatus(of: name) == .lockedOut { break }
        }
        let waits = [
            4: (times[4] ?? .seconds(1_000_000)) - (times[3] ?? .zero),
            5: (times[5] ?? .seconds(1_000_000)) - (times[4] ?? .zero),
        ]
        return (guesses, waits)
    }

    @Test("Whatever the holder does, five guesses are looked at at most", arguments: 0..<150)
    func fiveGuesses(seed: UInt64) async throws {
        #expect(try await self.attack(seed: seed, moves: Move.allCases).guesses <= 5)
    }

    @Test("Setting clocks and starting again brings no guess forward", arguments: 0..<150)
    func noShortcut(seed: UInt64) async throws {
        let moves: [Move] = [
            .wrongPin, .wrongPin, .wait, .waitLong, .moveWallForward, .moveWallBack, .restartDevice, .killApp,
            .askStatus,
        ]
        let result = try await self.attack(seed: seed, moves: moves)
        #expect(try #require(result.waits[4]) >= .seconds(60))
        #expect(try #require(result.waits[5]) >= .seconds(180))
    }

    @Test("The attack above does reach the lock where it waits, so that the limits above say something")
    func attackReachesTheLock() async throws {
        var mostGuesses = 0
        for seed in 0..<20 as Range<UInt64> {
            mostGuesses = max(mostGuesses, try await self.attack(seed: seed, moves: [.wrongPin, .waitLong]).guesses)
        }
        #expect(mostGuesses == 5)
    }

    @Test("A right PIN between the wrong ones gives all five back, as often as it comes", arguments: 1...4)
    func alternating(failures: Int) async throws {
        let device = try Device()
        let name = try await device.register(Device.pin).name
        for _ in 0..<4 {
            for _ in 0..<failures {
                _ = await failure { _ = try await device.sign(name, person: TestPerson(pins: ["000000"])) }
                device.clock.advance(by: .seconds(180))
            }
            _ = try await device.sign(name)
            #expect(try await device.module.protectionStatus(of: name) == .unlocked)
        }
    }

    @Test("A limit of one's own holds as well, and a limit without waiting locks after its tries")
    func ownLimit() async throws {
        let limit = CoolDownRule(coolDowns: [.zero])
        #expect(limit.tries == 2 && CoolDownRule().tries == 5)
        let storage = InMemoryStorage()
        let module = try AuthenticatorModule(
            platform: DevicePlatform(storage: storage, clock: FakeClock()),
            configuration: AuthenticatorModule.Configuration(
                callerID: try FacetID(Device.facet), coolDownRule: limit,
                pinHardening: PinHardening(rounds: 2, blockSize: 1, parallelism: 1)))
        let key = try await module.register(
            Device.pin, appID: Device.facet, username: "alice", finalChallenge: "c", attestationType: .basicSurrogate,
            verification: TestPerson())
        let person = TestPerson(pins: ["000000", "111111", "135790"])
        let ended = await failure {
            _ = try await module.authenticate(
                key.name, appID: Device.facet, finalChallenge: "c", transaction: nil, verification: person)
        }
        #expect(ended == OperationFailure(.userLockout, ""))
        #expect(await person.pins == ["135790"])
    }

    @Test("The cost of a try is kept with the key: another default later changes nothing for it")
    func hardening() async throws {
        let device = try Device()
        let name = try await device.register(Device.pin).name
        let module = try AuthenticatorModule(
            platform: DevicePlatform(storage: device.storage, clock: device.clock),
            configuration: AuthenticatorModule.Configuration(
                callerID: try FacetID(Device.facet), pinHardening: PinHardening(rounds: 4, blockSize: 2, parallelism: 2)
            ))
        _ = try await module.authenticate(
            name, appID: Device.facet, finalChallenge: "c", transaction: nil, verification: TestPerson())
        #expect(PinHardening().rounds == 32_768 && PinHardening().blockSize == 8 && PinHardening().parallelism == 1)
    }
}
