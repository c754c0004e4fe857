import ArgumentParser
import Ceremony
import Foundation

/// The program `countersign-phone`: the client SDK with a keyboard, for experiments without a phone.
@main
struct PhoneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "countersign-phone",
        abstract: "A phone in a terminal: enrol it, scan codes with it, confirm what services ask.",
        discussion: """
            One folder is one phone (--home). Its keys lie in a store for development, or with --key-store tpm in this \
            machine's TPM, and its sensors, its device passcode and its clock are simulated: it is for trying things \
            out, not for secrets that matter.

            Exit codes: 0 done, 1 refused or failed, 2 usage, 3 not found, 4 locked out, 5 server unreachable.
            """,
        version: ProductRelease.version,
        subcommands: [
            EnrollCommand.self, ScanCommand.self, InboxCommand.self, NoticesCommand.self, ReceiptsCommand.self,
            AuthenticateCommand.self, ActivityCommand.self, RevokeCommand.self, DeregisterCommand.self,
            ForgetCommand.self, AccountsCommand.self,
            AuthenticatorsCommand.self, DeviceCommand.self, PinCommand.self, PasswordCommand.self,
            SignInCommand.self, SessionCommand.self, WebViewCommand.self, SignOutCommand.self,
            IdentitiesCommand.self, TrustCommand.self, FactorCommand.self, ActivationCommand.self,
            AccountCommand.self, DepersonalizeCommand.self,
            SensorCommand.self, ClockCommand.self, IntegrityCommand.self, AppCommand.self,
            BareMessageCommand.self, WipeCommand.self,
        ])

    /// Parses the arguments and runs the command. Ends with the exit codes above.
    static func main() async {
        do {
            var command = try Self.parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch let ended as Ended {
            ended.exit()
        } catch {
            let code = Self.exitCode(for: error)
            let text = Self.fullMessage(for: error)
            let output: FileHandle = code == .success ? .standardOutput : .standardError
            if !text.isEmpty { try? output.write(contentsOf: Data("\(text)\n".utf8)) }
            Foundation.exit(code == .success ? 0 : code == .validationFailure ? Ending.usage.rawValue : 1)
        }
    }
}
