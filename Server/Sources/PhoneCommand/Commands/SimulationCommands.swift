import ArgumentParser
import CountersignLinux
import Foundation
import _Primitives

extension SimulatedSensor.Finger: ExpressibleByArgument {}

/// `countersign-phone sensor`: what the simulated sensor feels.
struct SensorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sensor", abstract: "Tell the simulated fingerprint sensor what to feel.",
        discussion: """
            `changed` adds or removes an enrolled finger, after which keys that were made before are gone; the sensor \
            then feels a matching finger again.
            """)

    @Option(help: "match, no-match, cancel, lockout or changed.")
    var fingerprint: SimulatedSensor.Finger?

    @OptionGroup var phone: PhoneOptions

    func run() async throws {
        let report = Report(isJSON: self.phone.json)
        try await report.running {
            try await PhoneDevice.with(self.phone) { device in
                if let finger = self.fingerprint { try device.sensor.set(finger) }
                let now = device.sensor.finger
                report.say(["sensor": .string("fingerprint"), "feels": .string(now), "simulated": .bool(true)]) {
                    $0.print("The simulated fingerprint sensor feels: \(now)")
                }
            }
        }
    }
}

/// `countersign-phone clock`: what the simulated clock shows.
struct ClockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clock", abstract: "Move the simulated clock, as though that time had gone by.")

    @Option(
        parsing: .unconditional, help: "Seconds by which the phone's clocks differ from the machine's, at most a day.")
    var skew: Int?

    @OptionGroup var phone: PhoneOptions

    func validate() throws {
        guard (-SimulatedClock.maximumSkew...SimulatedClock.maximumSkew).contains(self.skew ?? 0) else {
            throw ValidationError("--skew takes at most \(SimulatedClock.maximumSkew) seconds.")
        }
    }

    func run() async throws {
        let report = Report(isJSON: self.phone.json)
        try await report.running {
            try await PhoneDevice.with(self.phone) { device in
                if let skew = self.skew { try SimulatedClock.set(skew: skew, home: device.home) }
                let now = SimulatedClock.skew(home: device.home)
                report.say(["clock": .string("skew"), "seconds": .integer(Int64(now)), "simulated": .bool(true)]) {
                    $0.print("The simulated clock differs from the machine's by \(now) seconds.")
                }
            }
        }
    }
}

/// `countersign-phone wipe`: forgets everything.
struct WipeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wipe", abstract: "Forget every account and key of this phone. The servers are not told.")

    @Flag(help: "Do not ask.")
    var approve = false

    @OptionGroup var phone: PhoneOptions

    func run() async throws {
        let report = Report(isJSON: self.phone.json)
        try await report.running {
            if !self.approve {
                guard report.terminal.isInteractive else { throw Refusal.usage("Without a terminal, say --approve.") }
                guard try await report.terminal.confirm("Forget every account and key of this phone?") else {
                    throw Refusal(.refused, "denied", "denied", "Nothing was forgotten.")
                }
            }
            try await PhoneDevice.with(self.phone) { device in
                try device.storage.removeAll()
                for name in ["sensor.json", "clock.json"] {
                    let path = "\(device.home)/\(name)"
                    if FileManager.default.fileExists(atPath: path) { try FileManager.default.removeItem(atPath: path) }
                }
                report.say(["event": .string("finished"), "outcome": .string("wiped")]) {
                    $0.success("The phone is empty.")
                }
            }
        }
    }
}
