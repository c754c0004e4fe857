import Crypto
import Foundation
import ServerClients
import UAF
import _Primitives

/// The number of repetitions of an operation, and the cost of each.
struct Measurement: Sendable {
    let count: Int
    let seconds: Double
    /// Processor time of the server for each repetition, in microseconds.
    let serverMicroseconds: Double
    /// Processor time of the load generator for each repetition, in microseconds.
    let generatorMicroseconds: Double

    var perSecond: Double { Double(self.count) / self.seconds }

    var whereTimeGoes: String {
        String(
            format: "%.0f µs of processor time in the server, %.0f µs in the load generator beside it",
            self.serverMicroseconds, self.generatorMicroseconds)
    }
}

extension Measurement {
    /// Combines two operations with the same number of repetitions into one.
    static func + (first: Measurement, second: Measurement) -> Measurement {
        Measurement(
            count: first.count, seconds: first.seconds + second.seconds,
            serverMicroseconds: first.serverMicroseconds + second.serverMicroseconds,
            generatorMicroseconds: first.generatorMicroseconds + second.generatorMicroseconds)
    }
}

/// Runs `body`, which returns the number of repetitions. Measures the time of a server's process and of this process.
func measured(_ process: Int32, _ body: () throws -> Int) rethrows -> Measurement {
    let clock = ContinuousClock()
    let (server, generator) = (processorSeconds(of: process), processorSeconds(of: getpid()))
    let start = clock.now
    let count = try body()
    let elapsed = seconds(of: start.duration(to: clock.now))
    return Measurement(
        count: count, seconds: elapsed,
        serverMicroseconds: (processorSeconds(of: process) - server) / Double(max(1, count)) * 1e6,
        generatorMicroseconds: (processorSeconds(of: getpid()) - generator) / Double(max(1, count)) * 1e6)
}

/// The times of complete sign-ins.
struct Latency {
    let sortedMilliseconds: [Double]
    /// The person's name at the relying party.
    let subject: String
    /// The cookies of the browser that was signed in.
    let session: [String]
    /// The device, with its present counter.
    let device: SoftwareDevice

    func percentile(_ percent: Int) -> Double {
        self.sortedMilliseconds[min(self.sortedMilliseconds.count - 1, self.sortedMilliseconds.count * percent / 100)]
    }
}

/// The phases of the measurement. Each phase starts after its data is prepared.
struct Run: Sendable {
    let server: Server
    let process: Int32
    let connections: Int

    func enrol(_ count: Int) throws -> [SoftwareDevice] {
        let devices = Shared<[SoftwareDevice]>([])
        try onThreads(8) { index in
            var phone = try self.server.connect()
            var operatorConnection = try self.server.connectOperator()
            for number in stride(from: index, to: count, by: 8) {
                let device = try self.server.enrol("bench-\(number)", operator: &operatorConnection, phone: &phone)
                devices.withLock { $0.append(device) }
            }
        }
        return devices.withLock { $0 }
    }

    func measure(_ body: () throws -> Int) rethrows -> Measurement { try measured(self.process, body) }

    /// Each thread uses its keys in turn, so that no key has two answers under way.
    func authenticate(_ devices: [SoftwareDevice], for span: Duration) throws -> (
        measured: Measurement, devices: [SoftwareDevice]
    ) {
        let clock = ContinuousClock()
        let done = Shared<[SoftwareDevice]>([])
        let count = Shared(0)
        let end = clock.now + span
        let measured = try self.measure {
            try onThreads(self.connections) { index in
                var own = stride(from: index, to: devices.count, by: self.connections).map { devices[$0] }
                var connection = try self.server.connect()
                var answered = 0
                while clock.now < end {
                    try self.server.authenticate(&own[answered % own.count], on: &connection)
                    answered += 1
                }
                let (devices, total) = (own, answered)
                count.withLock { $0 += total }
                done.withLock { $0 += devices }
            }
            return count.withLock { $0 }
        }
        return (measured, done.withLock { $0 })
    }

    /// Tokens are dispatched first. Only their redeeming is timed.
    func redeem(_ relyingParty: RelyingParty, subject: String, count: Int) throws -> Measurement {
        let tokens = Shared<[String]>([])
        try onThreads(self.connections) { index in
            var connection = try self.server.connect()
            for _ in stride(from: index, to: count, by: self.connections) {
                let token = try relyingParty.dispatched(in: try connection.exchange(relyingParty.dispatch(subject)))
                    .token
                tokens.withLock { $0.append(token) }
            }
        }
        let all = tokens.withLock { $0 }
        return try self.measure {
            try onThreads(self.connections) { index in
                var connection = try self.server.connect()
                for number in stride(from: index, to: all.count, by: self.connections) {
                    _ = try self.server.redeem(all[number], on: &connection)
                }
            }
            return all.count
        }
    }

    /// Measures complete sign-ins, one after the other: from the start of the phone's answer to the arrival of the
    /// waiting page's event.
    func latency(_ relyingParty: RelyingParty, _ device: SoftwareDevice, rounds: Int) throws -> Latency {
        let clock = ContinuousClock()
        var device = device
        var milliseconds: [Double] = []
        var person: (subject: String, session: [String])?
        for _ in 0..<rounds {
            var browser = try self.server.connect()
            var events = try self.server.connect()
            var phone = try self.server.connect()
            let signIn = try relyingParty.beginSignIn(on: &browser)
            try events.send("GET", signIn.eventsPath, headers: signIn.cookies + ["Accept: text/event-stream"], body: [])
            try events.wait(for: "\"waiting\"")
            guard let message = try self.server.redeem(signIn.typedCode, on: &phone).uafRequest else {
                throw LoadError("no request for the sign-in")
            }
            try events.wait(for: "\"claimed\"")
            let body = try device.authentication(for: AuthenticationRequest(parsing: message.utf8))
            let start = clock.now
            let answer = self.server.authenticationAnswer(body)
            try phone.send(answer.method, answer.path, headers: answer.headers, body: answer.body)
            try events.wait(for: "\"approved\"")
            milliseconds.append(seconds(of: start.duration(to: clock.now)) * 1000)
            let judged = try ServerResponse(parsing: try phone.receive().body)
            guard judged.statusCode == .ok else { throw LoadError("sign-in refused: \(judged.statusCode)") }
            if person == nil { person = try relyingParty.finish(signIn, on: &browser) }
        }
        return Latency(
            sortedMilliseconds: milliseconds.sorted(), subject: person?.subject ?? "", session: person?.session ?? [],
            device: device)
    }

    /// Returns the costs of the unavoidable parts.
    func buildingBlocks() -> String {
        let key = P256.Signing.PrivateKey()
        let data = RandomSource.system.bytes(180)
        guard let signature = try? key.signature(for: data) else { return "" }
        let publicKey = key.publicKey
        func microseconds(_ body: () -> Void) -> String {
            let rounds = 5000
            for _ in 0..<500 { body() }
            let elapsed = ContinuousClock().measure { for _ in 0..<rounds { body() } }
            return String(format: "%.0f µs", seconds(of: elapsed) / Double(rounds) * 1e6)
        }
        let verify = microseconds { _ = publicKey.isValidSignature(signature, for: data) }
        let sign = microseconds { _ = try? key.signature(for: data) }
        return "P-256 verify \(verify), sign \(sign) (the generator's)"
    }
}
