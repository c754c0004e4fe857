import Accounts
import Ceremony
import CeremonyEngine
import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import OAuthProvider
import Records
import Settings
import Testing
import _Primitives

@Suite("What a person's phone sees and ends (threat model, Staying signed in unseen)")
struct AccountRoutesTests {
    /// Authenticates in the app, and gives what proves it.
    private func authorization(_ phone: VirtualPhone, _ username: String = "alice") async throws
        -> any AuthorizationProvider
    {
        let result: AuthenticationSuccess = try await phone.client.operations.authentication.username(username)
            .authenticatorSelector(phone.person).pinUserVerifier(phone.person).execute()
        return try #require(result.authorizationProvider)
    }

    private func activity(_ phone: VirtualPhone, _ username: String = "alice") async throws -> AccountActivityResult {
        try await phone.client.operations.accountActivity.username(username)
            .authorizationProvider(try await self.authorization(phone, username)).execute()
    }

    private func header(_ provider: any AuthorizationProvider) throws -> HTTPFields {
        [.authorization: try #require(provider.headers.first).value]
    }

    /// Signs a browser in, and gives an access token of the sign-in.
    private func signIn(
        _ browser: TestBrowser, _ phone: VirtualPhone, _ party: RelyingParty, _ server: ServerFixture
    ) async throws -> String {
        let (request, page) = try await server.signInPage(browser, party)
        _ = try await phone.authenticate(try server.typedPayload(page))
        let completed = try await browser.get("/sign-in/complete?request=\(request)")
        let code = try #require(completed.redirectParameters["code"])
        return try await party.exchange(code, browser.client).object.requiredString("access_token")
    }

    private func userinfo(_ token: String, _ client: any TestClientProtocol) async throws -> TestResponse {
        try await client.execute(
            uri: "/oauth2/userinfo", method: .get, headers: [.authorization: "Bearer \(token)"])
    }

    @Test("The phone lists the browser that it signed in, ends it, and the browser must sign in anew")
    func revocation() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let party = try await server.relyingParty()
            let (browser, other) = (TestBrowser(client), TestBrowser(client, userAgent: "Firefox/140.0 (Windows)"))
            let access = try await self.signIn(browser, phone, party, server)
            server.clock.advance(by: .seconds(1))
            let kept = try await self.signIn(other, phone, party, server)
            #expect(try await self.userinfo(access, client).status == .ok)

            let activity = try await self.activity(phone)
            #expect(activity.sessions.map(\.browser) == ["Firefox on Windows", "Chrome on Linux"])
            #expect(activity.sessions.allSatisfy { $0.address != nil })
            let services = activity.sessions.flatMap(\.services)
            #expect(services.map(\.name) == ["Demo Bank", "Demo Bank"])
            #expect(services.map(\.origin) == ["http://127.0.0.1:8081", "http://127.0.0.1:8081"])
            #expect(activity.notices.map(\.kind) == [.signedIn, .signedIn, .deviceAdded])
            #expect(activity.notices.map(\.subject) == ["Demo Bank", "Demo Bank", "Virtual phone"])

            let session = try #require(activity.sessions.last)
            try await phone.client.operations.sessionRevocation.sessionID(session.id)
                .authorizationProvider(try await self.authorization(phone)).execute()

            let refused = try await self.userinfo(access, client)
            #expect(refused.status == .unauthorized)
            #expect(refused.text.contains("invalid_token"))
            #expect(try #require(refused.headers[.wwwAuthenticate]).contains("invalid_token"))
            let again = try await browser.get(party.authorizeAddress())
            #expect(try #require(again.headers[.location]).hasPrefix("/sign-in?request="))
            // The other browser goes on, without a question.
            #expect(try await self.userinfo(kept, client).status == .ok)
            #expect(try await other.get(party.authorizeAddress()).redirectParameters["code"] != nil)
            #expect(try await self.activity(phone).sessions.map(\.browser) == ["Firefox on Windows"])
            await #expect(throws: OperationError(.sessionUnknown)) {
                try await phone.client.operations.sessionRevocation.sessionID(session.id)
                    .authorizationProvider(try await self.authorization(phone)).execute()
            }
        }
    }

    @Test("The person's first device is told of a second one, once an operator has confirmed it")
    func secondDevice() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let first = try await server.enrolledPhone(client)
            server.clock.advance(by: .seconds(1))
            let enrolment = try await server.assembly.ceremonies.enrolments.createEnrolmentLink(
                username: "alice", by: "test")
            let second = try await VirtualPhone(
                configuration: first.client.configuration, transport: RouterTransport(client: client),
                clock: server.clock)
            let result = try await second.enroll(
                try OutOfBandPayload(link: enrolment.link), deviceName: "Second\u{1B}[1mphone")
            #expect(try await self.activity(first).notices.map(\.subject) == ["Virtual phone"])
            _ = try await server.assembly.ceremonies.enrolments.confirmEnrolment(
                id: enrolment.id, number: try #require(result.confirmation?.number), by: "test")
            for phone in [first, second] {
                let notices = try await self.activity(phone).notices
                #expect(notices.map(\.kind) == [.deviceAdded, .deviceAdded])
                #expect(try #require(notices.first?.subject).hasSuffix("phone"))
                #expect(try !#require(notices.first?.subject).unicodeScalars.contains("\u{1B}"))
            }
        }
    }

    @Test("Another person's session is neither listed nor ended, and no different from one that never was")
    func othersSession() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let party = try await server.relyingParty()
            let alice = try await server.enrolledPhone(client)
            let mallory = try await server.enrolledPhone(client, username: "mallory")
            let access = try await self.signIn(TestBrowser(client), alice, party, server)
            let id = try #require(try await self.activity(alice).sessions.first?.id)
            let seen = try await self.activity(mallory, "mallory")
            #expect(seen.sessions.isEmpty)
            #expect(seen.notices.map(\.kind) == [.deviceAdded])
            let headers = try self.header(try await self.authorization(mallory, "mallory"))
            let others = try await client.send(.delete, "/account/v1/sessions/\(id)", headers: headers)
            let never = try await client.send(.delete, "/account/v1/sessions/never", headers: headers)
            #expect(others.response.status == .notFound)
            #expect(others.object == never.object && never.response.status == .notFound)
            #expect(try await self.userinfo(access, client).status == .ok)
        }
    }

    /// A service that goes on without the browser, and what it has.
    private func lasting(_ phone: VirtualPhone, _ browser: TestBrowser, _ server: ServerFixture) async throws -> (
        party: RelyingParty, refresh: String
    ) {
        let party = try await server.relyingParty()
        _ = try await server.assembly.provider.clients.change(
            party.id, ClientChange(grantTypes: ["authorization_code", "refresh_token"]))
        let page = try await browser.get(
            party.authorizeAddress().replacing("scope=openid%20profile", with: "scope=openid%20offline_access"))
        let location = try #require(page.headers[.location])
        let request = try #require(page.redirectParameters["request"])
        _ = try await phone.authenticate(try server.typedPayload(try await browser.get(location)))
        let completed = try await browser.get("/sign-in/complete?request=\(request)")
        let code = try #require(completed.redirectParameters["code"])
        return (party, try await party.exchange(code, browser.client).object.requiredString("refresh_token"))
    }

    private func renewed(_ party: RelyingParty, _ refresh: String, _ client: any TestClientProtocol) async throws
        -> HTTPResponse.Status
    {
        try await client.execute(
            uri: "/oauth2/token", method: .post,
            headers: [
                .contentType: "application/x-www-form-urlencoded", .authorization: party.authorization,
            ], body: ByteBuffer(string: "grant_type=refresh_token&refresh_token=\(refresh)")
        ).status
    }

    @Test("The phone lists what a service has that outlives the browser's session, and takes it back")
    func grants() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let mallory = try await server.enrolledPhone(client, username: "mallory")
            let (party, refresh) = try await self.lasting(phone, TestBrowser(client), server)
            let session = try #require(try await self.activity(phone).sessions.first?.id)
            // Another person's is neither listed nor ended.
            let grant = try #require(try await self.activity(phone).grants.first)
            #expect(grant.service == "Demo Bank" && grant.scopes == ["openid", "offline_access"])
            #expect(grant.usedAt == nil)
            #expect(try await self.activity(mallory, "mallory").grants.isEmpty)
            await #expect(throws: OperationError(.sessionUnknown)) {
                try await mallory.client.operations.grantRevocation.grantID(grant.id)
                    .authorizationProvider(try await self.authorization(mallory, "mallory")).execute()
            }
            #expect(session != grant.id)
            try await phone.client.operations.grantRevocation.grantID(grant.id)
                .authorizationProvider(try await self.authorization(phone)).execute()
            #expect(try await self.renewed(party, refresh, client) == .badRequest)
            let left = try await self.activity(phone)
            #expect(left.grants.isEmpty && left.sessions.map(\.id) == [session])
            await #expect(throws: OperationError(.sessionUnknown)) {
                try await phone.client.operations.grantRevocation.grantID(grant.id)
                    .authorizationProvider(try await self.authorization(phone)).execute()
            }
        }
    }

    @Test(
        "All of a service, and everything, are taken back in one call; a query that names something else ends nothing")
    func allGrants() async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let (first, second) = (
                try await self.lasting(phone, TestBrowser(client), server),
                try await self.lasting(phone, TestBrowser(client), server)
            )
            let headers = try self.header(try await self.authorization(phone))
            for query in [
                "?client=", "?service=\(first.party.id)", "?client=a&client=b", "?client=%F", "?client=a&b=c",
            ] {
                let answer = try await client.send(.delete, "/account/v1/grants\(query)", headers: headers)
                #expect(answer.response.status == .badRequest)
            }
            #expect(try await self.activity(phone).grants.count == 2)
            let path = "/account/v1/grants?client=\(first.party.id)"
            for _ in 0..<2 {
                #expect(try await client.send(.delete, path, headers: headers).response.status == .noContent)
                #expect(try await self.renewed(first.party, first.refresh, client) == .badRequest)
            }
            #expect(try await self.activity(phone).grants.count == 1)
            let all = try await client.send(.delete, "/account/v1/grants", headers: headers)
            #expect(all.response.status == .noContent)
            #expect(try await self.renewed(second.party, second.refresh, client) == .badRequest)
            let nobody = try await client.send(.delete, "/account/v1/grants", headers: [:])
            #expect(nobody.response.status == .unauthorized)
        }
    }

    private static let calls: [(HTTPRequest.Method, String)] = [
        (.get, "/account/v1/notices"), (.get, "/account/v1/sessions"), (.delete, "/account/v1/sessions/x"),
        (.get, "/account/v1/consents"), (.delete, "/account/v1/consents/x"),
        (.get, "/account/v1/grants"), (.delete, "/account/v1/grants/x"),
        (.get, "/account/v1/links"), (.delete, "/account/v1/links/x"),
    ]

    @Test("Without the token of an authentication in the app nobody sees anything", arguments: calls)
    func noToken(method: HTTPRequest.Method, path: String) async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let party = try await server.relyingParty()
            // An access token says who somebody is to a service; it is no device's.
            let access = try await self.signIn(TestBrowser(client), phone, party, server)
            let device = try #require(try self.header(try await self.authorization(phone))[.authorization])
            var twice: HTTPFields = [.authorization: device]
            twice.append(HTTPField(name: .authorization, value: device))
            let refused: [HTTPFields] = [
                [:], [.authorization: "Bearer "], [.authorization: "Bearer x.y.z"],
                [.authorization: "Bearer \(access)"],
                [.authorization: device.replacing("Bearer", with: "Basic")], [.authorization: device + "x"], twice,
            ]
            for headers in refused {
                let answer = try await client.send(method, path, headers: headers)
                #expect(answer.response.status == .unauthorized)
                #expect(answer.object["type"] == .string("urn:countersign:error:unauthorized"))
                #expect(try #require(answer.response.headers[.wwwAuthenticate]).hasPrefix("Bearer"))
            }
            let answer = try await client.send(method, path, headers: [.authorization: device])
            #expect(answer.response.status == (method == .delete ? .notFound : .ok))
        }
    }

    @Test("A token is good for its five minutes and no longer", arguments: calls)
    func expiredToken(method: HTTPRequest.Method, path: String) async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let headers = try self.header(try await self.authorization(try await server.enrolledPhone(client)))
            // Clocks may differ by what is allowed for tokens.
            server.clock.advance(by: Limits().deviceTokenLifetime + .seconds(61))
            #expect(try await client.send(method, path, headers: headers).response.status == .unauthorized)
        }
    }

    @Test("A locked account is refused, and a deleted one has no token", arguments: calls)
    func lockedAccount(method: HTTPRequest.Method, path: String) async throws {
        let server = try await ServerFixture()
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let provider = try await self.authorization(phone)
            _ = try await server.assembly.directory.setLocked(true, username: "alice", by: "test")
            let locked = try await client.send(method, path, headers: try self.header(provider))
            #expect(locked.response.status == .forbidden)
            #expect(locked.object["type"] == .string("urn:countersign:error:locked"))
            await #expect(throws: OperationError(.accountLocked)) {
                try await phone.client.operations.accountActivity.username("alice").authorizationProvider(provider)
                    .execute()
            }
            try await server.assembly.directory.delete(username: "alice", by: "test")
            #expect(
                try await client.send(method, path, headers: try self.header(provider)).response.status
                    == .unauthorized)
        }
    }

    @Test("Lists are bounded")
    func bounds() async throws {
        var limits = Limits()
        limits.activityRows = 2
        let server = try await ServerFixture(limits: limits)
        try await server.withPublicClient { client in
            let phone = try await server.enrolledPhone(client)
            let party = try await server.relyingParty()
            for _ in 0..<3 {
                server.clock.advance(by: .seconds(1))
                _ = try await self.signIn(TestBrowser(client), phone, party, server)
            }
            let activity = try await self.activity(phone)
            #expect(activity.sessions.count == 2 && activity.notices.map(\.kind) == [.signedIn, .signedIn])
        }
    }
}
