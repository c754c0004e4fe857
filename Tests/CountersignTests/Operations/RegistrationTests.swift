import Ceremony
import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFClient

@Suite(
    "Operations parity 13, 17, 21, 31, 38, 39, 42, 44: registration, out of band and in the app", .overEachKeyAbility)
struct RegistrationTests {
    @Test("An out-of-band registration with a PIN leaves an account, its authenticator and the device's name")
    func pin() async throws {
        let world = try await World()
        let result = try await world.enroll()
        #expect(result.account.username == "alice")
        #expect(result.account.server.baseURL.absoluteString == "https://id.example.com")
        #expect(result.confirmation == nil && result.isDevelopmentStore)
        let data = world.phone.client.localData
        #expect(await data.accounts == [result.account])
        #expect(await data.deviceInformation?.name == "Virtual phone")
        let authenticators = await data.authenticators
        #expect(authenticators.first { $0.kind == .pin }?.registration.isRegistered(username: "alice") == true)
        #expect(authenticators.first { $0.kind == .fingerprint }?.registration.registeredAccounts == [])
        #expect(await world.server.credentials.values.map(\.username) == ["alice"])
        #expect(await world.server.deviceNames == ["Virtual phone"])
    }

    @Test("A registration with a fingerprint verifies the finger")
    func fingerprint() async throws {
        let world = try await World()
        world.phone.sensor.feel(.noMatch(hint: "wet"), .match)
        _ = try await world.phone.enroll(
            try await world.server.registration(for: "alice", policy: World.policy([[World.fingerprint]])))
        #expect(world.phone.person.asked.map(\.question) == [.authenticator, .finger, .finger])
        #expect(world.phone.person.asked.map(\.lastError) == [nil, nil, "wet"])
    }

    @Test("What needs nothing of the person comes along with what they choose")
    func combination() async throws {
        let world = try await World()
        try await world.enroll("alice", [World.possession, World.pin])
        #expect(await world.server.credentials.count == 2)
        let kinds = await world.phone.client.localData.authenticators.filter {
            $0.registration.isRegistered(username: "alice")
        }.map(\.kind)
        #expect(Set(kinds) == [.pin, .devicePossession])
    }

    @Test("The authenticator selector sees all authenticators, and which of them meet the policy")
    func selector() async throws {
        let world = try await World()
        _ = try await world.phone.enroll(
            try await world.server.registration(for: "alice", policy: World.policy([[World.pin]])))
        let asked = try #require(world.phone.person.asked.first)
        #expect(asked.question == .authenticator && asked.accounts.map(\.username) == ["alice"])
        #expect(
            Set(asked.authenticators.map(\.kind))
                == [.pin, .password, .fingerprint, .face, .devicePasscode, .devicePossession])
        #expect(asked.compliant == [.pin] && asked.authenticators.first?.kind == .pin)
        #expect(asked.authenticators.filter { !$0.isSupportedByHardware }.isEmpty)
    }

    @Test(
        "A PIN that does not meet the policy is asked for again",
        arguments: ["", "12345", "1234567", "12345a", "１２３４５６"])
    func pinPolicy(pin: String) async throws {
        let world = try await World()
        world.phone.person.script.newPins = [pin, "246802"]
        _ = try await world.phone.enroll(
            try await world.server.registration(for: "alice", policy: World.policy([[World.pin]])))
        let questions = world.phone.person.asked.filter { $0.question == .newPin }
        #expect(questions.map(\.lastError) == [nil, "invalidPinFormat"])
    }

    @Test("A PIN policy is the app's to choose")
    func ownPolicy() {
        #expect(PinPolicy().accepts("123456") && !PinPolicy().accepts("12345"))
        #expect(PinPolicy(minLength: 4, maxLength: 8).accepts("1234"))
        #expect(!PinPolicy(minLength: 4, maxLength: 8).accepts("123456789"))
        #expect(!PinPolicy(minLength: 0, maxLength: 8).accepts(""))
    }

    @Test("A registration that has to be confirmed brings the number, and the key stays")
    func confirmation() async throws {
        let world = try await World()
        await world.server.judge(
            ServerResponse(
                statusCode: .accepted,
                confirmation: ServerResponse.Confirmation(number: "482913", expiresInSeconds: 600)))
        let result = try await world.enroll()
        #expect(result.confirmation?.number == "482913" && result.confirmation?.expiresInSeconds == 600)
        let again = try await world.restarted()
        #expect(await again.phone.client.localData.accounts.map(\.username) == ["alice"])
        await again.server.judge(ServerResponse(statusCode: .forbidden))
        let error = await operationError {
            _ = try await again.phone.authenticate(try await again.server.authentication())
        }
        #expect(error == .fido(.protocolError))
        #expect(error?.serverStatusCode == 1403)
        _ = try await again.phone.authenticate(try await again.server.authentication())
    }

    @Test(
        "A registration that the server refuses leaves no key and no account",
        arguments: [
            UAFStatusCode.badRequest, .unauthorized, .forbidden, .invalidRequest, .unacceptableContent, .unknownKeyID,
        ])
    func refused(status: UAFStatusCode) async throws {
        let world = try await World()
        await world.server.judge(ServerResponse(statusCode: status))
        let error = await operationError { try await world.enroll() }
        #expect(error?.serverStatusCode == status.rawValue)
        #expect(await world.isEmpty())
        #expect(await world.phone.client.localData.deviceInformation == nil)
        #expect(await world.server.clientErrorCodes.isEmpty)
    }

    @Test("A registration whose answer is lost leaves no key and no account")
    func lostAnswer() async throws {
        let world = try await World()
        await world.server.intercept { request in
            guard request.url.path().hasSuffix("/uaf/1.1/registration/") else { return nil }
            throw TransportError(.unreachable, "cut")
        }
        #expect(await operationError { try await world.enroll() }?.code == .networkError)
        #expect(await world.isEmpty())
    }

    @Test("Keys of a registration that was cut off by a crash are gone after the restart")
    func crashed() async throws {
        let world = try await World()
        let storage = world.phone.storage
        await world.server.intercept { request in
            guard request.url.path().hasSuffix("/uaf/1.1/registration/") else { return nil }
            // The process dies here: what the storage holds now is all there is.
            storage.refuseWrites(true)
            throw TransportError(.unreachable, "cut")
        }
        _ = await operationError { try await world.enroll() }
        #expect(storage.snapshot.keys.contains { $0.hasPrefix("attempts-") })
        let again = try await world.restarted()
        #expect(await again.isEmpty())
    }

    @Test(
        "A person who gives up leaves nothing, and the server hears of it",
        arguments: [
            VirtualPerson.Question.authenticator, .newPin,
        ])
    func cancelled(question: VirtualPerson.Question) async throws {
        let world = try await World()
        world.phone.person.script.reactions[question] = .cancels
        #expect(await operationError { try await world.enroll() } == .fido(.userCanceled))
        #expect(await world.isEmpty())
        #expect(await world.server.clientErrorCodes == [3])
    }

    @Test(
        "The first registration needs a name for the device",
        arguments: [nil, "", " \n", String(repeating: "x", count: 101)])
    func deviceName(name: String?) async throws {
        let world = try await World()
        let payload = try await world.server.registration(for: "alice", policy: VirtualServer.anything)
        guard case .registration(var operation) = try await world.phone.redeem(payload) else {
            Issue.record("not a registration")
            return
        }
        operation = operation.authenticatorSelector(world.phone.person).pinEnroller(world.phone.person)
        if let name { operation = operation.deviceInformation(DeviceInformation(name: name)) }
        let ready = operation
        #expect(
            await operationError { _ = try await ready.execute() }?.code == .missingInteraction)
        #expect(await world.isEmpty())
    }

    @Test("The device keeps its first name, for all accounts, until the last one goes")
    func deviceNameStays() async throws {
        let world = try await World()
        try await world.enroll("alice")
        let payload = try await world.server.registration(for: "bob", policy: World.policy([[World.pin]]))
        _ = try await world.phone.enroll(payload, deviceName: "Another name")
        let data = world.phone.client.localData
        #expect(await data.deviceInformation?.name == "Virtual phone")
        try await data.deleteAuthenticator(username: "alice")
        #expect(await data.deviceInformation?.name == "Virtual phone")
        try await data.deleteAuthenticator(username: "bob")
        #expect(await data.deviceInformation == nil)
    }

    @Test("A policy that nothing on the device meets, and a choice outside of it, are refused")
    func noSuitableAuthenticator() async throws {
        let world = try await World()
        let unknown = Policy(accepted: [[MatchCriteria(aaid: [try AAID("0000#0001")])]])
        let error = await operationError {
            _ = try await world.phone.enroll(try await world.server.registration(for: "alice", policy: unknown))
        }
        #expect(error == .fido(.noSuitableAuthenticator))
        #expect(world.phone.person.asked.isEmpty)
        world.phone.person.script.kind = .fingerprint
        #expect(await operationError { try await world.enroll() } == .fido(.noSuitableAuthenticator))
        #expect(await world.server.clientErrorCodes == [5, 5])
        #expect(await world.isEmpty())
    }

    @Test("A registration is executed once, out of band and in the app, also where it has failed")
    func oneShot() async throws {
        let world = try await World()
        let payload = try await world.server.registration(for: "alice", policy: World.policy([[World.pin]]))
        let operation = world.phone.ready(try await world.registration(payload))
        _ = try await operation.execute()
        #expect(await operationError { _ = try await operation.execute() }?.code == .operationReused)
        let inApp = world.phone.ready(world.phone.client.operations.registration.username("alice"))
        #expect(await operationError { _ = try await inApp.execute() }?.code == .notAuthorized)
        #expect(await operationError { _ = try await inApp.execute() }?.code == .operationReused)
        #expect(await world.server.credentials.count == 1)
    }

    @Test("An authenticator that the app has no screen for cannot be chosen")
    func noScreen() async throws {
        let world = try await World()
        let payload = try await world.server.registration(for: "alice", policy: World.policy([[World.pin]]))
        let operation = try await world.registration(payload)
        let error = await operationError {
            _ =
                try await operation.deviceInformation(DeviceInformation(name: "x"))
                .authenticatorSelector(world.phone.person).execute()
        }
        #expect(error == OperationError(.missingInteraction))
    }

    @Test("Registering the same authenticator again replaces the key; the old one is gone")
    func again() async throws {
        let world = try await World()
        try await world.enroll()
        let first = Set(await world.server.credentials.keys)
        try await world.enroll()
        let second = Set(await world.server.credentials.keys).subtracting(first)
        _ = try await world.phone.authenticate(try await world.server.authentication())
        #expect(await world.server.accepted.last?.assertions.map(\.keyID) == Array(second))
        #expect(await world.phone.client.localData.accounts.count == 1)
        let tries = world.phone.storage.snapshot.keys.filter { $0.hasPrefix("attempts-") }
        #expect(tries.count == 1)
    }

    /// Enrols twice, the second time until a number is given, and gives the names of both keys.
    private func pendingAgain(_ world: World) async throws -> (first: KeyID, second: KeyID) {
        try await world.enroll()
        let first = Set(await world.server.credentials.keys)
        await world.server.judge(ServerResponse(statusCode: .accepted))
        try await world.enroll()
        let second = Set(await world.server.credentials.keys).subtracting(first)
        return (try #require(first.first), try #require(second.first))
    }

    private func tries(_ world: World) -> Int {
        world.phone.storage.snapshot.keys.count { $0.hasPrefix("attempts-") }
    }

    @Test("Registering again until a number is given: the old key goes when the new one answers, not before")
    func confirmedAgain() async throws {
        let world = try await World()
        let (first, second) = try await self.pendingAgain(world)
        #expect(self.tries(world) == 2)
        let named = Policy(accepted: [[MatchCriteria(aaid: [World.pin.aaid], keyIDs: [first])]])
        _ = try await world.phone.authenticate(try await world.server.authentication(policy: named))
        #expect(await world.server.accepted.last?.assertions.map(\.keyID) == [first])
        let again = try await world.restarted()
        #expect(self.tries(again) == 2, "an answer of the old one, or another start, takes neither away")
        _ = try await again.phone.authenticate(try await again.server.authentication())
        #expect(await again.server.accepted.last?.assertions.map(\.keyID) == [second])
        #expect(self.tries(again) == 1)
        let error = await operationError {
            _ = try await again.phone.authenticate(try await again.server.authentication(policy: named))
        }
        #expect(error == .fido(.noSuitableAuthenticator))
        #expect(await again.phone.client.localData.accounts.map(\.username) == ["alice"])
    }

    @Test("Registering again without ever being confirmed costs no key: the old one answers on")
    func declinedAgain() async throws {
        let world = try await World()
        let (first, _) = try await self.pendingAgain(world)
        await world.server.judge(ServerResponse(statusCode: .forbidden))
        let early = await operationError {
            _ = try await world.phone.authenticate(try await world.server.authentication())
        }
        #expect(early == .fido(.protocolError))
        #expect(self.tries(world) == 2)
        // The server has deleted what was never confirmed.
        await world.server.judge(ServerResponse(statusCode: .unknownKeyID))
        let gone = await operationError {
            _ = try await world.phone.authenticate(try await world.server.authentication())
        }
        #expect(gone?.code == .userNotRegisteredInServer)
        #expect(self.tries(world) == 1)
        _ = try await world.phone.authenticate(try await world.server.authentication())
        #expect(await world.server.accepted.last?.assertions.map(\.keyID) == [first])
    }

    @Test("An account of the same name at another server is refused")
    func anotherServer() async throws {
        let world = try await World()
        try await world.enroll()
        let address = URL(string: "https://other.example.com")!
        let server = VirtualServer(baseURL: address)
        var configuration = ClientConfiguration(baseURL: address)
        configuration.facetID = "linux:program:test"
        let phone = try await VirtualPhone(
            configuration: configuration, transport: server, storage: InMemoryStorage(world.phone.storage.snapshot))
        let error = await operationError {
            _ = try await phone.enroll(try await server.registration(for: "alice", policy: VirtualServer.anything))
        }
        #expect(error?.code == .userAlreadyRegisteredInAnotherServer)
        #expect(
            await phone.client.localData.accounts.map(\.server.baseURL.absoluteString) == ["https://id.example.com"])
    }

    @Test("A registration in the app needs a provider, which an authentication gives")
    func inApp() async throws {
        let world = try await World()
        try await world.enroll()
        let phone = world.phone
        func registration() -> Registration {
            phone.client.operations.registration.username("alice").authenticatorSelector(phone.person)
                .fingerprintUserVerifier(phone.person)
        }
        #expect(
            await operationError { _ = try await registration().execute() }?.code
                == .notAuthorized)
        #expect(await world.server.credentials.count == 1)
        let authentication = try await phone.authenticate(username: "alice")
        let provider = try #require(authentication.authorizationProvider)
        #expect(!"\(provider)".contains("virtual-jwt"))
        phone.sensor.feel(.match)
        _ = try await registration().authorizationProvider(provider).execute()
        #expect(await world.server.credentials.count == 2)
        #expect(await phone.client.localData.accounts.count == 1)
    }

    @Test("A request of the server for somebody else is refused")
    func somebodyElse() async throws {
        let world = try await World()
        let payload = try await world.server.registration(for: "mallory", policy: VirtualServer.anything)
        let token = payload.redeemData.token
        await world.server.intercept { request in
            guard request.url.path().contains("request/registration") else { return nil }
            var redeem = request
            redeem.url = payload.redeemData.redeemURL
            redeem.body = Array(#"{"token":"\#(token)"}"#.utf8)
            return try await world.server.send(redeem)
        }
        let error = await operationError {
            _ =
                try await world.phone.client.operations.registration.username("alice")
                .deviceInformation(DeviceInformation(name: "x")).authenticatorSelector(world.phone.person)
                .pinEnroller(world.phone.person).execute()
        }
        #expect(error == .fido(.protocolError))
        #expect(await world.isEmpty())
    }

    @Test("A registration without a name or a selector is a mistake that is told")
    func incomplete() async throws {
        let world = try await World()
        let operations = world.phone.client.operations
        #expect(
            await operationError { _ = try await operations.registration.execute() }?.code
                == .missingInteraction)
        let payload = try await world.server.registration(for: "alice", policy: VirtualServer.anything)
        let operation = try await world.registration(payload)
        let error = await operationError {
            _ =
                try await operation.deviceInformation(DeviceInformation(name: "x")).pinEnroller(world.phone.person)
                .execute()
        }
        #expect(error?.code == .missingInteraction)
    }
}
