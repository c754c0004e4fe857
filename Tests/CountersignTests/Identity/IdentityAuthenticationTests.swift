import Ceremony
import Countersign
import CountersignTestKit
import Foundation
import PersonalInformation
import Testing
import UAF
import UAFClient
import _Primitives

@Suite("Authentications of identities (decisions 57 and 60)") struct IdentityAuthenticationTests {
    @Test("who asks is shown, and the result says who was signed in where") func metadata() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let request = try await phone.start()
        #expect(request.serviceName == "Health Portal")
        #expect(request.serviceURL == "https://health.example")
        guard case .userLogin(let login) = try await phone.authenticate(try await phone.data()) else {
            Issue.record("no login")
            return
        }
        #expect(login.relyingPartyName == "Health Portal")
        #expect(login.relyingPartyURL == "https://health.example")
        #expect(login.roleName == "Patient")
        #expect(try phone.sdk.personalizer.personalizedIdentities[0].lastUsedAt != nil)
    }

    @Test("of several roles one has to be chosen, and only one of them") func roles() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let foreign = try await phone.start().roles[0]
        await phone.server.ask {
            $0.roles = [("a", "A", [["pin", "device"]]), ("b", "B", [["pin", "device"]])]
        }
        let request = try await phone.start()
        let authenticator = phone.sdk.authenticator
        #expect(
            await identityError { _ = try await authenticator.prepareAuthenticationUserInformation(request: request) }
                == .roleNotSelected)
        #expect(request.setSelection(request.roles[1]) == request.roles[1])
        #expect(request.setSelection(nil) == nil)
        #expect(request.setSelection(foreign) == nil)
        guard case .userLogin(let login) = try await phone.finishByPin(try await phone.prepare(request)) else {
            Issue.record("no login")
            return
        }
        #expect(login.roleName == "B")
    }

    @Test("only what the identity can meet is asked for; where it can meet nothing, all of it") func matrix()
        async throws
    {
        let phone = try await VirtualIdentityPhone.personalized()
        await phone.server.ask {
            $0.roles = [
                ("a", "A", [["biometric", "device"], ["pin", "device"], ["pin", "retina"], ["otp"]]),
                ("b", "B", [["biometric", "device"]]),
            ]
        }
        let request = try await phone.start()
        #expect(request.roles[0].requestedAuthenticators == [[.pin, .device]])
        #expect(request.roles[0].missingAuthenticators.isEmpty)
        #expect(request.roles[1].requestedAuthenticators == [[.biometric, .device]])
        #expect(request.roles[1].missingAuthenticators == [.biometric])
    }

    @Test("what is reserved is read and cannot be signed with; the ways beside it can") func reserved() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        await phone.server.ask {
            $0.roles = [
                ("a", "A", [["otp"], ["yubikey", "device"], ["pin", "device"]]),
                ("b", "B", [["otp"], ["yubikey", "device"], ["biometric", "device"]]),
            ]
        }
        let request = try await phone.start()
        #expect(request.roles[0].requestedAuthenticators == [[.pin, .device]])
        #expect(request.roles[1].requestedAuthenticators == [[.otp], [.yubikey, .device], [.biometric, .device]])
        #expect(request.roles[1].missingAuthenticators == [.otp, .yubikey, .biometric])
        for (role, isUsable) in zip(request.roles, [true, false]) {
            let begun = try await phone.start()
            begun.setSelection(role)
            let info = try await phone.prepare(begun)
            #expect(info.requestedAuthenticators == role.requestedAuthenticators)
            #expect(info.missingAuthenticators == role.missingAuthenticators)
            #expect(await identityError { try info.sign(factor: OtpFactor()) } == .factorNotSupported)
            #expect(await identityError { try info.sign(factor: YubikeyFactor()) } == .factorNotSupported)
            guard isUsable else { continue }
            #expect(try await phone.finishByPin(info).isUserLogin)
        }
    }

    @Test("exactly what a service asks for is there, and nothing has to be said where it asks for nothing")
    func attributes() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let none = try await phone.start()
        #expect(none.info.givenName == nil && none.info.email == nil && none.info.birthdate == nil)
        await phone.server.ask { $0.attributes = [RequestedAttribute(.givenName), RequestedAttribute(.email)] }
        let request = try await phone.start()
        #expect(request.info.givenName?.isDataMissing == true)
        #expect(request.info.email?.isSuppliable == false)
        #expect(request.info.familyName == nil)
        #expect(request.info.givenName?.validator.maxLength == 128)
    }

    @Test("a failure is the same request with its errors, in which what was right is still there") func correction()
        async throws
    {
        let phone = try await VirtualIdentityPhone.personalized()
        await phone.server.ask { $0.attributes = [RequestedAttribute(.givenName), RequestedAttribute(.familyName)] }
        let request = try await phone.start()
        #expect(request.info.givenName?.setValue(value: "Ada") == .valid)
        let authenticator = phone.sdk.authenticator
        guard
            case .failure(let returned) = try await authenticator.prepareAuthenticationUserInformation(request: request)
        else {
            Issue.record("prepared without a name")
            return
        }
        #expect(returned === request)
        #expect(request.info.givenName?.error == AuthenticationInformationErrorCode.none)
        #expect(request.info.familyName?.error == .dataMissing)
        request.info.familyName?.setValue(value: "Lovelace")
        let info = try await phone.prepare(request)
        #expect(request.info.familyName?.error == AuthenticationInformationErrorCode.none)
        #expect(try await phone.finishByPin(info).isUserLogin)
        #expect(
            await phone.server.accepted == [[.givenName: .value("Ada"), .familyName: .value("Lovelace")]])
    }

    @Test("whatever is missing is told by its attribute, all of it at once, until it was too often (decision 83)")
    func incomplete() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        await phone.server.ask {
            $0.attributes = [
                RequestedAttribute(.givenName), RequestedAttribute(.email),
                RequestedAttribute(
                    .familyName,
                    aliases: [
                        PersonalInformationAlias(id: "f-1", alias: "On my card", isPrimary: true),
                        PersonalInformationAlias(id: "f-2", alias: "By birth", isPrimary: false),
                    ]),
            ]
        }
        let request = try await phone.start()
        let authenticator = phone.sdk.authenticator
        for _ in 0..<3 {
            guard
                case .failure(let same) = try await authenticator.prepareAuthenticationUserInformation(request: request)
            else {
                Issue.record("prepared without data")
                return
            }
            #expect(same.info.givenName?.error == .dataMissing)
            #expect(same.info.email?.error == .dataMissing)
            #expect(same.info.familyName?.error == .noAliasSelected)
        }
        #expect(
            await identityError { _ = try await authenticator.prepareAuthenticationUserInformation(request: request) }
                == .correctionLimitExceeded)
    }

    @Test("an input that is not valid clears the one before, and the server misses it") func clearedInput()
        async throws
    {
        let phone = try await VirtualIdentityPhone.personalized()
        await phone.server.ask { $0.attributes = [RequestedAttribute(.givenName)] }
        let request = try await phone.start()
        #expect(request.info.givenName?.setValue(value: "Ada") == .valid)
        #expect(request.info.givenName?.setValue(value: String(repeating: "x", count: 129)) == .tooLong)
        let authenticator = phone.sdk.authenticator
        guard case .failure = try await authenticator.prepareAuthenticationUserInformation(request: request) else {
            Issue.record("prepared with a name that was cleared")
            return
        }
        #expect(request.info.givenName?.error == .dataMissing)
        #expect(request.info.givenName?.setValue(value: "Ada") == .valid)
        _ = try await phone.prepare(request)
    }

    @Test("corrections have a limit, past which the process is over") func correctionLimit() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        await phone.server.ask { $0.attributes = [RequestedAttribute(.givenName)] }
        let request = try await phone.start()
        let authenticator = phone.sdk.authenticator
        for _ in 0..<3 {
            guard case .failure = try await authenticator.prepareAuthenticationUserInformation(request: request) else {
                Issue.record("prepared without a name")
                return
            }
        }
        let prepare: () async throws -> Void = {
            _ = try await authenticator.prepareAuthenticationUserInformation(request: request)
        }
        #expect(await identityError(prepare) == .correctionLimitExceeded)
        #expect(await identityError(prepare) == .sessionAborted)
    }

    @Test(
        "what is not exactly one alternative is a lockout",
        arguments: [["pin"], ["pin", "biometric"], ["device"], ["pin", "device", "biometric"]])
    func wrongCombination(_ types: [String]) async throws {
        let phone = try await VirtualIdentityPhone.personalized(withFinger: true)
        await phone.server.ask { $0.roles = [("a", "A", [["pin", "device"], ["biometric", "device"]])] }
        let info = try await phone.prepare()
        for type in types {
            switch type {
            case "pin": try info.sign(factor: PinFactor(VirtualIdentityPhone.pin))
            case "device": try info.sign(factor: DeviceFactor())
            default:
                phone.sensor.feel(.match)
                try info.sign(factor: try await phone.sdk.biometrics.factor(idmIdentifier: "https://id.example"))
            }
        }
        #expect(try await phone.finish(info).lockout?.isPermanent == false)
    }

    @Test("a finger and the device sign; once other fingers are enrolled they do not, and the PIN does")
    func biometric() async throws {
        let phone = try await VirtualIdentityPhone.personalized(withFinger: true)
        await phone.server.ask { $0.roles = [("a", "A", [["biometric", "device"], ["pin", "device"]])] }
        let info = try await phone.prepare()
        #expect(info.requestedAuthenticators == [[.biometric, .device], [.pin, .device]])
        phone.sensor.feel(.match)
        let factor = try await phone.sdk.biometrics.factor(idmIdentifier: "https://id.example")
        #expect(try await phone.finish(info, factor, DeviceFactor()).isUserLogin)

        phone.sensor.feel(.noMatch(hint: "press harder"))
        let biometrics = phone.sdk.biometrics
        #expect(
            await identityError { _ = try await biometrics.factor(idmIdentifier: "https://id.example") }
                == .biometricCancelled)
        phone.sensor.enroll(Array("other fingers".utf8))
        #expect(
            await identityError { _ = try await biometrics.factor(idmIdentifier: "https://id.example") }
                == .biometricInvalidated)
        #expect(
            await identityError { _ = try await biometrics.factor(idmIdentifier: "https://id.example") }
                == .factorNotEnrolled)
        let other = try await phone.prepare()
        #expect(other.requestedAuthenticators == [[.pin, .device]])
        #expect(try await phone.finishByPin(other).isUserLogin)
    }

    @Test("a finger that fails at the last moment leaves nothing behind, and the other combination signs")
    func otherCombination() async throws {
        let phone = try await VirtualIdentityPhone.personalized(withFinger: true)
        await phone.server.ask { $0.roles = [("a", "A", [["biometric", "device"], ["pin", "device"]])] }
        let info = try await phone.prepare()
        phone.sensor.feel(.match)
        let finger = try await phone.sdk.biometrics.factor(idmIdentifier: "https://id.example")
        phone.sensor.enroll(Array("other fingers".utf8))
        #expect(
            await identityError { _ = try await phone.finish(info, finger, DeviceFactor()) } == .biometricInvalidated)
        #expect(await identityError { _ = try await phone.finish(info) } == .factorMissing)
        #expect(try await phone.finish(info, PinFactor(VirtualIdentityPhone.pin), DeviceFactor()).isUserLogin)
        #expect(await phone.server.failures(of: try phone.activation) == 0)
    }

    @Test("what comes during a rest ends the process here as at the server: nothing is signed in it any more")
    func closedByALockout() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let info = try await phone.prepare()
        await phone.server.refuseNext(
            IdentityProblem(.lockedOut, lockout: LockoutNotice(lockedUntil: phone.clock.now() + .seconds(5))))
        await #expect(throws: CountersignLockoutError.self) {
            _ = try await phone.finishByPin(info)
        }
        #expect(await identityError { try info.sign(factor: DeviceFactor()) } == .sessionExpired)
    }

    @Test("a process that was given up is over for the app, too") func givenUp() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let info = try await phone.prepare()
        try info.sign(factor: PinFactor(VirtualIdentityPhone.pin))
        try await phone.sdk.common.abort(info)
        #expect(await identityError { try info.sign(factor: DeviceFactor()) } == .sessionExpired)
        #expect(
            await identityError { _ = try await phone.sdk.authenticator.finishAuthentication(userInfo: info) }
                == .sessionExpired)
    }

    @Test("it is over also where the server had ended it, and what was typed to be done after it is forgotten")
    func givenUpLate() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let info = try await phone.prepare()
        try info.sign(factor: PinFactor(VirtualIdentityPhone.pin))
        await phone.server.refuseNext(IdentityProblem(.sessionExpired))
        #expect(await identityError { try await phone.sdk.common.abort(info) } == .sessionExpired)
        #expect(await identityError { try info.sign(factor: DeviceFactor()) } == .sessionExpired)

        let access = try await phone.accessToChangePin()
        #expect(access.pinSpec.setPin("970358") == .valid)
        try await phone.sdk.common.abort(access)
        #expect(
            await identityError { try await phone.sdk.personalizer.finishChangePin(request: access) } == .pinMissing)
        // The former one neither.
        #expect(access.pinSpec.setPin(VirtualIdentityPhone.pin) == .valid)
    }

    @Test("what is claimed and then not gone on with is given up, so that no page waits for it") func mistakenPurpose()
        async throws
    {
        let phone = try await VirtualIdentityPhone.personalized()
        await phone.server.mistakePurpose(for: .delete)
        let data = try await phone.sdk.personalizer.startChangePin(idmIdentifier: "https://id.example")
        #expect(
            await identityError { _ = try await phone.sdk.authenticator.startAuthentication(data: data) }
                == .wrongProcess)
        #expect(await phone.server.ends == [.sessionAborted])
    }

    @Test("a wrong PIN signs, and is a lockout; then nothing is signed any more, and all of it is right after the rest")
    func lockout() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let info = try await phone.prepare()
        let result = try await phone.finishByPin(info, pin: "000000")
        guard case .lockout(let information, let same) = result else {
            Issue.record("no lockout")
            return
        }
        #expect(same === info)
        #expect(!information.isPermanent)
        #expect(information.lockedUntil > information.serverTime)
        #expect(information.duration == .seconds(5))
        // Nothing is signed: that is found out here.
        let sent = await phone.server.requests.count
        #expect(await identityError { _ = try await phone.finish(info) } == .factorMissing)
        #expect(await phone.server.requests.count == sent)
        phone.clock.advance(by: .seconds(6))
        #expect(try await phone.finishByPin(info).isUserLogin)
    }

    @Test("a phone that was taken, with everything that it has stored, says of every PIN the same")
    func noLocalVerdict() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        _ = try await phone.authenticate(try await phone.data(), pin: "000000")
        phone.clock.advance(by: .seconds(6))
        _ = try await phone.authenticate(try await phone.data())
        let stored = phone.storage.snapshot
        var outcomes: [(code: CountersignErrorCode?, sizes: [String: Int], register: [UInt8]?)] = []
        for pin in [VirtualIdentityPhone.pin, "824194", "000000", "97035", String(repeating: "8241", count: 8)] {
            let copy = try await VirtualIdentityPhone(
                server: phone.server, storage: InMemoryStorage(stored), clock: phone.clock, random: .repeatable("copy"))
            let info = try await copy.prepare()
            await phone.server.goDown(true)
            let code = await identityError { _ = try await copy.finishByPin(info, pin: pin) }
            await phone.server.goDown(false)
            let after = copy.storage.snapshot
            outcomes.append((code, after.mapValues(\.count), after["identity-identities"]))
        }
        #expect(outcomes[0].code == .connectionError && outcomes[0].register != nil)
        for outcome in outcomes { #expect(outcome == outcomes[0]) }
    }

    @Test("what has left is judged once and signs nothing else, and a refusal that ends the process closes it")
    func leftFactors() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let authenticator = phone.sdk.authenticator
        let info = try await phone.prepare()
        await phone.server.loseAnswers(2)
        let finish: () async throws -> Void = { _ = try await authenticator.finishAuthentication(userInfo: info) }
        #expect(await identityError { _ = try await phone.finishByPin(info, pin: "000000") } == .timeout)
        #expect(await identityError(finish) == nil)
        #expect(await identityError(finish) == .factorMissing)
        #expect(await phone.server.failures(of: try phone.activation) == 1)
        phone.clock.advance(by: .seconds(6))

        let expired = try await phone.prepare()
        await phone.server.refuseNext(IdentityProblem(.sessionExpired))
        let refused: () async throws -> Void = { _ = try await phone.finishByPin(expired) }
        #expect(await identityError(refused) == .sessionExpired)
        #expect(await identityError { try expired.sign(factor: DeviceFactor()) } == .sessionExpired)
    }

    @Test("the words of a value that a person chose are signed as they were shown, or nothing is")
    func otherWords() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        await phone.server.ask {
            $0.attributes = [
                RequestedAttribute(
                    .email, aliases: [PersonalInformationAlias(id: "e-1", alias: "At home", isPrimary: true)])
            ]
        }
        for words in ["At work", nil] {
            await phone.server.misname(words)
            let request = try await phone.start()
            let email = try #require(request.info.email)
            email.setSelection(email.aliases.first)
            let code = await identityError {
                _ = try await phone.sdk.authenticator.prepareAuthenticationUserInformation(request: request)
            }
            #expect(code == (words == nil ? nil : .malformedData))
        }
    }

    @Test("what is chosen after something was typed goes in its place") func chosenAfterTyped() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        await phone.server.ask {
            $0.attributes = [
                RequestedAttribute(
                    .givenName, aliases: [PersonalInformationAlias(id: "g-1", alias: "On my card", isPrimary: true)])
            ]
        }
        let request = try await phone.start()
        let name = try #require(request.info.givenName)
        #expect(name.setValue(value: "Eve") == .valid)
        name.setSelection(name.aliases.first)
        let info = try await phone.prepare(request)
        #expect(info.confirmedAttributes.map(\.alias) == ["On my card"])
    }

    @Test("what is asked during a lockout ends with an error that says until when") func pendingLockout() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        _ = try await phone.authenticate(try await phone.data(), pin: "000000")
        let error = await #expect(throws: CountersignLockoutError.self) { _ = try await phone.start() }
        #expect(error?.errorCode == .lockedOut)
        #expect(error?.information.isPermanent == false)
        #expect(error.map { $0.information.lockedUntil > $0.information.serverTime } == true)
    }

    @Test("a lockout for good says so, and the activation is disabled") func permanentLockout() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        await phone.server.allow(attempts: 1)
        let info = try await phone.prepare()
        let lockout = try await phone.finishByPin(info, pin: "000000").lockout
        #expect(lockout?.isPermanent == true)
        #expect(lockout?.lockedUntil == .distantFuture)
        #expect(await identityError { try info.sign(factor: DeviceFactor()) } == .sessionExpired)
        #expect(await identityError { _ = try await phone.start() } == .activationDisabled)
    }

    @Test("factors that nobody asks for, and those that nobody has, are refused at once") func refusedFactors()
        async throws
    {
        let phone = try await VirtualIdentityPhone.personalized(withFinger: true)
        let info = try await phone.prepare()
        phone.sensor.feel(.match)
        let finger = try await phone.sdk.biometrics.factor(idmIdentifier: "https://id.example")
        #expect(await identityError { try info.sign(factor: finger) } == .factorNotRequested)
        #expect(await identityError { try info.sign(factor: OtpFactor()) } == .factorNotSupported)
        #expect(await identityError { try info.sign(factor: YubikeyFactor()) } == .factorNotSupported)
        #expect(await identityError { _ = try await phone.finish(info) } == .factorMissing)
        #expect(!"\(PinFactor("824193"))".contains("824193"))
    }

    @Test("a text that a person agrees to is read before anything is signed") func text() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        await phone.server.ask { $0.text = "Order medicine" }
        let info = try await phone.prepare()
        try info.sign(factor: DeviceFactor())
        try info.sign(factor: PinFactor(VirtualIdentityPhone.pin))
        #expect(await identityError { _ = try await phone.finish(info) } == .notDisclosed)
        #expect(info.transactionText == "Order medicine")
        #expect(try await phone.finish(info).isUserLogin)
    }

    @Test("to ask whether there is a text shows it to nobody, and an app may say that it has shown it") func shownText()
        async throws
    {
        let phone = try await VirtualIdentityPhone.personalized()
        #expect(try await !phone.prepare().hasContent)
        await phone.server.ask { $0.text = "Order medicine" }
        let info = try await phone.prepare()
        #expect(info.hasContent)
        #expect(await identityError { _ = try await phone.finishByPin(info) } == .notDisclosed)
        info.contentWasShown()
        #expect(try await phone.finish(info).isUserLogin)
    }

    @Test("a device that is not sound enough is told so, by the server or by the app itself, and it counts for nothing")
    func security() async throws {
        struct Inspection: SecurityInspection {
            func inspect() -> SecurityFindings {
                SecurityFindings(checkVersion: 3, osVersion: "Test 1", isRooted: true, isHooked: false)
            }
        }
        let sound = try await VirtualIdentityPhone.personalized()
        #expect(
            await identityError { _ = try await sound.sdk.common.executeSecurityCheck() } == .invalidConfiguration)
        let server = sound.server
        let rooted = try await VirtualIdentityPhone(
            server: server, storage: InMemoryStorage(sound.storage.snapshot), clock: sound.clock,
            configuration: { $0.securityInspection = Inspection() })
        let result = try await rooted.sdk.common.executeSecurityCheck()
        #expect(result.checkVersion == 3 && result.isRooted && !result.isHooked && result.osVersion == "Test 1")
        let refused = await #expect(throws: CountersignSecurityInsufficientError.self) { _ = try await rooted.start() }
        #expect(refused?.reasons == ["rooted"])
        #expect(await server.failures(of: try sound.activation) == 0)

        let strict = try await VirtualIdentityPhone(
            server: server, storage: InMemoryStorage(sound.storage.snapshot), clock: sound.clock,
            configuration: {
                $0.securityInspection = Inspection()
                $0.securityPolicy = { $0.isRooted ? ["own policy"] : [] }
            })
        let data = try await strict.data()
        let sent = await server.requests.count
        let own = await #expect(throws: CountersignSecurityInsufficientError.self) {
            _ = try await strict.sdk.authenticator.startAuthentication(data: data)
        }
        #expect(own?.reasons == ["own policy"])
        #expect(await server.requests.count == sent)
    }

    @Test("a device that the server finds unsound is told so at every step, and at its personalisation")
    func unsound() async throws {
        let device = ChangedDevice()
        let phone = try await VirtualIdentityPhone(server: VirtualIdentityServer()) { $0.securityInspection = device }
        /// Whether the error of its own comes of what an unsound device does.
        func isTold(_ step: () async throws -> Void) async -> Bool {
            device.change(true)
            defer { device.change(false) }
            do {
                try await step()
                return false
            } catch {
                return (error as? CountersignSecurityInsufficientError)?.reasons == ["rooted"]
            }
        }
        let code = try await phone.server.activationCode(pin: VirtualIdentityPhone.pin)
        #expect(await isTold { _ = try await phone.open(code, pin: VirtualIdentityPhone.pin) })
        try await phone.personalize()
        #expect(await isTold { _ = try await phone.start() })
        let request = try await phone.start()
        let authenticator = phone.sdk.authenticator
        #expect(await isTold { _ = try await authenticator.prepareAuthenticationUserInformation(request: request) })
        let info = try await phone.prepare()
        #expect(await isTold { _ = try await phone.finishByPin(info) })
        #expect(await phone.server.failures(of: try phone.activation) == 0)
        #expect(await phone.server.accepted.isEmpty)
        #expect(try await phone.authenticate(try await phone.data()).isUserLogin)
    }

    @Test("a process is prolonged up to its end, and given up") func sessions() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let request = try await phone.start()
        let before = request.identitySession.nextRequestUntil
        phone.clock.advance(by: .seconds(60))
        let session = try await phone.sdk.common.prolongSession(holder: request)
        #expect(session === request.identitySession)
        #expect(session.nextRequestUntil == before.addingTimeInterval(60))
        while session.nextRequestUntil < session.lastRequestBefore {
            phone.clock.advance(by: .seconds(170))
            try await phone.sdk.common.prolongSession(holder: request)
        }
        try await phone.sdk.common.abort(request)
        #expect(
            await identityError {
                _ = try await phone.sdk.authenticator.prepareAuthenticationUserInformation(request: request)
            } == .sessionAborted)
    }

    @Test("a process that was not prolonged in time is prolonged no more, and one that rests is prolonged meanwhile")
    func prolongedTooLate() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let common = phone.sdk.common
        let late = try await phone.start()
        phone.clock.advance(by: .seconds(180))
        #expect(await identityError { try await common.prolongSession(holder: late) } == .sessionExpired)

        let (info, other) = (try await phone.prepare(), try await phone.prepare())
        guard case .lockout = try await phone.finishByPin(info, pin: "135790") else {
            Issue.record("a wrong PIN was taken")
            return
        }
        try await common.prolongSession(holder: info)
        #expect(await identityError { try await common.prolongSession(holder: other) } == .lockedOut)
        phone.clock.advance(by: .seconds(6))
        #expect(try await phone.finishByPin(info).isUserLogin)
    }

    @Test("a code is one device's: the second that claims it is told") func claimedTwice() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let data = try await phone.data()
        _ = try await phone.sdk.authenticator.startAuthentication(data: data)
        #expect(
            await identityError { _ = try await phone.sdk.authenticator.startAuthentication(data: data) }
                == .sessionConsumed)
    }

    @Test("an app that is a service gets its authorization code, once") func inApp() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let authenticator = phone.sdk.authenticator
        let login = try await phone.serviceLogin(state: "s-1")
        // It has no more time than it has, and to ask for it does it no harm.
        #expect(login.identitySession.nextRequestUntil == login.validUntil)
        #expect(await identityError { try await phone.sdk.common.prolongSession(holder: login) } == .wrongProcess)
        let code = try await authenticator.fetchAuthorizationCode(login)
        #expect(code.code == "code-1")
        #expect(code.state == "s-1")
        #expect(code.issuer == "https://id.example")
        #expect(!"\(code)".contains("code-1"))
        #expect(await identityError { _ = try await authenticator.fetchAuthorizationCode(login) } == .sessionConsumed)
    }

    @Test("an app that has signed itself in and gives that up gets no code any more") func givenUpInApp() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let (authenticator, common) = (phone.sdk.authenticator, phone.sdk.common)
        let data = try await authenticator.fetchInAppAuthenticationInitializationData(
            InAppAuthenticationRequest(
                idmIdentifier: "https://id.example", clientID: "app", redirectURI: "app:/back",
                codeChallenge: String(repeating: "a", count: 43)))
        guard case .serviceLogin(let login) = try await phone.authenticate(data) else {
            Issue.record("no login of the app")
            return
        }
        try await common.abort(login)
        #expect(await phone.server.ends == [.sessionAborted])
        #expect(await identityError { _ = try await authenticator.fetchAuthorizationCode(login) } == .sessionAborted)
        #expect(await identityError { try await common.abort(login) } == .sessionAborted)
    }

    @Test("an app that signs itself in gets to know nothing of the person: neither is it told nor does it ask")
    func noClaims() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        await phone.server.ask {
            $0.attributes = [
                RequestedAttribute(
                    .email, aliases: [PersonalInformationAlias(id: "e-1", alias: "At home", isPrimary: true)]),
                RequestedAttribute(.givenName),
            ]
        }
        let authenticator = phone.sdk.authenticator
        let data = try await phone.inAppData(scope: "openid email")
        let request = try await authenticator.startAuthentication(data: data)
        request.info.givenName?.setValue(value: "Ada")
        guard case .serviceLogin(let login) = try await phone.finishByPin(try await phone.prepare(request)) else {
            Issue.record("no login of the app")
            return
        }
        _ = try await authenticator.fetchAuthorizationCode(login)
        #expect(await phone.server.accepted.last == [.email: .alias(id: "e-1"), .givenName: .value("Ada")])
        // It speaks to the identities' server about identities and to nobody else, with nothing that opens userinfo.
        let requests = await phone.server.requests
        #expect(requests.allSatisfy { $0.url.path().hasPrefix("/identity/") && $0.url.host() == "id.example" })
        #expect(requests.allSatisfy { !$0.headers.contains { $0.name == "Authorization" } })
        #expect(requests.last?.url.path().hasSuffix("/code") == true)
    }
}

extension IdentityAuthenticationTests {
    @Test(
        "of two calls at once for one object the second waits until the first is judged, also where it was signed anew",
        arguments: [true, false])
    func finishedTwice(_ isRight: Bool) async throws {
        let gate = Gate()
        let phone = try await VirtualIdentityPhone.personalized { $0.securityInspection = gate }
        let info = try await phone.prepare()
        let pin = isRight ? VirtualIdentityPhone.pin : "000000"
        func sign() throws {
            try info.sign(factor: DeviceFactor())
            try info.sign(factor: PinFactor(pin))
        }
        let finish: @Sendable () async -> CountersignErrorCode? = {
            await identityError { _ = try await phone.sdk.authenticator.finishAuthentication(userInfo: info) }
        }
        await phone.server.forgetRequests()
        await gate.close()
        try sign()
        let first = Task { await finish() }
        while await gate.waiting == 0 { await Task.yield() }
        try sign()
        let second = Task { await finish() }
        // As long as it takes a call to come so far.
        for _ in 0..<1000 { await Task.yield() }
        #expect(await gate.waiting == 1)
        await gate.open()
        #expect(await first.value == nil)
        #expect(await second.value == (isRight ? .sessionExpired : .factorMissing))
        #expect(await phone.server.requests.count == 1)
        #expect(await phone.server.accepted.count == (isRight ? 1 : 0))
        #expect(await phone.server.failures(of: try phone.activation) == (isRight ? 0 : 1))
    }
}

/// A look at the device that takes as long as a test wants.
private actor Gate: SecurityInspection {
    private var isClosed = false
    private var looks: [CheckedContinuation<Void, Never>] = []

    var waiting: Int { self.looks.count }

    func close() { self.isClosed = true }

    func open() {
        self.isClosed = false
        for look in self.looks { look.resume() }
        self.looks = []
    }

    func inspect() async throws -> SecurityFindings {
        if self.isClosed { await withCheckedContinuation { self.looks.append($0) } }
        return SecurityFindings(checkVersion: 1, osVersion: "Test 1", isRooted: false, isHooked: false)
    }
}

/// A device whose protection somebody takes away, and puts back.
// Safe to share: every access to `isRooted` is within `lock`.
final class ChangedDevice: SecurityInspection, @unchecked Sendable {
    private let lock = NSLock()
    private var isRooted = false

    func change(_ isRooted: Bool) { self.lock.withLock { self.isRooted = isRooted } }

    func inspect() -> SecurityFindings {
        SecurityFindings(
            checkVersion: 1, osVersion: "Test 1", isRooted: self.lock.withLock { self.isRooted }, isHooked: false)
    }
}
