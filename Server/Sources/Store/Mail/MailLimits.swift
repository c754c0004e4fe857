extension Limits {
    /// The times, counts and sizes of mail to people.
    public struct Mail: Sendable, Equatable {
        /// Letters that one source can ask for at once. Past it: 429, as a page.
        public var mailBurst = 20
        /// Letters that it can ask for each minute after that. Past it: 429, as a page.
        public var mailsPerMinute = 4
        /// Letters to one account that are sent as they are asked for. Past it each needs a rest, the first of a minute,
        /// and each twice as long as the one before; whoever asks is told the same.
        public var mailsInARow = 3
        /// How long a link works from when its letter was handed over. Past it it opens nothing.
        public var mailedLinkLifetime: Duration = .seconds(15 * 60)
        /// How long it is tried to send what carries a link, or was asked for. Past it it is given up, and the audit trail
        /// says so.
        public var linkLetterLifetime: Duration = .seconds(60 * 60)
        /// New passwords that were asked for, and that a node looks after at a time.
        public var asksAtOnce = 256
        /// How long it is tried to send what carries no link. Past it it is given up, and the audit trail says so.
        public var mailLifetime: Duration = .seconds(24 * 60 * 60)
        /// Letters that wait to be sent, and as many that were asked for. Past it no more links are mailed; whoever asks is
        /// told the same, and the operator is told how many there were.
        public var waitingMails = 10_000
        /// Letters that wait for strangers, who have not shown who they are; a part of all letters that wait.
        public var waitingAnonymousMails = 2000
        /// Letters that one node sends at a time. The others wait.
        public var mailsAtOnce = 4
        /// Of those, letters for strangers.
        public var anonymousMailsAtOnce = 2
        /// How long a node has for a letter that it has taken. Past it another one takes it.
        public var mailLease: Duration = .seconds(2 * 60)
        /// How often a node looks whether something is due, beside each time that a letter was handed over.
        public var mailInterval: Duration = .seconds(1)
        /// How long a letter waits that was not taken. Each time it waits twice as long.
        public var mailRetryPause: Duration = .seconds(5)
        /// The longest that it waits.
        public var longestMailRetryPause: Duration = .seconds(15 * 60)
        /// How long the mail command can take. Past it it is ended, and the letter is tried again.
        public var mailCommandTime: Duration = .seconds(30)

        /// The defaults.
        public init() {}
    }

    /// A pause that is doubled so often, within its bound.
    public static func pause(_ first: Duration, doubled times: Int, atMost longest: Duration) -> Duration {
        min(first * (1 << min(max(times, 0), Fixed.restDoublings)), longest)
    }
}
