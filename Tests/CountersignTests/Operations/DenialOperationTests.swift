import Ceremony
import Countersign
import CountersignTestKit
import Foundation
import JOSE
import Synchronization
import Testing
import UAF
import UAFClient

@Suite("Operations parity 95 and decision 119: a person denies, and the device signs the denial", .overEachKeyAbility)
struct DenialOperationTests {
    /// A world in which the server knows the keys of the phones' accounts.
    private static func world(_ usernames: [Username] = ["alice"]) async throws -> World {
        let world = try await World()
        for username in usernames {
            try await world.enroll(username)
            try await Self.makeKnown(username, world)
        }
        return world
    }

    private static func makeKnown(_ username: Username, _ world: World) async throws {
        let accounts = await world.phone.client.localData.accounts
        let account = try #require(accounts.first { $0.username == username })
        let identity = try #require(try await world.phone.client.deviceIdentity(of: account))
        await world.server.judge(ServerResponse(statusCode: .ok, deviceKey: identity.signingKey.keyID))
        world.phone.person.script.username = username
        _ = try await world.phone.authenticate(try await world.server.authentication(username: username))
        world.phone.person.script.username = nil
        world.phone.person.forget()
    }

    private static func denial(_ world: World) -> Denial { world.phone.client.operations.denial }

    // MARK: On a screen

    @Test(
        "Each screen can deny, and the operation ends as one that was given up",
        arguments: [VirtualPerson.Question.account, .authenticator, .requester, .transaction])
    func screens(question: VirtualPerson.Question) async throws {
        for statement in [DenialStatement.unwanted, .wrongContent, .notMe] {
            try await Self.deny(statement, at: question)
        }
    }

    private static func deny(_ statement: DenialStatement, at question: VirtualPerson.Question) async throws {
        let world = try await Self.world()
        world.phone.person.script.reactions = [question: .denies]
        world.phone.person.script.denial = statement
        let payload = try await world.server.authentication(
            transaction: [text("Pay 5")],
            requester: ReturnUAFRequest.Requester(service: "Bank", browserID: "browser"))
        let before = await world.server.accepted.count
        let operation = world.phone.ready(try await world.operation(payload))
        let error = await operationError {
            _ = try await operation.transactionConfirmer(world.phone.person).execute() as AuthenticationSuccess
        }
        #expect(error == .fido(.userCanceled))
        #expect(
            await world.server.denials == [VirtualServer.Denial(username: "alice", statement: statement)])
        #expect(await world.server.clientErrorCodes == [3])
        #expect(await world.server.accepted.count == before, "no key has signed")
        #expect(world.phone.person.asked.last?.question == question)
    }

    @Test("A screen that gives up signs nothing")
    func givesUp() async throws {
        let world = try await Self.world()
        world.phone.person.script.reactions = [.authenticator: .cancels]
        let payload = try await world.server.authentication(username: "alice", transaction: [text("Pay 5")])
        #expect(await operationError { _ = try await world.phone.authenticate(payload) } == .fido(.userCanceled))
        #expect(await world.server.denials.isEmpty)
        #expect(await world.server.clientErrorCodes == [3])
    }

    @Test("A denial on the screen of a registration is a cancellation: the device has no key yet")
    func registration() async throws {
        let world = try await World()
        world.phone.person.script.reactions = [.authenticator: .denies]
        let payload = try await world.server.registration(for: "alice", policy: World.policy([[World.pin]]))
        #expect(await operationError { _ = try await world.phone.enroll(payload) } == .fido(.userCanceled))
        #expect(await world.server.denials.isEmpty)
        #expect(await world.server.clientErrorCodes == [3])
    }

    @Test("An app's test of its own screen sees the statement, and one answer")
    func handlers() {
        let said = Mutex<[DenialStatement]>([])
        let deny: @Sendable (DenialStatement) -> Void = { statement in said.withLock { $0.append(statement) } }
        let confirmation = TransactionConfirmationHandler(approve: {}, deny: deny)
        confirmation.deny(.wrongContent)
        confirmation.deny(.notMe)
        RequesterVerificationHandler(approve: {}, deny: deny).deny(.notMe)
        AccountSelectionHandler(username: { _ in }, deny: deny).deny()
        AuthenticatorSelectionHandler(aaid: { _ in }, deny: deny).deny(.unwanted)
        #expect(said.withLock { $0 } == [.wrongContent, .notMe, .unwanted, .unwanted])
    }

    // MARK: The operation

    @Test("A payload is denied without a question to the person")
    func payload() async throws {
        let world = try await Self.world()
        let payload = try await world.server.authentication(username: "alice", transaction: [text("Pay 5")])
        try await Self.denial(world).payload(payload).statement(.notMe).execute()
        #expect(await world.server.denials == [VirtualServer.Denial(username: "alice", statement: .notMe)])
        #expect(world.phone.person.asked.isEmpty)
        #expect(await operationError { _ = try await world.phone.redeem(payload) }?.code == .tokenAlreadyRedeemed)
    }

    @Test("A request that was redeemed is denied in place of its authentication")
    func redeemed() async throws {
        let world = try await Self.world()
        let operation = try await world.operation(try await world.server.authentication(username: "alice"))
        try await operation.denial.statement(.wrongContent).execute()
        #expect(await world.server.denials == [VirtualServer.Denial(username: "alice", statement: .wrongContent)])
    }

    @Test("With callbacks a denial ends with one call")
    func callbacks() async throws {
        let world = try await Self.world()
        let payload = try await world.server.authentication(username: "alice")
        let result: OperationError? = await withCheckedContinuation { continuation in
            Self.denial(world).payload(payload).onSuccess { continuation.resume(returning: nil) }
                .onError { continuation.resume(returning: $0) }.execute()
        }
        #expect(result == nil)
        #expect(await world.server.denials == [VirtualServer.Denial(username: "alice", statement: .unwanted)])
    }

    @Test("Of several accounts the one whose keys are asked denies, else the one that the app names")
    func accounts() async throws {
        let world = try await Self.world(["alice", "bob"])
        try await Self.denial(world).payload(try await world.server.authentication(username: "bob")).execute()
        try await Self.denial(world).payload(try await world.server.authentication()).username("bob").execute()
        try await Self.denial(world).payload(try await world.server.authentication()).execute()
        #expect(await world.server.denials.map(\.username) == ["bob", "bob", "alice"])
    }

    // MARK: What ends without a denial

    @Test("A device whose keys the server does not know gives up, and the app is told that nothing was signed")
    func unknownKeys() async throws {
        let world = try await World()
        try await world.enroll()
        let payload = try await world.server.authentication(username: "alice")
        let error = await operationError { try await Self.denial(world).payload(payload).execute() }
        #expect(error?.code == .notAuthorized)
        #expect(await world.server.denials.isEmpty)
        #expect(await world.server.clientErrorCodes == [3])
    }

    @Test("A server that refuses the device's signature learns the keys with the next authentication")
    func refused() async throws {
        let world = try await Self.world()
        let first = try await world.server.authentication(username: "alice")
        await world.server.judge(ServerResponse(statusCode: .unauthorized))
        let error = await operationError { try await Self.denial(world).payload(first).execute() }
        #expect(error?.code == .notAuthorized)
        let second = try await world.server.authentication(username: "alice")
        _ = try await world.phone.authenticate(second)
        let told = try #require(await world.server.accepted.last).assertions.flatMap(\.extensions).map(\.id)
        #expect(told == [DeviceKeyAnnouncement.id])
    }

    @Test("The token of a deregistration is not used: redeeming it would delete keys")
    func deregistration() async throws {
        let world = try await Self.world()
        let payload = try await world.server.deregistration(of: "alice")
        let before = await world.server.requests.count
        let error = await operationError { try await Self.denial(world).payload(payload).execute() }
        #expect(error == .fido(.protocolError))
        #expect(await world.server.requests.count == before)
    }

    @Test("A registration is given up")
    func enrolment() async throws {
        let world = try await Self.world()
        let payload = try await world.server.registration(for: "bob", policy: World.policy([[World.pin]]))
        let error = await operationError { try await Self.denial(world).payload(payload).execute() }
        #expect(error == .fido(.protocolError))
        #expect(await world.server.clientErrorCodes == [3])
        #expect(await world.server.denials.isEmpty)
    }

    @Test("No request, two requests and a second execution are mistakes of the app; nothing is sent")
    func mistakes() async throws {
        let world = try await Self.world()
        let payload = try await world.server.authentication(username: "alice")
        let before = await world.server.requests.count
        let none = await operationError { try await Self.denial(world).execute() }
        #expect(none?.code == .missingInteraction)
        let two = await operationError { try await Self.denial(world).payload(payload).payload(payload).execute() }
        #expect(two?.code == .missingInteraction)
        #expect(await world.server.requests.count == before)
        let operation = Self.denial(world).payload(payload)
        try await operation.execute()
        #expect(await operationError { try await operation.execute() }?.code == .operationReused)
        #expect(!"\(operation)".contains(payload.redeemData.token))
    }
}
