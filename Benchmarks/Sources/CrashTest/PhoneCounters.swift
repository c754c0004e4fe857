import Foundation
import ServerClients
import UAF
import _Primitives

/// Several terminal phones sign with one key at once, and some phones die while signing. No counter may come twice, and
/// none after a higher counter.
struct PhoneCounters {
    let program: String
    let folder: String
    let hazard: Hazard

    private static let rounds = 25
    private static let phonesOfARound = 4
    private static let aaid = AuthenticatorModel(factor: .fingerprint, keyStore: .file).aaid

    private var home: String { self.folder + "/test-keys" }

    func run(_ findings: inout Findings<Rule>) throws {
        let policy = Policy(accepted: [[MatchCriteria(aaid: [Self.aaid])]])
        let registration = RegistrationRequest(
            header: OperationHeader(operation: .registration), challenge: Challenge(random: .system), username: "alice",
            policy: policy)
        let enrolment = try self.start(registration.serialized, "registration").finish()
        guard enrolment.split(separator: "\n").contains(where: { (try? RegistrationResponse(parsing: $0.utf8)) != nil })
        else { throw LoadError("no test key was made: \(enrolment)") }
        let typical = try self.sign(policy, "first", &findings, after: 0)
        var highest = typical.counter
        var killed = 0
        for round in 0..<Self.rounds {
            let phones = try (0..<Self.phonesOfARound).map { number in
                try self.start(self.request(policy), "round-\(round)-\(number)")
            }
            // All phones but one die, most of them between their start and the end of a signature.
            for phone in phones.dropFirst() {
                usleep(UInt32(self.hazard.random(max(1, Int(typical.seconds * 1e6 / 2)))))
                kill(phone.process.processIdentifier, SIGKILL)
                killed += 1
            }
            let counters = phones.compactMap { Self.counter(in: $0.finish()) }
            findings.check(
                .noCounterGoesBack, Set(counters).count == counters.count && counters.allSatisfy { $0 > highest },
                "\(counters) after \(highest)")
            highest = max(highest, counters.max() ?? 0)
            findings.check(
                .noCounterGoesBack, phones[0].process.terminationReason == .exit, "a phone that nobody killed crashed")
        }
        // Whatever happened to the other phones, the key still signs, with the highest counter.
        highest = try self.sign(policy, "last", &findings, after: highest).counter
        findings.check(.noCounterGoesBack, highest > UInt32(Self.rounds / 2), "\(highest) after \(Self.rounds) rounds")
        print("  \(killed) phones killed at signing, the counter is at \(highest)")
    }

    private func request(_ policy: Policy) -> [UInt8] {
        AuthenticationRequest(
            header: OperationHeader(operation: .authentication), challenge: Challenge(random: .system), policy: policy
        ).serialized
    }

    /// Makes one undisturbed signature. Returns the counter and the duration.
    private func sign(_ policy: Policy, _ name: String, _ findings: inout Findings<Rule>, after highest: UInt32) throws
        -> (counter: UInt32, seconds: Double)
    {
        let clock = ContinuousClock()
        let start = clock.now
        let said = try self.start(self.request(policy), name).finish()
        guard let counter = Self.counter(in: said) else { throw LoadError("a test key does not sign: \(said)") }
        findings.check(.noCounterGoesBack, counter > highest, "\(counter) after \(highest)")
        return (counter, seconds(of: start.duration(to: clock.now)))
    }

    /// Returns the counter of a response that left the phone; `nil` if no response left the phone.
    private static func counter(in said: String) -> UInt32? {
        for line in said.split(separator: "\n") {
            guard let response = try? AuthenticationResponse(parsing: line.utf8),
                let assertion = try? AuthenticationAssertion(parsing: response.assertions[0].bytes)
            else { continue }
            return assertion.signedData.signCounter
        }
        return nil
    }

    private func start(_ request: [UInt8], _ name: String) throws -> PhoneRun {
        let path = "\(self.folder)/\(name).json"
        try Data(request).write(to: URL(fileURLWithPath: path))
        return try PhoneRun(
            program: self.program, arguments: ["uaf", "answer", "--request", path, "--home", self.home],
            input: "")
    }
}
