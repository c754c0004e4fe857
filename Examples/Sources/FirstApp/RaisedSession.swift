import Countersign

/// Raises the session of the app's web view, and returns the session's cookies from now on.
func raiseSession(
    _ cookies: [AuthorizationCookie], of username: String, with client: MobileAuthenticationClient,
    askForPin: @escaping @Sendable () async -> String?
) async throws -> [AuthorizationCookie] {
    do {
        let result =
            try await client.operations.authentication
            .username(username)
            .sessionProvider(CookieSessionProvider(cookies))
            .authenticatorSelector { context in
                context.authenticators.first { context.isPolicyCompliant(authenticatorAaid: $0.aaid) }?.aaid
            }
            .pinUserVerifier { _ in await askForPin() }
            .execute()
        return (result.sessionProvider as? CookieSessionProvider)?.cookies ?? cookies
    } catch let error as OperationError where error.code == .notAuthorized {
        // The session has ended, or is another person's: sign in again.
        return []
    }
}
