import Accounts
import Ceremony
import CeremonyEngine
import Records
import SQLStore
import Testing
import UAF
import _Primitives

@Suite("Sessions of identities as operators see them, and give them up (decision 84)")
struct IdentitySessionListingTests {
    private func place() async throws -> (server: TestServer, account: AccountRecord, phone: IdentityPhone) {
        let server = try TestServer()
        try await server.addService()
        let (account, phone) = try await server.personalise()
        return (server, account, phone)
    }

    private func aborted(_ server: TestServer) async throws -> [AuditEvent] {
        try await server.database.auditEntries(after: 0, limit: 999).map(\.event)
            .filter { $0.kind.rawValue == "identity-aborted" }
    }

    @Test("What goes on is listed with how far it is, and is not once it has ended or its time is over")
    func running() async throws {
        let (server, account, phone) = try await self.place()
        let (other, _) = try await server.personalise("bob")
        let sessions = server.engine.identities.sessions
        let first = try await server.showCode("first")
        #expect(try await sessions.running(accountID: account.id).isEmpty, "nobody has claimed it")
        _ = try await phone.start(first)
        server.clock.advance(.seconds(1))
        let second = try await server.showCode("second")
        _ = try await phone.start(second)
        _ = try await phone.prepared(second.id)
        let listed = try await sessions.running(accountID: account.id)
        #expect(listed.map(\.id) == [second.id, first.id] && listed.map(\.state) == ["prepared", "started"])
        #expect(listed.map(\.role) == ["patient", nil] && listed.allSatisfy { $0.service == TestServer.service })
        #expect(listed.allSatisfy { $0.activation == phone.id && $0.purpose == "userLogin" && !$0.isEnded })
        #expect(listed.allSatisfy { $0.nextRequestUntil <= $0.lastRequestBefore })
        #expect(listed[0].createdAt == server.clock.now && listed[0].nextRequestUntil > server.clock.now)
        #expect(try await sessions.running(accountID: other.id).isEmpty)
        #expect(try await sessions.session(first.id, accountID: account.id) == listed[1])
        #expect(try await sessions.session(first.id, accountID: other.id) == nil)
        #expect(try await sessions.session("none", accountID: account.id) == nil)

        server.clock.advance(.seconds(999))
        #expect(try await sessions.running(accountID: account.id).isEmpty, "before any sweep")
        let over = try await sessions.session(first.id, accountID: account.id)
        #expect(over?.state == "expired" && over?.isEnded == true)
    }

    @Test("A session is given up as by its phone: the phone is told, the history and the trail have it, and once")
    func abort() async throws {
        let (server, account, phone) = try await self.place()
        let sessions = server.engine.identities.sessions
        let code = try await server.showCode()
        _ = try await phone.start(code)
        let prepared = try await phone.prepared(code.id)
        for _ in 0..<2 {
            guard case .aborted(let session)? = try await sessions.abort(code.id, accountID: account.id, by: "ann")
            else {
                Issue.record("not given up")
                return
            }
            #expect(session.state == "aborted" && session.isEnded)
        }
        let entries = try await self.aborted(server)
        #expect(entries.map(\.actor) == ["ann"] && entries.map(\.detail) == [phone.id])
        #expect(entries.map(\.accountID) == [account.id] && entries.map(\.ceremonyID) == [code.id])
        let history = try await server.database.identityHistory(accountID: account.id, limit: 9)
        #expect(history.map(\.outcome) == [.aborted] && history.map(\.role) == ["patient"])
        await expectRefusal(.sessionAborted) { () async throws in _ = try await phone.finish(code.id, prepared) }
        #expect(try await server.lockout(of: phone) == LockoutRecord(), "it has cost no attempt")
        #expect(try await server.engine.signIns.state(reference: "request", browser: server.browser) != .claimed)
    }

    @Test("What has come to another end says which, another's is none, and nothing of either changes")
    func others() async throws {
        let (server, account, phone) = try await self.place()
        let (other, _) = try await server.personalise("bob")
        let sessions = server.engine.identities.sessions
        let done = try await server.showCode("done")
        _ = try await phone.login(done)
        let late = try await server.showCode("late")
        _ = try await phone.start(late)
        #expect(try await sessions.abort(late.id, accountID: other.id, by: "ann") == nil)
        #expect(try await sessions.abort("none", accountID: account.id, by: "ann") == nil)
        server.clock.advance(.seconds(999))
        for (id, state) in [(done.id, "done"), (late.id, "expired")] {
            guard case .ended(let session)? = try await sessions.abort(id, accountID: account.id, by: "ann") else {
                Issue.record("given up: \(state)")
                continue
            }
            #expect(session.state == state && session.isEnded)
        }
        #expect(try await self.aborted(server).isEmpty)
    }

    @Test("A session whose activation was taken away has ended with it, and says so; with its account it is none")
    func gone() async throws {
        let (server, account, phone) = try await self.place()
        let identities = server.engine.identities
        let code = try await server.showCode()
        _ = try await phone.start(code)
        #expect(try await identities.listings.end(phone.id, accountID: account.id))
        guard case .ended(let session)? = try await identities.sessions.abort(code.id, accountID: account.id, by: "ann")
        else {
            Issue.record("not ended")
            return
        }
        #expect(session.isEnded)
        try await server.directory.delete(username: "alice", by: "ann")
        #expect(try await identities.sessions.abort(code.id, accountID: account.id, by: "ann") == nil)
    }
}
