import ArgumentParser
import Ceremony
import Foundation
import _Primitives

/// The program `countersign`.
@main
struct Countersign: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "countersign",
        abstract: "Self-hosted mobile authentication: the server, and the commands to run it.",
        discussion: """
            Start a server on this machine, then enrol somebody:

              countersign serve
              countersign admin account add alice
              countersign admin activation create alice --wait

            Exit codes: 0 done, 1 refused or failed, 2 usage, 3 not found, 4 locked out, 5 unreachable, \
            6 no verdict.
            """,
        version: ProductRelease.version,
        subcommands: [
            ServeCommand.self, AdminCommand.self, AuditCommand.self, DatabaseCommand.self, DoctorCommand.self,
            TraceCommand.self,
            MailCommand.self, PushCommand.self,
            UAFCommand.self, ReceiptCommand.self, HashCommand.self, PinServiceCommand.self,
        ]
    )

    static func main() async {
        // Every file of a command is its user's alone, even between making the file and setting the file's mode.
        umask(0o077)
        do {
            var command = try Self.command(of: Array(CommandLine.arguments.dropFirst()))
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch let failure as CommandFailure {
            Terminal.standardError(failure.description)
            Self.exit(withError: ExitCode(failure.status.rawValue))
        } catch {
            // ArgumentParser's own code for a misuse is 64. This program's code is 2, as `--help` says.
            if Self.exitCode(for: error) == .validationFailure {
                Terminal.standardError(Self.fullMessage(for: error))
                if let advice = Self.advice(on: Array(CommandLine.arguments.dropFirst())) {
                    Terminal.standardError(advice)
                }
                Self.exit(withError: ExitCode(CommandFailure.Status.usage.rawValue))
            }
            Self.exit(withError: error)
        }
    }

    /// Returns the command that the words of a command line name, with the command's options.
    ///
    /// The words of a server are read without the other commands: the parser makes the name of each of a hundred
    /// commands by reflection, which takes almost half of the processor time of a start. If the server's command does
    /// not understand the words, the whole program reads the words, and reports the mistake or shows the help.
    static func command(of arguments: [String]) throws -> any ParsableCommand {
        if arguments.first?.hasSameBytes(as: "serve") == true,
            let serve = try? ServeCommand.parse(Array(arguments.dropFirst()))
        {
            return serve
        }
        return try Self.parseAsRoot(arguments)
    }

    /// Returns advice about options behind `--`, where no word counts as an option; `nil` without such words.
    static func advice(on arguments: [String]) -> String? {
        guard let end = arguments.firstIndex(where: { $0.hasSameBytes(as: "--") }) else { return nil }
        let options = arguments[(end + 1)...].filter { $0.hasBytes(atStart: "--") }
        guard !options.isEmpty else { return nil }
        return "  Behind -- nothing is an option: \(options.joined(separator: ", ")) must stand before it."
    }
}
