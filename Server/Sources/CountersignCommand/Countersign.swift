import ArgumentParser
import Foundation

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
        version: "0.1.0",
        subcommands: [
            ServeCommand.self, AdminCommand.self, AuditCommand.self, DatabaseCommand.self, TraceCommand.self,
            UAFCommand.self, HashCommand.self, PinServiceCommand.self,
        ]
    )

    static func main() async {
        // Whatever a command makes is its user's alone, also between making a file and setting its mode.
        umask(0o077)
        do {
            var command = try Self.parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch let failure as CommandFailure {
            Terminal.standardError(failure.description)
            Self.exit(withError: ExitCode(failure.status.rawValue))
        } catch {
            // ArgumentParser's own code for a misuse is 64; ours is 2, as `--help` says.
            if Self.exitCode(for: error) == .validationFailure {
                Terminal.standardError(Self.fullMessage(for: error))
                Self.exit(withError: ExitCode(CommandFailure.Status.usage.rawValue))
            }
            Self.exit(withError: error)
        }
    }
}
