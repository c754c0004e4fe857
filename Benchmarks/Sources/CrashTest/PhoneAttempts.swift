import Foundation
import ServerClients
import _Primitives

/// Enters wrong PINs on the real terminal phone, while the server or the phone itself dies. The number of remaining
/// tries must never grow.
struct PhoneAttempts {
    let program: String
    let folder: String
    let server: Server
    let relyingParty: RelyingParty
    let hazard: Hazard

    private static let pin = "258036"
    /// A third wrong PIN makes the phone wait for a minute, so further tries use another phone.
    private static let triesOfAPhone = 3

    func run(_ findings: inout Findings<Rule>) throws {
        for number in 0..<6 {
            let home = self.folder + "/phone-\(number)"
            try self.enrol("phone-\(number)", home: home)
            // The first try runs without a kill, and measures the phone's duration on a machine as busy as this
            // machine.
            let clock = ContinuousClock()
            let start = clock.now
            let whole = try self.guess(home: home).finish()
            let typical = max(1, Int(seconds(of: start.duration(to: clock.now)) * 1e6))
            var left = try self.triesLeft(home: home)
            findings.check(.noPINAttemptIsGivenBack, left == 4, "\(left) tries after a wrong PIN: \(whole)")
            for attempt in 1..<Self.triesOfAPhone {
                let phone = try self.guess(home: home)
                if (number + attempt) % 2 == 0 {
                    try self.hazard.killWhile(microseconds: typical)
                } else {
                    usleep(UInt32(self.hazard.random(typical)))
                    kill(phone.process.processIdentifier, SIGKILL)
                }
                let said = phone.finish()
                let now = try self.triesLeft(home: home)
                findings.check(.noPINAttemptIsGivenBack, now <= left, "\(left) tries before, \(now) after: \(said)")
                if said.contains("wrong-pin") {
                    findings.check(
                        .noPINAttemptIsGivenBack, now == left - 1, "a wrong PIN was told, \(left) before, \(now) after")
                }
                left = now
            }
        }
    }

    /// Starts a phone with a wrong PIN for a sign-in.
    private func guess(home: String) throws -> PhoneRun {
        var browser = try self.server.connect()
        let code = try self.relyingParty.beginSignIn(on: &browser).typedCode
        return try self.start(
            ["scan", code, "--approve", "--new-browser", "--pin-stdin"], home: home, input: "000000\n")
    }

    private func enrol(_ username: String, home: String) throws {
        var operatorConnection = try self.server.connectOperator()
        let activation = try self.server.activation(username, operator: &operatorConnection)
        let phone = try self.start(["enroll", activation.link, "--pin-stdin"], home: home, input: Self.pin + "\n")
        let said = phone.finish()
        guard
            let number = Self.objects(in: said).lazy.compactMap({ try? $0.string("number") }).first
        else { throw LoadError("the phone shows no number: \(said)") }
        try self.server.confirm(activation.id, number: number, operator: &operatorConnection)
    }

    private func triesLeft(home: String) throws -> Int {
        let said = try self.start(["accounts"], home: home, input: "").finish()
        for object in Self.objects(in: said) {
            if try object.string("pin") == "unlocked" { return 5 }
            if try object.string("pin") == "locked-out" { return 0 }
            if let tries = try object.integer("remainingTries", as: Int.self) { return tries }
        }
        throw LoadError("the phone does not say how its PIN stands: \(said)")
    }

    private static func objects(in text: String) -> [JSONObject] {
        text.split(separator: "\n").compactMap { line in
            guard case .object(let object) = try? JSON(parsing: String(line)) else { return nil }
            return object
        }
    }

    private func start(_ arguments: [String], home: String, input: String) throws -> PhoneRun {
        try PhoneRun(program: self.program, arguments: arguments + ["--json", "--home", home], input: input)
    }
}

/// A run of the terminal phone that may be killed.
struct PhoneRun {
    let process = Process()
    private let output = Pipe()

    init(program: String, arguments: [String], input: String) throws {
        let standardInput = Pipe()
        self.process.executableURL = URL(fileURLWithPath: program)
        self.process.arguments = arguments
        self.process.standardInput = standardInput
        self.process.standardOutput = self.output
        self.process.standardError = FileHandle.nullDevice
        try self.process.run()
        try standardInput.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try standardInput.fileHandleForWriting.close()
    }

    /// Waits for the end of the run, and returns the output.
    func finish() -> String {
        let data = self.output.fileHandleForReading.readDataToEndOfFile()
        self.process.waitUntilExit()
        return String(decoding: data, as: UTF8.self)
    }
}
