import Ceremony
import CeremonyEngine
import Crypto
import JOSE
import Push
import Settings
import Testing
import _Primitives

@Suite("Apple Push Notification service: decision 116; operations parity 81")
struct APNsTests {
    private let key = P256.Signing.PrivateKey()
    private let clock = MovedClock()
    private let device = PushedDevice()

    private func apns(_ calls: NotedCalls = NotedCalls()) throws -> APNs {
        APNs(
            try APNsCredential(key: self.key, keyID: "ABC123DEFG", team: "DEF123GHIJ"), topic: "com.example.app",
            address: APNs.Environment.production.address, calls: calls)
    }

    private func content() throws -> PushContent {
        try PushContent(
            try PushedDevice.operation(until: self.clock.now + .seconds(60)).payload, to: self.device.publicKey(),
            until: self.clock.now + .seconds(60), random: .system)
    }

    @Test("the request names target, topic, type, priority, end and replacement, and no word of the operation")
    func request() throws {
        let content = try self.content()
        let request = try self.apns().request(content, to: PushedDevice.apnsToken.uppercased(), at: self.clock.now)
        #expect(request.address == "https://api.push.apple.com/3/device/\(PushedDevice.apnsToken)")
        #expect(request.field("apns-topic") == "com.example.app")
        #expect(request.field("apns-push-type") == "alert")
        #expect(request.field("apns-priority") == "10")
        #expect(request.field("apns-expiration") == "1900000060")
        let replacement = try #require(request.field("apns-collapse-id"))
        #expect((1...64).contains(replacement.utf8.count))
        let body = try object(request.body)
        #expect(request.body.count <= 4096)
        #expect(try body.requiredObject("aps").integer("mutable-content") == 1)
        #expect(try body.requiredObject("aps").requiredObject("alert").string("loc-key") == "countersign.push.body")
        #expect(try self.device.open(body).redeemData.token == PushedDevice.secrets[0])
        let text = String(decoding: request.body, as: UTF8.self)
        for secret in PushedDevice.secrets { #expect(!text.contains(secret), "\(secret)") }
    }

    @Test("the same message replaces itself on the phone, and another message does not")
    func replacement() throws {
        let (apns, content) = (try self.apns(), try self.content())
        func replacement(_ content: PushContent) throws -> String? {
            try apns.request(content, to: PushedDevice.apnsToken, at: self.clock.now).field("apns-collapse-id")
        }
        #expect(try replacement(content) == replacement(content))
        #expect(try replacement(content) != replacement(self.content()))
    }

    @Test("the provider token names team, key and time, and is made anew after 40 minutes, never before 20 or after 60")
    func providerToken() throws {
        let apns = try self.apns()
        let content = try self.content()
        func token() throws -> String {
            let field = try apns.request(content, to: PushedDevice.apnsToken, at: self.clock.now).field("authorization")
            return String(try #require(field).dropFirst("bearer ".count))
        }
        let first = try token()
        let claims = try PushCredentials.claims(first, by: VerificationKey(self.key.publicKey))
        #expect(try claims.string("iss") == "DEF123GHIJ")
        #expect(try claims.integer("iat") == 1_900_000_000)
        #expect(claims.members.count == 2)
        let header = try UnverifiedJWS(compact: first).header
        #expect(header.algorithm == "ES256" && header.keyID == "ABC123DEFG")
        self.clock.advance(by: .seconds(40 * 60) - .milliseconds(1))
        #expect(try token() == first)
        self.clock.advance(by: .milliseconds(1))
        let second = try token()
        #expect(second != first)
        #expect(
            try PushCredentials.claims(second, by: VerificationKey(self.key.publicKey)).integer("iat")
                == 1_900_002_400)
        #expect(Limits.Push().providerTokenAge > .seconds(20 * 60))
        #expect(Limits.Push().providerTokenAge < .seconds(60 * 60))
    }

    @Test("after the clock went back, the token is made anew: Apple refuses a token from the future")
    func clockWentBack() throws {
        let (apns, content) = (try self.apns(), try self.content())
        func field() throws -> String? {
            try apns.request(content, to: PushedDevice.apnsToken, at: self.clock.now).field("authorization")
        }
        let first = try field()
        self.clock.advance(by: .seconds(-1))
        #expect(try field() != first)
    }

    @Test("a target is hexadecimal, so no target leads to another path of the service")
    func targets() throws {
        let apns = try self.apns()
        #expect(apns.service(of: PushedDevice.apnsToken) == "https://api.push.apple.com")
        for target in ["", "a", "0g", "00/../x", "00?x", String(repeating: "0", count: 401), "٠٠"] {
            #expect(apns.service(of: target) == nil, "\(target)")
        }
    }

    @Test("each environment of the app has an address of its own")
    func environments() {
        #expect(APNs.Environment.development.address == "https://api.sandbox.push.apple.com")
        #expect(APNs.Environment(rawValue: "staging") == nil)
    }
}
