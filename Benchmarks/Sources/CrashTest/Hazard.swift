import Foundation
import ServerClients

/// Sends requests, and kills the server at some of them.
final class Hazard {
    /// The result of a request.
    enum Outcome {
        case answered(HTTPConnection.Response)
        /// The server died before its answer arrived.
        case lost
    }

    private let process: ServerProcess
    private var state: UInt64
    /// The duration of each kind of request, in nanoseconds: a moving mean.
    private var durations: [String: Double] = [:]
    private var stepsUntilKill: Int?

    /// The number of kills.
    private(set) var points = 0
    /// The number of kills between a request's first byte and its answer.
    private(set) var inFlight = 0

    init(process: ServerProcess, seed: UInt64) {
        self.process = process
        self.state = seed
    }

    var summary: String { "\(self.points) kills, \(self.inFlight) within a request" }

    func random(_ upperBound: Int) -> Int {
        self.state = self.state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int((self.state >> 33) % UInt64(upperBound))
    }

    /// Arms the next kill: at the request of that number from now.
    func arm(atStep step: Int) { self.stepsUntilKill = step }
    func disarm() { self.stepsUntilKill = nil }

    /// Sends a request on a separate connection. `kind` names the request for the expected duration.
    func send(_ request: Request, _ kind: String) throws -> Outcome {
        guard let left = self.stepsUntilKill else { return .answered(try self.exchange(request, kind)) }
        self.stepsUntilKill = left > 0 ? left - 1 : nil
        guard left == 0 else { return .answered(try self.exchange(request, kind)) }
        self.points += 1
        if self.random(8) == 0 {
            // Between two requests: everything acknowledged so far must exist.
            try self.restart()
            return .answered(try self.exchange(request, kind))
        }
        var connection = try self.connect()
        try connection.send(request.method, request.path, headers: request.headers, body: request.body)
        let typical = Int(self.durations[kind] ?? 2_000_000)
        Self.spin(nanoseconds: self.random(max(1, typical)))
        self.process.killAtOnce()
        let answer = try? connection.receive()
        try self.process.start()
        if let answer { return .answered(answer) }
        self.inFlight += 1
        return .lost
    }

    /// Does the same as ``send(_:_:)``, and simply sends a lost request again.
    func sendUntilAnswered(_ request: Request, _ kind: String) throws -> HTTPConnection.Response {
        switch try self.send(request, kind) {
        case .answered(let response): return response
        case .lost: return try self.exchange(request, kind)
        }
    }

    /// Sends a request to a server that is not killed meanwhile.
    func exchange(_ request: Request, _ kind: String) throws -> HTTPConnection.Response {
        let clock = ContinuousClock()
        var connection = try self.connect()
        let start = clock.now
        let response = try connection.exchange(request)
        let nanoseconds = seconds(of: start.duration(to: clock.now)) * 1e9
        self.durations[kind] = (self.durations[kind] ?? nanoseconds) * 0.8 + nanoseconds * 0.2
        return response
    }

    func restart() throws {
        self.process.killAtOnce()
        try self.process.start()
    }

    /// Kills the server after a random time of at most `microseconds`, while another client talks to the server.
    func killWhile(microseconds: Int) throws {
        Self.spin(nanoseconds: self.random(microseconds * 1000))
        self.points += 1
        try self.restart()
    }

    var databasePath: String { self.process.databasePath }
    func connect() throws -> HTTPConnection { try HTTPConnection(port: self.process.port) }

    private static func spin(nanoseconds: Int) {
        let clock = ContinuousClock()
        let end = clock.now + .nanoseconds(nanoseconds)
        while clock.now < end {}
    }
}

/// The rules that must hold.
enum Rule: String, CaseIterable {
    case nothingAcknowledgedIsMissing
    case noTokenIsRedeemedTwice
    case noChallengeIsAnsweredTwice
    case noSignInIsCompletedTwice
    case noCodeWorksTwice
    case countersEqualTheSignatures
    case noPINAttemptIsGivenBack
    case noCounterGoesBack
    case noPeerHoldsTheServer
}
