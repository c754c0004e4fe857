public import _Primitives

/// What wrong attempts are counted of.
public enum AttemptHolder: Hashable, Sendable {
    /// The password of an account.
    case password(account: String)
    /// The codes beside the password of an account.
    case secondFactor(account: String)
    /// Letters to the person of an account that somebody has asked for.
    case mail(account: String)
    /// Letters by which the person of an account confirms its address, and has asked for while signed in.
    case confirmation(account: String)
    /// A name that nobody has, by a number that the name gives: many names share one, so that their rows are few.
    case unknownName(Int)

    /// The key of its row.
    public var key: String {
        switch self {
        case .password(let account): "password \(account)"
        case .secondFactor(let account): "second-factor \(account)"
        case .mail(let account): "mail \(account)"
        case .confirmation(let account): "confirmation \(account)"
        case .unknownName(let number): "unknown-name \(number)"
        }
    }

    /// Whose it is; `nil` where there is nobody.
    public var account: String? {
        switch self {
        case .password(let account), .secondFactor(let account), .mail(let account), .confirmation(let account):
            account
        case .unknownName: nil
        }
    }
}

/// Attempts in a row, none of which was right.
public struct AttemptCount: Sendable, Equatable {
    /// How many.
    public var count: Int
    /// When the last one was.
    public var at: Timestamp

    /// So many until then.
    public init(count: Int, at: Timestamp) {
        self.count = count
        self.at = at
    }
}

/// An attempt at a password that is reserved, durably, before anybody judges it.
///
/// A right one is given back with what it changes; a wrong one is left as it is.
public struct ReservedAttempt: Sendable, Equatable {
    /// By whose leave it is made.
    public enum Leave: Sendable, Equatable {
        /// The account's own: the attempts in a row with this one.
        case account(AttemptCount)
        /// A known browser's, while the account's attempts rest: the SHA-256 of its cookie.
        case browser([UInt8])
    }

    /// What is attempted.
    public var holder: AttemptHolder
    /// By whose leave.
    public var leave: Leave
    /// The day on which it counts among all: days since 1 January 1970, UTC.
    public var day: Int64

    /// An attempt of these values.
    public init(holder: AttemptHolder, leave: Leave, day: Int64) {
        self.holder = holder
        self.leave = leave
        self.day = day
    }

    /// The day of a moment: days since 1 January 1970, UTC.
    public static func day(of moment: Timestamp) -> Int64 { moment.seconds / Limits.Fixed.daySeconds }
}

/// What was attempted at a password before.
public struct AttemptHistory: Sendable, Equatable {
    /// The attempts in a row, none of which was right; `nil` where there is none.
    public var inARow: AttemptCount?
    /// All that were reserved since the day that was asked for, and not given back.
    public var inAll: Int
    /// The browser that makes the attempt; `nil` where the account does not know it.
    public var browser: KnownBrowserRecord?

    /// A history of these values.
    public init(inARow: AttemptCount? = nil, inAll: Int = 0, browser: KnownBrowserRecord? = nil) {
        self.inARow = inARow
        self.inAll = inAll
        self.browser = browser
    }
}

/// Whether an attempt may be made.
public enum AttemptDecision: Sendable, Equatable {
    /// It may: what is kept of it, and what the trail says.
    case reserved(ReservedAttempt, AuditEvent?)
    /// Not yet: after several wrong ones none is judged for a while.
    case resting
    /// Not any more: all that may be made in 30 days were wrong.
    case spent
}

/// A browser in which somebody has signed in to an account by its password. Its cookie names nobody, and counts for this
/// account alone.
public struct KnownBrowserRecord: Sendable, Equatable {
    /// Wrong passwords that it has sent while the account's attempts rested.
    public var wrong: Int
    /// When somebody last signed in there.
    public var usedAt: Timestamp

    /// A browser of these values.
    public init(wrong: Int, usedAt: Timestamp) {
        self.wrong = wrong
        self.usedAt = usedAt
    }
}

/// A sign-in by password, as far as its browser and its network are remembered.
public struct KnownVisit: Sendable, Equatable {
    /// The browser's network; `nil` where it is not to be remembered.
    public var network: String?
    /// The SHA-256 of the cookie that the browser has shown, which is over; `nil` where it has shown none.
    public var former: [UInt8]?
    /// The SHA-256 of the cookie that the browser is given; `nil` where it is given none.
    public var browser: [UInt8]?
    /// When.
    public var at: Timestamp
    /// Browsers, and networks, that an account remembers at most.
    public var most: Int

    /// A visit of these values.
    public init(network: String?, former: [UInt8]?, browser: [UInt8]?, at: Timestamp, most: Int) {
        self.network = network
        self.former = former
        self.browser = browser
        self.at = at
        self.most = most
    }
}
