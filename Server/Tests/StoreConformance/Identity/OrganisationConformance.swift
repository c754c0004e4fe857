import PersonalInformation
import Records
import _Primitives

/// The rules for every ``OrganisationStore`` and ``AdditionalEmailStore``, about organisations and further addresses.
public enum OrganisationConformance {
    /// The store protocols that the rules use.
    public typealias Subject = any IdentityStores

    private static let club = OrganisationRecord(id: "club", name: "Club", createdAt: .start)
    private static let band = OrganisationRecord(id: "band", name: "Band", createdAt: .start + .seconds(1))

    private static func begin(_ store: Subject) async throws {
        for name in ["alice", "bob"] {
            try await store.createAccount(sampleAccount(name), audit: sampleAudit())
        }
        for organisation in [Self.club, Self.band] {
            try await store.addOrganisation(organisation, limit: 2, audit: event(.organisationAdded))
        }
    }

    private static func join(_ name: String, _ store: Subject, organisation: String = "club") async throws -> Bool {
        try await store.addMember(
            accountID: "account-\(name)", organisation: organisation, audit: event(.memberAdded, "account-\(name)"))
    }

    private static func isMember(_ name: String, _ store: Subject) async throws -> Bool? {
        try await store.standing(accountID: "account-\(name)", service: "portal")?.isMember
    }

    /// The rules, each over an empty store.
    public static let checks: [ConformanceCheck<Subject>] = Self.organisations + Self.addresses

    private static let organisations: [ConformanceCheck<Subject>] = [
        ConformanceCheck("organisations come back as they were added, by their names") { store in
            try await Self.begin(store)
            try expect(try await store.organisations() == [Self.band, Self.club], "by name")
            try expect(try await store.organisation("club") == Self.club, "by identifier")
            try expect(try await store.organisation(named: "Club") == Self.club, "by name")
            try expect(try await store.organisation(named: "club") == nil, "letter by letter")
        },
        ConformanceCheck("no two have one name, and there are no more than the limit") { store in
            try await Self.begin(store)
            for (name, limit) in [("Club", 9), ("Third", 2)] {
                try await expectError(StoreError(.conflict, "")) {
                    try await store.addOrganisation(
                        OrganisationRecord(id: "third", name: name, createdAt: .start), limit: limit,
                        audit: sampleAudit())
                }
            }
            try await expectError(StoreError(.conflict, "")) {
                _ = try await store.renameOrganisation("band", to: "Club", audit: sampleAudit())
            }
            try expect(try await store.renameOrganisation("band", to: "Choir", audit: sampleAudit()), "another name")
            try expect(try await store.organisation("band")?.name == "Choir", "renamed")
            try expect(try await store.renameOrganisation("none", to: "X", audit: sampleAudit()) == false, "none")
        },
        ConformanceCheck("who is a member can come where members alone may") { store in
            try await Self.begin(store)
            var profile = try sampleProfile()
            profile.membershipOrganisation = "club"
            try await addService(store, "portal", profile)
            try expect(try await Self.isMember("alice", store) == false, "an outsider")
            try expect(try await Self.join("alice", store), "joined")
            try expect(try await Self.join("alice", store) == false, "once")
            try expect(try await Self.join("bob", store, organisation: "band"), "elsewhere")
            try expect(try await Self.isMember("alice", store) == true, "a member")
            try expect(try await Self.isMember("bob", store) == false, "of another one")
            try expect(try await store.members(organisation: "club", after: nil, limit: 9) == ["account-alice"], "list")
            try expect(
                try await store.members(organisation: "club", after: "account-alice", limit: 9).isEmpty, "next page")
            try expect(try await store.organisations(accountID: "account-alice") == [Self.club], "hers")
            let audit = event(.memberRemoved, "account-alice")
            try expect(
                try await store.removeMember(accountID: "account-alice", organisation: "club", audit: audit), "left")
            try expect(
                try await store.removeMember(accountID: "account-alice", organisation: "club", audit: audit) == false,
                "once")
            try expect(try await Self.isMember("alice", store) == false, "an outsider again")
        },
        ConformanceCheck("nobody joins what is not there, and nobody who is not there joins") { store in
            try await Self.begin(store)
            for (account, organisation) in [("alice", "none"), ("nobody", "club")] {
                try await expectError(StoreError(.notFound, "")) {
                    _ = try await Self.join(account, store, organisation: organisation)
                }
            }
        },
        ConformanceCheck("an organisation that a service keeps itself to stays, and any other goes") { store in
            try await Self.begin(store)
            var profile = try sampleProfile()
            profile.membershipOrganisation = "club"
            try await addService(store, "portal", profile)
            try await expectError(StoreError(.conflict, "")) {
                _ = try await store.removeOrganisation("club", audit: event(.organisationRemoved))
            }
            _ = try await Self.join("alice", store, organisation: "band")
            try expect(try await store.removeOrganisation("band", audit: event(.organisationRemoved)), "another")
            try expect(try await store.removeOrganisation("band", audit: event(.organisationRemoved)) == false, "once")
            try expect(try await store.organisations(accountID: "account-alice").isEmpty, "nobody is in it")
            profile.membershipOrganisation = nil
            _ = try await store.setServiceProfile(profile, client: "portal", audit: sampleAudit())
            try expect(try await store.removeOrganisation("club", audit: event(.organisationRemoved)), "now it goes")
        },
        ConformanceCheck("an account that is deleted is a member of nothing") { store in
            try await Self.begin(store)
            _ = try await Self.join("alice", store)
            _ = try await store.deleteAccount(id: "account-alice", audit: sampleAudit())
            try expect(try await store.members(organisation: "club", after: nil, limit: 9).isEmpty, "nobody")
        },
    ]

    private static func email(_ address: String, isVerified: Bool = false) -> AdditionalEmail {
        AdditionalEmail(id: "id-\(address)", address: address, isVerified: isVerified, createdAt: .start)
    }

    private static func add(_ email: AdditionalEmail, _ store: Subject, to name: String = "alice") async throws -> Bool
    {
        try await store.addEmail(
            email, accountID: "account-\(name)", limit: 2, audit: event(.additionalEmailAdded, "account-\(name)"))
    }

    private static let addresses: [ConformanceCheck<Subject>] = [
        ConformanceCheck("further addresses come back as they were added, and find their account once verified") {
            store in
            try await Self.begin(store)
            let email = Self.email("Work@Post.example")
            try expect(try await Self.add(email, store), "an account")
            try expect(try await store.additionalEmails(accountID: "account-alice") == [email], "as it was added")
            func found(_ address: String) async throws -> [String] {
                try await store.accounts(verifiedEmail: address, limit: 9)
            }
            try expect(try await found("work@post.example").isEmpty, "nobody has seen to it")
            let audit = event(.additionalEmailChanged, "account-alice")
            try expect(
                try await store.setEmailVerified(true, id: email.id, accountID: "account-alice", audit: audit), "said")
            try expect(try await found("work@post.EXAMPLE") == ["account-alice"], "whatever the letters' case")
            try expect(try await found("alice@post.example") == ["account-alice"], "the first address finds it, too")
            _ = try await store.setAccountEmail(
                AccountEmail(address: "alice@post.example", isVerified: false), id: "account-alice",
                audit: sampleAudit())
            try expect(try await found("alice@post.example").isEmpty, "while it is verified")
            _ = try await store.setAccountEmail(nil, id: "account-alice", audit: sampleAudit())
            try expect(try await found("alice@post.example").isEmpty, "while it is there")
        },
        ConformanceCheck("no account has an address twice, nor more than the limit") { store in
            try await Self.begin(store)
            try expect(try await Self.add(Self.email("a@x.example"), store), "one")
            for address in ["ALICE@post.example", "A@x.example"] {
                try await expectError(StoreError(.conflict, "")) { _ = try await Self.add(Self.email(address), store) }
            }
            try expect(try await Self.add(Self.email("b@x.example"), store), "two")
            try await expectError(StoreError(.conflict, "")) {
                _ = try await Self.add(Self.email("c@x.example"), store)
            }
            try expect(try await Self.add(Self.email("c@x.example"), store, to: "nobody") == false, "no such account")
        },
        ConformanceCheck("a value that is an address is verified as long as the account has that address verified") {
            store in
            try await Self.begin(store)
            let (alice, first) = ("account-alice", "alice@post.example")
            for (id, address) in [("first", "Alice@Post.example"), ("further", "a@x.example")] {
                _ = try await store.addPersonalValue(
                    PersonalValueRecord(
                        id: id, attribute: .email, alias: id, value: address, isVerified: true, source: .person,
                        createdAt: .start), accountID: alice, limit: 9, audit: event(.personalValueAdded, alice))
            }
            func verified() async throws -> [String] {
                try await store.personalValues(accountID: alice).filter(\.isVerified).map(\.id).sorted()
            }
            /// Marks the values as verified again, whatever an address has made of them.
            func vouch() async throws {
                for id in ["first", "further"] {
                    _ = try await store.changePersonalValue(
                        id, accountID: alice, to: PersonalValueChange(isVerified: true),
                        audit: event(.personalValueChanged, alice))
                }
            }
            func set(_ email: AccountEmail?) async throws {
                _ = try await store.setAccountEmail(email, id: alice, audit: sampleAudit())
            }
            try await set(AccountEmail(address: first.uppercased(), isVerified: true))
            try expect(try await verified() == ["first", "further"], "the same address, in other letters")
            try await set(AccountEmail(address: first, isVerified: false))
            try expect(try await verified() == ["further"], "nobody vouches for it any more")
            for email in [nil, AccountEmail(address: "other@post.example", isVerified: true)] {
                try await set(AccountEmail(address: first, isVerified: true))
                try await vouch()
                try await set(email)
                try expect(try await verified() == ["further"], "it is the account's no more")
            }

            // An address that the account has twice stays verified as long as either entry is verified.
            let email = Self.email("a@x.example", isVerified: true)
            try expect(try await Self.add(email, store), "a further address")
            try await set(AccountEmail(address: "A@x.example", isVerified: true))
            try await vouch()
            try await set(nil)
            try expect(try await verified() == ["first", "further"], "it is a further one, and verified")
            try await set(AccountEmail(address: "a@x.example", isVerified: true))
            let audit = event(.additionalEmailChanged, alice)
            _ = try await store.setEmailVerified(false, id: email.id, accountID: alice, audit: audit)
            try expect(try await verified() == ["first", "further"], "it is the first one, and verified")
            _ = try await store.removeEmail(email.id, accountID: alice, audit: audit)
            try expect(try await verified() == ["first", "further"], "that is left")
            try await set(nil)
            try expect(try await verified() == ["first"], "nothing is left")
        },
        ConformanceCheck("nobody changes or removes another's address") { store in
            try await Self.begin(store)
            let email = Self.email("a@x.example")
            _ = try await Self.add(email, store)
            try expect(
                try await store.setEmailVerified(true, id: email.id, accountID: "account-bob", audit: sampleAudit())
                    == false, "not his")
            try expect(
                try await store.removeEmail(email.id, accountID: "account-bob", audit: sampleAudit()) == false,
                "not his")
            try expect(try await store.additionalEmails(accountID: "account-alice") == [email], "as it was")
            try expect(
                try await store.removeEmail(
                    email.id, accountID: "account-alice", audit: event(.additionalEmailRemoved, "account-alice")),
                "hers")
            try expect(try await store.additionalEmails(accountID: "account-alice").isEmpty, "gone")
        },
    ]
}
