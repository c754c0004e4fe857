public import _Primitives

/// An invitation to an organisation, to a service, or to both.
public struct InviteRecord: Sendable, Equatable {
    /// What became of an invitation. That its time is over says ``InviteRecord/expiresAt``.
    public enum State: String, Sendable, CaseIterable {
        /// Nobody has accepted it.
        case open
        /// Somebody has.
        case accepted
        /// An operator has taken it back.
        case revoked
    }

    /// A role at a service.
    public struct Place: Sendable, Equatable {
        /// The service, by its client's identifier.
        public var service: String
        /// The role there, by its identifier.
        public var role: String

        /// Names a role at a service.
        public init(service: String, role: String) {
            self.service = service
            self.role = role
        }
    }

    /// Random, 16 bytes as base64url.
    public var id: String
    /// The organisation that whoever accepts it becomes a member of.
    public var organisation: String?
    /// The role that they get.
    public var place: Place?
    /// Who is invited. Sealed at rest, and found by its code.
    public var email: String
    /// The account that was made for whoever has no other: it becomes theirs with its first activation, or goes where they
    /// have one already. `nil` where an account with that address was there.
    public var provisionalAccountID: String?
    /// What became of it.
    public var state: State
    /// The account that accepted it.
    public var acceptedBy: String?
    /// When it was made.
    public var createdAt: Timestamp
    /// Until when it can be accepted.
    public var expiresAt: Timestamp
    /// Whether whoever is invited has asked for it, and no operator has. Then it gives a role to nobody of whom an operator has
    /// said which roles they have, and to nobody whom the service would not take as a newcomer when it is accepted.
    public var isAskedFor: Bool

    /// An invitation that nobody has accepted yet. It names an organisation, a role or both.
    public init(
        id: String, organisation: String?, place: Place?, email: String, provisionalAccountID: String? = nil,
        createdAt: Timestamp, expiresAt: Timestamp, isAskedFor: Bool = false
    ) {
        self.id = id
        self.organisation = organisation
        self.place = place
        self.email = email
        self.provisionalAccountID = provisionalAccountID
        self.state = .open
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.isAskedFor = isAskedFor
    }
}

/// Why an invitation is not accepted.
public enum InviteRefusal: Error, Equatable {
    /// There is none.
    case unknown
    /// Somebody has accepted it, or it was taken back.
    case consumed
    /// Its time is over.
    case expired
    /// The account has not the address that was invited, or nobody has seen to it that it is the account's.
    case notInvited
    /// The account is the provisional one, is gone, or has no room for another address, or the invitation has none that could
    /// go into another: it is locked, or somebody's.
    case notMergeable
}

/// How many invitations there can be when one is added.
public struct InviteBounds: Sendable {
    /// Those that are open, all together.
    public var open: Int
    /// Those that one address was sent since a moment, open or not; `nil` is no bound.
    public var ofAddress: (most: Int, since: Timestamp)?

    /// Bounds; by default an address can have as many as there can be.
    public init(open: Int, ofAddress: (most: Int, since: Timestamp)? = nil) {
        self.open = open
        self.ofAddress = ofAddress
    }
}

/// Keeps invitations, and does what accepting one means. Each method is one step, with its audit event.
///
/// There are three ways to accept: the account that has the invited address says so; the provisional account gets its first
/// activation, in whose step it is accepted (``OfferChange/enrolled``); or the provisional account goes into one that its
/// person has already (``IdentityChange/merge``).
public protocol InviteStore: Sendable {
    /// Adds an invitation and, where it has one, its provisional account, and leaves its letter. Says whether the letter was
    /// left: it is not where `most` wait already.
    ///
    /// Throws ``StoreError/Code/notFound`` where the organisation, the service or the role is not there, and
    /// ``StoreError/Code/conflict`` where there are as many as can be.
    func addInvite(
        _ invite: InviteRecord, provisional: AccountRecord?, within bounds: InviteBounds,
        leaving mail: (MailRecord, most: Int)?,
        audit: AuditEvent
    ) async throws -> Bool

    /// The invitation of that identifier, whatever became of it.
    func invite(_ id: String) async throws -> InviteRecord?

    /// The invitation that an account was made for, whatever became of it.
    func invite(provisionalAccountID: String) async throws -> InviteRecord?

    /// Invitations, the newest first, before the one of that identifier, at most `limit`; of an address alone where one is
    /// named.
    func invites(email: String?, before: String?, limit: Int) async throws -> [InviteRecord]

    /// The accounts that have an address of which somebody has seen to it that it is theirs, at most `limit`.
    func accounts(verifiedEmail address: String, limit: Int) async throws -> [String]

    /// Accepts an invitation for an account that has the invited address. For the account that has accepted it before it does
    /// nothing. Throws ``InviteRefusal``.
    func acceptInvite(_ id: String, accountID: String, audit: AuditEvent) async throws

    /// Takes an open invitation back, and its provisional account with it. `false` where there is no open one.
    func revokeInvite(_ id: String, audit: AuditEvent) async throws -> Bool

    /// Has an invitation that is open at the event's moment end later. `false` where there is no such one, and where it ends
    /// later than that already.
    func prolongInvite(_ id: String, until: Timestamp, audit: AuditEvent) async throws -> Bool

    /// Deletes the provisional accounts of invitations whose time was over at `now`, and invitations whose time was over
    /// before `endedBefore`, at most `limit` of each. Returns how many.
    func deleteStaleInvites(endedBefore: Timestamp, now: Timestamp, limit: Int) async throws -> Int
}

/// An invitation's provisional account that goes into the account of those who have proved both: the invitation's PIN and
/// secret, and their own factors. Its membership and role are that account's from then on, which has one address more that
/// nobody has seen to yet, and the provisional account goes with all that was made for it.
///
/// It is done in the step that judges the factors (``IdentityChange/merge``).
public struct InviteMerge: Sendable {
    /// The invitation.
    public var invite: String
    /// The digest of what the proof of the invitation's PIN has earned. A code that was taken back or made anew since has
    /// another one, or none, and nothing is merged by it.
    public var tokenDigest: [UInt8]
    /// What the address is called: random, 16 bytes as base64url.
    public var addressID: String
    /// The most addresses that an account has beside its first one. Where there is no room, nothing of the step is done.
    public var addresses: Int
    /// What the trail keeps, with the moment of the merge.
    public var audit: AuditEvent

    /// Describes a merge.
    public init(invite: String, tokenDigest: [UInt8], addressID: String, addresses: Int, audit: AuditEvent) {
        self.invite = invite
        self.tokenDigest = tokenDigest
        self.addressID = addressID
        self.addresses = addresses
        self.audit = audit
    }
}

/// An address that an account has beside its first one.
public struct AdditionalEmail: Sendable, Equatable {
    /// Random, 16 bytes as base64url.
    public var id: String
    /// The address. Sealed at rest.
    public var address: String
    /// Whether somebody has seen to it that the address is the person's.
    public var isVerified: Bool
    /// When it came.
    public var createdAt: Timestamp

    /// Describes an address.
    public init(id: String, address: String, isVerified: Bool = false, createdAt: Timestamp) {
        self.id = id
        self.address = address
        self.isVerified = isVerified
        self.createdAt = createdAt
    }
}

/// Keeps addresses that accounts have beside their first one. They find the person of an invitation, and nothing is mailed
/// to them but the link by which that person confirms one (``MailStore/confirmAddress(byLink:values:audit:)``).
public protocol AdditionalEmailStore: Sendable {
    /// The addresses of an account, the oldest first.
    func additionalEmails(accountID: String) async throws -> [AdditionalEmail]

    /// Adds an address. `false` where there is no such account. Throws ``StoreError/Code/conflict`` where it has `limit`, or
    /// has this one.
    func addEmail(_ email: AdditionalEmail, accountID: String, limit: Int, audit: AuditEvent) async throws -> Bool

    /// Says whether an address is the person's. `false` where the account has no such address. Where it is not, no value of
    /// `email` that is that address is verified any more, unless it is the account's first one as well, and verified as that.
    func setEmailVerified(_ isVerified: Bool, id: String, accountID: String, audit: AuditEvent) async throws -> Bool

    /// Deletes an address. `false` where the account has no such address. No value of `email` that is that address is
    /// verified any more, unless it is the account's first one as well, and verified as that.
    func removeEmail(_ id: String, accountID: String, audit: AuditEvent) async throws -> Bool
}

extension AuditEvent.Kind {
    /// Somebody was invited; the detail is the invitation's identifier.
    public static let inviteAdded = Self(rawValue: "invite-added")
    /// An invitation was accepted; the detail is its identifier.
    public static let inviteAccepted = Self(rawValue: "invite-accepted")
    /// An invitation can be accepted for longer; the detail is its identifier.
    public static let inviteProlonged = Self(rawValue: "invite-prolonged")
    /// An invitation was taken back; the detail is its identifier.
    public static let inviteRevoked = Self(rawValue: "invite-revoked")
    /// The time of an invitation was over, and its provisional account, whom the entry is about, went; the detail is the
    /// invitation's identifier.
    public static let inviteExpired = Self(rawValue: "invite-expired")
    /// An invitation's account went into another; the detail is the invitation's identifier.
    public static let accountMerged = Self(rawValue: "account-merged")
    /// An account has a further e-mail address; the detail is the address's identifier.
    public static let additionalEmailAdded = Self(rawValue: "additional-email-added")
    /// There is another word on whether a further address is the person's; the detail is the address's identifier.
    public static let additionalEmailChanged = Self(rawValue: "additional-email-changed")
    /// An account has lost a further e-mail address; the detail is the address's identifier.
    public static let additionalEmailRemoved = Self(rawValue: "additional-email-removed")
}
