import CeremonyEngine
import Crypto
import Foundation
import JOSE
import Push
import Settings
import Testing
import _Primitives

@Suite("UnifiedPush: the messages of RFC 8291 to endpoints that devices name; decision 130")
struct UnifiedPushTests {
    private let clock = MovedClock()
    private static let endpoint = "https://push.example.org/UP?token=one"

    private static func target(_ endpoint: String = Self.endpoint) -> String {
        let key = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
        return #"{"endpoint":"\#(endpoint)","keys":{"p256dh":"\#(key)","auth":"BTBZMqHH6r4Tts7J_aSIgg"}}"#
    }

    private func push(
        _ calls: NotedCalls, identification: VAPID? = nil, to target: String = Self.target()
    ) async throws -> PushAnswer {
        let device = PushedDevice()
        let operation = try PushedDevice.operation(until: self.clock.now + .seconds(60))
        let content = try PushContent(
            operation.payload, to: device.publicKey(), until: operation.expiresAt, random: .system)
        return try await UnifiedPush(identification: identification, calls: calls).push(
            content, to: target, at: self.clock.now)
    }

    @Test("a message is an encrypted record with time to live and encoding, and without a key names no sender")
    func request() async throws {
        let calls = NotedCalls { _ in PushResponse(status: 201) }
        #expect(try await self.push(calls) == .delivered)
        let request = try #require(calls.requests.first)
        #expect(request.address == Self.endpoint && calls.requests.count == 1)
        #expect(request.field("ttl") == "60" && request.field("urgency") == "high")
        #expect(request.field("content-encoding") == "aes128gcm" && request.field("authorization") == nil)
        #expect((104...4096).contains(request.body.count))
        // The header of a record (RFC 8188, section 2.1): 16 bytes of salt, the size, and the sender's key.
        #expect(Array(request.body[16..<22]) == [0, 0, 16, 0, 65, 4])
        let text = String(decoding: request.body, as: UTF8.self)
        for secret in PushedDevice.secrets { #expect(!text.contains(secret), "\(secret)") }
    }

    @Test("with the key of Web Push the request names the operator, for this push server alone")
    func identification() async throws {
        let key = P256.Signing.PrivateKey()
        let calls = NotedCalls { _ in PushResponse(status: 201) }
        let identification = try VAPID(key: key, contact: "mailto:push@example.com")
        #expect(try await self.push(calls, identification: identification) == .delivered)
        let authorization = try #require(calls.requests.first?.field("authorization"))
        let token = try #require(authorization.split(separator: ",k=").first?.dropFirst("vapid t=".count))
        let claims = try PushCredentials.claims(String(token), by: VerificationKey(key.publicKey))
        #expect(try claims.string("aud") == "https://push.example.org")
        #expect(try claims.string("sub") == "mailto:push@example.com")
    }

    @Test("404 and 410 end the target, 413 drops the message, and 429 and 503 wait")
    func answers() async throws {
        for (status, answer) in [
            (202, PushAnswer.delivered), (404, .targetEnded(unlessChangedAfter: nil)),
            (410, .targetEnded(unlessChangedAfter: nil)), (400, .messageRefused("status 400")),
            (413, .messageRefused("status 413")), (308, .messageRefused("status 308")), (429, .wait(until: nil)),
            (503, .wait(until: nil)), (403, .targetRefused("status 403")),
        ] {
            #expect(try await self.push(NotedCalls { _ in PushResponse(status: status) }) == answer, "\(status)")
        }
    }

    @Test("a target is a subscription, and the push server is its origin; another text is no target and is not called")
    func targets() async throws {
        let unifiedPush = UnifiedPush(identification: nil, calls: NotedCalls())
        #expect(unifiedPush.service(of: Self.target()) == "https://push.example.org")
        let calls = NotedCalls()
        for text in [Self.endpoint, "{}", Self.target("ftp://push.example.org/")] {
            #expect(unifiedPush.service(of: text) == nil)
            #expect(try await self.push(calls, to: text) == .messageRefused("no subscription"))
        }
        #expect(calls.requests.isEmpty)
    }
}
