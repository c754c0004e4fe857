import CountersignServer
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import OAuthProvider
import Records
import Sealing
import Testing
import _Primitives

/// The health service's client library for back ends sends parameters of a POST in the address, cookies joined by `;` alone,
/// and nothing of a page.
@Suite("The app sign-in service: requests of the client library that a back end uses")
struct AppSignInBackEndClientTests {
    private static func send(
        _ place: AppSignIn, _ method: HTTPRequest.Method, _ path: String, _ query: String = "",
        cookies: [String: String]? = nil, bearer: String? = nil
    ) async throws -> TestResponse {
        var headers: HTTPFields = [:]
        headers[.cookie] = cookies?.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: ";")
        headers[.authorization] = bearer.map { "Bearer \($0)" }
        return try await place.client.execute(
            uri: "/v0/sign_in/\(path)\(query.isEmpty ? "" : "?\(query)")", method: method, headers: headers)
    }

    /// The settings of the example's deployment.
    private static var appSettings: SignInServiceSettings {
        var settings = AppSignIn.appSettings
        settings.takesQuery = true
        return settings
    }

    private static var webSettings: SignInServiceSettings {
        var settings = AppSignIn.webSettings
        (settings.takesQuery, settings.takesBackEndCookies) = (true, true)
        return settings
    }

    @Test("by JSON: renewed, told, signed out, revoked and ended everywhere by parameters in the address")
    func api() async throws {
        try await AppSignIn.run(app: Self.appSettings) { place async throws in
            func tokens() async throws -> AppTokens { try await place.appTokens() }
            let first = try await tokens()
            let renewed = try await Self.send(place, .post, "refresh", "refresh_token=\(first.refresh)")
            #expect(renewed.status == .ok, "\(renewed.text)")
            let second = try AppTokens(renewed)
            #expect(try await Self.send(place, .get, "introspect", bearer: second.access).status == .ok)
            // The library sends the name of a token that it does not have.
            let out = try await Self.send(
                place, .get, "logout", "anti_csrf_token&client_id=\(AppSignIn.app)", bearer: second.access)
            #expect(out.status == .ok, "\(out.text)")
            #expect(try await place.introspect(second.access) == 401)
            let third = try await tokens()
            let revoked = try await Self.send(
                place, .post, "revoke", "anti_csrf_token=&refresh_token=\(third.refresh)")
            #expect(revoked.status == .ok, "\(revoked.text)")
            #expect(try await place.introspect(third.access) == 401)
            let (fourth, other) = (try await tokens(), try await tokens())
            let ended = try await Self.send(place, .get, "revoke_all_sessions", bearer: fourth.access)
            #expect(ended.status == .ok, "\(ended.text)")
            for token in [fourth, other] { #expect(try await place.introspect(token.access) == 401) }
        }
    }

    @Test("by cookies: renewed, told, signed out, revoked and ended everywhere, without a word of a page")
    func cookie() async throws {
        try await AppSignIn.run(web: Self.webSettings) { place async throws in
            func cookies() async throws -> [String: String] {
                let code = try await place.code(AppSignIn.web)
                let answer = try await place.redeem(code)
                #expect(answer.status == .ok, "\(answer.text)")
                return answer.signInCookies
            }
            func some(_ names: [String], of cookies: [String: String]) -> [String: String] {
                cookies.filter { names.map { "vagov_\($0)" }.contains($0.key) }
            }
            let first = try await cookies()
            let renewed = try await Self.send(
                place, .post, "refresh", cookies: some(["refresh_token", "anti_csrf_token"], of: first))
            #expect(renewed.status == .ok, "\(renewed.text)")
            let second = renewed.signInCookies
            #expect(
                try await Self.send(place, .get, "introspect", cookies: some(["access_token"], of: second)).status
                    == .ok)
            let out = try await Self.send(
                place, .get, "logout", "client_id=\(AppSignIn.web)",
                cookies: some(["access_token", "anti_csrf_token"], of: second))
            #expect(out.status == .found && out.headers[.location] == AppSignIn.webHome, "\(out.text)")
            #expect(try await place.introspect(try #require(second["vagov_access_token"])) == 401)
            let third = try await cookies()
            let token = try #require(third["vagov_refresh_token"])
            let sign = try #require(third["vagov_anti_csrf_token"])
            let revoked = try await Self.send(
                place, .post, "revoke", "anti_csrf_token=\(sign)&refresh_token=\(token)")
            #expect(revoked.status == .ok, "\(revoked.text)")
            #expect(try await place.introspect(try #require(third["vagov_access_token"])) == 401)
            let fourth = try await cookies()
            let ended = try await Self.send(
                place, .get, "revoke_all_sessions", cookies: some(["access_token"], of: fourth))
            #expect(ended.status == .ok, "\(ended.text)")
            #expect(try await place.introspect(try #require(fourth["vagov_access_token"])) == 401)
        }
    }

    @Test("a page of somebody else's signs nobody out by that setting, and without it a back end is told the setting")
    func foreignPages() async throws {
        try await AppSignIn.run(web: Self.webSettings) { place async throws in
            let cookies = try await place.redeem(try await place.code(AppSignIn.web)).signInCookies
            let access = try #require(cookies["vagov_access_token"])
            let own = ["vagov_access_token": access]
            let site = try #require(HTTPField.Name("Sec-Fetch-Site"))
            let referer = try #require(HTTPField.Name("Referer"))
            for headers: HTTPFields in [
                [site: "cross-site"], [site: "none"], [.origin: "https://evil.example"],
                [referer: "https://evil.example/page"], [.origin: "null"],
                // A page whose address is none that a client could have is a page all the same.
                [referer: "http://evil.example/"], [referer: "x"],
            ] {
                for path in ["logout?client_id=\(AppSignIn.web)", "revoke_all_sessions"] {
                    let answer = try await place.get(path, cookies: own, headers: headers)
                    #expect([.badRequest, .unauthorized].contains(answer.status), "\(path) \(headers)")
                }
            }
            #expect(try await place.introspect(access) == 200)
            try await place.change(AppSignIn.web) { $0.takesBackEndCookies = false }
            #expect(try await Self.send(place, .get, "revoke_all_sessions", cookies: own).status == .unauthorized)
            #expect(try await place.introspect(access) == 200)
        }
    }

    @Test("the profile page finds each member that it reads, lists as lists")
    func profile() async throws {
        try await AppSignIn.run { place async throws in
            let tokens = try await place.appTokens()
            let told = try await Self.send(place, .get, "introspect", bearer: tokens.access).json
            let attributes = try #require(try told.object("data")?.object("attributes"))
            for name in ["active_mhv_ids", "cerner_facility_ids", "vha_facility_ids"] {
                #expect(try attributes.array(name)?.isEmpty == true, "\(name)")
            }
            for name in [
                "first_name", "middle_name", "last_name", "icn", "idme_uuid", "logingov_uuid", "uuid", "birth_date",
                "email", "gender", "birls_id", "edipi", "sec_id", "vet360_id", "participant_id", "cerner_id",
                "id_theft_flag", "verified",
            ] { #expect(attributes[name] != nil, "\(name)") }
            #expect(try attributes.string("email") == "alice@post.example")
            #expect(try attributes.bool("id_theft_flag") == false)
        }
    }

    @Test("a verifier of 32 hexadecimal digits is taken where an operator lets it, with padding in the challenge")
    func shortVerifiers() async throws {
        try await AppSignIn.run { place async throws in
            let verifier = "0123456789abcdef0123456789abcdef"
            let digest = Base64URL.encode(Sealing.digest(ofSecret: verifier))
            func redeem(_ shown: String) async throws -> TestResponse {
                let code = try await place.code(AppSignIn.app, ["code_challenge": digest + "="])
                return try await place.redeem(code, ["code_verifier": shown])
            }
            let refused = try await redeem(verifier)
            #expect(refused.status == .badRequest && refused.errors?.contains("code_verifier") == true)
            try await place.change(AppSignIn.app) { $0.takesShortVerifiers = true }
            #expect(try await redeem(verifier).status == .ok)
            for wrong in [
                "0123456789abcdef0123456789abcdee", "0123456789ABCDEF0123456789ABCDEF", "0123456789abcdef",
                "0123456789abcdef0123456789abcdeg", "",
            ] { #expect(try await redeem(wrong).status == .badRequest, "\(wrong)") }
        }
    }
}
