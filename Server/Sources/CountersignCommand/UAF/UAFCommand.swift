import ArgumentParser
import Ceremony
import Foundation
import UAF
import UAFRelyingParty
import _Primitives

/// `countersign uaf`: FIDO UAF messages in files, without a server.
struct UAFCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "uaf",
        abstract: "Judge FIDO UAF messages that lie in files.",
        subcommands: [Verify.self]
    )

    /// `countersign uaf verify`: the server's verdict on a response, with the step that refuses the response.
    struct Verify: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "verify",
            abstract: "Say what our server makes of a UAF response, and which step refuses it.",
            discussion: """
                Request and response are UAF messages (an array of one dictionary), or the bodies that carry them. \
                Every rule is checked that needs no state: a challenge counts as used once only by the request. \
                Certificates are judged at this moment, or at --time.

                  countersign uaf verify --request reg.json --response answer.json --metadata models/ --json > alice.json
                  countersign uaf verify --request auth.json --response answer.json --metadata models/ --key alice.json

                What --json prints of an accepted response is a key file: with the new counters after each \
                authentication. Exit codes: 0 accepted, 1 refused, 2 usage, 6 no verdict, because a file is missing or \
                is not what it should be; --json then says {"verdict":"none"}.
                """
        )

        @Option(help: "File with the UAF request.")
        var request: String

        @Option(help: "File with the UAF response.")
        var response: String

        @Option(help: "Metadata statement, or a folder of them; may be repeated.")
        var metadata: [String]

        @Option(help: "File with registered keys, as --json prints them; may be repeated.")
        var key: [String] = []

        @Option(
            help: "A facet that may call for the application; may be repeated. Without one, the response's own may.")
        var facet: [String] = []

        @Option(help: "The account whose keys must answer an authentication. Without it, any may.")
        var account: String?

        @Option(help: "The time at which certificates must be valid, RFC 3339.")
        var time: String?

        @Option(
            help: ArgumentHelp(
                "What the strict server does not take; may be repeated.",
                discussion: "There are: \(Leniency.names.joined(separator: ", ")).", valueName: "name"))
        var lenient: [String] = []

        @Option(help: "The versions of the protocol that a response may have, as 1.0,1.1.")
        var versions = "1.1"

        @Option(
            help: """
                PEM file of a certificate that the client must have seen on the connection of the request; may be \
                repeated. Without it the channel is not looked at.
                """)
        var channelBinding: [String] = []

        @Flag(help: "Take a response that does not tell which certificate was seen.")
        var channelBindingIfTold = false

        @Flag(help: "Print one JSON object instead of text.")
        var json = false

        func run() throws {
            let verdict = self.verdict()
            if self.json {
                Terminal.standardOutput(json: .object(verdict.json))
            } else if verdict.isNone {
                Terminal.standardError(verdict.text)
            } else {
                Terminal.standardOutput(verdict.text)
            }
            if let status = verdict.status { throw ExitCode(status.rawValue) }
        }

        /// Returns the verdict on the files. Without a verdict the result has the reason, so that a script always
        /// learns the reason.
        func verdict() -> UAFVerdict {
            do { return try self.judged() } catch let failure as CommandFailure {
                return UAFVerdict(without: failure)
            } catch { return UAFVerdict(without: CommandFailure(.noVerdict, "\(error)")) }
        }

        private func judged() throws -> UAFVerdict {
            let files = UAFFiles()
            let request = try files.request(self.request)
            var keys: [RegisteredCredential] = []
            for file in self.key { keys += try files.keys(file) }
            let verification = UAFVerification(
                metadata: try files.metadata(self.metadata), facets: try self.facets(), keys: keys,
                account: self.account, now: try self.now(), channelBinding: try self.channelRule(),
                leniency: try Leniency(self.lenient), versions: try ProtocolVersions.versions(self.versions))
            return try verification.verdict(on: try files.response(self.response), to: request)
        }

        private func channelRule() throws -> ChannelBindingRule {
            guard !self.channelBinding.isEmpty || !self.channelBindingIfTold else {
                throw CommandFailure(.usage, "--channel-binding-if-told says how --channel-binding is meant")
            }
            let files = RuleFiles(
                channelCertificates: self.channelBinding, channelMayBeUntold: self.channelBindingIfTold)
            do { return try files.channelBinding() } catch { throw CommandFailure(.noVerdict, error.description) }
        }

        private func facets() throws -> Set<FacetID>? {
            guard !self.facet.isEmpty else { return nil }
            do { return Set(try self.facet.map { try FacetID($0) }) } catch {
                throw CommandFailure(
                    .usage, "--facet takes a text that can name an app, such as linux:program:countersign-phone")
            }
        }

        private func now() throws -> Timestamp {
            guard let time else { return TimeSource.system.now() }
            guard let date = try? Date(time, strategy: .iso8601) else {
                throw CommandFailure(.usage, "--time takes a time such as 2026-06-01T00:00:00Z")
            }
            return Timestamp(seconds: Int64(date.timeIntervalSince1970))
        }
    }
}
