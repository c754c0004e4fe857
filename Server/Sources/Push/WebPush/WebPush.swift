public import Crypto
public import Settings
public import _Primitives

/// Web Push (RFC 8030) to the push services that devices name, with encrypted messages (RFC 8291) and a signature of this
/// server (VAPID, RFC 8292).
public struct WebPush: PushProvider {
    public static let name = "web-push"

    /// The identification of this server. Subscriptions are bound to its key.
    public let identification: VAPID
    private let calls: SubscriptionCalls

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
        self.identification = try VAPID(key: key, contact: contact)
        self.calls = SubscriptionCalls(
            identification: self.identification, calls: calls, random: random, limits: limits)
    }

    public func service(of target: String) -> String? { PushSubscription(target)?.origin }

    public func push(_ content: PushContent, to target: String, at now: Timestamp) async throws -> PushAnswer {
        try await self.calls.push(content, to: target, at: now)
    }

    /// Returns the request for a message. Each call encrypts anew.
    public func request(_ content: PushContent, to subscription: PushSubscription, at now: Timestamp) throws
        -> PushRequest
    {
        try self.calls.request(content, to: subscription, at: now)
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
