import CountersignServer
import CountersignTestKit
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import OAuthProvider
import Records
import SQLStore
import Testing
import _Primitives

@Suite("The app sign-in service: the codes that a web site is told of a failure by (row F052 of the parity table)")
struct AppSignInFailureTests {
    private static func people(_ lines: String...) throws -> SimulatedPeople {
        try SimulatedPeople(parsing: Array(lines.joined(separator: "\n").utf8))
    }

    /// What is registered of the person of the simulated provider.
    private static func person(_ members: String) throws -> SimulatedPeople {
        try Self.people(#"{"provider":"idme","subject":"somebody",\#(members)}"#)
    }

    /// Sees to it that a web site is told that code at its address, that an app's browser shows a sentence, and that nobody
    /// was signed in.
    private static func expect(
        _ code: String, _ people: SimulatedPeople? = nil, by provider: String = "idme", _ acr: String = "loa1",
        says: JSONObject = [:], userinfo: JSONObject = [:], error: String? = nil
    ) async throws {
        try await ProvidersPlace.run(people: people) { place async throws in
            let web = try await place.signIn(
                "web", by: provider, acr, says, userinfo: userinfo, error: error)
            #expect(web.headers[.location]?.hasPrefix("https://www.example/in?") == true, "\(web.text)")
            let told = web.redirectParameters
            #expect(told["auth"] == "fail" && told["code"] == code, "\(told)")
            #expect(told["request_id"]?.isEmpty == false && told.count == 3)
            let app = try await place.signIn("app", by: provider, acr, says, userinfo: userinfo, error: error)
            #expect(app.status == .badRequest && app.headers[.location] == nil, "\(app.text)")
            #expect(app.errors?.isEmpty == false)
            let trail = try await place.place.server.database.auditEntries(after: 0, limit: 99).map(\.event)
            #expect(!trail.contains { $0.kind.rawValue == "signed-in" })
        }
    }

    @Test("001: the person did not want to, at idme")
    func declined() async throws {
        try await Self.expect("001", error: "access_denied")
        try await Self.expect("001", by: "mhv", error: "access_denied")
    }

    @Test("009: the person did not want to, at logingov")
    func declinedAtLogingov() async throws {
        try await Self.expect("009", by: "logingov", "ial1", error: "access_denied")
    }

    @Test("007: the provider has failed")
    func ofProvider() async throws {
        try await Self.expect("007", error: "server_error")
        try await Self.expect("007", says: ["nonce": .string("another")])
    }

    @Test("007: the provider is not there")
    func unreachable() async throws {
        try await ProvidersPlace.run { place async throws in
            place.providers.shutDown()
            #expect(try await place.begin("web", by: "idme", "loa1").redirectParameters["code"] == "007")
            let app = try await place.begin("app", by: "idme", "loa1")
            #expect(app.status == .badRequest && app.errors?.isEmpty == false)
        }
    }

    @Test("007: the person is not verified where a verified one is needed")
    func unverified() async throws {
        try await Self.expect("007", by: "logingov", "ial2")
    }

    @Test("108: the person of mhv is not verified")
    func unverifiedMHV() async throws {
        try await Self.expect("108", by: "mhv", "loa3", says: ["mhv_account": .string("Basic")])
    }

    @Test("101: the person has several mhv ids")
    func manyMHVs() async throws { try await Self.expect("101", Self.person(#""mhv_ids":["1","2"]"#)) }

    @Test("102: the person has several edipis")
    func manyEDIPIs() async throws { try await Self.expect("102", Self.person(#""edipis":["1","2"]"#)) }

    @Test("106: the person has several corp ids")
    func manyCORPs() async throws { try await Self.expect("106", Self.person(#""corp_ids":["1","2"]"#)) }

    @Test("107: the person is locked in the register")
    func locked() async throws { try await Self.expect("107", Self.person(#""locked":true,"mhv_ids":["1","2"]"#)) }

    @Test("107: the account is locked here")
    func lockedAccount() async throws {
        try await ProvidersPlace.run { place async throws in
            let first = try await place.signIn("web", by: "idme", "loa1")
            #expect(first.redirectParameters["auth"] == nil && first.redirectParameters["code"] != nil)
            let account = try #require(
                try await place.place.server.database.accounts(after: nil, limit: 9).first { $0.username == nil })
            _ = try await place.place.server.withSocketClient {
                try await $0.send(.post, "/admin/v1/accounts/id:\(account.id)/lock")
            }
            #expect(try await place.signIn("web", by: "idme", "loa1").redirectParameters["code"] == "107")
        }
    }

    @Test("113: the provider knows another social security number, in its ID token or its userinfo")
    func otherSSN() async throws {
        let people = try Self.person(#""ssn":"123456789""#)
        @Sendable func number(_ text: String) -> JSONObject { ["social_security_number": .string(text)] }
        try await Self.expect("113", people, says: number("123-45-6780"))
        let social: JSONObject = ["social": .string("none")]
        try await Self.expect("113", people, says: social)
        try await Self.expect("113", people, says: ["social_security_number": .integer(123_456_789)])
        try await Self.expect(
            "113", people, says: ["social_security_number": .string("123456780"), "ssn": .string("123456789")])
        var userinfo = number("123456780")
        userinfo["sub"] = .string("somebody")
        try await Self.expect("113", people, userinfo: userinfo)
        try await ProvidersPlace.run(people: people) { place async throws in
            for says in [number("123-45-6789"), number("123456789")] {
                #expect(try await place.signIn("web", by: "idme", "loa1", says).redirectParameters["auth"] == nil)
            }
            let silent = try await place.signIn("web", by: "idme", "loa1", userinfo: ["sub": .string("somebody")])
            #expect(silent.redirectParameters["auth"] == nil, "a provider that says none is asked for none")
        }
    }

    @Test("400: the request is not valid")
    func invalid() async throws {
        try await ProvidersPlace.run { place async throws in
            let told = try await place.begin("web", by: "idme", "loa2").redirectParameters
            #expect(told["auth"] == "fail" && told["code"] == "400" && told["request_id"]?.isEmpty == false)
        }
    }

    @Test("who signs in here is looked up by the name of the account; who is not in the register, or once, signs in")
    func accounts() async throws {
        let people = try Self.people(
            #"{"username":"alice","edipis":["1","2"]}"#, #"{"username":"bob","edipis":["1"],"mhv_ids":["1","1"]}"#,
            #"{"provider":"logingov","subject":"somebody","locked":true}"#)
        try await ProvidersPlace.run(people: people) { place async throws in
            let alice = try await place.place.signedIn(AppSignIn.web).redirectParameters
            #expect(alice["auth"] == "fail" && alice["code"] == "102")
            #expect(try await place.place.signedIn(AppSignIn.app).errors?.isEmpty == false)
            let bob = try await place.place.signedIn(AppSignIn.web, as: "bob").redirectParameters
            #expect(bob["auth"] == nil && bob["code"] != nil)
            // The same name at another provider is somebody else.
            #expect(try await place.signIn("web", by: "idme", "loa1").redirectParameters["auth"] == nil)
        }
    }
}
