import ArgumentParser
import Foundation
import Settings
import _Primitives

/// `countersign admin invented`: the look of invented accounts. The server invents an account for a name that nobody
/// has.
struct InventedCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "invented",
        abstract: "What accounts look like that are invented for names that nobody has.",
        discussion: """
            Whoever asks for a challenge by a name is told the names of its keys, whether or not somebody has it. The \
            document says how many devices invented accounts have and with which keys, in sixteenths.

              countersign admin invented propose > invented.json
              countersign admin invented set invented.json

            Set it when people's authenticators have changed for good, and not often: whoever has asked before sees whose \
            answer changes.
            """,
        subcommands: [Show.self, Propose.self, Set.self, Reset.self]
    )

    private static let path = "/invented-accounts"

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Print the document that the server goes by.")

        @OptionGroup var options: AdminOptions

        func run() async throws {
            Terminal.standardOutput(json: try await self.options.call("GET", InventedCommand.path))
        }
    }

    struct Propose: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "propose",
            abstract: "Print a document that resembles the accounts that there are; set nothing.",
            discussion: "Keys that few accounts have are left out. It reads every key of the database.")

        @OptionGroup var options: AdminOptions

        func run() async throws {
            Terminal.standardOutput(
                json: try await self.options.call(
                    "GET", InventedCommand.path + "/proposal", within: Limits.Commands.proposalTime))
        }
    }

    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set",
            abstract: "Set the document.", discussion: "Its models need metadata, which only a running server has read."
        )

        @Argument(help: "The file of the document, JSON.", completion: .file()) var file: String
        @OptionGroup var options: AdminOptions

        func run() async throws {
            guard let data = FileManager.default.contents(atPath: self.file),
                case .object(let document)? = try? JSON(parsing: Array(data))
            else {
                throw CommandFailure(
                    .usage, "there is no JSON object in \(self.file)",
                    remedy: "`countersign admin invented show` prints one.")
            }
            let answer = try await self.options.call("PUT", InventedCommand.path, document, toServer: true)
            Terminal.standardOutput(json: answer)
        }
    }

    struct Reset: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "reset", abstract: "Go by what the program brings.")

        @OptionGroup var options: AdminOptions

        func run() async throws {
            _ = try await self.options.call("DELETE", InventedCommand.path)
            Terminal.standardOutput(json: try await self.options.call("GET", InventedCommand.path))
        }
    }
}
