import Ceremony
import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFClient
import _Primitives

@Suite("Identities whose PIN a service beside the server evaluates (decision 69)") struct EvaluatedPinTests {
    private func phone(withFinger: Bool = false) async throws -> VirtualIdentityPhone {
        let phone = try await VirtualIdentityPhone(server: VirtualIdentityServer())
        await phone.server.newPinService()
        try await phone.personalize(withFinger: withFinger)
        return phone
    }

    /// What was asked of the service, with each request that asked it.
    private func questions(of phone: VirtualIdentityPhone) async throws -> [[UInt8]] {
        try await phone.server.requests.filter { $0.url.path().hasSuffix("/pin-evaluation") }
            .map { try EvaluationRequest(parsing: $0.body).blinded }
    }

    private func signIn(_ phone: VirtualIdentityPhone, pin: String = VirtualIdentityPhone.pin) async throws
        -> AuthenticationResult
    {
        try await phone.finishByPin(try await phone.prepare(), pin: pin)
    }

    @Test("the right PIN signs in, also after a restart; a wrong one costs an attempt, and the right one goes on")
    func signsIn() async throws {
        let phone = try await self.phone()
        #expect(try await self.questions(of: phone).count == 1)
        #expect(try await self.signIn(phone).isUserLogin)
        let restarted = try await phone.restarted()
        #expect(try await self.signIn(restarted).isUserLogin)
        let info = try await restarted.prepare()
        let wrong = try await restarted.finishByPin(info, pin: "824194")
        #expect(wrong.lockout != nil)
        #expect(await restarted.server.failures(of: try restarted.activation) == 1)
        restarted.clock.advance(by: .seconds(60))
        #expect(try await restarted.finishByPin(info).isUserLogin)
        #expect(await restarted.server.failures(of: try restarted.activation) == 0)
        // Each is blinded anew.
        let questions = try await self.questions(of: restarted)
        #expect(questions.count == 5 && Set(questions).count == 5)
    }

    @Test("where the server has no such service, nobody is asked") func withoutService() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        #expect(try await self.signIn(phone).isUserLogin)
        #expect(try await self.questions(of: phone).isEmpty)
    }

    @Test("a service with another key than at the enrolment is found out, and nothing is signed (108)")
    func anotherKey() async throws {
        let phone = try await self.phone()
        await phone.server.newPinService()
        let info = try await phone.prepare()
        await phone.server.forgetRequests()
        #expect(await identityError { _ = try await phone.finishByPin(info) } == .serverSignatureInvalid)
        #expect(await phone.server.requests.allSatisfy { !$0.url.path().hasSuffix("/finish") })
        #expect(try await self.questions(of: phone).count == 1)
        // What was asked has counted, whatever came of it.
        #expect(await phone.server.failures(of: try phone.activation) == 1)
    }

    @Test("an enrolment whose evaluation is not of the key that was named leaves nothing")
    func anotherKeyAtEnrolment() async throws {
        let phone = try await VirtualIdentityPhone(server: VirtualIdentityServer())
        await phone.server.newPinService()
        await phone.server.mistakePinServiceOnce()
        #expect(await identityError { try await phone.personalize(withFinger: false) } == .serverSignatureInvalid)
        #expect(try phone.sdk.personalizer.personalizedIdentities.isEmpty)
        #expect(await phone.server.activeActivations.isEmpty)
        try await phone.personalize(withFinger: false)
        #expect(try await self.signIn(phone).isUserLogin)
    }

    @Test("a question whose answer was lost is asked again with the same bytes, and counts once")
    func lostAnswer() async throws {
        let phone = try await self.phone()
        let info = try await phone.prepare()
        await phone.server.forgetRequests()
        await phone.server.loseAnswers(2)
        let finish: () async throws -> AuthenticationResult = { try await phone.finishByPin(info) }
        #expect(await identityError { _ = try await finish() } == .timeout)
        #expect(await phone.server.failures(of: try phone.activation) == 1)
        #expect(try await finish().isUserLogin)
        let questions = try await self.questions(of: phone)
        #expect(questions.count == 3 && Set(questions).count == 1)
        #expect(await phone.server.failures(of: try phone.activation) == 0)
    }

    @Test("after a question that was refused or whose answer was lost, nothing has to be signed again")
    func keptFactors() async throws {
        let phone = try await self.phone()
        let info = try await phone.prepare()
        await phone.server.forgetRequests()
        await phone.server.refuseNext(IdentityProblem(.tooManyRequests))
        #expect(await identityError { _ = try await phone.finishByPin(info) } == .tooManyRequests)
        await phone.server.loseAnswers(2)
        #expect(await identityError { _ = try await phone.finish(info) } == .timeout)
        #expect(await phone.server.failures(of: try phone.activation) == 1)
        #expect(try await phone.finish(info).isUserLogin)
        let questions = try await self.questions(of: phone)
        #expect(questions.count == 4 && Set(questions).count == 1)
        #expect(await phone.server.failures(of: try phone.activation) == 0)
    }

    @Test("factors whose question is refused because the process is over are not kept") func refusedForGood()
        async throws
    {
        let phone = try await self.phone()
        let info = try await phone.prepare()
        await phone.server.refuseNext(IdentityProblem(.sessionAborted))
        #expect(await identityError { _ = try await phone.finishByPin(info) } == .sessionAborted)
        await phone.server.forgetRequests()
        #expect(await identityError { _ = try await phone.finish(info) } == .sessionExpired)
        #expect(await phone.server.requests.isEmpty)
    }

    @Test("a PIN that is corrected after a lost answer begins anew: there is one question for what is signed")
    func corrected() async throws {
        let phone = try await self.phone()
        let info = try await phone.prepare()
        // The question has counted, and nothing was signed.
        await phone.server.loseAnswers(2)
        #expect(await identityError { _ = try await phone.finishByPin(info, pin: "824194") } == .timeout)
        let error = await #expect(throws: CountersignError.self) {
            _ = try await phone.finishByPin(info)
        }
        #expect(error?.errorCode == .pinAlreadyAsked && error?.errorDescription == "Another PIN was typed before.")
        phone.clock.advance(by: .seconds(60))
        #expect(try await self.signIn(phone).isUserLogin)
    }

    @Test("factors that have left after their question are judged before a PIN that is corrected") func leftBefore()
        async throws
    {
        let phone = try await self.phone()
        let info = try await phone.prepare()
        // The question is answered; the factors do not arrive.
        await phone.server.letPass(1)
        await phone.server.holdBack(2)
        #expect(await identityError { _ = try await phone.finishByPin(info, pin: "824194") } == .timeout)
        #expect(try await phone.finishByPin(info).lockout != nil)
        #expect(await phone.server.failures(of: try phone.activation) == 1)
        phone.clock.advance(by: .seconds(60))
        #expect(try await phone.finishByPin(info).isUserLogin)
    }

    @Test("a device that the server finds unsound is told so before its PIN is asked about, and has lost nothing")
    func unsound() async throws {
        let device = ChangedDevice()
        let phone = try await VirtualIdentityPhone(server: VirtualIdentityServer()) { $0.securityInspection = device }
        await phone.server.newPinService()
        try await phone.personalize(withFinger: false)
        let info = try await phone.prepare()
        device.change(true)
        await phone.server.forgetRequests()
        #expect(await identityError { _ = try await phone.finishByPin(info) } == .securityInsufficient)
        #expect(await phone.server.requests.map { $0.url.lastPathComponent } == ["pin-evaluation"])
        #expect(await phone.server.failures(of: try phone.activation) == 0)
    }

    @Test("a new PIN is evaluated by the same service; by another it is refused, and the former PIN stays")
    func changePin() async throws {
        let phone = try await self.phone()
        let personalizer = phone.sdk.personalizer
        func access(to pin: String, typing former: String) async throws -> ApiAccessChangePin {
            let access = try await phone.accessToChangePin(pin: former)
            access.pinSpec.setPin(pin)
            return access
        }
        try await personalizer.finishChangePin(request: access(to: "246813", typing: VirtualIdentityPhone.pin))
        #expect(await phone.server.pinVersion(of: try phone.activation) == 2)
        #expect(try await self.signIn(phone, pin: "246813").isUserLogin)
        #expect(try await self.signIn(phone).lockout != nil)
        phone.clock.advance(by: .seconds(60))
        let second = try await access(to: "975310", typing: "246813")
        await phone.server.newPinService()
        #expect(
            await identityError { try await personalizer.finishChangePin(request: second) } == .serverSignatureInvalid)
        #expect(await phone.server.pinVersion(of: try phone.activation) == 2)
    }

    @Test("a change that is repeated after its answer was lost is done, though the service is not asked again")
    func repeatedChange() async throws {
        let phone = try await self.phone()
        let personalizer = phone.sdk.personalizer
        let access = try await phone.accessToChangePin()
        #expect(access.pinSpec.setPin("246813") == .valid)
        // The service answers; the server changes the PIN, and nobody hears of it.
        await phone.server.letPass(1)
        await phone.server.loseAnswers(2)
        #expect(await identityError { try await personalizer.finishChangePin(request: access) } == .timeout)
        #expect(await identityError { try await personalizer.finishChangePin(request: access) } == nil)
        #expect(await phone.server.pinVersion(of: try phone.activation) == 2)
        #expect(try await self.signIn(phone, pin: "246813").isUserLogin)
    }

    @Test("a finger that is not shown asks nothing of the service") func fingerFirst() async throws {
        let phone = try await self.phone(withFinger: true)
        await phone.server.ask { $0.roles = [("a", "A", [["biometric", "pin", "device"]])] }
        let info = try await phone.prepare()
        phone.sensor.feel(.match)
        let finger = try await phone.sdk.biometrics.factor(idmIdentifier: phone.server.identifier)
        // Other fingers end the key: the signature fails, whoever was recognised before.
        phone.sensor.enroll([9])
        await phone.server.forgetRequests()
        #expect(
            await identityError {
                _ = try await phone.finish(info, DeviceFactor(), PinFactor(VirtualIdentityPhone.pin), finger)
            } == .biometricInvalidated)
        #expect(try await self.questions(of: phone).isEmpty)
        #expect(await phone.server.failures(of: try phone.activation) == 0)
    }
}
