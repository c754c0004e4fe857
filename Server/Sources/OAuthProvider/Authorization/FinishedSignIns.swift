public import Records
public import Settings
public import _Primitives

/// The finished sign-ins, as outcomes of the methods whose outcomes are stored until the browser completes the sign-in
/// (``FinishedSignInRecord``).
public struct FinishedSignIns: Sendable {
    private let store: any FinishedSignInStore
    private let lifetime: Duration
    private let time: TimeSource

    /// Creates the sign-ins over the store that keeps them.
    public init(store: any FinishedSignInStore, limits: Limits, time: TimeSource) {
        self.store = store
        self.lifetime = limits.outcomeLifetime
        self.time = time
    }

    /// Returns the outcome of the last sign-in by a method that a request has finished; `nil` without a sign-in, and
    /// after the outcome's lifetime. The browser is not judged here: ``Authorizations`` has already found the request by
    /// the browser's secret.
    ///
    /// Cost: one query.
    public func outcome(request: String, by method: some SignInMethod) async throws -> AuthenticationOutcome? {
        let signIns = try await self.store.finishedSignIns(request: request)
        guard let signIn = signIns.first(where: { method.isWay($0.method) }),
            self.time.now() < signIn.finishedAt + self.lifetime
        else { return nil }
        return AuthenticationOutcome(
            account: signIn.account, authenticatedAt: signIn.at, acr: signIn.acr, amr: signIn.amr,
            browser: signIn.browser, address: signIn.address, way: signIn.method)
    }
}
