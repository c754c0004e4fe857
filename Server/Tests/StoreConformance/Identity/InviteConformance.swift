import Records
import _Primitives

/// The rules for every ``InviteStore``.
public enum InviteConformance {
    /// The store protocols that the rules use.
    public typealias Subject = any IdentityStores

    private static let end = Timestamp.start + .seconds(60)
    private static let provisional = AccountRecord(
        id: "provisional", username: nil, displayName: nil,
        email: AccountEmail(address: "new@post.example", isVerified: false), createdAt: .start)

    private static func invite(_ id: String = "invite", email: String = "new@post.example", for account: String? = nil)
        -> InviteRecord
    {
        InviteRecord(
            id: id, organisation: "club", place: .init(service: "portal", role: "admin"), email: email,
            provisionalAccountID: account, createdAt: .start, expiresAt: Self.end)
    }

    /// Adds a service, an organisation, two people, and an invitation for a person without an account.
    private static func begin(_ store: Subject, withProvisional: Bool = true) async throws {
        for name in ["alice", "bob"] { try await store.createAccount(sampleAccount(name), audit: sampleAudit()) }
        try await store.addOrganisation(
            OrganisationRecord(id: "club", name: "Club", createdAt: .start), limit: 9, audit: sampleAudit())
        try await addService(store, "portal", sampleProfile("user|admin"))
        guard withProvisional else { return }
        _ = try await store.addInvite(
            Self.invite(for: "provisional"), provisional: Self.provisional, within: InviteBounds(open: 9), leaving: nil,
            audit: event(.inviteAdded))
        try await Self.offerProven(store)
    }

    private static let proof = [UInt8](repeating: 7, count: 32)

    /// Adds the invitation's code with a proven PIN.
    private static func offerProven(
        _ store: Subject, by proof: [UInt8] = Self.proof, until: Timestamp = Self.end, replacing: Bool = false
    ) async throws {
        var offer = sampleOffer("invite", account: "provisional")
        (offer.tokenDigest, offer.tokenUntil) = (proof, until)
        try await store.offer(offer, replacing: replacing, limit: nil, audit: sampleAudit())
    }

    /// Accepts an invitation, and returns the invitation afterwards.
    private static func accept(_ id: String, _ account: String, _ store: Subject, at now: Timestamp = .start)
        async throws -> InviteRecord?
    {
        try await store.acceptInvite(
            id, accountID: account, audit: event(.inviteAccepted, account, at: now))
        return try await store.invite(id)
    }

    /// Returns the reason for a refused acceptance; `nil` if the invitation is accepted.
    private static func refusal(_ id: String, _ account: String, _ store: Subject, at now: Timestamp = .start)
        async throws -> InviteRefusal?
    {
        do {
            _ = try await Self.accept(id, account, store, at: now)
            return nil
        } catch let refusal as InviteRefusal {
            return refusal
        }
    }

    /// Enrols a device at the account that was made for an invitation: the first device, or a further device.
    private static func enrol(
        _ store: Subject, _ name: String = "phone", invite: String? = "invite", at now: Timestamp = .start
    ) async throws {
        var offer = sampleOffer("device-\(name)", account: "provisional")
        offer.inviteID = invite
        try await store.offer(offer, audit: sampleAudit())
        let step = try await store.step(offer: "device-\(name)", request: nil) { offer in
            offer.state = .enrolled
            var change = OfferChange()
            var enrolled = sampleActivation(name, account: "provisional")
            enrolled.activation.device.createdAt = now
            change.enrolled = enrolled
            return (change, true)
        }
        try expect(step.decision == true, "enrolled")
    }

    /// Merges as the activation "merge-NAME" of the person, in a separate session. Returns the refusal; `nil` if the
    /// merge succeeded.
    private static func merge(
        _ store: Subject, into name: String = "alice", at now: Timestamp = .start, session: String = "session",
        addresses: Int = 9
    ) async throws -> InviteRefusal? {
        let activation = "merge-\(name)"
        if try await store.activation(id: "device-\(activation)") == nil {
            try await activate(store, activation, account: name)
        }
        if try await store.ceremony(.id(session)) == nil { try await open(store, session) }
        do {
            _ = try await takeStep(store, session, activation: "device-\(activation)") { scene, change in
                scene.ceremony.progress = Array("merged".utf8)
                change.merge = InviteMerge(
                    invite: "invite", tokenDigest: Self.proof, addressID: "address", addresses: addresses,
                    audit: event(.accountMerged, scene.activation.device.accountID, at: now))
            }
            return nil
        } catch let refusal as InviteRefusal {
            let left = try await store.ceremony(.id(session))?.progress
            try expect(left == Array("{}".utf8), "nothing of the step is done")
            return refusal
        }
    }

    /// Checks that the account has the role and the membership of the invitation.
    private static func expectPlace(_ account: String, _ store: Subject, _ isThere: Bool = true) async throws {
        let standing = try await store.standing(accountID: account, service: "portal")
        try expect(standing?.roles.map(\.id) == (isThere ? ["user", "admin"] : ["user"]), "the role")
        try expect(
            try await store.organisations(accountID: account).map(\.id) == (isThere ? ["club"] : []), "the membership")
    }

    private static func accepted(_ invite: InviteRecord, by account: String) -> InviteRecord {
        var invite = invite
        invite.state = .accepted
        invite.acceptedBy = account
        return invite
    }

    /// The rules, each over an empty store.
    public static let checks: [ConformanceCheck<Subject>] =
        Self.inviting + Self.prolonging + Self.accepting + Self.asked + Self.merging + Self.ending

    private static let inviting: [ConformanceCheck<Subject>] = [
        ConformanceCheck("an invitation comes back as it was added, with its account") { store in
            try await Self.begin(store)
            try expect(try await store.invite("invite") == Self.invite(for: "provisional"), "as it was added")
            try expect(try await store.invite(provisionalAccountID: "provisional")?.id == "invite", "by its account")
            try expect(try await store.account(id: "provisional") == Self.provisional, "the account")
            try expect(try await store.invite("none") == nil, "no other")
        },
        ConformanceCheck("invitations come page by page, the newest first, of an address alone where one is named") {
            store in
            try await Self.begin(store, withProvisional: false)
            for (id, email) in [("1", "a@x.example"), ("2", "b@x.example"), ("3", "A@x.example")] {
                _ = try await store.addInvite(
                    Self.invite(id, email: email), provisional: nil, within: InviteBounds(open: 9), leaving: nil,
                    audit: sampleAudit())
            }
            func listed(_ email: String? = nil, before: String? = nil, limit: Int = 9) async throws -> [String] {
                try await store.invites(email: email, before: before, limit: limit).map(\.id)
            }
            try expect(try await listed() == ["3", "2", "1"], "all")
            try expect(try await listed(limit: 1) == ["3"], "a page")
            try expect(try await listed(before: "3", limit: 1) == ["2"], "the next")
            try expect(try await listed("a@X.example") == ["3", "1"], "of one address")
        },
        ConformanceCheck("nobody is invited to what is not there, and no more are open than the limit") { store in
            try await Self.begin(store, withProvisional: false)
            var organisation = Self.invite()
            organisation.organisation = "none"
            var role = Self.invite()
            role.place?.role = "owner"
            var service = Self.invite()
            service.place?.service = "none"
            for invite in [organisation, role, service] {
                try await expectError(StoreError(.notFound, "")) {
                    _ = try await store.addInvite(
                        invite, provisional: Self.provisional, within: InviteBounds(open: 9), leaving: nil,
                        audit: sampleAudit())
                }
            }
            try expect(try await store.account(id: "provisional") == nil, "nothing is left")
            _ = try await store.addInvite(
                Self.invite("1"), provisional: nil, within: InviteBounds(open: 1), leaving: nil, audit: sampleAudit())
            try await expectError(StoreError(.conflict, "")) {
                _ = try await store.addInvite(
                    Self.invite("2"), provisional: nil, within: InviteBounds(open: 1), leaving: nil,
                    audit: sampleAudit())
            }
            var later = Self.invite("2")
            later.createdAt = Self.end
            later.expiresAt = Self.end + .seconds(9)
            _ = try await store.addInvite(
                later, provisional: nil, within: InviteBounds(open: 1), leaving: nil, audit: sampleAudit())
        },
        ConformanceCheck("of one address there are no more than can be since a moment, whatever its spelling") {
            store in
            try await Self.begin(store)
            func add(_ id: String, _ email: String, since: Timestamp) async throws {
                _ = try await store.addInvite(
                    Self.invite(id, email: email), provisional: nil,
                    within: InviteBounds(open: 9, ofAddress: (most: 1, since: since)), leaving: nil,
                    audit: sampleAudit())
            }
            let made = Self.invite().createdAt
            try await add("1", "one@post.example", since: made - .seconds(1))
            try await expectError(StoreError(.conflict, "")) {
                try await add("2", "One@post.example", since: made - .seconds(1))
            }
            try await add("2", "two@post.example", since: made - .seconds(1))
            try await add("3", "one@post.example", since: made)
        },
    ]

    private static let prolonging: [ConformanceCheck<Subject>] = [
        ConformanceCheck(
            "an open invitation ends later, and never earlier; one that is not open any more stays as it is"
        ) {
            store in
            try await Self.begin(store, withProvisional: false)
            for id in ["invite", "others"] {
                _ = try await store.addInvite(
                    Self.invite(id, email: "Alice@post.example"), provisional: nil, within: InviteBounds(open: 9),
                    leaving: nil, audit: sampleAudit())
            }
            func prolong(_ id: String = "invite", by seconds: Int, at now: Timestamp = .start) async throws -> Bool {
                try await store.prolongInvite(
                    id, until: Self.end + .seconds(seconds), audit: event(.inviteProlonged, at: now))
            }
            try expect(try await !prolong(by: -1), "not earlier")
            try expect(try await !prolong("none", by: 9), "there is none")
            try expect(try await !prolong(by: 9, at: Self.end), "its time is over")
            try expect(try await store.invite("invite") == Self.invite(email: "Alice@post.example"), "as it was")
            try expect(try await prolong(by: 9, at: Self.end - .milliseconds(1)), "later")
            var expected = Self.invite(email: "Alice@post.example")
            expected.expiresAt = Self.end + .seconds(9)
            try expect(try await store.invite("invite") == expected, "that alone")
            try expect(try await store.invite("others")?.expiresAt == Self.end, "and no other")
            let kinds = try await store.auditEntries(after: 0, limit: 99).map(\.event.kind)
            try expect(kinds.count { $0 == .inviteProlonged } == 1, "once in the trail")
            try await store.acceptInvite(
                "invite", accountID: "account-alice", audit: event(.inviteAccepted, "account-alice", at: .start))
            try expect(try await !prolong(by: 99), "it is accepted")
            _ = try await store.revokeInvite("others", audit: sampleAudit())
            try expect(try await !prolong("others", by: 99), "it is taken back")
        }
    ]

    private static let accepting: [ConformanceCheck<Subject>] = [
        ConformanceCheck("an account accepts what was sent to an address of its own that is verified") { store in
            try await Self.begin(store, withProvisional: false)
            let invite = Self.invite(email: "Alice@post.example")
            _ = try await store.addInvite(
                invite, provisional: nil, within: InviteBounds(open: 9), leaving: nil, audit: sampleAudit())
            try expect(try await Self.refusal("invite", "account-bob", store) == .notInvited, "not his")
            try await Self.expectPlace("account-bob", store, false)
            let accepted = Self.accepted(invite, by: "account-alice")
            for _ in 0..<2 {
                try expect(try await Self.accept("invite", "account-alice", store) == accepted, "hers, and again")
            }
            try await Self.expectPlace("account-alice", store)
            try expect(try await Self.refusal("invite", "account-bob", store) == .consumed, "not twice")
            let kinds = try await store.auditEntries(after: 0, limit: 99).map(\.event.kind)
            try expect(kinds.count { $0 == .inviteAccepted } == 1, "once in the trail")
        },
        ConformanceCheck("an address that nobody has seen to accepts nothing, be it the first or a further one") {
            store in
            try await Self.begin(store)
            let address = AdditionalEmail(id: "further", address: "new@post.example", createdAt: .start)
            _ = try await store.addEmail(address, accountID: "account-bob", limit: 9, audit: sampleAudit())
            try expect(try await Self.refusal("invite", "account-bob", store) == .notInvited, "not yet")
            try expect(try await Self.refusal("invite", "provisional", store) == .notInvited, "nor this")
            _ = try await store.setEmailVerified(true, id: "further", accountID: "account-bob", audit: sampleAudit())
            try expect(
                try await Self.accept("invite", "account-bob", store)
                    == Self.accepted(Self.invite(for: "provisional"), by: "account-bob"), "now")
            try await Self.expectPlace("account-bob", store)
            try expect(try await store.account(id: "provisional") == nil, "nobody needs it any more")
        },
        ConformanceCheck("the account that was made for an invitation accepts it with its first activation") { store in
            try await Self.begin(store)
            try await activate(store, "others", account: "bob")
            try expect(try await store.invite("invite")?.state == .open, "no other account does")
            try await Self.enrol(store)
            try await Self.expectPlace("provisional", store)
            try await Self.enrol(store, "second")
            try expect(
                try await store.invite("invite") == Self.accepted(Self.invite(for: "provisional"), by: "provisional"),
                "accepted")
            let kinds = try await store.auditEntries(after: 0, limit: 99).map(\.event.kind)
            try expect(kinds.count { $0 == .inviteAccepted } == 1, "once in the trail")
            try expect(try await Self.merge(store) == .consumed, "it goes into no other")
        },
        ConformanceCheck("the event of an acceptance names the invitation, also by a code that names none") { store in
            try await Self.begin(store)
            try await Self.enrol(store, invite: nil)
            try await Self.expectPlace("provisional", store)
            let accepted = try await store.auditEntries(after: 0, limit: 99).map(\.event)
                .filter { $0.kind == .inviteAccepted }
            try expect(accepted.map(\.accountID) == ["provisional"] && accepted.map(\.detail) == ["invite"], "its name")
        },
        ConformanceCheck("nothing is accepted once its time is over") { store in
            try await Self.begin(store)
            _ = try await store.addInvite(
                Self.invite("second", email: "alice@post.example"), provisional: nil, within: InviteBounds(open: 9),
                leaving: nil,
                audit: sampleAudit())
            try expect(try await Self.refusal("second", "account-alice", store, at: Self.end) == .expired, "own")
            try expect(try await Self.merge(store, at: Self.end) == .expired, "merge")
            try await Self.expectPlace("account-alice", store, false)
            try await Self.enrol(store, at: Self.end)
            try await Self.expectPlace("provisional", store, false)
        },
        ConformanceCheck("what is not there is accepted by nobody") { store in
            try await Self.begin(store)
            try expect(try await Self.refusal("none", "account-alice", store) == .unknown, "none")
            try expect(try await Self.refusal("invite", "nobody", store) == .notInvited, "nobody")
        },
    ]

    /// Makes the service take newcomers as users, and adds an invitation that a person has asked for.
    private static func beginAsked(_ store: Subject) async throws {
        try await Self.begin(store, withProvisional: false)
        try await Self.change(store) { $0.takesNewcomers = true }
        let invite = InviteRecord(
            id: "invite", organisation: nil, place: .init(service: "portal", role: "user"), email: "new@post.example",
            provisionalAccountID: "provisional", createdAt: .start, expiresAt: Self.end, isAskedFor: true)
        _ = try await store.addInvite(
            invite, provisional: Self.provisional, within: InviteBounds(open: 9), leaving: nil,
            audit: event(.inviteAdded))
        try expect(try await store.invite("invite") == invite, "as it was added")
        try await Self.offerProven(store)
    }

    private static func change(_ store: Subject, _ body: (inout ServiceProfile) -> Void) async throws {
        var profile = try sampleProfile("user|admin")
        body(&profile)
        _ = try await store.setServiceProfile(profile, client: "portal", audit: sampleAudit())
    }

    /// Returns the roles that an operator has set for an account; `nil` if no operator has set roles.
    private static func saidRoles(_ account: String, _ store: Subject) async throws -> [String]? {
        try await store.standing(accountID: account, service: "portal").flatMap {
            $0.isKnown ? $0.roles.map(\.id) : nil
        }
    }

    private static let asked: [ConformanceCheck<Subject>] = [
        ConformanceCheck("who has asked for an invitation is given its role where nothing was said of theirs") {
            store in
            try await Self.beginAsked(store)
            try expect(try await Self.merge(store) == nil, "merged")
            try expect(try await Self.saidRoles("account-alice", store) == ["user"], "the newcomer's")
        },
        ConformanceCheck("a role that an operator has taken away does not come back with what somebody asked for") {
            store in
            for isByMerge in [true, false] {
                try await Self.beginAsked(store)
                for name in ["account-alice", "account-bob"] {
                    try expect(
                        try await store.revokeRole("user", accountID: name, service: "portal", audit: sampleAudit()),
                        "taken away")
                }
                if isByMerge {
                    try expect(try await Self.merge(store) == nil, "the address and nothing else")
                } else {
                    let address = AdditionalEmail(
                        id: "further", address: "new@post.example", isVerified: true, createdAt: .start)
                    _ = try await store.addEmail(address, accountID: "account-alice", limit: 9, audit: sampleAudit())
                    try expect(try await Self.refusal("invite", "account-alice", store) == nil, "accepted")
                }
                try expect(try await Self.saidRoles("account-alice", store) == [], "none")
                try expect(try await store.invite("invite")?.state == .accepted, "once")
                // An invitation by an operator counts as the operator's decision.
                let next = InviteRecord(
                    id: "next", organisation: nil, place: .init(service: "portal", role: "user"),
                    email: "bob@post.example", createdAt: .start, expiresAt: Self.end)
                _ = try await store.addInvite(
                    next, provisional: nil, within: InviteBounds(open: 9), leaving: nil, audit: sampleAudit())
                try expect(try await Self.refusal("next", "account-bob", store) == nil, "the operator's")
                try expect(try await Self.saidRoles("account-bob", store) == ["user"], "given back")
                _ = try await store.deleteClient("portal", audit: sampleAudit())
                _ = try await store.removeOrganisation("club", audit: sampleAudit())
                for name in ["alice", "bob"] {
                    _ = try await store.deleteAccount(id: "account-\(name)", audit: sampleAudit())
                }
            }
        },
        ConformanceCheck("who has asked is given nothing where the service takes no newcomers any more") { store in
            let changes: [(inout ServiceProfile) -> Void] = [
                { $0.requiresInvitation = true }, { $0.membershipOrganisation = "club" },
                { $0.usesDefaultRoles = false },
                { _ in },
            ]
            for change in changes {
                try await Self.beginAsked(store)
                try await Self.change(store, change)
                try await Self.enrol(store)
                try expect(try await store.invite("invite")?.state == .accepted, "its person has come")
                try expect(try await Self.saidRoles("provisional", store) == nil, "nobody has said anything")
                _ = try await store.deleteAccount(id: "provisional", audit: sampleAudit())
                _ = try await store.deleteClient("portal", audit: sampleAudit())
                _ = try await store.removeOrganisation("club", audit: sampleAudit())
                for name in ["alice", "bob"] {
                    _ = try await store.deleteAccount(id: "account-\(name)", audit: sampleAudit())
                }
            }
        },
    ]

    private static let merging: [ConformanceCheck<Subject>] = [
        ConformanceCheck("the account of an invitation goes into another, with its address and what it is for") {
            store in
            try await Self.begin(store)
            for _ in 0..<2 { try expect(try await Self.merge(store) == nil, "merged, and again") }
            let accepted = Self.accepted(Self.invite(for: "provisional"), by: "account-alice")
            try expect(try await store.invite("invite") == accepted, "accepted")
            try await Self.expectPlace("account-alice", store)
            try expect(try await store.account(id: "provisional") == nil, "it is gone")
            let emails = try await store.additionalEmails(accountID: "account-alice")
            try expect(
                emails == [AdditionalEmail(id: "address", address: "new@post.example", createdAt: .start)],
                "the address, to which nobody has seen yet")
            try expect(try await store.accounts(verifiedEmail: "new@post.example", limit: 9).isEmpty, "it finds nobody")
            try expect(
                try await store.account(id: "account-alice")?.email?.address == "alice@post.example",
                "the first address is as it was")
            let kinds = try await store.auditEntries(after: 0, limit: 99).map(\.event.kind)
            try expect(kinds.count { $0 == .accountMerged } == 1, "once in the trail")
        },
        ConformanceCheck("afterwards the invitation is consumed, whoever comes with it") { store in
            try await Self.begin(store)
            _ = try await Self.merge(store)
            try expect(try await Self.merge(store, into: "bob", session: "bobs") == .consumed, "another account")
            try expect(try await Self.refusal("invite", "provisional", store) == .consumed, "its own account")
            try await Self.expectPlace("account-bob", store, false)
        },
        ConformanceCheck("of those who merge at once one account gets it") { store in
            try await Self.begin(store)
            for name in ["alice", "bob"] { try await activate(store, "merge-\(name)", account: name) }
            let count = try await winners(20) { index in
                let name = index.isMultiple(of: 2) ? "alice" : "bob"
                return try await Self.merge(store, into: name, session: "session-\(index)") == nil
            }
            try expect(count == 10, "one of the two, each time")
            let members = try await store.members(organisation: "club", after: nil, limit: 9)
            try expect(members.count == 1, "one member")
        },
        ConformanceCheck("an account with a device is no provisional one any more, and stays") { store in
            try await Self.begin(store)
            try await addDevice(store, sampleRegistration("phone", account: "provisional"))
            try expect(try await Self.merge(store) == .notMergeable, "somebody's")
            let swept = try await store.deleteStaleInvites(endedBefore: .start, now: Self.end, limit: 9)
            try expect(swept == 0, "it is nobody's to sweep")
            try expect(try await store.revokeInvite("invite", audit: event(.inviteRevoked)), "taken back")
            try expect(try await store.account(id: "provisional") != nil, "it stays")
        },
        ConformanceCheck("an account that an operator has locked goes into none, and stays") { store in
            try await Self.begin(store)
            _ = try await store.setAccountLocked(true, id: "provisional", audit: sampleAudit())
            try expect(try await Self.merge(store) == .notMergeable, "locked")
            try expect(try await store.account(id: "provisional")?.isLocked == true, "as it was")
            try expect(try await store.additionalEmails(accountID: "account-alice").isEmpty, "no address")
            try await Self.expectPlace("account-alice", store, false)
            _ = try await store.setAccountLocked(false, id: "provisional", audit: sampleAudit())
            try expect(try await Self.merge(store, session: "another") == nil, "not any more")
        },
        ConformanceCheck("nothing goes by a code that was taken back, or made anew, since its PIN was proven") {
            store in
            try await Self.begin(store)
            try await Self.offerProven(store, by: [UInt8](repeating: 9, count: 32), replacing: true)
            try expect(try await Self.merge(store) == .notMergeable, "another proof")
            try await Self.offerProven(store, replacing: true)
            let audit = event(.init(rawValue: "activation-withdrawn"), at: .start)
            try expect(
                try await store.withdrawOffer(id: "invite", accountID: "provisional", audit: audit), "taken back")
            try expect(try await Self.merge(store, session: "another") == .notMergeable, "taken back")
            try expect(try await store.account(id: "provisional") != nil, "as it was")
            try expect(try await store.invite("invite")?.state == .open, "still open")
        },
        ConformanceCheck("nothing goes once the time of the proof is over, and before that it does") { store in
            try await Self.begin(store)
            let until = Self.end - .seconds(1)
            try await Self.offerProven(store, until: until, replacing: true)
            try expect(try await Self.merge(store, at: until) == .notMergeable, "too late")
            try expect(try await store.account(id: "provisional") != nil, "as it was")
            try expect(try await store.invite("invite")?.state == .open, "still open")
            try expect(
                try await Self.merge(store, at: until - .milliseconds(1), session: "another") == nil, "in its time")
        },
        ConformanceCheck("nothing goes where there is no room for its address, or without an account of its own") {
            store in
            try await Self.begin(store)
            try expect(try await Self.merge(store, addresses: 0) == .notMergeable, "no room")
            try expect(try await store.account(id: "provisional") != nil, "as it was")
            try expect(try await store.invite("invite")?.state == .open, "still open")
            _ = try await store.revokeInvite("invite", audit: event(.inviteRevoked))
            try expect(try await Self.merge(store) == .consumed, "taken back")
        },
    ]

    private static let ending: [ConformanceCheck<Subject>] = [
        ConformanceCheck("an invitation that is taken back takes its account along") { store in
            try await Self.begin(store)
            try expect(try await store.revokeInvite("invite", audit: event(.inviteRevoked)), "open")
            try expect(try await store.revokeInvite("invite", audit: event(.inviteRevoked)) == false, "once")
            try expect(try await store.account(id: "provisional") == nil, "its account")
            try expect(try await store.invite("invite")?.state == .revoked, "it is known what became of it")
        },
        ConformanceCheck("invitations to what goes are taken back with their accounts") { store in
            for step in 0..<4 {
                try await Self.begin(store)
                switch step {
                case 0: _ = try await store.removeOrganisation("club", audit: sampleAudit())
                case 1: _ = try await store.removeServiceProfile(client: "portal", audit: sampleAudit())
                case 2: _ = try await store.deleteClient("portal", audit: sampleAudit())
                default:
                    _ = try await store.setServiceProfile(
                        sampleProfile("user|"), client: "portal", audit: sampleAudit())
                    try expect(try await store.invite("invite")?.state == .revoked, "known")
                }
                try expect(try await store.account(id: "provisional") == nil, "its account")
                _ = try await store.deleteClient("portal", audit: sampleAudit())
                _ = try await store.removeOrganisation("club", audit: sampleAudit())
                for name in ["alice", "bob"] {
                    _ = try await store.deleteAccount(id: "account-\(name)", audit: sampleAudit())
                }
            }
        },
        ConformanceCheck("what nobody accepted goes when its time is over, its account first") { store in
            try await Self.begin(store)
            func sweep(endedBefore: Timestamp, now: Timestamp) async throws -> Int {
                try await store.deleteStaleInvites(endedBefore: endedBefore, now: now, limit: 9)
            }
            try expect(try await sweep(endedBefore: .start, now: Self.end - .seconds(1)) == 0, "not before")
            try expect(try await sweep(endedBefore: .start, now: Self.end) == 1, "the account")
            try expect(try await store.account(id: "provisional") == nil, "it is gone")
            try expect(try await store.invite("invite") != nil, "the invitation is remembered")
            try expect(
                try await sweep(endedBefore: Self.end + .seconds(1), now: Self.end + .seconds(9)) == 1, "then it")
            try expect(try await store.invite("invite") == nil, "gone")
        },
        ConformanceCheck("an account that accepted stays when the time of its invitation is over") { store in
            try await Self.begin(store)
            try await Self.enrol(store)
            _ = try await store.deleteStaleInvites(
                endedBefore: Self.end + .seconds(1), now: Self.end + .seconds(9), limit: 9)
            try expect(try await store.account(id: "provisional") != nil, "somebody's")
        },
        ConformanceCheck("an account that is deleted leaves no invitation that it accepted or was made for") { store in
            for accepts in [true, false] {
                try await Self.begin(store)
                if accepts { try await Self.enrol(store) }
                _ = try await store.deleteAccount(id: "provisional", audit: sampleAudit())
                try expect(try await store.invites(email: nil, before: nil, limit: 9).isEmpty, "none")
                _ = try await store.deleteClient("portal", audit: sampleAudit())
                _ = try await store.removeOrganisation("club", audit: sampleAudit())
                for name in ["alice", "bob"] {
                    _ = try await store.deleteAccount(id: "account-\(name)", audit: sampleAudit())
                }
            }
        },
    ]
}
