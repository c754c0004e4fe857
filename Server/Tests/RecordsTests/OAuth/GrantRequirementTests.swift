import Records
import Testing
import _Primitives

@Suite("Decision 52: the requirements of a new grant, and of passing a session on")
struct GrantRequirementTests {
    private static let now = Timestamp(seconds: 1_800_000_000)

    /// A refusal with its text. Errors of a store are equal by their codes alone.
    private struct Refusal: Equatable {
        let code: StoreError.Code
        let reason: String
    }

    /// Returns the refusal of a check; `nil` if the check passes.
    private static func refusal(_ check: () throws -> Void) throws -> Refusal? {
        do {
            try check()
            return nil
        } catch let error as StoreError {
            return Refusal(code: error.code, reason: error.reason)
        }
    }

    @Test(
        "A requirement that is not met is named.",
        arguments: zip(
            GrantRequirement.allCases,
            [
                "the consent was taken back", "the authentication is not for this service", "the secret has ended",
                "the client is gone, or has left the group", "the client is gone, or switched off",
                "the client has as many lasting grants as it can, and the new grant would end with the oldest",
            ]))
    func requirement(requirement: GrantRequirement, reason: String) throws {
        #expect(try Self.refusal { try requirement.check(true) } == nil)
        for refusal in [
            try Self.refusal { try requirement.check(false) },
            try Self.refusal { throw requirement.refusal },
        ] {
            #expect(refusal == Refusal(code: .notFound, reason: reason))
        }
    }

    @Test("Every requirement has a row in the table.")
    func isWhole() { #expect(GrantRequirement.allCases.count == 6) }

    private static func grant(
        authentication: String = "authentication", deviceSecret: [UInt8]? = nil, origin: String? = nil,
        expiresAt: Timestamp = Self.now + .milliseconds(1)
    ) -> GrantRecord {
        GrantRecord(
            id: "grant", client: "client", subject: "subject", authentication: authentication, session: "session",
            scope: "openid", deviceSecret: deviceSecret, origin: origin, expiresAt: expiresAt)
    }

    @Test(
        "An authentication is for the service of a grant that rests on it.",
        arguments: [
            ("authentication", "client", true), ("authentication", "other", false), ("authentication", nil, false),
            ("another", "client", false),
        ] as [(String, String?, Bool)])
    func service(authentication: String, service: String?, isForService: Bool) {
        let record = AuthenticationRecord(
            id: authentication, account: "account", method: "phone", at: Self.now, acr: "", amr: [], browser: nil,
            address: nil, device: nil, role: service.map { RoleAtService(service: $0, role: "user") })
        #expect(record.isForService(of: Self.grant()) == isForService)
    }

    private static let ended = "the session has ended, or was passed on itself"
    private static let other = "the session is another device's"

    @Test(
        "A session is passed on from a standing grant of its own, with the device's secret.",
        arguments: [
            (Self.grant(), nil, nil), (Self.grant(deviceSecret: [7]), nil, nil),
            (Self.grant(deviceSecret: [7]), [7], nil), (Self.grant(deviceSecret: [7]), [8], Self.other),
            (Self.grant(deviceSecret: [7]), [7, 7], Self.other), (Self.grant(), [7], Self.other),
            (nil, nil, Self.ended), (nil, [7], Self.ended), (Self.grant(expiresAt: Self.now), nil, Self.ended),
            (Self.grant(origin: "origin"), nil, Self.ended),
            (Self.grant(deviceSecret: [7], origin: "origin"), [7], Self.ended),
            (Self.grant(authentication: "another"), nil, Self.ended),
            (Self.grant(authentication: "another", deviceSecret: [7]), [8], Self.ended),
        ] as [(GrantRecord?, [UInt8]?, String?)])
    func passing(origin: GrantRecord?, shown: [UInt8]?, reason: String?) throws {
        let passed = PassedSession(
            origin: "grant", deviceSecret: shown, grant: Self.grant(), redirectURI: "https://shop.example/")
        let refusal = try Self.refusal { try passed.check(origin: origin, at: Self.now) }
        #expect(refusal == reason.map { Refusal(code: .notFound, reason: $0) })
    }

    @Test(
        "A client may claim a resource that no other client owns.",
        arguments: [(nil, true), ("client", true), ("other", false)] as [(String?, Bool)]
    )
    func owner(owner: String?, mayClaim: Bool) throws {
        let refusal = try Self.refusal { try ResourceOwner(client: owner).check(claimant: "client") }
        let conflict = Refusal(code: .conflict, reason: "another client owns the resource")
        #expect(refusal == (mayClaim ? nil : conflict))
    }

    @Test("An owner's identifier is compared by its bytes.")
    func ownerByBytes() throws {
        let refusal = try Self.refusal { try ResourceOwner(client: "\u{e9}").check(claimant: "e\u{301}") }
        #expect(refusal?.code == .conflict)
    }
}
