package import _Primitives

extension SessionRecord {
    /// Returns the moment until which the session's authentications are kept: the end of the session, or `end`, if that
    /// is later.
    package func authenticationsEnd(atLeast end: Timestamp) -> Timestamp { max(self.expiresAt, end) }
}

extension AuthenticationRecord {
    /// `true` if the person authenticated by the password of the account.
    package var isByPassword: Bool { self.method.hasSameBytes(as: Self.passwordMethod) }
}

extension AuthenticatedRequest {
    /// The effect of the authentication on the sessions of the browser.
    package enum SessionEffect: Sendable, Equatable {
        /// The session with the cookie goes on with the authentication. `nil` stands for no cookie, so for no session.
        case stepUp(from: [UInt8]?)
        /// The session begins. It replaces the session with the cookie, and the session that the request waited in.
        case begins(replacing: [UInt8]?, waitingIn: String?)
    }

    /// Returns the effect of the authentication on the sessions of the browser.
    ///
    /// - Parameters:
    ///   - cookieDigest: The digest of the cookie that the browser has shown; `nil` for none.
    ///   - former: The session that the request waits in; `nil` for none.
    package func effect(replacing cookieDigest: [UInt8]?, waitingIn former: String?) -> SessionEffect {
        self.isStepUp ? .stepUp(from: cookieDigest) : .begins(replacing: cookieDigest, waitingIn: former)
    }

    /// Returns `true` if the evidence for the authentication has to stand: the sign-in by password, or the link to the
    /// provider. The evidence has been checked for a request that waits in the same session already.
    ///
    /// - Parameter former: The session that the request waits in; `nil` for none.
    package func needsEvidence(waitingIn former: String?) -> Bool {
        guard let former else { return true }
        return !former.hasSameBytes(as: self.session.id)
    }
}
