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
import JOSE
import OAuth
import OAuthProvider
import Passwords
import Records
import SQLStore
import Settings
import Testing
import _Primitives

@testable import CountersignServerTests

@Suite("Reports of daily use: tabs, clocks, libraries, other providers (decisions 13, 28, 79, 91 and 93)")
struct UseReports {
    // MARK: What a person does

    /// A right server lets a person say that a change was somebody else's, by a way that is older than the change.
    ///
    /// Source: NIST SP 800-63B, section 6.1.2.1 (notices of what was bound to an account); decision 91.
    @Test(
        "a mailed link opens a question and nothing else; the older phone lets the change rest and signs strangers out")
    func disowned() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            #expect(try await fixture.enroll().refusal == nil)
            try await fixture.server.enterAddress()
            let stranger = try await fixture.signedIn()
            fixture.server.clock.advance(by: .seconds(1))
            let code = try await fixture.makeCode(stranger).words(of: "typed-code")
            fixture.server.clock.advance(by: .seconds(1))
            #expect(try await fixture.enroll(code, pins: ["604817"], named: "-stranger").refusal == nil)
            #expect(try await fixture.server.sendMail() == [.delivered])
            let (browser, link) = (TestBrowser(fixture.client), try fixture.server.mail.link())
            let page = try await browser.get(link)
            #expect(try await stranger.get("/account").status == .ok)
            let asked = try await browser.post("/account/changes/question", form: page.hiddenFields)
            let waiting = try #require(asked.headers[.location])
            let shown = try TerminalPhoneFixture.code(on: try await browser.get(waiting))
            #expect(try await fixture.scan(shown, lines: ["258036"]).refusal == nil)
            let decision = try await browser.changePage(after: waiting)
            let done = try await browser.post("/account/changes/question", form: decision.hiddenFields)
            #expect(done.text.contains("The change rests"))
            #expect(try await stranger.get("/account").status == .forbidden)
            #expect(try await browser.get(link).status == .notFound)
        }
    }

    /// A right server keeps a sign-in whose link opens in the other browser of a phone, and completes nothing there.
    ///
    /// Source: RFC 9700, section 4.7; decision 93.
    @Test("a link that opens in another browser spends nothing: the browser that began goes on, once")
    func otherBrowser() async throws {
        let server = try await ServerFixture()
        try await server.withSignIn { phone, browser, _, page in
            let link = try page.attribute("href", of: "same-device-link")
            let result = try await phone.authenticate(try OutOfBandPayload(link: link))
            let location = try #require(result.location?.absoluteString)
            let visitor = TestBrowser(browser.client)
            #expect(try await visitor.get(location).status == .forbidden)
            #expect(visitor.cookies["countersign_session"] == nil)
            let continued = try await browser.get(location)
            let completed = try await browser.get(try #require(continued.headers[.location]))
            #expect(completed.redirectParameters["code"] != nil)
            #expect(try await browser.get(location).status == .notFound)
        }
    }

    /// A right server lets tabs that wait go on when one of them has signed in.
    ///
    /// Source: https://github.com/Canopus-Labs/PrepPilot/issues/1388 (several tabs of one person); decision 93.
    @Test("a tab that waited goes on by the session of the other one, and one that wants a fresh sign-in waits on")
    func tabs() async throws {
        try await ReportPlace.run { place in
            let browser = TestBrowser(place.client)
            func begin(_ changes: [String: String?] = [:]) async throws -> String {
                try #require(try await browser.get(place.address(changes)).redirectParameters["request"])
            }
            let (waiting, fresh, signing) = (try await begin(), try await begin(["prompt": "login"]), try await begin())
            let answer = try await place.show(PasswordPlace.password, signing, browser)
            _ = try await browser.get(try #require(answer.headers[.location]))
            #expect(try await browser.get("/sign-in?request=\(waiting)").redirectParameters["code"] != nil)
            #expect(try await browser.get("/sign-in?request=\(fresh)").redirectParameters["code"] == nil)
        }
    }

    /// A right server lets one of two phones in that have the code and the PIN, and tells the other one the truth.
    ///
    /// Source: CWE-362.
    @Test("of two phones with one activation's code and the right PIN one enrols")
    func twoPhones() async throws {
        try await IdentityStage.run { stage async throws in
            let code = try await stage.offer(pin: "824193").code
            let phones = [try await stage.phone("first"), try await stage.phone("second")]
            let enrolled = await withTaskGroup(of: Bool.self) { group in
                for phone in phones {
                    group.addTask {
                        guard case .newPersonalization(let new)? = try? await phone.open(code, pin: "824193") else {
                            return false
                        }
                        return (try? await phone.sdk.personalizer.finishPersonalization(request: new)) != nil
                    }
                }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(enrolled == 1)
        }
    }

    /// A right server does not make the first 72 bytes of a password the password because another server looked at no more.
    ///
    /// Source: CWE-521; bcrypt's bound of 72 bytes.
    @Test("an imported bcrypt hash keeps what was cut: a longer password signs in, and is not hashed anew")
    func bcrypt() async throws {
        let cut = "$2b$05$CCCCCCCCCCCCCCCCCCCCC.ODcEJfYFxKziEakDsjep8mcF3zSCvHq"
        try await PasswordPlace.run(hash: cut) { place in
            let long = String(repeating: "a", count: 72) + " and more"
            #expect(try await place.show(long, try await place.begin()).status == .seeOther)
            let source = try await place.passwords.summary(username: "alice").source
            #expect(source == .imported)
            let shorter = String(repeating: "a", count: 71)
            #expect(try await place.show(shorter, try await place.begin()).status == .forbidden)
        }
    }

    // MARK: What services and their libraries do

    /// A right server passes a level over that it does not know, and holds to one that it knows.
    ///
    /// Source: OpenID Connect Core 1.0, sections 3.1.2.1 and 5.5.1.1; decision 31.
    @Test("a word of acr_values that is nobody's signs people in; a level that nobody reached does not")
    func levels() async throws {
        try await ReportPlace.run { place in
            let browser = try await place.signedIn()
            func outcome(_ levels: String) async throws -> String {
                place.outcome(try await browser.get(place.address(["acr_values": levels, "prompt": "none"])))
            }
            #expect(try await outcome("urn:mace:incommon:iap:silver 0") == "code")
            #expect(try await outcome("urn:countersign:acr:two-factor") != "code")
        }
    }

    /// A right server registers what platforms give their apps: a loopback name, a scheme with two slashes.
    ///
    /// Source: RFC 8252, sections 7.1, 7.3 and 8.3; decision 79.
    @Test("localhost and a scheme of an app's own are addresses of an app, and no other host of plain http is")
    func appAddresses() async throws {
        let server = try await ServerFixture()
        for address in ["http://localhost:8090/in", "com.example.app://callback", "com.example.app:/callback"] {
            _ = try await ReportPlace.service(server, redirectURIs: [address]) { $0.authenticationMethod = "none" }
        }
        for address in ["http://localhost.evil.example/in", "http://intranet/in", "callback://x", "app:/in"] {
            await #expect(throws: (any Error).self, "\(address)") {
                try await ReportPlace.service(server, redirectURIs: [address]) { $0.authenticationMethod = "none" }
            }
        }
    }

    /// A right server judges the age of a proof by the nonce that it gave, where a client's clock is off.
    ///
    /// Source: RFC 9449, sections 8 and 11.1; decision 30.
    @Test("a client's clock may be five minutes off beside a fresh nonce, and not an hour")
    func clocks() async throws {
        try await ReportPlace.run { place in
            let key = try ReportPlace.key().signing
            let asked = try await place.redeem(
                try await place.code(), proofs: [try place.proof(key, "POST", "/oauth2/token", nonce: nil)])
            let nonce = try #require(asked.response.headers[.keyProofNonce])
            for (span, isTaken) in [(Duration.seconds(290), true), (.seconds(-290), true), (.seconds(3600), false)] {
                let proof = try DPoPProof.make(
                    method: "POST", target: #require(TargetURI(ReportPlace.issuer + "/oauth2/token")), nonce: nonce,
                    with: key, at: place.now + span, random: .system)
                let answer = try await place.redeem(try await place.code(), proofs: [proof])
                #expect((answer.response.status == .ok) == isTaken, "\(span)")
            }
        }
    }

    /// A right server verifies a signed request by the keys that its client publishes.
    ///
    /// Source: RFC 9101, section 6.2; OpenID Connect Core 1.0, section 10.1.
    @Test("a client whose keys are at an address signs its requests, and a request of another key is refused")
    func publishedKeys() async throws {
        let (key, thief) = (try ReportPlace.key(named: "a"), try ReportPlace.key(named: "a"))
        try await ReportPlace.run(calls: PublishedFiles(["https://shop.example/keys": key.set])) { place in
            let service = try await ReportPlace.service(place.server) { settings in
                settings.authenticationMethod = "private_key_jwt"
                settings.keySetAddress = "https://shop.example/keys"
            }
            var claims = place.assertion(of: service, ["sub": nil])
            for (name, value) in place.request(of: service).members { claims[name] = .string(value) }
            for (signing, isTaken) in [(key.signing, true), (thief.signing, false)] {
                let object = try JWS.sign(JSON.object(claims).serialized, type: "oauth-authz-req+jwt", with: signing)
                let query: OAuth.Parameters = ["client_id": service.id, "request": object]
                let answer = try await TestBrowser(place.client).get("/oauth2/authorize?" + query.encoded)
                #expect((place.outcome(answer) == "/sign-in") == isTaken)
            }
        }
    }

    /// A right server makes no token for a resource whose owner is switched off.
    ///
    /// Source: RFC 8707, section 2; decision 28.
    @Test("a switched off owner's resource gets no tokens, and those that there are count for nothing")
    func switchedOffOwner() async throws {
        try await ReportPlace.run { place in
            let owner = try await ReportPlace.service(place.server) { $0.tokens.resources = ["https://api.example"] }
            let caller = try await ReportPlace.service(place.server) { settings in
                settings.grantTypes = ["client_credentials"]
                settings.tokens = TokenSettings(scopes: ["read"], audiences: ["https://api.example"])
            }
            let form: OAuth.Parameters = ["grant_type": "client_credentials", "resource": "https://api.example"]
            let token = try await place.post("/oauth2/token", form, as: caller).object.requiredString("access_token")
            #expect(try await place.introspect(token, as: owner)["active"] == .bool(true))
            var off = ClientChange()
            off.isDisabled = true
            _ = try await place.server.assembly.provider.clients.change(owner.id, off)
            #expect(try await place.post("/oauth2/token", form, as: caller).object.error == "invalid_target")
            #expect(try await place.introspect(token, as: caller)["active"] == .bool(false))
        }
    }

    /// A right server ends with an app's session the web views that the app has opened.
    ///
    /// Source: OpenID Connect Native SSO for Mobile Apps 1.0; RFC 7009, section 2.1.
    @Test("a web view's session ends when the app gives up its own")
    func webViews() async throws {
        try await AppSignIn.run { place async throws in
            let tokens = try await place.appTokens()
            let web = try await place.webView(tokens)
            #expect(try await place.get("introspect", cookies: web).status == .ok)
            #expect(try await place.post("revoke", ["refresh_token": tokens.refresh]).status == .ok)
            #expect(try await place.get("introspect", cookies: web).status == .unauthorized)
            #expect(try await place.post("refresh", [:], cookies: web).status != .ok)
        }
    }

    /// A right server names what it refuses of a back end's library, and takes it where an operator says so.
    ///
    /// Source: https://github.com/department-of-veterans-affairs/sign-in-service-rb (parameters of a POST in its address).
    @Test("parameters of a POST in its address are taken where an operator lets them be, and nowhere else")
    func queryParameters() async throws {
        for isTaken in [true, false] {
            var settings = AppSignIn.appSettings
            settings.takesQuery = isTaken
            try await AppSignIn.run(app: settings) { place async throws in
                let refresh = try await place.appTokens().refresh
                let answer = try await place.client.execute(
                    uri: "/v0/sign_in/refresh?refresh_token=\(refresh)", method: .post)
                #expect((answer.status == .ok) == isTaken, "\(answer.text)")
            }
        }
    }

    // MARK: Other providers

    /// A right server takes nobody for an account because another provider says an address that the account has.
    ///
    /// Source: "nOAuth" (Microsoft Entra, June 2023); CWE-287 (an account that was made before its owner came).
    @Test("a provider's address of an account is no way into the account")
    func sameAddress() async throws {
        try await TwoServers.run(settings: ["newcomers": .string("created")]) { two async throws in
            let directory = two.server.assembly.directory
            let local = try await directory.create(
                username: "pat", displayName: nil, email: AccountEmail(address: "pat@staff.example", isVerified: true),
                by: "test")
            let claims = try await two.claims(try await two.signIn(try await two.open()))
            #expect(claims["sub"] != nil)
            #expect(try await two.server.assembly.upstreamProviders.links(ofAccount: local.id).isEmpty)
            #expect(try await directory.accounts().count == 2)
        }
    }

    /// A right server keeps the place of a person who comes back while very many do.
    ///
    /// Source: CWE-400; decision 45.
    @Test("who comes back from a provider that is crowded can come again the same way")
    func crowded() async throws {
        var limits = Limits()
        (limits.oauth.arrivalsAtOncePerProvider, limits.oauth.waitingArrivals) = (0, 0)
        try await TwoServers.run(settings: ["newcomers": .string("created")], limits: limits) { two async throws in
            let page = try await two.signIn(try await two.open())
            #expect(page.status == .serviceUnavailable)
            let again = try page.attribute("href", of: "link")
            #expect(again.hasPrefix("/sign-in/provider/staff/callback?"))
            #expect(try await two.here.get(again).status == .serviceUnavailable)
        }
    }

    /// A right server takes an answer of another provider in the browser that was sent there, with the state that it gave,
    /// once.
    ///
    /// Source: RFC 6749, section 10.12; RFC 9207, section 2.4; RFC 9700, section 4.4.
    @Test("an answer of a provider is of one browser, one trip and one issuer")
    func callbacks() async throws {
        try await TwoServers.run(settings: ["newcomers": .string("created")]) { two async throws in
            let leaving = try await two.open()
            let page = try await two.otherPage(leaving)
            let request = try #require(TwoServers.field("request", page))
            let answer = try await two.there.post(
                "/sign-in/password",
                form: PasswordPlace.form([
                    "request": request, "username": "pat", "password": TwoServers.password,
                ]))
            let left = try await TwoServers.follow(two.there, answer, at: TwoServers.upstream)
            let callback = try #require(left.headers[.location])
            let mallory = TestBrowser(two.client)
            _ = try await mallory.get(two.party.authorizeAddress())
            for address in [callback, callback.replacing(#/state=[^&]*/#, with: "state=guessed")] {
                let other = try await mallory.get(address)
                #expect(other.redirectParameters["code"] == nil && other.status != .seeOther, "\(other.status)")
            }
            let mixed = try await two.here.get(
                callback.replacing(#/iss=[^&]*/#, with: "iss=https%3A%2F%2Fevil.example"))
            #expect(mixed.redirectParameters["code"] == nil)
        }
    }

    /// A right server gives a person who was refused a number that an operator finds, and the same page to everybody.
    ///
    /// Source: CWE-778; CWE-204.
    @Test("a wrong password has a reference, for a name that nobody has too")
    func references() async throws {
        try await ReportPlace.run { place in
            let browser = TestBrowser(place.client)
            for name in ["alice", "nobody"] {
                let request = try #require(try await browser.get(place.address()).redirectParameters["request"])
                let page = try await place.show("wrong", as: name, request, browser)
                #expect(page.status == .forbidden)
                #expect(page.text.firstMatch(of: #/<code>[0-9A-Z]{4}-[0-9A-Z]{4}</code>/#) != nil)
            }
        }
    }

    /// A right server binds another provider's ID token by its nonce, and takes one that is dated back.
    ///
    /// Source: OpenID Connect Core 1.0, section 3.1.3.7 (11 and 12); the tokens of Microsoft, whose `iat` is five minutes back.
    @Test("a provider whose clock is five minutes behind signs people in; one whose tokens have ended does not")
    func behind() async throws {
        for (span, isTaken) in [(Duration.seconds(280), true), (.seconds(100_000), false)] {
            try await TwoServers.run(settings: ["newcomers": .string("created")]) { two async throws in
                two.server.clock.advance(by: span)
                let answer = try await two.signIn(try await two.open())
                #expect((answer.redirectParameters["code"] != nil) == isTaken, "\(span)")
            }
        }
    }
}
