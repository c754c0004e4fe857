import Accounts
import Ceremony
import CeremonyEngine
import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import HTTPTypes
import HummingbirdTesting
import PersonalInformation
import Records
import SQLStore
import Testing
import UAF
import UAFClient
import _Primitives

@Suite("Decision 62: nothing secret of a personalised identity is in a log, a trace, an error or an open file")
struct IdentityLeakTests {
    private static let pins = LeakSearch.pins

    /// An activation, with a wrong PIN first.
    private func personalise(_ search: LeakSearch) async throws -> StagePhone {
        let phone = try await search.stage.phone()
        let code = try await search.activationCode()
        await #expect(throws: CountersignError.self) { () async throws in
            _ = try await phone.open(code, pin: Self.pins.own)
        }
        try await search.run("a wrong PIN of the activation")
        search.stage.server.clock.advance(by: .seconds(60))
        try await phone.personalize(code, pin: Self.pins.code)
        try await search.run("personalised")
        return phone
    }

    /// What an authentication for a purpose of the app's own permits.
    private func permitted(
        _ phone: StagePhone, pin: String, _ data: AuthenticationInitializationData
    ) async throws -> AuthenticationResult {
        let result = try await phone.authenticate(data, pin: pin)
        if case .lockout = result { Issue.record("refused") }
        return result
    }

    @Test("an activation and a sign-in with a chosen and a typed value, each after a wrong PIN, up to the claims")
    func signIn() async throws {
        try await IdentityStage.run { stage async throws in
            let search = LeakSearch(stage)
            let phone = try await self.personalise(search)
            let browser = TestBrowser(stage.client)
            let (info, request) = try await search.prepared(by: phone, in: browser)
            try await search.run("prepared")
            try await search.finish(info, by: phone)
            try await search.run("signed in")
            let completed = try await browser.get("/sign-in/complete?request=\(request)")
            let authorization = try #require(completed.redirectParameters["code"])
            search.secrets.note(authorization, as: "authorization code")
            let tokens = try await stage.party.exchange(authorization, stage.client)
            let access = try tokens.object.requiredString("access_token")
            search.secrets.note(access, as: "access token")
            let claims = try await stage.client.userinfo(access).object
            #expect(try claims.string("email") == IdentityStage.values.work)
            #expect(try claims.string("given_name") == IdentityStage.values.given)
            try await search.run("the service knows who it is")
            #expect(
                search.secrets.names.isSuperset(of: [
                    "PIN", "value", "code", "secret of a code", "claim", "proof", "answer", "authorization code",
                    "draw", "token of an answer", "salts of an answer",
                ]))
            #expect(stage.lines.all.count >= 10)
        }
    }

    @Test("a changed PIN, a finger, a second phone, an invitation that goes into the account, and the account's end")
    func ownAccount() async throws {
        try await IdentityStage.run { stage async throws in
            let search = LeakSearch(stage)
            let phone = try await self.personalise(search)
            let (personalizer, server) = (phone.sdk.personalizer, IdentityStage.issuer)

            let changing = try await phone.accessToChangePin(pin: Self.pins.code)
            #expect(changing.pinSpec.setPin(Self.pins.new) == .valid)
            try await personalizer.finishChangePin(request: changing)
            try await search.run("changed the PIN")

            let pin = Self.pins.new
            let add = try await personalizer.startAddAuthenticationFactor(server)
            guard case .apiAccessAddFactor(let adding) = try await self.permitted(phone, pin: pin, add) else {
                Issue.record("no factor may be added")
                return
            }
            phone.sensor.feel(.match)
            adding.setFactor(try await phone.sdk.biometrics.factorForEnrolment())
            try await personalizer.finishAddAuthenticationFactor(request: adding)
            try await search.run("added a finger")

            let offering = try await phone.accessToNewActivation(pin: pin)
            #expect(offering.pinSpec.setPin(Self.pins.own) == .valid)
            let code = try await personalizer.finishRequestNewActivationData(offering)
            search.note(code: code)
            try await search.run("offered a second phone")
            try await stage.phone("second").personalize(code, pin: Self.pins.own)
            try await search.run("personalised a second phone")

            let address = "wilhelmine@invited.example"
            search.secrets.note(address, as: "value")
            let invite = try await stage.server.assembly.identities.invite(
                .init(email: address, service: stage.party.id, role: "resident"), by: "test")
            let provisional = try #require(invite.record.provisionalAccountID)
            let offer = try await stage.server.assembly.ceremonies.identities.offers.offer(
                accountID: provisional, pin: Self.pins.own, by: "test")
            search.note(code: offer.code)
            guard case .mergePersonalization(_, let merge) = try await phone.open(offer.code, pin: Self.pins.own),
                case .apiAccessMergeComplete = try await self.permitted(phone, pin: pin, merge.data)
            else {
                Issue.record("not merged")
                return
            }
            try await search.run("merged")

            let end = try await personalizer.startDeletion(idmIdentifier: server)
            guard case .apiAccessDelete(let deletion) = try await self.permitted(phone, pin: pin, end) else {
                Issue.record("nothing may be deleted")
                return
            }
            try await personalizer.finishDeletion(request: deletion)
            try await search.run("deleted")
            #expect(search.secrets.names.isSuperset(of: ["draw", "claim of an answer"]))
            #expect(try personalizer.personalizedIdentities.isEmpty)
        }
    }
}
