import Foundation
import _Primitives

/// One check of `countersign doctor`: the name, the object of the check, the operator's remedy, and the function that
/// looks. A feature that can be wrong adds its own check to ``all``.
struct DoctorCheck: Sendable {
    /// The result of a check.
    enum Verdict: Equatable, Sendable {
        /// Nothing is wrong. The text says what the check has seen.
        case good(String)
        /// The problems, a sentence each.
        case bad([String])
        /// The check could not look, for this reason.
        case unknown(String)

        /// The verdict's word in the report.
        var word: String {
            switch self {
            case .good: "good"
            case .bad: "bad"
            case .unknown: "unknown"
            }
        }

        var sentences: [String] {
            switch self {
            case .good(let text), .unknown(let text): [text]
            case .bad(let texts): texts
            }
        }
    }

    /// A word of small letters.
    let name: String
    /// The object that the check looks at.
    let looksAt: String
    /// The operator's remedy for a bad verdict.
    let remedy: String
    /// Looks. An error that the function throws is the reason why the check could not look.
    let look: @Sendable (DoctorScene) async throws -> Verdict

    /// Every check, in the order of the report.
    static let all: [DoctorCheck] = [
        .mail, .clients, .names, .permissions, .disk, .certificate, .chain, .clock, .facets, .associations, .network,
        .apns, .fcm,
    ]
}

/// The surroundings that the checks look at: a server's settings, its data folder, and its administration.
struct DoctorScene: Sendable {
    let configuration: ServeConfiguration
    /// The administration of the running server, or of the server's database if no server runs.
    let connection: AdminConnection
    /// `true` if a server runs.
    let isServed: Bool
    /// Addresses whose machines' clocks this machine's clock is compared with, beside the push services' clocks.
    var clocks: [String] = []
    var time: TimeSource = .system
    /// The user that looks.
    var user: uid_t = geteuid()
    /// Returns the free and the whole space of the disk at a path; `nil` if the system does not tell.
    var space: @Sendable (String) -> DiskSpace? = { DiskSpace(at: $0) }
    /// Returns `true` if a service keeps this machine's clock right; `nil` if the system does not tell.
    var isClockSynchronised: @Sendable () -> Bool? = { SystemClock.isSynchronised }

    var folder: DataFolder { DataFolder(path: self.configuration.dataFolder) }

    /// Returns the way to addresses of the settings. Throws ``CommandFailure`` for a file of authorities that cannot be
    /// read.
    func network() throws -> DoctorNetwork { DoctorNetwork(tls: try self.configuration.outgoingTLS()) }

    /// Returns the administration's answer to a question, as an object.
    func ask(_ path: String) async throws -> JSONObject {
        guard case .object(let object) = try await self.connection.call("GET", path) else { return [:] }
        return object
    }
}

/// The findings of the checks.
struct DoctorReport: Sendable {
    let findings: [(check: DoctorCheck, verdict: DoctorCheck.Verdict)]

    /// Runs each check, one after the other.
    init(of checks: [DoctorCheck] = DoctorCheck.all, at scene: DoctorScene) async {
        var findings: [(check: DoctorCheck, verdict: DoctorCheck.Verdict)] = []
        for check in checks {
            do { findings.append((check, try await check.look(scene))) } catch {
                let reason = (error as? CommandFailure)?.problem ?? "\(error)"
                findings.append((check, .unknown(reason)))
            }
        }
        self.findings = findings
    }

    /// The exit code; `nil` if every check looked and found nothing wrong.
    var status: CommandFailure.Status? {
        let words = self.findings.map(\.verdict.word)
        if words.contains("bad") { return .failed }
        return words.contains("unknown") ? .noVerdict : nil
    }

    var json: JSON {
        .object([
            "good": .bool(self.status == nil),
            "checks": .array(
                self.findings.map { check, verdict in
                    .object([
                        "name": .string(check.name), "verdict": .string(verdict.word),
                        "looksAt": .string(check.looksAt),
                        "findings": .array(verdict.sentences.map(JSON.string)), "remedy": .string(check.remedy),
                    ])
                }),
        ])
    }

    var text: String {
        self.findings.map { check, verdict in
            let head = "\(verdict.word.padding(toLength: 9, withPad: " ", startingAt: 0))\(check.name)"
            let rest = verdict.sentences + (verdict.word == "bad" ? ["To do: \(check.remedy)"] : [])
            return ([head] + rest.map { "         \($0)" }).joined(separator: "\n")
        }.joined(separator: "\n")
    }
}
