public import _Primitives

/// A group of people to whom a service can be restricted.
public struct OrganisationRecord: Sendable, Equatable {
    /// Random, 16 bytes as base64url.
    public var id: String
    /// The operators' name for the organisation; unique.
    public var name: String
    /// The moment when the organisation was added.
    public var createdAt: Timestamp

    /// Describes an organisation.
    public init(id: String, name: String, createdAt: Timestamp) {
        self.id = id
        self.name = name
        self.createdAt = createdAt
    }
}

/// Keeps organisations and their members.
public protocol OrganisationStore: Sendable {
    /// Adds an organisation. Throws ``StoreError/Code/conflict`` if its name is taken, or if `limit` organisations
    /// exist.
    func addOrganisation(_ organisation: OrganisationRecord, limit: Int, audit: AuditEvent) async throws

    /// Returns the organisation with the identifier; `nil` if none exists.
    func organisation(_ id: String) async throws -> OrganisationRecord?

    /// Returns the organisation with the name; `nil` if none exists.
    func organisation(named name: String) async throws -> OrganisationRecord?

    /// Returns all organisations, by their names. There are never more than the limit of
    /// ``addOrganisation(_:limit:audit:)``.
    func organisations() async throws -> [OrganisationRecord]

    /// Renames an organisation. Returns `false` if it does not exist. Throws ``StoreError/Code/conflict`` if the name
    /// belongs to another organisation.
    func renameOrganisation(_ id: String, to name: String, audit: AuditEvent) async throws -> Bool

    /// Deletes an organisation with its memberships and invitations. The provisional accounts of open invitations go
    /// too. Returns `false` if it does not exist.
    ///
    /// Throws ``StoreError/Code/conflict`` if a service is restricted to the organisation: without the organisation
    /// everybody could use the service, or nobody.
    func removeOrganisation(_ id: String, audit: AuditEvent) async throws -> Bool

    /// Makes an account a member. Returns `true` if the account was no member before. Throws
    /// ``StoreError/Code/notFound`` if the account or the organisation does not exist.
    func addMember(accountID: String, organisation: String, audit: AuditEvent) async throws -> Bool

    /// Ends an account's membership. Returns `true` if the account was a member.
    func removeMember(accountID: String, organisation: String, audit: AuditEvent) async throws -> Bool

    /// Returns members by their accounts' identifiers, in their order, after the account `after` (`nil` for the start),
    /// at most `limit`.
    func members(organisation: String, after: String?, limit: Int) async throws -> [String]

    /// Returns the organisations that an account is a member of, by their names.
    func organisations(accountID: String) async throws -> [OrganisationRecord]
}

extension AuditEvent.Kind {
    /// An organisation was added; the detail is its identifier.
    public static let organisationAdded = Self(rawValue: "organisation-added")
    /// An organisation has another name; the detail is its identifier.
    public static let organisationRenamed = Self(rawValue: "organisation-renamed")
    /// An organisation was deleted; the detail is its identifier.
    public static let organisationRemoved = Self(rawValue: "organisation-removed")
    /// An account became a member; the detail is the organisation.
    public static let memberAdded = Self(rawValue: "member-added")
    /// An account is no member any more; the detail is the organisation.
    public static let memberRemoved = Self(rawValue: "member-removed")
}
