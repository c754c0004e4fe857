import Foundation
import GRDB
import PersonalInformation
import Records
import SQLStore
import SQLiteStore
import Testing
import UAF
import _Primitives

/// What a store of the backup tests has of personalised identities, and what becomes of it after the backup.
struct BackupIdentities {
    let store: SQLStore

    /// What a restore says of ``change()``.
    static let differences = [
        "organisation-added late-club Late club", "organisation-changed choir Choir",
        "organisation-removed ended-club Ended club", "personal-information-changed mailed mailed",
        "roles-changed mailed mailed", "service-added late-service Late-Service", "service-changed portal portal",
        "service-removed ended-service Ended-Service",
    ]
    private static let now = Timestamp(seconds: 1_800_000_000)

    private static func profile(_ roles: [String], isActive: Bool = true) throws -> ServiceProfile {
        let matrix = try AuthenticatorMatrix([[.pin, .device]])
        var profile = try ServiceProfile(
            roles: roles.map { try ServiceRole(id: $0, name: $0, factors: matrix, isDefault: $0 == roles[0]) },
            attributes: [.email: .required])
        profile.isActive = isActive
        return profile
    }

    private static func event(
        _ kind: AuditEvent.Kind, _ detail: String, account: String? = nil
    ) -> AuditEvent { AuditEvent(kind, at: Self.now, accountID: account, actor: "operator", detail: detail) }

    private func addService(_ id: String) async throws {
        try await self.store.addClient(
            ClientRecord(
                id: id, name: id.capitalized, redirectURIs: ["https://\(id).example/in"], postLogoutRedirectURIs: [],
                secretDigest: nil, createdAt: Self.now, settings: ClientSettings()), limit: 99,
            audit: Self.event(AuditEvent.Kind(rawValue: "client-added"), id))
    }

    private func set(_ profile: ServiceProfile, _ client: String) async throws {
        #expect(
            try await self.store.setServiceProfile(
                profile, client: client, audit: Self.event(.serviceChanged, client)))
    }

    private func addOrganisation(_ id: String, _ name: String) async throws {
        try await self.store.addOrganisation(
            OrganisationRecord(id: id, name: name, createdAt: Self.now), limit: 99,
            audit: Self.event(.organisationAdded, id))
    }

    private func addValue(_ id: String) async throws {
        let value = PersonalValueRecord(
            id: id, attribute: .email, alias: "Alias", value: "\(id)@post.example", source: .administrator,
            createdAt: Self.now)
        #expect(
            try await self.store.addPersonalValue(
                value, accountID: "mailed", limit: 9, audit: Self.event(.personalValueAdded, id, account: "mailed")))
    }

    /// An invitation, which lives for days.
    func invite() async throws {
        try await self.addOrganisation("inviting", "Inviting")
        let provisional = AccountRecord(id: "provisional", username: nil, displayName: nil, createdAt: Self.now)
        _ = try await self.store.addInvite(
            InviteRecord(
                id: "invite", organisation: "inviting", place: nil, email: "new@post.example",
                provisionalAccountID: "provisional", createdAt: Self.now, expiresAt: Self.now + .seconds(60)),
            provisional: provisional, within: InviteBounds(open: 9), leaving: nil,
            audit: Self.event(.inviteAdded, "invite"))
    }

    /// Before the backup: one of each, of an account named `mailed`.
    func begin() async throws {
        for service in ["portal", "ended-service", "late-service"] { try await self.addService(service) }
        for service in ["portal", "ended-service"] { try await self.set(Self.profile(["user", "admin"]), service) }
        for (id, name) in [("choir", "Choir"), ("ended-club", "Ended club")] {
            try await self.addOrganisation(id, name)
        }
        for role in ["admin", "user"] {
            _ = try await self.store.assignRole(
                role, accountID: "mailed", service: "portal",
                audit: Self.event(.roleAssigned, "portal", account: "mailed"))
        }
        _ = try await self.store.addMember(
            accountID: "mailed", organisation: "choir", audit: Self.event(.memberAdded, "choir", account: "mailed"))
        for id in ["value-kept", "value-gone"] { try await self.addValue(id) }
        let email = AdditionalEmail(id: "further", address: "further@post.example", createdAt: Self.now)
        _ = try await self.store.addEmail(
            email, accountID: "mailed", limit: 9, audit: Self.event(.additionalEmailAdded, "further", account: "mailed")
        )
    }

    /// After the backup: what an operator takes away, changes and adds.
    func change() async throws {
        try await self.set(Self.profile(["user", "admin"], isActive: false), "portal")
        try await self.set(Self.profile(["user"]), "late-service")
        _ = try await self.store.removeServiceProfile(
            client: "ended-service", audit: Self.event(.serviceRemoved, "ended-service"))
        _ = try await self.store.removeOrganisation(
            "ended-club", audit: Self.event(.organisationRemoved, "ended-club"))
        _ = try await self.store.renameOrganisation(
            "choir", to: "Big choir", audit: Self.event(.organisationRenamed, "choir"))
        try await self.addOrganisation("late-club", "Late club")
        _ = try await self.store.revokeRole(
            "admin", accountID: "mailed", service: "portal",
            audit: Self.event(.roleRevoked, "portal admin", account: "mailed"))
        _ = try await self.store.removeMember(
            accountID: "mailed", organisation: "choir", audit: Self.event(.memberRemoved, "choir", account: "mailed"))
        _ = try await self.store.removePersonalValue(
            "value-gone", accountID: "mailed", audit: Self.event(.personalValueRemoved, "value-gone", account: "mailed")
        )
        try await self.addValue("value-late")
        _ = try await self.store.setEmailVerified(
            true, id: "further", accountID: "mailed",
            audit: Self.event(.additionalEmailChanged, "further", account: "mailed"))
    }

    /// What was taken away or changed is so in the restored store.
    func expectKept() async throws {
        #expect(try await self.store.services().map(\.id) == ["portal"])
        #expect(try await self.store.serviceProfile("portal")?.isActive == false)
        #expect(try await self.store.organisations().map(\.name) == ["Big choir"])
        let standing = try await self.store.standing(accountID: "mailed", service: "portal")
        #expect(standing?.roles.map(\.id) == ["user"])
        #expect(try await self.store.organisations(accountID: "mailed").isEmpty)
        let values = try await self.store.personalValues(accountID: "mailed")
        #expect(values.map(\.value) == ["value-kept@post.example", "value-late@post.example"])
        #expect(values.map(\.isPrimary) == [true, false])
        #expect(try await self.store.accounts(verifiedEmail: "further@post.example", limit: 9) == ["mailed"])
    }

    /// Everything is as it was when the backup was made.
    func expectUndone() async throws {
        #expect(try await self.store.services().map(\.id) == ["ended-service", "portal"])
        #expect(try await self.store.serviceProfile("portal")?.isActive == true)
        #expect(try await self.store.organisations().map(\.name) == ["Choir", "Ended club"])
        let standing = try await self.store.standing(accountID: "mailed", service: "portal")
        #expect(standing?.roles.map(\.id) == ["user", "admin"])
        #expect(try await self.store.organisations(accountID: "mailed").map(\.id) == ["choir"])
        let values = try await self.store.personalValues(accountID: "mailed")
        #expect(values.map(\.id) == ["value-kept", "value-gone"])
        #expect(try await self.store.accounts(verifiedEmail: "further@post.example", limit: 9).isEmpty)
    }
}
