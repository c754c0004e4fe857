import Settings
import _Primitives

/// The access token of a service account: fetched when needed, once for all who wait, and kept until shortly before its
/// end.
actor AccessTokens {
    /// A token, or the meaning of the refusal.
    enum Result: Sendable {
        case token(String)
        case refused(PushAnswer)
    }

    private struct Kept {
        let token: String
        let until: Timestamp
    }

    private let account: ServiceAccount
    private let calls: any PushCalls
    private let limits: Limits.Push
    private var kept: Kept?
    private var fetch: Task<Result, any Error>?

    init(_ account: ServiceAccount, calls: any PushCalls, limits: Limits.Push) {
        self.account = account
        self.calls = calls
        self.limits = limits
    }

    /// Returns the token for a request at `now`. Throws ``PushCallError``.
    func token(at now: Timestamp) async throws -> Result {
        if let kept, now < kept.until { return .token(kept.token) }
        if let fetch { return try await fetch.value }
        let fetch = Task { try await self.fetchToken(at: now) }
        self.fetch = fetch
        defer { self.fetch = nil }
        return try await fetch.value
    }

    /// Forgets a token that the service has refused.
    func forget(_ token: String) {
        if self.kept?.token.hasSameBytes(as: token) == true { self.kept = nil }
    }

    private func fetchToken(at now: Timestamp) async throws -> Result {
        let grant = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"
        let statement = try self.account.statement(at: now, lifetime: self.limits.accountStatementLifetime)
        let response = try await self.calls.post(
            PushRequest(
                to: self.account.tokenAddress, [.init("content-type", "application/x-www-form-urlencoded")],
                body: Array("grant_type=\(grant)&assertion=\(statement)".utf8)))
        guard response.status == 200 else {
            // The account was deleted or disabled, or the clock of this machine is wrong.
            return .refused(
                PushAnswer.shared(response, at: now, longestWait: self.limits.longestWait)
                    ?? .dispatcherStopped("access token: status \(response.status)"))
        }
        guard case .object(let object)? = try? JSON(parsing: response.body),
            let token = (try? object.string("access_token")).flatMap({ $0 }), !token.isEmpty,
            token.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { throw PushCallError("the answer to the service account has no access token") }
        let seconds = (try? object.integer("expires_in", as: Int64.self)).flatMap { $0 } ?? 0
        let life = min(Duration.seconds(max(seconds, 0)), self.limits.accountStatementLifetime)
        self.kept = Kept(token: token, until: now + life - self.limits.accessTokenReserve)
        return .token(token)
    }
}
