public import _Primitives

/// The password of an account, as it is kept.
public struct PasswordRecord: Sendable, Equatable {
    /// Whose it is.
    public var accountID: String
    /// The hash with its parameters, as text: a PHC string, or what bcrypt makes. Sealed at rest.
    public var hash: String
    /// When it was set.
    public var setAt: Timestamp
    /// Whether an operator has set it for one sign-in, at which the person chooses another one.
    public var isOneTime: Bool

    /// A password of these values.
    public init(accountID: String, hash: String, setAt: Timestamp, isOneTime: Bool = false) {
        self.accountID = accountID
        self.hash = hash
        self.setAt = setAt
        self.isOneTime = isOneTime
    }
}

/// A password that takes the place of an account's, together with what goes with it.
public struct PasswordChange: Sendable {
    /// The password from now on.
    public var password: PasswordRecord
    /// What was shown, which must still be the account's. `nil` for an operator, who asks nobody.
    public var shown: ShownPassword?
    /// The digest of a mailed link that is spent, with every other one of the account; what is asked for beside a password
    /// must be asked for beside it, and the account must have a password. `nil` where none was shown.
    public var link: [UInt8]?
    /// The code that was shown beside the link.
    public var spent: PasswordSignInStep.Spent?
    /// Whether all ends that the account has authenticated: sessions, grants, and with them their tokens.
    public var endsSessions: Bool
    /// What the trail says.
    public var audit: AuditEvent
    /// What the trail says of the code.
    public var spentAudit: AuditEvent?
    /// What the person's devices are told.
    public var notice: NoticeRecord?
    /// What the person is told by mail.
    public var mail: MailRecord?
    /// The change as its person can disown it; `nil` for a change that an operator makes.
    public var accountChange: AccountChangeRecord?
    /// The browser that is known to the account from now on. `nil` where it is to be none.
    public var visit: KnownVisit?

    /// A change to `password`.
    public init(
        to password: PasswordRecord, shown: ShownPassword? = nil, endsSessions: Bool, audit: AuditEvent,
        notice: NoticeRecord? = nil
    ) {
        self.password = password
        self.shown = shown
        self.endsSessions = endsSessions
        self.audit = audit
        self.notice = notice
    }
}

/// What an account had when its person showed it: what a change of it stands on. Whatever was changed since then, by
/// whomever, has the change come to nothing.
public struct ShownPassword: Sendable, Equatable {
    /// Whose it is. The account must not be locked when the change is made.
    public var accountID: String
    /// The hash of the password.
    public var hash: String
    /// When the secret of its time-based codes was set; `nil` where it had none.
    public var secondFactorSetAt: Timestamp?

    /// What was shown of an account.
    public init(accountID: String, hash: String, secondFactorSetAt: Timestamp? = nil) {
        self.accountID = accountID
        self.hash = hash
        self.secondFactorSetAt = secondFactorSetAt
    }
}

/// What an account is to ask for beside its password.
public struct FactorChange: Sendable {
    /// Whose it is.
    public var accountID: String
    /// A new secret for time-based codes; `nil` where only the recovery codes are new.
    public var totp: TOTPRecord?
    /// Recovery codes, by their HMACs, in place of those before.
    public var recoveryCodes: [[UInt8]]
    /// What was shown, which must still be the account's. `nil` where nobody was asked.
    public var shown: ShownPassword?
    /// The session in which it is changed: with a new secret everything that the account has authenticated outside of it
    /// ends.
    public var session: String?
    /// What the trail says.
    public var audit: AuditEvent
    /// What the person's devices are told.
    public var notice: NoticeRecord?
    /// What the person is told by mail.
    public var mail: MailRecord?
    /// The change as its person can disown it; `nil` for a change that an operator makes.
    public var accountChange: AccountChangeRecord?

    /// A change of these values.
    public init(
        accountID: String, totp: TOTPRecord?, recoveryCodes: [[UInt8]], shown: ShownPassword?, session: String? = nil,
        audit: AuditEvent, notice: NoticeRecord? = nil, mail: MailRecord? = nil,
        accountChange: AccountChangeRecord? = nil
    ) {
        self.accountChange = accountChange
        self.session = session
        self.accountID = accountID
        self.totp = totp
        self.recoveryCodes = recoveryCodes
        self.shown = shown
        self.audit = audit
        self.notice = notice
        self.mail = mail
    }
}

/// The secret of an account's time-based codes (RFC 6238).
public struct TOTPRecord: Sendable, Equatable {
    /// Whose it is.
    public var accountID: String
    /// The secret. Sealed at rest.
    public var secret: SecretBytes
    /// The hash under the HMAC, by the name that it has in an app's address.
    public var algorithm: String
    /// Digits of a code.
    public var digits: Int
    /// Seconds that a code is valid.
    public var periodSeconds: Int64
    /// When it was set.
    public var setAt: Timestamp
    /// The step of the last code that was taken: neither it nor one from before it counts again.
    public var lastStep: Int64?

    /// A secret of these values.
    public init(
        accountID: String, secret: SecretBytes, algorithm: String, digits: Int, periodSeconds: Int64, setAt: Timestamp,
        lastStep: Int64? = nil
    ) {
        self.accountID = accountID
        self.secret = secret
        self.algorithm = algorithm
        self.digits = digits
        self.periodSeconds = periodSeconds
        self.setAt = setAt
        self.lastStep = lastStep
    }
}

/// An account as far as its password, and what is asked for beside it, go.
public struct PasswordAccount: Sendable, Equatable {
    /// The account.
    public var account: AccountRecord
    /// Its password, if it has one.
    public var password: PasswordRecord?
    /// The secret of its time-based codes, if it has one: then a password alone is not enough.
    public var totp: TOTPRecord?
    /// How many recovery codes are left.
    public var recoveryCodes: Int

    /// An account with these.
    public init(account: AccountRecord, password: PasswordRecord?, totp: TOTPRecord?, recoveryCodes: Int) {
        self.account = account
        self.password = password
        self.totp = totp
        self.recoveryCodes = recoveryCodes
    }
}

/// How far somebody is who signs in by a password: the sign-in of one authorization request, with which it goes.
public struct PasswordSignInRecord: Sendable, Equatable {
    /// The authorization request.
    public var request: String
    /// Whose password was right.
    public var accountID: String
    /// What was shown beside the password, if anything.
    public var secondFactor: SecondFactor?
    /// Whether a code is still missing.
    public var needsSecondFactor: Bool
    /// Whether a new password is still missing.
    public var needsNewPassword: Bool
    /// When nothing was missing any more.
    public var finishedAt: Timestamp?
    /// The browser and its system in words. Sealed at rest.
    public var browser: String?
    /// The browser's network address. Sealed at rest.
    public var address: String?

    /// What can be shown beside a password.
    public enum SecondFactor: String, Sendable, CaseIterable {
        /// A time-based code.
        case totp
        /// A recovery code.
        case recoveryCode = "recovery-code"
    }

    /// A sign-in of these values.
    public init(
        request: String, accountID: String, secondFactor: SecondFactor? = nil, needsSecondFactor: Bool,
        needsNewPassword: Bool, finishedAt: Timestamp? = nil, browser: String? = nil, address: String? = nil
    ) {
        self.request = request
        self.accountID = accountID
        self.secondFactor = secondFactor
        self.needsSecondFactor = needsSecondFactor
        self.needsNewPassword = needsNewPassword
        self.finishedAt = finishedAt
        self.browser = browser
        self.address = address
    }
}

/// A step of a sign-in by password, together with everything that it stands on.
public struct PasswordSignInStep: Sendable {
    /// What is spent by it.
    public enum Spent: Sendable, Equatable {
        /// The time-based codes up to this step.
        case totp(step: Int64)
        /// A recovery code, by its HMAC.
        case recoveryCode([UInt8])
    }

    /// The sign-in after the step.
    public var record: PasswordSignInRecord
    /// The sign-in before it; `nil` for a step that begins one, whatever was there.
    public var previous: PasswordSignInRecord?
    /// The hash that was verified, which must still be the account's.
    public var verifiedHash: String?
    /// The password that takes the place of the account's.
    public var newPassword: PasswordRecord?
    /// The code that was shown.
    public var spent: Spent?
    /// The attempt that was right, which is given back. `nil` where nothing was reserved.
    public var attempt: ReservedAttempt?
    /// Where the person has signed in, if nothing is missing any more.
    public var visit: KnownVisit?
    /// What the trail says.
    public var audit: [AuditEvent]
    /// What the person's devices are told.
    public var notices: [NoticeRecord]

    /// A step to `record`.
    public init(
        to record: PasswordSignInRecord, from previous: PasswordSignInRecord? = nil, verifiedHash: String? = nil,
        newPassword: PasswordRecord? = nil, spent: Spent? = nil, audit: [AuditEvent] = [],
        notices: [NoticeRecord] = []
    ) {
        self.record = record
        self.previous = previous
        self.verifiedHash = verifiedHash
        self.newPassword = newPassword
        self.spent = spent
        self.audit = audit
        self.notices = notices
    }
}
