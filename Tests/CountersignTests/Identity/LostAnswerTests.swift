import Ceremony
import Countersign
import CountersignTestKit
import PersonalInformation
import Testing

@Suite("Steps whose answers are lost for longer than the SDK asks by itself (decision 82)") struct LostAnswerTests {
    private static let server = "https://id.example"
    private static let minute = Duration.seconds(60)

    /// Carries out what comes next and what repeats it, and loses both answers, which takes as long as an exchange may.
    private func lose(_ phone: VirtualIdentityPhone) async {
        await phone.server.forgetRequests()
        await phone.server.loseAnswers(2, after: .seconds(12))
    }

    /// How many requests there were since then, but for those for the server's keys: those that are the same, to the letter,
    /// are one.
    private func requests(_ phone: VirtualIdentityPhone) async -> Int {
        Set(await phone.server.requests.compactMap(\.deviceProof)).count
    }

    @Test("a code that this device has claimed is its own when it is started again") func start() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let data = try await phone.data()
        let authenticator = phone.sdk.authenticator
        await self.lose(phone)
        #expect(await identityError { _ = try await authenticator.startAuthentication(data: data) } == .timeout)
        let request = try await authenticator.startAuthentication(data: data)
        #expect(request.serviceName == "Health Portal")
        #expect(await self.requests(phone) == 1)
        #expect(try await phone.finishByPin(try await phone.prepare(request)).isUserLogin)
        // It was answered: whoever starts it once more is told so.
        #expect(await identityError { _ = try await authenticator.startAuthentication(data: data) } == .sessionConsumed)
    }

    @Test("a code that is scanned once more after a lost answer is this device's") func scannedAgain() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let authenticator = phone.sdk.authenticator
        let code = try await phone.server.authenticationCode()
        let start: () async throws -> AuthenticateRequest = {
            try await authenticator.startAuthentication(data: try phone.authenticationData(code))
        }
        await self.lose(phone)
        #expect(await identityError { _ = try await start() } == .timeout)
        // The claim of another code is another one.
        let other = try await phone.data()
        await self.lose(phone)
        #expect(await identityError { _ = try await authenticator.startAuthentication(data: other) } == .timeout)
        await phone.server.forgetRequests()
        let request = try await start()
        #expect(await self.requests(phone) == 1)
        try await phone.sdk.common.abort(request)
        #expect(try await phone.authenticate(other).isUserLogin)
        #expect(await identityError { _ = try await start() } == .sessionAborted)
    }

    @Test("a claim of an identity that is gone is not sent again for another one") func formerClaim() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let authenticator = phone.sdk.authenticator
        let data = try await phone.data()
        let start: () async throws -> Void = { _ = try await authenticator.startAuthentication(data: data) }
        await self.lose(phone)
        #expect(await identityError(start) == .timeout)
        let former = await phone.server.requests.compactMap(\.deviceProof)
        #expect(Set(former).count == 1)
        try await phone.sdk.personalizer.depersonalizeIdentityManager(idmIdentifier: Self.server)
        try await phone.personalize()
        await phone.server.forgetRequests()
        // The former one has claimed the session.
        #expect(await identityError(start) == .sessionConsumed)
        let requests = await phone.server.requests
        #expect(!requests.contains { $0.headers.contains { former.contains($0.value) } })
    }

    @Test("the same answers are sent again by the same request, and others by another") func prepare() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        await phone.server.ask { $0.attributes = [RequestedAttribute(.givenName)] }
        for name in ["Ada", "Grace"] {
            let request = try await phone.start()
            request.info.givenName?.setValue(value: "Ada")
            await self.lose(phone)
            #expect(await identityError { _ = try await phone.prepare(request) } == .timeout)
            request.info.givenName?.setValue(value: name)
            let info = try await phone.prepare(request)
            #expect(await self.requests(phone) == (name == "Ada" ? 1 : 2))
            #expect(try await phone.finishByPin(info).isUserLogin)
            #expect(await phone.server.accepted.last == [.givenName: .value(name)])
        }
    }

    @Test("factors that were accepted end in a success when they are finished again, signed anew or not")
    func finish() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        for factors in [[], [DeviceFactor(), PinFactor("000000")]] as [[AuthenticationFactor]] {
            let info = try await phone.prepare()
            await self.lose(phone)
            #expect(await identityError { _ = try await phone.finishByPin(info) } == .timeout)
            for factor in factors { try info.sign(factor: factor) }
            #expect(try await phone.finish(info).isUserLogin)
            #expect(await self.requests(phone) == 1)
            #expect(await phone.server.failures(of: try phone.activation) == 0)
            #expect(await identityError { _ = try await phone.finish(info) } == .sessionExpired)
        }
        #expect(await phone.server.accepted.count == 2)
        #expect(try phone.sdk.personalizer.personalizedIdentities[0].lastUsedAt != nil)
    }

    @Test("that there are too many requests decides nothing about factors that have left", arguments: [1, 2])
    func tooMany(_ losses: Int) async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let info = try await phone.prepare()
        await phone.server.forgetRequests()
        await phone.server.loseAnswers(losses)
        // After one loss it is what the SDK's own repetition is told, and after two what the app's is.
        if losses == 1 { await phone.server.refuseRepetition(IdentityProblem(.tooManyRequests)) }
        let first = await identityError { _ = try await phone.finishByPin(info) }
        #expect(first == (losses == 1 ? .tooManyRequests : .timeout))
        if losses == 2 {
            await phone.server.refuseRepetition(IdentityProblem(.tooManyRequests))
            #expect(await identityError { _ = try await phone.finish(info) } == .tooManyRequests)
        }
        #expect(try await phone.finish(info).isUserLogin)
        #expect(await self.requests(phone) == 1)
    }

    @Test("what the server has judged of factors that have left is the result before others are judged")
    func judgedBefore() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let info = try await phone.prepare()
        await self.lose(phone)
        #expect(await identityError { _ = try await phone.finishByPin(info, pin: "000000") } == .timeout)
        let lockout = try await phone.finishByPin(info).lockout
        #expect(lockout?.isPermanent == false)
        #expect(await phone.server.failures(of: try phone.activation) == 1)
        // As after every lockout nothing is signed, and the same process goes on.
        #expect(await identityError { _ = try await phone.finish(info) } == .factorMissing)
        phone.clock.advance(by: Self.minute)
        #expect(try await phone.finishByPin(info).isUserLogin)
    }

    @Test("factors that never arrived are judged when they are sent again, and once") func neverArrived() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let info = try await phone.prepare()
        await phone.server.holdBack(2)
        #expect(await identityError { _ = try await phone.finishByPin(info) } == .timeout)
        #expect(await phone.server.accepted.isEmpty)
        #expect(try await phone.finish(info).isUserLogin)
        try await phone.server.deliver()
        #expect(await phone.server.accepted.count == 1)
    }

    @Test("once the proof is too old nobody says what has become of it: it is signed anew, and judged as another try")
    func tooOld() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        for hasArrived in [true, false] {
            let info = try await phone.prepare()
            if hasArrived { await self.lose(phone) } else { await phone.server.holdBack(2) }
            #expect(await identityError { _ = try await phone.finishByPin(info) } == .timeout)
            phone.clock.advance(by: Self.minute + .seconds(1))
            #expect(await identityError { _ = try await phone.finish(info) } == .factorMissing)
            await phone.server.forgetRequests()
            let again = await identityError { _ = try await phone.finishByPin(info) }
            #expect(again == (hasArrived ? .sessionConsumed : nil))
            // What was too old is not sent a second time.
            #expect(await phone.server.requests.count == 1)
        }
        #expect(await phone.server.accepted.count == 2)
        #expect(await phone.server.failures(of: try phone.activation) == 0)
    }

    @Test("factors that others have overtaken are signed anew, for their counters would be too low")
    func overtaken() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let info = try await phone.prepare()
        await phone.server.holdBack(2)
        #expect(await identityError { _ = try await phone.finishByPin(info) } == .timeout)
        #expect(try await phone.authenticate(try await phone.data()).isUserLogin)
        #expect(await identityError { _ = try await phone.finish(info) } == .factorMissing)
        #expect(try await phone.finishByPin(info).isUserLogin)
        #expect(await phone.server.failures(of: try phone.activation) == 0)
    }

    @Test("what has left of a process that was given up is not sent again") func givenUp() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let info = try await phone.prepare()
        await phone.server.holdBack(2)
        #expect(await identityError { _ = try await phone.finishByPin(info) } == .timeout)
        try await phone.sdk.common.abort(info)
        await phone.server.forgetRequests()
        #expect(await identityError { _ = try await phone.finish(info) } == .sessionExpired)
        #expect(await phone.server.requests.isEmpty)
    }

    @Test("answers that have left in a process that was given up are not sent again")
    func givenUpAnswers() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let request = try await phone.start()
        let prepare: () async throws -> Void = { _ = try await phone.prepare(request) }
        await self.lose(phone)
        #expect(await identityError(prepare) == .timeout)
        try await phone.sdk.common.abort(request)
        // What the server had prepared would be told once more.
        #expect(await identityError(prepare) == .sessionAborted)
    }

    @Test("a PIN that is about to be changed is still known as the former one") func formerPin() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let info = try await phone.prepare(
            try await phone.sdk.personalizer.startChangePin(idmIdentifier: Self.server))
        await self.lose(phone)
        #expect(await identityError { _ = try await phone.finishByPin(info) } == .timeout)
        guard case .apiAccessChangePin(let access) = try await phone.finish(info) else {
            Issue.record("another result")
            return
        }
        #expect(access.pinSpec.setPin(VirtualIdentityPhone.pin) == .unchanged)
        #expect(access.pinSpec.setPin("970358") == .valid)
        try await phone.sdk.personalizer.finishChangePin(request: access)
        #expect(try await phone.authenticate(try await phone.data(), pin: "970358").isUserLogin)
    }

    private func newActivation(_ phone: VirtualIdentityPhone) async throws -> ApiAccessRequestNewActivationData {
        let access = try await phone.accessToNewActivation()
        #expect(access.pinSpec.setPin("735041") == .valid)
        access.alias = "Tablet"
        return access
    }

    @Test("an activation that was made is the one whose code comes, where nothing of the wish has changed")
    func activation() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let access = try await self.newActivation(phone)
        let personalizer = phone.sdk.personalizer
        let finish: () async throws -> Void = { _ = try await personalizer.finishRequestNewActivationData(access) }
        await self.lose(phone)
        #expect(await identityError(finish) == .timeout)
        // Nobody gets the code of a PIN in the place of another's.
        #expect(access.pinSpec.setPin("604817") == .valid)
        #expect(await identityError(finish) == .grantExpired)
        #expect(access.pinSpec.setPin("735041") == .valid)
        access.alias = "Laptop"
        #expect(await identityError(finish) == .grantExpired)
        access.alias = "Tablet"
        let code = try await personalizer.finishRequestNewActivationData(access)
        let other = try await VirtualIdentityPhone(server: phone.server)
        try await other.personalize(code, pin: "735041")
        #expect(try await other.authenticate(try await other.data(), pin: "735041").isUserLogin)
        #expect(await identityError(finish) == .pinMissing)
    }

    @Test("an activation is asked for by the same request until its code is verified, and then no more")
    func unverifiedActivation() async throws {
        let server = try VirtualIdentityServer()
        let phone = try await VirtualIdentityPhone(server: server, clock: FakeClock(wall: server.now))
        try await phone.personalize()
        let access = try await self.newActivation(phone)
        let personalizer = phone.sdk.personalizer
        let finish: () async throws -> Void = { _ = try await personalizer.finishRequestNewActivationData(access) }
        let clock = phone.clock
        await server.forgetRequests()
        await server.damage { response in
            // The keys by which the answer is verified are too old for its code, and the app gets no others.
            clock.advance(by: .seconds(86_401))
            server.assumeIsolated { $0.speak(2...3) }
            return response
        }
        for _ in 1...2 {
            await server.speak(1...1)
            #expect(await identityError(finish) == .protocolVersionUnsupported)
        }
        await server.damage(nil)
        await server.speak(1...1)
        #expect(await identityError(finish) == nil)
        #expect(await self.requests(phone) == 1)
        // From now on the same wish is another one.
        #expect(access.pinSpec.setPin("735041") == .valid)
        #expect(await identityError(finish) == .grantExpired)
        #expect(await self.requests(phone) == 2)
    }

    @Test("an activation whose code has come is over: the same wish has it told no more", arguments: [true, false])
    func finishedActivation(_ wasLost: Bool) async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let access = try await self.newActivation(phone)
        let personalizer = phone.sdk.personalizer
        let finish: () async throws -> Void = { _ = try await personalizer.finishRequestNewActivationData(access) }
        if wasLost {
            await self.lose(phone)
            #expect(await identityError(finish) == .timeout)
        }
        #expect(await identityError(finish) == nil)
        #expect(access.pinSpec.setPin("735041") == .valid)
        await phone.server.forgetRequests()
        // The answer of before would hold the code.
        #expect(await identityError(finish) == .grantExpired)
        #expect(await self.requests(phone) == 1)
    }

    @Test(
        "an activation that was refused is asked for by another request, and by the same one where it was lost before",
        arguments: [true, false])
    func refusedActivation(_ wasLost: Bool) async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let access = try await self.newActivation(phone)
        let personalizer = phone.sdk.personalizer
        let finish: () async throws -> Void = { _ = try await personalizer.finishRequestNewActivationData(access) }
        await phone.server.forgetRequests()
        if wasLost {
            await phone.server.loseAnswers(1)
            await phone.server.refuseRepetition(IdentityProblem(.tooManyRequests))
        } else {
            await phone.server.refuseNext(IdentityProblem(.tooManyRequests))
        }
        #expect(await identityError(finish) == .tooManyRequests)
        // A request that was refused is refused again, and one that was carried out is all that tells the code.
        #expect(await identityError(finish) == nil)
        #expect(await self.requests(phone) == (wasLost ? 1 : 2))
    }

    @Test("what has left is not sent again once its identity is gone from this device")
    func goneIdentity() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let personalizer = phone.sdk.personalizer
        let request = try await phone.start()
        let access = try await self.newActivation(phone)
        let prepare: () async throws -> Void = { _ = try await phone.prepare(request) }
        let finish: () async throws -> Void = { _ = try await personalizer.finishRequestNewActivationData(access) }
        for step in [prepare, finish] {
            await self.lose(phone)
            #expect(await identityError(step) == .timeout)
        }
        try await personalizer.depersonalizeIdentityManager(idmIdentifier: Self.server)
        await phone.server.forgetRequests()
        for step in [prepare, finish] { #expect(await identityError(step) == .notPersonalized) }
        #expect(await phone.server.requests.isEmpty)
        // Neither is it where another one of the same server is here.
        try await phone.personalize()
        await phone.server.forgetRequests()
        for step in [prepare, finish] { #expect(await identityError(step) == .notPersonalized) }
        #expect(await phone.server.requests.isEmpty)
    }

    @Test("two calls at once make one activation, and one of them has its code") func doubledActivation() async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let access = try await self.newActivation(phone)
        let personalizer = phone.sdk.personalizer
        let codes = await identityErrors { _ = try await personalizer.finishRequestNewActivationData(access) }
        #expect(codes.filter { $0 == nil }.count == 1)
        #expect(codes.contains { $0 == .grantExpired || $0 == .pinMissing })
    }

    @Test("an authorization code is told again to whoever lost it, and then to nobody") func authorizationCode()
        async throws
    {
        let phone = try await VirtualIdentityPhone.personalized()
        let authenticator = phone.sdk.authenticator
        let login = try await phone.serviceLogin(state: "s-1")
        let fetch: () async throws -> Void = { _ = try await authenticator.fetchAuthorizationCode(login) }
        await self.lose(phone)
        #expect(await identityError(fetch) == .timeout)
        #expect(try await authenticator.fetchAuthorizationCode(login).code == "code-1")
        #expect(await identityError(fetch) == .sessionConsumed)
    }

    @Test(
        "an authorization code is not told again where the login was given up, whatever the server says to that",
        arguments: [true, false])
    func givenUpCode(_ isDown: Bool) async throws {
        let phone = try await VirtualIdentityPhone.personalized()
        let login = try await phone.serviceLogin(state: "s-1")
        let fetch: () async throws -> Void = { _ = try await phone.sdk.authenticator.fetchAuthorizationCode(login) }
        await self.lose(phone)
        #expect(await identityError(fetch) == .timeout)
        await phone.server.goDown(isDown)
        #expect(
            await identityError { try await phone.sdk.common.abort(login) }
                == (isDown ? .connectionError : .sessionConsumed))
        await phone.server.goDown(false)
        // By the request of before it would be told.
        #expect(await identityError(fetch) == .sessionConsumed)
        #expect(await self.requests(phone) == 3)
    }
}
