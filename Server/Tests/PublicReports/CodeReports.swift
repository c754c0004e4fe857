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

@Suite("Reports of codes (RFC 6749, section 4.1, and RFC 9700, section 4.5)")
struct CodeReports {
    /// A right server takes a code once, and takes back what a code has given that comes a second time.
    ///
    /// Source: RFC 6749, section 4.1.2.
    @Test("a code that comes twice ends the tokens of the first time")
    func replay() async throws {
        try await ReportPlace.run { place in
            let code = try await place.code()
            let access = try await place.redeem(code).object.requiredString("access_token")
            #expect(try await place.client.userinfo(access).response.status == .ok)
            #expect(try await place.redeem(code).object.error == "invalid_grant")
            #expect(try await place.client.userinfo(access).response.status == .unauthorized)
        }
    }

    /// A right server gives one of two that come at the same moment nothing.
    ///
    /// Source: RFC 6749, section 4.1.2; RFC 9700, section 4.5.3.
    @Test("of twenty exchanges at once one succeeds at most")
    func race() async throws {
        try await ReportPlace.run { place in
            let code = try await place.code()
            let won = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<20 {
                    group.addTask { try await place.redeem(code).response.status == .ok }
                }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(won == 1)
        }
    }

    /// A right server binds a code to the service that asked for it, to the address, and to the challenge.
    ///
    /// Source: RFC 6749, section 4.1.3; RFC 7636, section 4.6; CVE-2023-48228 (authentik: a missing verifier was passed over).
    @Test("a stolen code is worth nothing at another service, with another address, or without the verifier")
    func injection() async throws {
        try await ReportPlace.run { place in
            let other = try await ReportPlace.service(place.server)
            #expect(try await place.redeem(try await place.code(), as: other).object.error == "invalid_grant")
            for changes: [String: String?] in [
                ["redirect_uri": "http://127.0.0.1:8081/other"], ["redirect_uri": nil], ["redirect_uri": ""],
                ["code_verifier": nil], ["code_verifier": ""], ["code_verifier": String(repeating: "a", count: 43)],
                ["code_verifier": place.party.challenge],
            ] {
                let answer = try await place.redeem(try await place.code(), changes)
                #expect(answer.response.status == .badRequest, "\(changes)")
                #expect(["invalid_grant", "invalid_request"].contains(answer.object.error), "\(changes)")
                #expect(answer.object["access_token"] == nil)
            }
        }
    }

    /// A right server takes no verifier for a code that was asked for without a challenge: a thief would leave the challenge
    /// of a stolen request out.
    ///
    /// Source: RFC 9700, section 4.8.2 (PKCE downgrade); CVE-2024-23647 (authentik).
    @Test("a code without a challenge is not taken with a verifier")
    func downgrade() async throws {
        try await ReportPlace.run { place in
            let bare: [String: String?] = ["code_challenge": nil, "code_challenge_method": nil]
            #expect(try await place.redeem(try await place.code(bare)).object.error == "invalid_grant")
            let right = try await place.redeem(try await place.code(bare), ["code_verifier": nil])
            #expect(right.response.status == .ok)
        }
    }

    /// A right server knows S256 alone: with `plain` the request shows what proves it.
    ///
    /// Source: RFC 9700, section 2.1.1.
    @Test("a challenge is a hash")
    func methods() async throws {
        try await ReportPlace.run { place async throws in
            for changes in [
                ["code_challenge_method": "plain"], ["code_challenge_method": ""], ["code_challenge_method": "s256"],
                ["code_challenge_method": "S512"], ["code_challenge": "short"],
                ["code_challenge": String(repeating: "=", count: 43)],
            ] {
                #expect(try await place.outcome(changes) == "invalid_request")
                #expect(try await place.outcome(["code_challenge_method": nil]) == "invalid_request")
            }
        }
    }

    /// A right server asks for a challenge where nobody answers for what the service checks.
    ///
    /// Source: RFC 9700, section 2.1.1; decision 79.
    @Test("an app and a third party's service send a challenge always; the operator's own may send a nonce")
    func whoNeedsAChallenge() async throws {
        try await ReportPlace.run { place in
            let bare: [String: String?] = ["code_challenge": nil, "code_challenge_method": nil]
            let third = try await ReportPlace.service(place.server, party: .third)
            let app = try await ReportPlace.service(place.server) { $0.authenticationMethod = "none" }
            for party in [third, app] {
                #expect(try await place.outcome(bare, of: party) == "invalid_request")
                #expect(try await place.outcome([:], of: party) == "/sign-in")
            }
            #expect(try await place.outcome(bare) == "/sign-in")
            let neither: [String: String?] = ["code_challenge": nil, "code_challenge_method": nil, "nonce": nil]
            #expect(try await place.outcome(neither) == "invalid_request")
        }
    }

    /// A right server forgets a code after a short time.
    ///
    /// Source: RFC 6749, section 4.1.2.
    @Test("a code that nobody fetched ends")
    func lifetime() async throws {
        try await ReportPlace.run { place in
            let code = try await place.code()
            place.server.clock.advance(by: .seconds(61))
            #expect(try await place.redeem(code).object.error == "invalid_grant")
        }
    }

    /// A right server takes no password of a person from a service, and no grant that a service is not registered for.
    ///
    /// Source: RFC 9700, section 2.4.
    @Test("there is no grant by a person's password, and none that was not registered")
    func grants() async throws {
        try await ReportPlace.run { place in
            for (grant, error) in [
                ("password", "unsupported_grant_type"), ("implicit", "unsupported_grant_type"),
                ("client_credentials", "unauthorized_client"), ("", "unsupported_grant_type"),
                ("urn:ietf:params:oauth:grant-type:device_code", "unauthorized_client"),
            ] {
                let form = ReportPlace.parameters([
                    "grant_type": grant, "username": "alice", "password": PasswordPlace.password, "device_code": "x",
                ])
                let answer = try await place.post("/oauth2/token", form)
                #expect(answer.object["access_token"] == nil)
                #expect(answer.object.error == error || answer.object.error == "invalid_request", "\(grant)")
            }
        }
    }

    /// A right server takes one way to authenticate a service, and the way that is registered.
    ///
    /// Source: RFC 6749, section 2.3; OpenID Connect Core 1.0, section 9.
    @Test("a secret in two places, a wrong one and none are no authentication")
    func clientAuthentication() async throws {
        try await ReportPlace.run { place in
            let (id, secret) = (place.party.id, place.party.secret)
            let both = try await place.redeem(try await place.code(), ["client_id": id, "client_secret": secret])
            #expect(both.object["access_token"] == nil)
            for shown: [String: String?] in [
                [:], ["client_id": id], ["client_id": id, "client_secret": ""],
                ["client_id": id, "client_secret": String(secret.dropLast())],
                ["client_id": id, "client_secret": secret + "\u{0}"],
            ] {
                let answer = try await place.redeem(try await place.code(), shown, isAuthenticated: false)
                #expect(answer.object["access_token"] == nil && answer.response.status.code >= 400, "\(shown)")
            }
            let signing = try await place.signingService(try ReportPlace.key().set)
            let answer = try await place.redeem(
                try await place.code(of: signing), ["client_id": signing.id], isAuthenticated: false)
            #expect(answer.object.error == "invalid_client")
        }
    }

    /// A right server keeps what it gives out of every cache.
    ///
    /// Source: RFC 6749, section 5.1; OpenID Connect Core 1.0, section 3.1.3.3.
    @Test("tokens, their refusals, userinfo and pages are kept by no cache")
    func caches() async throws {
        try await ReportPlace.run { place in
            let code = try await place.code()
            let first = try await place.redeem(code)
            let access = try first.object.requiredString("access_token")
            let answers = [
                first.response, try await place.redeem(code).response,
                try await place.post("/oauth2/introspect", ["token": access]).response,
                try await place.client.userinfo(access).response, try await TestBrowser(place.client).get("/sign-in"),
            ]
            for answer in answers { #expect(answer.headers[.cacheControl] == "no-store") }
        }
    }
}
