import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFClient
import _Primitives

@Suite(
    "Operations parity 59, 60: one spelling of a name, and a list of accounts that can always be read again",
    .overEachKeyAbility)
struct AccountNameTests {
    private static let composed = "Jos\u{E9}"
    private static let decomposed = "Jose\u{301}"
    private static let nobody = [
        "", String(repeating: "x", count: 129), "e" + String(repeating: "\u{301}", count: 31),
    ]

    @Test("A name is the same however a keyboard writes it, and goes to the server in one spelling")
    func spelling() async throws {
        let world = try await World()
        try await world.enroll(Self.decomposed)
        let phone = world.phone
        let account = try #require(await phone.client.localData.accounts.first)
        #expect(account.username.utf8.elementsEqual(Self.composed.utf8))
        for name in [Self.composed, Self.decomposed] {
            let result = try await phone.authenticate(username: name)
            #expect(result.account == account)
            let request = try #require(
                await world.server.requests.last { $0.url.path().hasSuffix("request/authentication/") })
            #expect(try GetUAFRequest(parsing: request.body).context?.string("username")?.utf8.count == 5)
            phone.person.script.username = name
            _ = try await phone.authenticate(try await world.server.authentication())
            let data = phone.client.localData
            #expect(try await data.pinProtectionStatus(username: name) == .unlocked)
            #expect(await data.authenticators[0].registration.isRegistered(username: name))
            let provider = try #require(try await phone.authenticate(username: name).authorizationProvider)
            _ =
                try await phone.ready(phone.client.operations.registration.username(name))
                .authorizationProvider(provider).execute() as RegistrationResult
        }
        try await phone.client.localData.deleteAuthenticator(username: Self.decomposed)
        #expect(await world.isEmpty())
    }

    @Test("What is nobody's name is refused before anything is sent", arguments: nobody)
    func nobodys(name: String) async throws {
        let world = try await World()
        try await world.enroll()
        let before = await world.server.requests.count
        let operations = world.phone.client.operations
        let jwt = JwtAuthorizationProvider("virtual-jwt")
        let errors = [
            await operationError { _ = try await world.phone.authenticate(username: name) },
            await operationError {
                _ = try await world.phone.ready(operations.registration.username(name)).execute() as RegistrationResult
            },
            await operationError { try await operations.deregistration.username(name).execute() },
            await operationError {
                _ = try await operations.accountActivity.username(name).authorizationProvider(jwt).execute()
            },
            await operationError {
                _ = try await operations.waitingQuestions.username(name).authorizationProvider(jwt).execute()
            },
            await operationError {
                _ = try await operations.accountNotices.username(name).authorizationProvider(jwt).execute()
            },
        ]
        #expect(errors.allSatisfy { $0 == OperationError(.missingInteraction) })
        #expect(await world.server.requests.count == before)
        #expect(try await world.phone.client.localData.pinProtectionStatus(username: name) == nil)
        await #expect(throws: DeleteAuthenticatorError(.unknownUsername)) {
            try await world.phone.client.localData.deleteAuthenticator(username: name)
        }
    }

    @Test("Accounts are told apart by the bytes of their names")
    func accounts() throws {
        let server = RegisteredAccount.Server(baseURL: try #require(URL(string: "https://id.example.com")))
        let accounts = ["K", "\u{212A}", "k", "K"].map { RegisteredAccount(username: $0, server: server) }
        #expect(accounts[0] == accounts[3] && Set(accounts).count == 3)
        #expect(accounts[0] != accounts[1], "canonically equivalent")
    }

    @Test("A browser is the one of before where its name has the same bytes")
    func browsers() async throws {
        let world = try await World()
        try await world.enroll()
        func asks(_ browser: String) async throws -> Bool {
            world.phone.person.forget()
            _ = try await world.phone.authenticate(
                try await world.server.authentication(
                    requester: ReturnUAFRequest.Requester(service: "Bank", browserID: browser)))
            return world.phone.person.asked.contains { $0.question == .requester }
        }
        #expect(try await asks("K"))
        #expect(try await asks("\u{212A}"), "the KELVIN SIGN")
        #expect(try await !asks("K"))
    }

    @Test(
        "A name of a device that nobody could read again is refused with the reason, and costs no account",
        arguments: [
            ("e" + String(repeating: "\u{301}", count: 31), "marks"), (String(repeating: "x", count: 101), "100"),
            (" \u{3000}", "white space"),
        ])
    func deviceNames(name: String, reason: String) async throws {
        for isFirst in [true, false] {
            let world = try await World()
            if !isFirst { try await world.enroll("alice") }
            let payload = try await world.server.registration(for: "bob", policy: World.policy([[World.pin]]))
            let error = await operationError { _ = try await world.phone.enroll(payload, deviceName: name) }
            #expect(error == OperationError(.missingInteraction) && error?.reason.contains(reason) == true)
            let again = try await world.restarted()
            #expect(await again.phone.client.localData.accounts.count == (isFirst ? 0 : 1))
            #expect(await world.server.credentials.count == (isFirst ? 0 : 1))
        }
    }

    @Test("A list of accounts that grows beyond what is read is not written, and those of before stay readable")
    func bound() async throws {
        let world = try await World()
        try await world.enroll("alice")
        var values = world.phone.storage.snapshot
        let accounts = try #require(values["accounts"])
        guard case .object(var register) = try JSON(parsing: accounts) else { throw StorageError(.corrupt, "") }
        register["deviceName"] = .string(String(repeating: "x", count: (1 << 20) - accounts.count - 100))
        values["accounts"] = JSON.object(register).serialized
        for (name, value) in values { try world.phone.storage.write(value, to: name) }
        let full = try await world.restarted()
        let payload = try await full.server.registration(for: "bob", policy: World.policy([[World.pin]]))
        #expect(await operationError { _ = try await full.phone.enroll(payload) } == OperationError(.storageError))
        let again = try await full.restarted()
        #expect(await again.phone.client.localData.accounts.map(\.username) == ["alice"])
        _ = try await again.phone.authenticate(try await again.server.authentication())
    }
}
