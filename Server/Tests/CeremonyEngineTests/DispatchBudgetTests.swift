import CeremonyEngine
import Records
import SQLStore
import Settings
import Testing
import UAF
import _Primitives

@Suite("Threat model, Filling the store: what a relying party can have the server do")
struct DispatchBudgetTests {
    private static let shop = DispatchingClient(id: "shop", name: "Shop", origin: nil, mayDeregister: true)

    /// A server whose budgets are small and come back slowly.
    private func server(_ adjust: (inout CeremonyConfiguration) -> Void = { _ in }) throws -> TestServer {
        try TestServer {
            adjust(&$0)
            $0.limits.dispatchBurst = 4
            $0.limits.dispatchesPerMinute = 6
            $0.limits.openDispatchBurst = 2
            $0.limits.openDispatchesPerMinute = 6
            $0.limits.personDispatchBurst = 2
            $0.limits.personDispatchesPerMinute = 3
        }
    }

    /// What a dispatch ends with: its result, or the setting of the budget that was used up, with the seconds to wait.
    private func dispatch(
        _ subject: String?, by client: DispatchingClient? = nil, operation: UAF.Operation? = nil, on server: TestServer
    ) async throws -> String {
        var context: JSONObject = [:]
        context["subject"] = subject.map(JSON.string)
        if operation == .deregistration { context["mode"] = .string("username") }
        do {
            return try await server.engine.dispatches.dispatch(
                DispatchRequest(dispatcher: "link", operation: operation, context: context),
                client: client ?? server.bank
            ).result.rawValue
        } catch let error as CeremonyError where error.code == .tooManyRequests {
            let shortage = try #require(error.shortage)
            #expect(shortage.clientID == (client ?? server.bank).id)
            #expect(
                shortage.remedy.contains(shortage.setting),
                "a client that is refused can name the setting to the operator")
            return "\(shortage.setting) \(shortage.retryAfterSeconds)"
        }
    }

    @Test("A client has a budget for each person, and another client has its own for the same person")
    func person() async throws {
        let server = try self.server()
        let (account, _) = try await server.enrol()
        let (other, _) = try await server.enrol("bob")
        for _ in 0..<2 { #expect(try await self.dispatch("bank|\(account.id)", on: server) == "dispatched") }
        for operation in [UAF.Operation.authentication, .deregistration] {
            let refused = try await self.dispatch("bank|\(account.id)", operation: operation, on: server)
            #expect(refused == "personDispatchesPerMinute 20")
        }
        #expect(try await self.dispatch("bank|\(other.id)", on: server) == "dispatched")
        #expect(try await self.dispatch("shop|\(account.id)", by: Self.shop, on: server) == "dispatched")
        server.clock.advance(.seconds(20))
        #expect(try await self.dispatch("bank|\(account.id)", on: server) == "dispatched")
    }

    @Test("Two clients that name somebody in the same words have their own budgets all the same")
    func sameWords() async throws {
        let server = try self.server()
        for _ in 0..<2 { #expect(try await self.dispatch("somebody", on: server) == "userNotFound") }
        #expect(try await self.dispatch("somebody", on: server) == "personDispatchesPerMinute 20")
        #expect(try await self.dispatch("somebody", by: Self.shop, on: server) == "userNotFound")
    }

    @Test("A name that nobody has is counted as one that somebody has", arguments: [true, false])
    func unknownNames(exists: Bool) async throws {
        let server = try self.server()
        let (account, _) = try await server.enrol()
        let subject = exists ? "bank|\(account.id)" : "bank|nobody"
        let result = exists ? "dispatched" : "userNotFound"
        var results: [String] = []
        for _ in 0..<3 { results.append(try await self.dispatch(subject, on: server)) }
        // Past the person's the client's own is untouched: two more persons, and no fifth dispatch.
        for number in 0..<3 { results.append(try await self.dispatch("bank|nobody \(number)", on: server)) }
        #expect(
            results == [
                result, result, "personDispatchesPerMinute 20", "userNotFound", "userNotFound",
                "dispatchesPerMinute 10",
            ])
    }

    @Test("A client that names more persons than are counted forgets its own, and none of another client's")
    func personsWithinTheClient() async throws {
        let server = try self.server { $0.limits.countedPersons = 1 }
        for _ in 0..<2 { #expect(try await self.dispatch("bank|nobody", on: server) == "userNotFound") }
        for client in ["first", "second", "third"] {
            let other = DispatchingClient(id: client, name: client, origin: nil)
            for number in 0..<3 {
                #expect(try await self.dispatch("\(client)|nobody \(number)", by: other, on: server) == "userNotFound")
            }
        }
        #expect(try await self.dispatch("bank|nobody", on: server) == "personDispatchesPerMinute 20")
    }

    @Test("A client that has used up dispatches without a subject still has those with one, and the other way round")
    func separateBudgets() async throws {
        let server = try self.server()
        let (account, _) = try await server.enrol()
        for _ in 0..<2 { #expect(try await self.dispatch(nil, on: server) == "dispatched") }
        #expect(try await self.dispatch(nil, on: server) == "openDispatchesPerMinute 10")
        #expect(try await self.dispatch("bank|\(account.id)", on: server) == "dispatched")
        #expect(try await self.dispatch(nil, by: Self.shop, on: server) == "dispatched")
        for number in 0..<3 { _ = try await self.dispatch("bank|nobody \(number)", on: server) }
        #expect(try await self.dispatch("bank|nobody 3", on: server) == "dispatchesPerMinute 10")
        server.clock.advance(.seconds(10))
        #expect(try await self.dispatch(nil, on: server) == "dispatched")
    }

    @Test("A dispatch that the client's budget refuses costs the person's nothing")
    func refusedByTheClientsBudget() async throws {
        let server = try self.server()
        let (account, _) = try await server.enrol()
        for number in 0..<4 { _ = try await self.dispatch("bank|nobody \(number)", on: server) }
        for _ in 0..<3 {
            #expect(try await self.dispatch("bank|\(account.id)", on: server) == "dispatchesPerMinute 10")
        }
        server.clock.advance(.seconds(20))
        for _ in 0..<2 { #expect(try await self.dispatch("bank|\(account.id)", on: server) == "dispatched") }
    }

    @Test("A context that is not understood is told so, and costs nothing")
    func mistakes() async throws {
        let server = try self.server()
        for _ in 0..<5 {
            await #expect(throws: CeremonyError(.invalidRequest)) {
                try await server.engine.dispatches.dispatch(
                    DispatchRequest(dispatcher: "link", operation: nil, context: ["policy": .string("none")]),
                    client: server.bank)
            }
        }
        #expect(try await self.dispatch(nil, on: server) == "dispatched")
    }

    @Test("Dispatches that nobody redeems leave nothing behind, however many they are")
    func unredeemed() async throws {
        let count = 10_000
        let server = try TestServer {
            $0.limits.openDispatchBurst = count
            $0.limits.dispatchBurst = count
            $0.limits.personDispatchBurst = count
        }
        let (account, _) = try await server.enrol()
        server.clock.advance(Limits().endedRetention + .seconds(1))
        try await server.engine.sweep.run()
        let before = try await server.database.auditEntries(after: 0, limit: 99)
        let sessions = try await withThrowingTaskGroup(of: String?.self) { group in
            for number in 0..<count {
                group.addTask {
                    let context: JSONObject = number % 2 == 0 ? ["subject": .string("bank|\(account.id)")] : [:]
                    return try await server.engine.dispatches.dispatch(
                        DispatchRequest(dispatcher: "link", operation: nil, context: context), client: server.bank
                    ).sessionID
                }
                if number >= 256 { _ = try await group.next() }
            }
            return try await group.reduce(into: Set<String>()) { if let id = $1 { $0.insert(id) } }
        }
        #expect(sessions.count >= 256)
        server.clock.advance(Limits().dispatchLifetime)
        #expect(try await server.engine.sweep.run() == count)
        server.clock.advance(Limits().endedRetention + .seconds(1))
        #expect(try await server.engine.sweep.run() == count)
        #expect(try await server.engine.sweep.run() == 0)
        #expect(try await server.database.auditEntries(after: 0, limit: 99) == before)
        for id in sessions.prefix(9) {
            #expect(try await server.engine.sessions.status(sessionID: id, clientID: "bank").state == .unknown)
        }
    }

    @Test("The trail of a dispatch begins with the phone that takes it, and names the client")
    func trail() async throws {
        let server = try TestServer()
        let (account, phone) = try await server.enrol()
        let before = try await server.database.auditEntries(after: 0, limit: 99).count
        func trail() async throws -> [AuditEvent] {
            try await server.database.auditEntries(after: 0, limit: 99).dropFirst(before).map(\.event)
        }
        let dispatched = try await server.dispatch("Pay", to: account)
        #expect(try await trail().isEmpty)
        let request = try await server.engine.redemptions.redeem(
            token: dispatched.token ?? "", operation: .authentication)
        let claim = try #require(try await trail().first)
        #expect(claim.kind.rawValue == "dispatch-claimed" && claim.actor == "bank" && claim.accountID == account.id)
        #expect(claim.ceremonyID == dispatched.sessionID && claim.detail == "link-png-qr-code")
        _ = try await server.engine.authenticationAnswers.judge(try phone.authenticate(request, counter: 2))
        #expect(try await trail().map(\.kind.rawValue) == ["dispatch-claimed", "transaction-confirmed"])
        // One that a phone took and never answered is in the trail to its end.
        let left = try await server.dispatch("Pay more", to: account)
        _ = try await server.engine.redemptions.redeem(token: left.token ?? "", operation: .authentication)
        server.clock.advance(Limits().claimedLifetime)
        try await server.engine.sweep.run()
        #expect(try await trail().suffix(2).map(\.kind.rawValue) == ["dispatch-claimed", "expired"])
    }
}
