import Countersign
import CountersignTestKit
import Foundation
import Testing
import UAF
import UAFClient
import _Primitives

@Suite("Operations parity 8: an app's own header fields on each request of an operation", .overEachKeyAbility)
struct RequestHeaderTests {
    private static let provider = JwtAuthorizationProvider("virtual-jwt")
    private static let field = (name: "X-Correlation-Id", value: "operation 7; a=\"b\"")

    private static func carries(_ request: TransportRequest, _ field: (name: String, value: String) = field) -> Bool {
        request.headers.count { $0 == field } == 1
    }

    /// Answers the requests about an account.
    private static func answerAccountRequests(of server: VirtualServer) async {
        await server.intercept { request in
            guard request.url.path().hasPrefix("/account/v1/") else { return nil }
            if request.method == "DELETE" { return TransportResponse(status: 204, headers: [], body: []) }
            let body = #"{"username":"alice","notices":[],"sessions":[],"grants":[],"questions":[]}"#
            return TransportResponse(
                status: 200, headers: [("Content-Type", "application/json")], body: Array(body.utf8))
        }
    }

    @Test("Each kind of operation sends the fields with each of its requests")
    func everyOperation() async throws {
        let world = try await World()
        let (phone, server) = (world.phone, world.server)
        let operations = phone.client.operations
        await Self.answerAccountRequests(of: server)
        let enrolment = try await server.registration(for: "alice", policy: World.policy([[World.pin]]))
        guard
            case .registration(let registration) = try await operations.outOfBandOperation.payload(enrolment)
                .requestHeaders([Self.field]).execute()
        else { throw OperationError(.missingInteraction) }
        _ = try await phone.ready(registration).execute()
        guard
            case .authentication(let authentication) = try await operations.outOfBandOperation
                .payload(try await server.authentication()).requestHeaders([Self.field]).execute()
        else { throw OperationError(.missingInteraction) }
        _ = try await phone.ready(authentication).execute()
        _ = try await phone.ready(operations.authentication.username("alice")).requestHeaders([Self.field]).execute()
        phone.person.script.kind = .password
        _ =
            try await phone.ready(operations.registration.username("alice")).authorizationProvider(Self.provider)
            .requestHeaders([Self.field]).execute()
        _ =
            try await operations.accountActivity.username("alice").authorizationProvider(Self.provider)
            .requestHeaders([Self.field]).execute() as AccountActivityResult
        _ =
            try await operations.accountNotices.username("alice").authorizationProvider(Self.provider)
            .requestHeaders([Self.field]).execute() as [AccountNotice]
        _ =
            try await operations.waitingQuestions.username("alice").authorizationProvider(Self.provider)
            .requestHeaders([Self.field]).execute() as [ServiceQuestion]
        try await operations.sessionRevocation.sessionID("s1").authorizationProvider(Self.provider)
            .requestHeaders([Self.field]).execute()
        try await operations.grantRevocation.grantID("g1").authorizationProvider(Self.provider)
            .requestHeaders([Self.field]).execute()
        try await operations.deregistration.username("alice").authorizationProvider(Self.provider)
            .requestHeaders([Self.field]).execute()
        let requests = await server.requests
        #expect(requests.map { "\($0.method) \($0.url.path())" } == Self.expected)
        #expect(requests.allSatisfy { Self.carries($0) })
        #expect(await phone.client.localData.accounts.isEmpty)
    }

    private static let expected = [
        "POST /token/redeem/registration", "POST /uaf/1.1/registration/", "POST /token/redeem/authentication",
        "POST /uaf/1.1/authentication/", "POST /uaf/1.1/request/authentication/", "POST /uaf/1.1/authentication/",
        "POST /uaf/1.1/request/registration/", "POST /uaf/1.1/registration/", "GET /account/v1/notices",
        "GET /account/v1/sessions", "GET /account/v1/grants", "GET /account/v1/notices", "GET /account/v1/questions",
        "DELETE /account/v1/sessions/s1", "DELETE /account/v1/grants/g1", "POST /uaf/1.1/request/deregistration/",
    ]

    @Test("An operation that a token stands for begins with the fields, and may have others")
    func secondStage() async throws {
        let world = try await World()
        try await world.enroll()
        let other = (name: "X-Other", value: "1")
        for fields in [[other], []] {
            guard
                case .authentication(let operation) = try await world.phone.client.operations.outOfBandOperation
                    .payload(try await world.server.authentication()).requestHeaders([Self.field]).execute()
            else { throw OperationError(.missingInteraction) }
            _ = try await world.phone.ready(operation).requestHeaders(fields).execute()
            let request = try #require(await world.server.requests.last)
            #expect(!Self.carries(request) && Self.carries(request, other) == !fields.isEmpty)
        }
    }

    @Test("A report that there will be no answer carries the fields, and an operation without fields carries none")
    func report() async throws {
        let world = try await World()
        try await world.enroll()
        world.phone.person.script.reactions[.pin] = .cancels
        let operation = world.phone.ready(world.phone.client.operations.authentication.username("alice"))
            .requestHeaders([Self.field])
        #expect(await operationError { _ = try await operation.execute() } == .fido(.userCanceled))
        #expect(await world.server.clientErrorCodes == [3])
        #expect(await Self.carries(try #require(world.server.requests.last)))
        world.phone.person.script.reactions = [:]
        _ = try await world.phone.authenticate(username: "alice")
        #expect(await !Self.carries(try #require(world.server.requests.last)))
    }

    @Test(
        "A list of apps is fetched with the fields at the app's own server, and without them elsewhere",
        arguments: [("https://id.example.com/facets", true), ("https://facets.example.com/facets", false)])
    func facets(appID: String, isOwn: Bool) async throws {
        let world = try await World()
        let list = #"{"trustedFacets":[{"version":{"major":1,"minor":1},"ids":["linux:program:test"]}]}"#
        await world.server.use(appID: appID)
        await world.server.intercept { request in
            guard request.url.path() == "/facets" else { return nil }
            return TransportResponse(
                status: 200, headers: [("Content-Type", "application/fido.trusted-apps+json")], body: Array(list.utf8))
        }
        let operation = world.phone.ready(world.phone.client.operations.registration.username("alice"))
            .authorizationProvider(Self.provider).requestHeaders([Self.field])
        let error = await operationError { _ = try await operation.execute() }
        #expect(error == nil)
        let requests = await world.server.requests
        let fetched = try #require(requests.first { $0.url.path() == "/facets" })
        #expect(Self.carries(fetched) == isOwn)
        #expect(requests.count { Self.carries($0) } == (isOwn ? 3 : 2))
    }

    private static let refused: [[(name: String, value: String)]] =
        [
            "Authorization", "authorization", "HOST", "Content-Type", "content-length", "Cookie", "Accept",
            "Accept-Encoding", "Transfer-Encoding", "Connection", "Upgrade", "TE", "Trailer", "Expect", "Keep-Alive",
            "Content-Encoding", "traceparent", "Device-Proof", "DPoP", "Proxy-Authorization", "Proxy-Connection",
            "Set-Cookie", "", "X Y", "X:", "X\r\nY", "X\u{E9}", String(repeating: "x", count: 65),
        ].map { [(name: $0, value: "1")] }
        + [
            "a\r\nHost: evil.example", "a\nb", "a\rb", "a\u{0}b", "a\u{7F}", "caf\u{E9}", "", " a", "a ", "\ta",
            String(repeating: "x", count: 1025),
        ].map { [(name: "X-Trace", value: $0)] }
        + [
            [(name: "X-One", value: "1"), (name: "x-one", value: "2")],
            (0..<17).map { (name: "X-\($0)", value: "1") },
            [(name: "X-Right", value: "1"), (name: "Cookie", value: "1")],
        ]

    @Test("A field that no app may set is a typed error, and nothing is sent", arguments: 0..<42)
    func refusals(number: Int) async throws {
        let world = try await World()
        try await world.enroll()
        let before = await world.server.requests.count
        let operations = world.phone.client.operations
        let payload = try await world.server.authentication()
        let fields = Self.refused[number]
        let error = await operationError {
            _ = try await operations.outOfBandOperation.payload(payload).requestHeaders(fields).execute()
        }
        #expect(error == OperationError(.invalidRequestHeader) && error?.recovery == .correctApp)
        #expect(fields.allSatisfy { $0.value.count < 4 || error?.reason.contains($0.value) == false })
        let inApp = world.phone.ready(operations.authentication.username("alice")).requestHeaders(fields)
        #expect(
            await operationError { _ = try await inApp.execute() } == OperationError(.invalidRequestHeader))
        let notices = operations.accountNotices.username("alice").authorizationProvider(Self.provider)
        #expect(
            await operationError {
                _ = try await notices.requestHeaders(fields).execute() as [AccountNotice]
            } == OperationError(.invalidRequestHeader))
        #expect(await world.server.requests.count == before)
        // The token is not used up.
        _ = try await world.phone.authenticate(payload)
    }

    @Test("The list of refused fields is as long as its test")
    func refusedCount() { #expect(Self.refused.count == 42) }

    @Test("The longest name, the longest value and the greatest number of fields are sent")
    func bounds() async throws {
        let world = try await World()
        try await world.enroll()
        var fields = (0..<14).map { (name: "X-\($0)", value: "\($0)") }
        fields.append((name: String(repeating: "x", count: 64), value: "a\tb c"))
        fields.append((name: "X-Long", value: String(repeating: "y", count: 1024)))
        _ =
            try await world.phone.ready(world.phone.client.operations.authentication.username("alice"))
            .requestHeaders(fields).execute()
        let sent = try #require(await world.server.requests.last)
        #expect(fields.allSatisfy { Self.carries(sent, $0) })
    }

    @Test("The fields appear in no description of an operation")
    func descriptions() async throws {
        let world = try await World()
        let operation = world.phone.client.operations.authentication.username("alice")
            .requestHeaders([(name: "X-Key", value: "the-secret")])
        var shown = ""
        dump(operation.requestOptions, to: &shown)
        #expect(!shown.contains("the-secret") && !"\(operation.requestOptions)".contains("the-secret"))
    }
}
