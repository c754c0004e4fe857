import Accounts
import CountersignServer
import CountersignTestKit
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JOSE
import NIOCore
import OAuth
import OAuthProvider
import Records
import SQLStore
import Sealing
import Testing
import UAFRelyingParty
import _Primitives

@Suite("The app sign-in service: tokens for a code (rows F017 to F022, F027 to F030 and F053 of the parity table)")
struct AppSignInTokenTests {
    @Test("an app gets its tokens with a wrapper or without, and a device secret where it has asked for one")
    func shapes() async throws {
        try await AppSignIn.run { place async throws in
            let wrapped = try await place.redeem(place.code(AppSignIn.app))
            #expect(wrapped.status == .ok && wrapped.headers[.cacheControl] == "no-store")
            #expect(wrapped.headers[values: .setCookie].isEmpty)
            #expect(try wrapped.json.members.map(\.name) == ["data"])
            let data = try wrapped.json.requiredObject("data")
            #expect(data.members.map(\.name) == ["access_token", "refresh_token", "device_secret"])
            #expect(try data.requiredString("device_secret").utf8.count == 43, "256 bits")
            let without = try AppTokens(try await place.redeem(place.code(AppSignIn.app, ["scope": nil])))
            #expect(without.deviceSecret == nil)
            try await place.change(AppSignIn.app) {
                $0.wrapsData = false
                $0.usesAntiCSRF = true
            }
            let flat = try await place.redeem(place.code(AppSignIn.app)).json
            #expect(
                flat.members.map(\.name) == ["access_token", "refresh_token", "anti_csrf_token", "device_secret"])
        }
    }

    @Test(
        "the access token says what the service's say, signed by a key of its own, and nothing of the anti-CSRF token")
    func claims() async throws {
        try await AppSignIn.run { place async throws in
            try await place.change(AppSignIn.app) {
                $0.attributes = ["first_name", "last_name", "email"]
                $0.usesAntiCSRF = true
            }
            let answer = try await place.redeem(place.code(AppSignIn.app))
            let tokens = try AppTokens(answer)
            let claims = try tokens.claims
            #expect(claims["iss"] == .string("va.gov sign in") && claims["client_id"] == .string("vamobile"))
            #expect(claims["aud"] == .array([.string("va.gov"), .string("vamobile")]), "everybody who shares")
            #expect(claims["version"] == .string("V0") && claims["cnf"] == nil)
            let now = place.server.clock.timeSource.now().seconds
            #expect(claims["iat"] == .integer(now) && claims["exp"] == .integer(now + 1800))
            #expect(claims["last_regeneration_time"] == .integer(now))
            #expect(claims["refresh_token_hash"] == .string(Self.hash(tokens.refresh)))
            #expect(claims["device_secret_hash"] == .string(Self.hash(try #require(tokens.deviceSecret))))
            #expect(
                claims["user_attributes"]
                    == .object([
                        "first_name": .string("Alice van"), "last_name": .string("Example"),
                        "email": .string("alice@post.example"),
                    ]))
            let antiCSRF = try answer.json.requiredObject("data").requiredString("anti_csrf_token")
            #expect(antiCSRF.utf8.count == 32 && !JSON.object(claims).text.contains(antiCSRF))
            // By the keys of this face, and by those of no other.
            let token = try UnverifiedJWS(compact: tokens.access)
            #expect(token.header.hasType("sign-in-access+jwt"))
            let own = try await place.client.send(.get, "/sign_in/openid_connect/certs")
            #expect(own.response.headers[.contentType] == "application/jwk-set+json")
            func keys(_ set: JSONObject) throws -> [String] {
                try (set.array("keys") ?? []).compactMap { key in
                    guard case .object(let key) = key else { return nil }
                    return try key.string("kid")
                }
            }
            let other = try await place.client.send(.get, "/oauth2/jwks")
            let name = try #require(token.header.keyID)
            #expect(try keys(own.object) == [name])
            #expect(try !keys(other.object).contains(name))
            let set = try JWKSet(parsing: JSON.object(own.object).serialized)
            let key = try #require(set.keys.first)
            _ = try token.verified(by: VerificationKey(key, algorithm: .es256))
        }
    }

    private static func hash(_ text: String) -> String {
        SHA256Hash.hexadecimal(text)
    }

    @Test("an app that shares nothing has tokens for itself alone")
    func audience() async throws {
        try await AppSignIn.run { place async throws in
            try await place.change(AppSignIn.app) { $0.sharesSessions = false }
            let tokens = try AppTokens(try await place.redeem(place.code(AppSignIn.app, ["scope": nil])))
            #expect(try tokens.claims["aud"] == .string("vamobile"))
        }
    }

    @Test("a client that is switched off is nobody's audience")
    func audienceOfServedClients() async throws {
        try await AppSignIn.run { place async throws in
            let all = try await place.appTokens()
            #expect(try all.claims["aud"] == .array([.string("va.gov"), .string("vamobile")]))
            _ = try await place.server.database.changeClient(AppSignIn.web) { client in
                client.settings.isDisabled = true
                return []
            }
            #expect(try await place.appTokens().claims["aud"] == .string("vamobile"))
        }
    }

    @Test("a code is spent by any attempt, right or wrong (row F018)")
    func burnt() async throws {
        try await AppSignIn.run { place async throws in
            let wrong: [[String: String?]] = [
                ["code_verifier": "another-verifier-of-at-least-forty-three-letters"], ["code_verifier": nil],
                ["code_verifier": "short"], ["client_id": AppSignIn.web],
            ]
            for changes in wrong {
                let code = try await place.code(AppSignIn.app)
                let refused = try await place.redeem(code, changes)
                #expect(refused.status == .badRequest && refused.errors != nil, "\(changes)")
                let again = try await place.redeem(code)
                #expect(again.status == .badRequest && again.errors == "The code is not valid.", "\(changes)")
            }
            let code = try await place.code(AppSignIn.app)
            #expect(try await place.redeem(code, ["client_id": AppSignIn.app]).status == .ok)
        }
    }

    @Test("a code that is shown again ends what it gave, and what came of that (rows F017 and F019)")
    func replayed() async throws {
        try await AppSignIn.run { place async throws in
            let code = try await place.code(AppSignIn.app)
            let tokens = try AppTokens(try await place.redeem(code))
            let web = try #require(try await place.webView(tokens)["vagov_access_token"])
            // By itself, out of a browser's history, it ends nothing.
            #expect(
                try await place.redeem(code, ["code_verifier": "another-verifier-of-at-least-forty-three-letters"])
                    .status == .badRequest)
            #expect(try await place.introspect(tokens.access) == 200)
            #expect(try await place.redeem(code).status == .badRequest)
            #expect(try await place.introspect(tokens.access) == 401)
            #expect(try await place.refresh(tokens.refresh).status == .unauthorized)
            #expect(try await place.introspect(web) == 401)
        }
    }

    @Test("a code lives for a minute")
    func codeEnds() async throws {
        try await AppSignIn.run { place async throws in
            let late = try await place.code(AppSignIn.app)
            place.server.clock.advance(by: .seconds(60))
            #expect(try await place.redeem(late).errors == "The code is not valid.")
            let early = try await place.code(AppSignIn.app)
            place.server.clock.advance(by: .seconds(59))
            #expect(try await place.redeem(early).status == .ok)
        }
    }

    @Test("what is not whole is 400 with words, and spends nothing else")
    func incomplete() async throws {
        try await AppSignIn.run { place async throws in
            for values in [
                [:], ["grant_type": "password"], ["grant_type": "refresh_token"], ["grant_type": "authorization_code"],
                ["grant_type": "authorization_code", "code": "x", "code_verifier": place.verifier],
            ] as [[String: String?]] {
                let answer = try await place.post("token", values)
                #expect(answer.status == .badRequest && answer.errors?.isEmpty == false, "\(values)")
            }
        }
    }

    @Test(
        "a form, JSON, and where the operator lets the client the address: all are read, and nothing twice (row F053)")
    func encodings() async throws {
        try await AppSignIn.run { place async throws in
            func values() async throws -> [(String, String)] {
                [
                    ("grant_type", "authorization_code"), ("code", try await place.code(AppSignIn.app)),
                    ("code_verifier", place.verifier),
                ]
            }
            func json(_ values: [(String, String)]) -> JSONObject {
                JSONObject(values.map { ($0.0, .string($0.1)) })
            }
            let asJSON = try await place.client.send(.post, "/v0/sign_in/token", json(values()))
            #expect(asJSON.response.status == .ok)
            func query(_ path: String, _ values: [(String, String)]) async throws -> TestResponse {
                try await place.client.execute(
                    uri: "/v0/sign_in/\(path)?\(values.map { "\($0.0)=\($0.1)" }.joined(separator: "&"))",
                    method: .post)
            }
            let refused = try await query("token", values())
            #expect(refused.status == .badRequest && refused.errors == "The parameters belong into the body.")
            try await place.change(AppSignIn.app) { $0.takesQuery = true }
            let tokens = try AppTokens(try await query("token", values()))
            let renewed = try AppTokens(try await query("refresh", [("refresh_token", tokens.refresh)]))
            // What stands in the address beside a body counts for nothing.
            let beside = try await place.client.execute(
                uri: "/v0/sign_in/refresh?refresh_token=\(renewed.refresh)", method: .post,
                headers: [.contentType: "application/x-www-form-urlencoded"], body: ByteBuffer(string: "a=b"))
            #expect(beside.status == .badRequest)
            #expect(try await query("revoke", [("refresh_token", renewed.refresh)]).status == .ok)
            #expect(try await place.introspect(renewed.access) == 401)
            let twice = try await place.client.execute(
                uri: "/v0/sign_in/token", method: .post,
                headers: [.contentType: "application/x-www-form-urlencoded"],
                body: ByteBuffer(string: "grant_type=a&grant_type=a"))
            #expect(twice.status == .badRequest)
            let wrongType = try await place.client.send(.post, "/v0/sign_in/token", ["code": .integer(1)])
            #expect(wrongType.response.status == .badRequest)
        }
    }

    @Test("each sign-in is in the audit trail, with whose, where, how and from what address (row F056)")
    func trail() async throws {
        try await AppSignIn.run { place async throws in
            _ = try await place.appTokens()
            _ = try await place.redeem(place.code(AppSignIn.web, as: "bob"))
            let trail = try await place.server.database.auditEntries(after: 0, limit: 99).map(\.event)
            let signIns = trail.filter { $0.kind.rawValue == "signed-in" }
            #expect(
                signIns.map(\.detail) == ["service=vamobile methods=pwd", "service=vaweb methods=pwd"])
            #expect(Set(signIns.compactMap(\.accountID)).count == 2 && signIns.allSatisfy { $0.address != nil })
        }
    }

    @Test("no token, code or secret is in a line of the log, also where it came in the address")
    func log() async throws {
        try await AppSignIn.run { place async throws in
            try await place.change(AppSignIn.app) { $0.takesQuery = true }
            let tokens = try await place.appTokens()
            let lines = try await place.server.requestLines { client in
                _ = try await client.execute(
                    uri: "/v0/sign_in/refresh?refresh_token=\(tokens.refresh)", method: .post)
                _ = try await client.execute(
                    uri: "/v0/sign_in/refresh?refresh_token=\(tokens.refresh)x", method: .post)
                _ = try await client.execute(
                    uri: "/v0/sign_in/introspect", method: .get, headers: [.authorization: "Bearer \(tokens.access)x"])
            }
            #expect(lines.count == 3 && lines.filter { $0["reason"] != nil }.count == 2)
            for line in lines {
                let text = line.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
                for secret in tokens.refresh.split(separator: ".").prefix(2) + tokens.access.split(separator: ".") {
                    #expect(!text.contains(secret))
                }
            }
        }
    }
}

/// SHA-256 as the service's clients write it.
enum SHA256Hash {
    static func hexadecimal(_ text: String) -> String {
        Sealing.digest(ofSecret: text).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
