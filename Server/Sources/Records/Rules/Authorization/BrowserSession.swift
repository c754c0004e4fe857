package import _Primitives

extension SessionRecord {
    /// Returns the moment until which the session's authentications are kept: the end of the session, or `end`, if that
    /// is later.
    package func authenticationsEnd(atLeast end: Timestamp) -> Timestamp { max(self.expiresAt, end) }
}

extension AuthenticationRecord {
    /// The rows beside an authentication that have to stand until the authentication is used.
    package enum Evidence: Sendable, Equatable {
        /// The finished sign-in by the password of the account.
        case password
        /// The link of the account to the person's identity at this provider.
        case link(provider: String)
    }

    /// The evidence for the authentication; `nil` for a method that leaves no rows.
    package var evidence: Evidence? {
        self.method.hasSameBytes(as: Self.passwordMethod)
            ? .password : UpstreamProvider.name(inMethod: self.method).map(Evidence.link)
    }
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

    /// Returns the evidence that has to stand for the authentication; `nil` if none has to stand. The evidence has been
    /// checked for a request that waits in the same session already.
    ///
    /// - Parameter former: The session that the request waits in; `nil` for none.
    package func evidence(waitingIn former: String?) -> AuthenticationRecord.Evidence? {
        former?.hasSameBytes(as: self.session.id) == true ? nil : self.session.authentication.evidence
    }
}

extension AccountRecord {
    /// Returns the language that a sign-in writes; `nil` if the account keeps the former language, because the sign-in
    /// tells none or the same.
    package static func languageToWrite(_ told: String?, former: String?) -> String? { told == former ? nil : told }
}
