import ArgumentParser
import _Primitives

/// `countersign admin account password`: the passwords that people may have beside their phones.
struct PasswordCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "password",
        abstract: "The passwords that people may have beside their phones.",
        discussion: """
            People sign in by a password where a service takes it: `countersign admin client change --sign-in-method`. \
            Passwords and hashes come on standard input, so that no command line and no list of processes has them.
            """,
        subcommands: [Set.self, Import.self, Show.self, Remove.self, RemoveSecondFactor.self]
    )

    /// Returns the summary of a person's password as text.
    static func text(_ summary: JSONObject) throws -> String {
        let codes = try summary.integer("recoveryCodes", as: Int64.self) ?? 0
        let factor =
            try summary.bool("secondFactor") == true ? ", a code is asked for (\(codes) recovery codes left)" : ""
        let words: String
        switch try summary.requiredString("password") {
        case "none": words = "no password"
        case "one-time": words = "a password for one sign-in"
        case "imported": words = "a password from another system"
        default: words = "a password"
        }
        let since = try summary.string("setAt").map { ", set \($0)" } ?? ""
        return words + since + factor
    }

    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set",
            abstract: "Give a person a password for one sign-in, from standard input; their sessions end.")

        @Argument(help: "The person's name.")
        var username: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let body: JSONObject = ["password": .string(try Terminal.secretFromStandardInput())]
            let answer = try await self.options.call("PUT", "/accounts/\(self.username.pathSegment)/password", body)
            try self.options.show(answer) { try PasswordCommand.text($0) }
        }
    }

    struct Import: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "import",
            abstract: "Give a person the password that another system has hashed, from standard input.",
            discussion: """
                Argon2id, Argon2i, PBKDF2 and scrypt as PHC strings, bcrypt, sha512-crypt, and what passlib and Django \
                store of PBKDF2. The first sign-in hashes it anew. The person's sessions end.
                """)

        @Argument(help: "The person's name.")
        var username: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let body: JSONObject = ["hash": .string(try Terminal.secretFromStandardInput())]
            let path = "/accounts/\(self.username.pathSegment)/password/hash"
            let answer = try await self.options.call("PUT", path, body)
            try self.options.show(answer) { try PasswordCommand.text($0) }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Show whether a person has a password.")

        @Argument(help: "The person's name.")
        var username: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("GET", "/accounts/\(self.username.pathSegment)/password")
            try self.options.show(answer) { try PasswordCommand.text($0) }
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove",
            abstract: "Take a person's password away; their sessions end.")

        @Argument(help: "The person's name.")
        var username: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("DELETE", "/accounts/\(self.username.pathSegment)/password")
            self.options.show(answer) { _ in "Removed." }
        }
    }

    struct RemoveSecondFactor: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "remove-second-factor",
            abstract: "Take away the codes that a person is asked for beside the password: they have lost them.")

        @Argument(help: "The person's name.")
        var username: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let answer = try await self.options.call("DELETE", "/accounts/\(self.username.pathSegment)/second-factor")
            self.options.show(answer) { _ in "Removed." }
        }
    }
}
