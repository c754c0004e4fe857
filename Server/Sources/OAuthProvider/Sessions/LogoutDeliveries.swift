import JOSE
import OAuth
public import Store
import Synchronization
import _Primitives

/// What became of telling a client that a session has ended, where it came to nothing.
public struct LogoutFailure: Sendable, Equatable {
    /// The client.
    public let client: String
    /// How often it was tried.
    public let attempt: Int
    /// What happened, in words.
    public let reason: String
    /// Whether it is not tried again.
    public let isGivenUp: Bool
}

/// What became of a delivery, for those who count.
public enum LogoutResult: String, Sendable, CaseIterable {
    case delivered, failed
    case givenUp = "given-up"
}

/// Tells clients, without a browser, that sessions have ended (OpenID Connect Back-Channel Logout 1.0): takes what is due
/// out of the outbox, signs each delivery anew, and tries until the client has said that it understood, or for a day.
///
/// Any number of nodes can do so over one store. What a node has taken is due again when its lease is over, so that one that
/// was killed loses nothing; a client can be told twice for that reason, and never at once.
public final class LogoutDeliveries: Sendable {
    /// The event that the statement is about (section 2.4).
    static let event = "http://schemas.openid.net/event/backchannel-logout"

    private let provider: OpenIDProvider
    private let outbox: any LogoutOutbox
    private let calls: any OutgoingCalls
    private let report: @Sendable (LogoutFailure) -> Void
    private let reports: SourceBudget
    /// How many of each client are under way here.
    private let underWay = Mutex<[ExactText: Int]>([:])

    /// Deliveries of a provider's sessions.
    ///
    /// - Parameter report: Is told what failed: of a client once a minute at most, and of each that is given up.
    public init(
        provider: OpenIDProvider, outbox: any LogoutOutbox, calls: any OutgoingCalls,
        report: @escaping @Sendable (LogoutFailure) -> Void = { _ in }
    ) {
        self.provider = provider
        self.outbox = outbox
        self.calls = calls
        self.report = report
        self.reports = SourceBudget(oneIn: provider.limits.pauseOfReports, sources: provider.limits.oauth.clients)
    }

    /// Takes what is due now. Whoever takes a delivery delivers it, with ``deliver(_:)``.
    ///
    /// A client of which something is under way waits for its turn: one that does not answer keeps nobody else waiting.
    ///
    /// Cost: one query; where something is due, one store step.
    public func takeDue() async throws -> [LogoutDelivery] {
        let limits = self.provider.limits.oauth
        let (busy, free) = self.underWay.withLock { underWay in
            (Set(underWay.keys), limits.logoutsAtOnce - underWay.values.reduce(0, +))
        }
        guard free >= limits.logoutsAtOncePerClient else { return [] }
        let now = self.provider.time.now()
        let taken = try await self.outbox.takeLogouts(
            at: now, lease: now + limits.logoutLease, limit: limits.logoutsAtOncePerClient, exceptOf: busy)
        self.underWay.withLock { underWay in
            for delivery in taken { underWay[ExactText(delivery.client), default: 0] += 1 }
        }
        return taken
    }

    /// Tells a client what was taken, and removes it or has it wait, by what the client answers.
    ///
    /// Cost: one query, one signature of the client's algorithm, one call, one store step.
    public func deliver(_ delivery: LogoutDelivery) async throws -> LogoutResult {
        defer {
            self.underWay.withLock { underWay in
                let key = ExactText(delivery.client)
                let left = (underWay[key] ?? 1) - 1
                underWay[key] = left > 0 ? left : nil
            }
        }
        let reason: String
        do {
            guard let token = try await self.token(for: delivery) else {
                // The client has gone, and the rest of its deliveries with it.
                try await self.outbox.removeLogout(delivery, audit: nil)
                return .delivered
            }
            let form: Parameters = ["logout_token": token]
            let answer = try await self.calls.send(
                OutgoingCall(
                    to: delivery.address, .form(form.encoded), longestAnswer: Limits.Fixed.logoutAnswerBytes))
            // Section 2.8: 200, and what frameworks make of it.
            guard !(200..<300).contains(answer.status) else {
                try await self.outbox.removeLogout(delivery, audit: nil)
                return .delivered
            }
            reason = "it answers \(answer.status)"
        } catch let error as OutgoingCallError {
            reason = error.reason
        }
        return try await self.failed(delivery, reason)
    }

    private func failed(_ delivery: LogoutDelivery, _ reason: String) async throws -> LogoutResult {
        let limits = self.provider.limits.oauth
        let now = self.provider.time.now()
        let next = now + limits.pause(afterAttempt: delivery.attempt)
        guard next < delivery.createdAt + limits.logoutDeliveryLifetime else {
            try await self.outbox.removeLogout(
                delivery, audit: AuditEvent(.logoutUndelivered, at: now, actor: delivery.client))
            self.report(
                LogoutFailure(
                    client: delivery.client, attempt: delivery.attempt, reason: reason, isGivenUp: true))
            return .givenUp
        }
        try await self.outbox.postponeLogout(delivery, until: next)
        if self.reports.spend(delivery.client, at: now) == nil {
            self.report(
                LogoutFailure(
                    client: delivery.client, attempt: delivery.attempt, reason: reason, isGivenUp: false))
        }
        return .failed
    }

    /// The statement that the session has ended (section 2.4), made for this one delivery; `nil` where the client is gone.
    private func token(for delivery: LogoutDelivery) async throws -> String? {
        let provider = self.provider
        guard let client = try await provider.store.client(delivery.client) else { return nil }
        let now = provider.time.now()
        let algorithm = client.settings.idTokenAlgorithm
        try await provider.requireSigningKey(algorithm)
        return try provider.keys.sign(
            [
                "iss": .string(provider.issuer), "sub": .string(delivery.subject), "aud": .string(client.id),
                "iat": .integer(now.seconds),
                "exp": .integer((now + provider.limits.oauth.logoutTokenLifetime).seconds),
                "jti": .string(provider.random.identifier()),
                "sid": .string(provider.keys.pairwise("sid", client: client.id, of: delivery.session)),
                "events": .object([Self.event: .object([:])]),
            ], type: TokenType.logoutToken, algorithm: algorithm, at: now)
    }
}

extension Limits.OAuth {
    /// How long a delivery waits that was tried so often: twice as long each time, within its bound.
    func pause(afterAttempt attempt: Int) -> Duration {
        var pause = self.logoutRetryPause
        for _ in 1..<max(attempt, 1) where pause < self.longestLogoutRetryPause { pause = pause * 2 }
        return min(pause, self.longestLogoutRetryPause)
    }
}

extension AuditEvent.Kind {
    /// A client was not told that a session had ended, however often it was tried; the actor is the client.
    static let logoutUndelivered = Self(rawValue: "logout-undelivered")
}
