public import _Primitives

/// People whom a service can keep itself to.
public struct OrganisationRecord: Sendable, Equatable {
    /// Random, 16 bytes as base64url.
    public var id: String
    /// What operators call it; unique.
    public var name: String
    /// When it was added.
    public var createdAt: Timestamp

    /// Describes an organisation.
    public init(id: String, name: String, createdAt: Timestamp) {
        self.id = id
        self.name = name
        self.createdAt = createdAt
    }
}

/// Keeps organisations and who is in them.
public protocol OrganisationStore: Sendable {
    /// Adds an organisation. Throws ``StoreError/Code/conflict`` where its name is taken, or there are `limit`.
    func addOrganisation(_ organisation: OrganisationRecord, limit: Int, audit: AuditEvent) async throws

    /// The organisation of that identifier; `nil` where there is none.
    func organisation(_ id: String) async throws -> OrganisationRecord?

    /// The organisation of that name; `nil` where there is none.
    func organisation(named name: String) async throws -> OrganisationRecord?

    /// All organisations, by their names. There are never more than the limit of
    /// ``addOrganisation(_:limit:audit:)``.
    func organisations() async throws -> [OrganisationRecord]

    /// Calls an organisation otherwise. `false` where there is none. Throws ``StoreError/Code/conflict`` where the name is
    /// another's.
    func renameOrganisation(_ id: String, to name: String, audit: AuditEvent) async throws -> Bool

    /// Deletes an organisation with its memberships and invitations. `false` where there is none.
    ///
    /// Throws ``StoreError/Code/conflict`` where a service keeps itself to it: without it everybody could come, or nobody.
    func removeOrganisation(_ id: String, audit: AuditEvent) async throws -> Bool

    /// Makes an account a member. Says whether it was none. Throws ``StoreError/Code/notFound`` where there is no such
    /// account or organisation.
    func addMember(accountID: String, organisation: String, audit: AuditEvent) async throws -> Bool

    /// Ends an account's membership. Says whether it was one.
    func removeMember(accountID: String, organisation: String, audit: AuditEvent) async throws -> Bool

    /// Members by their accounts' identifiers, in their order, after the account `after` (from the start where `nil`), at
    /// most `limit`.
    func members(organisation: String, after: String?, limit: Int) async throws -> [String]

    /// The organisations that an account is a member of, by their names.
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
