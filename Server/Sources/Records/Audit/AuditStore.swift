public import _Primitives

/// An event that an auditor may ask about.
///
/// An event names accounts and things by their identifiers and codes. It has no name of an account's person, no content
/// and no secret. Its only fact about a person is the network address of a browser in which a person signed in. The
/// address is sealed at rest.
public struct AuditEvent: Sendable, Equatable {
    /// The kind of an event. The set grows; a stored name keeps its meaning.
    public struct Kind: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public var description: String { self.rawValue }
    }

    /// The kind of the event.
    public var kind: Kind
    /// The moment of the event.
    public var at: Timestamp
    /// The account that the event is about.
    public var accountID: String?
    /// The ceremony of the event.
    public var ceremonyID: String?
    /// The actor: an operator's name for the trail, or a client's identifier. `nil` for the person, the person's own
    /// device, or the server itself.
    public var actor: String?
    /// A code with more detail: a status code, a device's identifier.
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
    // The kinds that a restore looks for in the trail. A difference without an entry was made by a person who could
    // write the database, and not by the server.

    /// An account's e-mail address was changed, removed, verified or unverified.
    public static let accountEmailChanged = Self(rawValue: "account-email-changed")
    /// An account's telephone number was changed, removed, verified or unverified.
    public static let accountPhoneChanged = Self(rawValue: "account-phone-changed")
    /// An account's postal address was changed or removed.
    public static let accountAddressChanged = Self(rawValue: "account-address-changed")
    /// An account's profile was changed or removed.
    public static let accountProfileChanged = Self(rawValue: "account-profile-changed")
    /// An account has another user name.
    public static let accountRenamed = Self(rawValue: "account-renamed")
    /// An account's display name was changed or removed.
    public static let accountDisplayNameChanged = Self(rawValue: "account-display-name-changed")
    /// A client has another name; the detail is its identifier.
    public static let clientRenamed = Self(rawValue: "client-renamed")
    /// A client has other redirect addresses; the detail is its identifier.
    public static let clientAddressesChanged = Self(rawValue: "client-addresses-changed")
    /// A client has a new secret; the detail is its identifier.
    public static let clientSecretRotated = Self(rawValue: "client-secret-rotated")
    /// The look of invented accounts was set.
    public static let inventedAccountsSet = Self(rawValue: "invented-accounts-set")
    /// Keys of an account were deleted.
    public static let deregistered = Self(rawValue: "deregistered")
    /// The algorithm that signs a client's ID tokens was changed; the detail is the client's identifier and the
    /// algorithm.
    public static let clientAlgorithmChanged = Self(rawValue: "client-algorithm-changed")
    /// The binding of a client's codes was changed; the detail is the client's identifier and the setting.
    public static let clientPKCEChanged = Self(rawValue: "client-pkce-changed")
    /// The ways to tokens that a client may use were changed; the detail is the client's identifier and the ways.
    public static let clientGrantsChanged = Self(rawValue: "client-grants-changed")
    /// The access tokens of a client, or the access tokens meant for the client, were changed; the detail is the
    /// client's identifier.
    public static let clientTokensChanged = Self(rawValue: "client-tokens-changed")
    /// A client's authentication method or its keys were changed; the detail is the client's identifier and the method.
    public static let clientAuthenticationChanged = Self(rawValue: "client-authentication-changed")
    /// The ways people may sign in to a client were changed; the detail is the client's identifier and the ways.
    public static let clientSignInMethodsChanged = Self(rawValue: "client-sign-in-methods-changed")
    /// The demands on a client's requests were changed; the detail is the client's identifier, its rules and its
    /// origins.
    public static let clientProfileChanged = Self(rawValue: "client-profile-changed")
    /// A client's owner was changed: people are asked for their consent from now on, or no longer. The detail is the
    /// client's identifier and the owner.
    public static let clientPartyChanged = Self(rawValue: "client-party-changed")
    /// A client's settings at the app sign-in service were changed; the detail is the client's identifier.
    public static let clientSignInServiceChanged = Self(rawValue: "client-sign-in-service-changed")
    /// A client was switched off; the detail is its identifier.
    public static let clientDisabled = Self(rawValue: "client-disabled")
    /// A client was switched on again; the detail is its identifier.
    public static let clientEnabled = Self(rawValue: "client-enabled")
    /// The address at which a client is told of ended sessions was changed; the detail is the client's identifier.
    public static let clientLogoutChanged = Self(rawValue: "client-logout-changed")
    /// The address at which a client is told of the ends of dispatched sessions was changed; the detail is the client's
    /// identifier.
    public static let clientStatusAddressChanged = Self(rawValue: "client-status-address-changed")
    /// The way a client learns people's answers was changed; the detail is the client and the way.
    public static let clientAnswersChanged = Self(rawValue: "client-answers-changed")
    /// A client may have people's keys deleted from now on; the detail is its identifier.
    public static let clientMayDeregister = Self(rawValue: "client-may-deregister")
    /// A client may no longer have people's keys deleted; the detail is the client's identifier.
    public static let clientMayNotDeregister = Self(rawValue: "client-may-not-deregister")
}

extension AuditEvent {
    /// Returns the detail of a sign-in's event: the service, by its client's identifier, and the person's
    /// authentication methods, in the words of RFC 8176.
    public static func signInDetail(service: String?, methods: [String]) -> String {
        [service.map { "service=\($0)" }, methods.isEmpty ? nil : "methods=\(methods.joined(separator: ","))"]
            .compactMap(\.self).joined(separator: " ")
    }
}

/// An event at its place in the trail.
public struct AuditEntry: Sendable, Equatable {
    /// The place of the entry: from 1, without gaps.
    public var number: Int64
    /// The event.
    public var event: AuditEvent

    /// Places an event in the trail.
    public init(number: Int64, event: AuditEvent) {
        self.number = number
        self.event = event
    }
}

/// The accounts and the details that a part of the trail names.
public struct AuditedSubjects: Sendable, Equatable {
    /// The number of the last entry of the part; 0 for an empty trail.
    public var last: Int64
    /// The accounts of the entries.
    public var accounts: [String]
    /// The details of the entries, for example a removed device's identifier.
    public var details: [String]

    /// Makes the names of a part of the trail.
    public init(last: Int64, accounts: [String] = [], details: [String] = []) {
        self.last = last
        self.accounts = accounts
        self.details = details
    }
}

/// The result of a check of the trail.
public enum AuditVerdict: Sendable, Equatable {
    /// Every entry follows from the entry before. The value is the number of entries.
    case intact(entries: Int64)
    /// The trail is broken: the number of the first entry that is missing, or that does not follow from the entry
    /// before.
    case broken(at: Int64)
}

/// The audit trail: append-only, each entry authenticated together with the one before.
public protocol AuditStore: Sendable {
    /// Adds an event that belongs to no other step.
    ///
    /// The entry's code is an HMAC over the code before and every field, under a key derived from the store's root
    /// secret (``SealingRoot``), which is sealed under the key-encryption key. Without the root secret no attacker can
    /// change or reorder entries unseen. An attacker can remove entries unseen only at the end of the trail. An event
    /// that is a little earlier than the last entry gets that entry's moment (``Limits/Fixed/auditDisorder``).
    func appendAudit(_ event: AuditEvent) async throws

    /// Returns the entries after the number `after`, oldest first, at most `limit`.
    func auditEntries(after: Int64, limit: Int) async throws -> [AuditEntry]

    /// Returns the accounts and the details of the entries after the number `after`, of at most `limit` entries. Without
    /// a number the result has the number of the last entry alone. Opens nothing that is sealed.
    func auditedSubjects(after: Int64?, limit: Int) async throws -> AuditedSubjects

    /// Reads the whole trail and checks every entry.
    func verifyAudit() async throws -> AuditVerdict
}

/// A message for a person's other devices.
public struct NoticeRecord: Sendable, Equatable {
    /// The kind of a notice.
    public enum Kind: Int, Sendable, CaseIterable {
        /// A sign-in took place.
        case signedIn = 1
        /// A device was added.
        case deviceAdded = 2
        /// A device has another authenticator to answer with.
        case authenticatorAdded = 3
        /// A service had keys deleted.
        case authenticatorsRemoved = 4
        /// The person's password was changed.
        case passwordChanged = 5
        /// The second factor beside the person's password was changed.
        case secondFactorChanged = 6
        /// The person can sign in by another provider from now on.
        case identityLinked = 7
        /// A device has replaced its own earlier keys by other keys.
        case deviceKeysReplaced = 8
        /// A service wants a device added, which has answered. The notice has the identifier of the enrolment.
        case enrolmentAsked = 9
        /// The person has said that another party began a request.
        case requestDisowned = 10
        /// A device was added, because another device of the person approved the device.
        case deviceApproved = 11
        /// A recovery code of the person was used.
        case recoveryCodeUsed = 12
        /// A device was reported as lost, and rests.
        case deviceRested = 13
        /// A device that was reported as lost is in use again.
        case deviceReturned = 14
    }

    /// Random, 16 bytes as base64url; the identifier of the enrolment for ``Kind/enrolmentAsked``.
    public var id: String
    /// The account whose devices are to be told.
    public var accountID: String
    /// The kind of the notice.
    public var kind: Kind
    /// The moment of the event.
    public var at: Timestamp
    /// The subject of the notice: the service of the sign-in, of the disowned request or of the deletion of keys, the device's name, the name
    /// whose password or second factor was changed or whose recovery code was used, or the other provider. Sealed at rest.
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

/// Keeps notices for a person's devices. The steps that a notice is about write the notice.
public protocol NoticeStore: Sendable {
    /// Returns the account's notices, newest first, at most `limit`.
    func notices(accountID: String, limit: Int) async throws -> [NoticeRecord]

    /// Deletes notices from before `moment`, the oldest first, at most `limit`. Returns the number of deleted notices.
    func deleteNotices(before moment: Timestamp, limit: Int) async throws -> Int
}
