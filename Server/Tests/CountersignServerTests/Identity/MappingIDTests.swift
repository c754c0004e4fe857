import Accounts
import CeremonyEngine
import CountersignServer
import Foundation
import Hummingbird
import HummingbirdTesting
import Records
import Testing
import _Primitives

@Suite("What a service calls a person, against a whole server")
struct MappingIDTests {
    private static let profile: JSONObject = ["roles": .array([.resident])]

    /// Signs a phone's person in at a service, in a browser of its own: what ID token and userinfo call them there.
    private func subject(
        at party: RelyingParty, by phone: String, pin: String, _ fixture: TerminalPhoneFixture
    ) async throws -> String {
        let browser = TestBrowser(fixture.client)
        let (request, outcome) = try await fixture.signIn(lines: [pin], named: phone, at: party, in: browser)
        #expect(outcome.refusal == nil, "\(outcome.lines)")
        let tokens = try await party.complete(request, in: browser).object
        let claims = try AppTokens.claims(try tokens.requiredString("id_token"))
        let told = try await fixture.client.userinfo(try tokens.requiredString("access_token")).object
        let subject = try claims.requiredString("sub")
        #expect(try told.requiredString("sub") == subject)
        return subject
    }

    @Test("Each service has a name of its own for each person, on whichever device and however often they sign in")
    func perService() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            let (bank, hall) = (fixture.party, try await fixture.server.service(Self.profile))
            _ = try await fixture.server.assembly.identities.setService(bank.id, to: Self.profile, by: "test")
            #expect(try await fixture.enroll().refusal == nil)
            let atBank = try await self.subject(at: bank, by: "", pin: "258036", fixture)
            let atHall = try await self.subject(at: hall, by: "", pin: "258036", fixture)
            #expect(atBank != atHall)
            #expect(try await self.subject(at: bank, by: "", pin: "258036", fixture) == atBank)

            let code = try await fixture.newActivation(name: "Tablet", isMailed: false)
            #expect(try await fixture.enroll(code, pins: ["604817"], named: "-second").refusal == nil)
            #expect(try await self.subject(at: bank, by: "-second", pin: "604817", fixture) == atBank)
            #expect(try await self.subject(at: hall, by: "-second", pin: "604817", fixture) == atHall)

            _ = try await fixture.server.assembly.directory.create(username: "bob", displayName: nil, by: "test")
            let offer = try await fixture.server.offer(to: "bob", pin: "391752")
            #expect(try await fixture.enroll(offer.code, pins: ["391752"], named: "-bob").refusal == nil)
            let names = [atBank, atHall, try await self.subject(at: bank, by: "-bob", pin: "391752", fixture)]
            #expect(Set(names).count == 3)
            // Nothing by which two services that compare notes would know that it is one person.
            for name in names { #expect(!name.contains("alice") && !name.contains("bob")) }
        }
    }
}
