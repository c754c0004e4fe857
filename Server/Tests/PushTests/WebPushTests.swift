import CeremonyEngine
import Crypto
import Foundation
import JOSE
import Push
import Settings
import Testing
import _Primitives

@Suite("Web Push: RFC 8030, 8291 and 8292; decision 116")
struct WebPushTests {
    private let clock = MovedClock()
    private let key = P256.Signing.PrivateKey()

    private static func subscription(
        _ endpoint: String = "https://push.example.net:8443/push/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV",
        key: String = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
        secret: String = "BTBZMqHH6r4Tts7J_aSIgg"
    ) -> String {
        #"{"endpoint":"\#(endpoint)","keys":{"p256dh":"\#(key)","auth":"\#(secret)"}}"#
    }

    @Test("the message of RFC 8291, appendix A")
    func appendixA() throws {
        let sender = try P256.KeyAgreement.PrivateKey(
            rawRepresentation: try #require(Base64URL.decode("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw")))
        let salt = try #require(Base64URL.decode("DGv6ra1nlYgDCS1FRnbzlw"))
        let body = try MessageEncryption(key: sender, salt: salt).seal(
            Array("When I grow up, I want to be a watermelon".utf8),
            to: try #require(PushSubscription(Self.subscription())))
        #expect(
            Base64URL.encode(body) == """
                DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK\
                6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN
                """)
    }

    @Test("a message is one record of 4,096 bytes at most; a longer one is refused")
    func oneRecord() throws {
        let subscription = try #require(PushSubscription(Self.subscription()))
        let longest = [UInt8](repeating: 0x61, count: MessageEncryption.longestMessage)
        #expect(try MessageEncryption(random: .system).seal(longest, to: subscription).count == 4096)
        #expect(throws: PushCallError.self) {
            _ = try MessageEncryption(random: .system).seal(longest + [0x61], to: subscription)
        }
    }

    @Test("each message has another key and salt")
    func freshKeys() throws {
        let subscription = try #require(PushSubscription(Self.subscription()))
        let bodies = try (0..<2).map { _ in try MessageEncryption(random: .system).seal([1], to: subscription) }
        #expect(bodies[0].prefix(16) != bodies[1].prefix(16) && bodies[0][21..<86] != bodies[1][21..<86])
    }

    @Test("the request has time to live, urgency, topic, encoding and the signature for this push service alone")
    func request() throws {
        let calls = NotedCalls()
        let webPush = try WebPush(key: self.key, contact: "mailto:push@example.com", calls: calls)
        let device = PushedDevice()
        let operation = try PushedDevice.operation(until: self.clock.now + .seconds(60))
        let content = try PushContent(
            operation.payload, to: device.publicKey(), until: operation.expiresAt, random: .system)
        let subscription = try #require(PushSubscription(Self.subscription()))
        let request = try webPush.request(content, to: subscription, at: self.clock.now)
        #expect(request.address == subscription.endpoint)
        #expect(request.field("ttl") == "60" && request.field("urgency") == "high")
        #expect(request.field("content-encoding") == "aes128gcm")
        let topic = try #require(request.field("topic"))
        #expect(topic.utf8.count == 32 && Base64URL.decode(topic) != nil)
        #expect(request.body.count <= 4096)
        let authorization = try #require(request.field("authorization"))
        let parts = authorization.split(separator: ",k=")
        #expect(parts.count == 2 && String(parts[1]) == webPush.identification.applicationServerKey)
        let publicKey = Base64URL.decode(webPush.identification.applicationServerKey)
        #expect(publicKey == Array(self.key.publicKey.x963Representation))
        let token = String(parts[0].dropFirst("vapid t=".count))
        let claims = try PushCredentials.claims(token, by: VerificationKey(self.key.publicKey))
        #expect(try claims.string("aud") == "https://push.example.net:8443")
        #expect(try claims.string("sub") == "mailto:push@example.com")
        let end = try #require(try claims.integer("exp", as: Int64.self))
        #expect(end > self.clock.now.seconds && end <= self.clock.now.seconds + 86_400)
    }

    @Test("a subscription has the four members in their forms, and the time that browsers add; all else is no target")
    func subscriptions() throws {
        let webPush = try WebPush(key: self.key, contact: "mailto:push@example.com", calls: NotedCalls())
        #expect(webPush.service(of: Self.subscription("https://PUSH.example.net:443/x")) == "https://push.example.net")
        // As Firefox and Chromium write a subscription.
        for time in ["null", "1900000000000", "1900000000000.5"] {
            let text = Self.subscription().replacing("{\"endpoint\"", with: "{\"expirationTime\":\(time),\"endpoint\"")
            #expect(PushSubscription(text) == PushSubscription(Self.subscription()), "\(time)")
        }
        let longEndpoint = "https://push.example.net/" + String(repeating: "x", count: 2048)
        for text in [
            "", "{}", Self.subscription("ftp://push.example.net/"), Self.subscription("/relative"),
            Self.subscription("https://user@push.example.net/"), Self.subscription("https://push.example.net/#x"),
            Self.subscription(longEndpoint), Self.subscription(secret: "AAAA"), Self.subscription(key: "AAAA"),
            // A point off the curve.
            Self.subscription(key: "B" + String(repeating: "A", count: 86)),
            #"{"endpoint":"https://push.example.net/"}"#,
            Self.subscription().replacing("{\"endpoint\"", with: "{\"expirationTime\":\"1\",\"endpoint\""),
            Self.subscription().replacing("{\"endpoint\"", with: "{\"other\":1,\"endpoint\""),
        ] {
            #expect(webPush.service(of: text) == nil, "\(text)")
        }
    }
}
