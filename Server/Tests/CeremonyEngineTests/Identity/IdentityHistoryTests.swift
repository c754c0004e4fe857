import Accounts
import Ceremony
import CeremonyEngine
import JOSE
import PersonalInformation
import Records
import SQLStore
import Sealing
import Settings
import Testing
import UAF
import _Primitives

@Suite("What an account's history has of its sessions (identity parity, row 109)")
struct IdentityHistoryTests {
    private static let service = TestServer.service

    private func entry(
        _ outcome: IdentityHistoryRecord.Outcome, at moment: Timestamp, role: String? = nil,
        purpose: SessionDocument.Purpose = .userLogin, service: String? = Self.service
    ) -> IdentityHistoryRecord {
        IdentityHistoryRecord(
            purpose: purpose.rawValue, service: service, role: role, outcome: outcome, at: moment)
    }

    private func history(_ server: TestServer, _ account: AccountRecord) async throws -> [IdentityHistoryRecord] {
        try await server.database.identityHistory(accountID: account.id, limit: 99)
    }

    private func abort(_ phone: IdentityPhone, _ session: String) async throws {
        let call = try phone.call("/identity/sessions/\(session)/abort", EmptyBody())
        #expect(try await phone.server.engine.identities.control.abort(session, call).refusal == nil)
    }

    @Test("A session that came to what it was for, and one that was given up, stand there with service, role and time")
    func finishedAndAborted() async throws {
        let server = try TestServer()
        try await server.addService()
        let (account, phone) = try await server.personalise()
        _ = try await phone.login(try await server.showCode("first"))
        let first = server.clock.now
        server.clock.advance(.seconds(10))
        let second = try await server.showCode("second")
        _ = try await phone.start(second)
        try await self.abort(phone, second.id)
        server.clock.advance(.seconds(10))
        // The person says no on the page, after the role was fixed.
        let third = try await server.showCode("third")
        _ = try await phone.start(third)
        _ = try await phone.prepared(third.id)
        try await server.engine.signIns.cancel(reference: "third", browser: server.browser)
        #expect(
            try await self.history(server, account) == [
                self.entry(.aborted, at: server.clock.now, role: "patient"),
                self.entry(.aborted, at: first + .seconds(10)),
                self.entry(.finished, at: first, role: "patient"),
            ])
        // What nobody has claimed is nobody's.
        _ = try await server.showCode("fourth")
        try await server.engine.signIns.cancel(reference: "fourth", browser: server.browser)
        #expect(try await self.history(server, account).count == 3)
    }

    @Test("A history has what is younger than its time, and of that no more than its bound")
    func retention() async throws {
        let server = try TestServer {
            $0.limits.identityHistoryRetention = .seconds(3600)
            $0.limits.identityHistoryRows = 3
        }
        try await server.addService()
        let (account, phone) = try await server.personalise()
        var moments: [Timestamp] = []
        for number in 1...5 {
            _ = try await phone.login(try await server.showCode("number \(number)"))
            moments.append(server.clock.now)
            server.clock.advance(.seconds(1000))
        }
        func kept() async throws -> [Timestamp] { try await self.history(server, account).map(\.at) }
        #expect(try await kept() == moments.suffix(3).reversed())
        server.clock.advance(.seconds(1000))
        try await server.engine.sweep.run()
        #expect(try await kept() == moments.suffix(2).reversed())
        server.clock.advance(.seconds(3000))
        try await server.engine.sweep.run()
        #expect(try await kept().isEmpty)
    }

    @Test("Another time for histories counts for the entries that there are, from the next sweep on")
    func anotherRetention() async throws {
        let keys = KeyRing(KeyEncryptionKey())
        let server = try TestServer(keys: keys)
        try await server.addService()
        let (account, phone) = try await server.personalise()
        _ = try await phone.login(try await server.showCode("first"))
        server.clock.advance(.seconds(3601))
        _ = try await phone.login(try await server.showCode("second"))
        let second = server.clock.now
        try await server.engine.sweep.run()
        #expect(try await self.history(server, account).count == 2)
        await server.database.close()
        let again = try TestServer(restarting: server, keys: keys) {
            $0.limits.identityHistoryRetention = .seconds(3600)
        }
        try await again.engine.sweep.run()
        #expect(try await self.history(again, account).map(\.at) == [second])
    }

    @Test("A session whose time was over stands there as failed, once, whoever finds that out")
    func expired() async throws {
        let server = try TestServer()
        try await server.addService()
        let (account, phone) = try await server.personalise()
        _ = try await server.showCode("unclaimed")
        let swept = try await server.showCode("swept")
        _ = try await phone.start(swept)
        _ = try await phone.prepared(swept.id)
        server.clock.advance(.seconds(181))
        try await server.engine.sweep.run()
        try await server.engine.sweep.run()
        let first = self.entry(.failed, at: server.clock.now, role: "patient")
        #expect(try await self.history(server, account) == [first])

        // The page shows another code before the sweep comes.
        let left = try await server.showCode("left")
        _ = try await phone.start(left)
        server.clock.advance(.seconds(181))
        _ = try await server.showCode("left")
        let second = self.entry(.failed, at: server.clock.now)
        #expect(try await self.history(server, account) == [second, first])
        try await server.engine.sweep.run()
        #expect(try await self.history(server, account) == [second, first])
    }

    @Test("A session past the limit of corrections stands there as failed, once")
    func tooManyCorrections() async throws {
        let server = try TestServer()
        try await server.addService(attributes: [.givenName: .required])
        let (account, phone) = try await server.personalise()
        let code = try await server.showCode()
        _ = try await phone.start(code)
        try await phone.useUpCorrections(code.id)
        #expect(try await self.history(server, account).isEmpty, "it goes on")
        let failed = self.entry(.failed, at: server.clock.now)
        for _ in 0..<2 {
            await expectRefusal(.correctionLimitExceeded) { () async throws in _ = try await phone.prepare(code.id) }
            #expect(try await self.history(server, account) == [failed])
            server.clock.advance(.seconds(1))
        }
    }

    @Test(
        "Sessions that a request ends while the activation rests stand there as failed, once: its own, and another one")
    func endedWhileALockoutRuns() async throws {
        let server = try TestServer()
        try await server.addService()
        let (account, phone) = try await server.personalise()
        let (one, other) = (try await server.showCode("one"), try await server.showCode("other"))
        _ = try await phone.start(other)
        _ = try await phone.start(one)
        let next = try #require(try await phone.miss(one.id, try await phone.prepared(one.id)).next)
        #expect(try await self.history(server, account).isEmpty, "the wrong attempt alone ends nothing")
        let failed = [
            self.entry(.failed, at: server.clock.now, role: "patient"), self.entry(.failed, at: server.clock.now),
        ]
        for _ in 0..<2 {
            await expectRefusal(.lockedOut) { () async throws in _ = try await phone.prepare(other.id) }
            await expectRefusal(.lockedOut) { () async throws in _ = try await phone.finish(one.id, next) }
            #expect(try await self.history(server, account) == failed)
            server.clock.advance(.seconds(6))
        }
    }

    @Test("A login that was accepted, and that its browser did not fetch, is no second entry")
    func finishedOnce() async throws {
        let server = try TestServer()
        try await server.addService()
        let (account, phone) = try await server.personalise()
        _ = try await phone.login(try await server.showCode("link", byLink: true))
        let entry = self.entry(.finished, at: server.clock.now, role: "patient")
        server.clock.advance(.seconds(61))
        try await server.engine.sweep.run()
        #expect(try await self.history(server, account) == [entry])
    }

    @Test(
        "Nor is one that was accepted, and is then given up, by its phone or by an operator", arguments: [true, false])
    func finishedAndGivenUp(byPhone: Bool) async throws {
        let server = try TestServer()
        try await server.addService()
        let (account, phone) = try await server.personalise()
        let code = try await server.showCode("link", byLink: true)
        _ = try await phone.login(code)
        let entry = self.entry(.finished, at: server.clock.now, role: "patient")
        server.clock.advance(.seconds(1))
        if byPhone {
            try await self.abort(phone, code.id)
        } else {
            let ended = try await server.engine.identities.sessions.abort(code.id, accountID: account.id, by: "ann")
            guard case .aborted? = ended else {
                Issue.record("not given up")
                return
            }
        }
        #expect(try await self.history(server, account) == [entry])
    }

    @Test("Sessions that end with their activation stand there: it was disabled, or taken back")
    func endedWithTheActivation() async throws {
        let server = try TestServer { $0.limits.lockoutFailuresInARow = 1 }
        try await server.addService()
        let (account, phone) = try await server.personalise()
        let (one, other) = (try await server.showCode("one"), try await server.showCode("other"))
        _ = try await phone.start(other)
        _ = try await phone.start(one)
        _ = try await phone.miss(one.id, try await phone.prepared(one.id))
        let now = server.clock.now
        #expect(
            Set(try await self.history(server, account).map { "\($0.outcome) \($0.role ?? "-")" })
                == ["failed patient", "failed -"])
        #expect(try await self.history(server, account).allSatisfy { $0.at == now && $0.service == Self.service })

        let second = try await server.addIdentity(to: account)
        let open = try await server.showCode("open")
        _ = try await second.start(open)
        server.clock.advance(.seconds(5))
        #expect(try await server.engine.identities.listings.end(second.id, accountID: account.id))
        #expect(
            try await self.history(server, account).first == self.entry(.failed, at: server.clock.now), "taken back")
        #expect(try await self.history(server, account).count == 3)
    }

    /// Who takes the device of a session away.
    enum Taker: CaseIterable { case administrator, service, dispatched }

    @Test(
        "Sessions of a device that is taken away stand there as failed, whoever takes it away",
        arguments: Taker.allCases)
    func endedWithTheDevice(taker: Taker) async throws {
        let server = try TestServer()
        try await server.addService()
        let (account, phone) = try await server.personalise()
        // What came to something before is no second entry.
        _ = try await phone.login(try await server.showCode("done"))
        let done = self.entry(.finished, at: server.clock.now, role: "patient")
        server.clock.advance(.seconds(5))
        let (open, shown) = (try await server.showCode("open"), try await server.showCode("shown"))
        _ = try await phone.start(open)
        _ = try await phone.prepare(open.id)
        let context: JSONObject = ["subject": .string("bank|\(account.id)"), "mode": .string("username")]
        switch taker {
        case .administrator: try await server.directory.deleteDevice(id: phone.id, by: "test")
        case .service:
            let request = GetUAFRequest(operation: .deregistration, context: context)
            _ = try await server.engine.deregistrations.deregister(request, client: server.bank)
        case .dispatched:
            let answer = try await server.engine.dispatches.dispatch(
                DispatchRequest(dispatcher: "link", operation: .deregistration, context: context), client: server.bank)
            _ = try await server.engine.redemptions.redeem(
                token: try #require(answer.token), operation: .deregistration)
        }
        #expect(try await server.database.activation(id: phone.id) == nil)
        let failed = self.entry(.failed, at: server.clock.now, role: "patient")
        #expect(try await self.history(server, account) == [failed, done])
        #expect(try await server.engine.signIns.state(reference: "open", browser: server.browser) == .expired)
        #expect(try await server.engine.signIns.state(reference: "shown", browser: server.browser) == .waiting)
        #expect(shown.id != open.id)
    }

    @Test("What an account does with itself stands there when it is done, or failed, without a service")
    func ownAccount() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.personalise()
        let (session, prepared) = try await phone.granted(.addFactor)
        #expect(try await self.history(server, account).isEmpty, "nothing is done yet")
        let response = try phone.registration(
            [TestFactor(.biometric)], SessionDocument.challenge(of: prepared.document))
        _ = try await phone.complete(session, .addFactor(response: response))
        let role = try #require(try await self.history(server, account).first?.role)
        let done = self.entry(.finished, at: server.clock.now, role: role, purpose: .addFactor, service: nil)
        #expect(try await self.history(server, account) == [done])
        _ = try await phone.granted(.delete)
        server.clock.advance(.seconds(301))
        try await server.engine.sweep.run()
        let failed = self.entry(.failed, at: server.clock.now, role: role, purpose: .delete, service: nil)
        #expect(try await self.history(server, account) == [failed, done])
    }
}
