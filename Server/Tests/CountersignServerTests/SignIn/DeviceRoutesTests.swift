import Accounts
import Countersign
import CountersignServer
import CountersignTestKit
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JOSE
import Logging
import NIOCore
import OAuthProvider
import Records
import Settings
import Testing
import _Primitives

/// A device without a browser, over HTTP.
private struct Television {
    static let grant = "urn:ietf:params:oauth:grant-type:device_code"

    let client: any TestClientProtocol
    let authorization: String
    let id: String

    init(_ server: ServerFixture, _ client: any TestClientProtocol) async throws {
        let registered = try await server.assembly.provider.clients.register(
            name: "Demo Television", redirectURIs: ["https://tv.example/about"],
            settings: ClientSettings(idTokenAlgorithm: .es256, grantTypes: [Self.grant]))
        self.client = client
        self.id = registered.client.id
        self.authorization =
            "Basic " + Data("\(self.id):\(try #require(registered.secret))".utf8).base64EncodedString()
    }

    func post(_ path: String, _ form: String) async throws -> (response: TestResponse, object: JSONObject) {
        let response = try await self.client.execute(
            uri: path, method: .post,
            headers: [.contentType: "application/x-www-form-urlencoded", .authorization: self.authorization],
            body: ByteBuffer(string: form))
        guard case .object(let object)? = try? JSON(parsing: Array(response.body.readableBytesView)) else {
            return (response, [:])
        }
        return (response, object)
    }

    func begin() async throws -> (device: String, user: String, complete: String) {
        let object = try await self.post("/oauth2/device_authorization", "scope=openid+profile").object
        return (
            try object.requiredString("device_code"), try object.requiredString("user_code"),
            try object.requiredString("verification_uri_complete")
        )
    }

    func poll(_ code: String) async throws -> JSONObject {
        try await self.post("/oauth2/token", "grant_type=\(Self.grant)&device_code=\(code)").object
    }
}

@Suite("RFC 8628, section 3.3: a person signs a device in that has no browser (parity F124)")
struct DeviceRoutesTests {
    private func withTelevision(
        limits: Limits = Limits(),
        _ test: @escaping @Sendable (ServerFixture, Television, TestBrowser) async throws -> Void
    ) async throws {
        let server = try await ServerFixture(limits: limits)
        try await server.withPublicClient { client in
            try await test(server, try await Television(server, client), TestBrowser(client))
        }
    }

    /// Types a code into the page, and gives the address of the sign-in page.
    private func enter(_ code: String, _ browser: TestBrowser) async throws -> String {
        _ = try await browser.get("/device")
        let entered = try await browser.post("/device", form: "user_code=\(code)")
        #expect(entered.status == .seeOther)
        return try #require(entered.headers[.location])
    }

    /// What the form of the confirmation's page sends.
    private func form(_ page: TestResponse) throws -> String {
        let fields = page.text.matches(of: /<input type="hidden" name="([a-z]+)" value="([^"]*)">/).prefix(3)
        return fields.map { "\($0.1)=\($0.2)" }.joined(separator: "&")
    }

    @Test("a device of a service of personalised identities is signed in where the service takes the person still")
    func service() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            let television = try await Television(fixture.server, fixture.client)
            let identities = fixture.server.assembly.identities
            var profile = TerminalPhoneFixture.profile
            profile["attributes"] = nil
            _ = try await identities.setService(television.id, to: profile, by: "test")
            #expect(try await fixture.enroll().refusal == nil)
            for isActive in [true, false] {
                let browser = TestBrowser(fixture.client)
                let codes = try await television.begin()
                let location = try await self.enter(codes.user, browser)
                let outcome = try await fixture.scan(
                    try TerminalPhoneFixture.code(on: try await browser.get(location)), lines: ["258036"])
                #expect(outcome.refusal == nil, "\(outcome.lines)")
                let completed = try await browser.get(
                    "/sign-in/complete?" + location.dropFirst("/sign-in?".count))
                let question = try await browser.get(try #require(completed.headers[.location]))
                _ = try await identities.changeService(television.id, by: ["active": .bool(isActive)], by: "test")
                let confirmed = try await browser.post("/device/confirm", form: try self.form(question))
                #expect(confirmed.status == (isActive ? .ok : .forbidden))
                fixture.server.clock.advance(by: .seconds(5))
                let answer = try await television.poll(codes.device)
                #expect((answer["access_token"] != nil) == isActive)
                #expect(answer["error"] == (isActive ? nil : .string("access_denied")))
            }
        }
    }

    @Test("by the whole address: the code, the phone, the question, and then the device has its tokens")
    func signsIn() async throws {
        try await self.withTelevision { server, television, browser in
            let phone = try await server.enrolledPhone(browser.client)
            let codes = try await television.begin()
            let page = try await browser.get(codes.complete)
            #expect(page.status == .ok && page.headers[.cacheControl] == "no-store")
            #expect(page.text.contains("name=\"user_code\" value=\"\(codes.user)\""))
            #expect(try await television.poll(codes.device)["error"] == .string("authorization_pending"))
            let entered = try await browser.post("/device", form: "user_code=\(codes.user.lowercased())")
            let signIn = try await browser.get(try #require(entered.headers[.location]))
            #expect(signIn.text.contains("Sign in to <bdi>Demo Television</bdi>"))
            _ = try await phone.authenticate(try server.typedPayload(signIn))
            let requester = try #require(phone.person.asked.compactMap(\.requester).first)
            #expect(requester.service == "Demo Television" && requester.origin == "https://tv.example")
            let completed = try await browser.get(
                "/sign-in/complete?" + (try #require(entered.headers[.location]).dropFirst("/sign-in?".count)))
            #expect(completed.status == .seeOther && completed.headers[.setCookie] == nil)
            let question = try await browser.get(try #require(completed.headers[.location]))
            #expect(try question.words(of: "user-code") == codes.user)
            #expect(try question.words(of: "origin") == "https://tv.example")
            #expect(question.text.contains("<bdi>Demo Television</bdi>") && question.text.contains("<bdi>alice</bdi>"))
            server.clock.advance(by: .seconds(5))
            #expect(try await television.poll(codes.device)["error"] == .string("authorization_pending"))
            let confirmed = try await browser.post("/device/confirm", form: try self.form(question))
            #expect(confirmed.status == .ok && confirmed.text.contains("Go on at your device"))
            server.clock.advance(by: .seconds(5))
            let tokens = try await television.poll(codes.device)
            let claims = try await browser.client.send(
                .get, "/oauth2/userinfo",
                headers: [.authorization: "Bearer \(try tokens.requiredString("access_token"))"])
            #expect(claims.object["preferred_username"] == .string("alice"))
            // What was decided is over, and the browser is signed in nowhere.
            #expect(browser.cookies.keys.allSatisfy { !$0.hasSuffix("_session") })
            #expect(try await browser.post("/device/confirm", form: try self.form(question)).status == .notFound)
            #expect(try await browser.get("/device/confirm?" + self.form(question)).status == .notFound)
        }
    }

    @Test("a no on the question's page, and one on the sign-in page, are told to the device")
    func refuses() async throws {
        try await self.withTelevision { server, television, browser in
            let phone = try await server.enrolledPhone(browser.client)
            for hasAuthenticated in [true, false] {
                let codes = try await television.begin()
                let address = try await self.enter(codes.user, browser)
                let query = address.dropFirst("/sign-in?".count)
                if hasAuthenticated {
                    _ = try await phone.authenticate(try server.typedPayload(try await browser.get(address)))
                    #expect(try await browser.get("/sign-in/complete?\(query)").status == .seeOther)
                    #expect(try await browser.get("/device/confirm?\(query)").status == .ok)
                }
                let refused = try await browser.post("/sign-in/cancel", form: String(query))
                #expect(refused.status == .ok && refused.headers[.location] == nil)
                #expect(refused.text.contains("The device was not signed in"))
                #expect(try await television.poll(codes.device)["error"] == .string("access_denied"))
                #expect(try await browser.get("/device/confirm?\(query)").status == .notFound)
            }
        }
    }

    @Test("a form of another site, without our page's sign, and of another browser change nothing")
    func foreignForms() async throws {
        try await self.withTelevision { server, television, browser in
            let phone = try await server.enrolledPhone(browser.client)
            let codes = try await television.begin()
            // Without the browser's cookie, which other sites' forms do not bring along.
            let foreign = TestBrowser(browser.client)
            let page = try await foreign.post("/device", form: "user_code=\(codes.user)")
            #expect(page.status == .notFound && page.headers[.setCookie] == nil)
            let address = try await self.enter(codes.user, browser)
            let query = address.dropFirst("/sign-in?".count)
            // Nobody has authenticated yet.
            #expect(try await browser.get("/device/confirm?\(query)").status == .notFound)
            _ = try await phone.authenticate(try server.typedPayload(try await browser.get(address)))
            let form = try self.form(try await browser.get("/device/confirm?\(query)"))
            #expect(try await browser.post("/device/confirm", form: String(query)).status == .notFound)
            let wrong = form.replacing(/confirmation=./, with: "confirmation=~")
            #expect(try await browser.post("/device/confirm", form: wrong).status == .notFound)
            _ = try await foreign.get("/device")
            #expect(try await foreign.post("/device/confirm", form: form).status == .notFound)
            #expect(try await foreign.get("/device/confirm?\(query)").status == .notFound)
            #expect(try await television.poll(codes.device)["error"] == .string("authorization_pending"))
            #expect(try await browser.post("/device/confirm", form: form).status == .ok)
        }
    }

    @Test("a code that is none is asked for again, with its reason in the log")
    func unknownCode() async throws {
        let server = try await ServerFixture()
        let lines = try await server.requestLines { client in
            let browser = TestBrowser(client)
            _ = try await browser.get("/device")
            let wrong = try await browser.post("/device", form: "user_code=abcde-23456")
            #expect(wrong.status == .badRequest && wrong.text.contains("No device waits for this code."))
            #expect(wrong.text.contains("value=\"ABCDE-23456\""))
            let hostile = try await browser.post("/device", form: "user_code=%22%3E%3Cb%3E")
            #expect(hostile.status == .badRequest && hostile.text.contains("value=\"\""))
            let address = try await browser.get("/device?user_code=%22%3E%3Cb%3E")
            #expect(address.status == .ok && address.text.contains("value=\"\""))
        }
        #expect(lines.filter { $0["error"] == "device-code-unknown" }.count == 2)
    }

    @Test("past the budget of guesses the page says when to come back (parity F133)")
    func tooMany() async throws {
        var limits = Limits()
        (limits.guessBurst, limits.guessesPerMinute) = (2, 6)
        try await self.withTelevision(limits: limits) { _, _, browser in
            _ = try await browser.get("/device")
            for _ in 0..<2 {
                #expect(try await browser.post("/device", form: "user_code=ZZZZZ-ZZZZZ").status == .badRequest)
            }
            let refused = try await browser.post("/device", form: "user_code=ZZZZZ-ZZZZZ")
            #expect(refused.status == .tooManyRequests && refused.headers[.retryAfter] == "10")
        }
    }
}
