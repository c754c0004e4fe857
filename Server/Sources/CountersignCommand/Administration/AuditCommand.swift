import ArgumentParser
import Foundation
import Settings
import _Primitives

/// `countersign audit`: the audit trail, for auditors.
struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Read and check the audit trail.",
        subcommands: [Export.self, Verify.self]
    )

    /// `countersign audit export`: the trail as NDJSON.
    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "export",
            abstract: "Write the audit trail to standard output, one JSON object a line, the oldest first.",
            discussion: """
                Entries name accounts, devices and ceremonies by identifier, never by name.

                  countersign audit export --since 2026-11-01T00:00:00Z > november.ndjson
                """
        )

        @Option(name: .long, help: "The first moment that counts, in RFC 3339.")
        var since: String?

        @Option(name: .long, help: "The first moment that does not count any more, in RFC 3339.")
        var until: String?

        @Option(name: .long, help: "Begin after the entry of this number.")
        var after: Int64 = 0

        @OptionGroup var options: AdminOptions

        func run() async throws {
            try await self.export { Terminal.standardOutput(json: $0) }
        }

        /// Calls `write` with each entry in the chosen range.
        func export(_ write: (JSON) -> Void) async throws {
            let (since, until) = (try Self.moment(self.since), try Self.moment(self.until))
            guard self.after >= 0 else { throw CommandFailure(.usage, "--after takes the number of an entry") }
            try await self.options.withConnection { connection in
                var last = self.after
                while true {
                    guard case .object(let page) = try await connection.call("GET", "/audit?after=\(last)"),
                        let entries = try page.array("entries"), !entries.isEmpty
                    else { return }
                    for entry in entries {
                        guard case .object(let object) = entry else { continue }
                        let number: Int64 = try object.requiredInteger("number")
                        guard number > last else { throw CommandFailure(.failed, "the server repeats itself") }
                        last = number
                        let at = try Self.moment(try object.requiredString("at")) ?? .distantPast
                        guard since.map({ $0 <= at }) ?? true, until.map({ at < $0 }) ?? true else { continue }
                        write(entry)
                    }
                }
            }
        }

        private static func moment(_ text: String?) throws -> Date? {
            guard let text else { return nil }
            for hasFraction in [false, true] {
                let format = Date.ISO8601FormatStyle(includingFractionalSeconds: hasFraction)
                if let date = try? format.parse(text) { return date }
            }
            throw CommandFailure(.usage, "\(text) is no moment such as 2026-11-21T09:00:00Z")
        }
    }

    /// `countersign audit verify`: checks that the trail is whole.
    struct Verify: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "verify",
            abstract: "Check every entry of the trail against the one before.",
            discussion: """
                Finds an entry that was changed, removed or moved, but not that the newest ones were cut off: compare \
                the number of entries with an export that is kept elsewhere. Exit code 1 where the trail is broken.
                """
        )

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call(
                "GET", "/audit/verification", within: Limits.Commands.auditVerificationTime)
            try self.report(answer)
        }

        /// Prints the verdict. Throws ``CommandFailure`` for a broken trail.
        func report(_ verdict: JSON) throws {
            guard case .object(let object) = verdict else { return }
            guard try object.bool("intact") == true else {
                if self.options.json { Terminal.standardOutput(json: verdict) }
                let number: Int64 = try object.requiredInteger("brokenAt")
                throw CommandFailure(
                    .failed, "the audit trail is broken at entry \(number)",
                    remedy: "Somebody changed the database: keep a copy of it, and compare with an earlier export.")
            }
            try self.options.show(verdict) { "Intact: \(try $0.requiredInteger("entries", as: Int64.self)) entries." }
        }
    }
}
