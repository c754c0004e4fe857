import Countersign
import CountersignTestKit
import Foundation
import Synchronization
import Testing
import UAF
import UAFClient

@Suite("Operations parity 6, 32: what is signed is done once, whatever is cut off around it", .overEachKeyAbility)
struct OutcomeTests {
    /// A task that something within it can cancel.
    private final class Cancellable: Sendable {
        private let task = Mutex<Task<OperationError?, Never>?>(nil)

        func cancel() { self.task.withLock { $0 }?.cancel() }

        /// How the operation ends; `nil` for success.
        func end(_ body: @escaping @Sendable () async throws -> Void) async -> OperationError? {
            let task = Task { await operationError(body) }
            self.task.withLock { $0 = task }
            return await task.value
        }
    }

    /// Cancels the operation while the server has a request of it, as a person does whose screen still shows it.
    private func cancel(_ operation: Cancellable, at path: String, of server: VirtualServer) async {
        await server.intercept { request in
            guard request.url.path() == path else { return nil }
            operation.cancel()
            // As every transport does that keeps its duties.
            try Task.checkCancellation()
            return nil
        }
    }

    private static let payment = text("Payment\nAmount: EUR 12.50\nTo: Jo\nAccount: 7")
    private static let authentication = "/uaf/1.1/authentication/"
    private static let registration = "/uaf/1.1/registration/"

    @Test("Cancelling while the signed answer is on its way ends as the server judges, not as a no")
    func cancelledOnItsWay() async throws {
        let world = try await World()
        try await world.enroll()
        let payload = try await world.server.authentication(transaction: [Self.payment])
        let operation = Cancellable()
        await self.cancel(operation, at: Self.authentication, of: world.server)
        #expect(await operation.end { _ = try await world.phone.authenticate(payload) } == nil)
        #expect(await world.server.accepted.count == 1)
        #expect(await world.server.clientErrorCodes.isEmpty)
    }

    @Test("Cancelling while a registration is on its way leaves the account, which the server has too")
    func cancelledRegistration() async throws {
        let world = try await World()
        let payload = try await world.server.registration(for: "alice", policy: World.policy([[World.pin]]))
        let operation = Cancellable()
        await self.cancel(operation, at: Self.registration, of: world.server)
        #expect(await operation.end { _ = try await world.phone.enroll(payload) } == nil)
        #expect(await world.phone.client.localData.accounts.map(\.username) == ["alice"])
        #expect(await world.server.credentials.count == 1)
    }

    /// Ways in which the answer to a signed one gets lost, or does not.
    private static let answers:
        [(TransportResponse?, (any Error & Sendable)?, OperationError, OperationError.Recovery)] = [
            (nil, TransportError(.timedOut, "cut"), OperationError(.networkError), .checkOutcome),
            (nil, TransportError(.unreachable, "cut"), OperationError(.networkError), .checkOutcome),
            (nil, CancellationError(), OperationError(.networkError), .checkOutcome),
            (TransportResponse(status: 503, headers: [], body: []), nil, OperationError(.networkError), .checkOutcome),
            (TransportResponse(status: 408, headers: [], body: []), nil, OperationError(.networkError), .checkOutcome),
            (TransportResponse(status: 200, headers: [], body: []), nil, .fido(.protocolError), .checkOutcome),
            (
                TransportResponse(
                    status: 200, headers: [("Content-Type", "application/fido+uaf")], body: Array("{".utf8)), nil,
                .fido(.protocolError), .checkOutcome
            ),
            (TransportResponse(status: 429, headers: [], body: []), nil, OperationError(.networkError), .tryAgain),
            (TransportResponse(status: 400, headers: [], body: []), nil, .fido(.protocolError), .tryAgain),
            (
                TransportResponse(
                    status: 200, headers: [("Content-Type", "application/fido+uaf")],
                    body: ServerResponse(statusCode: .forbidden).serialized), nil, .fido(.protocolError),
                .contactService
            ),
        ]

    @Test("Where nobody knows what became of a signed answer, the error says to look first", arguments: 0..<10)
    func lost(number: Int) async throws {
        let (response, error, expected, recovery) = Self.answers[number]
        let world = try await World()
        try await world.enroll()
        await world.server.intercept { request in
            guard request.url.path() == Self.authentication else { return nil }
            if let error { throw error }
            return response
        }
        let payload = try await world.server.authentication(transaction: [Self.payment])
        let found = await operationError { _ = try await world.phone.authenticate(payload) }
        #expect(found == expected && found?.recovery == recovery)
        #expect(await world.server.requests.count { $0.url.path() == Self.authentication } == 1, "and no report")
    }

    @Test("A registration whose answer is lost leaves no key, and says to enrol again with a new link")
    func lostRegistration() async throws {
        let world = try await World()
        try await world.enroll("alice")
        let provider = try #require(try await world.phone.authenticate(username: "alice").authorizationProvider)
        await world.server.intercept { request in
            guard request.url.path() == Self.registration else { return nil }
            throw TransportError(.timedOut, "cut")
        }
        let payload = try await world.server.registration(for: "bob", policy: World.policy([[World.pin]]))
        let byLink = await operationError { _ = try await world.phone.enroll(payload) }
        #expect(byLink == OperationError(.networkError) && byLink?.recovery == .enrollAgain)
        let phone = world.phone
        let inApp = await operationError {
            _ =
                try await phone.ready(phone.client.operations.registration.username("alice"))
                .authorizationProvider(provider).execute()
        }
        #expect(inApp == OperationError(.networkError) && inApp?.recovery == .tryAgain)
        #expect(await phone.client.localData.accounts.map(\.username) == ["alice"])
        #expect(phone.storage.snapshot.keys.count { $0.hasPrefix("attempts-") } == 1)
    }

    @Test("A storage that fails after the server's yes does not turn it into an error, and is written later")
    func bookkeeping() async throws {
        let world = try await World()
        let requester = ReturnUAFRequest.Requester(service: "Bank", browserID: "browser")
        await world.server.judge(ServerResponse(statusCode: .accepted))
        try await world.enroll()
        let storage = world.phone.storage
        await world.server.intercept { request in
            if request.url.path() == Self.authentication { storage.refuseWrites(true) }
            return nil
        }
        func pay() async throws -> [VirtualPerson.Question] {
            world.phone.person.forget()
            _ = try await world.phone.authenticate(
                try await world.server.authentication(transaction: [Self.payment], requester: requester))
            storage.refuseWrites(false)
            return world.phone.person.asked.map(\.question)
        }
        #expect(try await pay().contains(.requester))
        await world.server.stopIntercepting()
        #expect(try await pay().contains(.requester), "the browser was not written down")
        #expect(try await !pay().contains(.requester))
        #expect(await world.server.accepted.count == 3)
    }

    @Test("A storage that fails after the server has forgotten the key says what the server said")
    func bookkeepingOfUnknownKey() async throws {
        let world = try await World()
        try await world.enroll()
        await world.server.forget("alice")
        let storage = world.phone.storage
        await world.server.intercept { request in
            if request.url.path() == Self.authentication { storage.refuseWrites(true) }
            return nil
        }
        let payload = try await world.server.authentication()
        #expect(
            await operationError { _ = try await world.phone.authenticate(payload) }
                == OperationError(.userNotRegisteredInServer))
    }

    @Test("A storage that fails after the account is written leaves the registration a success")
    func bookkeepingOfRegistration() async throws {
        let world = try await World()
        let storage = world.phone.storage
        storage.interruptAfterWrite { [storage] name in if name == "accounts" { storage.refuseWrites(true) } }
        try await world.enroll()
        storage.interruptAfterWrite(nil)
        storage.refuseWrites(false)
        let again = try await world.restarted()
        _ = try await again.phone.authenticate(try await again.server.authentication())
        #expect(await again.phone.client.localData.accounts.map(\.username) == ["alice"])
    }

    @Test("A report that there will be no answer has five seconds, not the time of an exchange")
    func reportIsBounded() async throws {
        let world = try await World()
        try await world.enroll()
        world.phone.person.script.reactions[.pin] = .cancels
        let payload = try await world.server.authentication()
        #expect(await operationError { _ = try await world.phone.authenticate(payload) } == .fido(.userCanceled))
        let report = try #require(await world.server.requests.last)
        #expect(report.url.path() == Self.authentication && report.timeout == .seconds(5))
        let quick = try await World { $0.networkTimeout = .seconds(2) }
        let enrolment = try await quick.server.registration(for: "alice", policy: World.policy([[World.pin]]))
        quick.phone.person.script.reactions[.newPin] = .cancels
        #expect(await operationError { _ = try await quick.phone.enroll(enrolment) } == .fido(.userCanceled))
        #expect(await quick.server.requests.last?.timeout == .seconds(2))
    }

    @Test("A task that is cancelled after its token was redeemed tells the server, and hands nothing over")
    func cancelledAfterRedemption() async throws {
        let world = try await World()
        try await world.enroll()
        for payload in [
            try await world.server.authentication(),
            try await world.server.registration(for: "bob", policy: World.policy([[World.pin]])),
        ] {
            let operation = Cancellable()
            await world.server.intercept { request in
                if request.url.path().hasPrefix("/token/redeem/") { operation.cancel() }
                return nil
            }
            #expect(await operation.end { _ = try await world.phone.redeem(payload) } == .fido(.userCanceled))
            await world.server.stopIntercepting()
        }
        #expect(await world.server.clientErrorCodes == [3, 3])
    }
}
