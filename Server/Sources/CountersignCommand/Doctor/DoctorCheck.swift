import Foundation
import _Primitives

/// One thing that `countersign doctor` looks at: what it is called, what it looks at, what to do where something is wrong, and
/// how it looks. A feature that can be wrong adds its own to ``all``.
struct DoctorCheck: Sendable {
    /// What was found.
    enum Verdict: Equatable, Sendable {
        /// Nothing is wrong; the text says what was seen.
        case good(String)
        /// These are wrong, a sentence each.
        case bad([String])
        /// It could not be looked at, for this reason.
        case unknown(String)

        /// The word that stands for it in the report.
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
    /// What it looks at.
    let looksAt: String
    /// What an operator does where it is bad.
    let remedy: String
    /// Looks. What it throws is why it could not.
    let look: @Sendable (DoctorScene) async throws -> Verdict

    /// Every check, in the order of the report.
    static let all: [DoctorCheck] = [.mail, .clients, .names, .permissions, .disk, .certificate, .clock]
}

/// What checks look at: a server's settings, its data folder, and its administration.
struct DoctorScene: Sendable {
    let configuration: ServeConfiguration
    /// The administration of the server that runs, or of its database where none does.
    let connection: AdminConnection
    /// Whether a server runs.
    let isServed: Bool
    var time: TimeSource = .system
    /// What is free where a path is, and how much there is; `nil` where the system does not say.
    var space: @Sendable (String) -> DiskSpace? = { DiskSpace(at: $0) }
    /// Whether something keeps this machine's clock right; `nil` where the system does not say.
    var isClockSynchronised: @Sendable () -> Bool? = { SystemClock.isSynchronised }

    var folder: DataFolder { DataFolder(path: self.configuration.dataFolder) }

    /// The answer of the administration to a question, as an object.
    func ask(_ path: String) async throws -> JSONObject {
        guard case .object(let object) = try await self.connection.call("GET", path) else { return [:] }
        return object
    }
}

/// What the checks have found.
struct DoctorReport: Sendable {
    let findings: [(check: DoctorCheck, verdict: DoctorCheck.Verdict)]

    /// Has each check look, one after the other.
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

    /// The exit code: `nil` where everything was looked at and is good.
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
