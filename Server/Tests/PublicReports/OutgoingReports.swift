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

@Suite("Reports of calls that strangers have a server make (CWE-918; RFC 9101, section 10.4)")
struct OutgoingReports {
    /// A right server fetches no request from an address that a browser brings.
    ///
    /// Source: CVE-2020-10770 (Keycloak); RFC 9101, section 10.4.1.
    @Test("a request_uri is a name that the server has given, and no address")
    func requestAddresses() async throws {
        let calls = PublishedFiles()
        try await ReportPlace.run(calls: calls) { place in
            for address in [
                "https://evil.example/request", "http://127.0.0.1:8080/", "http://169.254.169.254/latest/meta-data",
                "file:///etc/passwd", "urn:ietf:params:oauth:request_uri:guessed", "",
            ] {
                let query = ReportPlace.parameters(["client_id": place.party.id, "request_uri": address])
                let answer = try await TestBrowser(place.client).get("/oauth2/authorize?" + query.encoded)
                #expect(answer.redirectParameters["request"] == nil, "\(address)")
                let pushed = try await place.post("/oauth2/par", place.request(["request_uri": address]))
                #expect(pushed.response.status == .badRequest || address.isEmpty, "\(address)")
            }
            #expect(calls.addresses.isEmpty)
        }
    }

    /// A right server takes a pushed request from the service and the browser that it is for, and once.
    ///
    /// Source: RFC 9126, sections 2.2 and 7.3.
    @Test("the name of another service's request, or of one that was answered, is worth nothing")
    func pushedNames() async throws {
        try await ReportPlace.run { place in
            let name = try await place.post("/oauth2/par", place.request()).object.requiredString("request_uri")
            let other = try await ReportPlace.service(place.server)
            func come(_ id: String, _ browser: TestBrowser) async throws -> TestResponse {
                let query = ReportPlace.parameters(["client_id": id, "request_uri": name])
                return try await browser.get("/oauth2/authorize?" + query.encoded)
            }
            #expect(try await come(other.id, TestBrowser(place.client)).headers[.location] == nil)
            let browser = try await place.signedIn()
            #expect(try await come(place.party.id, browser).redirectParameters["code"] != nil)
            #expect(try await come(place.party.id, browser).headers[.location] == nil)
        }
    }

    /// A right server calls no address that a service names before that is judged, and none of its own network.
    ///
    /// Source: CWE-918; CVE-2021-26715 (MITREid Connect: a logo).
    @Test("a registration has the server call nobody")
    func registration() async throws {
        let calls = PublishedFiles()
        try await ReportPlace.run(hasRegistration: true, calls: calls) { place in
            let initial = try await place.server.withSocketClient { client in
                try await client.send(.post, "/admin/v1/registration-tokens", ["clients": .integer(9)]).object
                    .requiredString("token")
            }
            for name in ["logo_uri", "jwks_uri", "policy_uri", "tos_uri", "backchannel_logout_uri"] {
                for address in ["http://169.254.169.254/", "file:///etc/passwd", "gopher://127.0.0.1:6379/_x"] {
                    _ = try await place.client.send(
                        .post, "/oauth2/register",
                        [
                            "redirect_uris": .array([.string("https://self.example/in")]),
                            "id_token_signed_response_alg": .string("ES256"), name: .string(address),
                        ], headers: [.authorization: "Bearer \(initial)"])
                }
            }
            #expect(calls.addresses.isEmpty)
        }
    }
}
