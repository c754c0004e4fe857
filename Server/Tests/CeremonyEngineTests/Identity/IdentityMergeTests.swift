import Ceremony
import CeremonyEngine
import Crypto
import Foundation
import SQLiteStore
import Store
import Testing
import UAF
import _Primitives

@Suite("Invitations go into the account that their person has (identity parity, rows 80 to 82)")
struct IdentityMergeTests {
    private struct Invited {
        let server: TestServer
        let account: AccountRecord
        let phone: IdentityPhone
        let provisional: AccountRecord
        let offer: TestOffer
    }

    private func invited() async throws -> Invited {
        let server = try TestServer()
        try await server.addService()
        let (account, phone) = try await server.personalise()
        let provisional = AccountRecord(
            id: RandomSource.system.identifier(), username: nil, displayName: nil, createdAt: server.clock.now)
        let invite = InviteRecord(
            id: RandomSource.system.identifier(), organisation: nil,
            place: InviteRecord.Place(service: TestServer.service, role: "patient"), email: "new@alice.example",
            provisionalAccountID: provisional.id, createdAt: server.clock.now,
            expiresAt: server.clock.now + .seconds(86_400))
        try await server.database.addInvite(
            invite, provisional: provisional, limit: 10, audit: AuditEvent(.inviteAdded, at: server.clock.now))
        let offer = try await server.offer(to: provisional, invite: invite.id)
        return Invited(server: server, account: account, phone: phone, provisional: provisional, offer: offer)
    }

    @Test("rows 80, 81") func theInvitationsAccountGoesIntoTheOther() async throws {
        let invited = try await self.invited()
        let (server, phone) = (invited.server, invited.phone)
        let proven = try await server.prove(invited.offer)
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
        await #expect(throws: IdentityProblem(.activationDataConsumed)) { () async throws in
            _ = try await server.open(invited.offer)
        }
    }

    @Test("row 82") func bothHaveToBeProven() async throws {
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
        let proven = try await server.prove(invited.offer)
        let begun = try await phone.access(
            AccessRequest(purpose: .merge, token: proven.token, invitation: invited.offer.id))
        _ = try await phone.start(begun.session, claim: begun.claim)
        _ = try await phone.miss(begun.session, try await phone.prepared(begun.session))
        #expect(try await server.database.account(id: invited.provisional.id) != nil)
        #expect(try await server.database.invite(invited.offer.id)?.state == .open)
    }

    @Test func anAccountThatIsNoInvitationsGoesIntoNone() async throws {
        let invited = try await self.invited()
        let server = invited.server
        let (bob, _) = try await server.personalise("bob")
        let offer = try await server.offer(to: bob)
        let proven = try await server.prove(offer)
        #expect(!proven.mayMerge)
        await #expect(throws: IdentityProblem(.mergeConflict)) { () async throws in
            _ = try await invited.phone.access(
                AccessRequest(purpose: .merge, token: proven.token, invitation: offer.id))
        }
    }
}
