package import _Primitives

extension SessionRecord {
    /// Returns the moment until which the session's authentications are kept: the end of the session, or `end`, if that
    /// is later.
    package func authenticationsEnd(atLeast end: Timestamp) -> Timestamp { max(self.expiresAt, end) }
}

extension AuthenticationRecord {
    /// The evidence for an authentication: the finished sign-in (``FinishedSignInRecord``) by the method and of the
    /// account, which has to stand until the authentication is used.
    package struct Evidence: Sendable, Equatable {
        /// The method of the finished sign-in.
        package let method: String
        /// The account of the finished sign-in.
        package let account: String

        /// Names the finished sign-in.
        package init(method: String, account: String) {
            self.method = method
            self.account = account
        }
    }

    /// The evidence for the authentication; `nil` for the phone's methods, whose authentications end with the device.
    /// Every other method needs a finished sign-in, also a method that this rule does not know.
    package var evidence: Evidence? {
        [Self.phoneMethod, Self.askedPhoneMethod].containsBytes(of: self.method)
            ? nil : Evidence(method: self.method, account: self.account)
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
