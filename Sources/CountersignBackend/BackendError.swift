/// Why nobody was signed in. Two are equal when their codes are.
public struct BackendError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What happened, for code that has to choose.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String {
            case serverUnreachable, serverMisconfigured, notThisSignIn, codeRefused, clientRefused, answerNotTrusted
        }
        private let base: Base
        /// No answer came. Trying again can help; the code may have been taken, then the app begins anew.
        public static let serverUnreachable = Self(base: .serverUnreachable)
        /// The server's discovery document is another issuer's, or lacks an address: look at the configuration.
        public static let serverMisconfigured = Self(base: .serverMisconfigured)
        /// What the app brought belongs to another sign-in, or comes from another server. Refuse the app's request.
        public static let notThisSignIn = Self(base: .notThisSignIn)
        /// The server does not take the code: it was used, is too old or another service's. The app begins anew.
        public static let codeRefused = Self(base: .codeRefused)
        /// The server does not know the service, or not by this secret: look at the configuration.
        public static let clientRefused = Self(base: .clientRefused)
        /// The tokens are not the server's, not for this service or not of this sign-in. Sign nobody in, and look into it.
        public static let answerNotTrusted = Self(base: .answerNotTrusted)
        public var description: String { self.base.rawValue }
    }

    /// What happened.
    public let code: Code
    /// For the log: never a code, a token or a value of a person.
    public let reason: String

    init(_ code: Code, _ reason: String) {
        self.code = code
        self.reason = reason
    }

    public var description: String { "BackendError.\(self.code): \(self.reason)" }
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
    public func hash(into hasher: inout Hasher) { hasher.combine(self.code) }
}
