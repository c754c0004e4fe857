import Ceremony
import Countersign
import CountersignTestKit
import Foundation
import Synchronization
import Testing
import UAF
import UAFClient

@Suite(
    "Operations parity 91 and decision 120: the person types the number that is shown where they began",
    .overEachKeyAbility)
struct NumberMatchTests {
    private static func world() async throws -> World {
        let world = try await World()
        try await world.enroll()
        return world
    }

    private static func questions(_ world: World) -> [VirtualPerson.Question] {
        world.phone.person.asked.map(\.question)
    }

    @Test("The typed number is signed, and asked for after the content and before the PIN")
    func right() async throws {
        let world = try await Self.world()
        world.phone.person.script.numbers = ["004711"]
        let payload = try await world.server.authentication(
            username: "alice", transaction: [text("Pay 5")], number: "004711")
        let operation = world.phone.ready(try await world.operation(payload))
        _ = try await operation.transactionConfirmer(world.phone.person).execute() as AuthenticationSuccess
        #expect(Self.questions(world) == [.transaction, .number, .authenticator, .pin])
        let extensions = try #require(await world.server.accepted.last).assertions.flatMap(\.extensions)
        #expect(extensions.map(\.id).contains(NumberAnswer.id))
    }

    @Test("Without a number nobody is asked for one, and none is signed")
    func none() async throws {
        let world = try await Self.world()
        _ = try await world.phone.authenticate(try await world.server.authentication(username: "alice"))
        #expect(!Self.questions(world).contains(.number))
        let extensions = try #require(await world.server.accepted.last).assertions.flatMap(\.extensions)
        #expect(!extensions.map(\.id).contains(NumberAnswer.id))
    }

    @Test("A wrong number ends the operation with its own code, and the keys stay")
    func wrong() async throws {
        let world = try await Self.world()
        world.phone.person.script.numbers = ["004712"]
        let payload = try await world.server.authentication(username: "alice", number: "004711")
        let error = await operationError { _ = try await world.phone.authenticate(payload) }
        #expect(error?.code == .wrongNumber && error?.recovery == .haveCodeShownAgain)
        #expect(error?.serverStatusCode == UAFStatusCode.unacceptableContent.rawValue)
        _ = try await world.phone.authenticate(try await world.server.authentication(username: "alice"))
    }

    @Test(
        "An answer of another form is asked for again, and is not sent", arguments: ["12345", "1234567", "12a456", ""])
    func form(answer: String) async throws {
        let world = try await Self.world()
        world.phone.person.script.numbers = [answer, "123 456"]
        _ = try await world.phone.authenticate(
            try await world.server.authentication(username: "alice", number: "123456"))
        let asked = world.phone.person.asked.filter { $0.question == .number }
        #expect(asked.map(\.lastError) == [nil, "invalidNumberFormat"])
    }

    @Test("A person who sees no number denies, or gives up")
    func refuses() async throws {
        let world = try await Self.world()
        for reaction in [VirtualPerson.Reaction.denies, .cancels] {
            world.phone.person.script.reactions = [.number: reaction]
            let payload = try await world.server.authentication(username: "alice", number: "123456")
            #expect(await operationError { _ = try await world.phone.authenticate(payload) } == .fido(.userCanceled))
        }
        #expect(await world.server.clientErrorCodes == [3, 3])
    }

    @Test("An app without the screen is told before anybody is asked, and the server too")
    func noScreen() async throws {
        let world = try await Self.world()
        let operation = try await world.operation(
            try await world.server.authentication(username: "alice", number: "123456"))
        let person = world.phone.person
        let error = await operationError {
            _ = try await operation.authenticatorSelector(person).pinUserVerifier(person).execute()
        }
        #expect(error?.code == .missingInteraction)
        #expect(person.asked.isEmpty)
        #expect(await world.server.clientErrorCodes.count == 1)
    }

    @Test("The screen can be an async closure")
    func closure() async throws {
        let world = try await Self.world()
        let person = world.phone.person
        let operation = try await world.operation(
            try await world.server.authentication(
                username: "alice", requester: ReturnUAFRequest.Requester(service: "Bank"), number: "123456"))
        let lengths = Mutex<[Int]>([])
        _ = try await operation.authenticatorSelector(person).pinUserVerifier(person)
            .numberMatcher { context in
                lengths.withLock { $0.append(context.length) }
                return context.requester?.service == "Bank" && context.account.username == "alice" ? "123456" : nil
            }
            .execute()
        #expect(lengths.withLock { $0 } == [6])
        let refused = try await world.operation(
            try await world.server.authentication(username: "alice", number: "123456"))
        let error = await operationError {
            _ = try await refused.authenticatorSelector(person).pinUserVerifier(person).numberMatcher { _ in nil }
                .execute()
        }
        #expect(error == .fido(.userCanceled))
    }
}
