extension Limits {
    /// The times, counts and sizes of mail to people.
    public struct Mail: Sendable, Equatable {
        /// The letters requested by each source at once. Past it: 429, as a page.
        public var mailBurst = 20
        /// The letters requested by each source each minute after the burst. Past it: 429, as a page.
        public var mailsPerMinute = 4
        /// The letters to each account that are sent without a pause. Past it each letter needs a pause: first a
        /// minute, and then each twice as long as the pause before. The answer to the request stays the same.
        public var mailsInARow = 3
        /// The life of a link, from the handover of its letter. Past it the link opens nothing.
        public var mailedLinkLifetime: Duration = .seconds(15 * 60)
        /// The time for sending a letter with a link, or a requested letter. Past it the letter is given up, and the
        /// audit trail says so.
        public var linkLetterLifetime: Duration = .seconds(60 * 60)
        /// The requests for a new password under way on a node at a time.
        public var asksAtOnce = 256
        /// The time for sending a letter without a link. Past it the letter is given up, and the audit trail says so.
        public var mailLifetime: Duration = .seconds(24 * 60 * 60)
        /// The number of letters waiting to be sent, and of waiting requests for letters. Past it further letters and
        /// requests are dropped, except the news that the password or its second factor was changed. The answer to a
        /// request stays the same, and the operator is told the number of dropped letters.
        public var waitingMails = 10_000
        /// The waiting letters for strangers, who have not proved their identity. The letters are a part of all waiting
        /// letters.
        public var waitingAnonymousMails = 2000
        /// The letters that one node sends at a time. The others wait.
        public var mailsAtOnce = 4
        /// The letters for strangers that one node sends at a time, as a part of ``mailsAtOnce``.
        public var anonymousMailsAtOnce = 2
        /// The time for a node to send a letter after taking it. Past it another node takes the letter.
        public var mailLease: Duration = .seconds(2 * 60)
        /// The interval between two searches of a node for due letters. A node also searches after each handover of a
        /// letter.
        public var mailInterval: Duration = .seconds(1)
        /// The first pause of a letter after a failed handover. Each further pause is twice as long.
        public var mailRetryPause: Duration = .seconds(5)
        /// The longest pause of a letter after a failed handover.
        public var longestMailRetryPause: Duration = .seconds(15 * 60)
        /// The time for the mail command. Past it the command is ended, and the letter is tried again.
        public var mailCommandTime: Duration = .seconds(30)

        /// The defaults.
        public init() {}
    }

    /// Returns the pause after so many doublings of the first pause, at most `longest`.
    public static func pause(_ first: Duration, doubled times: Int, atMost longest: Duration) -> Duration {
        min(first * (1 << min(max(times, 0), Fixed.restDoublings)), longest)
    }
}
