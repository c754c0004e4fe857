public import Settings
public import _Primitives

/// UnifiedPush: the encrypted messages of Web Push (RFC 8030, RFC 8291) to the endpoint that a device's distributor has
/// given to the app, on a push server of the person's choice.
///
/// The target of a device has the form of ``PushSubscription``. A push server of UnifiedPush demands no identification of
/// the sender, so this dispatcher needs no key.
public struct UnifiedPush: PushProvider {
    public static let name = "unified-push"

    private let calls: SubscriptionCalls

    /// Makes the sender.
    ///
    /// - Parameters:
    ///   - identification: The identification of this server (VAPID), which a push server may use to reach the operator;
    ///     `nil` to send without an identification.
    ///   - calls: The way to addresses that devices name. An implementation refuses private networks and follows no
    ///     redirect.
    public init(
        identification: VAPID?, calls: any PushCalls, random: RandomSource = .system,
        limits: Limits.Push = Limits.Push()
    ) {
        self.calls = SubscriptionCalls(identification: identification, calls: calls, random: random, limits: limits)
    }

    public func service(of target: String) -> String? { PushSubscription(target)?.origin }

    public func push(_ content: PushContent, to target: String, at now: Timestamp) async throws -> PushAnswer {
        try await self.calls.push(content, to: target, at: now)
    }
}
