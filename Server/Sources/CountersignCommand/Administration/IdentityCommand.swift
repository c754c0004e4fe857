import ArgumentParser
import Foundation
import _Primitives

/// `countersign admin identity`: what makers of apps need to know of the server.
struct IdentityCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "identity",
        abstract: "The root key that apps with personalised identities are configured with.",
        subcommands: [Root.self]
    )

    struct Root: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the root's public key, a JSON web key.",
            discussion: """
                An app that has this key in its configuration takes from the server what the key has signed, and nothing else. \
                The key is public, but only the right one is of use: hand it over in a way that nobody can change it on, or \
                have its thumbprint compared.

                  countersign admin identity root --file root.jwk
                """)

        @Option(name: .long, help: "The file that the key goes to; without it, standard output.")
        var file: String?

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("GET", "/identity/root")
            guard case .object(let object) = answer, let key = try object.object("key") else {
                throw CommandFailure(.failed, "the server's answer holds no key")
            }
            let text = JSON.object(key).text + "\n"
            if let file {
                do {
                    try Data(text.utf8).write(to: URL(fileURLWithPath: file))
                } catch {
                    throw CommandFailure(.failed, "\(file) cannot be written")
                }
                return try self.options.show(answer) {
                    "The root key of \(try $0.requiredString("server")), \(try $0.requiredString("thumbprint")): \(file)"
                }
            }
            // What is printed is the key alone, as an app's configuration has it.
            self.options.json ? Terminal.standardOutput(json: answer) : Terminal.standardOutput(JSON.object(key).text)
        }
    }
}
