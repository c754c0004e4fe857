import ArgumentParser
import Settings
import _Primitives

/// `countersign mail`: the mail that the server sends.
struct MailCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mail", abstract: "Try the mail that the server sends.", subcommands: [Test.self])

    /// `countersign mail test`.
    struct Test: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "test",
            abstract: "Have the running server hand a letter to its mail command, and show what the command says.",
            discussion: """
                The letter says nothing and opens nothing. The server sends it, and not this command: what the service \
                manager forbids the server counts.

                  countersign mail test you@example.com

                Exit codes: 0 the command has taken the letter, 1 it has not.
                """)

        @Argument(help: "The address that the letter goes to.")
        var address: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call(
                "POST", "/mail/test", ["address": .string(self.address)], within: Limits.Commands.mailTestTime,
                toServer: true)
            guard case .object(let object) = answer else { return }
            let said = try object.string("said").map { "The mail command says: \($0)" }
            if try object.bool("taken") == true {
                self.options.show(answer) { _ in
                    (["The mail command has taken the letter."] + [said].compactMap(\.self)).joined(separator: "\n")
                }
                return
            }
            if self.options.json { Terminal.standardOutput(json: answer) }
            throw CommandFailure(
                .failed, "the letter was not taken: \(try object.string("reason") ?? "")",
                remedy: ([said, "The guide for operators has what each mail program needs (By mail)."] as [String?])
                    .compactMap(\.self).joined(separator: "\n  "))
        }
    }
}
