public import _Primitives

/// Something that happened and that an auditor may ask about.
///
/// It names things by their identifiers and codes only: no name, text or secret. What it has of a person is the address of
/// a browser that somebody was signed in from, which is sealed at rest.
public struct AuditEvent: Sendable, Equatable {
    /// What happened. The set grows; a stored name keeps its meaning.
    public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public var description: String { self.rawValue }
    }

    /// What happened.
    public var kind: Kind
    /// When it happened.
    public var at: Timestamp
    /// Whom it is about.
    public var accountID: String?
    /// In which ceremony.
    public var ceremonyID: String?
    /// Who did it: an operator's name for the trail, a client's identifier, or `nil` for the person's own device.
    public var actor: String?
    /// A code that says more: a status code, a device's identifier.
    public var detail: String?
    /// The network address of the browser that was signed in. Sealed at rest.
    public var address: String?

    /// Describes an event.
    public init(
        _ kind: Kind, at: Timestamp, accountID: String? = nil, ceremonyID: String? = nil, actor: String? = nil,
        detail: String? = nil, address: String? = nil
    ) {
        self.address = address
        self.kind = kind
        self.at = at
        self.accountID = accountID
        self.ceremonyID = ceremonyID
        self.actor = actor
        self.detail = detail
    }
}

extension AuditEvent.Kind {
    // What a restore looks for in the trail: a difference that no entry tells of was made by somebody who could write the
    // database, and not by the server.

    /// An account has another e-mail address, or none, or another word on whether it is the person's.
    public static let accountEmailChanged = Self(rawValue: "account-email-changed")
    /// An account has another telephone number, or none, or another word on whether it is the person's.
    public static let accountPhoneChanged = Self(rawValue: "account-phone-changed")
    /// An account has another postal address, or none.
    public static let accountAddressChanged = Self(rawValue: "account-address-changed")
    /// An account has another profile, or none.
    public static let accountProfileChanged = Self(rawValue: "account-profile-changed")
    /// An account has another user name.
    public static let accountRenamed = Self(rawValue: "account-renamed")
    /// An account has another name to show, or none.
    public static let accountDisplayNameChanged = Self(rawValue: "account-display-name-changed")
    /// A client has another name; the detail is its identifier.
    public static let clientRenamed = Self(rawValue: "client-renamed")
    /// A client has other redirect addresses; the detail is its identifier.
    public static let clientAddressesChanged = Self(rawValue: "client-addresses-changed")
    /// A client has a new secret; the detail is its identifier.
    public static let clientSecretRotated = Self(rawValue: "client-secret-rotated")
    /// What invented accounts look like was set.
    public static let inventedAccountsSet = Self(rawValue: "invented-accounts-set")
    /// Keys of an account were deleted.
    public static let deregistered = Self(rawValue: "deregistered")
    /// What a client's ID tokens are signed with has changed; the detail is its identifier and the algorithm.
    public static let clientAlgorithmChanged = Self(rawValue: "client-algorithm-changed")
    /// What a client's codes are bound to has changed; the detail is its identifier and the setting.
    public static let clientPKCEChanged = Self(rawValue: "client-pkce-changed")
    /// The ways to tokens that a client may go have changed; the detail is its identifier and the ways.
    public static let clientGrantsChanged = Self(rawValue: "client-grants-changed")
    /// What access tokens a client may have, or which are for it, has changed; the detail is its identifier.
    public static let clientTokensChanged = Self(rawValue: "client-tokens-changed")
    /// How a client proves who it is, or with which keys, has changed; the detail is its identifier and the way.
    public static let clientAuthenticationChanged = Self(rawValue: "client-authentication-changed")
    /// The ways in which people may sign in to a client have changed; the detail is its identifier and the ways.
    public static let clientSignInMethodsChanged = Self(rawValue: "client-sign-in-methods-changed")
    /// What is asked of a client's requests has changed; the detail is its identifier, its rules and its origins.
    public static let clientProfileChanged = Self(rawValue: "client-profile-changed")
    /// People are asked what a client may have, or no longer; the detail is its identifier and whose it is.
    public static let clientPartyChanged = Self(rawValue: "client-party-changed")
    /// What a client is to the app sign-in service was changed; the detail is its identifier.
    public static let clientSignInServiceChanged = Self(rawValue: "client-sign-in-service-changed")
    /// A client was switched off; the detail is its identifier.
    public static let clientDisabled = Self(rawValue: "client-disabled")
    /// A client was switched on again; the detail is its identifier.
    public static let clientEnabled = Self(rawValue: "client-enabled")
    /// Where a client is told that sessions have ended has changed; the detail is its identifier.
    public static let clientLogoutChanged = Self(rawValue: "client-logout-changed")
    /// How a client hears what people have answered was changed; the detail is the client and how.
    public static let clientAnswersChanged = Self(rawValue: "client-answers-changed")
    /// A client may have people's keys deleted from now on; the detail is its identifier.
    public static let clientMayDeregister = Self(rawValue: "client-may-deregister")
    /// A client may no longer; the detail is its identifier.
    public static let clientMayNotDeregister = Self(rawValue: "client-may-not-deregister")
}

extension AuditEvent {
    /// What a sign-in's event says more: the service, by its client's identifier, and how the person was authenticated, in
    /// the words of RFC 8176.
    public static func signInDetail(service: String?, methods: [String]) -> String {
        [service.map { "service=\($0)" }, methods.isEmpty ? nil : "methods=\(methods.joined(separator: ","))"]
            .compactMap(\.self).joined(separator: " ")
    }
}

/// An event at its place in the trail.
public struct AuditEntry: Sendable, Equatable {
    /// From 1, without gaps.
    public var number: Int64
    /// What happened.
    public var event: AuditEvent

    /// Places an event in the trail.
    public init(number: Int64, event: AuditEvent) {
        self.number = number
        self.event = event
    }
}

/// Whether the trail is whole.
public enum AuditVerdict: Sendable, Equatable {
    /// Every entry follows from the one before; so many entries.
    case intact(entries: Int64)
    /// The first entry that does not follow from the one before, or is missing.
    case broken(at: Int64)
}

/// The audit trail: append-only, each entry authenticated together with the one before.
public protocol AuditStore: Sendable {
    /// Adds an event that belongs to no other step.
    ///
    /// The entry's code is an HMAC, under a key derived from the key-encryption key, over the code before and every
    /// field: without the key nobody can change, remove or reorder an entry unseen, except the newest ones.
    func appendAudit(_ event: AuditEvent) async throws

    /// Entries after the number `after`, oldest first, at most `limit`.
    func auditEntries(after: Int64, limit: Int) async throws -> [AuditEntry]

    /// Reads the whole trail and checks every entry.
    func verifyAudit() async throws -> AuditVerdict
}

/// Something that a person's other devices are to be told.
public struct NoticeRecord: Sendable, Equatable {
    /// What the notice says.
    public enum Kind: Int, Sendable, CaseIterable {
        /// Somebody signed in.
        case signedIn = 1
        /// A device was added.
        case deviceAdded = 2
        /// A device has another authenticator to answer with.
        case authenticatorAdded = 3
        /// A service had keys deleted.
        case authenticatorsRemoved = 4
        /// The person's password was changed.
        case passwordChanged = 5
        /// What is asked for beside the person's password was changed.
        case secondFactorChanged = 6
        /// The person can sign in by another provider from now on.
        case identityLinked = 7
        /// A device has told other keys of its own than those that it had.
        case deviceKeysReplaced = 8
    }

    /// Random, 16 bytes as base64url.
    public var id: String
    /// Whose devices are to be told.
    public var accountID: String
    /// What the notice says.
    public var kind: Kind
    /// When it happened.
    public var at: Timestamp
    /// The service that was signed in to or had keys deleted, the device's name, the name whose password, or second factor, was changed, or the other provider.
    /// Sealed at rest.
    public var subject: String

    /// Describes a notice.
    public init(id: String, accountID: String, kind: Kind, at: Timestamp, subject: String) {
        self.id = id
        self.accountID = accountID
        self.kind = kind
        self.at = at
        self.subject = subject
    }
}

/// Notices for a person's devices. They are written by the steps that they tell of.
public protocol NoticeStore: Sendable {
    /// The account's notices, newest first, at most `limit`.
    func notices(accountID: String, limit: Int) async throws -> [NoticeRecord]

    /// Deletes notices from before `moment`, the oldest first, at most `limit`. Returns how many.
    func deleteNotices(before moment: Timestamp, limit: Int) async throws -> Int
}
