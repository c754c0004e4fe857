import BackEnd
import Countersign
import CountersignBackend
import Foundation
import Hummingbird
import _Primitives

/// Serves on this machine alone. A proxy with TLS faces the network and passes requests on.
///
///     ISSUER=https://id.example CLIENT_ID=… CLIENT_SECRET_FILE=… REDIRECT_URI=… [PORT=8090] back-end
@main struct Program {
    static func main() async throws {
        func setting(_ name: String) -> String {
            guard let value = ProcessInfo.processInfo.environment[name], !value.isEmpty else {
                FileHandle.standardError.write(Data("back-end: \(name) is not set.\n".utf8))
                exit(2)
            }
            return value
        }
        let secret = try String(contentsOfFile: setting("CLIENT_SECRET_FILE"), encoding: .utf8)
        let configuration = BackendConfiguration(
            issuer: setting("ISSUER"), clientID: setting("CLIENT_ID"),
            clientSecret: SecretBytes(utf8: secret.trimmingCharacters(in: .whitespacesAndNewlines)),
            redirectURI: setting("REDIRECT_URI"), scope: "openid profile")
        let backEnd = BackEnd(IdentityBackend(configuration, transport: URLSessionTransport()))
        let port = ProcessInfo.processInfo.environment["PORT"].flatMap { Int($0) } ?? 8090
        try await Application(
            router: backEnd.router, configuration: .init(address: .hostname("127.0.0.1", port: port))
        ).runService()
    }
}
