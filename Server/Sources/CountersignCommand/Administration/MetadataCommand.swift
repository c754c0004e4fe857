import ArgumentParser
import _Primitives

/// `countersign admin metadata`: the models and policies that a running server applies.
struct MetadataCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "metadata",
        abstract: "The models of authenticators and the policies that a running server goes by.",
        subcommands: [Show.self, Reload.self]
    )

    /// Returns models and policies as two lines.
    static func text(_ answer: JSONObject) throws -> String {
        let policies = try answer.strings("policies") ?? []
        return "models    \((try answer.strings("models") ?? []).joined(separator: " "))\n"
            + "policies  \(policies.isEmpty ? "none but the default one" : policies.joined(separator: " "))"
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Show the models and the names of the policies.")

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("GET", "/metadata", toServer: true)
            try self.options.show(answer, MetadataCommand.text)
        }
    }

    struct Reload: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "reload",
            abstract: "Read metadata, revocations and policies again, as SIGHUP does.",
            discussion: "A file that cannot be used changes nothing: the server keeps what it had, and says which file."
        )

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("POST", "/metadata/reload", toServer: true)
            try self.options.show(answer, MetadataCommand.text)
        }
    }
}
