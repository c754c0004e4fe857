import Ceremony
import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFClient
import _Primitives

@Suite("Personalization (decision 65)") struct PersonalizationTests {
    @Test("an app gets an identity with the device and the PIN, and a finger where it is wanted")
    func factors() async throws {
        for withFinger in [false, true] {
            let phone = try await VirtualIdentityPhone.personalized(withFinger: withFinger)
            let identity = try phone.sdk.personalizer.personalizedIdentities[0]
            #expect(identity.idmIdentifier == "https://id.example")
            #expect(identity.enrolledFactors == (withFinger ? [.device, .pin, .biometric] : [.device, .pin]))
            #expect(await phone.server.activeActivations == [identity.activation])
            #expect(try await phone.authenticate(try await phone.data()).isUserLogin)
        }
    }

    @Test("a wrong PIN is a lockout, and the right one enrols after the rest") func wrongPin() async throws {
        let phone = try await VirtualIdentityPhone(server: VirtualIdentityServer())
        let code = try await phone.server.activationCode(pin: "824193")
        let error = await #expect(throws: CountersignLockoutError.self) {
            _ = try await phone.open(code, pin: "824194")
        }
        #expect(error?.information.isPermanent == false)
        #expect(error.map { $0.information.lockedUntil > $0.information.serverTime } == true)
        // During the rest nothing is judged.
        #expect(await identityError { _ = try await phone.open(code, pin: "824193") } == .lockedOut)
        phone.clock.advance(by: .seconds(6))
        let personalization = try await phone.newIdentity(code)
        personalization.alias = "My phone"
        let identity = try await phone.sdk.personalizer.finishPersonalization(request: personalization)
        #expect(identity.alias == "My phone")
        #expect(await identityError { _ = try await phone.open(code, pin: "824193") } == .activationDataConsumed)
    }

    @Test("a code that the server has forgotten was used, or its time is over: nobody's identity is the matter")
    func forgottenCode() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let code = try await phone.server.activationCode(pin: "824193")
        await phone.server.refuseNext(IdentityProblem(.activationUnknown))
        #expect(await identityError { _ = try await phone.open(code, pin: "824193") } == .activationDataConsumed)
        phone.clock.advance(by: .seconds(601))
        await phone.server.refuseNext(IdentityProblem(.activationUnknown))
        #expect(await identityError { _ = try await phone.open(code, pin: "824193") } == .activationDataExpired)
    }

    @Test("where the answers are lost the identity is there after the next try, once") func lostAnswers() async throws {
        let phone = try await VirtualIdentityPhone(server: VirtualIdentityServer())
        let personalization = try await phone.newIdentity()
        await phone.server.loseAnswers(2)
        let lost = await identityError {
            try await phone.sdk.personalizer.finishPersonalization(request: personalization)
        }
        #expect(lost == .timeout)
        #expect(try phone.sdk.personalizer.personalizedIdentities.isEmpty)
        // Killed now, the app finds its identity at its next start; otherwise by the next try.
        let restarted = try await phone.restarted()
        #expect(try restarted.sdk.personalizer.personalizedIdentities.count == 1)
        #expect(try await restarted.authenticate(try await restarted.data()).isUserLogin)
        let identity = try await phone.sdk.personalizer.finishPersonalization(request: personalization)
        #expect(await phone.server.activeActivations == [identity.activation])
    }

    @Test("as long as nobody can say what has become of an enrolment, another try makes no other keys")
    func repeatedWithoutAnAnswer() async throws {
        let phone = try await VirtualIdentityPhone(server: VirtualIdentityServer())
        let personalization = try await phone.newIdentity()
        let finish: () async throws -> Void = {
            try await phone.sdk.personalizer.finishPersonalization(request: personalization)
        }
        // The enrolment is lost with its repetition, and so are the question of the next try and what it sends again.
        await phone.server.loseAnswers(6)
        #expect(await identityError(finish) == .timeout)
        #expect(await identityError(finish) == .timeout)
        #expect(await identityError(finish) == nil)
        #expect(await phone.server.activeActivations == [try phone.activation])
        #expect(try await phone.authenticate(try await phone.data()).isUserLogin)
    }

    @Test("two calls at once make one identity, and it answers") func doubled() async throws {
        let phone = try await VirtualIdentityPhone(server: VirtualIdentityServer())
        let personalization = try await phone.newIdentity()
        let personalizer = phone.sdk.personalizer
        async let first = personalizer.finishPersonalization(request: personalization)
        async let second = personalizer.finishPersonalization(request: personalization)
        let activations = try await [first.activation, second.activation]
        #expect(Set(activations).count == 1)
        #expect(await phone.server.activeActivations == [try phone.activation])
        #expect(try await phone.authenticate(try await phone.data()).isUserLogin)
    }

    @Test("where the repetition of an enrolment is refused, the server is asked before the keys are given up")
    func refusedRepetition() async throws {
        let phone = try await VirtualIdentityPhone(server: VirtualIdentityServer())
        let personalization = try await phone.newIdentity()
        await phone.server.loseAnswers(1)
        await phone.server.refuseRepetition(IdentityProblem(.activationDataConsumed))
        let identity = try await phone.sdk.personalizer.finishPersonalization(request: personalization)
        #expect(await phone.server.activeActivations == [identity.activation])
        #expect(try await phone.authenticate(try await phone.data()).isUserLogin)
    }

    @Test("as long as an enrolment may be on its way its keys are kept, and they answer where it arrives")
    func lateArrival() async throws {
        let phone = try await VirtualIdentityPhone(server: VirtualIdentityServer())
        let personalization = try await phone.newIdentity()
        let finish: () async throws -> Void = {
            try await phone.sdk.personalizer.finishPersonalization(request: personalization)
        }
        // The enrolment with its repetition.
        await phone.server.holdBack(2)
        #expect(await identityError(finish) == .timeout)
        // The server has nothing, and says so, up to the end of the proof and of what an exchange may take.
        phone.clock.advance(by: .seconds(59))
        let restarted = try await phone.restarted()
        #expect(try restarted.sdk.personalizer.personalizedIdentities.isEmpty)
        try await phone.server.deliver()
        let found = try await restarted.restarted()
        #expect(await found.server.activeActivations == [try found.activation])
        #expect(try await found.authenticate(try await found.data()).isUserLogin)
    }

    @Test("what waits for its receipt longer than anything can be on its way is forgotten", arguments: [85, 86])
    func neverAny(_ seconds: Int) async throws {
        let phone = try await VirtualIdentityPhone(server: VirtualIdentityServer())
        let personalization = try await phone.newIdentity()
        await phone.server.holdBack(2)
        #expect(
            await identityError {
                try await phone.sdk.personalizer.finishPersonalization(request: personalization)
            } == .timeout)
        phone.clock.advance(by: .seconds(seconds))
        let restarted = try await phone.restarted()
        #expect(try self.identities(restarted) == (seconds > 85 ? 0 : 1))
    }

    /// How many identities a phone keeps, those among them that wait for their receipt.
    private func identities(_ phone: VirtualIdentityPhone) throws -> Int {
        try self.kept("identities", in: "identity-identities", by: phone).count
    }

    @Test("an enrolment that did not arrive is sent again at once, with the same keys")
    func sentAgain() async throws {
        let phone = try await VirtualIdentityPhone(server: VirtualIdentityServer())
        let personalization = try await phone.newIdentity()
        let finish: () async throws -> Void = {
            try await phone.sdk.personalizer.finishPersonalization(request: personalization)
        }
        await phone.server.holdBack(2)
        #expect(await identityError(finish) == .timeout)
        #expect(await identityError(finish) == nil)
        let identity = try phone.activation
        // What comes late changes nothing.
        try await phone.server.deliver()
        #expect(await phone.server.activeActivations == [identity])
        #expect(try await phone.authenticate(try await phone.data()).isUserLogin)
        #expect(try self.identities(phone) == 1)
    }

    @Test("an enrolment that is on its way is kept, whatever is said to its repetition")
    func refusedAgain() async throws {
        let phone = try await VirtualIdentityPhone(server: VirtualIdentityServer())
        let personalization = try await phone.newIdentity()
        let finish: () async throws -> Void = {
            try await phone.sdk.personalizer.finishPersonalization(request: personalization)
        }
        await phone.server.holdBack(2)
        #expect(await identityError(finish) == .timeout)
        // What asks for the receipt is answered, and the repetition is not carried out.
        await phone.server.letPass(1)
        await phone.server.refuseNext(IdentityProblem(.tooManyRequests))
        #expect(await identityError(finish) == .tooManyRequests)
        try await phone.server.deliver()
        let restarted = try await phone.restarted()
        let identities = try restarted.sdk.personalizer.personalizedIdentities
        try #require(identities.count == 1)
        #expect(await phone.server.activeActivations == identities.map(\.activation))
        #expect(try await restarted.authenticate(try await restarted.data()).isUserLogin)
    }

    @Test("where the app was ended after a lost enrolment, the code opened again enrols at once") func openedAgain()
        async throws
    {
        let phone = try await VirtualIdentityPhone(server: VirtualIdentityServer())
        let code = try await phone.server.activationCode(pin: VirtualIdentityPhone.pin)
        let lost = try await phone.newIdentity(code)
        await phone.server.holdBack(2)
        #expect(
            await identityError { try await phone.sdk.personalizer.finishPersonalization(request: lost) } == .timeout)
        let restarted = try await phone.restarted()
        #expect(try self.identities(restarted) == 1)
        try await restarted.personalize(code, pin: VirtualIdentityPhone.pin)
        // What was on its way opens nothing any more.
        try await phone.server.deliver()
        #expect(try self.identities(restarted) == 1)
        #expect(try await restarted.authenticate(try await restarted.data()).isUserLogin)
    }

    @Test("an identity whose device's keys are gone is no obstacle: neither one that waits nor one that ends")
    func lostKeys() async throws {
        let keys = VerifyingKeys()
        let phone = try await VirtualIdentityPhone(server: VirtualIdentityServer(), keys: keys)
        let personalization = try await phone.newIdentity()
        let personalizer = phone.sdk.personalizer
        await phone.server.loseAnswers(2)
        #expect(
            await identityError { try await personalizer.finishPersonalization(request: personalization) } == .timeout)
        keys.lose()
        try await phone.personalize()
        #expect(await phone.server.activeActivations.count == 2)
        // The server does not hear of the end, and never will.
        await phone.server.goDown(true)
        try await personalizer.depersonalizeIdentityManager(idmIdentifier: "https://id.example")
        await phone.server.goDown(false)
        keys.lose()
        try await phone.personalize()
        #expect(try await phone.authenticate(try await phone.data()).isUserLogin)
        #expect(try self.identities(phone) == 1)
    }

    @Test("what never reached the server leaves nothing, and the code is still good") func neverArrived() async throws {
        let phone = try await VirtualIdentityPhone(server: VirtualIdentityServer())
        let personalization = try await phone.newIdentity()
        await phone.server.goDown(true)
        let failed = await identityError {
            try await phone.sdk.personalizer.finishPersonalization(request: personalization)
        }
        #expect(failed == .connectionError)
        await phone.server.goDown(false)
        // Once nothing can be on its way any more.
        phone.clock.advance(by: .seconds(120))
        try await phone.sdk.personalizer.finishPersonalization(request: personalization)
        #expect(try phone.sdk.personalizer.personalizedIdentities.count == 1)
        #expect(await phone.server.activeActivations.count == 1)
    }

    /// Opens an activation with a PIN that nobody else holds.
    private func opened(_ phone: VirtualIdentityPhone, _ pin: inout WeakPin) async throws -> Personalization {
        let code = try await phone.server.activationCode(pin: VirtualIdentityPhone.pin)
        let typed = SecretBytes(utf8: VirtualIdentityPhone.pin)
        pin.bytes = typed
        guard
            case .newPersonalization(let personalization) =
                try await phone.sdk.personalizer.decryptPersonalizationInitializationData(
                    data: try phone.sdk.common.parseProcessInitializationData(code).personalizationData, pin: typed)
        else { throw WrongCode() }
        return personalization
    }

    @Test("the PIN is kept for as long as an identity may be made with it, and no longer") func forgottenPin()
        async throws
    {
        let phone = try await VirtualIdentityPhone(server: VirtualIdentityServer())
        let personalizer = phone.sdk.personalizer
        var pin = WeakPin()
        let lost = try await self.opened(phone, &pin)
        let finish: () async throws -> Void = { try await personalizer.finishPersonalization(request: lost) }
        await phone.server.holdBack(2)
        #expect(await identityError(finish) == .timeout)
        #expect(pin.isKept)
        #expect(await identityError(finish) == nil)
        #expect(!pin.isKept)
        // It is the same identity, without the PIN.
        #expect(await identityError(finish) == nil)
        // Once that is gone nothing more comes of its code.
        try await personalizer.depersonalizeIdentityManager(idmIdentifier: "https://id.example")
        #expect(await identityError(finish) == .activationDataConsumed)

        for (problem, isKept) in [
            (IdentityProblem(.activationDataExpired), false), (IdentityProblem(.activationDataConsumed), false),
            (IdentityProblem(.activationUnknown), false), (IdentityProblem(.tooManyRequests), true),
        ] {
            let phone = try await VirtualIdentityPhone(server: VirtualIdentityServer())
            let refused = try await self.opened(phone, &pin)
            await phone.server.refuseNext(problem)
            #expect(
                await identityError {
                    try await phone.sdk.personalizer.finishPersonalization(request: refused)
                } != nil)
            #expect(pin.isKept == isKept, "\(problem.code)")
            withExtendedLifetime(refused) {}
        }
        withExtendedLifetime(lost) {}
    }

    @Test("a code that another identity was in the way of is good once that one is taken away") func unusedCode()
        async throws
    {
        let phone = try await VirtualIdentityPhone(server: VirtualIdentityServer())
        let personalizer = phone.sdk.personalizer
        let second = try await phone.newIdentity(pin: "135802")
        try await phone.personalize()
        let finish: () async throws -> Void = { try await personalizer.finishPersonalization(request: second) }
        #expect(await identityError(finish) == .alreadyPersonalized)
        try await personalizer.depersonalizeIdentityManager(idmIdentifier: "https://id.example")
        #expect(await identityError(finish) == nil)
        #expect(try await phone.authenticate(try await phone.data(), pin: "135802").isUserLogin)
    }

    @Test("a device has one identity of a server: a second is told, and an invitation is merged") func second()
        async throws
    {
        let phone = try await VirtualIdentityPhone.personalized()
        guard
            case .alreadyPersonalized(idmIdentifier: "https://id.example") = try await phone.open(
                try await phone.server.activationCode(pin: "135802"), pin: "135802"),
            case .mergePersonalization("https://id.example", let data) = try await phone.open(
                try await phone.server.activationCode(pin: "135802", mayMerge: true), pin: "135802")
        else {
            Issue.record("another identity")
            return
        }
        let info = try await phone.prepare(try await phone.sdk.authenticator.startAuthentication(data: data))
        guard case .apiAccessMergeComplete(idmIdentifier: "https://id.example") = try await phone.finishByPin(info)
        else {
            Issue.record("no merge")
            return
        }
    }

    @Test("an identity that ends takes its own keys with it, and not those of the one that followed") func ownKeys()
        async throws
    {
        let phone = try await VirtualIdentityPhone.personalized()
        let personalizer = phone.sdk.personalizer
        // The server does not hear of the end yet: neither now nor while the app is personalised again.
        await phone.server.refuseNext(IdentityProblem(.tooManyRequests))
        try await personalizer.depersonalizeIdentityManager(idmIdentifier: "https://id.example")
        let code = try await phone.server.activationCode(pin: VirtualIdentityPhone.pin)
        await phone.server.refuseNext(IdentityProblem(.tooManyRequests))
        let following = try await phone.newIdentity(code)
        await phone.server.refuseNext(IdentityProblem(.tooManyRequests))
        try await personalizer.finishPersonalization(request: following)
        #expect(await phone.server.activeActivations.count == 2)
        // It hears of it as the app starts.
        let restarted = try await phone.restarted()
        #expect(await phone.server.activeActivations.count == 1)
        #expect(try await restarted.authenticate(try await restarted.data()).isUserLogin)
    }

    /// What a phone keeps as a list, by the name of the value that it is in.
    private func kept(_ list: String, in name: String, by phone: VirtualIdentityPhone) throws -> [JSON] {
        let stored = try #require(phone.storage.snapshot[name])
        guard case .object(let content) = try JSON(parsing: stored) else { throw WrongCode() }
        return try #require(try content.array(list))
    }

    @Test("taken off this device its keys are gone at once, and the server hears of it when it can be reached")
    func depersonalization() async throws {
        let keys = VerifyingKeys()
        let phone = try await VirtualIdentityPhone(server: VirtualIdentityServer(), keys: keys)
        try await phone.personalize()
        #expect(keys.count == 3, "two by which the device speaks for itself, and one of its factor")
        await phone.server.goDown(true)
        try await phone.sdk.personalizer.depersonalizeIdentityManager(idmIdentifier: "https://id.example")
        #expect(try phone.sdk.personalizer.personalizedIdentities.isEmpty)
        #expect(await phone.server.activeActivations.count == 1)
        let again = await identityError {
            try await phone.sdk.personalizer.depersonalizeIdentityManager(idmIdentifier: "https://id.example")
        }
        #expect(again == .notPersonalized)
        // What tells the server is left, and nothing of the factors.
        #expect(keys.count == 2)
        #expect(try self.kept("keys", in: "identity-authenticators", by: phone).isEmpty)
        guard case .object(let ending)? = try self.kept("identities", in: "identity-identities", by: phone).first else {
            Issue.record("nothing tells the server")
            return
        }
        #expect(try ending.string("state") == "ending")
        #expect(try ending.array("keys")?.isEmpty == true)
        #expect(ending["pin"] == nil && ending["device"] != nil)
        await phone.server.goDown(false)
        let restarted = try await VirtualIdentityPhone(
            server: phone.server, storage: InMemoryStorage(phone.storage.snapshot), clock: phone.clock, keys: keys)
        #expect(await phone.server.activeActivations.isEmpty)
        #expect(keys.count == 0)
        #expect(try self.identities(restarted) == 0)
        try await restarted.personalize()
    }

    @Test("nothing that is stored holds the PIN, and what a later version has written stays")
    func storage() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        #expect(!phone.storage.snapshot.isEmpty)
        for (name, value) in phone.storage.snapshot {
            #expect(name.hasPrefix("identity-"))
            #expect(!String(decoding: value, as: UTF8.self).contains(VirtualIdentityPhone.pin), "\(name)")
        }
        var values = phone.storage.snapshot
        values["identity-identities"] = Array(#"{"version":2}"#.utf8)
        let later = values
        #expect(
            await identityError {
                _ = try await VirtualIdentityPhone(server: phone.server, storage: InMemoryStorage(later))
            } == .storageNewer)
        values["identity-identities"] = Array(#"{"version":1,"identities":[{}]}"#.utf8)
        let damaged = values
        #expect(
            await identityError {
                _ = try await VirtualIdentityPhone(server: phone.server, storage: InMemoryStorage(damaged))
            } == .storageCorrupt)
    }
}
