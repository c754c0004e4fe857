import ArgumentParser
import Foundation
import _Primitives

/// `countersign admin client`: the services that people sign in to.
struct ClientCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "client",
        abstract: "The services that people sign in to (OpenID relying parties).",
        subcommands: [Add.self, List.self, Show.self, Change.self, Delete.self]
    )

    /// What a service's OpenID library asks for.
    struct Settings: ParsableArguments {
        @Option(name: .customLong("id-token-signed-response-alg"), help: "RS256, ES256, PS256 or EdDSA.")
        var idTokenSignedResponseAlg: String?

        @Option(
            name: .long,
            help: ArgumentHelp(
                "required: every sign-in has a code_challenge; or nonce: one without it is taken too, where it has a nonce.",
                valueName: "required|nonce"))
        var pkce: String?

        var isGiven: Bool { self.idTokenSignedResponseAlg != nil || self.pkce != nil }

        func write(to body: inout JSONObject) {
            body["idTokenSignedResponseAlg"] = self.idTokenSignedResponseAlg.map(JSON.string)
            body["pkce"] = self.pkce.map(JSON.string)
        }
    }

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Register a service; its secret is shown this once.",
            discussion: """
                With --secret-file the secret goes into a file of mode 0600 and is not printed:

                  countersign admin client add "Demo Bank" --redirect-uri http://127.0.0.1:8081/callback \\
                    --secret-file bank.secret

                ID tokens are signed with RS256, which every OpenID library takes; --id-token-signed-response-alg names \
                another algorithm where the service wants one. A service whose library sends no code_challenge is \
                registered with --pkce nonce.
                """
        )

        @Argument(help: "The name that people see on their phones.")
        var name: String

        @Option(name: .long, help: "An address that a sign-in may return to; compared letter by letter. Repeatable.")
        var redirectURI: [String]

        @Option(name: .long, help: "An address that a sign-out may return to. Repeatable.")
        var postLogoutRedirectURI: [String] = []

        @Flag(name: .long, help: "Let it have the keys of people whom it knows deleted, for every service.")
        var mayDeregister = false

        @OptionGroup var settings: Settings

        @Option(name: .long, help: "A new file for the secret.")
        var secretFile: String?

        @OptionGroup var options: AdminOptions

        func run() async throws {
            var body: JSONObject = [
                "name": .string(self.name), "redirectUris": .array(self.redirectURI.map(JSON.string)),
                "postLogoutRedirectUris": .array(self.postLogoutRedirectURI.map(JSON.string)),
                "mayDeregister": .bool(self.mayDeregister),
            ]
            self.settings.write(to: &body)
            let file = try self.secretFile.map { try SecretFile(path: $0) }
            let answer = try await self.options.call("POST", "/clients", body)
            guard case .object(var object) = answer else { return }
            if let file {
                try file.write(try object.requiredString("clientSecret"))
                object["clientSecret"] = nil
                object["clientSecretFile"] = .string(file.path)
            }
            try self.options.show(.object(object)) {
                var lines = ["client id      \(try $0.requiredString("clientId"))"]
                if let secret = try $0.string("clientSecret") {
                    lines.append("client secret  \(secret)   (shown this once)")
                }
                if let file = self.secretFile { lines.append("client secret  in \(file)") }
                return lines.joined(separator: "\n")
            }
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the services.")

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("GET", "/clients")
            try self.options.show(answer) { object in
                Terminal.table(
                    try (object.array("clients") ?? []).compactMap { client in
                        guard case .object(let client) = client else { return nil }
                        return [
                            try client.requiredString("clientId"), try client.requiredString("name"),
                            (try client.strings("redirectUris") ?? []).joined(separator: " "),
                            try client.requiredString("idTokenSignedResponseAlg"),
                            "pkce \(try client.requiredString("pkce"))",
                            try client.bool("mayDeregister") == true ? "may deregister" : "",
                        ]
                    })
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show a service.")

        @Argument(help: "The client id.")
        var id: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("GET", "/clients/\(self.id.pathSegment)")
            try self.options.show(answer) { try ClientCommand.text($0) }
        }
    }

    struct Change: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Change settings of a service; those that are not named stay as they are.",
            discussion: """
                A service whose OpenID library sends no code_challenge, but a nonce that it checks:

                  countersign admin client change CLIENT-ID --pkce nonce

                A service that may deregister can have all keys of the people whom it knows deleted. They can sign in \
                nowhere then, until they are enrolled again:

                  countersign admin client change CLIENT-ID --may-deregister
                """
        )

        @Argument(help: "The client id.")
        var id: String

        @Flag(
            name: .long, inversion: .prefixedNo,
            help: "Whether it may have the keys of people whom it knows deleted, for every service.")
        var mayDeregister: Bool?

        @OptionGroup var settings: Settings

        @OptionGroup var options: AdminOptions

        func validate() throws {
            guard self.mayDeregister != nil || self.settings.isGiven else {
                throw ValidationError(
                    "Name what to change: --id-token-signed-response-alg, --pkce or --[no-]may-deregister.")
            }
        }

        func run() async throws {
            var body: JSONObject = [:]
            body["mayDeregister"] = self.mayDeregister.map(JSON.bool)
            self.settings.write(to: &body)
            let answer = try await self.options.call("PATCH", "/clients/\(self.id.pathSegment)", body)
            try self.options.show(answer) { try ClientCommand.text($0) }
        }
    }

    private static func text(_ client: JSONObject) throws -> String {
        [
            "client id       \(try client.requiredString("clientId"))",
            "name            \(try client.requiredString("name"))",
            "redirect to     \((try client.strings("redirectUris") ?? []).joined(separator: " "))",
            "sign out to     \((try client.strings("postLogoutRedirectUris") ?? []).joined(separator: " "))",
            "ID tokens       \(try client.requiredString("idTokenSignedResponseAlg"))",
            "PKCE            \(try client.requiredString("pkce"))",
            "may deregister  \(try client.bool("mayDeregister") == true ? "yes" : "no")",
        ].joined(separator: "\n")
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Delete a service; its tokens end at once.")

        @Argument(help: "The client id.")
        var id: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("DELETE", "/clients/\(self.id.pathSegment)")
            self.options.show(answer) { _ in "Deleted." }
        }
    }
}

/// A new file of mode 0600 for one secret, made before there is the secret: a secret is shown once, so what cannot be
/// kept must not be asked for.
final class SecretFile {
    let path: String
    private let handle: FileHandle
    private var isWritten = false

    /// Makes the file. Throws ``CommandFailure`` where there is one already, or where none can be.
    init(path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw CommandFailure(.failed, "\(path) cannot be made: \(String(cString: strerror(errno)))")
        }
        self.path = path
        self.handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    func write(_ secret: String) throws {
        try self.handle.write(contentsOf: Data((secret + "\n").utf8))
        try self.handle.synchronize()
        self.isWritten = true
    }

    /// Where no secret came, nothing is left behind.
    deinit { if !self.isWritten { unlink(self.path) } }
}
