import Accounts
import CeremonyEngine
import Records
import SQLStore
import Settings
import Testing
import UAF
import _Primitives

@Suite("Enrolment: pending until the number is given (decision 4), and in the app")
struct EnrolmentTests {
    private func pending(_ server: TestServer, _ phone: TestPhone, name: String = "Alice's phone") async throws
        -> (enrolment: EnrolmentLink, number: String)
    {
        _ = try? await server.directory.create(username: "alice", displayName: "Alice", by: "test")
        let enrolment = try await server.engine.enrolments.createEnrolmentLink(username: "alice", by: "operator")
        let request = try await server.engine.redemptions.redeem(
            token: try TestPhone.token(enrolment.qrContent), operation: .registration)
        let answer = try await server.engine.registrationAnswers.judge(try phone.register(request, name: name))
        #expect(answer.statusCode == .accepted)
        #expect(answer.confirmation?.expiresInSeconds == 600)
        return (enrolment, try #require(answer.confirmation?.number))
    }

    @Test func anEnrolmentGoesThroughItsStates() async throws {
        let server = try TestServer()
        let phone = try TestPhone()
        let account = try await server.directory.create(username: "alice", displayName: nil, by: "test")
        let enrolment = try await server.engine.enrolments.createEnrolmentLink(username: "alice", by: "operator")
        #expect(try await server.engine.enrolments.enrolment(id: enrolment.id).state == .created)
        #expect(enrolment.expiresAt == server.clock.now + .seconds(900))
        let request = try await server.engine.redemptions.redeem(
            token: try TestPhone.token(enrolment.link), operation: .registration)
        #expect(request.requester?.service == "Countersign")
        #expect(request.requester?.origin == "http://localhost:8080")
        let message = try RegistrationRequest(parsing: (request.uafRequest ?? "").utf8)
        #expect(message.username == "alice")
        #expect(try await server.engine.enrolments.enrolment(id: enrolment.id).state == .claimed)
        let answer = try await server.engine.registrationAnswers.judge(try phone.register(request))
        let number = try #require(answer.confirmation?.number)
        #expect(number.count == 6 && number.allSatisfy { $0.isNumber })
        let view = try await server.engine.enrolments.enrolment(id: enrolment.id)
        #expect(view.state == .pendingConfirmation && view.deviceName == "Alice's phone" && view.username == "alice")

        let open = try await server.engine.requests.authentication(username: nil, source: "a")
        let early = try await server.engine.authenticationAnswers.judge(try phone.authenticate(open, counter: 2))
        #expect(early.response.statusCode == .forbidden, "a pending key authenticates nobody")
        #expect(try await server.directory.devices(username: "alice").map(\.isActive) == [false])

        let confirmed = try await server.engine.enrolments.confirmEnrolment(
            id: enrolment.id, number: "\(number.prefix(3)) \(number.suffix(3))", by: "operator")
        #expect(confirmed.state == .succeeded)
        #expect(try await server.directory.devices(username: "alice").map(\.isActive) == [true])
        let now = try await server.engine.authenticationAnswers.judge(try phone.authenticate(open, counter: 2))
        #expect(now.response.statusCode == .ok && now.authenticated?.accountID == account.id)
        #expect(try await server.database.notices(accountID: account.id, limit: 9).map(\.subject) == ["Alice's phone"])
        await #expect(throws: CeremonyError(.wrongState)) {
            try await server.engine.enrolments.confirmEnrolment(id: enrolment.id, number: number, by: "operator")
        }
    }

    @Test func oneWrongNumberEndsItAndTheKeysAreGone() async throws {
        let server = try TestServer()
        let phone = try TestPhone()
        let (enrolment, number) = try await self.pending(server, phone)
        let wrong = number == "000000" ? "000001" : "000000"
        await #expect(throws: CeremonyError(.wrongNumber)) {
            try await server.engine.enrolments.confirmEnrolment(id: enrolment.id, number: wrong, by: "operator")
        }
        #expect(try await server.engine.enrolments.enrolment(id: enrolment.id).state == .failed)
        #expect(try await server.directory.devices(username: "alice").isEmpty)
        await #expect(throws: CeremonyError(.wrongState)) {
            try await server.engine.enrolments.confirmEnrolment(id: enrolment.id, number: number, by: "operator")
        }
        let open = try await server.engine.requests.authentication(username: nil, source: "a")
        let answer = try await server.engine.authenticationAnswers.judge(try phone.authenticate(open, counter: 2))
        #expect(answer.response.statusCode == .unknownKeyID)
    }

    @Test func twentyGuessesAtOnceAreOneGuess() async throws {
        let server = try TestServer()
        let (enrolment, number) = try await self.pending(server, try TestPhone())
        let guesses = (0..<20).map { index in
            let guess = String(String(100_000 + index).suffix(6))
            return guess == number ? "999999" : guess
        }
        let results = await withTaskGroup(of: String.self) { group in
            for guess in guesses {
                group.addTask {
                    do {
                        _ = try await server.engine.enrolments.confirmEnrolment(
                            id: enrolment.id, number: guess, by: "operator")
                        return "confirmed"
                    } catch { return (error as? CeremonyError)?.code.name ?? "\(error)" }
                }
            }
            return await group.reduce(into: [String: Int]()) { $0[$1, default: 0] += 1 }
        }
        #expect(results == ["wrong-number": 1, "wrong-state": 19])
    }

    @Test func anUnconfirmedEnrolmentExpiresWithItsKeys() async throws {
        let server = try TestServer()
        let (enrolment, number) = try await self.pending(server, try TestPhone())
        server.clock.advance(.seconds(600))
        #expect(try await server.engine.enrolments.enrolment(id: enrolment.id).state == .expired)
        await #expect(throws: CeremonyError(.wrongState)) {
            try await server.engine.enrolments.confirmEnrolment(id: enrolment.id, number: number, by: "operator")
        }
        try await server.engine.sweep.run()
        #expect(try await server.directory.devices(username: "alice").isEmpty)
    }

    @Test func aNumberComesTooEarly() async throws {
        let server = try TestServer()
        _ = try await server.directory.create(username: "alice", displayName: nil, by: "test")
        let enrolment = try await server.engine.enrolments.createEnrolmentLink(username: "alice", by: "operator")
        await #expect(throws: CeremonyError(.wrongState)) {
            try await server.engine.enrolments.confirmEnrolment(id: enrolment.id, number: "", by: "operator")
        }
        #expect(try await server.engine.enrolments.enrolment(id: enrolment.id).state == .created)
        await #expect(throws: CeremonyError(.notFound)) { try await server.engine.enrolments.enrolment(id: "none") }
        await #expect(throws: CeremonyError(.notFound)) {
            try await server.engine.enrolments.createEnrolmentLink(username: "nobody", by: "operator")
        }
        await #expect(throws: CeremonyError(.notFound)) {
            try await server.engine.enrolments.confirmEnrolment(id: "none", number: "1", by: "operator")
        }
    }

    @Test("A user name that is too long to be one, however it is written, is not looked up")
    func tooLongAName() async throws {
        let server = try TestServer()
        // With a store that is closed every look fails.
        await server.database.close()
        let most = server.engine.configuration.limits.usernameCharacters
        for name in [
            "", String(repeating: "x", count: most + 1), "a" + String(repeating: "\u{301}", count: most),
            String(repeating: "e\u{301}", count: most),
        ] {
            await #expect(throws: CeremonyError(.notFound)) {
                try await server.engine.enrolments.createEnrolmentLink(username: name, by: "operator")
            }
        }
        await #expect(throws: StoreError.self) {
            try await server.engine.enrolments.createEnrolmentLink(
                username: String(repeating: "x", count: most), by: "operator")
        }
    }

    @Test func aSignInIsNoActivation() async throws {
        let server = try TestServer()
        let dispatched = try await server.engine.dispatches.dispatch(
            DispatchRequest(dispatcher: "link", operation: nil, context: nil), client: server.bank)
        let id = try #require(dispatched.sessionID)
        await #expect(throws: CeremonyError(.notFound)) { try await server.engine.enrolments.enrolment(id: id) }
        await #expect(throws: CeremonyError(.notFound)) {
            try await server.engine.enrolments.confirmEnrolment(id: id, number: "1", by: "operator")
        }
    }

    @Test(arguments: [
        (TestPhone.Fault.signature, UAFStatusCode.unacceptableAttestation), (.otherChallenge, .invalidRequest),
        (.otherFacet, .unacceptableContent), (.otherHash, .unacceptableContent), (.unknownModel, .unknownAAID),
    ])
    func aTamperedRegistrationGetsItsCodeAndEnds(fault: TestPhone.Fault, code: UAFStatusCode) async throws {
        let server = try TestServer()
        _ = try await server.directory.create(username: "alice", displayName: nil, by: "test")
        let enrolment = try await server.engine.enrolments.createEnrolmentLink(username: "alice", by: "operator")
        let request = try await server.engine.redemptions.redeem(
            token: try TestPhone.token(enrolment.link), operation: .registration)
        let answer = try await server.engine.registrationAnswers.judge(try TestPhone().register(request, fault: fault))
        #expect(answer.statusCode == code)
        #expect(try await server.engine.enrolments.enrolment(id: enrolment.id).state == .failed)
        #expect(try await server.directory.devices(username: "alice").isEmpty)
    }

    @Test func aKeyThatExistsIsNotRegisteredAgain() async throws {
        let server = try TestServer()
        let (_, phone) = try await server.enrol()
        _ = try await server.directory.create(username: "bob", displayName: nil, by: "test")
        let enrolment = try await server.engine.enrolments.createEnrolmentLink(username: "bob", by: "operator")
        let request = try await server.engine.redemptions.redeem(
            token: try TestPhone.token(enrolment.link), operation: .registration)
        #expect(
            try await server.engine.registrationAnswers.judge(try phone.register(request)).statusCode
                == .unacceptableKey)
        #expect(try await server.directory.devices(username: "bob").isEmpty)
    }

    @Test func aPersonWhoSaysNoEnrolsNothing() async throws {
        let server = try TestServer()
        _ = try await server.directory.create(username: "alice", displayName: nil, by: "test")
        let enrolment = try await server.engine.enrolments.createEnrolmentLink(username: "alice", by: "operator")
        let request = try await server.engine.redemptions.redeem(
            token: try TestPhone.token(enrolment.link), operation: .registration)
        let answer = try await server.engine.registrationAnswers.judge(
            try TestPhone().giveUp(request, clientErrorCode: 3))
        #expect(answer.statusCode == .ok)
        #expect(try await server.engine.enrolments.enrolment(id: enrolment.id).state == .denied)
    }

    @Test func aDeviceNameCannotActOnATerminal() async throws {
        let server = try TestServer()
        let (enrolment, _) = try await self.pending(
            server, try TestPhone(), name: "\u{1B}[31mred\u{202E}" + String(repeating: "x", count: 500))
        let name = try #require(try await server.engine.enrolments.enrolment(id: enrolment.id).deviceName)
        #expect(
            name.hasPrefix("red") && !name.unicodeScalars.contains("\u{1B}")
                && !name.unicodeScalars.contains("\u{202E}"))
        #expect(name.unicodeScalars.count <= 129)
    }

    @Test func anAppThatAuthenticatedAddsAKeyToItsDeviceAtOnceAndTheOthersAreTold() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.enrol()
        let device = try await server.device(of: account)
        let request = try await server.engine.requests.registration(of: device)
        let message = try RegistrationRequest(parsing: (request.uafRequest ?? "").utf8)
        #expect(message.policy.disallowed.flatMap { $0.keyIDs ?? [] } == [phone.keyID])
        let second = try TestPhone(factor: .fingerprint)
        let answer = try second.register(request, name: "Another name")
        #expect(try await server.engine.registrationAnswers.judge(answer).statusCode == .ok)
        #expect(try await server.engine.registrationAnswers.judge(answer).statusCode == .ok, "the same again")
        let again = try await server.engine.registrationAnswers.judge(try TestPhone().register(request))
        #expect(again.statusCode == .invalidRequest, "the challenge is used up")
        let signIn = try await server.engine.authenticationAnswers.judge(
            try second.authenticate(try await server.claimSignIn(), counter: 2))
        #expect(signIn.response.statusCode == .ok)
        let outcome = try await server.engine.signIns.consume(
            reference: "request", browser: server.browser, client: "demo-bank")
        #expect(outcome?.amr == ["fpt", "swk", "mfa"])
        let notices = try await server.database.notices(accountID: account.id, limit: 9)
        #expect(notices.contains { $0.kind == .authenticatorAdded && $0.subject == "Alice's phone" })
        // One phone is one device.
        let devices = try await server.directory.devices(username: "alice")
        #expect(devices.map(\.name) == ["Alice's phone"])
        let owners = try await server.database.credentials(accountID: account.id).map(\.deviceID)
        #expect(owners == [device.deviceID, device.deviceID])
        #expect(
            try await server.database.auditEntries(after: 0, limit: 99).contains {
                $0.event.kind.rawValue == "authenticator-added" && $0.event.detail == device.deviceID
            })
        let nobody = AuthenticatedDevice(accountID: "nobody", deviceID: device.deviceID)
        #expect(try await server.engine.requests.registration(of: nobody).statusCode == .unauthorized)
    }

    @Test func aKeyOfAModelThatTheDeviceHasTakesTheEarlierOnesPlaceWhenItIsAccepted() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.enrol()
        let other = try await server.addPhone(to: "alice", name: "Tablet")
        let device = try await server.device(of: account)
        let request = try await server.engine.requests.registration(of: device)
        let again = try TestPhone()
        // What is refused, given up or never answered leaves the earlier key as it is.
        let refused = try await server.engine.requests.registration(of: device)
        let answer = try await server.engine.registrationAnswers.judge(try again.register(refused, fault: .signature))
        #expect(answer.statusCode == .unacceptableAttestation)
        #expect(
            try await server.engine.registrationAnswers.judge(try again.giveUp(refused, clientErrorCode: 3)).statusCode
                == .ok)
        #expect(
            try await server.database.credentials(accountID: account.id).map(\.keyID)
                == [phone, other].map(\.keyID.bytes))
        #expect(try await server.engine.registrationAnswers.judge(try again.register(request)).statusCode == .ok)
        let keys = try await server.database.credentials(accountID: account.id)
        #expect(keys.map(\.keyID) == [other, again].map(\.keyID.bytes), "another device's key of that model stays")
        let open = try await server.engine.requests.authentication(username: "alice", source: "a")
        let old = try await server.engine.authenticationAnswers.judge(try phone.authenticate(open, counter: 2))
        #expect(old.response.statusCode == .unknownKeyID && old.response.newUAFRequest != nil)
        let new = try await server.engine.authenticationAnswers.judge(
            try again.authenticate(
                try await server.engine.requests.authentication(username: "alice", source: "a"), counter: 2))
        #expect(new.authenticated == device)
    }

    @Test func anEnrolmentOfAModelThatThePersonHasTakesNothingAwayConfirmedOrNot() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.enrol()
        let again = try TestPhone()
        let (enrolment, number) = try await self.pending(server, again)
        let wrong = number == "000000" ? "000001" : "000000"
        await #expect(throws: CeremonyError(.wrongNumber)) {
            try await server.engine.enrolments.confirmEnrolment(id: enrolment.id, number: wrong, by: "operator")
        }
        #expect(try await server.database.credentials(accountID: account.id).map(\.keyID) == [phone.keyID.bytes])
        let answer = try await server.engine.authenticationAnswers.judge(
            try phone.authenticate(try await server.claimSignIn(), counter: 2))
        #expect(answer.response.statusCode == .ok)
    }

    @Test func aDeviceThatGoesBeforeItsAnswerGetsNoFurtherKey() async throws {
        let server = try TestServer()
        let (account, _) = try await server.enrol()
        let tablet = try await server.addPhone(to: "alice", name: "Tablet")
        let device = try await server.device(of: account)
        let request = try await server.engine.requests.registration(of: device)
        try await server.directory.deleteDevice(id: device.deviceID, by: "operator")
        let answer = try await server.engine.registrationAnswers.judge(
            try TestPhone(factor: .fingerprint).register(request))
        #expect(answer.statusCode == .unauthorized)
        #expect(try await server.database.credentials(accountID: account.id).map(\.keyID) == [tablet.keyID.bytes])
        // Nor does a device of somebody else's, or one that still waits for its number.
        let (bob, _) = try await server.enrol("bob")
        let mixed = AuthenticatedDevice(accountID: account.id, deviceID: try await server.device(of: bob).deviceID)
        let foreign = try await server.engine.requests.registration(of: mixed)
        let refused = try await server.engine.registrationAnswers.judge(
            try TestPhone(factor: .fingerprint).register(foreign))
        #expect(refused.statusCode == .unauthorized)
        #expect(try await server.database.credentials(accountID: bob.id).count == 1)
        _ = try await self.pending(server, try TestPhone(factor: .face), name: "Pending")
        let pending = try #require(try await server.directory.devices(username: "alice").first { !$0.isActive })
        let early = try await server.engine.requests.registration(
            of: AuthenticatedDevice(accountID: account.id, deviceID: pending.id))
        let waiting = try await server.engine.registrationAnswers.judge(
            try TestPhone(factor: .fingerprint).register(early))
        #expect(waiting.statusCode == .unauthorized)
    }

    @Test func aLockedAccountGetsNoActivation() async throws {
        let server = try TestServer()
        _ = try await server.directory.create(username: "alice", displayName: nil, by: "test")
        _ = try await server.directory.setLocked(true, username: "alice", by: "test")
        await #expect(throws: CeremonyError(.locked)) {
            try await server.engine.enrolments.createEnrolmentLink(username: "alice", by: "test")
        }
        _ = try await server.directory.setLocked(false, username: "alice", by: "test")
        _ = try await server.engine.enrolments.createEnrolmentLink(username: "alice", by: "test")
    }
}
