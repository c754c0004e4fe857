import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import OAuthProvider
import SQLStore
import Testing
import UAF
import UAFClient
import _Primitives

@Suite("Operations parity 24; decision 118: an app's authentication raises the session that the app shows")
struct SessionStepUpTests {
    private static let name = "countersign_session"

    /// Signs a person in with a browser by the phone, and returns the cookie of the session.
    private static func signIn(_ server: ServerFixture, _ client: any TestClientProtocol, _ phone: VirtualPhone)
        async throws -> String
    {
        let browser = TestBrowser(client)
        let (request, page) = try await server.signInPage(browser, try await server.relyingParty())
        _ = try await phone.authenticate(try server.typedPayload(page))
        _ = try await browser.get("/sign-in/complete?request=\(request)")
        phone.person.forget()
        return try #require(browser.cookies[Self.name])
    }

    private static func session(_ cookie: String) -> CookieSessionProvider {
        CookieSessionProvider([
            AuthorizationCookie(name: Self.name, value: cookie, domain: "localhost", isSecure: false)
        ])
    }

    private static func authenticate(_ phone: VirtualPhone, _ username: String, in session: any SessionProvider)
        async throws -> AuthenticationSuccess
    {
        try await phone.ready(phone.client.operations.authentication.username(username).sessionProvider(session))
            .execute()
    }

    private static func active(_ server: ServerFixture, _ cookie: String) async throws -> ActiveSession? {
        try await server.assembly.provider.sessions.session(try #require(SessionSecret(cookie: cookie)))
    }

    private static func error(_ body: () async throws -> Void) async -> OperationError? {
        do {
            try await body()
            return nil
        } catch { return error as? OperationError }
    }

    @Test("The session of the cookie has the authentication, and goes on under a new cookie")
    func cookie() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let former = try await Self.signIn(server, client, phone)
            let before = try #require(try await Self.active(server, former))
            server.clock.advance(by: .seconds(90))
            let result = try await Self.authenticate(phone, "alice", in: Self.session(former))
            let renewed = try #require(result.sessionProvider as? CookieSessionProvider)
            let cookie = try #require(renewed.cookies.first?.value)
            #expect(cookie != former)
            #expect(try await Self.active(server, former) == nil)
            let after = try #require(try await Self.active(server, cookie))
            #expect(after.id == before.id && after.account == before.account)
            #expect(after.authenticatedAt == before.authenticatedAt + .seconds(90))
            #expect(result.authorizationProvider != nil)
            // The session goes on: it can be raised again.
            _ = try await Self.authenticate(phone, "alice", in: renewed)
        }
    }

    @Test("The session of a token goes on with a new token of the same account")
    func token() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let first = try await phone.authenticate(username: "alice")
            let token = try #require(first.authorizationProvider as? JwtAuthorizationProvider).jwt
            let result = try await Self.authenticate(phone, "alice", in: JwtSessionProvider(token))
            let next = try #require(result.sessionProvider as? JwtSessionProvider).jwt
            #expect(next != token)
            _ = try await Self.authenticate(phone, "alice", in: JwtSessionProvider(next))
        }
    }

    @Test("Another account's session is refused before a PIN is asked for, and is worth what it was")
    func anotherAccount() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let alice = try await server.enrolledPhone(client)
            let bob = try await server.enrolledPhone(client, username: "bob")
            let cookie = try await Self.signIn(server, client, alice)
            let before = try await Self.active(server, cookie)
            let token = try #require(
                try await alice.authenticate(username: "alice").authorizationProvider as? JwtAuthorizationProvider
            ).jwt
            for session in [Self.session(cookie) as any SessionProvider, JwtSessionProvider(token)] {
                let error = await Self.error { _ = try await Self.authenticate(bob, "bob", in: session) }
                #expect(error == OperationError(.notAuthorized) && error?.serverStatusCode == 1403)
                #expect(error?.sessionProvider?.form == session.form)
                #expect(bob.person.asked.isEmpty)
            }
            #expect(try await Self.active(server, cookie) == before)
        }
    }

    @Test("A session that has ended or never was, and a token that is none, are refused before a PIN is asked for")
    func endedSessions() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let cookie = try await Self.signIn(server, client, phone)
            let session = try #require(try await Self.active(server, cookie))
            _ = try await server.assembly.provider.sessions.end(session.id, ofAccount: session.account)
            let unknown = String(repeating: "A", count: 43)
            for session in [
                Self.session(cookie) as any SessionProvider, Self.session(unknown), Self.session("x"),
                CookieSessionProvider([]), JwtSessionProvider("a.b.c"),
            ] {
                let error = await Self.error { _ = try await Self.authenticate(phone, "alice", in: session) }
                #expect(error == OperationError(.notAuthorized) && error?.serverStatusCode == 1401)
                #expect(phone.person.asked.isEmpty)
            }
        }
    }

    @Test("An answer without the session of its challenge raises nothing, and gives no token")
    func answerWithoutSession() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let filter = CookieFilter(RouterTransport(client: client))
            let phone = try await server.enrolledPhone(client, through: { filter.wrapping($0) })
            let cookie = try await Self.signIn(server, client, phone)
            filter.dropCookies(ofPath: "/uaf/1.1/authentication/")
            let error = await Self.error { _ = try await Self.authenticate(phone, "alice", in: Self.session(cookie)) }
            #expect(error == OperationError(.notAuthorized) && error?.serverStatusCode == 1401)
            #expect(try await Self.active(server, cookie) != nil)
            filter.dropCookies(ofPath: nil)
            _ = try await Self.authenticate(phone, "alice", in: Self.session(cookie))
        }
    }

    @Test("A session that ends while the person types is not begun anew")
    func endsMeanwhile() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let filter = CookieFilter(RouterTransport(client: client))
            let phone = try await server.enrolledPhone(client, through: { filter.wrapping($0) })
            let cookie = try await Self.signIn(server, client, phone)
            let session = try #require(try await Self.active(server, cookie))
            filter.before(path: "/uaf/1.1/authentication/") {
                _ = try await server.assembly.provider.sessions.end(session.id, ofAccount: session.account)
            }
            let error = await Self.error { _ = try await Self.authenticate(phone, "alice", in: Self.session(cookie)) }
            #expect(error == OperationError(.notAuthorized) && error?.serverStatusCode == 1401)
            #expect(try await Self.active(server, cookie) == nil)
        }
    }

    @Test("A request that names a session in another way is refused, whoever sends it")
    func badRequests() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let cookie = try await Self.signIn(server, client, phone)
            let party = try await server.relyingParty()
            let contexts: [JSONObject] = [
                ["username": .string("alice"), "session": .string("other")],
                ["username": .string("alice"), "session": .integer(1)], ["session": .string("cookie")],
            ]
            for context in contexts {
                let answer = try await client.execute(
                    uri: "/uaf/1.1/request/authentication", method: .post,
                    headers: [.contentType: "application/fido+uaf", .cookie: "\(Self.name)=\(cookie)"],
                    body: ByteBuffer(bytes: GetUAFRequest(operation: .authentication, context: context).serialized))
                let message = try ReturnUAFRequest(parsing: Array(answer.body.readableBytesView))
                #expect(message.statusCode == .badRequest && message.uafRequest == nil)
            }
            let context: JSONObject = ["username": .string("alice"), "session": .string("cookie")]
            let asClient = try await client.execute(
                uri: "/uaf/1.1/request/authentication", method: .post,
                headers: [
                    .contentType: "application/fido+uaf", .cookie: "\(Self.name)=\(cookie)",
                    .authorization: party.authorization,
                ], body: ByteBuffer(bytes: GetUAFRequest(operation: .authentication, context: context).serialized))
            let message = try ReturnUAFRequest(parsing: Array(asClient.body.readableBytesView))
            #expect(message.statusCode == .badRequest)
        }
    }
}

/// Passes an app's requests on, without cookies or after another act at one path.
// Safe to share: every access to the state is within `lock`.
private final class CookieFilter: Transport, @unchecked Sendable {
    private let lock = NSLock()
    private let transport: any Transport
    private var path: String?
    private var act: (path: String, body: @Sendable () async throws -> Void)?

    init(_ transport: any Transport) { self.transport = transport }

    /// Returns this transport, in place of the given one to the same server.
    func wrapping(_: any Transport) -> any Transport { self }

    func dropCookies(ofPath path: String?) { self.lock.withLock { self.path = path } }

    func before(path: String, _ body: @escaping @Sendable () async throws -> Void) {
        self.lock.withLock { self.act = (path, body) }
    }

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        let (dropped, act) = self.lock.withLock { (self.path, self.act) }
        var request = request
        if request.url.path() == dropped { request.headers.removeAll { $0.name == "Cookie" } }
        if let act, request.url.path() == act.path { try await act.body() }
        return try await self.transport.send(request)
    }
}
