import Ceremony
import Countersign
import CountersignTestKit
import Foundation
import Testing

@Suite("What services ask a person without a browser: the phone fetches it", .overEachKeyAbility)
struct WaitingQuestionsTests {
    private static let provider = JwtAuthorizationProvider("the-jwt")
    private static let body = """
        {"username":"alice","questions":[
        {"id":"q-1_A","service":"Call\\u202eCentre","origin":"https://b\u{430}nk.example","link":"LINK",
        "expiresAt":"2026-11-21T09:05:00.000Z","new":{"member":1}},
        {"id":"q2","service":"Counter","link":"LINK","expiresAt":"2026-11-21T09:04:00.000Z"}]}
        """

    /// A world in which alice is enrolled, and has these questions: the link of each is of one text to confirm.
    private static func world(
        _ body: String = Self.body, status: Int = 200, type: String = "application/json",
        configuration change: (inout ClientConfiguration) -> Void = { _ in }
    ) async throws -> World {
        let world = try await World(configuration: change)
        try await world.enroll()
        let payload = try await world.server.authentication(username: "alice", transaction: [text("Call 4711")])
        let link = "https://id.example.com/open?dispatchTokenResponse=\(payload.base64URLEncoded)"
        let answer = body.replacing("LINK", with: link)
        await world.server.intercept { request in
            guard request.method == "GET", request.url.path().hasSuffix("/questions") else { return nil }
            return TransportResponse(status: status, headers: [("Content-Type", type)], body: Array(answer.utf8))
        }
        return world
    }

    private static func questions(_ world: World) -> WaitingQuestions {
        world.phone.client.operations.waitingQuestions.username("alice").authorizationProvider(Self.provider)
    }

    @Test("The list is read whole, made fit to be shown, and a question of it is answered as a scanned code")
    func answered() async throws {
        let world = try await Self.world()
        let questions: [ServiceQuestion] = try await Self.questions(world).execute()
        #expect(questions.map(\.id) == ["q-1_A", "q2"])
        let first = try #require(questions.first)
        #expect(first.service == "Call\u{FFFD}Centre" && first.origin == "https://xn--bnk-6cd.example")
        #expect(first.expiresAt.timeIntervalSince1970 == 1_795_251_900)
        #expect(questions.last?.service == "Counter" && questions.last?.origin == nil)
        let sent = try #require(await world.server.requests.last)
        #expect("\(sent.method) \(sent.url.path())" == "GET /account/v1/questions" && sent.body.isEmpty)
        #expect(sent.headers.contains { $0 == ("Authorization", "Bearer the-jwt") })
        #expect(world.phone.person.asked.isEmpty, "nobody is asked by reading")
        _ = try await world.phone.authenticate(first.payload)
        #expect(world.phone.person.asked.compactMap(\.transaction).contains(Data("Call 4711".utf8)))
    }

    @Test("Nothing waits, or the server has no such list", arguments: [200, 404])
    func nothing(status: Int) async throws {
        let world = try await Self.world(#"{"username":"alice","questions":[]}"#, status: status)
        let questions: [ServiceQuestion] = try await Self.questions(world).execute()
        #expect(questions.isEmpty)
    }

    @Test(
        "An answer that is not of the protocol is refused",
        arguments: [
            "", "[]", "{}", #"{"username":"alice"}"#, body.replacing(#""alice""#, with: #""bob""#),
            body.replacing("q-1_A", with: "../uaf"), body.replacing(#""service":"Counter","#, with: ""),
            body.replacing("LINK", with: "https://id.example.com/open"), body.replacing(#""link":"#, with: #""url":"#),
            body.replacing("2026-11-21T09:04:00.000Z", with: "soon"),
        ])
    func malformed(body: String) async throws {
        let world = try await Self.world(body)
        await #expect(throws: OperationError.fido(.protocolError)) { try await Self.questions(world).execute() }
    }

    @Test("An answer of another type is refused")
    func type() async throws {
        let world = try await Self.world(type: "text/html")
        await #expect(throws: OperationError.fido(.protocolError)) { try await Self.questions(world).execute() }
    }

    @Test(
        "What the server refuses has a code that says what to do",
        arguments: [
            (401, OperationError(.notAuthorized)), (403, OperationError(.accountLocked)),
            (429, OperationError(.networkError)), (503, OperationError(.networkError)),
        ])
    func refusals(status: Int, error: OperationError) async throws {
        let world = try await Self.world(status: status)
        await #expect(throws: error) { try await Self.questions(world).execute() }
    }

    @Test("It is configured whole, executed once, and asks where the app says")
    func mistakes() async throws {
        let world = try await Self.world { $0.questionsPath = "/other/questions" }
        let operations = world.phone.client.operations
        for operation in [
            operations.waitingQuestions.username("alice"),
            operations.waitingQuestions.authorizationProvider(Self.provider),
        ] {
            await #expect(throws: OperationError(.missingInteraction)) { try await operation.execute() }
        }
        let once = Self.questions(world)
        _ = try await once.execute() as [ServiceQuestion]
        await #expect(throws: OperationError(.operationReused)) { try await once.execute() }
        #expect(await world.server.requests.last?.url.path() == "/other/questions")
    }
}
