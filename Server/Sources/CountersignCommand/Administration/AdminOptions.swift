import ArgumentParser
import Foundation
import Settings
import _Primitives

/// The options by which an administration command finds its server.
struct AdminOptions: ParsableArguments {
    @Option(
        name: .long,
        help:
            "The data folder of a server on this machine; its socket is used while it runs, else its database directly."
    )
    var data: String?

    @Option(name: .long, help: "The key file that goes with --data, where no server runs.")
    var keyFile: String?

    @Option(
        name: .long, help: "A certificate authority in PEM that the certificate of COUNTERSIGN_ADMIN_URL comes from.")
    var caFile: String?

    @Flag(name: .long, help: "Print one JSON object instead of text.")
    var json = false

    /// Calls `body` with a connection, over the socket or the network.
    ///
    /// `toServer`: `true` if the call is about a running server, and not about the server's database. Without a running
    /// server such a call fails.
    func withConnection<Result: Sendable>(
        toServer: Bool = false, _ body: (AdminConnection) async throws -> Result
    ) async throws -> Result {
        let environment = ProcessInfo.processInfo.environment
        if let address = environment["COUNTERSIGN_ADMIN_URL"], self.data == nil {
            guard let token = environment["COUNTERSIGN_ADMIN_TOKEN"], !token.isEmpty else {
                throw CommandFailure(
                    .usage, "COUNTERSIGN_ADMIN_URL is set, but COUNTERSIGN_ADMIN_TOKEN is not",
                    remedy: "The one-time link that `countersign serve` prints gives a token.")
            }
            let server = try AdminConnection.server(at: address, named: "COUNTERSIGN_ADMIN_URL")
            return try await body(AdminConnection(place: .network(server, token: token), caFile: self.caFile))
        }
        guard self.caFile == nil else {
            throw CommandFailure(
                .usage, "--ca-file is for a server that COUNTERSIGN_ADMIN_URL names",
                remedy: "On the server's own machine its socket is used, without TLS.")
        }
        let folder = DataFolder(path: self.data ?? DataFolder.defaultPath(environment))
        let keyFile = KeyFile(path: self.keyFile ?? DataFolder.defaultKeyPath(environment))
        return try await LocalAdministration(folder: folder, keyFile: keyFile)
            .withConnection(toServer: toServer, body)
    }

    /// Makes one call, over a connection of its own. Throws as ``withConnection(toServer:_:)`` and the connection's
    /// calls.
    func call(
        _ method: String, _ path: String, _ body: JSONObject? = nil, within time: Duration = Limits.Commands.answerTime,
        toServer: Bool = false
    ) async throws -> JSON {
        try await self.withConnection(toServer: toServer) {
            try await $0.call(method, path, body, within: time)
        }
    }

    /// Prints an answer: as JSON if the operator asked for JSON, otherwise as the text that `text` makes.
    func show(_ answer: JSON, _ text: (JSONObject) throws -> String) rethrows {
        if self.json {
            Terminal.standardOutput(json: answer)
        } else if case .object(let object) = answer {
            Terminal.standardOutput(try text(object))
        }
    }
}
