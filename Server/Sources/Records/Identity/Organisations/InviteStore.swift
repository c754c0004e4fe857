public import _Primitives

/// An invitation to an organisation, to a service, or to both.
public struct InviteRecord: Sendable, Equatable {
    /// The state of an invitation. ``InviteRecord/expiresAt`` says whether its time is over.
    public enum State: String, Sendable, CaseIterable {
        /// The invitation is not accepted yet.
        case open
        /// The invitation was accepted.
        case accepted
        /// An operator has revoked the invitation, or the service no longer has the role.
        case revoked
    }

    /// A role at a service.
    public struct Place: Sendable, Equatable {
        /// The service, by its client's identifier.
        public var service: String
        /// The role at the service, by its identifier.
        public var role: String

        /// Names a role at a service.
        public init(service: String, role: String) {
            self.service = service
            self.role = role
        }
    }

    /// Random, 16 bytes as base64url.
    public var id: String
    /// The organisation that the accepting account becomes a member of.
    public var organisation: String?
    /// The role that the accepting account gets.
    public var place: Place?
    /// The invited e-mail address. Sealed at rest, and found by its code.
    public var email: String
    /// The account made for an invited person without an account. The account becomes the person's with its first
    /// activation. If the person already has an account, the provisional account goes. `nil` if an account with the
    /// address existed.
    public var provisionalAccountID: String?
    /// The state of the invitation.
    public var state: State
    /// The account that accepted the invitation; `nil` before.
    public var acceptedBy: String?
    /// The moment when the invitation was made.
    public var createdAt: Timestamp
    /// The moment when the invitation expires.
    public var expiresAt: Timestamp
    /// `true` if the invited person requested the invitation, and no operator made it. Then the invitation gives no
    /// role to a person whose roles an operator has set. It also gives no role to a person whom the service would not
    /// take as a newcomer when the invitation is accepted.
    public var isAskedFor: Bool

    /// Makes an invitation that is not accepted yet. It names an organisation, a role or both.
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

/// The reason why an invitation is not accepted.
public enum InviteRefusal: Error, Equatable {
    /// The invitation does not exist.
    case unknown
    /// The invitation was accepted or revoked.
    case consumed
    /// The time of the invitation is over.
    case expired
    /// The account does not have the invited address, or the address is not verified as the account's.
    case notInvited
    /// The accounts cannot be merged. Either the account is the provisional account, is gone, or has no room for
    /// another address. Or the invitation has no account that could be merged into another: its account is locked, or
    /// already belongs to a person. Or the invitation's code was used, revoked or made anew since its PIN was proved.
    /// Or the time of the proof is over.
    case notMergeable
}

/// The bounds on the number of invitations when an invitation is added.
public struct InviteBounds: Sendable {
    /// The largest number of open invitations.
    public var open: Int
    /// The largest number of invitations, open or not, to one address since a moment; `nil` for no bound.
    public var ofAddress: (most: Int, since: Timestamp)?

    /// Makes bounds; by default without a bound for an address.
    public init(open: Int, ofAddress: (most: Int, since: Timestamp)? = nil) {
        self.open = open
        self.ofAddress = ofAddress
    }
}

/// Keeps invitations, and carries out their acceptance. Each method is one step, with its audit event.
///
/// An invitation is accepted in three ways:
///
/// - An account that has the invited address, verified, accepts it.
/// - The provisional account gets its first activation, and the same step accepts the invitation
///   (``OfferChange/enrolled``).
/// - The provisional account is merged into an account that its person already has (``IdentityChange/merge``).
public protocol InviteStore: Sendable {
    /// Adds an invitation, with its provisional account if any, and leaves its letter. Returns `true` if the letter was
    /// left. The letter is not left if `most` letters wait already. The invitation is added all the same.
    ///
    /// Throws ``StoreError/Code/notFound`` if the organisation, the service or the role does not exist, and
    /// ``StoreError/Code/conflict`` if the bounds are reached.
    func addInvite(
        _ invite: InviteRecord, provisional: AccountRecord?, within bounds: InviteBounds,
        leaving mail: (MailRecord, most: Int)?,
        audit: AuditEvent
    ) async throws -> Bool

    /// Returns the invitation with the identifier, in any state; `nil` if none exists.
    func invite(_ id: String) async throws -> InviteRecord?

    /// Returns the invitation that an account was made for, in any state; `nil` if there is no such invitation.
    func invite(provisionalAccountID: String) async throws -> InviteRecord?

    /// Returns invitations, the newest first, before the invitation with the identifier `before`, at most `limit`. If
    /// `email` is set, returns only the invitations of that address.
    func invites(email: String?, before: String?, limit: Int) async throws -> [InviteRecord]

    /// Returns the accounts that have `address` as a verified address, at most `limit`.
    func accounts(verifiedEmail address: String, limit: Int) async throws -> [String]

    /// Accepts an invitation for an account that has the invited address, verified. The invitation's provisional
    /// account is deleted, unless it is this account or somebody has enrolled at it. Does nothing for the account that
    /// has already accepted it. Throws ``InviteRefusal``.
    func acceptInvite(_ id: String, accountID: String, audit: AuditEvent) async throws

    /// Revokes an open invitation, expired or not, and deletes its provisional account, unless somebody has enrolled at
    /// it. Returns `false` if there is no open invitation with the identifier.
    func revokeInvite(_ id: String, audit: AuditEvent) async throws -> Bool

    /// Extends an invitation that is open at the event's moment. Returns `false` if there is no such invitation, or if
    /// the invitation already ends later.
    func prolongInvite(_ id: String, until: Timestamp, audit: AuditEvent) async throws -> Bool

    /// Deletes the provisional accounts, at which nobody has enrolled, of open invitations whose time was over at
    /// `now`, and invitations whose time was over before `endedBefore`, at most `limit` of each. Returns the number of
    /// deleted rows.
    func deleteStaleInvites(endedBefore: Timestamp, now: Timestamp, limit: Int) async throws -> Int
}

/// The merge of an invitation's provisional account into the account of a person who has proved both: the invitation's
/// PIN and secret, and the person's own factors. The person's account gets the membership and the role, and one address
/// more, which is not verified yet. The provisional account is deleted with everything made for it.
///
/// The merge is done in the step that judges the factors (``IdentityChange/merge``).
public struct InviteMerge: Sendable {
    /// The invitation.
    public var invite: String
    /// The digest of the token that the proof of the invitation's PIN has earned. A code that was revoked or made anew
    /// since has another digest, or none, and merges nothing. A token whose time is over merges nothing either.
    public var tokenDigest: [UInt8]
    /// The identifier of the new address: random, 16 bytes as base64url.
    public var addressID: String
    /// The largest number of addresses that an account has beside its first address. Without room, nothing of the step
    /// is done.
    public var addresses: Int
    /// The audit event, with the moment of the merge.
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

/// An additional address of an account, beside its first address.
public struct AdditionalEmail: Sendable, Equatable {
    /// Random, 16 bytes as base64url.
    public var id: String
    /// The address. Sealed at rest.
    public var address: String
    /// `true` if the address was verified as the person's.
    public var isVerified: Bool
    /// The moment when the address was added.
    public var createdAt: Timestamp

    /// Describes an address.
    public init(id: String, address: String, isVerified: Bool = false, createdAt: Timestamp) {
        self.id = id
        self.address = address
        self.isVerified = isVerified
        self.createdAt = createdAt
    }
}

/// Keeps the additional addresses of accounts. These addresses find the person of an invitation. The only mail to an
/// additional address is the link for confirming the address (``MailStore/confirmAddress(byLink:values:audit:)``).
public protocol AdditionalEmailStore: Sendable {
    /// Returns the additional addresses of an account, the oldest first.
    func additionalEmails(accountID: String) async throws -> [AdditionalEmail]

    /// Adds an address. Returns `false` if the account does not exist. Throws ``StoreError/Code/conflict`` if the
    /// account has `limit` additional addresses, or already has this address, also as its first address.
    func addEmail(_ email: AdditionalEmail, accountID: String, limit: Int, audit: AuditEvent) async throws -> Bool

    /// Sets whether an address is verified as the person's. Returns `false` if the account has no such address. If the
    /// address is no longer verified, values of `email` with this address are no longer verified either, unless it is
    /// also the account's first address, and verified as that.
    func setEmailVerified(_ isVerified: Bool, id: String, accountID: String, audit: AuditEvent) async throws -> Bool

    /// Deletes an address. Returns `false` if the account has no such address. Values of `email` with this address are
    /// no longer verified, unless it is also the account's first address, and verified as that.
    func removeEmail(_ id: String, accountID: String, audit: AuditEvent) async throws -> Bool
}

extension AuditEvent.Kind {
    /// A person was invited; the detail is the invitation's identifier.
    public static let inviteAdded = Self(rawValue: "invite-added")
    /// An invitation was accepted; the detail is its identifier.
    public static let inviteAccepted = Self(rawValue: "invite-accepted")
    /// An invitation can be accepted for longer; the detail is its identifier.
    public static let inviteProlonged = Self(rawValue: "invite-prolonged")
    /// An invitation was revoked; the detail is its identifier.
    public static let inviteRevoked = Self(rawValue: "invite-revoked")
    /// The time of an invitation was over, and its provisional account was deleted. The entry is about this account;
    /// the detail is the invitation's identifier.
    public static let inviteExpired = Self(rawValue: "invite-expired")
    /// An invitation's account was merged into another account; the detail is the invitation's identifier.
    public static let accountMerged = Self(rawValue: "account-merged")
    /// An account has a further e-mail address; the detail is the address's identifier.
    public static let additionalEmailAdded = Self(rawValue: "additional-email-added")
    /// The verification of a further address was changed; the detail is the address's identifier.
    public static let additionalEmailChanged = Self(rawValue: "additional-email-changed")
    /// An account has lost a further e-mail address; the detail is the address's identifier.
    public static let additionalEmailRemoved = Self(rawValue: "additional-email-removed")
}
