import CountersignTestKit
import Foundation
import UAFClient
import _Primitives

/// A simulated service that proves which app runs on the phone, as Apple's App Attest does. For experiments: the app is
/// set by a file in the phone's folder, and the root of the service is the phone's own.
struct SimulatedApp: Sendable {
    private let path: String
    /// The file of the root's certificate, PEM, for the server.
    let rootPath: String

    init(home: String) {
        self.path = "\(home)/app.json"
        self.rootPath = "\(home)/app-root.pem"
    }

    /// The name of the app: a team and a bundle, joined by a period; `nil` if the phone has no such service.
    var name: String? {
        guard case .string(let name)? = SimulatedState.read(self.path)?["app"] else { return nil }
        return name
    }

    /// Sets the app from now on, and writes the root's certificate; `nil` takes the service away. The root stays the
    /// same.
    func set(_ name: String?) throws {
        var state: JSONObject = ["secret": .string(self.secret ?? RandomSource.system.token())]
        state["app"] = name.map { .string($0) }
        try SimulatedState.write(state, self.path)
        guard let attestor = try self.attestor() else { return }
        try Data(Self.pem(attestor.root).utf8).write(to: URL(fileURLWithPath: self.rootPath), options: .atomic)
    }

    /// Returns the service; `nil` if the phone has none. The keys of the app live as long as the returned value.
    func attestor() throws -> SimulatedAppAttestor? {
        guard let name = self.name, let secret = self.secret else { return nil }
        return try SimulatedAppAttestor(app: name, rootRandom: .repeatable(secret))
    }

    /// The secret that the root's key is made of.
    private var secret: String? {
        guard case .string(let secret)? = SimulatedState.read(self.path)?["secret"] else { return nil }
        return secret
    }

    private static func pem(_ certificate: [UInt8]) -> String {
        let text = Data(certificate).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        return "-----BEGIN CERTIFICATE-----\n\(text)\n-----END CERTIFICATE-----\n"
    }
}
