import Records
import Testing
import UAF
import _Primitives

/// The rules of accepting and merging invitations.
struct InviteAcceptanceTests {
    private static let now = Timestamp(seconds: 1_800_000_000)

    private static func invite(
        _ state: InviteRecord.State = .open, acceptedBy: String? = nil, provisional: String? = nil,
        lasts: Duration = .seconds(1), place: InviteRecord.Place? = nil, isAskedFor: Bool = false
    ) -> InviteRecord {
        var invite = InviteRecord(
            id: "invite", organisation: nil, place: place, email: "ada@bank.example", provisionalAccountID: provisional,
            createdAt: Self.now, expiresAt: Self.now + lasts, isAskedFor: isAskedFor)
        invite.state = state
        invite.acceptedBy = acceptedBy
        return invite
    }

    @Test(
        "An open invitation in its time is accepted",
        arguments: [
            (nil, .failure(.unknown)),
            (Self.invite(), .success(.open(Self.invite()))),
            (Self.invite(lasts: .zero), .failure(.expired)),
            (Self.invite(lasts: .seconds(-1)), .failure(.expired)),
            (Self.invite(.accepted, acceptedBy: "ada"), .success(.accepted)),
            (Self.invite(.accepted, acceptedBy: "ada", lasts: .zero), .success(.accepted)),
            (Self.invite(.accepted, acceptedBy: "bob"), .failure(.consumed)),
            (Self.invite(.accepted), .failure(.consumed)),
            (Self.invite(.revoked), .failure(.consumed)),
            (Self.invite(.revoked, acceptedBy: "ada", lasts: .zero), .failure(.consumed)),
        ] as [(InviteRecord?, Result<InviteAcceptance, InviteRefusal>)])
    func verdict(on found: InviteRecord?, is expected: Result<InviteAcceptance, InviteRefusal>) {
        let verdict = Result { () throws(InviteRefusal) in
            try InviteAcceptance.verdict(on: found, accountID: "ada", at: Self.now)
        }
        #expect(verdict == expected)
    }

    @Test("A step goes on with an open invitation, and with no accepted invitation")
    func openInvite() {
        #expect(InviteAcceptance.open(Self.invite()).openInvite == Self.invite())
        #expect(InviteAcceptance.accepted.openInvite == nil)
    }

    @Test(
        "The first activation accepts an open invitation in its time",
        arguments: [
            (nil, false), (Self.invite(), true), (Self.invite(lasts: .zero), false), (Self.invite(.accepted), false),
            (Self.invite(.revoked), false),
        ] as [(InviteRecord?, Bool)])
    func firstActivation(_ found: InviteRecord?, accepts: Bool) {
        #expect(InviteAcceptance.byFirstActivation(found, at: Self.now) == (accepts ? found : nil))
    }

    @Test("The event of the first activation names its account and the accepted invitation")
    func acceptance() {
        let device = DeviceRecord(
            id: "device", accountID: "guest", name: "Phone", isActive: true, createdAt: Self.now)
        #expect(
            Self.invite(provisional: "guest").acceptance(by: device)
                == AuditEvent(.inviteAccepted, at: Self.now, accountID: "guest", detail: "invite"))
    }

    @Test("Only an account with the verified address is invited")
    func invited() {
        #expect(throws: Never.self) { try InviteAcceptance.requireInvited(hasVerifiedAddress: true) }
        #expect(throws: InviteRefusal.notInvited) { try InviteAcceptance.requireInvited(hasVerifiedAddress: false) }
    }

    @Test(
        "The provisional account goes, unless it accepts itself",
        arguments: [(nil, nil), ("ada", nil), ("guest", "guest")] as [(String?, String?)])
    func accountToDelete(_ provisional: String?, deleted: String?) {
        #expect(Self.invite(provisional: provisional).accountToDelete(acceptedBy: "ada") == deleted)
    }

    // MARK: The merge

    private static let merge = Self.merge(token: [7])

    private static func merge(token: [UInt8]) -> InviteMerge {
        InviteMerge(
            invite: "invite", tokenDigest: token, addressID: "address", addresses: 3,
            audit: AuditEvent(.accountMerged, at: Self.now))
    }

    private static func offer(
        _ state: OfferRecord.State = .offered, token: [UInt8]?, until: Timestamp? = Self.now + .seconds(1)
    ) -> OfferRecord {
        var offer = OfferRecord(
            id: "invite", accountID: "guest", claimDigest: [1], pinKey: [2], pinParameters: "{}", name: nil,
            challenge: "challenge", createdAt: Self.now, expiresAt: Self.now)
        offer.state = state
        (offer.tokenDigest, offer.tokenUntil) = (token, until)
        return offer
    }

    @Test("The proof of the offered code's PIN merges its account into another account")
    func mergedAccount() throws {
        let account = try Self.merge.provisionalAccount(
            of: Self.invite(provisional: "guest"), offer: Self.offer(token: [7]), into: "ada")
        #expect(account == "guest")
    }

    @Test(
        "A code without the proof, and an account that is no other account, are not merged",
        arguments: [
            ("guest", nil, [7]), ("guest", Self.offer(.enrolled, token: [7]), [7]),
            ("guest", Self.offer(.merged, token: [7]), [7]), ("guest", Self.offer(.revoked, token: [7]), [7]),
            ("guest", Self.offer(token: [8]), [7]), ("guest", Self.offer(token: nil), [7]),
            ("guest", Self.offer(token: nil), []), ("guest", Self.offer(token: []), []),
            ("guest", Self.offer(token: [7], until: Self.now), [7]), ("guest", Self.offer(token: [7], until: nil), [7]),
            (nil, Self.offer(token: [7]), [7]), ("ada", Self.offer(token: [7]), [7]),
        ] as [(String?, OfferRecord?, [UInt8])])
    func unmerged(_ provisional: String?, _ offer: OfferRecord?, token: [UInt8]) {
        #expect(throws: InviteRefusal.notMergeable) {
            try Self.merge(token: token).provisionalAccount(
                of: Self.invite(provisional: provisional), offer: offer, into: "ada")
        }
    }

    @Test("A person's account and an account without room are not merged")
    func furtherConditions() {
        #expect(throws: Never.self) { try Self.merge.requireProvisional(isUnlockedWithoutDevice: true) }
        #expect(throws: InviteRefusal.notMergeable) {
            try Self.merge.requireProvisional(isUnlockedWithoutDevice: false)
        }
        #expect(InviteMerge.addressRefusal == InviteRefusal.notMergeable)
    }

    @Test("The accepting account gets the invited address, unless it has the address")
    func addedAddress() throws {
        let invite = Self.invite(provisional: "guest")
        #expect(
            try Self.merge.addedAddress(of: invite, isHeld: false, beside: 2)
                == AdditionalEmail(id: "address", address: invite.email, createdAt: Self.now))
        #expect(try Self.merge.addedAddress(of: invite, isHeld: true, beside: 3) == nil)
        for count in 3...4 {
            #expect(throws: InviteRefusal.notMergeable) {
                try Self.merge.addedAddress(of: invite, isHeld: false, beside: count)
            }
        }
    }

    // MARK: The role

    private static let place = InviteRecord.Place(service: "bank", role: "user")

    private static func profile(takesNewcomers: Bool = true) throws -> ServiceProfile {
        let factors = try AuthenticatorMatrix([[.pin, .device]])
        var profile = try ServiceProfile(roles: [
            try ServiceRole(id: "user", name: "User", factors: factors, isDefault: true),
            try ServiceRole(id: "admin", name: "Administrator", factors: factors),
        ])
        profile.takesNewcomers = takesNewcomers
        return profile
    }

    @Test("An invitation names a role that the service has")
    func role() throws {
        let (profile, code) = (try Self.profile(), StoreError(.notFound, ""))
        #expect(throws: Never.self) { try Self.invite().requireRole(in: nil) }
        #expect(throws: Never.self) { try Self.invite(place: Self.place).requireRole(in: profile) }
        #expect(throws: code) { try Self.invite(place: Self.place).requireRole(in: nil) }
        #expect(throws: code) {
            try Self.invite(place: .init(service: "bank", role: "User")).requireRole(in: profile)
        }
    }

    @Test("An operator's invitation gives its role; a person's own gives what the service gives newcomers")
    func givenRole() throws {
        func standing(isKnown: Bool = false, takesNewcomers: Bool = true) throws -> ServiceStanding {
            ServiceStanding(
                profile: try Self.profile(takesNewcomers: takesNewcomers), roles: [], isKnown: isKnown, isMember: true)
        }
        let admin = InviteRecord.Place(service: "bank", role: "admin")
        let table: [(InviteRecord, ServiceStanding?, InviteRecord.Place?)] = [
            (Self.invite(), nil, nil),
            (Self.invite(place: Self.place), nil, Self.place),
            (Self.invite(isAskedFor: true), nil, nil),
            (Self.invite(place: Self.place, isAskedFor: true), nil, nil),
            (Self.invite(place: Self.place, isAskedFor: true), try standing(), Self.place),
            (Self.invite(place: admin, isAskedFor: true), try standing(), nil),
            (Self.invite(place: Self.place, isAskedFor: true), try standing(isKnown: true), nil),
            (Self.invite(place: Self.place, isAskedFor: true), try standing(takesNewcomers: false), nil),
        ]
        for (invite, standing, place) in table {
            #expect(invite.givenPlace(standing: standing) == place)
            #expect(invite.placeByStanding == (invite.isAskedFor ? invite.place : nil))
        }
    }
}
