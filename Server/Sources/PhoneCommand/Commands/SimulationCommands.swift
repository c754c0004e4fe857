import ArgumentParser
import CountersignLinux
import Foundation
import _Primitives

extension SimulatedSensor.Feeling: ExpressibleByArgument {}
extension SimulatedPasscode.Knowledge: ExpressibleByArgument {}

/// `countersign-phone sensor`: sets the readings of the simulated sensors, and the answer to the simulated passcode.
struct SensorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sensor", abstract: "Tell the simulated sensors and the simulated device passcode what to do.",
        discussion: """
            `changed` adds or removes an enrolled finger or face, after which keys that were made before are gone; the \
            sensor then feels a match again. `none` takes the device's passcode away; setting one again is another \
            one, and keys that were made before are gone. Without an option, what all of them do now is shown.
            """)

    @Option(help: "match, no-match, cancel, lockout or changed.")
    var fingerprint: SimulatedSensor.Feeling?

    @Option(help: "match, no-match, cancel, lockout or changed.")
    var face: SimulatedSensor.Feeling?

    @Option(help: "match, no-match (wrong ones until the device locks), cancel or none.")
    var passcode: SimulatedPasscode.Knowledge?

    @OptionGroup var phone: PhoneOptions

    func run() async throws {
        let report = Report(isJSON: self.phone.json, language: self.phone.messageLanguage)
        try await report.running {
            let device = try PhoneDevice(self.phone)
            if let fingerprint { try device.fingerprintSensor.set(fingerprint) }
            if let face { try device.faceSensor.set(face) }
            if let passcode { try device.passcode.set(passcode) }
            let isAll = self.fingerprint == nil && self.face == nil && self.passcode == nil
            if isAll || self.fingerprint != nil {
                Self.show("fingerprint", "sensor feels", device.fingerprintSensor.feeling, report)
            }
            if isAll || self.face != nil { Self.show("face", "sensor feels", device.faceSensor.feeling, report) }
            if isAll || self.passcode != nil {
                Self.show("passcode", "is answered with", device.passcode.knowledge.rawValue, report)
            }
        }
    }

    private static func show(_ name: String, _ verb: String, _ now: String, _ report: Report) {
        report.say(["sensor": .string(name), "feels": .string(now), "simulated": .bool(true)]) {
            $0.print("The simulated \(name) \(verb): \(now)")
        }
    }
}

/// `countersign-phone clock`: moves or shows the simulated clock.
struct ClockCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clock", abstract: "Move the simulated clock, as though that time had gone by.")

    @Option(
        parsing: .unconditional, help: "Seconds by which the phone's clocks differ from the machine's, at most a day.")
    var skew: Int?

    @OptionGroup var phone: PhoneOptions

    func validate() throws {
        guard (-PhoneLimits.clockSkew...PhoneLimits.clockSkew).contains(self.skew ?? 0) else {
            throw ValidationError("--skew takes at most \(PhoneLimits.clockSkew) seconds.")
        }
    }

    func run() async throws {
        let report = Report(isJSON: self.phone.json, language: self.phone.messageLanguage)
        try await report.running {
            let device = try PhoneDevice(self.phone)
            if let skew = self.skew { try SimulatedClock.set(skew: skew, home: device.home) }
            let now = SimulatedClock.skew(home: device.home)
            report.say(["clock": .string("skew"), "seconds": .integer(Int64(now)), "simulated": .bool(true)]) {
                $0.print("The simulated clock differs from the machine's by \(now) seconds.")
            }
        }
    }
}

/// `countersign-phone wipe`: deletes all data of the phone.
struct WipeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wipe", abstract: "Forget every account and key of this phone. The servers are not told.")

    @Flag(help: "Do not ask.")
    var approve = false

    @OptionGroup var phone: PhoneOptions

    func run() async throws {
        let report = Report(isJSON: self.phone.json, language: self.phone.messageLanguage)
        try await report.running {
            if !self.approve {
                guard report.terminal.isInteractive else { throw Refusal.usage("Without a terminal, say --approve.") }
                guard try await report.terminal.confirm("Forget every account and key of this phone?") else {
                    throw Refusal(.refused, .denied, "denied", "Nothing was forgotten.")
                }
            }
            // A phone whose chip is gone can be wiped too.
            let home = self.phone.homePath
            try PhoneDevice.storage(home: home).removeAll()
            try SignInDevice.wipe(home: home)
            for name in SimulatedState.names {
                let path = "\(home)/\(name)"
                if FileManager.default.fileExists(atPath: path) { try FileManager.default.removeItem(atPath: path) }
            }
            report.say(["event": .string("finished"), "outcome": .outcome(.wiped)]) {
                $0.success("The phone is empty.")
            }
        }
    }
}

/// `countersign-phone app`: sets or shows the app for which the simulated App Attest vouches.
struct AppCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app", abstract: "Tell the simulated App Attest which app this is.",
        discussion: """
            Registrations at servers that ask for it then have an attestation, under a root of this phone's own: its \
            certificate is written to app-root.pem in the phone's folder. A server for trying out takes it with \
            `countersign serve --simulated-app-root`. Without an option, what is simulated is shown.
            """)

    @Option(help: "The app, as TEAM.BUNDLE: ABCDE12345.com.example.bank.")
    var name: String?

    @Flag(help: "Simulate no App Attest.")
    var none = false

    @OptionGroup var phone: PhoneOptions

    func validate() throws {
        if self.none, self.name != nil { throw ValidationError("--none excludes --name.") }
    }

    func run() async throws {
        let report = Report(isJSON: self.phone.json, language: self.phone.messageLanguage)
        try await report.running {
            let app = SimulatedApp(home: try PhoneDevice(self.phone).home)
            if self.none || self.name != nil { try app.set(self.name) }
            guard let name = app.name else {
                report.say(["simulated": .bool(true)]) { $0.print("No App Attest is simulated.") }
                return
            }
            report.say(["app": .string(name), "root": .string(app.rootPath), "simulated": .bool(true)]) {
                $0.print("The simulated App Attest vouches for \(name). The certificate of its root: \(app.rootPath)")
            }
        }
    }
}
