import Accounts
import CountersignServer
import CountersignTestKit
import HTTPTypes
import HummingbirdTesting
import Records
import SQLStore
import Testing
import _Primitives

@Suite("Admin API: the sessions of a person's apps that go on, against a whole server and a phone (decision 84)")
struct IdentitySessionAdministrationTests {
    @Test(
        "A session is listed, shown and given up, which its phone is told; nothing of its code or its values is shown")
    func sessions() async throws {
        try await TerminalPhoneFixture.run { fixture async throws in
            #expect(try await fixture.enroll().refusal == nil)
            _ = try await fixture.server.assembly.directory.create(username: "bob", displayName: nil, by: "test")
            let code = try await fixture.code()
            try await fixture.claim(code)
            try await fixture.server.withSocketClient { client in
                let (accounts, list) = ("/admin/v1/accounts", "open-identity-sessions")
                let listed = try await client.send(.get, "\(accounts)/alice/\(list)")
                let session = try #require(try listed.object.list("sessions").first)
                #expect(try listed.object.list("sessions").count == 1)
                #expect(try session.string("state") == "started" && session.string("purpose") == "userLogin")
                #expect(try session.string("service") == fixture.party.id && session.bool("ended") == false)
                #expect(!listed.response.text.contains("@") && !listed.response.text.contains(code))
                let id = try session.requiredString("id")
                let path = "\(accounts)/alice/identity-sessions/\(id)"
                #expect(try await client.send(.get, path).object == session)
                #expect(try await client.send(.get, "\(accounts)/bob/\(list)").object.list("sessions").isEmpty)
                #expect(try await client.send(.get, "\(accounts)/nobody/\(list)").response.status == .notFound)
                for wrong in [
                    path.replacing("/alice/", with: "/bob/"), path.replacing("/alice/", with: "/nobody/"),
                    "\(accounts)/alice/identity-sessions/none",
                ] {
                    for method in [HTTPRequest.Method.get, .delete] {
                        #expect(try await client.send(method, wrong).response.status == .notFound, "\(wrong)")
                    }
                }
                #expect(try await client.send(.get, path).object == session, "nothing has changed")

                for _ in 0..<2 {
                    let ended = try await client.send(.delete, path)
                    #expect(try ended.response.status == .ok && ended.object.string("state") == "aborted")
                    #expect(try ended.object.bool("ended") == true)
                }
                #expect(try await client.send(.get, "\(accounts)/alice/\(list)").object.list("sessions").isEmpty)
            }
            let entries = try await fixture.server.database.auditEntries(after: 0, limit: 999).map(\.event)
                .filter { $0.kind.rawValue == "identity-aborted" }
            #expect(entries.map(\.actor) == ["socket"], "once, and by whom")

            _ = try await fixture.signedIn()
            let done = try #require(
                try await fixture.server.database.auditEntries(after: 0, limit: 999).map(\.event)
                    .last { $0.kind.rawValue == "identity-finished" }?.ceremonyID)
            try await fixture.server.withSocketClient { client in
                let late = try await client.send(.delete, "/admin/v1/accounts/alice/identity-sessions/\(done)")
                #expect(late.response.status == .conflict && late.response.text.contains("ended already: done"))
            }
        }
    }
}
