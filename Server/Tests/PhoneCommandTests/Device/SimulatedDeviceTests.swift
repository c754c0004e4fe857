import Foundation
import Testing
import UAFClient
import _Primitives

@testable import PhoneCommand

/// A folder for the time of one test.
private func withHome(_ body: (String) async throws -> Void) async throws {
    let home = NSTemporaryDirectory() + "phone-" + RandomSource.system.token(byteCount: 8)
    try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: home) }
    try await body(home)
}

@Suite("The simulated sensor and clock do as they are told")
struct SimulatedDeviceTests {
    @Test(
        "The sensor feels what it was told, also in the next process",
        arguments: [
            (SimulatedSensor.Finger.match, BiometricReading.match), (.cancel, .cancelled), (.lockout, .lockedOut),
            (.changed, .match),
        ])
    func feels(finger: SimulatedSensor.Finger, reading: BiometricReading) async throws {
        try await withHome { home in
            #expect(try await SimulatedSensor(home: home).read(allowingDevicePasscode: false) == .match)
            try SimulatedSensor(home: home).set(finger)
            #expect(try await SimulatedSensor(home: home).read(allowingDevicePasscode: false) == reading)
        }
    }

    @Test("The fifth wrong finger in a row locks the sensor, until it is told otherwise")
    func lockout() async throws {
        try await withHome { home in
            let sensor = SimulatedSensor(home: home)
            try sensor.set(.noMatch)
            for _ in 1...4 {
                guard case .noMatch = try await sensor.read(allowingDevicePasscode: false) else {
                    Issue.record("locked too early")
                    return
                }
            }
            #expect(try await sensor.read(allowingDevicePasscode: false) == .lockedOut)
            #expect(try await sensor.read(allowingDevicePasscode: false) == .lockedOut)
            try sensor.set(.match)
            #expect(try await sensor.read(allowingDevicePasscode: false) == .match)
        }
    }

    @Test("Only a changed set of fingers has another name")
    func enrolledFingers() async throws {
        try await withHome { home in
            let sensor = SimulatedSensor(home: home)
            let before = await sensor.enrolledSet()
            try sensor.set(.noMatch)
            #expect(await sensor.enrolledSet() == before)
            try sensor.set(.changed)
            #expect(await sensor.enrolledSet() != before)
        }
    }

    @Test("The clock is moved, and the time since the start with it", arguments: [600, -600])
    func clock(skew: Int) async throws {
        try await withHome { home in
            let before = try SimulatedClock(home: home)
            try SimulatedClock.set(skew: skew, home: home)
            let after = try SimulatedClock(home: home)
            #expect(abs((after.now() - before.now()).components.seconds - Int64(skew)) <= 5)
            #expect(abs((after.uptime() - before.uptime()).components.seconds - Int64(skew)) <= 5)
            #expect(after.bootIdentifier == before.bootIdentifier)
        }
    }
}
