import PersonalInformation
import Records
import Testing
import UAF
import _Primitives

/// The rules of roles at services.
struct HeldRolesTests {
    private static func profile(
        _ roles: [String] = ["user", "clerk", "admin"], attributes: [PersonalAttribute] = []
    ) throws -> ServiceProfile {
        let factors = try AuthenticatorMatrix([[.pin, .device]])
        return try ServiceProfile(
            roles: try roles.map { try ServiceRole(id: $0, name: $0, factors: factors, isDefault: $0 == "user") },
            attributes: Dictionary(uniqueKeysWithValues: attributes.map { ($0, .required) }))
    }

    @Test(
        "A role is added beside the roles that an account has, in the profile's order",
        arguments: [
            (nil, "admin", ["user", "admin"]), (nil, "user", ["user"]), ([], "user", ["user"]), (["user"], "user", nil),
            (["admin"], "clerk", ["clerk", "admin"]), (["admin", "user"], "clerk", ["user", "clerk", "admin"]),
            (["gone"], "admin", ["admin"]),
        ] as [([String]?, String, [String]?)])
    func adding(to entry: [String]?, _ role: String, gives expected: [String]?) throws {
        #expect(HeldRoles(profile: try Self.profile(), entry: entry).adding(role) == expected)
    }

    @Test(
        "A role is taken that an account has",
        arguments: [
            (nil, "user", []), (nil, "admin", nil), ([], "user", nil), (["user"], "user", []), (["user"], "admin", nil),
            (["admin", "user"], "admin", ["user"]), (["admin", "clerk", "user"], "clerk", ["user", "admin"]),
        ] as [([String]?, String, [String]?)])
    func removing(from entry: [String]?, _ role: String, gives expected: [String]?) throws {
        #expect(HeldRoles(profile: try Self.profile(), entry: entry).removing(role) == expected)
    }

    @Test("A role of a service is changed, and no other role")
    func naming() throws {
        let profile = try Self.profile()
        #expect(try HeldRoles.profile(profile, naming: "admin") == profile)
        for (found, role) in [(profile, "Admin"), (profile, "gone"), (nil, "admin")] as [(ServiceProfile?, String)] {
            let error = #expect(throws: StoreError(.notFound, "")) { try HeldRoles.profile(found, naming: role) }
            #expect(error?.reason == "an account, a service or its role")
        }
    }

    @Test("An entry takes the place of the default roles")
    func standing() throws {
        let profile = try Self.profile()
        let table: [([String]?, Bool?, roles: [String], isKnown: Bool, isMember: Bool)] = [
            (nil, nil, ["user"], false, true), ([], true, [], true, true),
            (
                ["admin", "user"], false, ["user", "admin"],
                true, false
            ), (["gone", "clerk"], nil, ["clerk"], true, true),
        ]
        for (entry, isMember, roles, isKnown, counts) in table {
            let standing = ServiceStanding(profile: profile, entry: entry, isMember: isMember)
            #expect(standing.roles.map(\.id) == roles)
            #expect(standing.isKnown == isKnown)
            #expect(standing.isMember == counts)
        }
    }

    @Test("The terms of a session name what its service requests")
    func requested() throws {
        func terms(client: String?, attributes: [PersonalAttribute]?) throws -> IdentityTerms {
            let now = Timestamp(seconds: 1_800_000_000)
            let device = DeviceRecord(id: "device", accountID: "ada", name: "Phone", isActive: true, createdAt: now)
            var terms = IdentityTerms(
                activation: ActivationRecord(device: device, signingKey: [1], encryptionKey: [2], pinVersion: nil))
            terms.ceremony = CeremonyRecord(
                id: "session", kind: .identity, createdAt: now, expiresAt: now, detail: CeremonyDetail(client: client))
            terms.standing = try attributes.map {
                ServiceStanding(profile: try Self.profile(attributes: $0), entry: nil, isMember: nil)
            }
            return terms
        }
        for (client, attributes, isRequested) in [
            ("bank", [.email, .phoneNumber], true), ("bank", [], false), ("bank", nil, false), (nil, [.email], false),
        ] as [(String?, [PersonalAttribute]?, Bool)] {
            let terms = try terms(client: client, attributes: attributes)
            #expect(terms.service == client)
            #expect(terms.requested?.service == (isRequested ? client : nil))
            #expect(terms.requested?.attributes == (isRequested ? attributes.map(Set.init) : nil))
        }
        var none = try terms(client: "bank", attributes: [.email])
        none.ceremony = nil
        #expect(none.service == nil && none.requested == nil)
    }

    @Test("Stored roles are a list of texts")
    func stored() throws {
        #expect(try RoleEntry.roles(kept: "[]") == [])
        #expect(try RoleEntry.roles(kept: #"["user","admin"]"#) == ["user", "admin"])
        for text in ["", "{}", #""user""#, "[1]"] {
            #expect(throws: StoreError(.corrupt, "")) { try RoleEntry.roles(kept: text) }
        }
    }

    @Test("Another profile ends choices for a further attribute, and takes the roles that are gone")
    func profileChange() throws {
        let table: [(from: ServiceProfile, to: ServiceProfile, endsSelections: Bool, removed: [String])] = [
            (try Self.profile(), try Self.profile(), false, []),
            (try Self.profile(), try Self.profile(attributes: [.email]), true, []),
            (try Self.profile(attributes: [.email]), try Self.profile(attributes: [.email]), false, []),
            (try Self.profile(attributes: [.email]), try Self.profile(), false, []),
            (try Self.profile(attributes: [.email]), try Self.profile(attributes: [.phoneNumber]), true, []),
            (try Self.profile(), try Self.profile(["user"]), false, ["clerk", "admin"]),
            (try Self.profile(["user"]), try Self.profile(), false, []),
        ]
        for (former, profile, endsSelections, removed) in table {
            let change = ServiceProfileChange(from: former, to: profile)
            #expect(change.endsSelections == endsSelections)
            #expect(change.removedRoles == removed)
            #expect(
                change.effects == (endsSelections ? [.endedSelections] : [])
                    + (removed.isEmpty ? [] : [.removedRoles(removed)]))
        }
    }
}
