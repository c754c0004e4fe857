import Crypto
import JOSE
import Settings
import _Primitives

/// The requests of Web Push (RFC 8030) with encrypted messages (RFC 8291), for the dispatchers whose devices name a
/// subscription: ``WebPush`` and ``UnifiedPush``.
struct SubscriptionCalls: Sendable {
    /// The identification of this server; `nil` if the server sends without an identification.
    let identification: VAPID?
    /// The way to addresses that devices name. An implementation refuses private networks.
    let calls: any PushCalls
    let random: RandomSource
    let limits: Limits.Push

    /// Sends a message to a target, and returns the meaning of the answer.
    func push(_ content: PushContent, to target: String, at now: Timestamp) async throws -> PushAnswer {
        guard let subscription = PushSubscription(target) else { return .messageRefused("no subscription") }
        return WebPush.answer(
            try await self.calls.post(self.request(content, to: subscription, at: now)), at: now, limits: self.limits)
    }

    /// Returns the request for a message. Each call encrypts anew.
    func request(_ content: PushContent, to subscription: PushSubscription, at now: Timestamp) throws -> PushRequest {
        let body = try MessageEncryption(random: self.random).seal(
            JSON.object(content.members).serialized, to: subscription)
        let authorization = try self.identification?.authorization(
            for: subscription.origin, until: now + self.limits.vapidLifetime)
        // 32 letters of base64url. A message that is sent twice replaces itself at the push service.
        let topic = Base64URL.encode(Array(SHA256.hash(data: content.stored)).prefix(24))
        return PushRequest(
            to: subscription.endpoint,
            (authorization.map { [.init("authorization", $0)] } ?? []) + [
                .init("ttl", String(content.seconds(from: now))), .init("urgency", "high"), .init("topic", topic),
                .init("content-encoding", "aes128gcm"), .init("content-type", "application/octet-stream"),
            ], body: body)
    }
}
