import Ceremony
import CeremonyEngine
import Crypto
import Foundation
import Records
import SQLStore
import Testing
import UAF
import _Primitives

@Suite("Invitations whose person has an account already")
struct IdentityMergeTests {
    private struct Invited {
        let server: TestServer
        let account: AccountRecord
        let phone: IdentityPhone
        let provisional: AccountRecord
        let offer: TestOffer
    }

    private func invited(
        _ address: String = "new@alice.example", by name: String = "Clinic"
    ) async throws -> Invited {
        let server = try TestServer()
        let organisation = OrganisationRecord(
            id: RandomSource.system.identifier(), name: name, createdAt: server.clock.now)
        try await server.database.addOrganisation(
            organisation, limit: 10, audit: AuditEvent(.organisationAdded, at: server.clock.now))
        try await server.addService(
            roles: [try TestServer.role("patient"), try TestServer.role("doctor", isDefault: false)]
        ) {
            $0.membershipOrganisation = organisation.id
            $0.requiresInvitation = true
        }
        let (account, phone) = try await server.personalise()
        let provisional = AccountRecord(
            id: RandomSource.system.identifier(), username: nil, displayName: nil, createdAt: server.clock.now)
        let invite = InviteRecord(
            id: RandomSource.system.identifier(), organisation: organisation.id,
            place: InviteRecord.Place(service: TestServer.service, role: "doctor"), email: address,
            provisionalAccountID: provisional.id, createdAt: server.clock.now,
            expiresAt: server.clock.now + .seconds(86_400))
        _ = try await server.database.addInvite(
            invite, provisional: provisional, within: InviteBounds(open: 10), leaving: nil,
            audit: AuditEvent(.inviteAdded, at: server.clock.now))
        let offer = try await server.offer(to: provisional, invite: invite.id)
        return Invited(server: server, account: account, phone: phone, provisional: provisional, offer: offer)
    }

    @Test("The invited role, membership and address become the account's that its person has; the code is consumed")
    func theInvitationsAccountGoesIntoTheOther() async throws {
        let invited = try await self.invited()
        let (server, phone) = (invited.server, invited.phone)
        let uninvited = try await server.showCode("uninvited")
        await #expect(throws: IdentityProblem(.membershipRequired)) { () async throws in
            _ = try await phone.start(uninvited)
        }
        let proven = try await server.prove(invited.offer, by: phone)
        #expect(proven.mayMerge)
        let begun = try await phone.access(
            AccessRequest(purpose: .merge, token: proven.token, invitation: invited.offer.id))
        _ = try await phone.start(begun.session, claim: begun.claim)
        let prepared = try await phone.prepared(begun.session)
        #expect(try await server.database.account(id: invited.provisional.id) != nil, "not before the factors")
        guard case .accepted(let accepted) = try await phone.finish(begun.session, prepared) else {
            Issue.record("refused")
            return
        }
        #expect(accepted.purpose == .merge && accepted.continuesUntil == nil)
        #expect(try await server.database.account(id: invited.provisional.id) == nil)
        #expect(try await server.database.invite(invited.offer.id)?.acceptedBy == invited.account.id)
        let emails = try await server.database.additionalEmails(accountID: invited.account.id)
        #expect(emails.map(\.address) == ["new@alice.example"] && emails.allSatisfy { !$0.isVerified })
        let organisations = try await server.database.organisations(accountID: invited.account.id)
        #expect(organisations.map(\.name) == ["Clinic"])
        #expect(try await phone.start(uninvited).roles.map(\.id) == ["patient", "doctor"])
        _ = try await phone.finish(uninvited.id, try await phone.prepared(uninvited.id, role: "doctor"))
        let signIns = server.engine.signIns
        #expect(try await signIns.state(reference: "uninvited", browser: server.browser) == .approved)
        await #expect(throws: IdentityProblem(.activationDataConsumed)) { () async throws in
            _ = try await server.open(invited.offer)
        }
        await #expect(throws: IdentityProblem(.activationDataConsumed)) { () async throws in
            _ = try await phone.access(
                AccessRequest(purpose: .merge, token: proven.token, invitation: invited.offer.id))
        }
    }

    private func begin(_ invited: Invited) async throws -> (session: String, prepared: PreparedSession) {
        let proven = try await invited.server.prove(invited.offer, by: invited.phone)
        let begun = try await invited.phone.access(
            AccessRequest(purpose: .merge, token: proven.token, invitation: invited.offer.id))
        _ = try await invited.phone.start(begun.session, claim: begun.claim)
        return (begun.session, try await invited.phone.prepared(begun.session))
    }

    /// What stands in the bytes that are signed.
    private func signedText(_ prepared: PreparedSession) throws -> String {
        try #require(try SessionDocument(parsing: prepared.document).text).text
    }

    @Test("The person signs whose invitation it is and to what, also once more after a wrong attempt")
    func theDocumentSaysWhoseInvitationItIs() async throws {
        let invited = try await self.invited()
        let (session, prepared) = try await self.begin(invited)
        let expected = """
            Your identity takes this invitation:
            Address: new@alice.example
            Organisation: Clinic
            Service: Health Portal
            Role: Doctor
            """
        #expect(try self.signedText(prepared) == expected)
        let refused = try await invited.phone.miss(session, prepared)
        let next = try #require(refused.next)
        #expect(next.document != prepared.document)
        #expect(try self.signedText(next) == expected)
        invited.server.clock.advance(.seconds(6))
        guard case .accepted = try await invited.phone.finish(session, next) else {
            Issue.record("refused")
            return
        }
        #expect(try await invited.server.database.invite(invited.offer.id)?.state == .accepted)
    }

    @Test(
        "Whatever an invitation is called, each part has its line, and a phone takes the text",
        arguments: [
            ("Clinic\nRole: Nobody", "a@b.example"),
            (
                "\u{202E}cinilC",
                "\(String(repeating: "n", count: 64))@\(String(repeating: "h.", count: 86))alice.example"
            ),
            (String(repeating: "\u{FB2C}", count: 128), "new@alice.example"),
            (String(repeating: "e\u{301}", count: 128), "\(String(repeating: "n", count: 64))@alice.example"),
        ])
    func oddNames(name: String, address: String) async throws {
        let (_, prepared) = try await self.begin(try await self.invited(address, by: name))
        let text = try self.signedText(prepared)
        #expect(text.unicodeScalars.count <= TransactionText.maximumLength)
        let lines = text.split(separator: "\n").map(String.init)
        #expect(
            lines.dropFirst().map { String($0.prefix { $0 != ":" }) } == ["Address", "Organisation", "Service", "Role"])
        #expect(lines[1].hasPrefix("Address: \(address.prefix(3))"))
        #expect(lines[1].hasSuffix(String(address.suffix(9))), "the end of its host")
        #expect(lines[2].unicodeScalars.count > 20 || name.unicodeScalars.count < 21)
        #expect(lines[3...] == ["Service: Health Portal", "Role: Doctor"])
    }

    @Test("What an operator has locked is proven by no PIN, right or wrong, and goes into no account")
    func aLockedAccountIsNotMerged() async throws {
        let invited = try await self.invited()
        let (server, account) = (invited.server, invited.provisional.id)
        func lock(_ isLocked: Bool) async throws {
            _ = try await server.database.setAccountLocked(
                isLocked, id: account, audit: AuditEvent(.init(rawValue: "account-locked"), at: server.clock.now))
        }
        let (session, prepared) = try await self.begin(invited)
        try await lock(true)
        for pin in [invited.offer.pin, P256.Signing.PrivateKey()] {
            let before = try await server.database.offer(id: invited.offer.id)
            await #expect(throws: IdentityProblem(.activationDisabled)) { () async throws in
                _ = try await server.type(invited.offer, pin: pin)
            }
            let after = try await server.database.offer(id: invited.offer.id)
            #expect(after?.lockout == before?.lockout && after?.challenge == before?.challenge, "nothing is counted")
        }
        await #expect(throws: IdentityProblem(.mergeConflict)) { () async throws in
            _ = try await invited.phone.finish(session, prepared)
        }
        #expect(try await server.database.account(id: account)?.isLocked == true)
        #expect(try await server.database.invite(invited.offer.id)?.state == .open)
        #expect(try await server.database.additionalEmails(accountID: invited.account.id).isEmpty)
        try await lock(false)
        let (again, ready) = try await self.begin(invited)
        guard case .accepted = try await invited.phone.finish(again, ready) else {
            Issue.record("refused")
            return
        }
    }

    @Test("A code that was made anew or taken back since its PIN was proven takes its invitation nowhere")
    func aCodeThatIsNoneAnyMoreMergesNothing() async throws {
        for isMadeAnew in [true, false] {
            let invited = try await self.invited()
            let (server, account) = (invited.server, invited.provisional.id)
            let (session, prepared) = try await self.begin(invited)
            if isMadeAnew {
                _ = try await server.engine.identities.offers.offerOnPage(
                    accountID: account, pin: "604817", isAnew: true, source: "a")
            } else {
                let audit = AuditEvent(.init(rawValue: "activation-withdrawn"), at: server.clock.now)
                #expect(
                    try await server.database.withdrawOffer(
                        id: invited.offer.id, accountID: account, audit: audit))
            }
            await #expect(throws: IdentityProblem(.mergeConflict), "made anew: \(isMadeAnew)") { () async throws in
                _ = try await invited.phone.finish(session, prepared)
            }
            #expect(try await server.database.account(id: account) != nil)
            #expect(try await server.database.invite(invited.offer.id)?.state == .open)
            #expect(try await server.database.additionalEmails(accountID: invited.account.id).isEmpty)
            #expect(try await server.lockout(of: invited.phone)?.failuresInARow == 0, "the factors were right")
        }
    }

    @Test("A proof whose time is over before the factors are judged merges nothing, and a new proof does")
    func aProofCountsForItsTime() async throws {
        let invited = try await self.invited()
        let (server, phone) = (invited.server, invited.phone)
        let proven = try await server.prove(invited.offer, by: phone)
        let until = try #require(try await server.database.offer(id: invited.offer.id)?.tokenUntil)
        server.clock.advance(until - server.clock.now - .seconds(1))
        let begun = try await phone.access(
            AccessRequest(purpose: .merge, token: proven.token, invitation: invited.offer.id))
        _ = try await phone.start(begun.session, claim: begun.claim)
        let prepared = try await phone.prepared(begun.session)
        server.clock.advance(.seconds(1))
        await #expect(throws: IdentityProblem(.mergeConflict)) { () async throws in
            _ = try await phone.finish(begun.session, prepared)
        }
        #expect(try await server.database.invite(invited.offer.id)?.state == .open)
        #expect(try await server.lockout(of: phone)?.failuresInARow == 0, "the factors were right")
        let (again, ready) = try await self.begin(invited)
        guard case .accepted = try await phone.finish(again, ready) else {
            Issue.record("refused")
            return
        }
        #expect(try await server.database.invite(invited.offer.id)?.state == .accepted)
    }

    @Test("A PIN that was proven before its account was locked begins no merge")
    func aProofIsNoneOnceItsAccountIsLocked() async throws {
        let invited = try await self.invited()
        let proven = try await invited.server.prove(invited.offer, by: invited.phone)
        _ = try await invited.server.database.setAccountLocked(
            true, id: invited.provisional.id,
            audit: AuditEvent(.init(rawValue: "account-locked"), at: invited.server.clock.now))
        await #expect(throws: IdentityProblem(.activationDisabled)) { () async throws in
            _ = try await invited.phone.access(
                AccessRequest(purpose: .merge, token: proven.token, invitation: invited.offer.id))
        }
    }

    @Test("A page makes codes of an invitation while it is open: what came of it is its person's, and gets none by it")
    func codesOfAnInvitationEndWithIt() async throws {
        let invited = try await self.invited()
        let (server, account) = (invited.server, invited.provisional.id)
        let offers = server.engine.identities.offers
        func make() async throws -> ActivationOffer {
            try await offers.offerOnPage(accountID: account, pin: "604817", isAnew: true, source: "a")
        }
        let phone = IdentityPhone(server, id: invited.offer.id, factors: [.device, .pin])
        let proven = try await server.prove(invited.offer, by: phone)
        let call = try await server.enrolCall(phone, proven)
        #expect(try await server.engine.identities.enrolments.enroll(invited.offer.id, call).refusal == nil)
        #expect(try await server.database.invite(invited.offer.id)?.state == .accepted)
        await #expect(throws: CeremonyError(.conflict)) { () async throws in _ = try await make() }
        #expect(try await server.database.offers(accountID: account, at: server.clock.now).isEmpty)
        #expect(try await server.database.activations(accountID: account).map(\.device.id) == [phone.id])

        let late = try await self.invited()
        #expect(
            try await late.server.engine.identities.offers.offerOnPage(
                accountID: late.provisional.id, pin: "604817", isAnew: true, source: "a"
            ).id == late.offer.id, "while it is open there is one, by the invitation's name")
        late.server.clock.advance(.seconds(86_400))
        await #expect(throws: CeremonyError(.conflict)) { () async throws in
            _ = try await late.server.engine.identities.offers.offerOnPage(
                accountID: late.provisional.id, pin: "604817", isAnew: true, source: "a")
        }
    }

    @Test("The invitation's PIN and the factors of the person's own account are both needed")
    func bothHaveToBeProven() async throws {
        let invited = try await self.invited()
        let (server, phone) = (invited.server, invited.phone)
        for request in [
            AccessRequest(purpose: .merge),
            AccessRequest(purpose: .merge, token: SecretBytes([UInt8](repeating: 1, count: 32))),
        ] {
            await #expect(throws: IdentityProblem(.invalidRequest)) { () async throws in
                _ = try await phone.access(request)
            }
        }
        await #expect(throws: IdentityProblem(.notProven)) { () async throws in
            _ = try await phone.access(
                AccessRequest(
                    purpose: .merge, token: SecretBytes([UInt8](repeating: 1, count: 32)),
                    invitation: invited.offer.id))
        }
        let proven = try await server.prove(invited.offer, by: phone)
        await #expect(throws: IdentityProblem(.notProven), "with another token than the PIN's") { () async throws in
            _ = try await phone.access(
                AccessRequest(
                    purpose: .merge, token: SecretBytes([UInt8](repeating: 1, count: 32)),
                    invitation: invited.offer.id))
        }
        let begun = try await phone.access(
            AccessRequest(purpose: .merge, token: proven.token, invitation: invited.offer.id))
        _ = try await phone.start(begun.session, claim: begun.claim)
        _ = try await phone.miss(begun.session, try await phone.prepared(begun.session))
        #expect(try await server.database.account(id: invited.provisional.id) != nil)
        #expect(try await server.database.invite(invited.offer.id)?.state == .open)
    }

    @Test("Whoever has the token of another's proof takes no invitation with it, and its person still can")
    func aTokenIsItsDevices() async throws {
        let invited = try await self.invited()
        let server = invited.server
        let (_, thief) = try await server.personalise("mallory")
        let proven = try await server.prove(invited.offer, by: invited.phone)
        let request = AccessRequest(purpose: .merge, token: proven.token, invitation: invited.offer.id)
        await #expect(throws: IdentityProblem(.notProven)) { () async throws in _ = try await thief.access(request) }
        let begun = try await invited.phone.access(request)
        _ = try await invited.phone.start(begun.session, claim: begun.claim)
        guard
            case .accepted = try await invited.phone.finish(
                begun.session, try await invited.phone.prepared(begun.session))
        else {
            Issue.record("refused")
            return
        }
        #expect(try await server.database.invite(invited.offer.id)?.acceptedBy == invited.account.id)
    }

    @Test("An account that no invitation has made goes into no other")
    func anAccountThatIsNoInvitationsGoesIntoNone() async throws {
        let invited = try await self.invited()
        let server = invited.server
        let (bob, _) = try await server.personalise("bob")
        let offer = try await server.offer(to: bob)
        let proven = try await server.prove(offer, by: invited.phone)
        #expect(!proven.mayMerge)
        await #expect(throws: IdentityProblem(.mergeConflict)) { () async throws in
            _ = try await invited.phone.access(
                AccessRequest(purpose: .merge, token: proven.token, invitation: offer.id))
        }
    }
}
