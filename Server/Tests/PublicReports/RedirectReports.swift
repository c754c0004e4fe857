import CountersignServer
import CountersignTestKit
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import OAuth
import OAuthProvider
import Records
import Testing
import _Primitives

@testable import CountersignServerTests

@Suite("Reports of redirect addresses (RFC 9700, sections 2.1 and 4.1)")
struct RedirectReports {
    /// A right server compares a redirect address letter by letter: a prefix, another case, a path that climbs, credentials
    /// before the host, a fragment or an added query is another address. The person then stays at the server.
    ///
    /// Source: CVE-2023-6291 and CVE-2024-8883 (Keycloak), CVE-2020-15233 and CVE-2020-15234 (ORY Fosite), CVE-2024-52289
    /// (authentik); RFC 9700, section 4.1.3.
    @Test("an address that only looks like the registered one leads nobody there")
    func lookalikes() async throws {
        try await ReportPlace.run { place in
            for address in [
                "http://127.0.0.1:8081/callback/", "http://127.0.0.1:8081/callback/../evil",
                "http://127.0.0.1:8081/callback%2f..%2fevil", "http://127.0.0.1:8081/Callback",
                "http://127.0.0.1:8081/callback?next=https://evil.example", "http://127.0.0.1:8081/callback#x",
                "http://127.0.0.1:8081@evil.example/callback", "http://evil.example#@127.0.0.1:8081/callback",
                "http://127.0.0.1:8081.evil.example/callback", "http://127.0.0.1:8082/callback",
                "https://127.0.0.1:8081/callback", "HTTP://127.0.0.1:8081/callback", "http://127x0x0x1:8081/callback",
                "http://127.0.0.1:8081/callback\u{0}", "http://127.0.0.1:8081\\@evil.example/callback",
                "//127.0.0.1:8081/callback", "javascript:alert(1)", "",
            ] {
                let answer = try await TestBrowser(place.client).get(place.address(["redirect_uri": address]))
                #expect(answer.headers[.location] == nil && answer.status == .badRequest, "\(address)")
            }
        }
    }

    /// A right server does not register what runs as a script, or what any site can be.
    ///
    /// Source: CVE-2024-21637 (authentik: `javascript:` as redirect address, with `form_post`); CVE-2023-6134 (Keycloak:
    /// wildcards).
    @Test(
        "an address that is a script, a wildcard or of plain http is not registered",
        arguments: [
            "javascript:alert(1)", "data:text/html,x", "vbscript:x", "https://*.example/in", "https://app.example/*",
            "http://app.example/in", "https://app.example/in#fragment", "https://user:word@app.example/in",
            "file:///in",
        ])
    func registration(address: String) async throws {
        let server = try await ServerFixture()
        await #expect(throws: (any Error).self) { try await ReportPlace.service(server, redirectURIs: [address]) }
    }

    /// A right server leads nobody to an unknown address with an error either.
    ///
    /// Source: CVE-2023-6927 (Keycloak); RFC 9700, section 4.11.2.
    @Test("a request that is wrong in more than its address is no open redirector")
    func errorsLeadNowhere() async throws {
        try await ReportPlace.run { place in
            for changes in [
                ["prompt": "none"], ["response_type": "token"], ["scope": "nothing"], ["response_mode": "form_post"],
                ["response_mode": "web_message"], ["client_id": "unknown"],
            ] {
                var changes: [String: String?] = changes
                changes["redirect_uri"] = "https://evil.example/callback"
                let answer = try await TestBrowser(place.client).get(place.address(changes))
                #expect(answer.status == .badRequest && answer.headers[.location] == nil)
                #expect(!answer.text.contains("evil.example"))
            }
        }
    }

    /// A right server leads from a sign-out only to an address that is registered for it: one for sign-ins is none.
    ///
    /// Source: OpenID Connect RP-Initiated Logout 1.0, section 3; CVE-2024-8883 (Keycloak).
    @Test("a sign-out leads to no address that is not registered for it")
    func signOut() async throws {
        try await ReportPlace.run { place in
            for address in [
                "https://evil.example", "http://127.0.0.1:8081/callback", "http://127.0.0.1:8081/bye/../evil",
                "http://127.0.0.1:8081/bye?x", "//127.0.0.1:8081/bye",
            ] {
                let browser = try await place.signedIn()
                let query = ReportPlace.parameters([
                    "client_id": place.party.id, "post_logout_redirect_uri": address,
                ])
                let answer = try await browser.get("/oauth2/logout?" + query.encoded)
                #expect(answer.headers[.location] == nil)
                #expect(try await browser.get(place.address()).redirectParameters["code"] != nil)
            }
        }
    }

    /// A right server compares the address of an app at a loopback address in all but its port.
    ///
    /// Source: RFC 8252, section 7.3; CVE-2020-15233 (ORY Fosite).
    @Test("an app's port is its own, and its host and its path are not")
    func loopback() async throws {
        try await ReportPlace.run { place in
            let app = try await ReportPlace.service(place.server, redirectURIs: ["http://127.0.0.1/in"]) { settings in
                settings.authenticationMethod = "none"
            }
            #expect(try await place.outcome(["redirect_uri": "http://127.0.0.1:51234/in"], of: app) == "/sign-in")
            for address in [
                "http://localhost:51234/in", "http://127.0.0.1:51234/in/x", "http://127.0.0.1:51234/IN",
                "http://127.0.0.2:51234/in", "http://[::1]:51234/in", "http://127.0.0.1:51234@evil.example/in",
                "http://127.0.0.1:99999/in", "http://127.0.0.1:/in", "https://127.0.0.1:51234/in",
            ] {
                #expect(try await place.outcome(["redirect_uri": address], of: app) == "page", "\(address)")
            }
        }
    }

    /// A right server answers in a way that does not turn a person's POST into a POST at the service.
    ///
    /// Source: RFC 9700, section 4.12 (the 307 redirect attack).
    @Test("who has typed a password is led on by 303")
    func statusOfRedirects() async throws {
        try await ReportPlace.run { place in
            let browser = TestBrowser(place.client)
            let request = try #require(try await browser.get(place.address()).redirectParameters["request"])
            let answer = try await place.show(PasswordPlace.password, request, browser)
            #expect(answer.status == .seeOther)
            let completed = try await browser.get(try #require(answer.headers[.location]))
            #expect(completed.status == .seeOther && place.outcome(completed) == "code")
        }
    }

    /// A right server says in each answer of the authorization endpoint who it is, in errors too.
    ///
    /// Source: RFC 9207, section 2; RFC 9700, section 4.4 (mix-up attacks).
    @Test("every answer to a service names the issuer, which is the one of the metadata")
    func issuer() async throws {
        try await ReportPlace.run { place in
            let browser = try await place.signedIn()
            for changes: [String: String?] in [[:], ["response_type": "token"], ["prompt": "none", "max_age": "x"]] {
                let answer = try await browser.get(place.address(changes))
                #expect(answer.redirectParameters["iss"] == ReportPlace.issuer, "\(place.outcome(answer))")
                #expect(answer.redirectParameters["state"] == "st-1")
            }
            let metadata = try await place.client.send(.get, "/.well-known/openid-configuration").object
            #expect(metadata["authorization_response_iss_parameter_supported"] == .bool(true))
        }
    }

    /// A right server gives no token through a browser's address.
    ///
    /// Source: RFC 9700, section 2.1.2.
    @Test("implicit and hybrid answers are refused, and so is a fragment")
    func implicit() async throws {
        try await ReportPlace.run { place in
            for type in [
                "token", "id_token", "id_token token", "code token", "code id_token", "code id_token token", "none",
            ] {
                #expect(try await place.outcome(["response_type": type]) == "unsupported_response_type")
                let fragment = try await TestBrowser(place.client).get(place.address(["response_mode": "fragment"]))
                #expect(fragment.headers[.location]?.contains("#") != true)
                #expect(place.outcome(fragment) == "invalid_request")
            }
        }
    }
}
