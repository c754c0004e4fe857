import Countersign
import CountersignTestKit
import Foundation
import OAuth
import Testing
import UAFClient
import _Primitives

@Suite("Parity sign-in F009, F016: signing in with the system's browser")
struct BrowserSignInTests {
    @Test("the browser is sent to the provider with a challenge, and what it brings back becomes tokens")
    func openID() async throws {
        let world = SignInWorld()
        let app = try await world.start()
        try await app.withBrowser()
        #expect(await app.isSignedIn)
        let opened = world.device.browser.opened
        #expect(opened.count == 1)
        #expect(world.device.webViews.views.isEmpty, "nobody signs in within the app")
        let page = try #require(opened.first)
        #expect(page.absoluteString.hasPrefix("https://id.example.com/oauth2/authorize?"))
        let asked = try Parameters(parsing: page.query(percentEncoded: true) ?? "")
        #expect(asked["response_type"] == "code" && asked["client_id"] == "health")
        #expect(asked["scope"] == "openid offline_access device_sso")
        #expect(asked["code_challenge_method"] == "S256" && asked["code_challenge"]?.utf8.count == 43)
        #expect(try #require(asked["state"]).utf8.count >= 22)
        // What left the app itself is the code's exchange, by a form, with the verifier of that very challenge.
        let last = try #require(await world.server.requests.last)
        #expect(last.method == "POST" && last.url.query() == nil)
        let form = try Parameters(parsing: String(decoding: last.body, as: UTF8.self))
        #expect(try CodeVerifier(form.required("code_verifier")).challenge.text == asked["code_challenge"])
    }

    @Test("the sign-in service's page is opened with exactly what it takes", arguments: [false, true])
    func signInService(hasPageOfItsOwn: Bool) async throws {
        var world = SignInWorld(.signInService)
        if hasPageOfItsOwn {
            var addresses = SignInServiceAddresses()
            addresses.signInPage = URL(string: "https://www.example.com/sign-in")
            world.configuration.face = .signInService(addresses)
        }
        let app = try await world.start()
        try await app.withBrowser()
        let page = try #require(world.device.browser.opened.first)
        #expect(page.host() == (hasPageOfItsOwn ? "www.example.com" : "id.example.com"))
        #expect(page.path() == "/sign-in")
        let asked = try Parameters(parsing: page.query(percentEncoded: true) ?? "")
        #expect(
            Set(asked.members.map(\.name)) == [
                "application", "oauth", "code_challenge", "code_challenge_method", "state", "scope",
            ])
        #expect(asked["application"] == "health" && asked["oauth"] == "true" && asked["scope"] == "device_sso")
        #expect(await app.isSignedIn)
        #expect(await world.server.sessions.map(\.isActive) == [true])
    }

    @Test("at the sign-in service, which is told no port, the browser comes back to the one that is registered")
    func loopbackPort() async throws {
        var world = SignInWorld(.signInService)
        world.configuration.redirectURI = "http://127.0.0.1/signed-in"
        let app = try await world.start()
        await #expect(throws: SignInError(.misconfigured)) { try await app.withBrowser() }
        #expect(world.device.browser.opened.isEmpty)
        world.configuration.redirectURI = "http://127.0.0.1:8445/signed-in"
        let other = try await world.start()
        try await other.withBrowser()
        #expect(await other.isSignedIn)
    }

    @Test("answers of the sign-in service are read with their wrapper and without", arguments: [false, true])
    func wrapper(wrapsData: Bool) async throws {
        let world = SignInWorld(.signInService)
        await world.server.setWrapsData(wrapsData)
        let app = try await world.start()
        try await app.withBrowser()
        let headers = try await app.authorization(method: "GET", url: SignInWorld.address)
        #expect(headers.first?.value.hasPrefix("DPoP ") == true)
    }

    @Test("state, challenge and nonce are made anew for every sign-in")
    func fresh() async throws {
        let world = SignInWorld()
        let app = try await world.start()
        for _ in 0..<3 { try await app.withBrowser() }
        for name in ["state", "code_challenge", "nonce"] {
            let values = try world.device.browser.opened.map {
                try #require(try Parameters(parsing: $0.query(percentEncoded: true) ?? "")[name])
            }
            #expect(Set(values).count == 3)
        }
    }

    /// What somebody makes of the address that the browser brings back.
    struct Tampering: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let change: @Sendable (String) -> String

        init(_ testDescription: String, _ change: @escaping @Sendable (String) -> String) {
            self.testDescription = testDescription
            self.change = change
        }

        private static func without(_ name: String) -> @Sendable (String) -> String {
            { Self.changed($0) { $0.hasPrefix("\(name)=") ? nil : String($0) } }
        }

        private static func with(_ name: String, _ value: String) -> @Sendable (String) -> String {
            { Self.changed($0) { $0.hasPrefix("\(name)=") ? "\(name)=\(value)" : String($0) } }
        }

        /// The address with each of its parameters as `change` makes it, or without.
        private static func changed(_ address: String, _ change: (Substring) -> String?) -> String {
            let parts = address.split(separator: "?", maxSplits: 1)
            return parts[0] + "?" + parts[1].split(separator: "&").compactMap(change).joined(separator: "&")
        }

        static let all = [
            Tampering("no state", Self.without("state")),
            Tampering("another state", Self.with("state", "0123456789012345678901")),
            Tampering("an empty state", Self.with("state", "")),
            Tampering("two states") { $0 + "&state=0123456789012345678901" },
            Tampering("no issuer", Self.without("iss")),
            Tampering("another issuer", Self.with("iss", "https%3A%2F%2Fevil.example.com")),
            Tampering("the issuer with a slash", Self.with("iss", "https%3A%2F%2Fid.example.com%2F")),
            Tampering("another address") { $0.replacing("signed-in", with: "signed-in/x") },
            Tampering("another scheme") { $0.replacing("com.example.health", with: "com.example.evil") },
            Tampering("no query") { String($0.prefix { $0 != "?" }) },
            Tampering("no code", Self.without("code")),
            Tampering("escapes that are none") { $0 + "&x=%zz" },
        ]
    }

    @Test("whatever is not the answer to this sign-in is exchanged for nothing", arguments: Tampering.all)
    func tampered(tampering: Tampering) async throws {
        for face in SignInWorld.Face.allCases {
            let world = SignInWorld(face)
            let server = world.server
            world.device.browser.onVisit { tampering.change(try await server.signedIn($0, $1)) }
            let app = try await world.start()
            #expect(await signInError { try await app.withBrowser { true } } == .untrustedAnswer)
            #expect(await server.requests.isEmpty)
            #expect(await !app.isSignedIn)
            #expect(try app.kept == .nothing)
        }
    }

    @Test("the answer to an earlier sign-in is none to a later one")
    func replayed() async throws {
        let world = SignInWorld()
        let app = try await world.start()
        let kept = Kept()
        let server = world.server
        world.device.browser.onVisit { await kept.keep(try await server.signedIn($0, $1)) }
        try await app.withBrowser()
        world.device.browser.onVisit { _, _ in await kept.address }
        #expect(await signInError { try await app.withBrowser() } == .untrustedAnswer)
    }

    private actor Kept {
        private(set) var address: String?
        func keep(_ address: String) -> String {
            self.address = address
            return address
        }
    }

    @Test("who closes the browser, says no, or is refused is told apart, and nobody is signed in")
    func noes() async throws {
        let endings: [(VirtualBrowser.Visit, SignInError.Code)] = [
            ({ _, _ in nil }, .cancelled),
            ({ try Self.ending($0, $1, "error=access_denied") }, .denied),
            ({ try Self.ending($0, $1, "error=server_error") }, .refused),
            ({ _, _ in throw WebAuthenticationError(.unavailable) }, .misconfigured),
        ]
        for (visit, code) in endings {
            let world = SignInWorld()
            world.device.browser.onVisit(visit)
            let app = try await world.start()
            #expect(await signInError { try await app.withBrowser { true } } == code)
            #expect(await world.server.requests.isEmpty)
        }
        for (words, code) in [("auth=fail&code=001", SignInError.Code.denied), ("auth=fail&code=108", .refused)] {
            let world = SignInWorld(.signInService)
            world.device.browser.onVisit { try Self.ending($0, $1, words) }
            let app = try await world.start()
            do {
                try await app.withBrowser()
                Issue.record("signed in")
            } catch let error as SignInError {
                #expect(error.code == code && error.serverCode == String(words.suffix(3)))
            }
        }
    }

    private static func ending(_ page: URL, _ redirectURI: String, _ words: String) throws -> String {
        let state = try Parameters(parsing: page.query(percentEncoded: true) ?? "").required("state")
        return "\(redirectURI)?\(words)&state=\(state)&iss=https%3A%2F%2Fid.example.com"
    }

    @Test("the server's nonce is taken up with the second request, and there is no third")
    func nonce() async throws {
        let world = SignInWorld()
        let app = try await world.start()
        try await app.withBrowser()
        #expect(await world.server.count(world.tokenPath) == 2, "the first had no nonce")
        try await app.withBrowser()
        #expect(await world.server.count(world.tokenPath) == 3, "the nonce is known")
        await world.server.changeNonce()
        try await app.withBrowser()
        #expect(await world.server.count(world.tokenPath) == 5)
        let counter = Counter()
        await world.server.intercept { _ in
            await counter.add()
            let nonce = "other-\(await counter.count)"
            return TransportResponse(
                status: 400, headers: [("DPoP-Nonce", nonce)], body: Array(#"{"error":"use_dpop_nonce"}"#.utf8))
        }
        #expect(await signInError { try await app.withBrowser() } == .refused)
        #expect(await counter.count == 2)
    }

    @Test("a device whose clock is wrong by a day signs in all the same", arguments: [-86_400, 86_400])
    func wrongClock(seconds: Int64) async throws {
        let serverClock = FakeClock()
        let deviceClock = FakeClock(wall: serverClock.now() + .seconds(seconds))
        let world = SignInWorld(.openID, clock: deviceClock, serverClock: serverClock)
        let app = try await world.start()
        try await app.withBrowser()
        #expect(await app.isSignedIn)
    }

    @Test("an ID token of another sign-in, another app or another server is not taken")
    func foreignIDToken() async throws {
        let changes = [("nonce", "other"), ("aud", "other"), ("iss", "https://evil.example.com"), nil]
        for change in changes {
            let world = SignInWorld()
            let app = try await world.start()
            let server = world.server
            await server.intercept { request async throws in
                await server.intercept(nil)
                _ = try? await server.send(request)
                guard let last = await server.requests.last else { return nil }
                let form = try Parameters(parsing: String(decoding: last.body, as: UTF8.self))
                #expect(form["grant_type"] == "authorization_code")
                let page = try #require(world.device.browser.opened.first)
                let asked = try Parameters(parsing: page.query(percentEncoded: true) ?? "")
                var claims: JSONObject = [
                    "iss": .string("https://id.example.com"), "aud": .string("health"), "sub": .string("alice"),
                    "nonce": .string(try asked.required("nonce")),
                ]
                if let (name, value) = change { claims[name] = .string(value) }
                let token = ["{}", JSON.object(claims).text, "x"].map { Base64URL.encode(Array($0.utf8)) }
                    .joined(separator: ".")
                let body: JSONObject = [
                    "access_token": .string("a"), "token_type": .string("DPoP"), "expires_in": .integer(300),
                    "id_token": .string(token),
                ]
                return TransportResponse(status: 200, headers: [], body: JSON.object(body).serialized)
            }
            let error = await signInError { try await app.withBrowser { true } }
            #expect(error == (change == nil ? nil : .untrustedAnswer), "\(change?.0 ?? "nothing") is another")
            #expect(await app.isSignedIn == (change == nil))
        }
    }

    @Test("the browser's session is told what an answer to this sign-in is, where it can send others away")
    func judge() async throws {
        let world = SignInWorld()
        let judging = JudgingBrowser(server: world.server)
        var platform = world.device.platform
        platform.webAuthentication = judging
        let app = try await SignIn(world.configuration, platform: platform, transport: world.server)
        try await app.withBrowser()
        #expect(await app.isSignedIn)
        #expect(await judging.verdicts == [false, false, false, true])
    }

    /// A browser that anybody can pass for: others come first, and the first that is accepted counts.
    private actor JudgingBrowser: WebAuthentication {
        private let server: VirtualSignInServer
        private(set) var verdicts: [Bool] = []

        init(server: VirtualSignInServer) { self.server = server }

        func prepare(for redirectURI: String) async throws -> any PreparedWebAuthentication {
            Session(redirectURI: redirectURI, browser: self)
        }

        fileprivate func answer(_ page: URL, _ redirectURI: String, _ isAnswer: (String) -> Bool) async throws -> String
        {
            let right = try await self.server.signedIn(page, redirectURI)
            let state = try Parameters(parsing: page.query(percentEncoded: true) ?? "").required("state")
            let others = [redirectURI, redirectURI + "?code=c&state=other", redirectURI + "/x?code=c&state=" + state]
            for address in others + [right] {
                self.verdicts.append(isAnswer(address))
                if self.verdicts.last == true { return address }
            }
            throw WebAuthenticationError(.cancelled)
        }

        private struct Session: PreparedWebAuthentication {
            let redirectURI: String
            let browser: JudgingBrowser

            func open(_ address: URL) async throws -> String { try await self.open(address) { _ in true } }

            func open(_ address: URL, accepting isAnswer: @escaping @Sendable (String) -> Bool) async throws -> String {
                try await self.browser.answer(address, self.redirectURI, isAnswer)
            }
        }
    }

    @Test("a server at an address in the clear is told nothing")
    func inTheClear() async throws {
        let world = SignInWorld()
        let address = try #require(URL(string: "http://id.example.com"))
        let configuration = SignInConfiguration(baseURL: address, clientID: "health", redirectURI: "com.example:/x")
        #expect(await signInError { _ = try await world.device.start(configuration) } == .misconfigured)
    }
}
