import ArgumentParser
import Foundation
import _Primitives

/// `countersign admin`: accounts, clients, devices, enrolment links, tokens and keys.
struct AdminCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "admin",
        abstract: "Manage accounts, clients, devices, enrolment links, tokens and keys.",
        discussion: """
            On the server's machine nothing else is needed: the data folder is found by --data or its default. \
            From elsewhere set COUNTERSIGN_ADMIN_URL and COUNTERSIGN_ADMIN_TOKEN.
            """,
        subcommands: [
            AccountCommand.self, ActivationCommand.self, AttributeCommand.self, ClientCommand.self, DeviceCommand.self,
            EmailCommand.self, IdentityCommand.self, InventedCommand.self, InviteCommand.self, LoginCommand.self,
            MetadataCommand.self,
            OrganisationCommand.self, ProviderCommand.self, RegistrationTokenCommand.self, RoleCommand.self,
            ServiceCommand.self,
            SigningKeyCommand.self, TokenCommand.self,
        ]
    )
}

/// `countersign admin login`: a token for the one-time administrator link.
struct LoginCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login",
        abstract: "Exchange the one-time administrator link for an admin token.",
        discussion: """
            The link comes on standard input, as it opens the server to whoever has it:

              countersign admin login < data/administrator-link
            """
    )

    /// The path of the link, below the server's own path.
    private static let setUpPath = "/admin/setup"

    @Option(name: .long, help: "How long the token is valid, as 90d or 12h: a year at most (default: a year).")
    var lifetime: TimeSpan?

    @Option(name: .long, help: "A certificate authority in PEM that the server's certificate comes from.")
    var caFile: String?

    @Flag(name: .long, help: "Print one JSON object instead of text.")
    var json = false

    func run() async throws {
        let link = try Terminal.secretFromStandardInput()
        guard var parts = URLComponents(string: link), let secret = parts.fragment,
            parts.path.hasBytes(atEnd: Self.setUpPath)
        else {
            throw CommandFailure(.usage, "that is not an administrator link")
        }
        (parts.path, parts.fragment) = (String(parts.path.dropLast(Self.setUpPath.count)), nil)
        let server = try AdminConnection.server(at: parts.string ?? "", named: "the administrator link")
        let connection = AdminConnection(place: .network(server, token: ""), caFile: self.caFile)
        var body: JSONObject = ["secret": .string(secret)]
        body["lifetimeSeconds"] = self.lifetime.map { .integer($0.seconds) }
        let answer = try await connection.call("POST", "/tokens", body)
        guard case .object(let object) = answer, let token = try object.string("token") else {
            throw CommandFailure(.failed, "the server's answer holds no token")
        }
        if self.json {
            Terminal.standardOutput(json: answer)
        } else {
            Terminal.standardOutput(
                "export COUNTERSIGN_ADMIN_URL=\(server.text)\nexport COUNTERSIGN_ADMIN_TOKEN=\(token)")
        }
    }
}
