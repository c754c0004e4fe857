import ArgumentParser
import _Primitives

extension AccountCommand {
    /// `countersign admin account access`: shows the browsers in which a person is signed in, and the grants of
    /// services.
    struct Access: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "access",
            abstract: "Show where a person is signed in, and what services have of them that lasts.",
            discussion: "`countersign admin account revoke` ends what is listed here.")

        @Argument(help: "The person's name.")
        var username: String

        @OptionGroup var options: AdminOptions

        func run() async throws {
            let path = "/accounts/\(self.username.pathSegment)"
            let (sessions, grants) = try await self.options.withConnection {
                (try await $0.call("GET", path + "/sessions"), try await $0.call("GET", path + "/grants"))
            }
            guard case .object(var object) = sessions, case .object(let list) = grants else { return }
            object["grants"] = list["grants"] ?? .array([])
            try self.options.show(.object(object), Self.text)
        }

        private static func text(_ access: JSONObject) throws -> String {
            let sessions = try Self.rows(of: access.array("sessions")) { session in
                let services = try Self.rows(of: session.array("services")) { [try $0.requiredString("name")] }
                return [
                    "session", try session.requiredString("id"), services.joined().joined(separator: ", "),
                    [try session.string("browser"), try session.string("address")].compactMap(\.self)
                        .joined(separator: " from "), "last used \(try session.requiredString("usedAt"))",
                ]
            }
            let grants = try Self.rows(of: access.array("grants")) { grant in
                [
                    try grant.requiredString("kind"), try grant.requiredString("id"),
                    try grant.requiredString("service"),
                    (try grant.strings("scopes") ?? []).joined(separator: " "),
                    try grant.string("usedAt").map { "last used \($0)" }
                        ?? "since \(try grant.requiredString("since"))",
                ]
            }
            guard !sessions.isEmpty || !grants.isEmpty else { return "signed in nowhere" }
            return Terminal.table(sessions + grants)
        }

        private static func rows(of values: [JSON]?, _ row: (JSONObject) throws -> [String]) rethrows -> [[String]] {
            try (values ?? []).compactMap { value in
                guard case .object(let object) = value else { return nil }
                return try row(object)
            }
        }
    }

    /// `countersign admin account revoke`: signs a person out, and takes back the grants of services.
    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "revoke",
            abstract: "Sign a person out, or take back what services have of them.",
            discussion: """
                `countersign admin account access` lists sessions and grants with their ids:

                  countersign admin account revoke alice --session SESSION
                  countersign admin account revoke alice --grant GRANT
                  countersign admin account revoke alice --client CLIENT-ID
                  countersign admin account revoke alice --all

                --client ends all that one service has, and --all every session and everything that services have. The \
                person's devices stay, and the person can sign in again.
                """)

        @Argument(help: "The person's name.")
        var username: String

        @Option(name: .long, help: "A browser's session, with what was granted in it.")
        var session: String?

        @Option(name: .long, help: "A lasting grant of a service.")
        var grant: String?

        @Option(name: .long, help: "Everything that the service of this client id has.")
        var client: String?

        @Flag(name: .long, help: "Every session, and everything that services have.")
        var all = false

        @OptionGroup var options: AdminOptions

        func validate() throws {
            let named = [self.session, self.grant, self.client].compactMap(\.self).count + (self.all ? 1 : 0)
            guard named == 1 else {
                throw ValidationError("Name one: --session ID, --grant ID, --client CLIENT-ID or --all.")
            }
        }

        func run() async throws {
            let path = "/accounts/\(self.username.pathSegment)"
            var targets: [String] = []
            if let session { targets = ["/sessions/\(session.pathSegment)"] }
            if let grant { targets = ["/grants/\(grant.pathSegment)"] }
            if let client { targets = ["/grants?client=\(client.pathSegment)"] }
            if self.all { targets = ["/sessions", "/grants"] }
            let chosen = targets
            try await self.options.withConnection { connection in
                for target in chosen { _ = try await connection.call("DELETE", path + target) }
            }
            self.options.show(.object([:])) { _ in "Revoked." }
        }
    }
}
