import Countersign
import Foundation
import JOSE
import _Primitives

/// The servers whose identities this phone accepts, each with its root keys. An app has this list in its configuration.
///
/// The list is a file in the phone's folder. Root keys are public; a person who can write to the folder controls the
/// phone anyway.
struct TrustedServers: Sendable {
    private let path: String

    init(home: String) { self.path = "\(home)/trust.json" }

    /// Returns the servers, in the order in which they were trusted. Throws ``Refusal`` for a file that another program
    /// has written.
    func all() throws -> [IdentityConfiguration.TrustedServer] {
        guard FileManager.default.fileExists(atPath: self.path) else { return [] }
        guard let object = SimulatedState.read(self.path), let servers = try? object.array("servers") else {
            throw Self.unreadable
        }
        return try servers.map { value in
            guard case .object(let server) = value, let identifier = try? server.string("server"),
                let keys = try? server.strings("keys")
            else { throw Self.unreadable }
            return IdentityConfiguration.TrustedServer(idmIdentifier: identifier, rootKeys: keys)
        }
    }

    /// Returns a server by its address; `nil` if the server was never trusted.
    func server(_ address: String) throws -> IdentityConfiguration.TrustedServer? {
        try self.all().first { $0.idmIdentifier.hasSameBytes(as: address) }
    }

    /// Trusts a server by these keys alone from now on.
    func set(_ server: IdentityConfiguration.TrustedServer) throws {
        let others = try self.all().filter { !$0.idmIdentifier.hasSameBytes(as: server.idmIdentifier) }
        try SimulatedState.write(
            [
                "servers": .array(
                    (others + [server]).map { server in
                        .object([
                            "server": .string(server.idmIdentifier),
                            "keys": .array(server.rootKeys.map { .string($0) }),
                        ])
                    })
            ], self.path)
    }

    /// Reads a root key from an operator: a JSON web key on P-256, without its private part. Returns the text to store,
    /// the thumbprint for comparing, and the key for verifying.
    ///
    /// Throws ``Refusal``.
    static func key(_ bytes: some Collection<UInt8>) throws -> (text: String, thumbprint: String, roots: JWKSet) {
        guard case .object(let object)? = try? JSON(parsing: Array(bytes)), object["d"] == nil,
            let key = try? JWK(publicJSON: object), case .p256 = key.material
        else {
            throw Refusal.failed(
                "not-a-key",
                "That is no root key: it is the JSON web key that `countersign admin identity root` prints.")
        }
        return (JSON.object(object).text, key.thumbprint, JWKSet([key]))
    }

    private static var unreadable: Refusal {
        .failed("trust-unreadable", "The file trust.json in the phone's folder cannot be read: delete it.")
    }
}
