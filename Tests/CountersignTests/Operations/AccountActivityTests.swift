import Countersign
import CountersignTestKit
import Foundation
import Testing

@Suite("An account's activity: notices, and browsers that the phone signs out", .overEachKeyAbility)
struct AccountActivityTests {
    private static let provider = JwtAuthorizationProvider("the-jwt")
    private static let escape = "\u{1B}[2J"
    private static let noticesBody = """
        {"username":"alice","notices":[
        {"id":"n1","kind":"device-added","at":"2026-11-21T09:00:01.500Z","subject":"Alice's \(escape)phone"},
        {"id":"n2","kind":"moon-landed","at":"1969-07-20T20:17:40.000Z","subject":""}]}
        """.replacing(escape, with: "\\u001b[2J")
    private static let sessionsBody = """
        {"username":"alice","sessions":[
        {"id":"s-1_A","services":[{"name":"Bank\\u202e","origin":"https://b\u{430}nk.example"}],"browser":"Chrome\\nLinux",
        "address":"192.0.2.1\\u0007","authenticatedAt":"2026-11-21T09:00:00.000Z",
        "usedAt":"2026-11-21T09:30:00.000Z","expiresAt":"2026-11-21T21:00:00.000Z","new":{"member":1}},
        {"id":"s2","services":[],"authenticatedAt":"2026-11-21T08:00:00.000Z",
        "usedAt":"2026-11-21T08:00:00.000Z","expiresAt":"2026-11-21T20:00:00.000Z"}]}
        """

    private static let grantsBody = """
        {"username":"alice","grants":[
        {"id":"g-1_A","service":"Mail\\u202e","scopes":["openid","off\\u0007line"],"since":"2026-11-21T09:00:00.000Z",
        "usedAt":"2026-11-21T09:30:00.000Z","expiresAt":"2026-11-21T21:00:00.000Z","new":{"member":1}},
        {"id":"g2","service":"Calendar","scopes":[],"since":"2026-11-21T08:00:00.000Z",
        "expiresAt":"2026-11-21T20:00:00.000Z"}]}
        """

    /// A world whose server answers the account's addresses so.
    private static func world(
        notices: TransportResponse = json(Self.noticesBody), sessions: TransportResponse = json(Self.sessionsBody),
        grants: TransportResponse = json(Self.grantsBody),
        delete: TransportResponse = TransportResponse(status: 204, headers: [], body: []),
        configuration change: (inout ClientConfiguration) -> Void = { _ in }
    ) async throws -> World {
        let world = try await World(configuration: change)
        await world.server.intercept { request in
            switch (request.method, request.url.path()) {
            case ("GET", "/account/v1/notices"): notices
            case ("GET", "/account/v1/sessions"): sessions
            case ("GET", "/account/v1/grants"): grants
            case ("DELETE", let path) where path.hasPrefix("/account/v1/sessions/"): delete
            case ("DELETE", let path) where path.hasPrefix("/account/v1/grants/"): delete
            default: nil
            }
        }
        return world
    }

    private static func json(_ text: String, status: Int = 200, type: String = "application/json") -> TransportResponse
    {
        TransportResponse(status: status, headers: [("Content-Type", type)], body: Array(text.utf8))
    }

    private static func activity(_ world: World, username: String = "alice") -> AccountActivity {
        world.phone.client.operations.accountActivity.username(username).authorizationProvider(Self.provider)
    }

    private static func revocation(_ world: World, _ id: String = "s-1_A") -> SessionRevocation {
        world.phone.client.operations.sessionRevocation.sessionID(id).authorizationProvider(Self.provider)
    }

    private static func takingBack(_ world: World, _ id: String = "g-1_A") -> GrantRevocation {
        world.phone.client.operations.grantRevocation.grantID(id).authorizationProvider(Self.provider)
    }

    private static func seconds(_ date: Date?) -> Double? { date?.timeIntervalSince1970 }

    @Test("Lists are read whole, and what comes from the server is made fit to be shown")
    func lists() async throws {
        let world = try await Self.world()
        let result: AccountActivityResult = try await Self.activity(world).execute()
        #expect(result.notices.map(\.kind) == [.deviceAdded, AccountNotice.Kind(rawValue: "moon-landed")])
        #expect(result.notices.map(\.subject) == ["Alice's phone", ""])
        #expect(Self.seconds(result.notices.first?.date) == 1_795_251_601.5)
        #expect(result.sessions.map(\.id) == ["s-1_A", "s2"])
        let session = try #require(result.sessions.first)
        #expect(session.services.map(\.name) == ["Bank\u{FFFD}"])
        #expect(session.services.map(\.origin) == ["https://xn--bnk-6cd.example"])
        #expect(session.browser == "Chrome\u{FFFD}Linux")
        #expect(session.address == "192.0.2.1\u{FFFD}")
        #expect(Self.seconds(session.authenticatedAt) == 1_795_251_600)
        #expect(Self.seconds(session.usedAt) == 1_795_253_400)
        #expect(Self.seconds(session.expiresAt) == 1_795_294_800)
        #expect(result.sessions.last?.browser == nil && result.sessions.last?.services == [])
        #expect(result.grants.map(\.id) == ["g-1_A", "g2"])
        let grant = try #require(result.grants.first)
        #expect(grant.service == "Mail\u{FFFD}" && grant.scopes == ["openid", "off\u{FFFD}line"])
        #expect(Self.seconds(grant.since) == 1_795_251_600 && Self.seconds(grant.usedAt) == 1_795_253_400)
        #expect(Self.seconds(grant.expiresAt) == 1_795_294_800)
        #expect(result.grants.last?.usedAt == nil && result.grants.last?.scopes == [])
    }

    @Test("A server that has no list of grants has none, and what it refuses otherwise is told")
    func missingGrants() async throws {
        let old = try await Self.world(grants: Self.json("{}", status: 404))
        let activity: AccountActivityResult = try await Self.activity(old).execute()
        #expect(activity.grants.isEmpty && activity.sessions.count == 2)
        let locked = try await Self.world(grants: Self.json("{}", status: 403))
        await #expect(throws: OperationError(.accountLocked)) { try await Self.activity(locked).execute() }
    }

    @Test(
        "Grants that are not of the protocol are refused",
        arguments: [
            "{}", #"{"username":"alice"}"#, grantsBody.replacing(#""alice""#, with: #""bob""#),
            grantsBody.replacing("g-1_A", with: "../uaf"), grantsBody.replacing(#""scopes":[],"#, with: ""),
            grantsBody.replacing(#""scopes":[],"#, with: #""scopes":[1],"#),
            grantsBody.replacing(#""service":"#, with: #""name":"#),
            grantsBody.replacing("2026-11-21T08:00:00.000Z", with: "then"),
            grantsBody.replacing("2026-11-21T09:30:00.000Z", with: "then"),
        ])
    func malformedGrants(body: String) async throws {
        let world = try await Self.world(grants: Self.json(body))
        await #expect(throws: OperationError.fido(.protocolError)) { try await Self.activity(world).execute() }
    }

    @Test("What a service has is taken back by its identifier, once")
    func takingBack() async throws {
        let world = try await Self.world()
        try await Self.takingBack(world).execute()
        let sent = await world.server.requests
        #expect(sent.map { "\($0.method) \($0.url.path())" } == ["DELETE /account/v1/grants/g-1_A"])
        #expect(sent.allSatisfy { $0.headers.contains { $0 == ("Authorization", "Bearer the-jwt") } })
        let gone = try await Self.world(delete: Self.json("{}", status: 404))
        await #expect(throws: OperationError(.sessionUnknown)) { try await Self.takingBack(gone).execute() }
        for id in ["", "a/b", ".."] {
            await #expect(throws: OperationError(.sessionUnknown)) { try await Self.takingBack(world, id).execute() }
        }
        let operations = world.phone.client.operations
        for revocation in [
            operations.grantRevocation.grantID("g2"),
            operations.grantRevocation.authorizationProvider(Self.provider),
        ] {
            await #expect(throws: OperationError(.missingInteraction)) { try await revocation.execute() }
        }
        #expect(await world.server.requests.count == 1)
        let once = Self.takingBack(world)
        try await once.execute()
        await #expect(throws: OperationError(.operationReused)) { try await once.execute() }
        let other = try await World { $0.grantsPath = "/other/grants/" }
        await other.server.intercept { _ in TransportResponse(status: 204, headers: [], body: []) }
        try await Self.takingBack(other).execute()
        #expect(await other.server.requests.map { $0.url.path() } == ["/other/grants/g-1_A"])
    }

    @Test("Each request carries the authorization, and nothing else of the person")
    func requests() async throws {
        let world = try await Self.world()
        _ = try await Self.activity(world).execute()
        try await Self.revocation(world).execute()
        let sent = await world.server.requests
        #expect(
            sent.map { "\($0.method) \($0.url.path())" } == [
                "GET /account/v1/notices", "GET /account/v1/sessions", "GET /account/v1/grants",
                "DELETE /account/v1/sessions/s-1_A",
            ])
        for request in sent {
            #expect(request.headers.contains { $0 == ("Authorization", "Bearer the-jwt") })
            #expect(request.body.isEmpty && request.url.query() == nil)
        }
    }

    @Test("Configured paths are used, with or without a slash at their end")
    func paths() async throws {
        for path in ["/other/sessions", "/other/sessions/"] {
            let world = try await World { $0.sessionsPath = path }
            await world.server.intercept { _ in TransportResponse(status: 204, headers: [], body: []) }
            try await Self.revocation(world).execute()
            #expect(await world.server.requests.map { $0.url.path() } == ["/other/sessions/s-1_A"])
        }
    }

    @Test(
        "What the server refuses has a code that says what to do",
        arguments: [
            (401, OperationError(.notAuthorized)), (403, OperationError(.accountLocked)), (404, .fido(.protocolError)),
            (302, .fido(.protocolError)), (408, OperationError(.networkError)), (429, OperationError(.networkError)),
            (500, OperationError(.networkError)), (503, OperationError(.networkError)),
        ])
    func refusals(status: Int, error: OperationError) async throws {
        let refused = Self.json("{}", status: status)
        for world in [try await Self.world(notices: refused), try await Self.world(sessions: refused)] {
            await #expect(throws: error) {
                try await Self.activity(world).execute()
            }
        }
        let world = try await Self.world(delete: refused)
        await #expect(throws: status == 404 ? OperationError(.sessionUnknown) : error) {
            try await Self.revocation(world).execute()
        }
    }

    @Test(
        "An answer that is not of the protocol is refused",
        arguments: [
            "", "[]", "{}", #"{"username":"alice"}"#, #"{"username":"alice","sessions":{}}"#,
            #"{"username":"alice","sessions":[1]}"#, #"{"username":"mallory","sessions":[]}"#,
            #"{"username":"alice","username":"alice","sessions":[]}"#,
            sessionsBody.replacing("s-1_A", with: "../../uaf"), sessionsBody.replacing("s-1_A", with: ""),
            sessionsBody.replacing("2026-11-21T09:30:00.000Z", with: "yesterday"),
            sessionsBody.replacing("2026-11-21T09:30:00.000Z", with: "20261-11-21T09:30:00.000Z"),
            sessionsBody.replacing("2026-11-21T09:30:00.000Z", with: "300000000-11-21T09:30:00.000Z"),
            sessionsBody.replacing("2026-11-21T09:30:00.000Z", with: "9223372036854775807-11-21T09:30:00.000Z"),
            sessionsBody.replacing(#""usedAt":"2026-11-21T08:00:00.000Z","#, with: ""),
            sessionsBody.replacing(#""services":[],"#, with: ""),
            sessionsBody.replacing(#""name":"#, with: #""called":"#),
        ])
    func malformedSessions(body: String) async throws {
        let world = try await Self.world(sessions: Self.json(body))
        await #expect(throws: OperationError.fido(.protocolError)) {
            try await Self.activity(world).execute()
        }
    }

    @Test(
        "Notices that are not of the protocol, or of another media type, are refused",
        arguments: [
            json(#"{"username":"alice"}"#), json(#"{"username":"alice","notices":[{}]}"#),
            json(noticesBody.replacing(#""username":"alice""#, with: #""username":"bob""#)),
            json(noticesBody, type: "text/html"), TransportResponse(status: 200, headers: [], body: Array("{}".utf8)),
        ])
    func malformedNotices(answer: TransportResponse) async throws {
        let world = try await Self.world(notices: answer)
        await #expect(throws: OperationError.fido(.protocolError)) {
            try await Self.activity(world).execute()
        }
    }

    @Test("An answer longer than any list is refused")
    func tooLong() async throws {
        let world = try await Self.world(notices: Self.json(String(repeating: " ", count: 262_145)))
        await #expect(throws: OperationError(.networkError)) {
            try await Self.activity(world).execute()
        }
    }

    @Test(
        "What cannot be a session's identifier is sent nowhere",
        arguments: [
            "", "a/b", "..", "a b", "é", "%2e", String(repeating: "a", count: 129),
        ])
    func foreignIdentifiers(id: String) async throws {
        let world = try await Self.world()
        await #expect(throws: OperationError(.sessionUnknown)) {
            try await Self.revocation(world, id).execute()
        }
        #expect(await world.server.requests.isEmpty)
    }

    @Test("A part that is missing, and a second execution, are mistakes that are told")
    func mistakes() async throws {
        let world = try await Self.world()
        let operations = world.phone.client.operations
        for activity in [
            operations.accountActivity.username("alice"),
            operations.accountActivity.authorizationProvider(Self.provider),
        ] {
            await #expect(throws: OperationError(.missingInteraction)) {
                try await activity.execute()
            }
        }
        for revocation in [
            operations.sessionRevocation.sessionID("s2"),
            operations.sessionRevocation.authorizationProvider(Self.provider),
        ] {
            await #expect(throws: OperationError(.missingInteraction)) { try await revocation.execute() }
        }
        #expect(await world.server.requests.isEmpty)
        let activity = Self.activity(world)
        _ = try await activity.execute()
        await #expect(throws: OperationError(.operationReused)) {
            try await activity.execute()
        }
        let revocation = Self.revocation(world)
        try await revocation.execute()
        await #expect(throws: OperationError(.operationReused)) { try await revocation.execute() }
    }

    @Test("No network, an insecure address and a cancelled task are told apart")
    func transport() async throws {
        let unreachable = try await World()
        await unreachable.server.intercept { _ in throw TransportError(.unreachable, "no connection") }
        await #expect(throws: OperationError(.networkError)) {
            try await Self.activity(unreachable).execute()
        }
        let insecure = try await Self.world { $0.baseURL = URL(string: "http://id.example.com")! }
        await #expect(throws: OperationError.fido(.insecureTransport)) {
            try await Self.revocation(insecure).execute()
        }
        #expect(await insecure.server.requests.isEmpty)
        let world = try await Self.world()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await Self.revocation(world).execute()
        }
        await #expect(throws: OperationError.fido(.userCanceled)) { try await task.value }
    }

    @Test("Without await each ends in one call")
    func callbacks() async throws {
        let world = try await Self.world()
        let result = await withCheckedContinuation { continuation in
            Self.activity(world).onSuccess { continuation.resume(returning: $0.sessions.count) }
                .onError { _ in continuation.resume(returning: -1) }.execute()
        }
        #expect(result == 2)
        let ended = await withCheckedContinuation { continuation in
            Self.revocation(world).onSuccess { continuation.resume(returning: true) }
                .onError { _ in continuation.resume(returning: false) }.execute()
        }
        #expect(ended)
        let error = await withCheckedContinuation { continuation in
            Self.activity(world, username: "bob").onSuccess { _ in continuation.resume(returning: nil) }
                .onError { continuation.resume(returning: $0) }.execute()
        }
        #expect(error == OperationError.fido(.protocolError))
        let unknown = await withCheckedContinuation { continuation in
            Self.revocation(world, "a/b").onSuccess { continuation.resume(returning: nil) }
                .onError { continuation.resume(returning: $0) }.execute()
        }
        #expect(unknown == OperationError(.sessionUnknown))
    }
}
