import Foundation
import ServerClients

/// Another maker's OpenID provider on the same machine (`scripts/glewlwyd`), for a comparison in one run.
final class Peer {
    private struct Description: Decodable {
        let name: String
        let port: UInt16
        let process: Int32
        let basic: String
        let tokenPath: String
        let introspectionPath: String
        let redirectURI: String
        let verifier: String
        let scope: String
        let codes: [String]
        let families: [String]
    }

    private let process = Process()
    private let input = Pipe()
    private let description: Description

    var name: String { self.description.name }

    /// Starts the provider with its data: codes, and a refresh token for each connection.
    ///
    /// - Parameter script: The program that sets the provider up, prints its description as JSON, and ends the provider
    ///   when the input ends.
    init(script: String, folder: String, codes: Int, families: Int) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let output = Pipe()
        self.process.executableURL = URL(fileURLWithPath: script)
        self.process.arguments = [folder, "\(codes)", "\(families)"]
        self.process.standardInput = self.input
        self.process.standardOutput = output
        try self.process.run()
        var line = Data()
        while line.last != UInt8(ascii: "\n") {
            let more = output.fileHandleForReading.availableData
            guard !more.isEmpty else { throw LoadError("\(script) did not start its server") }
            line += more
        }
        self.description = try JSONDecoder().decode(Description.self, from: line)
    }

    func stop() {
        try? self.input.fileHandleForWriting.close()
        self.process.waitUntilExit()
    }

    func rates(connections: Int, tokens: Int) throws -> TokenRates {
        let peer = self.description
        @Sendable func form(_ path: String, _ text: String) -> Request {
            Request(
                "POST", path, headers: ["Authorization: Basic \(peer.basic)"],
                type: "application/x-www-form-urlencoded", body: Array(text.utf8))
        }
        let provider = TokenProvider(
            port: peer.port, process: peer.process,
            exchange: {
                form(
                    peer.tokenPath,
                    "grant_type=authorization_code&code=\($0)&redirect_uri=\(peer.redirectURI)"
                        + "&code_verifier=\(peer.verifier)")
            },
            refresh: { form(peer.tokenPath, "grant_type=refresh_token&refresh_token=\($0)") },
            introspection: { form(peer.introspectionPath, "token=\($0)") },
            clientCredentials: form(peer.tokenPath, "grant_type=client_credentials&scope=\(peer.scope)"))
        return try TokenLoad(provider: provider, connections: connections)
            .rates(codes: peer.codes, families: peer.families, tokens: tokens)
    }
}
