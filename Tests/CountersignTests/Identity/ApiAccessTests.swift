import Ceremony
import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFClient

@Suite("What an authentication permits (decision 60)") struct ApiAccessTests {
    fileprivate let server = "https://id.example"

    @Test("a finger is added once, and signs from then on") func addFactor() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let personalizer = phone.sdk.personalizer
        let access = try await phone.accessToAddFactor()
        #expect(
            await identityError { try await personalizer.finishAddAuthenticationFactor(request: access) }
                == .factorMissing)
        phone.sensor.feel(.match)
        access.setFactor(try await phone.sdk.biometrics.factorForEnrolment())
        try await personalizer.finishAddAuthenticationFactor(request: access)
        #expect(try personalizer.personalizedIdentities[0].enrolledFactors == [.device, .pin, .biometric])
        #expect(
            await identityError { _ = try await personalizer.startAddAuthenticationFactor(self.server) }
                == .factorAlreadyEnrolled)
        #expect(
            await identityError { _ = try await personalizer.startAddAuthenticationFactor(self.server, type: .otp) }
                == .factorNotSupported)

        #expect(try await phone.restarted().authenticateByFinger().isUserLogin)
    }

    fileprivate func addFinger(_ phone: VirtualIdentityPhone) async throws -> ApiAccessAddFactor {
        let access = try await phone.accessToAddFactor()
        phone.sensor.feel(.match)
        access.setFactor(try await phone.sdk.biometrics.factorForEnrolment())
        return access
    }

    @Test("a finger whose receipt was lost is there once the server can be asked", arguments: [true, false])
    func lostFinger(_ isRestarted: Bool) async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let access = try await self.addFinger(phone)
        // What asks whether there is a finger is answered.
        await phone.server.letPass(1)
        await phone.server.loseAnswers(2)
        let personalizer = phone.sdk.personalizer
        let finish: () async throws -> Void = { try await personalizer.finishAddAuthenticationFactor(request: access) }
        #expect(await identityError(finish) == .timeout)
        #expect(try personalizer.personalizedIdentities[0].enrolledFactors == [.device, .pin])
        // After a restart, or where the app calls it again.
        let found = isRestarted ? try await phone.restarted() : phone
        if !isRestarted { #expect(await identityError(finish) == nil) }
        #expect(try found.sdk.personalizer.personalizedIdentities[0].enrolledFactors == [.device, .pin, .biometric])
        #expect(try await found.authenticateByFinger().isUserLogin)
    }

    @Test("a finger that never arrived, or was refused, leaves nothing, and another can be added")
    func fingerThatNeverArrived() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let access = try await self.addFinger(phone)
        let personalizer = phone.sdk.personalizer
        let finish: () async throws -> Void = { try await personalizer.finishAddAuthenticationFactor(request: access) }
        await phone.server.letPass(1)
        await phone.server.refuseNext(IdentityProblem(.tooManyRequests))
        #expect(await identityError(finish) == .tooManyRequests)
        phone.sensor.feel(.match)
        access.setFactor(try await phone.sdk.biometrics.factorForEnrolment())
        await phone.server.letPass(1)
        await phone.server.holdBack(2)
        #expect(await identityError(finish) == .timeout)
        // Once nothing can be on its way any more.
        phone.clock.advance(by: .seconds(120))
        let restarted = try await phone.restarted()
        #expect(try restarted.sdk.personalizer.personalizedIdentities[0].enrolledFactors == [.device, .pin])
        let again = try await self.addFinger(restarted)
        try await restarted.sdk.personalizer.finishAddAuthenticationFactor(request: again)
        #expect(
            try restarted.sdk.personalizer.personalizedIdentities[0].enrolledFactors == [.device, .pin, .biometric])
    }

    @Test("as long as a finger may be on its way it is kept, and it signs where it arrives") func lateFinger()
        async throws
    {
        let phone = try await VirtualIdentityPhone.personalized()
        let access = try await self.addFinger(phone)
        let personalizer = phone.sdk.personalizer
        let finish: () async throws -> Void = { try await personalizer.finishAddAuthenticationFactor(request: access) }
        // What asks whether there is a finger comes through. Then the finger and its repetition do not.
        await phone.server.letPass(1)
        await phone.server.holdBack(2)
        #expect(await identityError(finish) == .timeout)
        #expect(await identityError(finish) == .connectionError)
        phone.clock.advance(by: .seconds(59))
        let restarted = try await phone.restarted()
        #expect(try restarted.sdk.personalizer.personalizedIdentities[0].enrolledFactors == [.device, .pin])
        try await phone.server.deliver()
        let found = try await restarted.restarted()
        #expect(try found.sdk.personalizer.personalizedIdentities[0].enrolledFactors == [.device, .pin, .biometric])
        #expect(try await found.authenticateByFinger().isUserLogin)
    }

    private func changePin(_ phone: VirtualIdentityPhone, to pin: String) async throws -> ApiAccessChangePin {
        let access = try await phone.accessToChangePin()
        #expect(access.pinSpec.setPin(VirtualIdentityPhone.pin) == .unchanged)
        #expect(access.pinSpec.setPin(pin) == .valid)
        return access
    }

    @Test("after a change the new PIN is right, and the old one wrong") func changePin() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let access = try await self.changePin(phone, to: "970358")
        try await phone.sdk.personalizer.finishChangePin(request: access)
        #expect(await phone.server.pinVersion(of: try phone.activation) == 2)
        #expect(
            await identityError { try await phone.sdk.personalizer.finishChangePin(request: access) } == .pinMissing)
        #expect(try await phone.authenticate(try await phone.data(), pin: "970358").isUserLogin)
        #expect(try await phone.authenticate(try await phone.data()).lockout != nil)
    }

    @Test("a person who chooses a PIN has more time up to the hard end, and none after it") func prolonged()
        async throws
    {
        let phone = try await VirtualIdentityPhone.personalized()
        let (personalizer, common) = (phone.sdk.personalizer, phone.sdk.common)
        let access = try await phone.accessToChangePin()
        let session = access.identitySession
        let first = session.nextRequestUntil
        phone.clock.advance(by: .seconds(200))
        try await common.prolongSession(holder: access)
        #expect(session.nextRequestUntil == first.addingTimeInterval(200))
        while session.nextRequestUntil < session.lastRequestBefore {
            phone.clock.advance(by: .seconds(250))
            try await common.prolongSession(holder: access)
        }
        #expect(access.pinSpec.setPin("604817") == .valid)
        try await personalizer.finishChangePin(request: access)
        #expect(await phone.server.pinVersion(of: try phone.activation) == 2)
    }

    @Test("what was permitted and not done in time is prolonged no more") func prolongedTooLate() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let access = try await phone.accessToDelete()
        phone.clock.advance(by: .seconds(300))
        #expect(await identityError { try await phone.sdk.common.prolongSession(holder: access) } == .grantExpired)
    }

    @Test("where the change's answer is lost, the PIN counts that the server has", arguments: [true, false])
    func lostChange(_ hasArrived: Bool) async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let access = try await self.changePin(phone, to: "970358")
        if hasArrived { await phone.server.loseAnswers(2) } else { await phone.server.goDown(true) }
        #expect(await identityError { try await phone.sdk.personalizer.finishChangePin(request: access) } != nil)
        await phone.server.goDown(false)
        let restarted = try await phone.restarted()
        let right = hasArrived ? "970358" : VirtualIdentityPhone.pin
        #expect(try await restarted.authenticate(try await restarted.data(), pin: right).isUserLogin)
        let wrong = hasArrived ? VirtualIdentityPhone.pin : "970358"
        #expect(try await restarted.authenticate(try await restarted.data(), pin: wrong).lockout != nil)
    }

    @Test("a change that is repeated after its answer was lost is done, and one to another PIN is not")
    func repeatedChange() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let access = try await self.changePin(phone, to: "970358")
        await phone.server.loseAnswers(2)
        let personalizer = phone.sdk.personalizer
        #expect(await identityError { try await personalizer.finishChangePin(request: access) } == .timeout)
        #expect(access.pinSpec.setPin("604817") == .valid)
        #expect(await identityError { try await personalizer.finishChangePin(request: access) } == .grantExpired)
        #expect(access.pinSpec.setPin("970358") == .valid)
        #expect(await identityError { try await personalizer.finishChangePin(request: access) } == nil)
        #expect(await phone.server.pinVersion(of: try phone.activation) == 2)
        #expect(try await phone.authenticate(try await phone.data(), pin: "970358").isUserLogin)
    }

    @Test("a change that never arrived is made good by the next one, and the PIN can be changed after it")
    func changeAfterLoss() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let personalizer = phone.sdk.personalizer
        let lost = try await self.changePin(phone, to: "970358")
        await phone.server.goDown(true)
        #expect(await identityError { try await personalizer.finishChangePin(request: lost) } == .connectionError)
        await phone.server.goDown(false)
        let access = try await self.changePin(phone, to: "604817")
        try await personalizer.finishChangePin(request: access)
        #expect(try await phone.authenticate(try await phone.data(), pin: "604817").isUserLogin)
    }

    @Test("two calls at once change the PIN once") func doubledChange() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let access = try await self.changePin(phone, to: "970358")
        let personalizer = phone.sdk.personalizer
        let codes = await identityErrors { try await personalizer.finishChangePin(request: access) }
        #expect(codes.filter { $0 == nil }.count == 1)
        #expect(await phone.server.pinVersion(of: try phone.activation) == 2)
        #expect(try await phone.authenticate(try await phone.data(), pin: "970358").isUserLogin)
    }

    @Test("another device is personalised with a code and a PIN that this one has made") func newActivation()
        async throws
    {
        let phone = try await VirtualIdentityPhone.personalized()
        let personalizer = phone.sdk.personalizer
        let access = try await phone.accessToNewActivation()
        #expect(!access.shouldSendEmail)
        #expect(
            await identityError { _ = try await personalizer.finishRequestNewActivationData(access) } == .pinMissing)
        #expect(access.pinSpec.setPin("735041") == .valid)
        access.alias = "Tablet"
        let code = try await personalizer.finishRequestNewActivationData(access)
        let other = try await VirtualIdentityPhone(server: phone.server)
        try await other.personalize(code, pin: "735041")
        #expect(await phone.server.activeActivations.count == 2)
        #expect(try await other.authenticate(try await other.data(), pin: "735041").isUserLogin)
        #expect(try await phone.authenticate(try await phone.data()).isUserLogin)
        #expect(
            await identityError {
                access.pinSpec.setPin("735042")
                _ = try await personalizer.finishRequestNewActivationData(access)
            } == .grantExpired)
    }

    @Test("an account is deleted with what this device has of it") func deletion() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let personalizer = phone.sdk.personalizer
        let access = try await phone.accessToDelete()
        try await personalizer.finishDeletion(request: access)
        #expect(try personalizer.personalizedIdentities.isEmpty)
        #expect(await phone.server.activeActivations.isEmpty)
        #expect(
            await identityError { _ = try await personalizer.startDeletion(idmIdentifier: self.server) }
                == .notPersonalized)
    }
}

extension ApiAccessTests {
    /// A phone with a finger that has ended, because others are enrolled with it now.
    private func phoneOfOtherFingers() async throws -> VirtualIdentityPhone {
        let phone = try await VirtualIdentityPhone.personalized(withFinger: true)
        phone.sensor.enroll(Array("other fingers".utf8))
        return phone
    }

    @Test(
        "a finger that ended with those of the phone is replaced, the person is told so, and the new one signs",
        arguments: [true, false])
    func replacedFinger(_ isFoundBefore: Bool) async throws {
        let phone = try await self.phoneOfOtherFingers()
        let personalizer = phone.sdk.personalizer
        let former = try #require(await phone.server.finger(of: try phone.activation))
        if isFoundBefore {
            #expect(
                await identityError { _ = try await phone.sdk.biometrics.factor(idmIdentifier: self.server) }
                    == .biometricInvalidated)
        }
        let data = try await personalizer.startAddAuthenticationFactor(self.server)
        let info = try await phone.prepare(data)
        #expect(info.transactionText == (try ReplacementAgreement().text.text))
        guard case .apiAccessAddFactor(let access) = try await phone.finishByPin(info) else {
            Issue.record("another result")
            return
        }
        phone.sensor.feel(.match)
        access.setFactor(try await phone.sdk.biometrics.factorForEnrolment())
        try await personalizer.finishAddAuthenticationFactor(request: access)
        #expect(try personalizer.personalizedIdentities[0].enrolledFactors == [.device, .pin, .biometric])
        let present = try #require(await phone.server.finger(of: try phone.activation))
        #expect(present != former)
        #expect(try await phone.restarted().authenticateByFinger().isUserLogin)
        // That one works, so another is none.
        #expect(
            await identityError { _ = try await personalizer.startAddAuthenticationFactor(self.server) }
                == .factorAlreadyEnrolled)
    }

    @Test("what a person has begun in the app is signed also by an app that has no place for its text")
    func unreadTexts() async throws {
        let phone = try await self.phoneOfOtherFingers()
        let replacing = try await phone.prepare(
            try await phone.sdk.personalizer.startAddAuthenticationFactor(self.server))
        #expect(replacing.hasContent)
        guard case .apiAccessAddFactor = try await phone.finishByPin(replacing) else { throw WrongCode() }
        let code = try await phone.server.activationCode(pin: "135802", mayMerge: true)
        guard case .mergePersonalization(_, let data) = try await phone.open(code, pin: "135802") else {
            throw WrongCode()
        }
        let merge = try await phone.prepare(data.data)
        #expect(merge.hasContent)
        guard case .apiAccessMergeComplete = try await phone.finishByPin(merge) else { throw WrongCode() }
        // The same text where a service asks is one that has to be shown.
        await phone.server.ask { $0.text = try? ReplacementAgreement().text.text }
        let asked = try await phone.prepare()
        #expect(await identityError { _ = try await phone.finishByPin(asked) } == .notDisclosed)
    }

    @Test("an operation whose code was scanned is none that the person has begun in the app") func scannedOperation()
        async throws
    {
        let phone = try await VirtualIdentityPhone.personalized()
        let code = try await phone.server.authenticationCode(for: .merge)
        let info = try await phone.prepare(try phone.authenticationData(code))
        #expect(await identityError { _ = try await phone.finishByPin(info) } == .notDisclosed)
    }

    @Test("as long as the phone knows no finger at all, none is added in the place of another") func noFingers()
        async throws
    {
        let phone = try await VirtualIdentityPhone.personalized(withFinger: true)
        phone.sensor.enroll(nil)
        let error = await identityError {
            _ = try await phone.sdk.personalizer.startAddAuthenticationFactor(self.server)
        }
        #expect(error == .biometricUnavailable)
        #expect(
            await identityError { _ = try await phone.sdk.biometrics.factor(idmIdentifier: self.server) }
                == .biometricUnavailable)
        // It is the same finger when it is enrolled again.
        #expect(try phone.sdk.personalizer.personalizedIdentities[0].enrolledFactors == [.device, .pin, .biometric])
    }

    @Test("a finger is not replaced behind a person's back") func hiddenReplacement() async throws {
        let phone = try await self.phoneOfOtherFingers()
        await phone.server.hideReplacements()
        let data = try await phone.sdk.personalizer.startAddAuthenticationFactor(self.server)
        #expect(await identityError { _ = try await phone.prepare(data) } == .malformedData)
    }

    @Test("where the server does not say which finger it has, none is replaced") func unnamedFinger() async throws {
        let phone = try await self.phoneOfOtherFingers()
        await phone.server.hideKeys()
        await phone.server.forgetRequests()
        #expect(
            await identityError { _ = try await phone.sdk.personalizer.startAddAuthenticationFactor(self.server) }
                == .factorAlreadyEnrolled)
        #expect(await phone.server.requests.allSatisfy { $0.url.path() == "/identity/activation" })
    }

    @Test("a finger that the server got meanwhile is not replaced by one that was to replace another")
    func otherFinger() async throws {
        let phone = try await self.phoneOfOtherFingers()
        let personalizer = phone.sdk.personalizer
        let first = try await self.addFinger(phone)
        let second = try await self.addFinger(phone)
        try await personalizer.finishAddAuthenticationFactor(request: first)
        let present = await phone.server.finger(of: try phone.activation)
        phone.sensor.enroll(Array("yet others".utf8))
        #expect(
            await identityError { _ = try await phone.sdk.biometrics.factor(idmIdentifier: self.server) }
                == .biometricInvalidated)
        phone.sensor.feel(.match)
        second.setFactor(try await phone.sdk.biometrics.factorForEnrolment())
        await phone.server.forgetRequests()
        #expect(
            await identityError { try await personalizer.finishAddAuthenticationFactor(request: second) }
                == .factorAlreadyEnrolled)
        // It is found out before a key is made and sent.
        #expect(await phone.server.requests.allSatisfy { $0.url.path() == "/identity/activation" })
        #expect(await phone.server.finger(of: try phone.activation) == present)
        #expect(try personalizer.personalizedIdentities[0].enrolledFactors == [.device, .pin])
    }

    @Test("of a replacement whose receipt was lost the finger counts that the server has", arguments: [true, false])
    func lostReplacement(_ hasArrived: Bool) async throws {
        let phone = try await self.phoneOfOtherFingers()
        let access = try await self.addFinger(phone)
        // What asks which finger there is is answered.
        await phone.server.letPass(1)
        if hasArrived { await phone.server.loseAnswers(2) } else { await phone.server.holdBack(2) }
        #expect(
            await identityError {
                try await phone.sdk.personalizer.finishAddAuthenticationFactor(request: access)
            } == .timeout)
        phone.clock.advance(by: .seconds(hasArrived ? 1 : 120))
        let restarted = try await phone.restarted()
        let personalizer = restarted.sdk.personalizer
        if !hasArrived {
            #expect(try personalizer.personalizedIdentities[0].enrolledFactors == [.device, .pin])
            let again = try await self.addFinger(restarted)
            try await personalizer.finishAddAuthenticationFactor(request: again)
        }
        #expect(try personalizer.personalizedIdentities[0].enrolledFactors == [.device, .pin, .biometric])
        #expect(try await restarted.authenticateByFinger().isUserLogin)
    }
}

extension ApiAccessTests {
    @Test("a deletion whose answer was lost is done when it is asked for again") func lostDeletion() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let personalizer = phone.sdk.personalizer
        let access = try await phone.accessToDelete()
        await phone.server.loseAnswers(2)
        #expect(await identityError { try await personalizer.finishDeletion(request: access) } == .timeout)
        #expect(try personalizer.personalizedIdentities.count == 1)
        try await personalizer.finishDeletion(request: access)
        #expect(try personalizer.personalizedIdentities.isEmpty)
    }

    @Test("a deletion that the device had no room to write down is done when it is asked for again")
    func unwrittenDeletion() async throws {
        let keys = VerifyingKeys()
        let phone = try await VirtualIdentityPhone(server: VirtualIdentityServer(), keys: keys)
        try await phone.personalize()
        let personalizer = phone.sdk.personalizer
        let access = try await phone.accessToDelete()
        let finish: () async throws -> Void = { try await personalizer.finishDeletion(request: access) }
        let storage = phone.storage
        await phone.server.damage { response in
            storage.refuseWrites(true)
            return response
        }
        #expect(await identityError(finish) == .storageUnavailable)
        #expect(await phone.server.activeActivations.isEmpty)
        // What it has not written down has not happened here.
        #expect(try personalizer.personalizedIdentities.count == 1)
        await phone.server.damage(nil)
        storage.refuseWrites(false)
        // The server knows the device no more, and that was this deletion.
        #expect(await identityError(finish) == nil)
        #expect(try personalizer.personalizedIdentities.isEmpty)
        #expect(keys.count == 0)
    }

    @Test("a deletion of which the device could not write down all comes to its end at the next start")
    func halfWrittenDeletion() async throws {
        let keys = VerifyingKeys()
        let phone = try await VirtualIdentityPhone(server: VirtualIdentityServer(), keys: keys)
        try await phone.personalize()
        let personalizer = phone.sdk.personalizer
        let access = try await phone.accessToDelete()
        let storage = phone.storage
        await phone.server.damage { response in
            storage.interruptAfterWrite { name in
                // That the identity ends can be written down, and nothing after it.
                if name == "identity-identities" { storage.refuseWrites(true) }
            }
            return response
        }
        #expect(
            await identityError { try await personalizer.finishDeletion(request: access) } == .storageUnavailable)
        #expect(await phone.server.activeActivations.isEmpty)
        #expect(try personalizer.personalizedIdentities.isEmpty)
        #expect(keys.count == 3)
        await phone.server.damage(nil)
        storage.interruptAfterWrite(nil)
        let restarted = try await VirtualIdentityPhone(
            server: phone.server, storage: InMemoryStorage(storage.snapshot), clock: phone.clock, keys: keys)
        #expect(keys.count == 0)
        try await restarted.personalize()
        #expect(try await restarted.authenticate(try await restarted.data()).isUserLogin)
    }

    @Test("an activation that was ended elsewhere is no account that was deleted") func endedElsewhere() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let personalizer = phone.sdk.personalizer
        let access = try await phone.accessToDelete()
        for code in [IdentityProblem.Code.activationUnknown, .notProven] {
            await phone.server.refuseNext(IdentityProblem(code))
            #expect(
                await identityError { try await personalizer.finishDeletion(request: access) } == .activationUnknown)
            #expect(try personalizer.personalizedIdentities.count == 1)
        }
        #expect(await phone.server.activeActivations.count == 1)
        try await personalizer.finishDeletion(request: access)
        #expect(await phone.server.activeActivations.isEmpty)
    }
}

extension ApiAccessTests {
    /// Begins each of the four, by name.
    private func begin(_ access: String, _ phone: VirtualIdentityPhone) async throws -> AuthenticationInitializationData
    {
        let personalizer = phone.sdk.personalizer
        return switch access {
        case "PIN": try await personalizer.startChangePin(idmIdentifier: self.server)
        case "factor": try await personalizer.startAddAuthenticationFactor(self.server)
        case "activation": try await personalizer.startRequestNewActivationData(idmIdentifier: self.server)
        default: try await personalizer.startDeletion(idmIdentifier: self.server)
        }
    }

    @Test(
        "what was begun as one thing and comes out as a login is an error, at its start and at its end",
        arguments: ["PIN", "factor", "activation", "deletion"])
    func wrongKind(_ access: String) async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let data = try await self.begin(access, phone)
        await phone.server.mistakePurpose(for: .userLogin)
        #expect(
            await identityError { _ = try await phone.sdk.authenticator.startAuthentication(data: data) }
                == .wrongProcess)
        await phone.server.mistakePurpose(for: nil)
        let info = try await phone.prepare(try await self.begin(access, phone))
        await phone.server.mistakePurpose(for: .userLogin)
        #expect(await identityError { _ = try await phone.finishByPin(info) } == .wrongProcess)
        // It is over, and the account is what it was.
        #expect(await identityError { try info.sign(factor: DeviceFactor()) } == .sessionExpired)
        await phone.server.mistakePurpose(for: nil)
        #expect(await phone.server.pinVersion(of: try phone.activation) == 1)
        #expect(try phone.sdk.personalizer.personalizedIdentities[0].enrolledFactors == [.device, .pin])
        #expect(try await phone.authenticate(try await phone.data()).isUserLogin)
    }
}

@Suite("PINs that a person chooses (decision 58)") struct PinSpecificationTests {
    @Test("each input has its code, and with any but valid no PIN is held") func codes() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let access = try await phone.accessToNewActivation()
        let specification = access.pinSpec
        #expect(specification.minLength == 5 && specification.maxLength == 32)
        for (pin, code) in [
            (nil, .empty), ("", .empty), ("8241", .tooShort), (String(repeating: "82419", count: 7), .tooLong),
            ("82a193", .invalidCharacters), ("８２４１９３", .invalidCharacters), ("111111", .tooSimple),
            ("121212", .tooSimple), ("123123", .tooSimple), ("123456", .tooSimple), ("987654", .tooSimple),
            ("890123", .tooSimple), ("311299", .tooSimple), ("991231", .tooSimple), ("24121990", .tooSimple),
            ("19901224", .tooSimple), ("82419", .valid), ("824193", .valid), ("24121876", .valid),
        ] as [(String?, PinSpecification.ResultCode)] {
            #expect(specification.setPin(pin) == code, "\(pin ?? "nil")")
        }
        #expect(!"\(specification)".contains("24121876"))
        specification.setPin("123456")
        #expect(
            await identityError { _ = try await phone.sdk.personalizer.finishRequestNewActivationData(access) }
                == .pinMissing)
    }
}
