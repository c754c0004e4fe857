import CountersignTestKit
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
        "The sensors feel what they were told, also in the next process, and each its own",
        arguments: [
            (SimulatedSensor.Feeling.match, BiometricReading.match), (.cancel, .cancelled), (.lockout, .lockedOut),
            (.changed, .match),
        ], [SimulatedSensor.Part.finger, .face])
    func feels(told: (SimulatedSensor.Feeling, BiometricReading), part: SimulatedSensor.Part) async throws {
        try await withHome { home in
            let other = SimulatedSensor(part == .finger ? .face : .finger, home: home)
            let before = await other.enrolledSet()
            #expect(try await self.read(SimulatedSensor(part, home: home)) == .match)
            try SimulatedSensor(part, home: home).set(told.0)
            #expect(try await self.read(SimulatedSensor(part, home: home)) == told.1)
            #expect(try await self.read(other) == .match)
            #expect(await other.enrolledSet() == before)
        }
    }

    private func read(_ sensor: SimulatedSensor) async throws -> BiometricReading {
        try await sensor.read(SystemPrompt(), allowingDevicePasscode: false)
    }

    @Test("Where the passcode may replace a finger, the passcode's answer counts, and only if no finger matches")
    func passcodeFallback() async throws {
        try await withHome { home in
            let (sensor, passcode) = (SimulatedSensor(.finger, home: home), SimulatedPasscode(home: home))
            func read() async throws -> BiometricReading {
                try await sensor.read(SystemPrompt(), allowingDevicePasscode: true)
            }
            try passcode.set(.cancel)
            #expect(try await read() == .match)
            for feeling in [SimulatedSensor.Feeling.noMatch, .lockout] {
                try sensor.set(feeling)
                try passcode.set(.match)
                #expect(try await read() == .match)
                try passcode.set(.noMatch)
                #expect(try await read() == .lockedOut)
                try passcode.set(.cancel)
                #expect(try await read() == .cancelled)
            }
            try sensor.set(.cancel)
            try passcode.set(.match)
            #expect(try await read() == .cancelled)
        }
    }

    @Test(
        "The fifth miss in a row locks the sensor, until it is told otherwise",
        arguments: [SimulatedSensor.Part.finger, .face])
    func lockout(part: SimulatedSensor.Part) async throws {
        try await withHome { home in
            let sensor = SimulatedSensor(part, home: home)
            try sensor.set(.noMatch)
            for _ in 1...4 {
                guard case .noMatch(let hint) = try await self.read(sensor) else {
                    Issue.record("locked too early")
                    return
                }
                #expect(hint.contains("simulated") && hint.contains(part.rawValue))
            }
            #expect(try await self.read(sensor) == .lockedOut)
            #expect(try await self.read(sensor) == .lockedOut)
            try sensor.set(.match)
            #expect(try await self.read(sensor) == .match)
        }
    }

    /// Returns the point of a certificate's key on P-256.
    private static func key(of certificate: Data) throws -> Data {
        let head = try #require(certificate.firstRange(of: Data([0x03, 0x42, 0x00, 0x04])))
        return Data(certificate[head.upperBound...].prefix(64))
    }

    @Test("The simulated App Attest vouches for the app that it was told, under one root, until it is taken away")
    func app() async throws {
        try await withHome { home in
            #expect(try SimulatedApp(home: home).attestor() == nil && SimulatedApp(home: home).name == nil)
            try SimulatedApp(home: home).set("ABCDE12345.com.example.bank")
            let first = try #require(try SimulatedApp(home: home).attestor())
            let written = try String(contentsOfFile: "\(home)/app-root.pem", encoding: .utf8)
            #expect(first.app == "ABCDE12345.com.example.bank")
            // A certificate is signed anew each time, by the same key.
            let root = try #require(
                Data(base64Encoded: written.split(separator: "\n").dropFirst().dropLast().joined()))
            #expect(try Self.key(of: root) == Self.key(of: Data(first.root)))
            try SimulatedApp(home: home).set("ABCDE12345.com.example.other")
            let second = try #require(try SimulatedApp(home: home).attestor())
            #expect(second.app == "ABCDE12345.com.example.other")
            #expect(try Self.key(of: Data(second.root)) == Self.key(of: Data(first.root)))
            try SimulatedApp(home: home).set(nil)
            #expect(try SimulatedApp(home: home).attestor() == nil)
        }
        try await withHome { home in
            try SimulatedApp(home: home).set("ABCDE12345.com.example.bank")
            try await withHome { other in
                try SimulatedApp(home: other).set("ABCDE12345.com.example.bank")
                let keys = try [home, other].map { home in
                    try Self.key(of: Data(try #require(try SimulatedApp(home: home).attestor()).root))
                }
                #expect(keys[0] != keys[1])
            }
        }
    }

    @Test("Only a changed set of fingers has another name")
    func enrolledFingers() async throws {
        try await withHome { home in
            let sensor = SimulatedSensor(.finger, home: home)
            let before = await sensor.enrolledSet()
            try sensor.set(.noMatch)
            #expect(await sensor.enrolledSet() == before)
            try sensor.set(.changed)
            #expect(await sensor.enrolledSet() != before)
        }
    }

    @Test(
        "The device's passcode is answered as it was told, also in the next process",
        arguments: [
            (SimulatedPasscode.Knowledge.match, DevicePasscodeReading.match), (.noMatch, .lockedOut),
            (.cancel, .cancelled), (.none, .cancelled),
        ])
    func passcode(told: SimulatedPasscode.Knowledge, reading: DevicePasscodeReading) async throws {
        try await withHome { home in
            #expect(try await SimulatedPasscode(home: home).ask(SystemPrompt()) == .match)
            try SimulatedPasscode(home: home).set(told)
            #expect(try await SimulatedPasscode(home: home).ask(SystemPrompt()) == reading)
        }
    }

    @Test("A passcode that was taken away is another one when it is set again, and only then")
    func passcodeEnrolment() async throws {
        try await withHome { home in
            let passcode = SimulatedPasscode(home: home)
            let first = await passcode.enrolment()
            for knowledge in [SimulatedPasscode.Knowledge.cancel, .noMatch, .match] {
                try passcode.set(knowledge)
                #expect(await passcode.enrolment() == first)
            }
            #expect(first != nil)
            try passcode.set(.none)
            #expect(await passcode.enrolment() == nil)
            try passcode.set(.none)
            try passcode.set(.match)
            let second = await passcode.enrolment()
            #expect(second != nil && second != first)
        }
    }

    @Test("A state that somebody has damaged verifies nobody", arguments: [#"{"feels":"yes"}"#, #"{"feels":1}"#])
    func damaged(text: String) async throws {
        try await withHome { home in
            for name in ["face.json", "passcode.json"] {
                try Data(text.replacingOccurrences(of: "feels", with: name == "face.json" ? "feels" : "answers").utf8)
                    .write(to: URL(fileURLWithPath: "\(home)/\(name)"))
            }
            let isWord = text.contains("yes")
            #expect(try await self.read(SimulatedSensor(.face, home: home)) == (isWord ? .lockedOut : .match))
            #expect(
                try await SimulatedPasscode(home: home).ask(SystemPrompt()) == (isWord ? .cancelled : .match))
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
