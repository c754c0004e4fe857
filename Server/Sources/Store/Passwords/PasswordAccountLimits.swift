extension Limits {
    /// The times, counts and sizes of password accounts. What hashes cost stands below the store (`PasswordLimits`).
    public struct PasswordAccounts: Sendable, Equatable {
        /// Wrong passwords and codes that one source can send at once; right ones are not counted. Past it: 429, as a
        /// page, and nothing is judged.
        public var passwordBurst = 600
        /// Wrong passwords and codes that it can send each minute after that. Past it: 429, as a page, and nothing is
        /// judged.
        public var passwordsPerMinute = 60
        /// Wrong passwords of one account in a row that are judged without a rest between them. Past it each needs a rest,
        /// the first of a minute, and each twice as long as the one before. Its phone never rests.
        public var passwordAttempts = 10
        /// Wrong codes beside the password of one account in a row, by the same rule. Past it each needs such a rest.
        public var secondFactorAttempts = 5
        /// The first rest.
        public var attemptRest: Duration = .seconds(60)
        /// The longest rest. Past it the next attempt is judged, however many were wrong.
        public var longestAttemptRest: Duration = .seconds(60 * 60)
        /// How long wrong attempts in a row are remembered after the last of them.
        public var attemptMemory: Duration = .seconds(24 * 60 * 60)
        /// How long the trail is told nothing more of an account's refused attempts, which are counted meanwhile.
        public var refusalPause: Duration = .seconds(60 * 60)
        /// Attempts at the password of one account in 30 days that were not right, whoever made them and wherever. Past it
        /// none is judged until one of them is older, the password is reset by a mailed link, or an operator sets another.
        public var attemptsInAll = 100
        /// Days that such attempts count. A day is one of UTC, and the one that has begun counts beside them.
        public var attemptDays = 30
        /// Browsers in which somebody has signed in to one account by its password, and networks from which they have,
        /// that are remembered of it. Past it the one that was used least recently is forgotten.
        public var knownBrowsers = 5
        /// Wrong passwords that such a browser can send while the account's attempts rest. Past it the browser is like any
        /// other.
        public var knownBrowserAttempts = 5
        /// How long such a browser, or such a network, is remembered after the last sign-in from it. Past it the browser
        /// and the network are like any other.
        public var knownBrowserLifetime: Duration = .seconds(180 * 24 * 60 * 60)
        /// How long a password works that an operator has set for one sign-in. Past it it is a wrong one.
        public var oneTimePasswordLifetime: Duration = .seconds(3 * 24 * 60 * 60)
        /// How long the secret for an authenticator app that a page shows can be taken up. Past it the person begins again.
        public var secondFactorOfferLifetime: Duration = .seconds(10 * 60)

        /// The defaults.
        public init() {}
    }
}
