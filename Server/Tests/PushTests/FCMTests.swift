import Ceremony
import CeremonyEngine
import JOSE
import Push
import Settings
import Synchronization
import Testing
import _Primitives

@Suite("Firebase Cloud Messaging: decision 116; operations parity 81")
struct FCMTests {
    private let clock = MovedClock()
    private let device = PushedDevice()

    private static func account(_ other: JSONObject = [:]) throws -> ServiceAccount {
        try ServiceAccount(file: try PushCredentials.serviceAccountFile(other))
    }

    private static let granted = PushResponse(
        status: 200, body: Array(#"{"access_token":"ya29.first","expires_in":3599,"token_type":"Bearer"}"#.utf8))

    private func content() throws -> PushContent {
        let operation = try PushedDevice.operation(until: self.clock.now + .seconds(60))
        return try PushContent(
            operation.payload, to: self.device.publicKey(), until: operation.expiresAt, random: .system)
    }

    @Test("the data message has the three members of an encrypted payload, high priority and the time that is left")
    func message() async throws {
        let calls = NotedCalls { request in
            request.address.hasSuffix("/token") ? Self.granted : PushResponse(status: 200)
        }
        let fcm = FCM(try Self.account(), calls: calls)
        let content = try self.content()
        #expect(try await fcm.push(content, to: PushedDevice.fcmToken, at: self.clock.now) == .delivered)
        let request = try #require(calls.requests.last)
        #expect(request.address == "https://fcm.googleapis.com/v1/projects/example-project/messages:send")
        #expect(request.field("authorization") == "Bearer ya29.first")
        let message = try object(request.body).requiredObject("message")
        #expect(try message.string("token") == PushedDevice.fcmToken)
        let data = try message.requiredObject("data")
        #expect(data.members.map(\.name).sorted() == ["nma_data", "nma_data_content_type", "nma_data_version"])
        #expect(try data.string("nma_data_content_type") == "application/jose")
        #expect(try data.requiredString("nma_data").split(separator: ".", omittingEmptySubsequences: false).count == 5)
        #expect(try self.device.open(data).redeemData.token == PushedDevice.secrets[0])
        let android = try message.requiredObject("android")
        #expect(try android.string("priority") == "HIGH")
        #expect(try android.string("ttl") == "60s")
        #expect(message["notification"] == nil)
        let text = String(decoding: request.body, as: UTF8.self)
        for secret in PushedDevice.secrets { #expect(!text.contains(secret), "\(secret)") }
    }

    @Test("the statement's audience is Google's address, whatever token_uri says")
    func audience() async throws {
        let calls = NotedCalls { _ in Self.granted }
        let fcm = FCM(try Self.account(["token_uri": .string("https://elsewhere.example/token")]), calls: calls)
        _ = try await fcm.push(try self.content(), to: PushedDevice.fcmToken, at: self.clock.now)
        let request = try #require(calls.requests.first)
        #expect(request.address == "https://elsewhere.example/token")
        let form = String(decoding: request.body, as: UTF8.self)
        let start = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion="
        #expect(form.hasPrefix(start))
        let claims = try PushCredentials.verifyRSA(String(form.dropFirst(start.count)))
        #expect(try claims.string("aud") == "https://oauth2.googleapis.com/token")
        #expect(try claims.string("iss") == "push@example-project.iam.gserviceaccount.com")
        #expect(try claims.string("scope") == "https://www.googleapis.com/auth/firebase.messaging")
        #expect(try claims.integer("iat") == 1_900_000_000)
        #expect(try claims.integer("exp") == 1_900_003_600)
    }

    @Test("an access token is used until five minutes before its end, and fetched once for all who wait")
    func accessTokens() async throws {
        let calls = NotedCalls { request in
            request.address.hasSuffix("/token") ? Self.granted : PushResponse(status: 200)
        }
        let fcm = FCM(try Self.account(), calls: calls)
        let content = try self.content()
        func fetched() -> Int { calls.requests.count { $0.address.hasSuffix("/token") } }
        let now = self.clock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 {
                group.addTask { _ = try await fcm.push(content, to: PushedDevice.fcmToken, at: now) }
            }
            try await group.waitForAll()
        }
        #expect(fetched() == 1)
        self.clock.advance(by: .seconds(3599 - 300 - 1))
        _ = try await fcm.push(content, to: PushedDevice.fcmToken, at: self.clock.now)
        #expect(fetched() == 1)
        self.clock.advance(by: .seconds(1))
        _ = try await fcm.push(content, to: PushedDevice.fcmToken, at: self.clock.now)
        #expect(fetched() == 2)
    }

    @Test("a refused access token stops the dispatcher, and the next try fetches another one")
    func refusedAccessToken() async throws {
        let isRefused = Mutex(true)
        let calls = NotedCalls { request in
            if request.address.hasSuffix("/token") { return Self.granted }
            return PushResponse(status: isRefused.withLock { $0 } ? 401 : 200)
        }
        let fcm = FCM(try Self.account(), calls: calls)
        let content = try self.content()
        let refused = try await fcm.push(content, to: PushedDevice.fcmToken, at: self.clock.now)
        #expect(refused == .dispatcherStopped("status 401"))
        isRefused.withLock { $0 = false }
        #expect(try await fcm.push(content, to: PushedDevice.fcmToken, at: self.clock.now) == .delivered)
        let fetches = calls.requests.filter { $0.address.hasSuffix("/token") }
        #expect(fetches.count == 2)
    }

    @Test("a refused service account stops the dispatcher; an overloaded one waits; an answer without a token is none")
    func tokenAnswers() async throws {
        let content = try self.content()
        func push(_ response: PushResponse) async throws -> PushAnswer {
            try await FCM(try Self.account(), calls: NotedCalls { _ in response })
                .push(content, to: PushedDevice.fcmToken, at: self.clock.now)
        }
        #expect(
            try await push(PushResponse(status: 400, body: Array(#"{"error":"invalid_grant"}"#.utf8)))
                == .dispatcherStopped("access token: status 400"))
        #expect(
            try await push(PushResponse(status: 503, retryAfter: "9")) == .wait(until: self.clock.now + .seconds(9)))
        for body in ["", "{}", #"{"access_token":""}"#, #"{"access_token":"a b"}"#, #"{"access_token":7}"#] {
            await #expect(throws: PushCallError.self, "\(body)") {
                _ = try await push(PushResponse(status: 200, body: Array(body.utf8)))
            }
        }
    }

    @Test("a file that is no service account is refused by the name of the member, and no value is repeated")
    func files() throws {
        for name in ["type", "project_id", "private_key_id", "private_key", "client_email", "token_uri"] {
            let file = try PushCredentials.serviceAccountFile(without: name)
            let error = #expect(throws: ServiceAccountError.self) { _ = try ServiceAccount(file: file) }
            #expect(error?.reason.contains(name) == true, "\(name)")
        }
        for (name, value) in [
            ("type", "authorized_user"), ("project_id", "a/../b"), ("token_uri", "http://example.com"),
            ("private_key", "-----BEGIN PRIVATE KEY-----"),
        ] {
            let file = try PushCredentials.serviceAccountFile([name: .string(value)])
            let error = #expect(throws: ServiceAccountError.self) { _ = try ServiceAccount(file: file) }
            #expect(error?.reason.contains(name) == true && error?.reason.contains(value) == false, "\(name)")
        }
        #expect(throws: ServiceAccountError.self) { _ = try ServiceAccount(file: Array("[]".utf8)) }
    }

    @Test("a target is one word")
    func targets() throws {
        let fcm = FCM(try Self.account(), calls: NotedCalls())
        #expect(fcm.service(of: PushedDevice.fcmToken) == "https://fcm.googleapis.com")
        for target in ["", "a b", "a\n", "ä"] { #expect(fcm.service(of: target) == nil) }
    }
}
