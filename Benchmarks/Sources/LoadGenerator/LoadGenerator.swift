import Crypto
import Foundation
import UAF
import _Primitives

/// Loads a running server and prints what it measured, one JSON object.
///
/// Arguments: PORT ADMIN-TOKEN SERVER-PID KEYS CONNECTIONS SECONDS TOKENS
@main
struct LoadGenerator {
    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 8, let port = UInt16(arguments[1]), let process = Int32(arguments[3]),
            let keys = Int(arguments[4]), let connections = Int(arguments[5]), let seconds = Int(arguments[6]),
            let tokens = Int(arguments[7])
        else { throw LoadError("usage: LoadGenerator PORT ADMIN-TOKEN SERVER-PID KEYS CONNECTIONS SECONDS TOKENS") }
        let run = Run(
            server: Server(port: port, adminToken: arguments[2]), process: process, connections: connections)
        let devices = try run.enrol(keys)
        var results = JSONObject()
        results["operations"] = .object(run.operations())
        let (authentications, used) = try run.authenticate(devices, for: .seconds(seconds))
        results["authentications"] = .object(authentications)
        let relyingParty = try RelyingParty(server: run.server)
        let (latency, subject, after) = try run.latency(relyingParty, used[0], rounds: 300)
        results["latency"] = .object(latency)
        results["redeem"] = .object(try run.redeem(relyingParty, subject: subject, count: tokens))
        results["counters"] = .integer(used.dropFirst().reduce(Int64(after.counter)) { $0 + Int64($1.counter) })
        print(JSON.object(results).text)
    }
}

/// The phases, each of which starts with everything that it needs prepared.
struct Run: Sendable {
    let server: Server
    let process: Int32
    let connections: Int

    func enrol(_ count: Int) throws -> [SoftwareDevice] {
        let devices = Shared<[SoftwareDevice]>([])
        try onThreads(self.connections) { index in
            var connection = try self.server.connect()
            for number in stride(from: index, to: count, by: self.connections) {
                let device = try self.server.enrol("bench-\(number)", on: &connection)
                devices.withLock { $0.append(device) }
            }
        }
        return devices.withLock { $0 }
    }

    /// Each thread draws its keys in turn, so that no key has two answers under way.
    func authenticate(_ devices: [SoftwareDevice], for span: Duration) throws -> (JSONObject, [SoftwareDevice]) {
        let clock = ContinuousClock()
        let done = Shared<[SoftwareDevice]>([])
        let count = Shared(0)
        let before = processorSeconds(of: self.process)
        let ownBefore = processorSeconds(of: getpid())
        let start = clock.now
        try onThreads(self.connections) { index in
            var own = stride(from: index, to: devices.count, by: self.connections).map { devices[$0] }
            var connection = try self.server.connect()
            var answered = 0
            while start.duration(to: clock.now) < span {
                try self.server.authenticate(&own[answered % own.count], on: &connection)
                answered += 1
            }
            count.withLock { $0 += answered }
            done.withLock { $0 += own }
        }
        let elapsed = seconds(of: start.duration(to: clock.now))
        let answered = Double(count.withLock { $0 })
        let used = processorSeconds(of: self.process) - before
        let own = processorSeconds(of: getpid()) - ownBefore
        let result: JSONObject = [
            "count": .integer(Int64(answered)), "perSecond": .number(answered / elapsed),
            "serverMicroseconds": .number(used / answered * 1e6),
            "generatorMicroseconds": .number(own / answered * 1e6),
        ]
        return (result, done.withLock { $0 })
    }

    /// Tokens are dispatched first and only their redeeming is timed.
    func redeem(_ relyingParty: RelyingParty, subject: String, count: Int) throws -> JSONObject {
        let clock = ContinuousClock()
        let tokens = Shared<[String]>([])
        try onThreads(self.connections) { index in
            var connection = try self.server.connect()
            for _ in stride(from: index, to: count, by: self.connections) {
                let token = try relyingParty.dispatch(subject, on: &connection)
                tokens.withLock { $0.append(token) }
            }
        }
        let all = tokens.withLock { $0 }
        let before = processorSeconds(of: self.process)
        let start = clock.now
        try onThreads(self.connections) { index in
            var connection = try self.server.connect()
            for number in stride(from: index, to: all.count, by: self.connections) {
                _ = try self.server.redeem(all[number], on: &connection)
            }
        }
        let elapsed = seconds(of: start.duration(to: clock.now))
        return [
            "count": .integer(Int64(all.count)), "perSecond": .number(Double(all.count) / elapsed),
            "serverMicroseconds": .number((processorSeconds(of: self.process) - before) / Double(all.count) * 1e6),
        ]
    }

    /// Whole sign-ins, one after the other: from the moment that the phone's answer leaves to the moment that the
    /// waiting page's event is there. Returns the person's subject too.
    func latency(_ relyingParty: RelyingParty, _ device: SoftwareDevice, rounds: Int) throws
        -> (JSONObject, String, SoftwareDevice)
    {
        let clock = ContinuousClock()
        var device = device
        var milliseconds: [Double] = []
        var subject = ""
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
            try phone.send(
                "POST", "/uaf/1.1/authentication", headers: ["Content-Type: \(Server.uafType)"], body: body)
            try events.wait(for: "\"approved\"")
            milliseconds.append(seconds(of: start.duration(to: clock.now)) * 1000)
            let judged = try ServerResponse(parsing: try phone.receive().body)
            guard judged.statusCode == .ok else { throw LoadError("sign-in refused: \(judged.statusCode)") }
            if subject.isEmpty { subject = try relyingParty.finish(signIn, on: &browser) }
        }
        milliseconds.sort()
        let result: JSONObject = [
            "count": .integer(Int64(rounds)), "p50": .number(milliseconds[rounds / 2]),
            "p95": .number(milliseconds[rounds * 95 / 100]), "max": .number(milliseconds[rounds - 1]),
        ]
        return (result, subject, device)
    }

    /// What the unavoidable parts cost on one core of this machine, in microseconds.
    func operations() -> JSONObject {
        let key = P256.Signing.PrivateKey()
        let data = RandomSource.system.bytes(180)
        guard let signature = try? key.signature(for: data) else { return [:] }
        let publicKey = key.publicKey
        let symmetric = SymmetricKey(size: .bits256)
        func measure(_ body: () -> Void) -> JSON {
            let clock = ContinuousClock()
            let rounds = 2000
            for _ in 0..<200 { body() }
            let elapsed = clock.measure { for _ in 0..<rounds { body() } }
            return .number(seconds(of: elapsed) / Double(rounds) * 1e6)
        }
        return [
            "verify": measure { _ = publicKey.isValidSignature(signature, for: data) },
            "sign": measure { _ = try? key.signature(for: data) },
            "seal": measure { _ = try? AES.GCM.seal(data, using: symmetric) },
        ]
    }
}
