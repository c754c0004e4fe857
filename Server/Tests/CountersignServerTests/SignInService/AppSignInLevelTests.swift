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

@Suite(
    "The app sign-in service: what each provider is asked for a client's word for a level (row F011 of the parity table)"
)
struct AppSignInLevelTests {
    /// What is sent to `idme`, `logingov` and `mhv`; `nil` where the word is refused.
    private static func expect(_ acr: String, _ sent: [String?]) async throws {
        try await ProvidersPlace.run { place async throws in
            for (provider, words) in zip(SimulatedProviders.names, sent) {
                let answer = try await place.begin("app", by: provider, acr)
                guard let words else {
                    #expect(answer.status == .badRequest && answer.errors == "The acr is not valid.", "\(provider)")
                    let web = try await place.begin("web", by: provider, acr)
                    #expect(web.redirectParameters["auth"] == "fail" && web.redirectParameters["code"] == "400")
                    continue
                }
                let away = SimulatedProviders.issuer(provider) + "/authorize?"
                #expect(answer.headers[.location]?.hasPrefix(away) == true, "\(provider) \(answer.text)")
                #expect(answer.redirectParameters["acr_values"] == words, "\(provider)")
            }
        }
    }

    @Test("loa1") func loa1() async throws { try await Self.expect("loa1", ["idme/loa/1", nil, "mhv/loa/1"]) }

    @Test("loa3") func loa3() async throws { try await Self.expect("loa3", ["idme/loa/3_force", nil, "mhv/loa/1"]) }

    @Test("ial1") func ial1() async throws { try await Self.expect("ial1", [nil, "logingov/ial/1", nil]) }

    @Test("ial2") func ial2() async throws { try await Self.expect("ial2", [nil, "logingov/ial/2", nil]) }

    @Test("min")
    func least() async throws {
        try await Self.expect("min", ["idme/loa/1 comparison:minimum", "logingov/ial/0", "mhv/loa/1"])
    }

    @Test("a face that has to match")
    func facialMatchRequired() async throws {
        try await Self.expect(
            "urn:acr.va.gov:verified-facial-match-required", ["idme/ial/2/aal/2", "logingov/facial-required", nil])
    }

    @Test("a face that had better match")
    func facialMatchPreferred() async throws {
        try await Self.expect(
            "urn:acr.va.gov:verified-facial-match-preferred", [nil, "logingov/facial-preferred", nil])
    }

    @Test("any other word") func other() async throws { try await Self.expect("loa2", [nil, nil, nil]) }

    @Test("whoever can be authenticated more surely than they were makes a second trip for min, and nobody else does")
    func raised() async throws {
        let cases: [(provider: String, hint: JSONObject, raised: String)] = [
            ("idme", ["level_of_assurance": .integer(3)], "idme/loa/3"),
            ("logingov", ["verified_at": .string("2026-01-01T00:00:00Z")], "logingov/ial/2"),
        ]
        try await ProvidersPlace.run { place async throws in
            for (provider, hint, raised) in cases {
                let again = try await place.signIn("app", by: provider, "min", hint)
                #expect(again.redirectParameters["acr_values"] == raised, "\(provider) \(again.text)")
                var surely = hint
                surely["acr"] = .string(raised)
                let done = try await place.comeBack(again, by: provider, surely)
                #expect(done.redirectParameters["code"] != nil, "\(done.text)")
                // Who is there already, and who cannot be, come back at once, as they are.
                let there = try await place.signIn("app", by: provider, "min", surely)
                #expect(there.redirectParameters["code"] != nil, "\(provider)")
                let cannot = try await place.signIn("app", by: provider, "min", ["level_of_assurance": .integer(1)])
                #expect(cannot.redirectParameters["code"] != nil, "\(provider)")
                // Nor is anybody asked for more who was asked for a level.
                let one = try await place.signIn("app", by: provider, provider == "idme" ? "loa1" : "ial1", hint)
                #expect(one.redirectParameters["code"] != nil, "\(provider)")
            }
        }
    }

    @Test("whose account is premium is sure enough at mhv, by the claim that says so, and nobody else is")
    func premium() async throws {
        try await ProvidersPlace.run { place async throws in
            let premium = try await place.signIn("web", by: "mhv", "loa3", ["mhv_account": .string("Premium")])
            #expect(premium.redirectParameters["code"] != nil && premium.redirectParameters["auth"] == nil)
            for says in [["mhv_account": .string("Basic")], ["acr": .string("Premium")], [:]] as [JSONObject] {
                let refused = try await place.signIn("web", by: "mhv", "loa3", says)
                #expect(refused.redirectParameters["code"] == "108", "\(says)")
                #expect(try await place.signIn("web", by: "mhv", "min", says).redirectParameters["auth"] == nil)
            }
        }
    }

    @Test("what was sent and was not met is not asked for again, and another word for it is")
    func once() async throws {
        try await ProvidersPlace.run { place async throws in
            let forced = try await place.signIn("web", by: "idme", "loa3")
            let asked = "idme/loa/3 idme/ial/2/aal/2"
            #expect(forced.redirectParameters["acr_values"] == asked, "by the words that are worth it")
            #expect(try await place.comeBack(forced, by: "idme").redirectParameters["code"] == "007")
            let sent = try await place.signIn("web", by: "logingov", "ial2")
            #expect(sent.redirectParameters["code"] == "007")
        }
    }

    @Test("the page that an app opens offers those that take its level")
    func page() async throws {
        try await ProvidersPlace.run { place async throws in
            func offered(_ acr: String?) async throws -> [String] {
                let page = try await place.place.client.execute(
                    uri: "/sign-in?"
                        + AppSignIn.encoded([
                            "application": "app", "oauth": "true", "code_challenge": place.place.challenge,
                            "code_challenge_method": "S256", "acr": acr,
                        ]), method: .get, headers: [.accept: "text/html"])
                return page.text.matches(of: try Regex("data-testid=\"by-([a-z]*)\"")).compactMap {
                    $0.output[1].substring.map(String.init)
                }
            }
            #expect(try await offered("ial2") == ["logingov", "password"])
            #expect(try await offered("loa3") == ["idme", "mhv", "password"])
            #expect(try await offered(nil) == ["idme", "logingov", "mhv", "password"])
            #expect(try await offered("loa2") == ["password"])
        }
    }

    @Test("what an operator says of a provider's levels is kept, shown, changed and taken back, and held to its form")
    func administration() async throws {
        try await ProvidersPlace.run { place async throws in
            try await place.place.server.withSocketClient { client in
                let path = "/admin/v1/providers/idme"
                let shown = try await client.send(.get, path).object
                #expect(try shown.array("levelRequests")?.count == 4)
                #expect(shown["levelClaim"] == .string("acr") && shown["levelHint"] == .string("level_of_assurance=3"))
                let request = ProvidersPlace.request("a", ["b"])
                let changed = try await client.send(
                    .patch, path, ["levelRequests": .array([request]), "levelHint": .string("")])
                #expect(changed.object["levelRequests"] == .array([request]))
                #expect(changed.object["levelHint"] == nil)
                for wrong in [
                    ["levelRequests": .array([request, request])], ["levelClaim": .string("")],
                    ["levelRequests": .array([ProvidersPlace.request("a", [])])],
                    ["levelRequests": .array([ProvidersPlace.request("a", ["b c"])])],
                    ["levelRequests": .array([ProvidersPlace.request("", ["b"])])],
                    ["levelRequests": .array((0...32).map { ProvidersPlace.request("a\($0)", ["b"]) })],
                    ["levelRequests": .array([.string("a=b")])], ["levelHint": .string("a b")],
                ] as [JSONObject] {
                    let answer = try await client.send(.patch, path, wrong)
                    #expect(answer.response.status == .badRequest, "\(wrong)")
                }
                let trail = try await place.place.server.database.auditEntries(after: 0, limit: 99).map(\.event)
                #expect(trail.contains { $0.detail == "idme level-requests,level-hint" })
            }
        }
    }
}
