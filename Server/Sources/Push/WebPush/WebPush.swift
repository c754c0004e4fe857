public import Crypto
import JOSE
public import Settings
public import _Primitives

/// Web Push (RFC 8030) to the push services that devices name, with encrypted messages (RFC 8291) and a signature of this
/// server (VAPID, RFC 8292). UnifiedPush uses the same messages.
public struct WebPush: PushProvider {
    public static let name = "web-push"

    private let key: SigningKey
    private let publicKey: [UInt8]
    private let contact: String
    private let calls: any PushCalls
    private let random: RandomSource
    private let limits: Limits.Push

    /// Makes the sender.
    ///
    /// - Parameters:
    ///   - key: The server's key. Subscriptions are bound to its public part.
    ///   - contact: The operator's address for push services: `mailto:` or `https:`.
    ///   - calls: The way to addresses that devices name. An implementation refuses private networks.
    /// - Throws: `JOSEError` `invalidKey`.
    public init(
        key: P256.Signing.PrivateKey, contact: String, calls: any PushCalls, random: RandomSource = .system,
        limits: Limits.Push = Limits.Push()
    ) throws {
        self.key = try SigningKey(kept: SecretBytes(key.rawRepresentation), algorithm: .es256, keyID: nil)
        self.publicKey = Array(key.publicKey.x963Representation)
        self.contact = contact
        self.calls = calls
        self.random = random
        self.limits = limits
    }

    /// The server's public key in the form that apps give to a push service (`applicationServerKey`).
    public var applicationServerKey: String { Base64URL.encode(self.publicKey) }

    public func service(of target: String) -> String? { PushSubscription(target)?.origin }

    public func push(_ content: PushContent, to target: String, at now: Timestamp) async throws -> PushAnswer {
        guard let subscription = PushSubscription(target) else { return .messageRefused("no subscription") }
        return Self.answer(
            try await self.calls.post(self.request(content, to: subscription, at: now)), at: now, limits: self.limits)
    }

    /// Returns the request for a message. Each call encrypts anew.
    public func request(_ content: PushContent, to subscription: PushSubscription, at now: Timestamp) throws
        -> PushRequest
    {
        let body = try MessageEncryption(random: self.random).seal(
            JSON.object(content.members).serialized, to: subscription)
        // The signature is for one push service, and is good for no other (RFC 8292, section 2).
        let token = try JWS.sign(
            JSON.object([
                "aud": .string(subscription.origin), "exp": .integer((now + self.limits.vapidLifetime).seconds),
                "sub": .string(self.contact),
            ]).serialized, type: "JWT", with: self.key)
        // 32 letters of base64url. A message that is sent twice replaces itself at the push service.
        let topic = Base64URL.encode(Array(SHA256.hash(data: content.stored)).prefix(24))
        return PushRequest(
            to: subscription.endpoint,
            [
                // Without the space that RFC 9110 allows: readers in use split the field at spaces.
                .init("authorization", "vapid t=\(token),k=\(self.applicationServerKey)"),
                .init("ttl", String(content.seconds(from: now))), .init("urgency", "high"), .init("topic", topic),
                .init("content-encoding", "aes128gcm"), .init("content-type", "application/octet-stream"),
            ], body: body)
    }

    /// Returns the meaning of an answer (RFC 8030, sections 5 and 7.3; RFC 8292, section 4.2).
    ///
    /// 401 and 403 are about the subscription or about this server's key: a push service refuses a subscription that was
    /// made with another key. Every device can name such a subscription, so one answer does not stop the push service for
    /// all other devices (``PushStanding``).
    public static func answer(_ response: PushResponse, at now: Timestamp, limits: Limits.Push) -> PushAnswer {
        if let shared = PushAnswer.shared(response, at: now, longestWait: limits.longestWait) { return shared }
        switch response.status {
        case 404, 410: return .targetEnded(unlessChangedAfter: nil)
        case 401, 403: return .targetRefused("status \(response.status)")
        default: return .messageRefused("status \(response.status)")
        }
    }
}
