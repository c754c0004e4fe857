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
import SQLiteStore
import Store
import Testing
import UAF
import UAFClient
import _Primitives

@Suite("Decision 62: nothing secret of a personalised identity is in a log, a trace, an error or an open file")
struct IdentityLeakTests {
    private static let pins = (code: "25803691470258", own: "70413962508417", new: "39174260851936")

    /// Looks for what nobody may read in everything that was written so far.
    private struct Search: Sendable {
        let stage: IdentityStage
        let secrets = SecretsSeen()
        /// Names of keys, which servers and their trails have as they are, also of those that are gone by now.
        private let keyNames = SecretsSeen()

        /// Members of answers that open something, or show of what a digest is.
        private static let secretMembers: Set<String> = ["claim", "salts", "token"]

        init(_ stage: IdentityStage) {
            self.stage = stage
            for pin in [IdentityLeakTests.pins.code, IdentityLeakTests.pins.own, IdentityLeakTests.pins.new] {
                self.secrets.note(pin, as: "PIN")
            }
            for value in [IdentityStage.values.given, IdentityStage.values.home, IdentityStage.values.work] {
                self.secrets.note(value, as: "value")
            }
        }

        /// A code, and its secret alone.
        func note(code: String) {
            self.secrets.note(code, as: "code")
            self.secrets.note(String(code.split(separator: "~").last ?? ""), as: "secret of a code")
        }

        private func noteTraffic() {
            for exchange in self.stage.traffic.exchanges {
                if let proof = exchange.proof { self.secrets.note(proof, as: "proof") }
                if case .object(let body)? = try? JSON(parsing: exchange.request) {
                    if let claim = try? body.string("claim") { self.secrets.note(claim, as: "claim") }
                }
                // What nobody has proved anything for, anybody may know.
                guard exchange.proof != nil || exchange.path.hasPrefix("/identity/activations/") else { continue }
                let answer = String(decoding: exchange.answer, as: UTF8.self)
                self.secrets.note(answer, as: "answer")
                // As a whole it is in no log: but what it gives may be, alone.
                let parts = answer.split(separator: ".")
                guard parts.count == 3, let payload = Base64URL.decode(parts[1]), let json = try? JSON(parsing: payload)
                else { continue }
                self.note(secretsOf: json)
            }
        }

        private func note(secretsOf json: JSON, as secret: String? = nil) {
            switch json {
            case .object(let object):
                for (name, value) in object.members {
                    self.note(secretsOf: value, as: secret ?? (Self.secretMembers.contains(name) ? name : nil))
                }
            case .array(let values): for value in values { self.note(secretsOf: value, as: secret) }
            case .string(let text): if let secret { self.secrets.note(text, as: "\(secret) of an answer") }
            default: break
            }
        }

        /// What phones drew for secrets and for nonces; names of keys are drawn, too, and are none.
        private func noteDraws() async throws {
            if let account = try await self.stage.server.database.account(username: "alice") {
                for key in try await self.stage.server.database.credentials(accountID: account.id) {
                    self.keyNames.note(Base64URL.encode(key.keyID), as: "key")
                }
            }
            let open = self.keyNames.values
            for bytes in self.stage.drawn.all where bytes.count >= 32 {
                let text = Base64URL.encode(bytes)
                if open[text] == nil { self.secrets.note(text, as: "draw") }
            }
        }

        func run(_ moment: String) async throws {
            self.noteTraffic()
            try await self.noteDraws()
            let finder = SecretFinder(self.secrets)
            for folder in [self.stage.folder, self.stage.server.folder] {
                for file in try FileManager.default.subpathsOfDirectory(atPath: folder) {
                    guard let bytes = FileManager.default.contents(atPath: "\(folder)/\(file)") else { continue }
                    let found = finder.names(in: Array(bytes))
                    #expect(found.isEmpty, "\(moment): \(file) has \(found.sorted())")
                }
            }
            for line in self.stage.lines.all {
                let found = finder.names(in: Array(line.utf8))
                #expect(found.isEmpty, "\(moment): the log has \(found.sorted()): \(line)")
            }
        }
    }

    /// An activation, with a wrong PIN first.
    private func personalise(_ search: Search) async throws -> StagePhone {
        let phone = try await search.stage.phone()
        let offer = try await search.stage.offer(pin: Self.pins.code)
        search.note(code: offer.code)
        await #expect(throws: CountersignError.self) { () async throws in
            _ = try await phone.open(offer.code, pin: Self.pins.own)
        }
        try await search.run("a wrong PIN of the activation")
        search.stage.server.clock.advance(by: .seconds(60))
        try await phone.personalize(offer.code, pin: Self.pins.code)
        try await search.run("personalised")
        return phone
    }

    /// What an authentication for a purpose of the app's own permits.
    private func permitted(
        _ phone: StagePhone, pin: String = IdentityLeakTests.pins.code, _ data: AuthenticationInitializationData
    ) async throws -> AuthenticationResult {
        let result = try await phone.authenticate(data, pin: pin)
        if case .lockout = result { Issue.record("refused") }
        return result
    }

    @Test("an activation and a sign-in with a chosen and a typed value, each after a wrong PIN, up to the claims")
    func signIn() async throws {
        try await IdentityStage.run { stage async throws in
            let search = Search(stage)
            let phone = try await self.personalise(search)
            let browser = TestBrowser(stage.client)
            let (code, request) = try await stage.code(in: browser)
            search.note(code: code)
            guard case .authentication(let data) = try phone.sdk.common.parseProcessInitializationData(code) else {
                throw OtherProcess()
            }
            let info = try await phone.prepare(data)
            try await search.run("prepared")
            guard case .lockout = try await phone.finish(info, pin: Self.pins.own) else {
                Issue.record("a wrong PIN was taken")
                return
            }
            try await search.run("a wrong PIN")
            stage.server.clock.advance(by: .seconds(60))
            guard case .userLogin = try await phone.finish(info, pin: Self.pins.code) else {
                Issue.record("not signed in")
                return
            }
            try await search.run("signed in")
            let completed = try await browser.get("/sign-in/complete?request=\(request)")
            let authorization = try #require(completed.redirectParameters["code"])
            search.secrets.note(authorization, as: "authorization code")
            let tokens = try await stage.party.exchange(authorization, stage.client)
            let access = try tokens.object.requiredString("access_token")
            search.secrets.note(access, as: "access token")
            let claims = try await stage.client.send(
                .get, "/oauth2/userinfo", headers: [.authorization: "Bearer \(access)"]
            ).object
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
            let search = Search(stage)
            let phone = try await self.personalise(search)
            let (personalizer, server) = (phone.sdk.personalizer, IdentityStage.issuer)

            let change = try await personalizer.startChangePin(idmIdentifier: server)
            guard case .apiAccessChangePin(let changing) = try await self.permitted(phone, change) else { return }
            #expect(changing.pinSpec.setPin(Self.pins.new) == .valid)
            try await personalizer.finishChangePin(request: changing)
            try await search.run("changed the PIN")

            let pin = Self.pins.new
            let add = try await personalizer.startAddAuthenticationFactor(server)
            guard case .apiAccessAddFactor(let adding) = try await self.permitted(phone, pin: pin, add) else { return }
            phone.sensor.feel(.match)
            adding.setFactor(try await phone.sdk.biometrics.factorForEnrolment())
            try await personalizer.finishAddAuthenticationFactor(request: adding)
            try await search.run("added a finger")

            let new = try await personalizer.startRequestNewActivationData(idmIdentifier: server)
            guard
                case .apiAccessRequestNewActivationData(let offering) = try await self.permitted(phone, pin: pin, new)
            else { return }
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
            guard case .apiAccessDelete(let deletion) = try await self.permitted(phone, pin: pin, end) else { return }
            try await personalizer.finishDeletion(request: deletion)
            try await search.run("deleted")
            #expect(search.secrets.names.isSuperset(of: ["draw", "claim of an answer"]))
            #expect(try personalizer.personalizedIdentities.isEmpty)
        }
    }
}
