import Accounts
import CountersignServer
import CountersignTestKit
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import OAuth
import OAuthProvider
import Passwords
import Records
import Testing
import _Primitives

@testable import CountersignServerTests

@Suite("Reports of tokens (RFC 6749, section 6, RFC 6750, RFC 7009, RFC 7662 and decision 28)")
struct TokenReports {
    /// A right server gives a client that repeats its request the same answer, so that two tabs sign nobody out.
    ///
    /// Source: https://github.com/HQBase/hqbase/issues/41; https://github.com/get-engram/engram/pull/389; decision 28.
    @Test("two refreshes with one token come to the same successor")
    func repeated() async throws {
        try await ReportPlace.run { place in
            let first = try await place.lastingTokens().requiredString("refresh_token")
            let one = try await place.refresh(first).object.requiredString("refresh_token")
            let two = try await place.refresh(first).object.requiredString("refresh_token")
            #expect(one == two && one != first)
            #expect(try await place.refresh(one).response.status == .ok)
        }
    }

    /// A right server refuses a request that was held back on its way, and signs nobody out for it.
    ///
    /// Source: https://github.com/nightscout/nocturne/pull/326; decision 28.
    @Test("a request that comes late ends nothing")
    func late() async throws {
        try await ReportPlace.run { place in
            let first = try await place.lastingTokens().requiredString("refresh_token")
            let second = try await place.refresh(first).object.requiredString("refresh_token")
            let third = try await place.refresh(second).object.requiredString("refresh_token")
            #expect(try await place.refresh(first).object.error == "invalid_grant")
            #expect(try await place.refresh(third).response.status == .ok)
        }
    }

    /// A right server ends the family of a token that a thief and its owner both use.
    ///
    /// Source: RFC 9700, section 4.14.2.
    @Test("an old token that comes again ends the family")
    func theft() async throws {
        try await ReportPlace.run { place in
            let stolen = try await place.lastingTokens().requiredString("refresh_token")
            var current = stolen
            for _ in 0..<3 {
                current = try await place.refresh(current).object.requiredString("refresh_token")
                place.server.clock.advance(by: .seconds(120))
            }
            #expect(try await place.refresh(stolen).object.error == "invalid_grant")
            #expect(try await place.refresh(current).object.error == "invalid_grant")
        }
    }

    /// A right server renews for the service that the token was given to.
    ///
    /// Source: RFC 6749, section 10.4.
    @Test("another service renews nothing by a stolen token, and ends nothing by it")
    func otherClient() async throws {
        try await ReportPlace.run { place in
            let token = try await place.lastingTokens().requiredString("refresh_token")
            let other = try await ReportPlace.service(place.server)
            #expect(try await place.refresh(token, as: other).object.error == "invalid_grant")
            #expect(try await place.refresh(token).response.status == .ok)
        }
    }

    /// A right server gives by a refresh token no more than the person agreed to.
    ///
    /// Source: RFC 6749, section 6.
    @Test("a scope that was not given is not given later, and a scope that was left out comes back")
    func scopes() async throws {
        try await ReportPlace.run { place in
            let token = try await place.lastingTokens().requiredString("refresh_token")
            for scope in ["openid profile email offline_access", "email", "accounts.write"] {
                #expect(try await place.refresh(token, ["scope": scope]).object.error == "invalid_scope", "\(scope)")
            }
            let narrow = try await place.refresh(token, ["scope": "openid"])
            #expect(narrow.object["scope"] == .string("openid"))
        }
    }

    /// A right server says at each renewal who the person is, with the time of the sign-in and without its nonce.
    ///
    /// Source: OpenID Connect Core 1.0, section 12.2; https://github.com/keycloak/keycloak/issues/10013.
    @Test("a renewal has an ID token of the same sign-in")
    func identity() async throws {
        try await ReportPlace.run { place in
            let tokens = try await place.lastingTokens()
            place.server.clock.advance(by: .seconds(90))
            let renewed = try await place.refresh(try tokens.requiredString("refresh_token")).object
            let before = try ReportPlace.claims(try tokens.requiredString("id_token"))
            let after = try ReportPlace.claims(try renewed.requiredString("id_token"))
            for name in ["iss", "sub", "aud", "auth_time"] { #expect(after[name] == before[name], "\(name)") }
            #expect(after["nonce"] == nil && after["iat"] != before["iat"])
        }
    }

    /// A right server tells a service nothing of tokens that are not for it, and nobody without authentication anything.
    ///
    /// Source: RFC 7662, sections 2.1 and 4; CVE-2024-47077 (authentik: tokens of one application at another).
    @Test("introspection is silent about other services' tokens, and towards strangers")
    func introspection() async throws {
        try await ReportPlace.run { place in
            let access = try await place.tokens().requiredString("access_token")
            #expect(try await place.introspect(access)["active"] == .bool(true))
            let other = try await ReportPlace.service(place.server)
            let told = try await place.introspect(access, as: other)
            #expect(told.members.count == 1 && told["active"] == .bool(false))
            let stranger = try await place.post("/oauth2/introspect", ["token": access], isAuthenticated: false)
            #expect(stranger.response.status == .unauthorized)
        }
    }

    /// A right server lets nobody end another service's tokens, and does not say whether they are there.
    ///
    /// Source: RFC 7009, section 2.1; CVE-2020-15223 (ORY Fosite: what became of a revocation).
    @Test("a service ends its own tokens alone, and is told the same of all others")
    func revocation() async throws {
        try await ReportPlace.run { place in
            let access = try await place.tokens().requiredString("access_token")
            let other = try await ReportPlace.service(place.server)
            for token in [access, "none"] {
                let answer = try await place.post("/oauth2/revoke", ["token": token], as: other)
                #expect(answer.response.status == .ok && answer.response.body.readableBytes == 0)
            }
            #expect(try await place.client.userinfo(access).response.status == .ok)
            _ = try await place.post("/oauth2/revoke", ["token": access])
            #expect(try await place.client.userinfo(access).response.status == .unauthorized)
        }
    }

    /// A right server ends with a grant what came of it.
    ///
    /// Source: RFC 7009, section 2.1.
    @Test("with the refresh token its access tokens end")
    func family() async throws {
        try await ReportPlace.run { place in
            let tokens = try await place.lastingTokens()
            let renewed = try await place.refresh(try tokens.requiredString("refresh_token")).object
            _ = try await place.post(
                "/oauth2/revoke", ["token": try renewed.requiredString("refresh_token")])
            for answer in [tokens, renewed] {
                let access = try answer.requiredString("access_token")
                #expect(try await place.client.userinfo(access).response.status == .unauthorized)
                #expect(try await place.introspect(access)["active"] == .bool(false))
            }
        }
    }

    /// A right server makes a token for a resource that it knows, and by exchange for nobody whom the service cannot reach.
    ///
    /// Source: RFC 8707, section 2; CVE-2022-1245 (Keycloak: exchange for any service).
    @Test("nobody gets a token for a resource of others by naming it")
    func audiences() async throws {
        try await ReportPlace.run { place in
            #expect(try await place.outcome(["resource": "https://other.example/api"]) == "invalid_target")
            let code = try await place.code()
            let named = try await place.redeem(code, ["resource": "https://other.example/api"])
            #expect(named.object.error == "invalid_target")
            let access = try await place.tokens().requiredString("access_token")
            let other = try await ReportPlace.service(place.server)
            let exchange = ReportPlace.parameters([
                "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "subject_token": access,
                "subject_token_type": "urn:ietf:params:oauth:token-type:access_token", "audience": place.party.id,
            ])
            let answer = try await place.post("/oauth2/token", exchange, as: other)
            #expect(answer.response.status.code >= 400 && answer.object["access_token"] == nil)
        }
    }

    /// A right server reads a token where it is not written down on the way: addresses are.
    ///
    /// Source: RFC 6750, sections 2.3 and 5.3; RFC 9700, section 4.3.2.
    @Test("a token in an address opens nothing; in a form's body it does")
    func places() async throws {
        try await ReportPlace.run { place in
            let access = try await place.tokens().requiredString("access_token")
            let query = try await place.client.execute(uri: "/oauth2/userinfo?access_token=\(access)", method: .get)
            #expect(query.status == .unauthorized)
            let body = try await place.post("/oauth2/userinfo", ["access_token": access], isAuthenticated: false)
            #expect(body.response.status == .ok)
            // In two places it is in none.
            let both = try await place.client.execute(
                uri: "/oauth2/userinfo", method: .post,
                headers: [.authorization: "Bearer \(access)", .contentType: "application/x-www-form-urlencoded"],
                body: ByteBuffer(string: "access_token=\(access)"))
            #expect(both.status == .badRequest)
        }
    }

    /// A right server tells of a person what the token's scopes are for.
    ///
    /// Source: OpenID Connect Core 1.0, section 5.4.
    @Test("userinfo says no address to a token that was not given one")
    func claims() async throws {
        try await ReportPlace.run { place in
            try await place.server.enterAddress()
            let narrow = try await place.tokens(["scope": "openid"]).requiredString("access_token")
            #expect(try await place.client.userinfo(narrow).object.members.map(\.name) == ["sub"])
            #expect(try await place.introspect(narrow)["email"] == nil)
            let wide = try await place.tokens(["scope": "openid email"]).requiredString("access_token")
            #expect(try await place.client.userinfo(wide).object["email"] == .string("alice@post.example"))
        }
    }

    /// A right server names a person by another identifier at each service.
    ///
    /// Source: OpenID Connect Core 1.0, sections 8.1 and 17.3.
    @Test("two services cannot compare whom they know")
    func pairwise() async throws {
        try await ReportPlace.run { place in
            let other = try await ReportPlace.service(
                place.server, redirectURIs: [ReportPlace.callback, "http://127.0.0.1:9000/in"])
            let here = try ReportPlace.claims(try await place.tokens().requiredString("id_token"))
            let there = try ReportPlace.claims(try await place.tokens(of: other).requiredString("id_token"))
            #expect(here["sub"] != nil && here["sub"] != there["sub"])
            #expect(there["aud"] == .string(other.id))
        }
    }

    /// A right server's switched off service gets nothing any more, by whatever it still has.
    ///
    /// Source: RFC 6749, section 5.2 (`invalid_client`, `unauthorized_client`); decision 28.
    @Test("a service that is switched off renews and looks at nothing")
    func switchedOff() async throws {
        try await ReportPlace.run { place in
            let tokens = try await place.lastingTokens()
            var off = ClientChange()
            off.isDisabled = true
            _ = try await place.server.assembly.provider.clients.change(place.party.id, off)
            let renewed = try await place.refresh(try tokens.requiredString("refresh_token"))
            #expect(renewed.response.status.code >= 400 && renewed.object["access_token"] == nil)
            let access = try tokens.requiredString("access_token")
            #expect(try await place.introspect(access)["active"] != .bool(true))
            #expect(try await place.outcome([:]) != "/sign-in")
        }
    }

    /// A right server never gives a person's identifier to somebody else, also where an account's name is free again.
    ///
    /// Source: OpenID Connect Core 1.0, sections 2 (`sub`) and 5.7.
    @Test("a new account of a former name is another person, and the former one's tokens have ended")
    func recycledNames() async throws {
        try await ReportPlace.run { place in
            let directory = place.server.assembly.directory
            let before = try await place.tokens()
            try await directory.delete(username: "alice", by: "test")
            let access = try before.requiredString("access_token")
            #expect(try await place.client.userinfo(access).response.status == .unauthorized)
            _ = try await directory.create(username: "alice", displayName: nil, by: "test")
            try await PasswordDirectory(place.server.assembly.passwords).importHash(
                try await PasswordPlace.hash(PasswordPlace.password), username: "alice", by: "test")
            let after = try ReportPlace.claims(try await place.tokens().requiredString("id_token"))
            #expect(try after["sub"] != ReportPlace.claims(before.requiredString("id_token"))["sub"])
        }
    }

    /// A right server ends at once what a locked account has, and lets the account in nowhere.
    ///
    /// Source: CWE-613 (insufficient session expiration).
    @Test("a locked account's session, tokens and refresh tokens count for nothing")
    func locked() async throws {
        try await ReportPlace.run { place in
            let browser = try await place.signedIn()
            let tokens = try await place.lastingTokens()
            _ = try await place.server.assembly.directory.setLocked(true, username: "alice", by: "test")
            let access = try tokens.requiredString("access_token")
            #expect(try await place.client.userinfo(access).response.status == .unauthorized)
            #expect(try await place.introspect(access)["active"] == .bool(false))
            #expect(try await place.refresh(tokens.requiredString("refresh_token")).object.error == "invalid_grant")
            #expect(try await place.outcome(browser.get(place.address(["prompt": "none"]))) == "login_required")
        }
    }

    /// A right server says of an address whether somebody vouches for it.
    ///
    /// Source: OpenID Connect Core 1.0, section 5.7; "nOAuth" (Microsoft Entra, June 2023: services took an address for a person).
    @Test("an address that nobody has confirmed is told as such")
    func unconfirmedAddress() async throws {
        try await ReportPlace.run { place in
            for isVerified in [false, true] {
                try await place.server.enterAddress(isVerified: isVerified)
                let access = try await place.tokens(["scope": "openid email"]).requiredString("access_token")
                #expect(try await place.client.userinfo(access).object["email_verified"] == .bool(isVerified))
            }
        }
    }
}
