/// The reason why a sign-in, or waiting for a session, failed. Two errors are equal if their codes are equal.
public struct BackendError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of error, for code that has to choose.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String {
            case serverUnreachable, serverMisconfigured, notThisSignIn, codeRefused, clientRefused, answerNotTrusted,
                resultExpired, cancelled
        }
        private let base: Base
        /// No answer came, or the server failed (a status of 500 or more).
        ///
        /// Trying again can help. If the server already accepted the code, the app begins again.
        public static let serverUnreachable = Self(base: .serverUnreachable)
        /// The server's discovery document belongs to another issuer, lacks an address or names an address that is not
        /// secure; or an endpoint gave an answer that no other code describes. Check the configuration.
        public static let serverMisconfigured = Self(base: .serverMisconfigured)
        /// The app's code belongs to another sign-in, or comes from another server. Refuse the app's request.
        public static let notThisSignIn = Self(base: .notThisSignIn)
        /// The server refuses the code: the code was used, is too old or belongs to another service. The app begins
        /// again.
        public static let codeRefused = Self(base: .codeRefused)
        /// The server does not know the service, or not with this secret. Check the configuration.
        public static let clientRefused = Self(base: .clientRefused)
        /// The tokens do not come from the server, or are for another service or another sign-in; or an answer is
        /// malformed or about another person. Refuse the sign-in, and investigate.
        public static let answerNotTrusted = Self(base: .answerNotTrusted)
        /// The person has confirmed, and the server's signed result is genuine, but the result is no longer valid. A
        /// result is valid for five minutes.
        ///
        /// Do not carry the transaction out by this result. Dispatch the transaction again, and wait for the session
        /// from the dispatch on.
        public static let resultExpired = Self(base: .resultExpired)
        /// The task that waited was cancelled. The session goes on at the server, and a later call can wait again.
        public static let cancelled = Self(base: .cancelled)
        public var description: String { self.base.rawValue }
    }

    /// The kind of error.
    public let code: Code
    /// A text for the log, never with a code, a token or a value of a person.
    public let reason: String

    init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    public var description: String { "BackendError.\(self.code): \(self.reason)" }
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
    public func hash(into hasher: inout Hasher) { hasher.combine(self.code) }
}
