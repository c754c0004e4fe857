import CeremonyEngine
import SQLiteStore
import Store
import Testing
import UAF
import _Primitives

@Suite("Enrolment: pending until the number is given (decision 4), and in the app")
struct EnrolmentTests {
    private func pending(_ server: TestServer, _ phone: TestPhone, name: String = "Alice's phone") async throws
        -> (activation: Activation, number: String)
    {
        _ = try? await server.directory.create(username: "alice", displayName: "Alice", by: "test")
        let activation = try await server.engine.createActivation(username: "alice", by: "operator")
        let request = try await server.engine.redeem(
            token: try TestPhone.token(activation.qrContent), operation: .registration)
        let answer = try await server.engine.answerRegistration(try phone.register(request, name: name))
        #expect(answer.statusCode == .accepted)
        #expect(answer.confirmation?.expiresInSeconds == 600)
        return (activation, try #require(answer.confirmation?.number))
    }

    @Test func anEnrolmentGoesThroughItsStates() async throws {
        let server = try TestServer()
        let phone = try TestPhone()
        let account = try await server.directory.create(username: "alice", displayName: nil, by: "test")
        let activation = try await server.engine.createActivation(username: "alice", by: "operator")
        #expect(try await server.engine.activation(id: activation.id).state == .created)
        #expect(activation.expiresAt == server.clock.now + .seconds(900))
        let request = try await server.engine.redeem(
            token: try TestPhone.token(activation.link), operation: .registration)
        #expect(request.requester?.service == "Countersign")
        #expect(request.requester?.origin == "http://localhost:8080")
        let message = try RegistrationRequest(parsing: (request.uafRequest ?? "").utf8)
        #expect(message.username == "alice")
        #expect(try await server.engine.activation(id: activation.id).state == .claimed)
        let answer = try await server.engine.answerRegistration(try phone.register(request))
        let number = try #require(answer.confirmation?.number)
        #expect(number.count == 6 && number.allSatisfy { $0.isNumber })
        let view = try await server.engine.activation(id: activation.id)
        #expect(view.state == .pendingConfirmation && view.deviceName == "Alice's phone" && view.username == "alice")

        let open = try await server.engine.authenticationRequest(username: nil, source: "a")
        let early = try await server.engine.answerAuthentication(try phone.authenticate(open, counter: 2))
        #expect(early.response.statusCode == .forbidden, "a pending key authenticates nobody")
        #expect(try await server.directory.devices(username: "alice").map(\.isActive) == [false])

        let confirmed = try await server.engine.confirmActivation(
            id: activation.id, number: "\(number.prefix(3)) \(number.suffix(3))", by: "operator")
        #expect(confirmed.state == .succeeded)
        #expect(try await server.directory.devices(username: "alice").map(\.isActive) == [true])
        let now = try await server.engine.answerAuthentication(try phone.authenticate(open, counter: 2))
        #expect(now.response.statusCode == .ok && now.authenticated?.accountID == account.id)
        #expect(try await server.database.notices(accountID: account.id, limit: 9).map(\.subject) == ["Alice's phone"])
        await #expect(throws: CeremonyError(.wrongState)) {
            try await server.engine.confirmActivation(id: activation.id, number: number, by: "operator")
        }
    }

    @Test func oneWrongNumberEndsItAndTheKeysAreGone() async throws {
        let server = try TestServer()
        let phone = try TestPhone()
        let (activation, number) = try await self.pending(server, phone)
        let wrong = number == "000000" ? "000001" : "000000"
        await #expect(throws: CeremonyError(.wrongNumber)) {
            try await server.engine.confirmActivation(id: activation.id, number: wrong, by: "operator")
        }
        #expect(try await server.engine.activation(id: activation.id).state == .failed)
        #expect(try await server.directory.devices(username: "alice").isEmpty)
        await #expect(throws: CeremonyError(.wrongState)) {
            try await server.engine.confirmActivation(id: activation.id, number: number, by: "operator")
        }
        let open = try await server.engine.authenticationRequest(username: nil, source: "a")
        let answer = try await server.engine.answerAuthentication(try phone.authenticate(open, counter: 2))
        #expect(answer.response.statusCode == .unknownKeyID)
    }

    @Test func twentyGuessesAtOnceAreOneGuess() async throws {
        let server = try TestServer()
        let (activation, number) = try await self.pending(server, try TestPhone())
        let guesses = (0..<20).map { index in
            let guess = String(String(100_000 + index).suffix(6))
            return guess == number ? "999999" : guess
        }
        let results = await withTaskGroup(of: String.self) { group in
            for guess in guesses {
                group.addTask {
                    do {
                        _ = try await server.engine.confirmActivation(
                            id: activation.id, number: guess, by: "operator")
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
        let (activation, number) = try await self.pending(server, try TestPhone())
        server.clock.advance(.seconds(600))
        #expect(try await server.engine.activation(id: activation.id).state == .expired)
        await #expect(throws: CeremonyError(.wrongState)) {
            try await server.engine.confirmActivation(id: activation.id, number: number, by: "operator")
        }
        try await server.engine.sweep()
        #expect(try await server.directory.devices(username: "alice").isEmpty)
    }

    @Test func aNumberComesTooEarly() async throws {
        let server = try TestServer()
        _ = try await server.directory.create(username: "alice", displayName: nil, by: "test")
        let activation = try await server.engine.createActivation(username: "alice", by: "operator")
        await #expect(throws: CeremonyError(.wrongState)) {
            try await server.engine.confirmActivation(id: activation.id, number: "", by: "operator")
        }
        #expect(try await server.engine.activation(id: activation.id).state == .created)
        await #expect(throws: CeremonyError(.notFound)) { try await server.engine.activation(id: "none") }
        await #expect(throws: CeremonyError(.notFound)) {
            try await server.engine.createActivation(username: "nobody", by: "operator")
        }
        await #expect(throws: CeremonyError(.notFound)) {
            try await server.engine.confirmActivation(id: "none", number: "1", by: "operator")
        }
    }

    @Test func aSignInIsNoActivation() async throws {
        let server = try TestServer()
        let dispatched = try await server.engine.dispatch(
            DispatchRequest(dispatcher: "link", operation: nil, context: nil), client: server.bank)
        let id = try #require(dispatched.sessionID)
        await #expect(throws: CeremonyError(.notFound)) { try await server.engine.activation(id: id) }
        await #expect(throws: CeremonyError(.notFound)) {
            try await server.engine.confirmActivation(id: id, number: "1", by: "operator")
        }
    }

    @Test(arguments: [
        (TestPhone.Fault.signature, UAFStatusCode.unacceptableAttestation), (.otherChallenge, .invalidRequest),
        (.otherFacet, .unacceptableContent), (.otherHash, .unacceptableContent), (.unknownModel, .unknownAAID),
    ])
    func aTamperedRegistrationGetsItsCodeAndEnds(fault: TestPhone.Fault, code: UAFStatusCode) async throws {
        let server = try TestServer()
        _ = try await server.directory.create(username: "alice", displayName: nil, by: "test")
        let activation = try await server.engine.createActivation(username: "alice", by: "operator")
        let request = try await server.engine.redeem(
            token: try TestPhone.token(activation.link), operation: .registration)
        let answer = try await server.engine.answerRegistration(try TestPhone().register(request, fault: fault))
        #expect(answer.statusCode == code)
        #expect(try await server.engine.activation(id: activation.id).state == .failed)
        #expect(try await server.directory.devices(username: "alice").isEmpty)
    }

    @Test func aKeyThatExistsIsNotRegisteredAgain() async throws {
        let server = try TestServer()
        let (_, phone) = try await server.enrol()
        _ = try await server.directory.create(username: "bob", displayName: nil, by: "test")
        let activation = try await server.engine.createActivation(username: "bob", by: "operator")
        let request = try await server.engine.redeem(
            token: try TestPhone.token(activation.link), operation: .registration)
        #expect(try await server.engine.answerRegistration(try phone.register(request)).statusCode == .unacceptableKey)
        #expect(try await server.directory.devices(username: "bob").isEmpty)
    }

    @Test func aPersonWhoSaysNoEnrolsNothing() async throws {
        let server = try TestServer()
        _ = try await server.directory.create(username: "alice", displayName: nil, by: "test")
        let activation = try await server.engine.createActivation(username: "alice", by: "operator")
        let request = try await server.engine.redeem(
            token: try TestPhone.token(activation.link), operation: .registration)
        let answer = try await server.engine.answerRegistration(try TestPhone().giveUp(request, clientErrorCode: 3))
        #expect(answer.statusCode == .ok)
        #expect(try await server.engine.activation(id: activation.id).state == .denied)
    }

    @Test func aDeviceNameCannotActOnATerminal() async throws {
        let server = try TestServer()
        let (activation, _) = try await self.pending(
            server, try TestPhone(), name: "\u{1B}[31mred\u{202E}" + String(repeating: "x", count: 500))
        let name = try #require(try await server.engine.activation(id: activation.id).deviceName)
        #expect(
            name.hasPrefix("red") && !name.unicodeScalars.contains("\u{1B}")
                && !name.unicodeScalars.contains("\u{202E}"))
        #expect(name.unicodeScalars.count <= 129)
    }

    @Test func anAppThatAuthenticatedAddsAKeyToItsDeviceAtOnceAndTheOthersAreTold() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.enrol()
        let device = try await server.device(of: account)
        let request = try await server.engine.registrationRequest(of: device)
        let message = try RegistrationRequest(parsing: (request.uafRequest ?? "").utf8)
        #expect(message.policy.disallowed.flatMap { $0.keyIDs ?? [] } == [phone.keyID])
        let second = try TestPhone(factor: .fingerprint)
        let answer = try second.register(request, name: "Another name")
        #expect(try await server.engine.answerRegistration(answer).statusCode == .ok)
        #expect(try await server.engine.answerRegistration(answer).statusCode == .invalidRequest, "the same again")
        let again = try await server.engine.answerRegistration(try TestPhone().register(request))
        #expect(again.statusCode == .invalidRequest, "the challenge is used up")
        let signIn = try await server.engine.answerAuthentication(
            try second.authenticate(try await server.claimSignIn(), counter: 2))
        #expect(signIn.response.statusCode == .ok)
        let outcome = try await server.engine.consumeSignIn(reference: "request", browser: server.browser)
        #expect(outcome?.amr == ["fpt", "swk", "mfa"])
        let notices = try await server.database.notices(accountID: account.id, limit: 9)
        #expect(notices.contains { $0.kind == .authenticatorAdded && $0.subject == "Alice's phone" })
        // One phone is one device.
        let devices = try await server.directory.devices(username: "alice")
        #expect(devices.map(\.name) == ["Alice's phone"])
        #expect(
            try await server.database.credentials(accountID: account.id).allSatisfy { $0.deviceID == device.deviceID })
        #expect(
            try await server.database.auditEntries(after: 0, limit: 99).contains {
                $0.event.kind.rawValue == "authenticator-added" && $0.event.detail == device.deviceID
            })
        let nobody = AuthenticatedDevice(accountID: "nobody", deviceID: device.deviceID)
        #expect(try await server.engine.registrationRequest(of: nobody).statusCode == .unauthorized)
    }

    @Test func aKeyOfAModelThatTheDeviceHasTakesTheEarlierOnesPlaceWhenItIsAccepted() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.enrol()
        let other = try await server.addPhone(to: "alice", name: "Tablet")
        let device = try await server.device(of: account)
        let request = try await server.engine.registrationRequest(of: device)
        let again = try TestPhone()
        // What is refused, given up or never answered leaves the earlier key as it is.
        let refused = try await server.engine.registrationRequest(of: device)
        let answer = try await server.engine.answerRegistration(try again.register(refused, fault: .signature))
        #expect(answer.statusCode == .unacceptableAttestation)
        #expect(
            try await server.engine.answerRegistration(try again.giveUp(refused, clientErrorCode: 3)).statusCode == .ok)
        #expect(
            try await server.database.credentials(accountID: account.id).map(\.keyID)
                == [phone, other].map(\.keyID.bytes))
        #expect(try await server.engine.answerRegistration(try again.register(request)).statusCode == .ok)
        let keys = try await server.database.credentials(accountID: account.id)
        #expect(keys.map(\.keyID) == [other, again].map(\.keyID.bytes), "another device's key of that model stays")
        let open = try await server.engine.authenticationRequest(username: "alice", source: "a")
        let old = try await server.engine.answerAuthentication(try phone.authenticate(open, counter: 2))
        #expect(old.response.statusCode == .unknownKeyID && old.response.newUAFRequest != nil)
        let new = try await server.engine.answerAuthentication(
            try again.authenticate(
                try await server.engine.authenticationRequest(username: "alice", source: "a"), counter: 2))
        #expect(new.authenticated == device)
    }

    @Test func anEnrolmentOfAModelThatThePersonHasTakesNothingAwayConfirmedOrNot() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.enrol()
        let again = try TestPhone()
        let (activation, number) = try await self.pending(server, again)
        let wrong = number == "000000" ? "000001" : "000000"
        await #expect(throws: CeremonyError(.wrongNumber)) {
            try await server.engine.confirmActivation(id: activation.id, number: wrong, by: "operator")
        }
        #expect(try await server.database.credentials(accountID: account.id).map(\.keyID) == [phone.keyID.bytes])
        let answer = try await server.engine.answerAuthentication(
            try phone.authenticate(try await server.claimSignIn(), counter: 2))
        #expect(answer.response.statusCode == .ok)
    }

    @Test func aDeviceThatGoesBeforeItsAnswerGetsNoFurtherKey() async throws {
        let server = try TestServer()
        let (account, _) = try await server.enrol()
        let tablet = try await server.addPhone(to: "alice", name: "Tablet")
        let device = try await server.device(of: account)
        let request = try await server.engine.registrationRequest(of: device)
        try await server.directory.deleteDevice(id: device.deviceID, by: "operator")
        let answer = try await server.engine.answerRegistration(try TestPhone(factor: .fingerprint).register(request))
        #expect(answer.statusCode == .unauthorized)
        #expect(try await server.database.credentials(accountID: account.id).map(\.keyID) == [tablet.keyID.bytes])
        // Nor does a device of somebody else's, or one that still waits for its number.
        let (bob, _) = try await server.enrol("bob")
        let mixed = AuthenticatedDevice(accountID: account.id, deviceID: try await server.device(of: bob).deviceID)
        let foreign = try await server.engine.registrationRequest(of: mixed)
        let refused = try await server.engine.answerRegistration(try TestPhone(factor: .fingerprint).register(foreign))
        #expect(refused.statusCode == .unauthorized)
        #expect(try await server.database.credentials(accountID: bob.id).count == 1)
        _ = try await self.pending(server, try TestPhone(factor: .face), name: "Pending")
        let pending = try #require(try await server.directory.devices(username: "alice").first { !$0.isActive })
        let early = try await server.engine.registrationRequest(
            of: AuthenticatedDevice(accountID: account.id, deviceID: pending.id))
        let waiting = try await server.engine.answerRegistration(try TestPhone(factor: .fingerprint).register(early))
        #expect(waiting.statusCode == .unauthorized)
    }
}

@Suite("Accounts and administrators, as operators manage them")
struct AccountDirectoryTests {
    @Test(arguments: ["", " alice", "alice ", "a b", "a\u{202E}b", "a\nb", String(repeating: "x", count: 129)])
    func aNameThatCannotBeShownIsRefused(name: String) async throws {
        let server = try TestServer()
        await #expect(throws: CeremonyError(.invalidRequest)) {
            try await server.directory.create(username: name, displayName: nil, by: "operator")
        }
        if !name.contains(" ") || name.hasPrefix(" ") || name.hasSuffix(" ") {
            await #expect(throws: CeremonyError(.invalidRequest)) {
                try await server.directory.create(username: "fine", displayName: name, by: "operator")
            }
        }
    }

    @Test func everyChangeIsInTheTrailUnderTheOperatorsName() async throws {
        let server = try TestServer()
        let account = try await server.directory.create(username: "alice", displayName: "Alice A", by: "operator")
        await #expect(throws: CeremonyError(.conflict)) {
            try await server.directory.create(username: "alice", displayName: nil, by: "operator")
        }
        #expect(try await server.directory.setLocked(true, username: "alice", by: "operator").isLocked)
        #expect(try await server.directory.setLocked(false, username: "alice", by: "operator").isLocked == false)
        #expect(try await server.directory.accounts().map(\.id) == [account.id])
        #expect(try await server.directory.account(id: account.id) == account)
        try await server.directory.delete(username: "alice", by: "operator")
        for body in [
            { try await server.directory.delete(username: "alice", by: "operator") },
            { _ = try await server.directory.account(username: "alice") },
            { _ = try await server.directory.setLocked(true, username: "alice", by: "operator") },
            { _ = try await server.directory.devices(username: "alice") },
        ] as [@Sendable () async throws -> Void] {
            await #expect(throws: CeremonyError(.notFound)) { try await body() }
        }
        let trail = try await server.database.auditEntries(after: 0, limit: 99).map(\.event)
        #expect(
            trail.map(\.kind.rawValue) == [
                "account-created", "account-locked", "account-unlocked", "account-deleted",
            ])
        #expect(trail.allSatisfy { $0.actor == "operator" && $0.accountID == account.id })
    }

    @Test func aLockedAccountGetsNoActivation() async throws {
        let server = try TestServer()
        _ = try await server.directory.create(username: "alice", displayName: nil, by: "test")
        _ = try await server.directory.setLocked(true, username: "alice", by: "test")
        await #expect(throws: CeremonyError(.locked)) {
            try await server.engine.createActivation(username: "alice", by: "test")
        }
        _ = try await server.directory.setLocked(false, username: "alice", by: "test")
        _ = try await server.engine.createActivation(username: "alice", by: "test")
    }

    @Test func wrongSecretsUseABudgetUp() async throws {
        let server = try TestServer()
        var limits = Limits()
        limits.guessBurst = 2
        let administrators = Administrators(store: server.database, time: server.clock.source, limits: limits)
        let secret = try #require(try await administrators.makeLinkIfNone())
        for _ in 0..<2 {
            await #expect(throws: CeremonyError(.notFound)) {
                try await administrators.redeem(secret: "guess", source: "a")
            }
        }
        await #expect(throws: CeremonyError(.tooManyRequests)) {
            try await administrators.redeem(secret: secret, source: "a")
        }
        _ = try await administrators.redeem(secret: secret, source: "b")
    }

    @Test func theFirstAdministratorComesByALinkThatWorksOnce() async throws {
        let server = try TestServer()
        let administrators = Administrators(store: server.database, time: server.clock.source)
        let replaced = try #require(try await administrators.makeLinkIfNone())
        let secret = try #require(try await administrators.makeLinkIfNone())
        await #expect(throws: CeremonyError(.notFound)) {
            try await administrators.redeem(secret: replaced, source: "a")
        }
        let token = try await administrators.redeem(secret: secret, source: "a")
        await #expect(throws: CeremonyError(.notFound)) { try await administrators.redeem(secret: secret, source: "a") }
        #expect(try await administrators.administrator(token: token) != nil)
        #expect(try await administrators.administrator(token: secret) == nil)
        #expect(try await administrators.makeLinkIfNone() == nil)
        server.clock.advance(.seconds(366 * 24 * 60 * 60))
        #expect(try await administrators.administrator(token: token) == nil)
        #expect(try await administrators.makeLinkIfNone() != nil, "nobody is locked out for good")
    }

    @Test func anOldLinkDoesNotWork() async throws {
        let server = try TestServer()
        let administrators = Administrators(store: server.database, time: server.clock.source)
        let secret = try #require(try await administrators.makeLinkIfNone())
        server.clock.advance(.seconds(15 * 60))
        await #expect(throws: CeremonyError(.notFound)) { try await administrators.redeem(secret: secret, source: "a") }
    }
}
