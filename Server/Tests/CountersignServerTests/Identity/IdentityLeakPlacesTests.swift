import Accounts
import Ceremony
import CeremonyEngine
import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import OAuthProvider
import Records
import SQLStore
import Settings
import Testing
import UAFClient
import _Primitives

@Suite("Decision 62: nor is it with a PIN service, on pages, in letters, at back ends, and where operators work")
struct IdentityLeakPlacesTests {
    private static let pins = LeakSearch.pins

    /// A phone that is alice's.
    private func personalised(_ search: LeakSearch) async throws -> StagePhone {
        let phone = try await search.stage.phone()
        try await phone.personalize(try await search.activationCode(), pin: Self.pins.code)
        return phone
    }

    /// Sends what is due, as a node does that logs all that it can.
    private func sendMail(_ stage: IdentityStage) async throws -> [OutboxResult] {
        try await stage.server.sendMail(logger: stage.lines.logger)
    }

    /// A link that a letter brings, and its secret alone.
    private func note(link: String, in search: LeakSearch) {
        search.secrets.note(link, as: "link")
        search.secrets.note(String(link.split { "=.#".contains($0) }.last ?? ""), as: "secret of a link")
    }

    @Test("with a PIN service: an activation, a wrong PIN, a right one, and another one")
    func pinService() async throws {
        try await IdentityStage.run(pins: Haul.MasterService()) { stage async throws in
            let search = LeakSearch(stage)
            search.secrets.note(Base64URL.encode(Haul.MasterService.master), as: "secret of the PIN service")
            let phone = try await self.personalised(search)
            try await search.run("personalised")
            try await search.finish(try await search.prepared(by: phone).info, by: phone)
            let change = try await phone.accessToChangePin(pin: Self.pins.code)
            #expect(change.pinSpec.setPin(Self.pins.new) == .valid)
            try await phone.sdk.personalizer.finishChangePin(request: change)
            try await search.run("another PIN")
            #expect(search.secrets.names.isSuperset(of: ["secret of the PIN service", "PIN", "answer", "draw"]))
        }
    }

    @Test("an app that signs its own person in: its code, its back end, and the code once more")
    func inApp() async throws {
        try await IdentityStage.run { stage async throws in
            let search = LeakSearch(stage)
            let party = stage.party
            _ = try await stage.server.assembly.identities.changeService(
                party.id, by: ["inApp": .bool(true)], by: "test")
            search.secrets.note(party.secret, as: "client secret")
            search.secrets.note(party.verifier, as: "verifier")
            let phone = try await self.personalised(search)
            let login = try await phone.serviceLogin(at: party, pin: Self.pins.code)
            try await search.run("the app's person has signed")
            let code = try await phone.sdk.authenticator.fetchAuthorizationCode(login).code
            search.secrets.note(code, as: "authorization code")
            try await search.run("the app has its code")
            let tokens = try await party.exchange(code, stage.client)
            #expect(tokens.response.status == .ok)
            for name in ["access_token", "id_token", "refresh_token"] {
                if let token = try tokens.object.string(name) { search.secrets.note(token, as: name) }
            }
            let access = try tokens.object.requiredString("access_token")
            #expect(try await stage.client.userinfo(access).response.status == .ok)
            try await search.run("the back end knows who it is")
            #expect(try await party.exchange(code, stage.client).response.status == .badRequest)
            try await search.run("the code was used again")
            #expect(search.secrets.names.isSuperset(of: ["authorization code", "access_token", "id_token"]))
        }
    }

    @Test("a code that is mailed, an invitation and its page, and a newcomer's address and page")
    func lettersAndPages() async throws {
        try await IdentityStage.run { stage async throws in
            let search = LeakSearch(stage)
            let (party, identities) = (stage.party, stage.server.assembly.identities)
            // Nobody has verified a newcomer's address yet.
            _ = try await identities.changeService(
                party.id,
                by: [
                    "newcomers": .bool(true),
                    "attributes": .object(["givenName": .string("required"), "email": .string("optional")]),
                ], by: "test")
            try await stage.server.enterAddress()
            let phone = try await self.personalised(search)
            let offering = try await phone.accessToNewActivation(pin: Self.pins.code)
            #expect(offering.pinSpec.setPin(Self.pins.own) == .valid)
            offering.shouldSendEmail = true
            search.note(code: try await phone.sdk.personalizer.finishRequestNewActivationData(offering))
            try await search.run("a letter waits")
            #expect(try await self.sendMail(stage) == [.delivered])
            try await search.run("a letter was sent")

            let invited = "wilhelmine@invited.example"
            search.secrets.note(invited, as: "value")
            let made = try await identities.invite(
                .init(email: invited, service: party.id, role: "resident"), by: "test")
            self.note(link: made.link, in: search)
            #expect(try await self.sendMail(stage) == [.delivered])
            try await self.open("/invitation?link=\(made.link)", in: search)
            try await search.run("an invitation's page shows a code")

            let newcomer = "friederike@newcomer.example"
            search.secrets.note(newcomer, as: "value")
            let browser = TestBrowser(stage.client)
            let (form, fields) = try await stage.server.newcomersPage(browser, party)
            #expect(form.status == .ok)
            let asked = try await browser.post("/sign-in/newcomer", form: "\(fields)&email=\(newcomer)")
            #expect(asked.status == .ok)
            try await search.run("a newcomer has asked")
            #expect(try await self.sendMail(stage) == [.delivered])
            let link = try stage.server.mail.link()
            self.note(link: link, in: search)
            try await self.open(link, in: search)
            try await search.run("a newcomer's page shows a code")
            #expect(search.secrets.names.isSuperset(of: ["link", "secret of a link", "secret of a code", "value"]))
        }
    }

    /// Opens the page of an invitation, and has it make a code.
    private func open(_ address: String, in search: LeakSearch) async throws {
        let browser = TestBrowser(search.stage.client)
        let form = try await browser.get(address)
        #expect(form.status == .ok)
        let pin = Self.pins.own
        // Two that are not the same are told, and stand nowhere either.
        let refused = try await browser.accept(form, pin: pin, again: Self.pins.new)
        #expect(refused.status == .unprocessableContent && !refused.text.contains(pin))
        let page = try await browser.accept(form, pin: pin)
        search.note(code: try page.words(of: "typed-code"))
    }

    @Test("what a person gives up after they have typed, a lockout for good, and what is refused afterwards")
    func ended() async throws {
        var limits = Limits()
        limits.lockoutFailuresInARow = 2
        try await IdentityStage.run(limits: limits) { stage async throws in
            let search = LeakSearch(stage)
            let phone = try await self.personalised(search)
            try await phone.sdk.common.abort(try await search.prepared(by: phone).info)
            try await search.run("given up")

            let info = try await search.prepared(by: phone).info
            for isLast in [false, true] {
                let finished = try await phone.finish(info, pin: Self.pins.own)
                let lockout = try #require(finished.lockout, "a wrong PIN was taken")
                #expect(lockout.isPermanent == isLast)
                try await search.run("wrong, the last time: \(isLast)")
                stage.server.clock.advance(by: .seconds(60))
            }
            await #expect(throws: CountersignError.self) { () async throws in
                _ = try await search.prepared(by: phone)
            }
            try await phone.sdk.personalizer.depersonalizeIdentityManager(idmIdentifier: IdentityStage.issuer)
            try await search.run("locked for good, and taken off the phone")
        }
    }

    @Test("what operators say and are told: values, right and wrong, an activation's PIN and code, an invitation")
    func administration() async throws {
        try await IdentityStage.run { stage async throws in
            let search = LeakSearch(stage)
            let party = stage.party
            let (family, wrong) = ("Meier-Wolkenstein", "wilhelmine at no address")
            for value in [family, wrong] { search.secrets.note(value, as: "value") }
            try await stage.server.withSocketClient(logger: stage.lines.logger) { client in
                let path = "/admin/v1/accounts/alice/attributes"
                func add(_ attribute: String, _ value: String) async throws -> (
                    response: TestResponse, object: JSONObject
                ) {
                    try await client.send(
                        .post, path,
                        ["attribute": .string(attribute), "value": .string(value), "verified": .bool(true)])
                }
                let added = try await add("familyName", family)
                #expect(added.response.status == .created)
                let id = try added.object.requiredString("id")
                let shown = try await client.send(.get, "\(path)/\(id)?values=true")
                #expect(try shown.object.string("value") == family)
                let listed = try await client.send(.get, "\(path)?values=true")
                #expect(listed.response.text.contains(IdentityStage.values.home))
                for attribute in ["email", "birthdate", "phoneNumber", "nationality"] {
                    let refused = try await add(attribute, wrong)
                    #expect((400..<500).contains(refused.response.status.code), "\(attribute)")
                    #expect(!refused.response.text.contains(wrong), "\(attribute)")
                }
                try await search.run("values")

                let offered = try await client.send(
                    .post, "/admin/v1/identity/activations",
                    ["username": .string("alice"), "pin": .string(Self.pins.own)])
                #expect(offered.response.status == .created)
                search.note(code: try offered.object.requiredString("code"))
                let simple = "12345678901234"
                search.secrets.note(simple, as: "PIN")
                let refused = try await client.send(
                    .post, "/admin/v1/identity/activations", ["username": .string("alice"), "pin": .string(simple)])
                #expect(refused.response.status == .unprocessableContent)
                let invited = "wilhelmine@invited.example"
                search.secrets.note(invited, as: "value")
                let made = try await client.send(
                    .post, "/admin/v1/invites",
                    [
                        "email": .string(invited), "service": .string(party.id), "role": .string("resident"),
                    ])
                #expect(made.response.status == .created)
                self.note(link: try made.object.requiredString("link"), in: search)
                try await search.run("an activation and an invitation")
                let removed = try await client.send(.delete, "\(path)/\(id)")
                #expect(removed.response.status == .noContent)
                try await search.run("a value is gone")
            }
            #expect(search.secrets.names.isSuperset(of: ["PIN", "value", "secret of a code", "secret of a link"]))
        }
    }
}
