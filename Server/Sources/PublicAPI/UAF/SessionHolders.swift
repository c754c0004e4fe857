import CeremonyEngine
import Crypto
import Endpoints
import HTTPTypes
import Hummingbird
import OAuthProvider
import UAF
import _Primitives

/// Finds the sessions that an app shows with its messages, and raises a session after an authentication (decision 118).
struct SessionHolders: Sendable {
    /// The form in which an app has a session: the member `session` of a request's context.
    enum Form: String, Sendable, CaseIterable {
        /// The cookie of a signed-in browser, for instance of the app's web view.
        case cookie
        /// The token of an earlier authentication in the app, as a bearer token.
        case token
    }

    /// The session after an authentication.
    enum Renewal {
        /// The session goes on under the cookie of this token.
        case cookie(Token)
        /// The cookie stays. The session of a token goes on by the token of the authentication.
        case unchanged
        case ended
    }

    let provider: OpenIDProvider
    let devices: DeviceAuthorization
    let cookie: SessionCookie

    /// Returns the session that a request shows in the form; `nil` if the request shows no session, or the session has
    /// ended.
    func session(_ form: Form, of request: Request) async throws -> ShownSession? {
        switch form {
        case .cookie:
            guard let secret = self.cookie.secret(of: request),
                let session = try await self.provider.sessions.session(secret)
            else { return nil }
            return ShownSession(accountID: session.account, digest: secret.digest)
        case .token:
            guard let token = request.headers[.authorization] else { return nil }
            do {
                let device = try await self.devices.device(of: request).device
                return ShownSession(
                    accountID: device.accountID, digest: Array(SHA256.hash(data: Array(token.utf8))))
            } catch is Problem {
                return nil
            }
        }
    }

    /// Returns the sessions that a request shows, in every form.
    ///
    /// Cost: none for a request without a cookie and a token.
    func sessions(of request: Request) async throws -> [ShownSession] {
        var sessions: [ShownSession] = []
        for form in Form.allCases {
            if let session = try await self.session(form, of: request) { sessions.append(session) }
        }
        return sessions
    }

    /// Raises the session of an authentication, if the request shows the session by its cookie.
    func renewed(_ bound: BoundAuthentication, of device: AuthenticatedDevice, shownIn request: Request) async throws
        -> Renewal
    {
        guard let secret = self.cookie.secret(of: request), constantTimeEqual(secret.digest, bound.session) else {
            return .unchanged
        }
        let further = FurtherAuthentication(
            account: device.accountID, device: device.deviceID, at: bound.at, acr: bound.level, amr: bound.methods)
        return switch try await self.provider.authorizations.raise(secret, by: further) {
        case .raised(let next):
            .cookie(Token(kind: .httpCookie, value: "\(self.cookie.name)=\(next.cookieValue)"))
        case .kept: .unchanged
        case .ended: .ended
        }
    }
}
