import Accounts
import Ceremony
import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import Passwords
import Synchronization
import Testing
import UAFClient
import _Primitives

/// What the arrows of the diagrams have to hold beside being drawn, where a whole run shows it best.
@Suite("Parity sign-in D4 to D6: what holds in a run of the whole")
struct DiagramConditionTests {
    /// An app's way to the server that keeps all that went over it.
    private final class Wire: Transport {
        private let transport: any Transport
        private let kept = Mutex<[(request: TransportRequest, response: TransportResponse)]>([])

        init(_ scene: RecordedScene) { self.transport = scene.transport }

        func send(_ request: TransportRequest) async throws -> TransportResponse {
            let response = try await self.transport.send(request)
            self.kept.withLock { $0.append((request, response)) }
            return response
        }

        var requests: [TransportRequest] { self.kept.withLock { $0.map(\.request) } }

        /// The members of the last answer.
        var tokens: JSONObject {
            get throws {
                let body = try #require(self.kept.withLock { $0.last?.response.body })
                guard case .object(let object) = try JSON(parsing: body) else { return [:] }
                return try object.object("data") ?? object
            }
        }
    }

    @Test("a password goes to the server in the body of one request, also of an app that has just been installed")
    func oneRequest() async throws {
        try await RecordedScene.run(try RunRecorders()) { scene in
            let wire = Wire(scene)
            let app = try await scene.start(scene.passwords, transport: wire)
            let done = scene.place.server.assembly.passwords.load.done
            try await app.withPassword(username: "alice", password: PasswordPlace.password)
            #expect(scene.place.server.assembly.passwords.load.done == done + 1)
            let carrying = wire.requests.filter { String(decoding: $0.body, as: UTF8.self).contains("horse") }
            #expect(carrying.count == 1)
            for request in wire.requests {
                #expect(request.method == "POST" && request.url.scheme == "https" && request.url.query() == nil)
                #expect(!request.headers.contains { $0.value.contains("horse") })
            }
            #expect(wire.requests.map { $0.url.path() } == ["/oauth2/challenge", "/oauth2/challenge", "/oauth2/token"])
        }
    }

    @Test("what a person says to the other provider never passes the app, and lies nowhere on its device")
    func appSeesNoPassword() async throws {
        try await RecordedScene.run(try RunRecorders()) { scene in
            let wire = Wire(scene)
            let app = try await scene.start(transport: wire)
            try await app.withBrowser { true }
            let words = PasswordPlace.password.split(separator: " ").map(String.init)
            #expect(!wire.requests.isEmpty && !scene.device.storage.snapshot.isEmpty)
            for request in wire.requests {
                let text =
                    request.url.absoluteString + String(decoding: request.body, as: UTF8.self)
                    + request.headers.map(\.value).joined()
                #expect(!words.contains { text.contains($0) })
            }
            for (_, value) in scene.device.storage.snapshot {
                let text = String(decoding: value, as: UTF8.self)
                #expect(!words.contains { text.contains($0) })
            }
        }
    }

    @Test("an app has access token, refresh token and device secret, and the server has a session with none of them")
    func hashesAlone() async throws {
        try await RecordedScene.run(try RunRecorders()) { scene in
            let wire = Wire(scene)
            let app = try await scene.start(transport: wire)
            try await app.withBrowser()
            let tokens = try wire.tokens
            let folder = scene.place.server.folder
            let files = try FileManager.default.contentsOfDirectory(atPath: folder)
            #expect(!files.isEmpty)
            for name in ["access_token", "refresh_token", "device_secret"] {
                let secret = try tokens.requiredString(name)
                #expect(secret.utf8.count >= 43)
                for file in files {
                    let bytes = FileManager.default.contents(atPath: "\(folder)/\(file)") ?? Data()
                    #expect(bytes.range(of: Data(secret.utf8)) == nil, "\(name) in \(file)")
                }
            }
            // The session is there all the same: it is renewed.
            _ = try await app.authorization(method: "GET", url: scene.page)
            scene.place.server.clock.advance(by: .seconds(3600))
            _ = try await app.authorization(method: "GET", url: scene.page)
            #expect(try wire.tokens.requiredString("refresh_token") != tokens.requiredString("refresh_token"))
        }
    }
}
