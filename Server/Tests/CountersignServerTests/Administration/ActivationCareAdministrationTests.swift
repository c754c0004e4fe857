import Accounts
import CountersignServer
import CountersignTestKit
import HTTPTypes
import HummingbirdTesting
import Records
import SQLStore
import Testing
import _Primitives

@Suite(
    "Admin API: an app that rests, and an app whose finger is lost, against a whole server and a phone (decision 84)")
struct ActivationCareAdministrationTests {
    private static func path(_ fixture: TerminalPhoneFixture) async throws -> String {
        let account = try await fixture.server.assembly.directory.account(written: "alice").id
        let listed = try await fixture.server.database.activations(accountID: account)
        return "/admin/v1/accounts/alice/activations/\(try #require(listed.first).device.id)"
    }

    /// The same paths under somebody else, nobody, and no activation.
    private static func wrong(_ path: String, _ end: String) -> [String] {
        [
            path.replacing("/alice/", with: "/bob/") + end, path.replacing("/alice/", with: "/nobody/") + end,
            "/admin/v1/accounts/alice/activations/none" + end,
        ]
    }

    @Test(
        "A rest is lifted by an operator, and the phone signs in at once; of an app that is disabled it says what to do"
    )
    func lockout() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            #expect(try await fixture.enroll().refusal == nil)
            _ = try await fixture.signedIn()
            _ = try await fixture.server.assembly.directory.create(username: "bob", displayName: nil, by: "test")
            let path = try await Self.path(fixture)
            let missed = try await fixture.scan(
                try await fixture.code(in: TestBrowser(fixture.client)), lines: ["258037"])
            #expect(missed.reason == "locked-out")
            try await fixture.server.withSocketClient { client in
                for wrong in Self.wrong(path, "/lockout") {
                    #expect(try await client.send(.delete, wrong).response.status == .notFound, "\(wrong)")
                }
                #expect(try await client.send(.get, path).object["lockedUntil"] != nil)
                let lifted = try await client.send(.delete, path + "/lockout")
                #expect(lifted.response.status == .ok && lifted.object["lockedUntil"] == nil)
                #expect(try lifted.object.integer("failuresInARow", as: Int64.self) == 1)
                #expect(try lifted.object.integer("recentFailures", as: Int64.self) == 1)
                #expect(try await client.send(.get, path).object == lifted.object)
            }
            let right = try await fixture.scan(
                try await fixture.code(in: TestBrowser(fixture.client)), lines: ["258036"])
            #expect(right.refusal == nil, "\(right.lines)")
            let entries = try await fixture.server.database.auditEntries(after: 0, limit: 999).map(\.event)
                .filter { $0.kind.rawValue == "lockout-lifted" }
            #expect(entries.map(\.actor) == ["socket"])

            let id = String(try #require(path.split(separator: "/").last))
            let disabled: Bool? = try await fixture.server.database.step(onActivation: id) { activation, _ in
                activation.lockout.isPermanent = true
                return (ActivationChange(), true)
            }
            #expect(disabled == true)
            try await fixture.server.withSocketClient { client in
                let refused = try await client.send(.delete, path + "/lockout")
                #expect(refused.response.status == .conflict && refused.response.text.contains("another code"))
                #expect(try await client.send(.get, path).object.bool("disabled") == true)
            }
        }
    }

    @Test("Factors are listed and shown without keys; a finger is taken away, and the device and the PIN are not")
    func factors() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            #expect(try await fixture.enroll(biometric: true).refusal == nil)
            _ = try await fixture.server.assembly.directory.create(username: "bob", displayName: nil, by: "test")
            let path = try await Self.path(fixture)
            try await fixture.server.withSocketClient { client in
                let list = path + "/factors"
                for wrong in Self.wrong(path, "/factors") {
                    #expect(try await client.send(.get, wrong).response.status == .notFound, "\(wrong)")
                }
                let factors = try await client.send(.get, list).object.list("factors")
                #expect(Set(try factors.map { try $0.requiredString("type") }) == ["device", "pin", "biometric"])
                for factor in factors {
                    let names = Set(factor.members.map(\.name))
                    #expect(names.isSubset(of: ["id", "type", "model", "state", "createdAt", "lastUsedAt"]))
                    #expect(try factor.string("state") == "active" && factor.requiredString("model").contains("#"))
                    let id = try factor.requiredString("id")
                    #expect(try await client.send(.get, "\(list)/\(id)").object == factor)
                    for wrong in Self.wrong(path, "/factors/\(id)") + ["\(list)/none"] {
                        for method in [HTTPRequest.Method.get, .delete] {
                            #expect(try await client.send(method, wrong).response.status == .notFound, "\(wrong)")
                        }
                    }
                    let removed = try await client.send(.delete, "\(list)/\(id)").response
                    if try factor.string("type") == "biometric" {
                        #expect(removed.status == .noContent)
                        #expect(try await client.send(.delete, "\(list)/\(id)").response.status == .notFound)
                    } else {
                        #expect(removed.status == .conflict && removed.text.contains("end this activation"))
                    }
                }
                let shown = try await client.send(.get, path).object
                #expect(try shown.strings("factors") == ["device", "pin"])
            }
            _ = try await fixture.signedIn()
            let page = try await fixture.signedIn(isFirst: false).get("/account")
            #expect(!page.text.contains("fingerprint"))
            let entries = try await fixture.server.database.auditEntries(after: 0, limit: 999).map(\.event)
                .filter { $0.kind.rawValue == "factor-removed" }
            #expect(entries.map(\.actor) == ["socket"])
        }
    }
}
