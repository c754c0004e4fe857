import Settings
public import _Primitives

/// The target for which wrong attempts are counted.
public enum AttemptHolder: Hashable, Sendable {
    /// The password of an account.
    case password(account: String)
    /// The codes beside the password of an account.
    case secondFactor(account: String)
    /// The recovery codes of an account, wherever they are typed.
    case recoveryCode(account: String)
    /// Requested letters to the person of an account.
    case mail(account: String)
    /// Letters by which the person of an account confirms its address, requested while the person was signed in.
    case confirmation(account: String)
    /// An unknown name, by a number that follows from the name. Many names share a number, so that there are few rows.
    case unknownName(Int)

    /// The key of the target's row.
    public var key: String {
        switch self {
        case .password(let account): "password \(account)"
        case .secondFactor(let account): "second-factor \(account)"
        case .recoveryCode(let account): "recovery-code \(account)"
        case .mail(let account): "mail \(account)"
        case .confirmation(let account): "confirmation \(account)"
        case .unknownName(let number): "unknown-name \(number)"
        }
    }

    /// The account of the target; `nil` for an unknown name.
    public var account: String? {
        switch self {
        case .password(let account), .secondFactor(let account), .recoveryCode(let account), .mail(let account),
            .confirmation(let account):
            account
        case .unknownName: nil
        }
    }
}

/// A run of attempts without a right one.
public struct AttemptCount: Sendable, Equatable {
    /// The number of attempts.
    public var count: Int
    /// The moment of the last attempt.
    public var at: Timestamp

    /// Makes a count of these values.
    public init(count: Int, at: Timestamp) {
        self.count = count
        self.at = at
    }
}

/// An attempt at a password that is reserved, durably, before the attempt is judged.
///
/// A right attempt is given back with the change that it makes. A wrong attempt is left as it is.
public struct ReservedAttempt: Sendable, Equatable {
    /// The permission by which an attempt is made.
    public enum Leave: Sendable, Equatable {
        /// The account's own permission: the attempts in a row with this attempt.
        case account(AttemptCount)
        /// A known browser's permission, while the account's attempts pause: the SHA-256 of its cookie.
        case browser([UInt8])
    }

    /// The target of the attempt.
    public var holder: AttemptHolder
    /// The permission for the attempt.
    public var leave: Leave
    /// The day on which the attempt counts among all: days since 1 January 1970, UTC.
    public var day: Int64

    /// Makes an attempt of these values.
    public init(holder: AttemptHolder, leave: Leave, day: Int64) {
        self.holder = holder
        self.leave = leave
        self.day = day
    }

    /// Returns the day of a moment: days since 1 January 1970, UTC.
    public static func day(of moment: Timestamp) -> Int64 { moment.seconds / Limits.Fixed.daySeconds }
}

/// The earlier attempts at a password.
public struct AttemptHistory: Sendable, Equatable {
    /// The attempts in a row without a right one; `nil` without such attempts.
    public var inARow: AttemptCount?
    /// The number of attempts reserved since the given day, and not given back.
    public var inAll: Int
    /// The browser that makes the attempt; `nil` if the account does not know the browser.
    public var browser: KnownBrowserRecord?

    /// Makes a history of these values.
    public init(inARow: AttemptCount? = nil, inAll: Int = 0, browser: KnownBrowserRecord? = nil) {
        self.inARow = inARow
        self.inAll = inAll
        self.browser = browser
    }
}

/// The decision about an attempt.
public enum AttemptDecision: Sendable, Equatable {
    /// The attempt may be made: the reserved attempt, and the audit event.
    case reserved(ReservedAttempt, AuditEvent?)
    /// The attempt may not be made yet: after several wrong attempts no attempt is judged for a while.
    case resting
    /// The attempt may not be made any more: all attempts allowed in 30 days were wrong.
    case spent
}

/// A browser in which a person has signed in to an account by its password. Its cookie identifies no person, and counts
/// for this account alone.
public struct KnownBrowserRecord: Sendable, Equatable {
    /// The wrong passwords that the browser has sent while the account's attempts paused.
    public var wrong: Int
    /// The moment of the last sign-in in the browser.
    public var usedAt: Timestamp

    /// Makes a browser of these values.
    public init(wrong: Int, usedAt: Timestamp) {
        self.wrong = wrong
        self.usedAt = usedAt
    }
}

/// The browser and the network of a sign-in by password, as far as they are remembered.
public struct KnownVisit: Sendable, Equatable {
    /// The browser's network; `nil` if the network is not to be remembered.
    public var network: String?
    /// The SHA-256 of the browser's former cookie, which ends with this visit; `nil` if the browser has shown no
    /// cookie.
    public var former: [UInt8]?
    /// The SHA-256 of the cookie that the browser gets; `nil` for no cookie.
    public var browser: [UInt8]?
    /// The moment of the sign-in.
    public var at: Timestamp
    /// The largest number of browsers, and of networks, that an account remembers.
    public var most: Int

    /// Makes a visit of these values.
    public init(network: String?, former: [UInt8]?, browser: [UInt8]?, at: Timestamp, most: Int) {
        self.network = network
        self.former = former
        self.browser = browser
        self.at = at
        self.most = most
    }
}
