import PersonalInformation
import Records
import _Primitives

/// The rules for every ``ServiceStore``, about services of personalised identities and roles.
public enum ServiceConformance {
    /// The store protocols that the rules use.
    public typealias Subject = any IdentityStores

    private static func roles(_ store: Subject, _ account: String = "account-alice") async throws -> [String]? {
        try await store.standing(accountID: account, service: "portal")?.roles.map(\.id)
    }

    private static func assign(_ role: String, _ store: Subject, _ account: String = "account-alice") async throws
        -> Bool
    {
        try await store.assignRole(
            role, accountID: account, service: "portal", audit: event(.roleAssigned, account))
    }

    private static func revoke(_ role: String, _ store: Subject, _ account: String = "account-alice") async throws
        -> Bool
    {
        try await store.revokeRole(
            role, accountID: account, service: "portal", audit: event(.roleRevoked, account))
    }

    private static func begin(_ store: Subject, _ profile: ServiceProfile? = nil) async throws {
        for name in ["alice", "bob"] {
            try await store.createAccount(sampleAccount(name), audit: sampleAudit())
        }
        try await addService(store, "portal", profile ?? sampleProfile())
    }

    /// The rules, each over an empty store.
    public static let checks: [ConformanceCheck<Subject>] = Self.profiles + Self.members

    private static let profiles: [ConformanceCheck<Subject>] = [
        ConformanceCheck("a profile comes back as it was set, and a client without one is no service") { store in
            var profile = try sampleProfile("user,guest|admin", attributes: [.givenName, .email])
            try await store.addOrganisation(
                OrganisationRecord(id: "club", name: "Club", createdAt: .start), limit: 9, audit: sampleAudit())
            profile.membershipOrganisation = "club"
            profile.requiresInvitation = true
            profile.allowsInApp = true
            profile.allowsPush = true
            profile.usesDefaultRoles = false
            profile.isActive = false
            try await addService(store, "portal", profile)
            try await addService(store, "another", sampleProfile())
            try await store.addClient(sampleClient("client"), limit: 99, audit: sampleAudit())
            try expect(try await store.serviceProfile("portal") == profile, "as it was set")
            try expect(try await store.serviceProfile("client") == nil, "a client alone")
            try expect(try await store.services().map(\.id) == ["another", "portal"], "in order")
            try expect(
                try await store.setServiceProfile(profile, client: "nobody", audit: sampleAudit()) == false,
                "no such client")
        },
        ConformanceCheck("a service's grants stand on authentications for it alone") { store in
            try await Self.begin(store)
            let portal = RoleAtService(service: "portal", role: "user")
            let elsewhere = RoleAtService(service: "another", role: "user")
            for (name, role, isTaken) in [("1", nil, false), ("2", elsewhere, false), ("3", portal, true)] {
                let signIn = SampleSignIn(
                    name, secret: Array(name.utf8), client: "portal", at: .start, role: role)
                try await store.addRequest(signIn.request)
                if isTaken {
                    try await store.complete(signIn.completed, replacing: nil)
                    let kept = try await store.grant(signIn.grant.id, token: "t", at: .start)
                    try expect(kept?.authentication.role == portal, "the role is kept")
                } else {
                    try await expectError(StoreError(.notFound, "")) {
                        try await store.complete(signIn.completed, replacing: nil)
                    }
                }
            }
        },
        ConformanceCheck("a service is kept to no organisation that is not there") { store in
            try await store.addClient(sampleClient("portal"), limit: 99, audit: sampleAudit())
            var profile = try sampleProfile()
            profile.membershipOrganisation = "club"
            try await expectError(StoreError(.notFound, "")) {
                _ = try await store.setServiceProfile(profile, client: "portal", audit: sampleAudit())
            }
            try expect(try await store.serviceProfile("portal") == nil, "nothing is kept")
        },
        ConformanceCheck("who has been given a role that goes with a change has it no more, and no default one") {
            store in
            try await Self.begin(store)
            _ = try await Self.assign("admin", store)
            _ = try await Self.revoke("user", store)
            try expect(try await Self.roles(store) == ["admin"], "what was said")
            _ = try await store.setServiceProfile(sampleProfile("user|"), client: "portal", audit: sampleAudit())
            try expect(try await Self.roles(store) == [], "none is left")
            _ = try await store.setServiceProfile(sampleProfile(), client: "portal", audit: sampleAudit())
            try expect(try await Self.roles(store) == [], "it does not come back")
            try expect(try await Self.roles(store, "account-bob") == ["user"], "others are as before")
        },
        ConformanceCheck("a client that is no service any more leaves nothing of it, nor does one that is gone") {
            store in
            for removes in [true, false] {
                try await Self.begin(store)
                _ = try await Self.assign("admin", store)
                let isGone =
                    removes
                    ? try await store.removeServiceProfile(client: "portal", audit: event(.serviceRemoved))
                    : try await store.deleteClient("portal", audit: sampleAudit())
                try expect(isGone, "it was there")
                try expect(try await store.services().isEmpty, "no service")
                try expect(try await Self.roles(store) == nil, "nobody stands anywhere")
                try expect(
                    try await store.removeServiceProfile(client: "portal", audit: sampleAudit()) == false, "once")
                _ = try await store.deleteClient("portal", audit: sampleAudit())
                try await addService(store, "portal", sampleProfile())
                try expect(try await Self.roles(store) == ["user"], "what was said is forgotten")
                _ = try await store.deleteClient("portal", audit: sampleAudit())
                for name in ["alice", "bob"] {
                    _ = try await store.deleteAccount(id: "account-\(name)", audit: sampleAudit())
                }
            }
        },
        ConformanceCheck("what changes a service is in the trail, once") { store in
            try await Self.begin(store)
            let before = try await store.auditEntries(after: 0, limit: 99).count
            _ = try await Self.assign("admin", store)
            _ = try await Self.assign("admin", store)
            _ = try await Self.revoke("admin", store)
            _ = try await Self.revoke("admin", store)
            let entries = try await store.auditEntries(after: Int64(before), limit: 99)
            try expect(entries.map(\.event.kind) == [.roleAssigned, .roleRevoked], "two")
        },
    ]

    private static let members: [ConformanceCheck<Subject>] = [
        ConformanceCheck("of whom nothing is said, the default roles are had, and no other") { store in
            try await Self.begin(store, sampleProfile("user,guest|admin"))
            let standing = try await store.standing(accountID: "account-alice", service: "portal")
            try expect(standing?.roles.map(\.id) == ["user", "guest"], "in the profile's order")
            try expect(standing?.isKnown == false && standing?.isMember == true, "nothing is said")
            try expect(try await Self.roles(store, "nobody") == nil, "no such account")
            try expect(
                try await store.standing(accountID: "account-alice", service: "none") == nil, "no such service")
        },
        ConformanceCheck("where no default roles are had, nobody has any of whom nothing is said") { store in
            var profile = try sampleProfile()
            profile.usesDefaultRoles = false
            try await Self.begin(store, profile)
            try expect(try await Self.roles(store) == [], "none")
            try expect(try await Self.assign("admin", store), "given")
            try expect(try await Self.roles(store) == ["admin"], "that one alone")
        },
        ConformanceCheck("a role is had beside those that were had before") { store in
            try await Self.begin(store)
            try expect(try await Self.assign("admin", store), "given")
            try expect(try await Self.assign("admin", store) == false, "had already")
            let standing = try await store.standing(accountID: "account-alice", service: "portal")
            try expect(standing?.roles.map(\.id) == ["user", "admin"] && standing?.isKnown == true, "both")
            try expect(try await Self.roles(store, "account-bob") == ["user"], "nobody else")
        },
        ConformanceCheck("who is given a default role is known from then on") { store in
            var profile = try sampleProfile()
            profile.requiresInvitation = true
            try await Self.begin(store, profile)
            try expect(
                try await store.standing(accountID: "account-alice", service: "portal")?.isInvited == false, "nobody")
            try expect(try await Self.assign("user", store), "said")
            try expect(
                try await store.standing(accountID: "account-alice", service: "portal")?.isInvited == true, "known")
        },
        ConformanceCheck("who loses the last role has none, until what was said is forgotten") { store in
            try await Self.begin(store)
            try expect(try await Self.revoke("admin", store) == false, "not had")
            try expect(try await Self.revoke("user", store), "had by default")
            try expect(try await Self.roles(store) == [], "none")
            let entries = try await store.roleEntries(service: "portal", after: nil, limit: 9)
            try expect(entries == [RoleEntry(accountID: "account-alice", roles: [])], "it is said so")
            let reset = event(.rolesReset, "account-alice")
            try expect(
                try await store.resetRoles(accountID: "account-alice", service: "portal", audit: reset), "forgotten")
            try expect(
                try await store.resetRoles(accountID: "account-alice", service: "portal", audit: reset) == false,
                "nothing is said")
            try expect(try await Self.roles(store) == ["user"], "by default")
        },
        ConformanceCheck("nobody is given what is not there") { store in
            try await Self.begin(store)
            for (role, account, service) in [
                ("owner", "account-alice", "portal"), ("admin", "nobody", "portal"),
                ("admin", "account-alice", "none"),
            ] {
                try await expectError(StoreError(.notFound, "")) {
                    _ = try await store.assignRole(role, accountID: account, service: service, audit: sampleAudit())
                }
                try await expectError(StoreError(.notFound, "")) {
                    _ = try await store.revokeRole(role, accountID: account, service: service, audit: sampleAudit())
                }
            }
        },
        ConformanceCheck("entries come page by page, and go with their accounts") { store in
            try await Self.begin(store)
            for name in ["alice", "bob"] { _ = try await Self.assign("admin", store, "account-\(name)") }
            let first = try await store.roleEntries(service: "portal", after: nil, limit: 1)
            try expect(first.map(\.accountID) == ["account-alice"], "the first page")
            let second = try await store.roleEntries(service: "portal", after: "account-alice", limit: 9)
            try expect(second == [RoleEntry(accountID: "account-bob", roles: ["user", "admin"])], "the next")
            _ = try await store.deleteAccount(id: "account-alice", audit: sampleAudit())
            try expect(try await store.roleEntries(service: "portal", after: nil, limit: 9) == second, "gone")
        },
        ConformanceCheck("of those who give a role at once one does") { store in
            try await Self.begin(store)
            let count = try await winners(20) { _ in try await Self.assign("admin", store) }
            try expect(count == 1, "one")
        },
    ]
}
