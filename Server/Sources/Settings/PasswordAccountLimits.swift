extension Limits {
    /// The times, counts and sizes of password accounts. The cost of hashes stands below the store (`PasswordLimits`).
    public struct PasswordAccounts: Sendable, Equatable {
        /// The wrong passwords and codes from each source at once. Right values are not counted. Past it: 429, as a
        /// page, and nothing is judged.
        public var passwordBurst = 600
        /// The wrong passwords and codes from each source each minute after the burst. Past it: 429, as a page, and
        /// nothing is judged.
        public var passwordsPerMinute = 60
        /// The wrong passwords of each account in a row that are judged without a pause. Past it each attempt needs a
        /// pause: first a minute, and then each twice as long as the pause before. The account's phone never pauses.
        public var passwordAttempts = 10
        /// The wrong codes beside the password of each account in a row, by the same rule. Past it each attempt needs
        /// such a pause.
        public var secondFactorAttempts = 5
        /// The wrong recovery codes of each account in a row, by the same rule, wherever the codes are typed. Past it
        /// each recovery code needs such a pause. Codes of an authenticator app do not wait for this pause.
        public var recoveryCodeAttempts = 10
        /// The first pause between attempts.
        public var attemptRest: Duration = .seconds(60)
        /// The longest pause between attempts. Past it the next attempt is judged, however many were wrong.
        public var longestAttemptRest: Duration = .seconds(60 * 60)
        /// The time for remembering wrong attempts in a row after the last attempt.
        public var attemptMemory: Duration = .seconds(24 * 60 * 60)
        /// The pause between two entries in the trail about an account's refused attempts. The attempts are counted
        /// meanwhile.
        public var refusalPause: Duration = .seconds(60 * 60)
        /// The wrong attempts at the password of each account in 30 days, from any sender and place. Past it no attempt
        /// is judged until an attempt is older than 30 days, the password is reset by a mailed link, or an operator
        /// sets another password.
        public var attemptsInAll = 100
        /// The days for which a wrong attempt counts. A day is a UTC day. The present day counts beside them.
        public var attemptDays = 30
        /// The browsers, and the networks, that are remembered for each account after a sign-in by its password. Past
        /// it the least recently used browser or network is forgotten.
        public var knownBrowsers = 5
        /// The wrong passwords from a remembered browser while the account's attempts pause. Past it the browser is
        /// like any other.
        public var knownBrowserAttempts = 5
        /// The time for which a browser, or a network, is remembered after the last sign-in from it. Past it the
        /// browser and the network are like any other.
        public var knownBrowserLifetime: Duration = .seconds(180 * 24 * 60 * 60)
        /// The life of an operator's password for one sign-in. Past it the password counts as wrong.
        public var oneTimePasswordLifetime: Duration = .seconds(3 * 24 * 60 * 60)
        /// The time for a person to take up the secret for an authenticator app from a page. Past it the person begins
        /// again.
        public var secondFactorOfferLifetime: Duration = .seconds(10 * 60)

        /// The defaults.
        public init() {}
    }
}
